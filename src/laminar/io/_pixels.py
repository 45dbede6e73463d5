"""Pixels of an image as float32 in [0, 1]: headers, size, colour, and decoding with Pillow into a given array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from laminar._utils.extras import require
from laminar.io._folders import counted

MAX_PIXELS = 128 * 128  # of a row where no size is given: components of larger images are slow and no clearer
GREY_TOLERANCE = 2  # levels of 255 that the channels of a grey image may differ by: lossy formats round them
STRETCH = 1.05  # ratio of proportions from which a change of them is reported
IMAGE_WIDTH, IMAGE_LENGTH, BITS_PER_SAMPLE = 256, 257, 258  # TIFF tags
ORIENTATION = 274  # tag of EXIF and TIFF; from 5 on, height and width are exchanged
WHITE = (255, 255, 255, 255)
GREY_MODES = {"1", "L", "LA", "La", "I", "F"}  # besides those of 16 bits
ALPHA_MODES = {"LA", "La", "PA", "RGBA", "RGBa"}


@dataclass(frozen=True)
class Header:
    """Size and kind of an image, as its file declares them; height and width are those of the upright image."""

    height: int
    width: int
    may_have_colour: bool
    has_alpha: bool
    has_pages: bool
    is_deep: bool  # 16 bits
    is_unscaled: bool  # floats, or whole numbers of 32 bits: no largest value is known


def _pillow(module: str) -> Any:
    return require(f"PIL.{module}", "images", "reading images")


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    # As a file, not by its name: with a name Pillow maps the file into memory, and the pixels of a rotated TIFF without
    # compression come out in the wrong order (seen with Pillow 13.0).
    with path.open("rb") as file, _pillow("Image").open(file) as image:
        yield image


def check_size(size: Any) -> tuple[int, int] | None:
    """Return a size as height and width, or raise ValueError.

    Examples
    --------
    >>> check_size(32), check_size((20, 30))
    ((32, 32), (20, 30))
    """
    if size is None:
        return None
    pair = tuple(size) if isinstance(size, Sequence | np.ndarray) and not isinstance(size, str) else (size, size)
    whole = all(isinstance(side, int | np.integer) and not isinstance(side, bool) and side > 0 for side in pair)
    if not whole or len(pair) != 2:
        raise ValueError(f"size={size!r}: give a number of pixels, or height and width, such as (48, 64).")
    return int(pair[0]), int(pair[1])


def choose_size(
    sizes: Sequence[tuple[int, int]], size: tuple[int, int] | None, noun: str = "image"
) -> tuple[tuple[int, int], list[str]]:
    """Return height and width of the rows, and what is done to the images, in sentences.

    Examples
    --------
    >>> choose_size([(30, 40), (50, 40), (60, 40)], None)[0]
    (50, 40)
    """
    shapes = np.array(sizes)
    target, notes = size, []
    if target is None:
        height, width = (max(1, round(side)) for side in np.median(shapes, axis=0))
        target = _within_limit(height, width)
        if target != (height, width):
            notes.append(
                f"{noun.capitalize()}s of {height} x {width} pixels are reduced to {target[0]} x {target[1]}: "
                "choose another size with size=(height, width), on the command line --size."
            )
    differ = (shapes != target).any(axis=1)
    if differ.any() and not (notes and (shapes == shapes[0]).all()):  # of one size, and already reported
        notes.append(_resize_note(shapes, differ, target, noun))
    return target, notes


def _within_limit(height: int, width: int) -> tuple[int, int]:
    factor = min(1.0, (MAX_PIXELS / (height * width)) ** 0.5)
    return max(1, int(height * factor + 1e-9)), max(1, int(width * factor + 1e-9))


def _resize_note(shapes: np.ndarray, differ: np.ndarray, target: tuple[int, int], noun: str) -> str:
    smallest, largest = (shapes[pick(shapes.prod(axis=1))] for pick in (np.argmin, np.argmax))
    text = f"{counted(int(differ.sum()), noun)} resized to {target[0]} x {target[1]}"
    if (smallest == largest).all():
        text += f" (were {smallest[0]} x {smallest[1]})"
    else:
        text += f" (were {smallest[0]} x {smallest[1]} to {largest[0]} x {largest[1]})"
    proportions = shapes[:, 1] / shapes[:, 0] * (target[0] / target[1])
    n_stretched = int((np.maximum(proportions, 1 / proportions) > STRETCH).sum())
    return text + (f"; {n_stretched} of them with other proportions than before." if n_stretched else ".")


def read_header(path: Path) -> Header:
    """Return what the first bytes of an image hold."""
    with _open(path) as image:
        height, width = _upright_size(image)
        return Header(
            height=height,
            width=width,
            may_have_colour=image.mode not in GREY_MODES and not image.mode.startswith("I;16"),
            has_alpha=image.mode in ALPHA_MODES or "transparency" in image.info,
            has_pages=bool(getattr(image, "is_animated", False)) and image.format != "MPO",
            is_deep=_top(image) not in (None, 255),
            is_unscaled=_top(image) is None,
        )


def _upright_size(image: Any) -> tuple[int, int]:
    """Return height and width after the rotation that the file declares."""
    if image.format == "TIFF":  # whose size is that before or after the rotation, by version of Pillow
        tags = image.tag_v2
        width, height, orientation = tags[IMAGE_WIDTH], tags[IMAGE_LENGTH], tags.get(ORIENTATION, 1)
    else:
        width, height = image.size
        # Without this test a PNG would be decoded in search of the tag.
        orientation = image.getexif().get(ORIENTATION, 1) if "exif" in image.info else 1
    return (width, height) if orientation >= 5 else (height, width)


def _top(image: Any) -> int | None:
    """Return the value of white, None if it is not known."""
    if image.mode == "F" or (image.mode == "I" and image.format == "TIFF"):
        return None
    if image.mode.startswith("I;16") and image.format == "TIFF":
        return 2 ** int(np.max(image.tag_v2.get(BITS_PER_SAMPLE, 16))) - 1  # 12 bits are not spread over 16
    return 65535 if image.mode.startswith("I") else 255


def has_colour(path: Path) -> bool:
    """Return whether the channels of an image differ; False if it cannot be decoded."""
    try:
        with _open(path) as image:
            image.draft("RGB", (256, 256))
            return channels_differ(np.asarray(_flatten(image).convert("RGB")))
    except (OSError, ValueError, SyntaxError):
        return False


def channels_differ(pixels: np.ndarray, tolerance: int = GREY_TOLERANCE) -> bool:
    """Return whether any pixel of an array (height, width, 3) of bytes has a colour."""
    return int((pixels.max(axis=2) - pixels.min(axis=2)).max()) > tolerance


def decode(path: Path, out: np.ndarray) -> None:
    """Write an image of any kind and size to ``out``, float32 of shape (height, width) or (height, width, 3)."""
    height, width = out.shape[:2]
    with _open(path) as image:
        # JPEG only: decoded at a fraction of its size, at least twice that of the result.
        image.draft("RGB" if out.ndim == 3 else "L", (2 * max(height, width),) * 2)
        top = _top(image)
        upright = _pillow("ImageOps").exif_transpose(image)
        pixels = _resized(_plain(upright, top, out.ndim == 3), height, width)
    if out.ndim > pixels.ndim:
        pixels = pixels[:, :, None]
    np.divide(pixels, np.float32(top or 1), out=out)


def _plain(image: Any, top: int | None, colour: bool) -> Any:
    """Return an image of one of the modes that are resized with antialiasing: L, RGB, or F for more than 8 bits."""
    if top != 255:
        pixels = np.asarray(image).astype(np.float32)
        if not np.isfinite(pixels).all():
            raise ValueError("it has pixels that are NaN or infinite")
        return _pillow("Image").fromarray(pixels)
    return _flatten(image).convert("RGB" if colour else "L")


def _flatten(image: Any) -> Any:
    """Return an image whose transparent pixels are white."""
    if image.mode not in ALPHA_MODES and "transparency" not in image.info:
        return image
    image = image.convert("RGBA")
    background = _pillow("Image").new("RGBA", image.size, WHITE)
    background.alpha_composite(image)
    return background


def _resized(image: Any, height: int, width: int) -> np.ndarray:
    if image.size != (width, height):
        # A triangle as wide as the new pixels: antialiased, and no value is outside the range of the old ones.
        filters = _pillow("Image").Resampling
        image = image.resize((width, height), filters.BILINEAR, reducing_gap=2.0)
    return np.asarray(image)
