"""Magnitudes of Gabor filters."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real

import numpy as np
from scipy import fft
from sklearn.utils._param_validation import Interval

from .._utils.extras import require
from .base import ImageTransformer
from .images import check_grid, labels, unit_scale


class GaborMagnitudes(ImageTransformer):
    """Magnitudes of Gabor filters of given wavelengths and orientations, pixel by pixel or averaged on a grid.

    A filter is a complex wave under a Gaussian envelope, and the feature the magnitude of its response. The real part
    has its mean subtracted: flat images have magnitude 0.

    Parameters
    ----------
    wavelengths : sequence of float, default=(4.0,)
        Wavelengths in pixels, between 2 and twice the longer side of the images.
    n_orientations : int, default=4
        Number of orientations, evenly spaced over 180 degrees; 0 degrees is a wave from left to right.
    grid : (int, int) or None, default=None
        Number of cells down and across over which magnitudes are averaged; None keeps every pixel.
    sigma : float, default=0.56
        Standard deviation of the envelope along the wave, in wavelengths; 0.56 is a bandwidth of one octave.
    aspect : float, default=0.5
        Standard deviation of the envelope along the wave, divided by that across.
    norm : {"l1", "l2"} or None, default=None
        Norm to scale each row to.
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
    Images of bytes are scaled to [0, 1]; other types are taken as they are. Images are continued by
    reflection at the border. Colour is converted as by `skimage.color.rgb2gray`, over white where there is an alpha
    channel.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.features import GaborMagnitudes
    >>> grating = np.cos(2 * np.pi * np.arange(32) / 4) * np.ones((1, 32, 1))
    >>> magnitudes = GaborMagnitudes(wavelengths=(4, 8), grid=(2, 2)).fit_transform(grating)
    >>> magnitudes.shape == (1, 2 * 4 * 2 * 2)
    True
    >>> magnitudes.reshape(2, 4, 4).mean(axis=2).round(2)
    array([[0.48, 0.  , 0.  , 0.  ],
           [0.04, 0.  , 0.  , 0.  ]])
    """

    _parameter_constraints: dict = {
        **ImageTransformer._parameter_constraints,
        "wavelengths": ["array-like"],
        "n_orientations": [Interval(Integral, 1, None, closed="left")],
        "grid": [tuple, list, None],
        "sigma": [Interval(Real, 0, None, closed="neither")],
        "aspect": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        wavelengths=(4.0,),
        *,
        n_orientations=4,
        grid=None,
        sigma=0.56,
        aspect=0.5,
        norm=None,
        image_shape=None,
        n_jobs=None,
        verbose=0,
    ):
        self.wavelengths = wavelengths
        self.n_orientations = n_orientations
        self.grid = grid
        self.sigma = sigma
        self.aspect = aspect
        self.norm = norm
        self.image_shape = image_shape
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _axes(self, shape: tuple[int, ...]) -> list[list[str]]:
        waves, longest = np.asarray(self.wavelengths), 2 * max(shape[:2])
        numbers = waves.ndim == 1 and waves.size > 0 and waves.dtype.kind in "iuf"
        if not (numbers and ((waves >= 2) & (waves <= longest)).all()):
            raise ValueError(
                f"wavelengths must be a list of numbers of pixels between 2 and {longest}, twice the longer side of "
                f"the images, got {self.wavelengths}."
            )
        down, across = self._cells(shape[:2])
        angles = [f"{180 * k / self.n_orientations:g}deg" for k in range(self.n_orientations)]
        return [[f"{wave:g}px" for wave in waves], angles, labels("r", down), labels("c", across)]

    def _cells(self, shape: tuple[int, int]) -> tuple[int, int]:
        return shape if self.grid is None else check_grid(self.grid, shape)

    def _features(self, images: np.ndarray) -> np.ndarray:
        height, width = images.shape[1:]
        down, across = self._cells((height, width))
        rows, columns = (
            _averaging_matrix(n, cells).astype(images.dtype) for n, cells in ((height, down), (width, across))
        )
        images, scale = unit_scale(images)
        # An image beside its reflections is periodic: filtering is a product of spectra, for filters of any size.
        mirrored = np.pad(images, ((0, 0), (0, height), (0, width)), mode="symmetric")
        spectrum = fft.fft2(mirrored)
        features = np.empty((len(images), len(self.wavelengths) * self.n_orientations, down, across), images.dtype)
        for k, response in enumerate(self._responses(mirrored.shape[1:])):
            magnitudes = np.abs(fft.ifft2(spectrum * response.astype(images.dtype))[:, :height, :width])
            features[:, k] = (magnitudes if self.grid is None else rows @ magnitudes @ columns.T) * scale
        return features

    def _responses(self, shape: tuple[int, int]) -> Iterator[np.ndarray]:
        """Yield the frequency response of each filter on periodic images of a shape."""
        filters = require("skimage.filters", "images", by=type(self).__name__)
        for wave in self.wavelengths:
            for k in range(self.n_orientations):
                sigma = self.sigma * wave
                kernel = filters.gabor_kernel(
                    1 / wave, np.pi * k / self.n_orientations, sigma_x=sigma, sigma_y=sigma / self.aspect
                )
                envelope = np.abs(kernel)
                kernel -= envelope * (kernel.sum() / envelope.sum())
                wrapped = np.zeros(shape, dtype=kernel.dtype)
                i, j = (np.arange(side) - side // 2 for side in kernel.shape)
                np.add.at(wrapped, np.ix_(i % shape[0], j % shape[1]), kernel)
                yield fft.fft2(wrapped).real  # real, as the kernel has an even real and an odd imaginary part


def _averaging_matrix(n: int, cells: int) -> np.ndarray:
    """Return the matrix (cells, n) that averages n pixels over equal cells; a pixel on an edge counts in proportion."""
    edges, pixels = np.linspace(0, n, cells + 1)[:, None], np.arange(n)
    overlap = np.minimum(edges[1:], pixels + 1) - np.maximum(edges[:-1], pixels)
    return np.maximum(overlap, 0) * (cells / n)
