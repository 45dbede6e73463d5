"""Pixels, local binary patterns and Gabor magnitudes: the three views of multi-view face clustering."""

from __future__ import annotations

import numpy as np

from .._utils.typing import Data
from .gabor import GaborMagnitudes
from .lbp import LocalBinaryPatterns
from .pixels import Pixels

# Parameters that give 3304 and 6750 features for images of 64 x 64, as the sets in circulation have (see Notes).
_LBP = {"grid": (7, 8), "neighbours": "circle"}
_GABOR = {"wavelengths": (4.0, 5.7, 8.0, 11.3, 16.0), "n_orientations": 6, "grid": (15, 15), "aspect": 1.0}


def views_from_images(
    images: Data,
    *,
    image_shape: tuple[int, ...] | None = None,
    lbp: dict | None = None,
    gabor: dict | None = None,
    norm: str | None = "l2",
    n_jobs: int | None = None,
    verbose: int = 0,
) -> dict[str, np.ndarray]:
    """Compute three views of images: pixels, local binary patterns and Gabor magnitudes.

    Parameters
    ----------
    images : array-like of shape (n, height, width), (n, height, width, channels) or (n, height * width)
        Images: bytes, or numbers in [0, 1].
    image_shape : (height, width), (height, width, channels) or None, default=None
        Shape of one image in each row of two-dimensional images.
    lbp : dict or None, default=None
        Parameters of `LocalBinaryPatterns`. None means a grid of 7 x 8 patches and neighbours on a circle: 3304
        features.
    gabor : dict or None, default=None
        Parameters of `GaborMagnitudes`. None means five wavelengths from 4 to 16 pixels in six directions, averaged
        on a grid of 15 x 15: 6750 features.
    norm : {"l2"} or None, default="l2"
        "l2" scales each row of each view to unit length.
    n_jobs : int or None, default=None
        Number of threads; -1 uses all processors.
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    dict of ndarray of shape (n, n_features)
        The views "intensity", "lbp" and "gabor". Features of an image do not depend on the others:
        those of training and test images can be computed together or separately.

    See Also
    --------
    SiftBagOfWords : A view that is learnt from training images.

    Notes
    -----
    Sets of three views that circulate for the Yale and ORL faces have 4096, 3304 and 6750 features, as the default
    gives for images of 64 x 64. The recipe that Zhao, Ding and Fu print, ``lbp={"patch_size": (9, 10)}`` and
    ``gabor={"wavelengths": (4,), "n_orientations": 4}``, gives other numbers.

    References
    ----------
    H. Zhao, Z. Ding and Y. Fu, Multi-view clustering via deep matrix factorization, AAAI 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.features import views_from_images
    >>> images = np.random.default_rng(0).integers(0, 256, size=(2, 64, 64), dtype=np.uint8)
    >>> {name: view.shape for name, view in views_from_images(images).items()}
    {'intensity': (2, 4096), 'lbp': (2, 3304), 'gabor': (2, 6750)}
    """
    shared = {"norm": norm, "image_shape": image_shape, "n_jobs": n_jobs, "verbose": verbose}
    views = {
        "intensity": Pixels(**shared),
        "lbp": LocalBinaryPatterns(**{**shared, **(_LBP if lbp is None else lbp)}),
        "gabor": GaborMagnitudes(**{**shared, **(_GABOR if gabor is None else gabor)}),
    }
    return {name: view.set_output(transform="default").fit_transform(images) for name, view in views.items()}
