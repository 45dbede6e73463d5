"""Validation and conversion of images: arrays of images or flattened rows, grey or colour, bytes or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from numbers import Integral

import numpy as np
from numpy.typing import DTypeLike

from .._utils.extras import require
from .._utils.typing import Data


def flatten(X: Data) -> tuple[object, tuple[int, ...] | None]:
    """Flatten images to rows, without a copy where possible, and return their shape; rows are returned with None."""
    if not hasattr(X, "shape"):
        X = _as_array(X)
    if len(X.shape) <= 2:
        return X, None
    shape = tuple(int(side) for side in X.shape[1:])
    _check_shape(shape)
    return X.reshape(X.shape[0], prod(shape)), shape


def fold(n_values: int, shape: tuple[int, ...] | None, image_shape: Sequence[int] | None) -> tuple[int, ...]:
    """Return the shape of one image of ``n_values``: that before `flatten`, or ``image_shape`` of the user."""
    if image_shape is None:
        if shape is None:
            raise ValueError(
                f"X has two dimensions, flattened images of {n_values} pixels: say how to fold them with "
                "image_shape=(height, width), or give images of shape (n_samples, height, width); one image is X[None]."
            )
        return shape
    resolved = _resolve(image_shape, n_values)
    if shape not in (None, resolved):
        raise ValueError(
            f"The images are of {size_text(shape)} pixels, not of image_shape={image_shape}: leave it None for images "
            "that are not flattened."
        )
    return resolved


def _as_array(X: Sequence) -> np.ndarray:
    sizes = {np.shape(x) for x in X} if isinstance(X, list | tuple) else set()
    if len(sizes) > 1 and min(map(len, sizes)) > 1:
        raise ValueError(
            f"The images are of {len(sizes)} sizes, such as {' and '.join(map(size_text, sorted(sizes)[:2]))} "
            "pixels: bring them to one size, with skimage.transform.resize for example."
        )
    return np.asarray(X)


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3, 4)):
        return
    raise ValueError(
        "Images must have shape (n_samples, height, width), or (n_samples, height, width, channels) with 1, 3 or 4 "
        f"channels, got {('n_samples', *shape)}. Channels that come first move with numpy.moveaxis(X, 1, -1)."
    )


def _resolve(image_shape: Sequence[int], n_values: int) -> tuple[int, ...]:
    """Check ``image_shape`` against the length of a row, and compute a side given as -1."""
    sides = list(image_shape)
    whole = all(isinstance(side, Integral) and (side > 0 or side == -1) for side in sides)
    if len(sides) not in (2, 3) or not whole or sides.count(-1) > 1:
        raise ValueError(
            "image_shape must be (height, width) or (height, width, channels), whole numbers of which one may be -1, "
            f"got {image_shape}."
        )
    known = prod(side for side in sides if side != -1)
    shape = tuple(n_values // known if side == -1 else int(side) for side in sides)
    if prod(shape) != n_values:
        raise ValueError(
            f"Rows of {n_values} values do not fold into image_shape={image_shape}, which has "
            f"{'a multiple of ' if -1 in sides else ''}{known}: give the size the images had before flattening."
        )
    _check_shape(shape)
    return shape


def float_type(images: np.ndarray) -> type:
    """Return the floating type of the features of these images."""
    return np.float32 if images.dtype == np.float32 else np.float64


def grey(images: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Convert images to grey of a floating type; bytes are scaled to [0, 1]."""
    scaled = images.astype(dtype, copy=False)
    if images.dtype == np.uint8:
        scaled /= 255
    if scaled.ndim == 3:
        return scaled
    if scaled.shape[3] == 1:
        return scaled[..., 0]
    color = require("skimage.color", "images", by="laminar.features (for colour images)")
    if scaled.shape[3] == 4:
        _check_unit_range(scaled, "Images with an alpha channel")
        scaled = color.rgba2rgb(scaled)
    return color.rgb2gray(scaled).astype(dtype, copy=False)


def as_bytes(images: np.ndarray, subject: str) -> np.ndarray:
    """Convert images in [0, 1] to bytes; ``subject`` names them in error messages."""
    _check_unit_range(images, subject)
    return np.rint(images * 255).astype(np.uint8)


def _check_unit_range(images: np.ndarray, subject: str) -> None:
    low, high = images.min(), images.max()
    if low < 0 or high > 1 + 1e-6:  # computed white may exceed 1 by rounding
        raise ValueError(
            f"{subject} must be uint8 or lie in [0, 1], the values run from {low:.4g} to {high:.4g}: "
            "convert them to uint8 if they run to 255, or rescale them."
        )


def unit_scale(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divide each sample by its largest magnitude, so that squares do not over- or underflow; return both."""
    scale = np.abs(samples).max(axis=tuple(range(1, samples.ndim)), keepdims=True)
    scale[scale == 0] = 1
    return samples / scale, scale


def size_text(shape: tuple[int, ...]) -> str:
    """Format a shape, as in "48 x 40"."""
    return " x ".join(map(str, shape))


def pair(value: Sequence[int], name: str) -> tuple[int, int]:
    """Check that a parameter is two positive whole numbers, vertical and horizontal."""
    sides = list(value)
    if len(sides) != 2 or not all(isinstance(side, Integral) and side > 0 for side in sides):
        raise ValueError(f"{name} must be two positive whole numbers, vertical and horizontal, got {value}.")
    return int(sides[0]), int(sides[1])


def check_grid(grid: Sequence[int], shape: tuple[int, ...]) -> tuple[int, int]:
    """Check that no cell of a grid is smaller than a pixel."""
    cells = pair(grid, "grid")
    if cells[0] > shape[0] or cells[1] > shape[1]:
        raise ValueError(f"Images of {size_text(shape[:2])} pixels have no room for grid={grid}: ask for fewer cells.")
    return cells


def labels(letter: str, count: int) -> list[str]:
    """Return ``["r0", "r1", ..]``."""
    return [f"{letter}{i}" for i in range(count)]
