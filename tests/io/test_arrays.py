"""`ArrayReader`: formats, choice of the array, types, labels and names, new files and bad ones."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.io import savemat

from laminar.io import ArrayReader

rng = np.random.default_rng(0)
X = np.random.default_rng(1).normal(size=(5, 4))
POSE = np.array([3, 1, 3, 1, 2])
NAMES = ["ann", "b", "cä", "d", "e"]


def write_hdf5(path, arrays):
    h5py = pytest.importorskip("h5py", reason="HDF5 files need h5py")
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            array = np.asarray(array)
            file[name] = array.astype(object) if array.dtype.kind == "U" else array


def write_matlab_hdf5(path, arrays):
    """Write a file as MATLAB 7.3 does: 512 bytes first, axes reversed, text as numbers, sparse matrices as groups."""
    h5py = pytest.importorskip("h5py", reason="MATLAB 7.3 files need h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            _write_matlab_variable(h5py, file, name, array)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def _write_matlab_variable(h5py, file, name, array):
    if sp.issparse(array):
        group, array = file.create_group(name), array.tocsc()
        group["data"], group["ir"], group["jc"] = array.data, array.indices, array.indptr
        group.attrs["MATLAB_sparse"], kind = array.shape[0], "double"
    elif np.asarray(array).dtype.kind == "U":
        references = []
        for i, text in enumerate(array):
            file[f"#refs#/{name}{i}"] = np.array([[ord(letter)] for letter in text], dtype=np.uint16)
            references.append(file[f"#refs#/{name}{i}"].ref)
        file.create_dataset(name, data=np.array([references], dtype=h5py.ref_dtype))
        kind = "cell"
    else:
        array = np.asarray(array)
        array = array[:, None] if array.ndim == 1 else array
        file[name] = array.astype(np.uint8 if array.dtype == bool else array.dtype).T
        kind = {"bool": "logical", "float64": "double", "float32": "single"}.get(array.dtype.name, array.dtype.name)
    file[name].attrs["MATLAB_class"] = np.bytes_(kind)


def write_matlab(path, arrays):
    texts = {
        name: np.array(array, dtype=object) for name, array in arrays.items() if np.asarray(array).dtype.kind == "U"
    }
    savemat(path, {**arrays, **texts})


def write_zarr(path, arrays):
    zarr = pytest.importorskip("zarr", reason=".zarr files need zarr")
    store = zarr.storage.ZipStore(str(path), mode="w") if path.suffix == ".zip" else str(path)
    is_old = path.suffix == ".zip" and hasattr(zarr.Group, "create_array")  # both formats, with zarr 3
    group = zarr.open_group(store, mode="w", **({"zarr_format": 2} if is_old else {}))
    for name, array in arrays.items():
        array = np.asarray(array)
        made = group.create_array if hasattr(group, "create_array") else group.create_dataset
        made(name, shape=array.shape, dtype=array.dtype)[...] = array
    if path.suffix == ".zip":
        store.close()


WRITERS = {
    "t.npz": lambda path, arrays: np.savez(path, **arrays),
    "v5.mat": write_matlab,
    "v73.mat": write_matlab_hdf5,
    "t.h5": write_hdf5,
    "t.HDF5": write_hdf5,
    "t.zarr": write_zarr,
    "t.zarr.zip": write_zarr,
}


@pytest.fixture(params=WRITERS)
def write(request, tmp_path):
    """Write arrays to a file of each format, and return its path."""

    def write(**arrays):
        path = tmp_path / request.param
        WRITERS[request.param](path, arrays)
        return path

    return write


@pytest.fixture
def save(tmp_path):
    """Write arrays to an .npz file, and return its path."""

    def save(name="t.npz", **arrays):
        np.savez(tmp_path / name, **arrays)
        return tmp_path / name

    return save


# Formats


def test_formats_agree(write):
    data = ArrayReader(label_names="pose").read(write(X=X, pose=POSE, image_shape=np.array([2, 2])))
    assert_array_equal(data.X, X)
    assert data.ids.tolist() == list("01234")
    assert data.labels["pose"].tolist() == POSE.tolist()
    assert data.image_shape == (2, 2)


def test_data_read_again_are_identical(write):
    path = write(X=(X * 20 + 90).astype(np.uint8), pose=POSE)
    data = ArrayReader(label_names="pose").read(path)
    again = data.reader.read(path)
    assert again.fingerprint() == data.fingerprint()
    assert again.reader == data.reader


@pytest.mark.parametrize("write", sorted(set(WRITERS) - {"t.zarr"}), indirect=True)  # format 3 has no stable text
def test_text_names_samples(write):
    path = write(X=X, ids=np.array(NAMES), who=np.array(["u", "v", "u", "v", "w"]))
    data = ArrayReader(label_names=("who",)).read(path)
    assert data.ids.tolist() == NAMES
    assert data.labels["who"].tolist() == ["u", "v", "u", "v", "w"]


def test_images_become_rows(write):
    images = rng.random((5, 2, 3))
    data = ArrayReader().read(write(X=images, pose=POSE))
    assert data.image_shape == (2, 3)
    assert_array_equal(data.X, images.reshape(5, 6))


def test_npy_stays_on_disk(tmp_path):
    np.save(tmp_path / "t.npy", X)
    data = ArrayReader().read(tmp_path / "t.npy")
    assert isinstance(data.X, np.memmap)
    assert_array_equal(data.X, X)


@pytest.mark.parametrize("kind", ["npz", "v5", "v73"])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array])
def test_sparse_stays_sparse(tmp_path, kind, make):
    matrix = make(sp.random(6, 4, density=0.4, random_state=0))
    path = tmp_path / ("t.npz" if kind == "npz" else "t.mat")
    if kind == "npz":
        sp.save_npz(path, matrix)
    else:
        {"v5": savemat, "v73": write_matlab_hdf5}[kind](path, {"fea": matrix, "gnd": POSE})
    data = ArrayReader().read(path)
    assert data.X.format == "csr"
    assert_array_equal(data.X.toarray(), matrix.toarray())
    assert data.reader.read(path).fingerprint() == data.fingerprint()


# Types


@pytest.mark.parametrize("dtype", [">f8", "f8", "i8", "i4", "f4", "f2", "u2", "i1", "?"])
def test_types_become_floats(save, dtype):
    values = np.array([[0, 1], [1, 0]], dtype=dtype)
    data = ArrayReader().read(save(X=values))
    assert data.X.dtype == (np.float64 if dtype in (">f8", "f8", "i8", "i4") else np.float32)
    assert_array_equal(data.X, [[0, 1], [1, 0]])


@pytest.mark.parametrize(("top", "divisor"), [(255, 255), (200, 255), (16, 16), (1, 1), (0, 1)])
def test_bytes_are_divided(save, top, divisor):
    data = ArrayReader().read(save(X=np.array([[0, top]], dtype=np.uint8)))
    assert_allclose(data.X, [[0, top / divisor]], rtol=1e-6)
    assert data.X.dtype == np.float32
    assert any(f"divided by {divisor}" in note for note in data.notes) == (divisor > 1)


def test_new_bytes_are_divided_alike(save):
    reader = ArrayReader().read(save(X=np.array([[0, 255]], dtype=np.uint8))).reader
    dark = np.array([[0, 10]], dtype=np.uint8)
    assert_allclose(reader.read(save("dark.npz", X=dark)).X, dark / 255, rtol=1e-6)
    assert_array_equal(reader.read(save("floats.npz", X=dark / 255)).X, dark / 255)


@pytest.mark.parametrize("shape", [(4, 5), (2, 3, 5), (2, 3, 3, 5)])
def test_samples_in_columns(save, shape):
    array = rng.random(shape)
    data = ArrayReader(transposed=True).read(save(X=array))
    assert_array_equal(data.X[1], array[..., 1].ravel())
    assert data.image_shape == (None if len(shape) == 2 else shape[:-1])


# Choice of the array


@pytest.mark.parametrize(
    ("arrays", "chosen"),
    [
        ({"codes": X, "y": POSE}, "codes"),
        ({"other": X + 1, "X": X}, "X"),
        ({"other": X + 1, "data": X}, "data"),
        ({"fea": X, "gnd": POSE[:, None], "extra": X + 1}, "fea"),
    ],
)
def test_usual_array_is_chosen(save, arrays, chosen):
    data = ArrayReader().read(save(**arrays))
    assert_array_equal(data.X, X)
    assert data.reader.name == chosen


def test_unclear_array_lists_all(save):
    with pytest.raises(
        ValueError,
        match=r"has 2 matrices: X1 \(5 x 4, float64\), X2 \(5 x 4, float64\), y \(5, int64\)\. .*--array NAME",
    ):
        ArrayReader().read(save(X1=X, X2=X, y=POSE))


def test_several_arrays_are_views(save):
    path = save(X1=X, X2=(X[:, :2] * 20 + 90).astype(np.uint8), ids=np.array(NAMES))
    data = ArrayReader(name=("X2", "X1")).read(path)
    assert list(data.X) == ["X2", "X1"]
    assert data.X["X2"].max() <= 1
    assert data.ids.tolist() == NAMES
    assert data.reader.read(path).fingerprint() == data.fingerprint()


def test_file_of_one_array_needs_no_name(save, tmp_path):
    reader = ArrayReader().read(save(X=X, y=POSE)).reader
    np.save(tmp_path / "new.npy", X[:2])
    assert_array_equal(reader.read(tmp_path / "new.npy").X, X[:2])


# Labels and names


def test_labels_are_offered(save):
    notes = " ".join(ArrayReader().read(save(X=X, pose=POSE, image_shape=[2, 2])).notes)
    assert "t.npz: pose may be labels, read by label_names= (--label-columns)." in notes


def test_codes_written_are_read(save):
    data = ArrayReader().read(save(codes=X, ids=np.array(NAMES), names=np.array(list("hijk"))))
    assert data.feature_names.tolist() == list("hijk")
    assert data.ids.tolist() == NAMES


def test_labels_may_be_absent_later(save):
    reader = ArrayReader(label_names="pose").read(save(X=X, pose=POSE)).reader
    assert reader.read(save("new.npz", X=X)).labels is None


# Bad input


@pytest.mark.parametrize(
    ("arrays", "reader", "message"),
    [
        ({"X": X * 1j}, {}, "array 'X' holds complex numbers"),
        ({"X": np.array([["a"]])}, {}, "holds text: samples need real numbers"),
        ({"X": np.array([[{}]])}, {}, "holds Python objects"),
        ({"X": POSE}, {}, r"has shape \(5,\)"),
        ({"X": np.zeros((2, 2, 2, 2))}, {}, r"\(n, height, width, 3\)"),
        ({"X": np.zeros((0, 2))}, {}, "is empty"),
        ({"a": POSE, "b": POSE}, {}, "no matrix of numbers: a"),
        ({"X": X}, {"name": "Y"}, "no array 'Y'"),
        ({"X": X, "yy": X}, {"name": "yyy"}, "Did you mean 'yy'"),
        ({"X": X, "Y": X[:2]}, {"name": ("X", "Y")}, "rows: X 5, Y 2"),
        ({"X": X, "ids": np.array(["a"])}, {}, r"ids has shape \(1,\), but there are 5 samples"),
        ({"X": X, "ids": np.array(list("aabcd"))}, {}, "ids has names more than once: a"),
        ({"X": X, "pose": POSE}, {"label_names": "light"}, r"no array 'light' .*Such arrays are pose\."),
        ({"X": X, "depth": X[:, 0]}, {"label_names": "depth"}, "'depth' holds measurements"),
    ],
)
def test_bad_arrays_are_refused(save, arrays, reader, message):
    with pytest.raises(ValueError, match=message):
        ArrayReader(**reader).read(save(**arrays))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_must_be_finite(save, tmp_path, value):
    wrong = X.copy()
    wrong[2, 3] = wrong[4, 0] = value
    with pytest.raises(ValueError, match="2 values that are NaN or infinite, the first in row 2, column 3"):
        ArrayReader().read(save(X=wrong))
    sp.save_npz(tmp_path / "sparse.npz", sp.csr_array(wrong))
    with pytest.raises(ValueError, match="2 values that are NaN or infinite, the first in row 2, column 3"):
        ArrayReader().read(tmp_path / "sparse.npz")


def test_number_of_features_is_checked(save):
    reader = ArrayReader().read(save(X=X)).reader
    with pytest.raises(ValueError, match="has 3 features, but 4 are expected"):
        reader.read(save("new.npz", X=X[:, :3]))
    with pytest.raises(ValueError, match="transposed=True"):
        reader.read(save("new.npz", X=X.T))


@pytest.mark.parametrize("name", ["t.npy", "t.npz", "t.mat", "t.h5", "t.zip"])
def test_damaged_file_is_named(tmp_path, name):
    pytest.importorskip({"t.h5": "h5py", "t.zip": "zarr"}.get(name, "numpy"))
    (tmp_path / name).write_bytes(b"no array")
    with pytest.raises(ValueError, match=f"{name} is not a readable"):
        ArrayReader().read(tmp_path / name)


def test_pickles_are_not_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    (tmp_path / "t.npy").write_bytes(pickle.dumps(Trap()))
    np.save(tmp_path / "o.npy", np.array([[Trap()]], dtype=object), allow_pickle=True)
    for name in ("t.npy", "o.npy"):
        with pytest.raises(ValueError, match=name):
            ArrayReader().read(tmp_path / name)


def test_truncated_file_is_named(save, tmp_path):
    np.save(tmp_path / "t.npy", X)
    (tmp_path / "t.npy").write_bytes((tmp_path / "t.npy").read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"t\.npy: array 't' cannot be read"):
        ArrayReader().read(tmp_path / "t.npy")


# Larger than memory


@pytest.mark.parametrize("ending", ["h5", "zarr"])
def test_large_array_stays_on_disk(tmp_path, ending):
    from laminar import config_context

    path = tmp_path / f"t.{ending}"
    if ending == "h5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["X"] = X
    else:
        pytest.importorskip("zarr").save_array(str(path), X)
    loaded = ArrayReader().read(path)
    with config_context(max_memory=X.nbytes):
        data = ArrayReader().read(path)
        with pytest.raises(ValueError, match="on disk and larger than half of max_memory"):
            np.asarray(data.X)
        assert data.fingerprint() == loaded.fingerprint()
        np.testing.assert_array_equal(data.X.read(slice(None)), loaded.X)


def test_large_array_with_nan_is_refused(tmp_path):
    from laminar import config_context

    with pytest.importorskip("h5py").File(tmp_path / "t.h5", "w") as file:
        file["X"] = np.where(np.arange(X.size).reshape(X.shape) == X.shape[1], np.nan, X)
    with config_context(max_memory=X.nbytes), pytest.raises(ValueError, match="the first in row 1, column 0"):
        ArrayReader().read(tmp_path / "t.h5")
