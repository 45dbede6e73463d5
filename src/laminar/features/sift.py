"""Bags of visual words: histograms of SIFT descriptors."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from .._utils.extras import require
from .._utils.typing import Data
from .base import ImageTransformer
from .images import as_bytes, float_type, labels

_SPAN = 6  # side of a SIFT descriptor in key point diameters: 4 cells of 1.5 diameters each, as in OpenCV


class SiftBagOfWords(ImageTransformer):
    """Histograms of visual words: k-means clusters of SIFT descriptors.

    `fit` clusters the SIFT descriptors of the training images; `transform` assigns each descriptor of an image to its
    nearest word and counts. An image without descriptors has a row of zeros.

    Parameters
    ----------
    n_words : int, default=500
        Number of words.
    step : int or None, default=None
        Distance in pixels of descriptors on a regular lattice; None takes the key points that SIFT detects.
    patch_size : float, default=16
        Side in pixels of a descriptor of the lattice. Detected key points have sizes of their own.
    contrast_threshold : float, default=0.04
        Contrast below which SIFT ignores a key point.
    max_descriptors : int, default=100_000
        Most descriptors for k-means; a random subsample is taken of more.
    norm : {"l1", "l2"} or None, default="l1"
        Norm to scale each row to; None keeps counts.
    image_shape : (height, width), (height, width, channels) or None, default=None
        Shape of one image in each row of two-dimensional X; one side may be -1. None where X holds images.
    random_state : int, RandomState instance or None, default=None
        Seed of the drawing of descriptors and of k-means.
    n_jobs : int or None, default=None
        Number of threads; -1 uses all processors.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    codebook_ : ndarray of shape (n_words, 128)
        The words.
    image_shape_ : tuple
        Shape of the training images.

    Notes
    -----
    SIFT works on 8 bits: images must be bytes or lie in [0, 1]. Colour is converted as by `skimage.color.rgb2gray`,
    over white where there is an alpha channel. Small images have few key points: use ``step``.

    References
    ----------
    D. Lowe, Distinctive image features from scale-invariant keypoints, IJCV 60, 2004.
    J. Sivic and A. Zisserman, Video Google: a text retrieval approach to object matching in videos, ICCV 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.features import SiftBagOfWords
    >>> images = np.random.default_rng(0).uniform(size=(6, 32, 32))
    >>> words = SiftBagOfWords(n_words=5, step=8, norm=None, random_state=0).fit(images[:4])
    >>> words.transform(images[4:]).sum(axis=1)
    array([16., 16.])
    """

    _parameter_constraints: dict = {
        **ImageTransformer._parameter_constraints,
        "n_words": [Interval(Integral, 1, None, closed="left")],
        "step": [Interval(Integral, 1, None, closed="left"), None],
        "patch_size": [Interval(Real, 0, None, closed="neither")],
        "contrast_threshold": [Interval(Real, 0, None, closed="left")],
        "max_descriptors": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_words=500,
        *,
        step=None,
        patch_size=16,
        contrast_threshold=0.04,
        max_descriptors=100_000,
        norm="l1",
        image_shape=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_words = n_words
        self.step = step
        self.patch_size = patch_size
        self.contrast_threshold = contrast_threshold
        self.max_descriptors = max_descriptors
        self.norm = norm
        self.image_shape = image_shape
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Data, y: ArrayLike | None = None) -> Self:
        """Learn the words.

        Parameters
        ----------
        X : array-like of shape (n, height, width), (n, height, width, channels) or (n, height * width)
            Training images. Flattened rows need ``image_shape``.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._learn(X)
        return self

    def fit_transform(self, X: Data, y: ArrayLike | None = None) -> np.ndarray:
        """Learn the words and count them in the same images; descriptors are computed once.

        Parameters
        ----------
        X : array-like of shape (n, height, width), (n, height, width, channels) or (n, height * width)
            Training images. Flattened rows need ``image_shape``.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        ndarray of shape (n, n_words)
            One row an image.
        """
        dtype, blocks = self._learn(X)
        return self._normalised(np.concatenate([self._counts(*block) for block in blocks]).astype(dtype))

    def _learn(self, X: Data) -> tuple[type, list[tuple[np.ndarray, np.ndarray]]]:
        """Learn the words, and return the type of the features and the descriptors of the training images."""
        self._validate_params()
        if self.max_descriptors < self.n_words:
            raise ValueError(f"max_descriptors={self.max_descriptors} must be no less than n_words={self.n_words}.")
        images = self._images(X, reset=True)
        blocks = [described for _, described in self._each_block(self._describe, images)]
        descriptors = np.concatenate([found for found, _ in blocks])
        if len(descriptors) < self.n_words:
            raise ValueError(
                f"The {len(images)} training images have {len(descriptors)} descriptors, too few for "
                f"n_words={self.n_words}: ask for fewer words, lower contrast_threshold, describe every few pixels "
                "with step, or give more images."
            )
        rng = check_random_state(self.random_state)
        if len(descriptors) > self.max_descriptors:
            descriptors = descriptors[rng.choice(len(descriptors), self.max_descriptors, replace=False)]
        words = MiniBatchKMeans(self.n_words, random_state=rng, n_init=1).fit(descriptors.astype(np.float32))
        self.codebook_ = words.cluster_centers_
        return float_type(images), blocks

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "codebook_")

    def _axes(self, shape: tuple[int, ...]) -> list[list[str]]:
        return [labels("word", self.n_words)]

    def _features(self, images: np.ndarray) -> np.ndarray:
        return self._counts(*self._describe(images)).astype(images.dtype)

    def _describe(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Compute the descriptors of all images, as bytes, and their number per image."""
        cv2 = require("cv2", "images", by=type(self).__name__)
        sift = cv2.SIFT_create(contrastThreshold=self.contrast_threshold)
        lattice = None if self.step is None else self._lattice(cv2.KeyPoint, *images.shape[1:])
        found = []
        for image in as_bytes(images, f"Images for {type(self).__name__}"):
            _, descriptors = sift.detectAndCompute(image, None) if lattice is None else sift.compute(image, lattice)
            # OpenCV returns None for no descriptor, and whole numbers below 256 as float.
            found.append(np.empty((0, 128), np.uint8) if descriptors is None else descriptors.astype(np.uint8))
        return np.concatenate(found), np.array([len(descriptors) for descriptors in found])

    def _lattice(self, key_point: type, height: int, width: int) -> list:
        """Return upright key points every ``step`` pixels, centred in the image."""
        down, across = (np.arange((side - 1) % self.step / 2, side, self.step) for side in (height, width))
        return [key_point(float(x), float(y), self.patch_size / _SPAN, 0) for y in down for x in across]

    def _counts(self, descriptors: np.ndarray, per_image: np.ndarray) -> np.ndarray:
        """Count the words of each image."""
        counts = np.zeros((len(per_image), self.n_words), dtype=np.intp)
        if len(descriptors):
            words = pairwise_distances_argmin(descriptors.astype(np.float32), self.codebook_)
            np.add.at(counts, (np.repeat(np.arange(len(per_image)), per_image), words), 1)
        return counts
