"""`ImageReader`: values, sizes, colour, names, labels and files that cannot be read, on images made with Pillow."""

import dataclasses
import json
import os
import sys

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="needs the extra images")

from laminar.io import _pixels  # noqa: E402
from laminar.io.images import ImageReader  # noqa: E402

RAMP = np.linspace(0, 255, 12).astype(np.uint8).reshape(3, 4)
RED = np.zeros((3, 4, 3), np.uint8) + np.array([200, 0, 0], np.uint8)
ENDINGS = ("png", "pgm", "tif", "tiff", "bmp", "PNG", "Tif", "gif", "webp")


def save(folder, name, pixels=RAMP, **options):
    """Write an image, folders included, and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    image.save(path, **options)
    return path


def noted(data, text):
    return any(text in note for note in data.notes)


# Values


@pytest.mark.parametrize("ending", ENDINGS)
def test_lossless_values_exact(tmp_path, ending):
    save(tmp_path, f"a.{ending}", **({"lossless": True} if ending == "webp" else {}))
    data = ImageReader(colour=False).read(tmp_path)
    assert data.X.dtype == np.float32
    np.testing.assert_array_equal(data.X[0], RAMP.ravel() / np.float32(255))


@pytest.mark.parametrize("ending", ["jpg", "JPEG"])
def test_jpeg_values_close(tmp_path, ending):
    save(tmp_path, f"a.{ending}", quality=100)
    np.testing.assert_allclose(ImageReader().read(tmp_path).X[0], RAMP.ravel() / 255, atol=0.02)


@pytest.mark.parametrize("ending", ["png", "tif", "pgm"])
def test_sixteen_bits_scaled(tmp_path, ending):
    pixels = np.array([[0, 65535], [257, 32768]], np.uint16)
    save(tmp_path, f"a.{ending}", pixels)
    data = ImageReader().read(tmp_path)
    np.testing.assert_allclose(data.X[0], pixels.ravel() / 65535, rtol=1e-6)
    assert noted(data, "more than 8 bits")


def test_twelve_bits_scaled_by_header(tmp_path):
    (tmp_path / "a.pgm").write_bytes(b"P5\n2 1\n4095\n" + np.array([0, 4095], ">u2").tobytes())
    assert ImageReader().read(tmp_path).X.tolist() == [[0, 1]]


def test_float_values_kept(tmp_path):
    save(tmp_path, "a.tif", np.array([[0.5, 7.0]], np.float32))
    data = ImageReader().read(tmp_path)
    assert data.X.tolist() == [[0.5, 7]]
    assert noted(data, "kept as they are")


def test_float_nan_named(tmp_path):
    save(tmp_path, "a.tif", np.array([[0.5, np.nan]], np.float32))
    with pytest.raises(ValueError, match=r"a\.tif \(it has pixels that are NaN"):
        ImageReader().read(tmp_path)


def test_bilevel_image_zero_one(tmp_path):
    save(tmp_path, "a.png", Image.fromarray(RAMP).convert("1", dither=0))
    assert set(ImageReader().read(tmp_path).X[0].tolist()) == {0, 1}


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_transparent_pixels_white(tmp_path, mode):
    save(tmp_path, "a.png", Image.new(mode, (4, 3)))
    data = ImageReader().read(tmp_path)
    assert (data.X == 1).all()
    assert noted(data, "1 image with transparency")


def test_palette_transparency_white(tmp_path):
    image = Image.new("P", (2, 1))
    image.putpalette([10, 10, 10, 90, 90, 90])
    image.putdata([0, 1])
    save(tmp_path, "a.png", image, transparency=0)
    np.testing.assert_allclose(ImageReader().read(tmp_path).X[0], [1, 90 / 255], rtol=1e-6)


def test_cmyk_converted(tmp_path):
    save(tmp_path, "a.jpg", Image.new("CMYK", (8, 8), (0, 255, 255, 0)), quality=100)  # red
    data = ImageReader().read(tmp_path)
    np.testing.assert_allclose(data.X[0].reshape(8, 8, 3)[4, 4], [1, 0, 0], atol=0.05)


@pytest.mark.parametrize("ending", ["png", "tif", "jpg"])
def test_orientation_respected(tmp_path, ending):
    exif = Image.Exif()
    exif[274] = 6  # turned clockwise by 90 degrees
    save(tmp_path, f"a.{ending}", exif=exif)
    data = ImageReader().read(tmp_path)
    assert data.image_shape == (4, 3)
    np.testing.assert_allclose(data.X[0].reshape(4, 3) * 255, np.rot90(RAMP, -1), atol=12 if ending == "jpg" else 0.01)


def test_first_page_read(tmp_path):
    save(tmp_path, "a.tif", save_all=True, append_images=[Image.fromarray(255 - RAMP)])
    data = ImageReader().read(tmp_path)
    np.testing.assert_allclose(data.X[0] * 255, RAMP.ravel(), atol=0.01)
    assert noted(data, "several pages")


# Colour


def test_equal_channels_are_grey(tmp_path):
    save(tmp_path, "a.png", np.stack([RAMP] * 3, axis=2))
    data = ImageReader().read(tmp_path)
    assert data.image_shape == (3, 4)
    np.testing.assert_array_equal(data.X[0], RAMP.ravel() / np.float32(255))
    assert noted(data, "stored in colour, all of them grey")


def test_one_colour_image_decides(tmp_path):
    save(tmp_path, "a.png")
    save(tmp_path, "b.png", RED)
    data = ImageReader().read(tmp_path)
    assert data.image_shape == (3, 4, 3)
    assert data.reader.colour is True
    np.testing.assert_array_equal(data.X[0].reshape(3, 4, 3), np.stack([RAMP / np.float32(255)] * 3, axis=2))
    np.testing.assert_array_equal(data.X[1].reshape(3, 4, 3), RED / np.float32(255))
    assert noted(data, "1 grey image given three equal channels")


@pytest.mark.parametrize("colour", [False, True])
def test_colour_can_be_chosen(tmp_path, colour):
    save(tmp_path, "a.png")
    save(tmp_path, "b.png", RED)
    assert len(ImageReader(colour=colour).read(tmp_path).image_shape) == 2 + colour


def test_sixteen_bits_beside_colour(tmp_path):
    save(tmp_path, "a.png", np.full((3, 4), 65535, np.uint16))
    save(tmp_path, "b.png", RED)
    assert (ImageReader().read(tmp_path).X[0] == 1).all()


# Sizes


def test_different_sizes_become_median(tmp_path):
    for i, shape in enumerate([(10, 20), (12, 20), (30, 40)]):
        save(tmp_path, f"{i}.png", np.full(shape, 51, np.uint8))
    data = ImageReader().read(tmp_path)
    assert data.image_shape == (12, 20)
    np.testing.assert_allclose(data.X, 0.2, atol=1e-6)
    assert noted(data, "2 images resized to 12 x 20 (were 10 x 20 to 30 x 40)")
    assert noted(data, "2 of them with other proportions")


@pytest.mark.parametrize(("size", "shape"), [(6, (6, 6)), ((2, 5), (2, 5)), ([2, 5], (2, 5)), (np.int64(3), (3, 3))])
def test_size_can_be_chosen(tmp_path, size, shape):
    save(tmp_path, "a.png")
    assert ImageReader(size=size).read(tmp_path).image_shape == shape


def test_large_images_are_reduced(tmp_path):
    save(tmp_path, "a.png", np.zeros((300, 600), np.uint8))
    data = ImageReader().read(tmp_path)
    assert data.image_shape == (90, 181)
    assert len(data.notes) == 1
    assert noted(data, "300 x 600 pixels are reduced to 90 x 181: choose another size with size=")


@pytest.mark.parametrize("ending", ["png", "jpg", "tif"])
def test_reduction_is_antialiased(tmp_path, ending):
    stripes = np.zeros((64, 64), np.uint8)
    stripes[:, ::2] = 255
    save(tmp_path, f"a.{ending}", stripes)
    np.testing.assert_allclose(ImageReader(size=8).read(tmp_path).X, 0.5, atol=0.02)


@pytest.mark.parametrize("size", [0, -3, 2.5, "big", (3,), (3, 4, 5), (3, 0), True])
def test_wrong_size_refused(size):
    with pytest.raises(ValueError, match="size="):
        ImageReader(size=size)


# Names and order


def test_natural_order(tmp_path):
    for name in ["img10.png", "img2.png", "IMG1.png", "b/x.png", "a10/x.png", "a9/x.png"]:
        save(tmp_path, name)
    ids = ImageReader().read(tmp_path).ids.tolist()
    assert ids == ["a9/x", "a10/x", "b/x", "IMG1", "img2", "img10"]


@pytest.mark.parametrize("name", ["Zoë", "日本", "two words", "dots.in.name", "50%", "a'b"])
def test_unusual_names(tmp_path, name):
    save(tmp_path, f"{name}/{name}.png")
    data = ImageReader(labels_from="folders").read(tmp_path)
    assert data.ids.tolist() == [f"{name}/{name}"]
    assert data.labels["folder"].tolist() == [name]
    assert data.sources.tolist() == [f"{name}/{name}.png"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_undecodable_name(tmp_path):
    save(tmp_path, "a.png")
    os.rename(tmp_path / "a.png", os.fsencode(tmp_path) + b"/\xff.png")
    data = ImageReader().read(tmp_path)
    assert data.ids.tolist() == ["\ufffd"]
    assert data.sources.tolist() == ["\ufffd.png"]
    assert len(data.fingerprint()) == 32


def test_same_stem_keeps_ending(tmp_path):
    for name in ["a.png", "a.bmp", "b.png"]:
        save(tmp_path, name)
    assert ImageReader().read(tmp_path).ids.tolist() == ["a.bmp", "a.png", "b"]


def test_other_files_ignored(tmp_path):
    for name in ["a.png", ".hidden.png", ".cache/a.png", "__MACOSX/a.png"]:
        save(tmp_path, name)
    for name in ["Thumbs.db", ".DS_Store", "labels.csv"]:
        (tmp_path / name).write_text("x")
    data = ImageReader().read(tmp_path)
    assert data.ids.tolist() == ["a"]
    assert data.notes == ("1 file other than images ignored: labels.csv.",)


def test_files_can_be_chosen(tmp_path):
    for value, name in enumerate(["a.png", "b.png", "deep/c.png"]):
        save(tmp_path, name, np.full((2, 3), value, np.uint8))
    save(tmp_path, "subject01.happy", np.full((2, 3), 9, np.uint8), format="gif")
    data = ImageReader().read(tmp_path, files=["deep/c.png", "subject01.happy", "a.png"])
    assert data.sources.tolist() == ["deep/c.png", "subject01.happy", "a.png"]
    np.testing.assert_allclose(255 * data.X[:, 0], [2, 9, 0], atol=1e-4)
    assert not noted(data, "ignored")


def test_symlink_loop_ends(tmp_path):
    save(tmp_path, "sub/a.png")
    save(tmp_path.parent / "elsewhere", "b.png")
    (tmp_path / "sub" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "linked").symlink_to(tmp_path.parent / "elsewhere", target_is_directory=True)
    assert ImageReader().read(tmp_path).ids.tolist() == ["linked/b", "sub/a"]


def test_single_image(tmp_path):
    data = ImageReader().read(save(tmp_path, "one.png"))
    assert (data.X.shape, data.ids.tolist(), data.sources.tolist()) == ((1, 12), ["one"], ["one.png"])


# Labels


def test_labels_from_folders(tmp_path):
    for name in ["anna/1.png", "ben/1.png", "ben/2.png"]:
        save(tmp_path, name)
    labels = ImageReader(labels_from="folders").read(tmp_path).labels
    assert labels["folder"].to_dict() == {"anna/1": "anna", "ben/1": "ben", "ben/2": "ben"}


def test_labels_from_deeper_folders(tmp_path):
    for name in ["anna/left/1.png", "ben/1.png", "0.png"]:
        save(tmp_path, name)
    data = ImageReader(labels_from="folders").read(tmp_path)
    assert data.labels["folder1"].tolist() == [None, "anna", "ben"]
    assert data.labels["folder2"].tolist() == [None, "left", None]
    assert noted(data, "1 image in no subfolder")


def test_labels_need_subfolders(tmp_path):
    save(tmp_path, "a.png")
    with pytest.raises(ValueError, match="no subfolders"):
        ImageReader(labels_from="folders").read(tmp_path)


PATTERNS = {  # pattern, path without ending, labels
    "parts": ("{identity}_{pose}", "anna_3", {"identity": "anna", "pose": 3}),
    "leading zero": ("{identity}_{pose}", "anna_003", {"identity": "anna", "pose": "003"}),
    "ignored": ("{identity}_{_}_{pose}", "anna_x_up", {"identity": "anna", "pose": "up"}),
    "nameless": ("{}_{pose}", "anna_up", {"pose": "up"}),
    "literal": ("s{n}-p{pose}", "s12-pup", {"n": 12, "pose": "up"}),
    "width": ("{who:2}{pose:3}{light}", "abdowndark", {"who": "ab", "pose": "dow", "light": "ndark"}),
    "folder": ("{who}/{pose}", "anna/up", {"who": "anna", "pose": "up"}),
    "folder ignored": ("{pose}-{light}", "anna/up-dark", {"pose": "up", "light": "dark"}),
    "ending": ("{who}_{pose}.png", "anna_up", {"who": "anna", "pose": "up"}),
    "special characters": ("{who}+({pose})", "anna+(up)", {"who": "anna", "pose": "up"}),
}


@pytest.mark.parametrize("case", PATTERNS)
def test_labels_from_names(tmp_path, case):
    pattern, name, labels = PATTERNS[case]
    save(tmp_path, f"{name}.png")
    assert ImageReader(name_pattern=pattern).read(tmp_path).labels.iloc[0].to_dict() == labels


def test_unmatched_names_unknown(tmp_path):
    for name in ["anna_1.png", "anna_2_copy.png", "cover.png"]:
        save(tmp_path, name)
    data = ImageReader(name_pattern="{identity}_{pose}").read(tmp_path)
    assert data.labels["identity"].tolist() == ["anna", None, None]
    assert noted(data, "2 of 3 file names not of the form {identity}_{pose}")
    assert noted(data, "anna_2_copy.png, cover.png")


def test_no_match_refused(tmp_path):
    save(tmp_path, "cover.png")
    with pytest.raises(ValueError, match=r"matches no file, such as cover\.png; .*anna_1\.png"):
        ImageReader(name_pattern="{identity}_{pose}").read(tmp_path)


@pytest.mark.parametrize("pattern", ["plain", "{a", "{a}{b}", "{a}_{a}", "{two words}", "{_}", "{a:x}"])
def test_wrong_pattern_refused(pattern):
    with pytest.raises(ValueError, match="name_pattern="):
        ImageReader(name_pattern=pattern)


def test_unknown_source_of_labels_refused():
    with pytest.raises(ValueError, match="labels_from='names'"):
        ImageReader(labels_from="names")


# Files that cannot be read


def broken_files(folder):
    """A good image, an empty file, a text, and an image that ends early."""
    rng = np.random.default_rng(0)
    save(folder, "good.png", rng.integers(0, 255, (50, 50), dtype=np.uint8))
    (folder / "empty.png").write_bytes(b"")
    (folder / "text.jpg").write_text("not an image")
    half = save(folder, "truncated.png", rng.integers(0, 255, (50, 50), dtype=np.uint8))
    half.write_bytes(half.read_bytes()[:1200])


def test_bad_headers_named(tmp_path):
    broken_files(tmp_path)
    with pytest.raises(ValueError, match="2 of 4 images") as error:
        ImageReader().read(tmp_path)
    assert "empty.png (empty file), text.jpg (not a valid image)" in str(error.value)
    assert "skip_bad=True, on the command line --skip-bad" in str(error.value)


@pytest.mark.parametrize("ending", ["png", "jpg", "bmp", "tif"])
def test_truncated_image_named(tmp_path, ending):
    pixels = np.random.default_rng(0).integers(0, 255, (50, 50), dtype=np.uint8)
    save(tmp_path, "good.png", pixels)
    path = save(tmp_path, f"half.{ending}", pixels)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ValueError, match=rf"1 of 2 images in .* half\.{ending} \("):
        ImageReader().read(tmp_path)


def test_bad_files_skipped(tmp_path):
    broken_files(tmp_path)
    expected = ImageReader().read(tmp_path / "good.png").X
    save(tmp_path, "zebra.png", np.full((50, 50), 51, np.uint8))
    data = ImageReader().read(tmp_path, skip_bad=True)
    assert data.ids.tolist() == ["good", "zebra"]
    np.testing.assert_allclose(data.X, np.vstack([expected, np.full((1, 2500), 0.2)]), rtol=1e-6)
    assert noted(data, "2 of 5 images cannot be read")
    assert noted(data, "1 of 3 images cannot be read and left out: truncated.png")


def test_only_bad_files_refused(tmp_path):
    (tmp_path / "a.png").write_bytes(b"x")
    with pytest.raises(ValueError, match="1 of 1 image"):
        ImageReader().read(tmp_path, skip_bad=True)


def test_broken_link_named(tmp_path):
    save(tmp_path, "a.png")
    (tmp_path / "b.png").symlink_to(tmp_path / "nowhere.png")
    with pytest.raises(ValueError, match=r"b\.png \(No such file"):
        ImageReader().read(tmp_path)


def test_empty_folder_refused(tmp_path):
    with pytest.raises(ValueError, match="it holds nothing"):
        ImageReader().read(tmp_path)


def test_folder_without_images_describes_content(tmp_path):
    for name in ["a.csv", "b.csv", "README"]:
        (tmp_path / name).write_text("x")
    with pytest.raises(ValueError, match=r"holds no images .* it holds 2 x \.csv, 1 x no ending"):
        ImageReader().read(tmp_path)


def test_missing_folder_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ImageReader().read(tmp_path / "nowhere")


# Settings of the returned reader


def test_new_images_read_alike(tmp_path):
    save(tmp_path, "old/anna_1.png")
    save(tmp_path, "new/x.png", np.stack([np.full((9, 9), 51, np.uint8), *[np.zeros((9, 9), np.uint8)] * 2], axis=2))
    reader = ImageReader(name_pattern="{identity}_{pose}").read(tmp_path / "old").reader
    data = reader.read(tmp_path / "new" / "x.png")
    assert data.image_shape == (3, 4)
    assert data.labels is None
    assert noted(data, "1 image resized to 3 x 4 (were 9 x 9)")
    assert noted(data, "stored in colour read as grey")
    assert data.reader == reader


def test_reader_survives_json(tmp_path):
    save(tmp_path, "anna_1.png")
    reader = ImageReader(name_pattern="{identity}_{pose}").read(tmp_path).reader
    assert ImageReader(**json.loads(json.dumps(dataclasses.asdict(reader)))) == reader


# Running


@pytest.mark.parametrize("n_jobs", [1, 3, -1, None])
def test_threads_give_same_rows(tmp_path, n_jobs):
    for i in range(20):
        save(tmp_path, f"{i}.png", np.full((3, 4), 10 * i, np.uint8))
    X = ImageReader().read(tmp_path, n_jobs=n_jobs).X
    np.testing.assert_allclose(X[:, 0] * 255, 10 * np.arange(20), rtol=1e-5)


def test_progress_on_standard_error(tmp_path, capsys):
    save(tmp_path, "a.png")
    ImageReader().read(tmp_path, verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Images 1/1 images" in err


def test_huge_image_without_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    path = save(tmp_path, "a.png", np.zeros((3, 5), np.uint8))
    assert ImageReader().read(path).X.shape == (1, 15)


@pytest.mark.parametrize("size", [(127, 128), (129, 128), (5000, 997), (16384, 1), (100, 9000)])
def test_limit_of_pixels_respected(size):
    assert np.prod(_pixels.choose_size([size], None)[0]) <= 128 * 128
