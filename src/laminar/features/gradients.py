"""Image gradient orientations (IGO)."""

from __future__ import annotations

import numpy as np

from .._engine.linalg.small import safe_divide
from .base import ImageTransformer
from .images import labels, unit_scale


class GradientOrientations(ImageTransformer):
    """Cosine and sine of the orientation of the image gradient at each pixel (IGO).

    Twice as many features as pixels, of both signs: first all cosines, then all sines. They are invariant to
    brightness and contrast, and change sign in the negative of an image. Where the gradient is zero, so are both.

    Parameters
    ----------
    norm : {"l1", "l2"} or None, default=None
        Norm to scale each row to; None keeps cosines and sines.
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

    See Also
    --------
    laminar.SemiNMF : Factorisation of data of both signs.

    Notes
    -----
    Gradients are central differences, one-sided at the border, so that the size of the image is kept. Colour is
    converted as by `skimage.color.rgb2gray`, over white where there is an alpha channel.

    References
    ----------
    G. Tzimiropoulos, S. Zafeiriou and M. Pantic, Subspace learning from image gradient orientations, IEEE TPAMI 34,
    2012.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.features import GradientOrientations
    >>> left_to_right = np.array([[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]])
    >>> GradientOrientations().fit_transform(left_to_right).reshape(2, 2, 3)
    array([[[1., 1., 1.],
            [1., 1., 1.]],
           [[0., 0., 0.],
            [0., 0., 0.]]])
    """

    def __init__(self, *, norm=None, image_shape=None, n_jobs=None, verbose=0):
        self.norm = norm
        self.image_shape = image_shape
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _axes(self, shape: tuple[int, ...]) -> list[list[str]]:
        return [["cos", "sin"], labels("r", shape[0]), labels("c", shape[1])]

    def _features(self, images: np.ndarray) -> np.ndarray:
        images, _ = unit_scale(images)
        gradients = np.stack([_differences(images, axis=2), _differences(images, axis=1)], axis=1)
        return safe_divide(gradients, np.hypot(gradients[:, 0], gradients[:, 1])[:, None])


def _differences(images: np.ndarray, axis: int) -> np.ndarray:
    """Compute central differences; zero along an axis of one pixel."""
    return np.gradient(images, axis=axis) if images.shape[axis] > 1 else np.zeros_like(images)
