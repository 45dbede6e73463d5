"""`read`: kinds of paths, options, views, labels, scaling, and new data like old."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import laminar.io
from laminar.io import Dataset, read

X = np.random.default_rng(0).normal(size=(4, 3)) * [1, 10, 100]
IDS = ["a", "b", "c", "d"]


def write_table(path, ids=IDS, values=X, **columns):
    frame = pd.DataFrame(values, columns=[f"{path.stem}{j}" for j in range(values.shape[1])])
    frame.insert(0, "id", ids)
    frame.assign(**columns).to_csv(path, index=False)
    return path


@pytest.fixture
def table(tmp_path):
    """A table of four samples and three features."""
    return write_table(tmp_path / "first.csv")


@pytest.fixture
def views(tmp_path):
    """Two tables, which share samples b, c and d; the second has labels."""
    first = write_table(tmp_path / "first.csv")
    second = write_table(tmp_path / "second.csv", ["d", "c", "b"], X[:3, :2], kind=["u", "v", "u"])
    return [first, second]


# Kinds of paths


def write_images(folder):
    image = pytest.importorskip("PIL.Image", reason="images need pillow")
    folder.mkdir()
    for name in IDS:
        image.fromarray(np.full((4, 3), 51, dtype=np.uint8)).save(folder / f"{name}.png")
    (folder / "notes.txt").write_text("x")
    return folder


def write_texts(folder):
    folder.mkdir()
    for name in IDS:
        (folder / f"{name}.txt").write_text(f"word {name}{name} more words")
    return folder


def write_npz(path):
    np.savez(path, X=X)
    return path


def write_h5ad(path):
    anndata = pytest.importorskip("anndata", reason=".h5ad files need anndata")
    anndata.AnnData(X, obs=pd.DataFrame(index=IDS), var=pd.DataFrame(index=list("xyz"))).write_h5ad(path)
    return path


def write_zarr(path):
    zarr = pytest.importorskip("zarr", reason=".zarr files need zarr")
    zarr.open_array(str(path), mode="w", shape=X.shape, dtype=X.dtype)[...] = X
    return path


KINDS = {  # name, writer, options, reader
    "images": ("pictures", write_images, {}, "ImageReader"),
    "frames": ("pictures", write_images, {"kind": "frames"}, "VideoReader"),
    "texts": ("talks", write_texts, {"min_df": 1, "max_df": 1.0}, "TextReader"),
    "table": ("t.csv", write_table, {}, "TableReader"),
    "upper case": ("T.CSV", write_table, {}, "TableReader"),
    "arrays": ("t.npz", write_npz, {}, "ArrayReader"),
    "zarr": ("t.zarr", write_zarr, {}, "ArrayReader"),
    "anndata": ("t.h5ad", write_h5ad, {}, "AnnDataReader"),
}


@pytest.mark.parametrize("case", KINDS)
def test_kind_is_recognised(tmp_path, case):
    name, write, options, reader = KINDS[case]
    path = write(tmp_path / name)
    data = read(path, **options)
    assert type(data.reader).__name__ == reader
    assert data.X.shape[0] == 4
    again = read([str(path)], like=replace(data, X=None))
    assert again.fingerprint() == data.fingerprint()


def test_table_of_texts_by_kind(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,talk\na,red wine\nb,red rose\n")
    data = read(path, kind="texts", min_df=1, max_df=1.0)
    assert data.feature_names.tolist() == ["red", "rose", "wine"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "is an empty folder. Supported are images"),
        ({"a.csv": 2}, r"holds no images, videos or texts, but 2 \.csv\. Of \.csv files give one, or a list"),
        ({"a.zarr/zarr.json": 1}, r"but 1 \.zarr\. Of \.zarr files give one"),
        ({"a.doc": 1}, r"but 1 \.doc\. Supported are"),
        ({"a.txt": 2, "b.png": 2}, r"2 images and 2 texts: choose by kind='images' or kind='texts' \(--kind\)"),
    ],
)
def test_unclear_folder_is_refused(tmp_path, files, message):
    for name, number in files.items():
        for i in range(number):
            path = tmp_path / f"{i}{name}"
            path.parent.mkdir(exist_ok=True)
            path.write_text("")
    with pytest.raises(ValueError, match=message):
        read(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [("t.doc", r"end in \.doc are not read\. Supported are"), ("t.txt", "kind='texts' or kind='table'")],
)
def test_unclear_file_is_refused(tmp_path, name, message):
    (tmp_path / name).write_text("x")
    with pytest.raises(ValueError, match=message):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("frist.csv", r"Did you mean .*first\.csv"),
        ("zzz", r"zzz does not exist\.$"),
        ("no/t.csv", "nor does its folder"),
    ],
)
def test_absent_path_names_nearest(table, name, message):
    for path in (table.parent / name, [table, table.parent / name]):
        with pytest.raises(FileNotFoundError, match=message):
            read(path)


# Options


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"labels_column": "k"}, TypeError, r"labels_column= is not .*kind='table'\. Did you mean label_columns=\?"),
        ({"size": 32}, TypeError, r"size= .* It is one of kind='images'\. Options are id_column, label_columns"),
        ({"kind": "tables"}, ValueError, r"kind='tables' is not one of images.*Did you mean 'table'\?"),
        ({"scale": "max"}, ValueError, "scale='max' is not 'none' or 'standard'"),
    ],
)
def test_wrong_options_are_refused(table, options, error, message):
    with pytest.raises(error, match=message):
        read(table, **options)
    with pytest.raises(error, match=message):
        read([table, table.parent / "first.csv"], **options)


def test_labels_of_arrays_by_either_name(tmp_path):
    np.savez(tmp_path / "t.npz", X=X, pose=[1, 2, 1, 2])
    for option in ("label_columns", "label_names"):
        assert read(tmp_path / "t.npz", **{option: "pose"}).labels["pose"].tolist() == [1, 2, 1, 2]


# Views


def test_views_are_matched_by_name(views):
    data = read(views, label_columns="kind")
    assert list(data.X) == ["first", "second"]
    assert data.ids.tolist() == IDS
    assert_allclose(data.X["second"][1:], X[[2, 1, 0], :2])
    assert np.isnan(data.X["second"][0]).all()
    assert_array_equal(data.observed[:, 1], [False, True, True, True])
    assert data.labels["kind"].tolist() == [None, "u", "v", "u"]


def test_views_are_named_by_dict(views):
    options = {"label_columns": {"colour": "kind"}}
    assert list(read(dict(zip(["form", "colour"], views, strict=True)), **options).X) == ["form", "colour"]


def test_views_of_one_name_differ(tmp_path):
    paths = []
    for folder in ("left", "right"):
        (tmp_path / folder).mkdir()
        paths.append(write_table(tmp_path / folder / "t.csv"))
    assert list(read(paths).X) == ["left/t.csv", "right/t.csv"]
    assert list(read([paths[0], paths[0]]).X) == ["t.csv 1", "t.csv 2"]


def test_label_of_no_view_is_refused(views):
    with pytest.raises(ValueError, match=r"none of the views first, second has 'typ' \(label_columns\)"):
        read(views, label_columns=("kind", "typ"))


def test_options_go_to_their_view(views, tmp_path):
    np.savez(tmp_path / "arrays.npz", X=X, Y=X + 1, ids=np.array(IDS))
    data = read([views[1], tmp_path / "arrays.npz"], drop="kind", name="Y")
    assert_allclose(data.X["arrays"][[data.ids.tolist().index(name) for name in IDS]], X + 1)


def test_new_views_like_old(views):
    data = read(views, label_columns="kind", scale="standard")
    like = replace(data, X=None)
    for paths in (views, dict(zip(["second", "first"], views[::-1], strict=True)), dict(zip("uv", views, strict=True))):
        assert read(paths, like=like).fingerprint() == data.fingerprint()
    with pytest.raises(ValueError, match=r"were read from 2 inputs \(first, second\), and 1 are given"):
        read(views[:1], like=like)


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ([], ValueError, "no path was given"),
        ({}, ValueError, "no path was given"),
        ("", ValueError, "the path is empty"),
        (None, TypeError, "path is None: give a path"),
    ],
)
def test_no_path_is_refused(path, error, message):
    with pytest.raises(error, match=message):
        read(path)


# Labels


def test_labels_from_file_or_frame(table, tmp_path):
    (tmp_path / "labels.csv").write_text("id,kind\nd,u\na,v\n")
    by_file = read(table, labels=tmp_path / "labels.csv")
    by_frame = read(table, labels=pd.DataFrame({"kind": ["u", "v"]}, index=["d", "a"]))
    for data in (by_file, by_frame):
        assert data.labels["kind"].tolist() == ["v", None, None, "u"]


def test_absent_labels_name_nearest(table):
    with pytest.raises(FileNotFoundError, match=r"Did you mean .*first\.csv"):
        read(table, labels=table.parent / "firts.csv")


# Scaling


def test_standard_scale(table):
    data = read(table, scale="standard")
    assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
    assert_allclose(data.X.std(axis=0), 1)
    assert_allclose(data.scaling.mean, X.mean(axis=0))


def test_new_data_have_old_scale(table, tmp_path):
    old = read(table, scale="standard")
    (tmp_path / "new").mkdir()
    data = read(write_table(tmp_path / "new" / "first.csv", values=X + 5), like=old)
    assert_allclose(data.X, (X + 5 - X.mean(axis=0)) / X.std(axis=0))


def test_scale_of_views_ignores_missing_rows(views):
    data = read(views, label_columns="kind", scale="standard")
    assert_allclose(data.X["first"].std(axis=0), 1)
    assert_allclose(np.nanmean(data.X["second"], axis=0), 0, atol=1e-12)
    assert set(data.scaling) == {"first", "second"}


def test_sparse_data_are_not_scaled(tmp_path):
    sp.save_npz(tmp_path / "t.npz", sp.csr_array(X))
    with pytest.raises(ValueError, match="needs dense data"):
        read(tmp_path / "t.npz", scale="standard")


# Like


def test_like_excludes_options(table):
    like = read(table)
    with pytest.raises(ValueError, match="kind=, drop= cannot be combined with like="):
        read(table, like=like, kind="table", drop="a")
    with pytest.raises(ValueError, match="scale= cannot be combined"):
        read(table, like=like, scale="standard")


def test_like_needs_a_reader(table):
    with pytest.raises(ValueError, match="has no reader"):
        read(table, like=Dataset(X, np.array(IDS)))


# Package


def test_public_names_are_imported_late():
    code = (
        "import sys, laminar.io; heavy = {'pandas', 'PIL', 'h5py', 'sklearn', 'zarr', 'anndata', 'cv2'}; "
        "print(sorted(heavy & set(sys.modules)), callable(laminar.io.read))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[] True"


def test_public_names_exist():
    assert callable(laminar.io.read)
    assert [name for name in laminar.io.__all__ if not hasattr(laminar.io, name)] == []
    assert {"read", "TableReader", "join_views", "write_codes"} <= set(laminar.io.__all__)


def test_named_text_column_means_texts(tmp_path):
    path = tmp_path / "posts.csv"
    path.write_text("id,body,topic\n" + "".join(f"{i},{['cat milk', 'bank loan'][i % 2]},{i % 2}\n" for i in range(6)))
    data = read(path, column="body", label_columns=["topic"], max_df=1.0)
    assert data.feature_names.tolist() == ["bank", "cat", "loan", "milk"]
    assert data.labels["topic"].tolist() == [0, 1] * 3
