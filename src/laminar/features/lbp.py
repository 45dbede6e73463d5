"""Histograms of uniform local binary patterns."""

from __future__ import annotations

import numpy as np
from sklearn.utils._param_validation import StrOptions

from .._utils.extras import require
from .base import ImageTransformer
from .images import as_bytes, check_grid, labels, pair, size_text

N_BINS = 59  # of 8 neighbours: 58 uniform patterns and one bin for all others (Ahonen et al.)
# Offsets (down, right) of the 8 neighbours, anticlockwise from the right: the order of scikit-image.
_OFFSETS = [(0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1)]


class LocalBinaryPatterns(ImageTransformer):
    """Histograms of 59 local binary patterns, patch by patch.

    The pattern of a pixel marks those of its eight neighbours that are at least as bright. The 58 uniform patterns, in
    which bright and dark neighbours are contiguous, have a bin each, in the order of scikit-image's "nri_uniform";
    all others share the last.

    Parameters
    ----------
    patch_size : (int, int) or None, default=None
        Height and width of a patch in pixels; what is left over at the lower and right border is dropped. None means
        (9, 10), or the size that ``grid`` implies.
    grid : (int, int) or None, default=None
        Number of patches down and across, of nearly equal size, instead of their size; nothing is dropped.
    neighbours : {"pixels", "circle"}, default="pixels"
        "pixels" compares with the eight pixels around, and is the same for any increasing map of the grey values.
        "circle" compares with eight points at distance 1, the diagonal ones interpolated, in images of 8 bits that
        end in black, as scikit-image does.
    norm : {"patch", "l2"} or None, default="patch"
        "patch" lets each histogram sum to one, "l2" scales the row of counts to unit length, None keeps counts.
    image_shape : (height, width), (height, width, channels) or None, default=None
        Shape of one image in each row of two-dimensional X; one side may be -1. None where X holds images.
    n_jobs : int or None, default=None
        Number of threads; -1 uses all processors.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    image_shape_ : tuple
        Shape of the training images.

    Notes
    -----
    With "pixels" the pixels of the border are repeated outside the image. Colour is converted as
    by `skimage.color.rgb2gray`, over white where there is an alpha channel.

    References
    ----------
    T. Ahonen, A. Hadid and M. Pietikäinen, Face description with local binary patterns, IEEE TPAMI 28, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.features import LocalBinaryPatterns
    >>> images = np.random.default_rng(0).uniform(size=(5, 48, 48))
    >>> patterns = LocalBinaryPatterns(patch_size=(9, 10)).fit_transform(images)
    >>> patterns.shape == (5, 5 * 4 * 59)
    True
    >>> np.allclose(patterns.reshape(5, 20, 59).sum(axis=2), 1)
    True
    """

    _parameter_constraints: dict = {
        **ImageTransformer._parameter_constraints,
        "patch_size": [tuple, list, None],
        "grid": [tuple, list, None],
        "neighbours": [StrOptions({"pixels", "circle"})],
        "norm": [StrOptions({"patch", "l2"}), None],
    }

    def __init__(
        self,
        patch_size=None,
        *,
        grid=None,
        neighbours="pixels",
        norm="patch",
        image_shape=None,
        n_jobs=None,
        verbose=0,
    ):
        self.patch_size = patch_size
        self.grid = grid
        self.neighbours = neighbours
        self.norm = norm
        self.image_shape = image_shape
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _axes(self, shape: tuple[int, ...]) -> list[list[str]]:
        down, across = self._edges(shape[:2])
        return [labels("r", len(down) - 1), labels("c", len(across) - 1), labels("bin", N_BINS)]

    def _edges(self, shape: tuple[int, int]) -> list[np.ndarray]:
        """Return the edges of the patches, down and across."""
        if self.grid is not None:
            if self.patch_size is not None:
                raise ValueError(f"Give patch_size={self.patch_size} or grid={self.grid}, not both.")
            cells = check_grid(self.grid, shape)
            return [np.arange(count + 1) * side // count for side, count in zip(shape, cells, strict=True)]
        patch = pair((9, 10) if self.patch_size is None else self.patch_size, "patch_size")
        if patch[0] > shape[0] or patch[1] > shape[1]:
            raise ValueError(
                f"Images of {size_text(shape)} pixels have no room for a patch of {size_text(patch)}: "
                "give a smaller patch_size, or a grid."
            )
        return [np.arange(0, side + 1, size) for side, size in zip(shape, patch, strict=True)]

    def _features(self, images: np.ndarray) -> np.ndarray:
        bins = (_pixel_bins if self.neighbours == "pixels" else _circle_bins)(images)
        down, across = self._edges(images.shape[1:])
        n_patches = (len(down) - 1) * (len(across) - 1)
        bins = bins[:, : down[-1], : across[-1]]
        patch = _cell_indices(down)[:, None] * (len(across) - 1) + _cell_indices(across)
        indices = (np.arange(len(images))[:, None, None] * n_patches + patch) * N_BINS + bins
        counts = np.bincount(indices.ravel(), minlength=len(images) * n_patches * N_BINS)
        counts = counts.reshape(len(images), n_patches, N_BINS).astype(images.dtype)
        return counts / counts.sum(axis=2, keepdims=True) if self.norm == "patch" else counts


def _cell_indices(edges: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(edges) - 1), np.diff(edges))


def _pixel_bins(images: np.ndarray) -> np.ndarray:
    """Compute the bin of each pixel from the eight pixels around it."""
    height, width = images.shape[1:]
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)), mode="edge")
    codes = np.zeros(images.shape, dtype=np.uint8)
    for bit, (down, right) in enumerate(_OFFSETS):
        neighbour = padded[:, 1 + down : 1 + down + height, 1 + right : 1 + right + width]
        codes |= (neighbour >= images).astype(np.uint8) << np.uint8(bit)
    return BIN_OF_CODE[codes]


def _circle_bins(images: np.ndarray) -> np.ndarray:
    """Compute the bin of each pixel from eight interpolated points around it."""
    texture = require("skimage.feature", "images", by='LocalBinaryPatterns(neighbours="circle")')
    # Bytes, since scikit-image's interpolation breaks ties between floating-point pixels.
    images = as_bytes(images, 'Images for neighbours="circle"')
    return np.stack([texture.local_binary_pattern(image, 8, 1, "nri_uniform") for image in images]).astype(np.intp)


def _bin_of_code() -> np.ndarray:
    """Return the bin of each code: by the number of ones, then by the start of their run; 58 for several runs."""
    bits = np.arange(256)[:, None] >> np.arange(8) & 1
    ones = bits.sum(axis=1)
    run_starts = bits > np.roll(bits, 1, axis=1)
    bins = 1 + 8 * (ones - 1) + -run_starts.argmax(axis=1) % 8
    bins[ones == 0], bins[ones == 8] = 0, 57
    bins[run_starts.sum(axis=1) > 1] = 58
    return bins


BIN_OF_CODE = _bin_of_code()  # (256,), bin of each pattern read as a binary number
