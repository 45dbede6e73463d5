"""`VideoReader`: frames in order of time, names, size, colour and files that cannot be read, on videos of OpenCV."""

import numpy as np
import pytest

cv2 = pytest.importorskip("cv2", reason="needs the extra video")

from laminar.io import _video_files  # noqa: E402
from laminar.io.video import VideoReader  # noqa: E402

HEIGHT, WIDTH, N = 24, 32, 10
CODECS = {"avi": "MJPG", "mp4": "mp4v", "mkv": "FFV1"}
LEVELS = 20 * np.arange(N) + 20  # grey of each frame


def write_video(path, levels=LEVELS, *, colour=False, rate=25, shape=(HEIGHT, WIDTH)):
    """Write frames of one level each, only red if in colour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    codec = CODECS[path.suffix[1:].lower()]
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*codec), rate, shape[::-1])
    if not writer.isOpened():
        pytest.skip(f"this OpenCV does not write {codec}")
    for level in levels:
        writer.write(np.full((*shape, 3), [0, 0, level] if colour else [level] * 3, np.uint8))
    writer.release()
    return path


def write_frames(folder, numbers, shape=(3, 4)):
    Image = pytest.importorskip("PIL.Image", reason="needs the extra images")
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        Image.fromarray(np.full(shape, number, np.uint8)).save(folder / f"f{number}.png")


def noted(data, text):
    return any(text in note for note in data.notes)


# Videos


@pytest.mark.parametrize("ending", CODECS)
def test_frames_in_order_of_time(tmp_path, ending):
    data = VideoReader().read(write_video(tmp_path / f"walk.{ending}"))
    assert data.image_shape == (HEIGHT, WIDTH)
    np.testing.assert_allclose(data.X.mean(axis=1) * 255, LEVELS, atol=4)
    assert data.X.dtype == np.float32


def test_names_and_rate(tmp_path):
    data = VideoReader().read(write_video(tmp_path / "walk.avi", rate=30))
    assert data.ids[[0, -1]].tolist() == ["walk/000000", "walk/000009"]
    assert set(data.groups) == {"walk"}
    assert set(data.sources) == {"walk.avi"}
    assert data.frame_rate == pytest.approx(30)


def test_every_keeps_first_of_several(tmp_path):
    data = VideoReader(every=4).read(write_video(tmp_path / "walk.avi", rate=20))
    assert data.ids.tolist() == ["walk/000000", "walk/000004", "walk/000008"]
    np.testing.assert_allclose(data.X.mean(axis=1) * 255, LEVELS[::4], atol=4)
    assert data.frame_rate == pytest.approx(5)  # samples a second
    assert noted(data, "every=4")


def test_folder_of_videos(tmp_path):
    for name in ["clip10.avi", "clip2.avi", "deep/clip1.mp4"]:
        write_video(tmp_path / name)
    (tmp_path / "labels.csv").write_text("x")
    data = VideoReader().read(tmp_path)
    assert list(dict.fromkeys(data.groups)) == ["clip2", "clip10", "deep/clip1"]
    assert data.n_samples == 3 * N
    assert noted(data, "1 other file ignored: labels.csv")


def test_upper_case_ending(tmp_path):
    write_video(tmp_path / "WALK.AVI")
    assert VideoReader().read(tmp_path).n_samples == N


def test_different_rates_noted(tmp_path):
    write_video(tmp_path / "a.avi", rate=10)
    write_video(tmp_path / "b.avi", rate=20)
    data = VideoReader().read(tmp_path)
    assert data.frame_rate == pytest.approx(10)
    assert noted(data, "different frame rates (10.0, 20.0)")


def test_gif_read_as_video(tmp_path):
    Image = pytest.importorskip("PIL.Image", reason="needs the extra images")
    first, *others = (Image.new("L", (8, 8), int(level)) for level in LEVELS)
    first.save(tmp_path / "walk.gif", save_all=True, append_images=others, duration=100)
    data = VideoReader().read(tmp_path / "walk.gif")
    np.testing.assert_allclose(data.X.mean(axis=1) * 255, LEVELS, atol=4)


# Size and colour


def test_different_sizes_become_median(tmp_path):
    for name, shape in {"a": (24, 32), "b": (24, 32), "c": (48, 64)}.items():
        write_video(tmp_path / f"{name}.avi", shape=shape)
    data = VideoReader().read(tmp_path)
    assert data.image_shape == (24, 32)
    assert noted(data, "1 video resized to 24 x 32 (were 24 x 32 to 48 x 64)")


@pytest.mark.parametrize("size", [(6, 8), (48, 64), (12, 64)])
def test_size_can_be_chosen(tmp_path, size):
    data = VideoReader(size=size).read(write_video(tmp_path / "walk.avi"))
    assert data.image_shape == size
    np.testing.assert_allclose(data.X.mean(axis=1) * 255, LEVELS, atol=4)


def test_large_videos_are_reduced(tmp_path):
    data = VideoReader().read(write_video(tmp_path / "walk.avi", shape=(240, 320)))
    assert data.image_shape == (110, 147)
    assert noted(data, "Videos of 240 x 320 pixels are reduced")


def test_colour_is_found(tmp_path):
    levels = [0] * 5 + [200] * 5  # black at first
    data = VideoReader().read(write_video(tmp_path / "walk.avi", levels, colour=True))
    assert data.image_shape == (HEIGHT, WIDTH, 3)
    red, green, blue = data.X[-1].reshape(-1, 3).mean(axis=0)
    assert red > 0.7
    assert max(green, blue) < 0.1


@pytest.mark.parametrize("colour", [False, True])
def test_colour_can_be_chosen(tmp_path, colour):
    data = VideoReader(colour=colour).read(write_video(tmp_path / "walk.avi", colour=not colour))
    assert len(data.image_shape) == 2 + colour


# Folders of frames


def test_folder_of_frames_is_one_sequence(tmp_path):
    write_frames(tmp_path / "walk", [2, 10, 1])
    data = VideoReader().read(tmp_path / "walk")
    assert data.ids.tolist() == ["walk/f1", "walk/f2", "walk/f10"]
    assert data.groups.tolist() == ["walk"] * 3
    assert data.frame_rate is None


def test_subfolders_of_frames_are_sequences(tmp_path):
    write_frames(tmp_path / "walk10", range(1, 6))
    write_frames(tmp_path / "walk2", range(1, 4))
    data = VideoReader(every=2).read(tmp_path)
    assert data.ids.tolist() == ["walk2/f1", "walk2/f3", "walk10/f1", "walk10/f3", "walk10/f5"]
    assert data.groups.tolist() == ["walk2"] * 2 + ["walk10"] * 3
    np.testing.assert_allclose(data.X[:, 0] * 255, [1, 3, 1, 3, 5], rtol=1e-5)
    assert noted(data, "2 sequences of frames")


def test_frames_beside_subfolders_stay_together(tmp_path):
    write_frames(tmp_path, [1, 200])
    write_frames(tmp_path / "f100", [7])
    groups = VideoReader().read(tmp_path).groups.tolist()
    assert groups == [tmp_path.name] * 2 + ["f100"]


def test_single_frame(tmp_path):
    write_frames(tmp_path / "walk", [1, 2])
    assert VideoReader().read(tmp_path / "walk" / "f1.png").ids.tolist() == ["walk/f1"]


def test_progress_counts_frames(tmp_path, capsys):
    VideoReader(every=3).read(write_video(tmp_path / "walk.avi"), verbose=1)
    assert "Frames 4/4 frames" in capsys.readouterr().err


# Wrong input


@pytest.mark.parametrize("content", [b"", b"this is not a video"])
def test_broken_video_named(tmp_path, content):
    write_video(tmp_path / "good.avi")
    (tmp_path / "bad.avi").write_bytes(content)
    with pytest.raises(ValueError, match=r"1 of 2 videos in .* without a frame: bad\.avi\. .*--skip-bad"):
        VideoReader().read(tmp_path)
    data = VideoReader().read(tmp_path, skip_bad=True)
    assert set(data.groups) == {"good"}
    assert noted(data, "left out: bad.avi")


def test_only_broken_videos_refused(tmp_path):
    (tmp_path / "bad.avi").write_bytes(b"x")
    with pytest.raises(ValueError, match=r"1 of 1 video .* bad\.avi"):
        VideoReader().read(tmp_path / "bad.avi", skip_bad=True)


def test_truncated_video_noted(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (60, HEIGHT, WIDTH, 3), dtype=np.uint8)
    path = tmp_path / "walk.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 25, (WIDTH, HEIGHT))
    for frame in noise:
        writer.write(frame)
    writer.release()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    data = VideoReader(colour=False).read(path)
    assert 10 < data.n_samples < 40
    assert noted(data, "walk.avi ends after about") == (_declared(path) > data.n_samples)


def _declared(path):
    return cv2.VideoCapture(str(path)).get(cv2.CAP_PROP_FRAME_COUNT)


@pytest.mark.parametrize("declared", [0, 3, 1000])
def test_wrong_frame_count_corrected(tmp_path, monkeypatch, declared):
    inspect = _video_files._inspect

    def inspect_wrongly(*arguments):
        video = inspect(*arguments)
        return type(video)(**vars(video) | {"n_frames": declared})

    path = write_video(tmp_path / "walk.avi", np.arange(200))
    monkeypatch.setattr(_video_files, "_inspect", inspect_wrongly)
    data = VideoReader().read(path)
    assert data.X.shape == (200, HEIGHT * WIDTH)
    np.testing.assert_allclose(data.X.mean(axis=1) * 255, np.arange(200), atol=4)
    assert noted(data, "ends after about 200 of 1000 frames") == (declared == 1000)


def test_folder_without_frames_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x")
    with pytest.raises(ValueError, match=r"holds no videos or frames .* it holds 1 x \.csv"):
        VideoReader().read(tmp_path)


def test_missing_path_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        VideoReader().read(tmp_path / "nowhere.avi")


@pytest.mark.parametrize("every", [0, -1, 1.5, True, "2"])
def test_wrong_every_refused(every):
    with pytest.raises(ValueError, match="every="):
        VideoReader(every=every)


# Settings of the returned reader


def test_new_videos_read_alike(tmp_path):
    reader = VideoReader(every=2).read(write_video(tmp_path / "old.avi")).reader
    data = reader.read(write_video(tmp_path / "new.avi", colour=True, shape=(48, 64)))
    assert data.image_shape == (HEIGHT, WIDTH)
    assert data.n_samples == N // 2
    assert data.reader == reader


def test_frames_read_like_videos(tmp_path):
    reader = VideoReader().read(write_video(tmp_path / "old.avi")).reader
    write_frames(tmp_path / "new", [1, 2], shape=(50, 60))
    assert reader.read(tmp_path / "new").image_shape == (HEIGHT, WIDTH)
