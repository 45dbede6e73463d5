"""Writing of tables and codes: every ending reads back, files are replaced whole, outputs are checked first."""

import json
import os
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import laminar
from laminar.io import TableReader, write_codes, write_table
from laminar.io.write import CODE_ENDINGS, TABLE_ENDINGS, check_output

FRAME = pd.DataFrame({"layer": ["ä", "b"], "nmi": [0.5, 1 / 3]})
READERS = {
    ".csv": pd.read_csv,
    ".tsv": lambda path: pd.read_csv(path, sep="\t"),
    ".parquet": pd.read_parquet,
    ".xlsx": pd.read_excel,
    ".json": pd.read_json,
}
LIBRARIES = {".parquet": "pyarrow", ".xlsx": "openpyxl", ".h5ad": "anndata"}
IDS = np.array(["007", "b", "c"])
CODES = np.random.default_rng(0).random((3, 2)).astype(np.float32)
NAMES = ["h1", "h2"]


@pytest.fixture(autouse=True)
def skip_without_library(request):
    """Skip the test of an ending whose library is not installed."""
    ending = getattr(request.node, "callspec", None) and request.node.callspec.params.get("ending")
    if ending in LIBRARIES:
        pytest.importorskip(LIBRARIES[ending], reason=f"{ending} files need {LIBRARIES[ending]}")


# Tables


@pytest.mark.parametrize("ending", TABLE_ENDINGS)
def test_tables_read_back(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    write_table(path, FRAME)
    pd.testing.assert_frame_equal(READERS[ending](path), FRAME, rtol=1e-14)


def test_named_index_is_a_column(tmp_path):
    write_table(tmp_path / "t.csv", FRAME.set_index("layer"))
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "t.csv"), FRAME)


# Codes


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_codes_read_back(tmp_path, ending):
    path = tmp_path / f"codes{ending}"
    write_codes(path, IDS, CODES, NAMES)
    data = TableReader().read(path)
    assert data.ids.tolist() == IDS.tolist()
    assert data.feature_names.tolist() == NAMES
    assert_array_equal(data.X.astype(np.float32), CODES)


def test_codes_as_arrays(tmp_path):
    write_codes(tmp_path / "c.npy", IDS, CODES, NAMES)
    write_codes(tmp_path / "c.npz", IDS, CODES, NAMES)
    assert_array_equal(np.load(tmp_path / "c.npy"), CODES)
    with np.load(tmp_path / "c.npz", allow_pickle=False) as file:
        assert_array_equal(file["codes"], CODES)
        assert_array_equal(file["ids"], IDS)
        assert_array_equal(file["names"], NAMES)


@pytest.mark.parametrize(
    ("ids", "names", "message"),
    [
        (IDS[:2], NAMES, r"shape \(3, 2\), but there are 2 ids and 2 names"),
        (IDS, ["h", "h"], "must be different"),
        (IDS, ["id", "h"], 'called "id"'),
    ],
)
def test_wrong_codes_are_refused(tmp_path, ids, names, message):
    with pytest.raises(ValueError, match=message):
        write_codes(tmp_path / "c.csv", ids, CODES, names)
    assert list(tmp_path.iterdir()) == []


# AnnData


@pytest.fixture(scope="module")
def model():
    """A model of three features and two components."""
    return laminar.NMF(n_components=2, random_state=0).fit(np.random.default_rng(0).random((6, 3)))


@pytest.fixture
def source(tmp_path):
    """An .h5ad file of three cells and three genes."""
    anndata = pytest.importorskip("anndata", reason=".h5ad files need anndata")
    obs = pd.DataFrame({"type": ["T", "B", "T"]}, index=["c", "007", "b"])
    data = anndata.AnnData(np.eye(3), obs=obs, var=pd.DataFrame(index=["g1", "g2", "g3"]))
    data.uns["origin"] = "lab"
    data.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


def read_cells(path):
    return pytest.importorskip("anndata").read_h5ad(path)


def test_new_anndata(tmp_path, model):
    pytest.importorskip("anndata", reason=".h5ad files need anndata")
    write_codes(tmp_path / "c.h5ad", IDS, CODES, NAMES, model=model)
    data = read_cells(tmp_path / "c.h5ad")
    assert data.obs_names.tolist() == IDS.tolist()
    assert_array_equal(data.obsm["X_laminar"], CODES)
    assert data.uns["laminar"]["class"] == "NMF"
    assert data.uns["laminar"]["version"] == laminar.__version__
    assert data.uns["laminar"]["names"].tolist() == NAMES
    assert json.loads(data.uns["laminar"]["parameters"])["n_components"] == 2


def test_source_is_kept(tmp_path, source, model):
    write_codes(tmp_path / "out.h5ad", IDS, CODES, NAMES, model=model, source=source)
    data = read_cells(tmp_path / "out.h5ad")
    assert_array_equal(data.X, np.eye(3))
    assert data.obs["type"].tolist() == ["T", "B", "T"]
    assert data.uns["origin"] == "lab"
    assert_array_equal(data.obsm["X_laminar"], CODES[[2, 0, 1]])  # in the order of the file
    assert_array_equal(data.varm["laminar_components"], model.components_.T)


def test_components_are_matched_by_name(tmp_path, source, model):
    write_codes(tmp_path / "out.h5ad", IDS, CODES, NAMES, model=model, source=source, feature_names=["g3", "g1", "g2"])
    found = read_cells(tmp_path / "out.h5ad").varm["laminar_components"]
    assert_array_equal(found, model.components_.T[[1, 2, 0]])


@pytest.mark.parametrize("feature_names", [["g1", "g2", "other"], ["g1", "g2"]])
def test_other_components_are_left_out(tmp_path, source, model, feature_names):
    write_codes(tmp_path / "out.h5ad", IDS, CODES, NAMES, model=model, source=source, feature_names=feature_names)
    assert "laminar_components" not in read_cells(tmp_path / "out.h5ad").varm


def test_cells_without_codes_are_unknown(tmp_path, source):
    write_codes(tmp_path / "out.h5ad", IDS[:1], CODES[:1], NAMES, source=source)
    codes = read_cells(tmp_path / "out.h5ad").obsm["X_laminar"]
    assert_array_equal(np.isnan(codes).all(axis=1), [True, False, True])
    assert_array_equal(codes[1], CODES[0])


def test_unknown_cells_are_refused(tmp_path, source):
    with pytest.raises(ValueError, match=r"has no sample 'x' \(1 of 3 ids"):
        write_codes(tmp_path / "out.h5ad", ["007", "b", "x"], CODES, NAMES, source=source)


def test_source_may_be_replaced(source):
    write_codes(source, IDS, CODES, NAMES, source=source)
    assert "X_laminar" in read_cells(source).obsm


# Files


@pytest.mark.parametrize("write", [lambda path: write_table(path, FRAME), lambda p: write_codes(p, IDS, CODES, NAMES)])
def test_unknown_ending_lists_known(tmp_path, write):
    with pytest.raises(ValueError, match=r"t\.doc ends in \.doc; results are written to \.csv \.tsv"):
        write(tmp_path / "t.doc")


def test_failure_keeps_old_file(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("old")

    def fail(*args, **keywords):
        raise OSError("disk full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    with pytest.raises(OSError, match="disk full"):
        write_table(path, FRAME)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_output_check_passes(tmp_path):
    (tmp_path / "old.csv").write_text("old")
    assert check_output(tmp_path / "new.CSV", CODE_ENDINGS, False) is None
    assert check_output(tmp_path / "old.csv", CODE_ENDINGS, True) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.csv"]


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("t.doc", ValueError, r"ends in \.doc"),
        ("t", ValueError, "has no ending"),
        ("old.csv", FileExistsError, r"exists: .*--force"),
        ("no/t.csv", FileNotFoundError, "create .*no first"),
        ("folder.csv", IsADirectoryError, "is a folder"),
    ],
)
def test_output_check_refuses(tmp_path, name, error, message):
    (tmp_path / "old.csv").write_text("old")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(error, match=message):
        check_output(tmp_path / name, CODE_ENDINGS, False)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that takes no files")
def test_output_check_of_folder_without_files():
    with pytest.raises(PermissionError, match=r"codes\.csv cannot be written, for its folder takes no files"):
        check_output("/proc/codes.csv")


def test_output_check_names_missing_library(tmp_path, monkeypatch):
    def absent(module, extra, by):
        raise ImportError(f'{by} needs {module}: pip install "laminar-nmf[{extra}]"')

    monkeypatch.setattr(import_module("laminar.io.write"), "require", absent)
    with pytest.raises(ImportError, match=r"writing \.parquet files needs pyarrow.*laminar-nmf\[tables\]"):
        check_output(tmp_path / "t.parquet", CODE_ENDINGS, False)
