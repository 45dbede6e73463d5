"""Data sets in every kind of file: written here as their owners and other repositories name and lay them out."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.io import mmwrite, savemat

from laminar import datasets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LAMINAR_DATA", str(tmp_path))
    return tmp_path


def write_image(path: Path, value=0, shape=(32, 32), kind=None):
    """Write a grey image of one value, bright in its upper left corner."""
    image = pytest.importorskip("PIL.Image", reason='needs pillow: pip install "laminar-nmf[images]"')
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.full(shape, value, dtype=np.uint8)
    pixels[: shape[0] // 2, : shape[1] // 2] = 250
    image.fromarray(pixels).save(path, format=kind)


# Folders of images: name of the set, folder, files, labels of the attributes in the order of the rows.
IMAGES = {
    "orl": ("att_faces", ["s2/1.pgm", "s10/1.pgm", "s10/2.pgm"], {"identity": ["2", "10", "10"]}),
    "yaleb": (
        "CroppedYale",
        ["yaleB01/yaleB01_P00A+000E+00.pgm", "yaleB02/yaleB02_P00A-005E+10.pgm"],
        {"identity": ["01", "02"], "pose": ["P00", "P00"], "illumination": ["A+000E+00", "A-005E+10"]},
    ),
    "coil20": (
        "coil-20-proc",
        ["obj1__0.png", "obj1__9.png", "obj1__10.png", "obj2__0.png"],
        {"identity": ["1", "1", "1", "2"], "angle": ["0", "9", "10", "0"]},
    ),
    "umist": (
        "Sheffield",
        ["1a/face/000.pgm", "1a/face/001.pgm", "1b/face/000.pgm"],
        {"identity": ["1a", "1a", "1b"]},
    ),
    "nottinghill": ("Notting-Hill", ["anna/1.jpg", "ben/1.jpg", "ben/2.jpg"], {"y": ["anna", "ben", "ben"]}),
    "cmu_faces": (
        "faces_4",
        ["an2i/an2i_left_angry_open_4.pgm", "an2i/an2i_up_sad_sunglasses_4.pgm", "bpm/bpm_straight_neutral_open_4.pgm"],
        {
            "identity": ["an2i", "an2i", "bpm"],
            "pose": ["left", "up", "straight"],
            "expression": ["angry", "sad", "neutral"],
            "eyes": ["open", "sunglasses", "open"],
        },
    ),
    "pie": (
        "PIE_dataset",
        ["04000/illum/27_02.png", "04000/illum/27_13.png", "04001/illum/05_02.png"],
        {
            "identity": ["04000", "04000", "04001"],
            "session": ["illum"] * 3,
            "camera": ["27", "27", "05"],
            "illumination": ["02", "13", "02"],
        },
    ),
    "xm2vts": (
        "xm2vtsdb",
        ["000_1_1.ppm", "000_4_2.ppm", "371_1_1.ppm"],
        {"identity": ["000", "000", "371"], "session": ["1", "4", "1"], "shot": ["1", "2", "1"]},
    ),
    "multipie": (
        "Multi-PIE",
        [
            f"session0{name[5]}/multiview/{name[:3]}/{name}.png"
            for name in ("001_01_02_051_07", "001_02_03_140_07", "002_04_03_051_00")
        ],
        {
            "identity": ["001", "001", "002"],
            "session": ["01", "02", "04"],
            "recording": ["02", "03", "03"],
            "pose": ["051", "140", "051"],
            "illumination": ["07", "07", "00"],
            "expression": ["smile", "squint", "scream"],
        },
    ),
    "mmi": (
        "mmi",
        ["S001-001/1.png", "S001-001/2.png", "S002-001/1.png"],
        {"sequence": ["S001-001"] * 2 + ["S002-001"]},
    ),
    "caltech101": (
        "101_ObjectCategories",
        ["airplanes/image_0001.jpg", "bonsai/image_0001.jpg"],
        {"category": ["airplanes", "bonsai"]},
    ),
}


def labels_of(data, attribute):
    return [data.names[attribute][code] if code >= 0 else None for code in data[attribute]]


@pytest.mark.parametrize("name", IMAGES)
def test_folder_of_images(folder, name):
    root, files, labels = IMAGES[name]
    for i, file in enumerate(files):
        write_image(folder / root / file, 10 * i)
    write_image(folder / root / "title.png")
    (folder / root / "README.txt").write_text("no image")
    assert datasets.available() == [name]
    data = datasets.load(name)
    record = datasets.records()[name]
    assert data.source == folder / root
    assert data.image_shape == record.image_shape
    assert data.X.shape == (len(files), np.prod(record.image_shape))
    assert_allclose(data.X[:, -1], np.arange(len(files)) * 10 / 255, atol=0.03)  # JPEG rounds
    assert_allclose(data.X[:, 0], 250 / 255, atol=0.03)
    assert {attribute: labels_of(data, attribute) for attribute in data.attributes} == labels


def test_files_that_differ_in_their_ending_are_one(folder):
    for file in ("subject01.gif", "subject01.glasses", "subject01.glasses.gif", "subject02.wink"):
        write_image(folder / "yalefaces" / file, kind="GIF")
    (folder / "yalefaces" / "Readme.txt").write_text("no image")
    data = datasets.load("yale")
    assert labels_of(data, "identity") == ["01", "01", "02"]
    assert labels_of(data, "condition") == ["centerlight", "glasses", "wink"]


def test_smaller_copies_of_images_are_preferred(folder):
    for scale in ("", "_2", "_4"):
        write_image(folder / "faces" / "an2i" / f"an2i_left_angry_open{scale}.pgm", 40)
    assert len(datasets.load("cmu_faces").X) == 1
    (folder / "faces" / "an2i" / "an2i_left_angry_open_4.pgm").rename(folder / "faces" / "an2i" / "other_4.pgm.bad")
    assert len(datasets.load("cmu_faces").X) == 1


def test_expression_of_other_recordings_is_unknown(folder):
    write_image(folder / "multipie" / "001_01_01_051_07.png")
    write_image(folder / "multipie" / "001_01_09_051_07.png")
    assert labels_of(datasets.load("multipie"), "expression") == ["neutral", None]


def test_part_of_casia_that_the_paper_uses(folder, monkeypatch):
    from dataclasses import replace

    from laminar.datasets import files

    small = replace(datasets.records()["casia_webface"], n_classes=2, per_class=2, image_shape=(3, 2))
    monkeypatch.setattr(files, "records", lambda: {"casia_webface": small})
    for person, n in {"0000045": 3, "0000099": 1, "0000100": 2, "0000102": 2}.items():
        for i in range(n):
            write_image(folder / "CASIA-WebFace" / person / f"{i + 1:03d}.jpg")
    data = datasets.load("casia_webface")
    assert labels_of(data, "identity") == ["0000045", "0000045", "0000100", "0000100"]


def test_ten_categories_of_caltech_have_the_size_in_the_paper(folder):
    sizes = {"airplanes": 800, "Motorbikes": 798, "Faces": 435, "watch": 239, "Leopards": 200, "bonsai": 128}
    sizes |= {"car_side": 123, "ketch": 114, "chandelier": 107, "hawksbill": 100}
    assert sum(sizes.values()) == datasets.records()["caltech101"].n_samples
    for category in (*sizes, "Faces_easy", "BACKGROUND_Google", "ant"):
        write_image(folder / "caltech-101" / category / "image_0001.jpg")
    assert set(datasets.load("caltech101", size=8).names["category"]) == set(sizes)


def test_labels_beside_images(folder):
    for frame in range(3):
        write_image(folder / "mmi" / "S001-001" / f"{frame}.png")
    (folder / "mmi" / "labels.csv").write_text("id,phase\nS001-001/0,neutral\nS001-001/2,apex\n")
    data = datasets.load("mmi", size=(5, 4))
    assert data.attributes == ["sequence", "phase"]
    assert labels_of(data, "phase") == ["neutral", None, "apex"]
    assert_array_equal(data.groups, 0)
    assert_array_equal(data.frame, [0, 1, 2])


def test_videos_are_sequences(folder):
    cv2 = pytest.importorskip("cv2", reason='needs opencv: pip install "laminar-nmf[video]"')
    (folder / "mmi").mkdir()
    for name, n_frames in {"S001-001": 3, "S001-002": 2}.items():
        film = cv2.VideoWriter(str(folder / "mmi" / f"{name}.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 24, (32, 16))
        for i in range(n_frames):
            film.write(np.full((16, 32, 3), 60 * i, dtype=np.uint8))
        film.release()
    assert datasets.available() == ["mmi"]
    data = datasets.load("mmi", size=(8, 16))
    assert labels_of(data, "sequence") == ["S001-001"] * 3 + ["S001-002"] * 2
    assert_array_equal(data.frame, [0, 1, 2, 0, 1])
    assert_allclose(data.X.mean(axis=1), np.array([0, 60, 120, 0, 60]) / 255, atol=0.03)


def test_folder_of_other_files_is_not_the_set(folder):
    write_image(folder / "faces" / "person01.png")
    assert datasets.available() == []
    with pytest.raises(ValueError, match=r"no image of ORL .* is named as s1/1.pgm; it holds person01.png"):
        datasets.load("orl", path=folder / "faces")


# .mat


def columns(images):
    """Flatten images (n, height, width) as MATLAB does, column by column."""
    return images.transpose(0, 2, 1).reshape(len(images), -1)


def test_matlab_file_of_images(folder):
    images = np.random.default_rng(0).integers(0, 256, (6, 3, 3))
    savemat(folder / "ORL_32x32.mat", {"fea": columns(images).astype(float), "gnd": [[3], [3], [7], [7], [9], [9]]})
    data = datasets.load("orl", dtype=np.float64)
    assert data.image_shape == (3, 3)
    assert_allclose(data.X, images.reshape(6, -1) / 255)
    assert_array_equal(data.identity, [0, 0, 1, 1, 2, 2])
    assert data.attributes == ["identity"]


def test_matlab_file_with_samples_in_columns(folder):
    images = np.random.default_rng(0).random((5, 28, 23))
    savemat(folder / "umist.mat", {"X": columns(images).T, "gnd": np.array([[1, 1, 1, 2, 2]])})
    data = datasets.load("umist", dtype=np.float64)
    assert data.image_shape == (28, 23)
    assert_allclose(data.X, images.reshape(5, -1))
    assert_array_equal(data.groups, [0, 0, 0, 1, 1])
    assert_array_equal(data.frame, [0, 1, 2, 0, 1])


def test_position_in_class_is_a_label(folder):
    X = np.random.default_rng(0).random((22, 9))
    savemat(folder / "Yale_32x32.mat", {"fea": X, "gnd": np.repeat([1, 2], 11)})
    data = datasets.load("yale")
    assert data.attributes == ["identity", "condition"]
    assert labels_of(data, "condition")[10:12] == ["wink", "centerlight"]
    savemat(folder / "Yale_32x32.mat", {"fea": X, "gnd": np.repeat([1, 2], [12, 10])})
    assert datasets.load("yale").attributes == ["identity"]


def test_order_of_other_files_is_unknown(folder):
    savemat(folder / "Yale_64x64.mat", {"fea": np.ones((22, 9)), "gnd": np.repeat([1, 2], 11)})
    assert datasets.load("yale").attributes == ["identity"]


def test_matlab_cells_are_views(folder):
    rng = np.random.default_rng(0)
    views, cells = [rng.random((7, p)) for p in (3, 5, 4)], np.empty((1, 3), dtype=object)
    cells[0] = [views[0], sp.csc_array(views[1]), views[2].T]
    savemat(folder / "WebKB.mat", {"X": cells, "Y": [[1], [2], [1], [2], [2], [1], [1]]})
    data = datasets.load("webkb", dtype=np.float64)
    for found, view in zip(data.views, views, strict=True):
        assert_allclose(found, view)
    assert_array_equal(data.y, [0, 1, 0, 1, 1, 0, 0])


def test_cell_of_images_for_each_person(folder):
    cells = np.empty((1, 2), dtype=object)
    people = [np.random.default_rng(i).integers(0, 256, (n, 4, 3), dtype=np.uint8) for i, n in enumerate([2, 3])]
    cells[0] = [images.transpose(1, 2, 0) for images in people]
    savemat(folder / "umist_cropped.mat", {"facedat": cells})
    data = datasets.load("umist")
    assert_allclose(data.X, np.concatenate(people).reshape(5, -1) / 255, rtol=1e-6)
    assert_array_equal(data.identity, [0, 0, 1, 1, 1])
    assert data.image_shape == (4, 3)


def test_array_of_crossed_attributes(folder):
    images = np.random.default_rng(0).random((2 * 3 * 2 * 1, 40, 30))
    images[4] = 0  # was not taken
    savemat(folder / "A_MultiPIE.mat", {"a_multipie": columns(images).reshape(2, 3, 2, 1, -1)})
    data = datasets.load("multipie", dtype=np.float64)
    taken = np.arange(12) != 4
    assert_allclose(data.X, images[taken].reshape(11, -1))
    assert_array_equal(data.identity, (np.arange(12) // 6)[taken])
    assert_array_equal(data.pose, (np.arange(12) // 2 % 3)[taken])
    assert_array_equal(data.expression, (np.arange(12) % 2)[taken])
    assert data.image_shape == (40, 30)


def test_matlab_file_of_version_7_3(folder):
    h5py = pytest.importorskip("h5py", reason='needs h5py: pip install "laminar-nmf[arrays]"')
    views = [np.random.default_rng(v).random((4, 2 + v)) for v in range(2)]
    path = folder / "WebKB.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        parts = [file.create_dataset(f"#refs#/{v}", data=view.T) for v, view in enumerate(views)]
        file.create_dataset("X", data=np.array([[part.ref] for part in parts], dtype=h5py.ref_dtype))
        file["Y"] = np.array([[1.0, 1.0, 2.0, 2.0]])
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    data = datasets.load("webkb", dtype=np.float64)
    for found, view in zip(data.views, views, strict=True):
        assert_allclose(found, view)
    assert_array_equal(data.y, [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"nothing": np.eye(2)}, "no variable fea, .*; it has nothing"),
        ({"fea": np.eye(2)}, "no variable gnd, .*; it has fea"),
        ({"fea": np.eye(2), "gnd": [1, 2, 3]}, r"3 labels, but data of shape \(2, 2\)"),
    ],
)
def test_matlab_file_without_its_variables(folder, variables, sentence):
    savemat(folder / "ORL_32x32.mat", variables)
    with pytest.raises(ValueError, match=sentence):
        datasets.load("orl")


def test_damaged_matlab_file(folder):
    (folder / "ORL_32x32.mat").write_bytes(b"no file of MATLAB" * 20)
    with pytest.raises(ValueError, match=r"ORL_32x32.mat is not a readable .mat file"):
        datasets.load("orl")


# Files of the owners


def test_multiple_features_of_uci(folder):
    views = {}
    for name in ("fac", "fou", "kar", "mor", "pix", "zer"):
        views[name] = np.random.default_rng(len(views)).random((20, 3)).round(3)
        (folder / "mfeat").mkdir(exist_ok=True)
        np.savetxt(folder / "mfeat" / f"mfeat-{name}", views[name], fmt="%.3f")
    data = datasets.load("uci_digits", dtype=np.float64)
    assert data.view_names == list(views)
    assert_array_equal(np.hstack(data.views), np.hstack(list(views.values())))
    assert_array_equal(data.y, np.repeat(np.arange(10), 2))
    (folder / "mfeat" / "mfeat-pix").unlink()
    with pytest.raises(ValueError, match="mfeat-pix is missing"):
        datasets.load("uci_digits")


def test_three_sources_keeps_stories_of_all_newspapers(folder):
    stories = {"bbc": [1, 2, 5], "guardian": [5, 2, 7], "reuters": [2, 3, 5]}
    root = folder / "3sources"
    root.mkdir()
    for paper, ids in stories.items():
        counts = np.array([[10 * story, story] for story in ids]).T  # terms, stories
        mmwrite(root / f"3sources_{paper}.mtx", sp.coo_array(counts))
        (root / f"3sources_{paper}.docs").write_text("\n".join(map(str, ids)))
    (root / "3sources.disjoint.clist").write_text("business: 1,5\nsport: 2,3,7\n")
    data = datasets.load("3sources")
    assert data.view_names == list(stories)
    for view in data.views:
        assert_array_equal(view, [[20, 2], [50, 5]])
    assert labels_of(data, "y") == ["sport", "business"]
