"""Grey images of another geometry: resized, cropped, aligned by landmarks."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from .._utils.extras import require
from .._utils.typing import Data
from .base import ImageTransformer
from .images import labels, pair, size_text


class _Geometry(ImageTransformer):
    """Base class of transformers from images to images; a subclass defines `_output_shape` and `_rows`."""

    _parameter_constraints: dict = {
        name: allowed for name, allowed in ImageTransformer._parameter_constraints.items() if name != "norm"
    }

    def _output_shape(self, shape: tuple[int, int]) -> tuple[int, int]:
        """Return the size of the images that are made of images of this size; raise if there are none."""
        raise NotImplementedError

    def _axes(self, shape: tuple[int, ...]) -> list[list[str]]:
        height, width = self._output_shape(shape[:2])
        return [labels("r", height), labels("c", width)]

    def _images(self, X: Data, *, reset: bool) -> np.ndarray:
        images = super()._images(X, reset=reset)
        if reset:
            self.output_shape_ = self._output_shape(self.image_shape_[:2])
        return images


class Resize(_Geometry):
    """Images of another size, smoothed before they are reduced.

    Parameters
    ----------
    shape : (height, width)
        Size of the images made.
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
    output_shape_ : tuple
        Height and width of the images made, one row each.

    See Also
    --------
    Crop : A part of each image.
    AlignLandmarks : Images in which given points have the same place.

    Notes
    -----
    As `skimage.transform.resize`: linear interpolation, after a Gaussian filter along sides that become shorter.
    Images of bytes are scaled to [0, 1]; colour is converted as by `skimage.color.rgb2gray`.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.features import Resize
    >>> Resize((2, 2)).fit_transform(np.ones((3, 8, 6))).round(12)
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """

    _parameter_constraints: dict = {**_Geometry._parameter_constraints, "shape": [tuple, list]}

    def __init__(self, shape, *, image_shape=None, n_jobs=None, verbose=0):
        self.shape = shape
        self.image_shape = image_shape
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _output_shape(self, shape: tuple[int, int]) -> tuple[int, int]:
        return pair(self.shape, "shape")

    def _rows(self, images: np.ndarray) -> np.ndarray:
        resize = require("skimage.transform", "images", by=type(self).__name__).resize
        if images.shape[1:] == self.output_shape_:
            return images.reshape(len(images), -1)
        # One by one, so that no image depends on its neighbours in the block.
        resized = [resize(image, self.output_shape_, preserve_range=True) for image in images]
        return np.reshape(resized, (len(images), -1))


class Crop(_Geometry):
    """A part of each image.

    Parameters
    ----------
    shape : (height, width)
        Size of the part.
    position : "centre" or (row, column), default="centre"
        Place of its upper left pixel; "centre" leaves equal margins, or one pixel more at the bottom and at the right.
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
    output_shape_ : tuple
        Height and width of the images made, one row each.
    position_ : tuple
        Row and column of the upper left pixel of the part.

    See Also
    --------
    Resize : Images of another size.

    Notes
    -----
    Images of bytes are scaled to [0, 1]; colour is converted as by `skimage.color.rgb2gray`.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.features import Crop
    >>> image = np.arange(12.0).reshape(1, 3, 4)
    >>> Crop((1, 2)).fit_transform(image)
    array([[5., 6.]])
    >>> Crop((1, 2), position=(2, 0)).fit_transform(image)
    array([[8., 9.]])
    """

    _parameter_constraints: dict = {
        **_Geometry._parameter_constraints,
        "shape": [tuple, list],
        "position": [StrOptions({"centre"}), tuple, list],
    }

    def __init__(self, shape, *, position="centre", image_shape=None, n_jobs=None, verbose=0):
        self.shape = shape
        self.position = position
        self.image_shape = image_shape
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _output_shape(self, shape: tuple[int, int]) -> tuple[int, int]:
        part = pair(self.shape, "shape")
        start = self._start(shape, part)
        if any(first + side > whole for first, side, whole in zip(start, part, shape, strict=True)):
            raise ValueError(
                f"Images of {size_text(shape)} pixels have no part of {size_text(part)} at row {start[0]}, column "
                f"{start[1]}: give a smaller shape or another position."
            )
        return part

    def _start(self, shape: tuple[int, int], part: tuple[int, int]) -> tuple[int, int]:
        """Return the upper left pixel of the part."""
        if isinstance(self.position, str):
            return max(0, shape[0] - part[0]) // 2, max(0, shape[1] - part[1]) // 2
        if len(self.position) != 2 or not all(isinstance(at, Integral) and at >= 0 for at in self.position):
            raise ValueError(
                f'position must be "centre" or two whole numbers from 0 on, row and column; got {self.position}.'
            )
        return int(self.position[0]), int(self.position[1])

    def _images(self, X: Data, *, reset: bool) -> np.ndarray:
        images = super()._images(X, reset=reset)
        if reset:
            self.position_ = self._start(self.image_shape_[:2], self.output_shape_)
        return images

    def _rows(self, images: np.ndarray) -> np.ndarray:
        row, column = self.position_
        height, width = self.output_shape_
        return images[:, row : row + height, column : column + width].reshape(len(images), -1)


class AlignLandmarks(_Geometry):
    """Images warped so that their landmarks, such as the eyes, have the same place in all of them.

    ``landmarks``, of shape (n, n_landmarks, 2), hold (x, y) of each point in each image: x to the right and y down, in
    pixels, (0, 0) being the middle of the upper left one. They are given to `transform` and `fit_transform` beside the
    images; in a `Pipeline` by scikit-learn's metadata routing, ``set_transform_request(landmarks=True)``.

    Parameters
    ----------
    target : array-like of shape (n_landmarks, 2) or None, default=None
        Place (x, y) of each landmark in the images made. None is the mean over the training images, scaled to
        ``shape``; `fit` then needs landmarks.
    shape : (height, width) or None, default=None
        Size of the images made; None is that of the training images.
    kind : {"similarity", "affine", "piecewise"}, default="similarity"
        Map of an image. "similarity" shifts, rotates and scales it, "affine" also shears it, both fitted to the
        landmarks as by scikit-image (least squares and total least squares); "piecewise" is affine on each triangle
        between landmarks, and meets all of them.
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
    output_shape_ : tuple
        Height and width of the images made, one row each.
    target_ : ndarray of shape (n_landmarks, 2)
        Place of each landmark in the images made.

    See Also
    --------
    Resize : Images of another size.
    Crop : A part of each image.

    Notes
    -----
    By `skimage.transform.warp` with linear interpolation. Pixels that lie outside the original image are 0, and so
    are those outside the convex hull of the landmarks with "piecewise". Images of bytes are scaled to [0, 1]; colour
    is converted as by `skimage.color.rgb2gray`.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.features import AlignLandmarks
    >>> images = np.zeros((2, 4, 6))
    >>> eyes = np.array([[[1, 1], [4, 1]], [[1, 2], [4, 2]]])  # (x, y) of two eyes in two images
    >>> images[0, 1, [1, 4]] = images[1, 2, [1, 4]] = 1
    >>> aligned = AlignLandmarks(target=[[0, 0], [3, 0]], shape=(2, 4)).fit_transform(images, landmarks=eyes)
    >>> aligned.reshape(2, 2, 4)[:, 0].round(12) + 0.0
    array([[1., 0., 0., 1.],
           [1., 0., 0., 1.]])
    """

    _parameter_constraints: dict = {
        **_Geometry._parameter_constraints,
        "target": ["array-like", None],
        "shape": [tuple, list, None],
        "kind": [StrOptions({"similarity", "affine", "piecewise"})],
    }
    _fewest = {"similarity": 2, "affine": 3, "piecewise": 3}

    def __init__(self, target=None, shape=None, *, kind="similarity", image_shape=None, n_jobs=None, verbose=0):
        self.target = target
        self.shape = shape
        self.kind = kind
        self.image_shape = image_shape
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Data, y: ArrayLike | None = None, *, landmarks: ArrayLike | None = None) -> Self:
        """Learn the size of the images, and where the landmarks shall be.

        Parameters
        ----------
        X : array-like of shape (n, height, width), (n, height, width, channels) or (n, height * width)
            Images. Flattened rows need ``image_shape``.
        y : Ignored
            Not used, present for API consistency.
        landmarks : array-like of shape (n, n_landmarks, 2) or None, default=None
            Landmarks (x, y) of each image; needed where ``target`` is None.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._validate_params()
        images = self._images(X, reset=True)
        found = None if landmarks is None else _read_landmarks(landmarks, len(images))
        self.target_ = self._target(found)
        if found is not None:
            self._check_number(found)
        return self

    def transform(self, X: Data, landmarks: ArrayLike | None = None) -> np.ndarray:
        """Warp images.

        Parameters
        ----------
        X : array-like of shape (n, height, width), (n, height, width, channels) or (n, height * width)
            Images of the size of the training images.
        landmarks : array-like of shape (n, n_landmarks, 2)
            Landmarks (x, y) of each image.

        Returns
        -------
        ndarray of shape (n, n_features_out)
            One row an image, float32 for float32 images and float64 for all others.
        """
        check_is_fitted(self)
        images = self._images(X, reset=False)
        if landmarks is None:
            raise ValueError(
                "AlignLandmarks needs the landmarks of the images: give transform(X, landmarks=...), (x, y) of each."
            )
        found = _read_landmarks(landmarks, len(images))
        self._check_number(found)
        return self._all_rows(images, found)

    def fit_transform(self, X: Data, y: ArrayLike | None = None, *, landmarks: ArrayLike | None = None) -> np.ndarray:
        """Learn where the landmarks shall be, and warp the same images.

        Parameters
        ----------
        X : array-like of shape (n, height, width), (n, height, width, channels) or (n, height * width)
            Images. Flattened rows need ``image_shape``.
        y : Ignored
            Not used, present for API consistency.
        landmarks : array-like of shape (n, n_landmarks, 2)
            Landmarks (x, y) of each image.

        Returns
        -------
        ndarray of shape (n, n_features_out)
            One row an image, float32 for float32 images and float64 for all others.
        """
        return self.fit(X, landmarks=landmarks).transform(X, landmarks=landmarks)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "target_")

    def _output_shape(self, shape: tuple[int, int]) -> tuple[int, int]:
        return shape if self.shape is None else pair(self.shape, "shape")

    def _target(self, landmarks: np.ndarray | None) -> np.ndarray:
        """Return the places of the landmarks in the images made."""
        if self.target is not None:
            target = check_array(self.target, dtype=np.float64, input_name="target")
        elif landmarks is not None:
            scale = np.divide(self.output_shape_, self.image_shape_[:2])[::-1]  # of x and of y
            target = (landmarks.mean(axis=0) + 0.5) * scale - 0.5
        else:
            raise ValueError("target is None, the mean of the landmarks: give fit(X, landmarks=...), or a target.")
        if target.shape[1] != 2 or len(target) < self._fewest[self.kind]:
            raise ValueError(
                f'kind="{self.kind}" needs a target of {self._fewest[self.kind]} or more points (x, y); got shape '
                f"{target.shape}."
            )
        return target

    def _check_number(self, landmarks: np.ndarray) -> None:
        if landmarks.shape[1:] != self.target_.shape:
            raise ValueError(
                f"The images have {landmarks.shape[1]} landmarks and the target has {len(self.target_)}: give the same "
                "points in the same order."
            )

    def _rows(self, images: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
        transform = require("skimage.transform", "images", by=type(self).__name__)
        warped = [
            transform.warp(
                image,
                _inverse_map(transform, self.kind, points, self.target_),
                output_shape=self.output_shape_,
                preserve_range=True,
            )
            # scikit-image takes no arrays that are read-only; those are copied, one at a time.
            for image, points in zip(map(_writeable, images), landmarks, strict=True)
        ]
        return np.reshape(warped, (len(images), -1))


def _writeable(image: np.ndarray) -> np.ndarray:
    return np.require(image, requirements="W")


def _read_landmarks(landmarks: ArrayLike, n_images: int) -> np.ndarray:
    points = check_array(landmarks, dtype=np.float64, allow_nd=True, ensure_2d=False, input_name="landmarks")
    if points.ndim != 3 or points.shape[2] != 2 or len(points) != n_images:
        raise ValueError(
            f"landmarks must hold (x, y) of every point in every image, shape ({n_images}, n_landmarks, 2); got "
            f"{points.shape}."
        )
    return points


def _inverse_map(transform: Any, kind: str, landmarks: np.ndarray, target: np.ndarray) -> Any:
    """Return the map from the image made, where the landmarks are at ``target``, back to the image."""
    if kind == "piecewise":
        return _estimate(transform.PiecewiseAffineTransform, target, landmarks)
    family = transform.SimilarityTransform if kind == "similarity" else transform.AffineTransform
    return _estimate(family, landmarks, target).inverse


def _estimate(family: Any, source: np.ndarray, destination: np.ndarray) -> Any:
    if hasattr(family, "from_estimate"):
        found = family.from_estimate(source, destination)
        succeeded = bool(found)
    else:  # scikit-image before 0.26
        found = family()
        succeeded = found.estimate(source, destination)
    if not succeeded:
        raise ValueError(
            "The landmarks of an image, or of the target, coincide or lie on a line, so that no such map exists: leave "
            'the image out, give other points, or use kind="similarity".'
        )
    return found
