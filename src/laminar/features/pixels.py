"""Grey values of pixels."""

from __future__ import annotations

import numpy as np

from .base import ImageTransformer
from .images import labels


class Pixels(ImageTransformer):
    """Grey values, row by row.

    Parameters
    ----------
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
    Images of bytes are scaled to [0, 1]; other types are taken as they are. Colour is converted as
    by `skimage.color.rgb2gray`, over white where there is an alpha channel.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.features import Pixels
    >>> images = np.array([[[0, 255], [51, 102]]], dtype=np.uint8)
    >>> Pixels().fit_transform(images)
    array([[0. , 1. , 0.2, 0.4]])
    """

    def __init__(self, *, norm=None, image_shape=None, n_jobs=None, verbose=0):
        self.norm = norm
        self.image_shape = image_shape
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _axes(self, shape: tuple[int, ...]) -> list[list[str]]:
        return [labels("r", shape[0]), labels("c", shape[1])]

    def _features(self, images: np.ndarray) -> np.ndarray:
        return images
