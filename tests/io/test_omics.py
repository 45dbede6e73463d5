"""`AnnDataReader`: matrices and layers, labels of obs, variables matched by name, bad files."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from laminar.io import AnnDataReader

anndata = pytest.importorskip("anndata", reason=".h5ad files need anndata")

X = np.array([[0, 1, 0], [2, 0, 3], [0, 0, 4], [1, 1, 1]], dtype=np.float32)
GENES = ["CD3", "CD19", "GAPDH"]
CELLS = ["c1", "c2", "c3", "c4"]


def make(matrix=X, genes=GENES):
    obs = pd.DataFrame(
        {
            "type": pd.Categorical(["T", "B", None, "T"]),
            "batch": [1, 2, 1, 2],
            "batch_float": [1.0, 2.0, np.nan, 2.0],
            "depth": [0.5, 1.5, 2.5, 3.5],
        },
        index=CELLS,
    )
    data = anndata.AnnData(matrix, obs=obs, var=pd.DataFrame(index=genes))
    data.layers["counts"] = sp.csr_matrix(X * 2)
    return data


@pytest.fixture
def write(tmp_path):
    """Write an AnnData, and return its path."""

    def write(data, name="t.h5ad"):
        data.write_h5ad(tmp_path / name)
        return tmp_path / name

    return write


# Matrices


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix, sp.csc_matrix, sp.csr_array])
def test_matrix_keeps_its_kind(write, convert):
    path = write(make(convert(X)))
    data = AnnDataReader().read(path)
    is_sparse = convert is not np.asarray
    assert sp.issparse(data.X) == is_sparse
    assert data.X.dtype == np.float32
    if is_sparse:
        assert isinstance(data.X, sp.csr_array)
    assert_array_equal(data.X.toarray() if is_sparse else data.X, X)
    assert data.reader.read(path).fingerprint() == data.fingerprint()


def test_names_are_kept(write):
    data = AnnDataReader().read(write(make()))
    assert data.ids.tolist() == CELLS
    assert data.feature_names.tolist() == GENES


def test_layer_is_read(write):
    data = AnnDataReader(layer="counts").read(write(make()))
    assert_array_equal(data.X.toarray(), 2 * X)


def test_integers_become_floats(write):
    data = AnnDataReader().read(write(make(sp.csr_matrix(X.astype(np.int64)))))
    assert data.X.dtype == np.float64
    assert_array_equal(data.X.toarray(), X)


# Labels


def test_labels_of_obs(write):
    data = AnnDataReader(label_columns=("type", "batch", "batch_float"), group_column="batch").read(write(make()))
    assert data.labels["type"].tolist() == ["T", "B", None, "T"]
    assert data.labels["batch"].tolist() == [1, 2, 1, 2]
    assert data.labels["batch_float"].tolist() == [1, 2, None, 2]
    assert data.groups.tolist() == ["1", "2", "1", "2"]


def test_labels_are_offered(write):
    assert "obs has type, batch, batch_float; label_columns=" in AnnDataReader().read(write(make())).notes[0]


def test_labels_may_be_absent_later(write):
    data = make()
    reader = AnnDataReader(label_columns="type").read(write(data)).reader
    del data.obs["type"]
    assert reader.read(write(data, "new.h5ad")).labels is None


# New files


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix])
def test_variables_are_matched_by_name(write, convert):
    reader = AnnDataReader().read(write(make(convert(X)))).reader
    other = anndata.AnnData(
        convert(np.hstack([X[:, [2, 0]], X[:, :1] + 7, X[:, [1]]])),
        obs=pd.DataFrame(index=CELLS),
        var=pd.DataFrame(index=["GAPDH", "CD3", "new", "CD19"]),
    )
    data = reader.read(write(other, "new.h5ad"))
    assert_array_equal(data.X.toarray() if sp.issparse(data.X) else data.X, X)
    assert data.feature_names.tolist() == GENES
    assert data.notes == ("new.h5ad: 1 other variable not used.",)


def test_missing_variables_are_named(write):
    reader = AnnDataReader().read(write(make())).reader
    with pytest.raises(ValueError, match=r"lacks 2 of 3 variables: CD19, GAPDH\. Its variables are CD3"):
        reader.read(write(make()[:, :1].copy(), "new.h5ad"))


# Bad input


def duplicated(names):
    return [names[0], names[0], *names[2:]]


def with_nan():
    matrix = X.copy()
    matrix[1, 2] = np.nan
    return make(matrix)


@pytest.mark.filterwarnings("ignore:.* names are not unique")
@pytest.mark.parametrize(
    ("data", "reader", "message"),
    [
        (make, {"layer": "raw"}, r"no layer 'raw' \(layer=\): its layers are counts"),
        (make, {"label_columns": "typ"}, r"no column 'typ' \(label_columns\)\. Did you mean 'type'"),
        (make, {"group_column": "video"}, r"no column 'video' \(group_column\)"),
        (make, {"label_columns": "depth"}, "depth hold measurements"),
        (with_nan, {}, "X has 1 value that is NaN or infinite, the first in row 1, column 2"),
        (lambda: make(genes=duplicated(GENES)), {}, "var has names more than once: CD3.*var_names_make_unique"),
        (lambda: make()[:, :0].copy(), {}, "has no variables"),
        (lambda: anndata.AnnData(obs=pd.DataFrame(index=["a"]), var=pd.DataFrame(index=["g"])), {}, "has no X"),
    ],
)
def test_bad_data_are_refused(write, data, reader, message):
    path = write(data())
    with pytest.raises(ValueError, match=message):
        AnnDataReader(**reader).read(path)


def test_damaged_file_is_named(tmp_path):
    (tmp_path / "t.h5ad").write_bytes(b"no cells")
    with pytest.raises(ValueError, match=r"t\.h5ad is not a readable \.h5ad file"):
        AnnDataReader().read(tmp_path / "t.h5ad")


def test_other_hdf5_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py", reason="HDF5 files need h5py")
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        file["X"] = X
    with pytest.raises(ValueError, match=r"not an \.h5ad file of AnnData: it has no obs and no var"):
        AnnDataReader().read(tmp_path / "t.h5ad")
