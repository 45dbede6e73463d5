"""Pixels, local binary patterns and Gabor magnitudes: the three views of multi-view face clustering."""

from __future__ import annotations

import numpy as np

from .._utils.typing import Data
from .._utils.validation import check_choice
from .gabor import GaborMagnitudes
from .geometry import Crop, Resize
from .lbp import LocalBinaryPatterns
from .pixels import Pixels

# Parameters that give 3304 and 6750 features for images of 64 x 64, as the sets in circulation have (see Notes).
_LBP = {"grid": (7, 8), "neighbours": "circle"}
_GABOR = {"wavelengths": (4.0, 5.7, 8.0, 11.3, 16.0), "n_orientations": 6, "grid": (15, 15), "aspect": 1.0}
# As Zhao, Ding and Fu print them.
_PRINTED_LBP = {"patch_size": (9, 10)}
_PRINTED_GABOR = {"wavelengths": (4.0,), "n_orientations": 4}
_RESIZED, _CROPPED = (48, 48), (25, 30)


def views_from_images(
    images: Data,
    *,
    recipe: str = "circulating",
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
    recipe : {"circulating", "zhao"}, default="circulating"
        "circulating" takes the images as they are. "zhao" is the recipe that Zhao, Ding and Fu print: grey images are
        resized to 48 x 48 pixels, and Gabor magnitudes are those of their central 25 x 30 pixels.
    image_shape : (height, width), (height, width, channels) or None, default=None
        Shape of one image in each row of two-dimensional images.
    lbp : dict or None, default=None
        Parameters of `LocalBinaryPatterns`. None means a grid of 7 x 8 patches and neighbours on a circle: 3304
        features; with "zhao" patches of 9 x 10 pixels: 1180.
    gabor : dict or None, default=None
        Parameters of `GaborMagnitudes`. None means five wavelengths from 4 to 16 pixels in six directions, averaged
        on a grid of 15 x 15: 6750 features; with "zhao" a wavelength of 4 pixels in four directions: 3000.
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
    gives for images of 64 x 64. The recipe that Zhao, Ding and Fu print gives 2304, 1180 and 3000. Their text leaves
    open what was cropped and where: patches of 9 x 10 do not tile 48 x 48 pixels, and what is left over at the lower
    and right border is dropped; the 25 x 30 pixels are taken from the centre of the resized image.

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
    >>> {name: view.shape for name, view in views_from_images(images, recipe="zhao").items()}
    {'intensity': (2, 2304), 'lbp': (2, 1180), 'gabor': (2, 3000)}
    """
    check_choice("recipe", recipe, ("circulating", "zhao"))
    inputs = dict.fromkeys(("intensity", "lbp", "gabor"), images)
    if recipe == "zhao":
        resize, crop = Resize(_RESIZED, image_shape=image_shape), Crop(_CROPPED, image_shape=_RESIZED)
        resized = resize.set_output(transform="default").fit_transform(images)
        cropped = crop.set_output(transform="default").fit_transform(resized)
        shapes = {"intensity": _RESIZED, "lbp": _RESIZED, "gabor": _CROPPED}
        inputs = {
            name: array.reshape(-1, *shapes[name])
            for name, array in (("intensity", resized), ("lbp", resized), ("gabor", cropped))
        }
        image_shape = None
        lbp, gabor = _PRINTED_LBP if lbp is None else lbp, _PRINTED_GABOR if gabor is None else gabor
    shared = {"norm": norm, "image_shape": image_shape, "n_jobs": n_jobs, "verbose": verbose}
    views = {
        "intensity": Pixels(**shared),
        "lbp": LocalBinaryPatterns(**{**shared, **(_LBP if lbp is None else lbp)}),
        "gabor": GaborMagnitudes(**{**shared, **(_GABOR if gabor is None else gabor)}),
    }
    return {name: view.set_output(transform="default").fit_transform(inputs[name]) for name, view in views.items()}
