"""`ImageTransformer`: the path of the images. X is validated, cut into blocks, made grey and described, in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from numbers import Integral
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from .._utils.typing import Data
from .images import flatten, float_type, fold, grey, size_text, unit_scale
from .progress import counting

_BLOCK = 2**16  # pixels a thread works on at a time: large enough to vectorise, small enough for the cache


class ImageTransformer(TransformerMixin, BaseEstimator):
    """What every family shares; a family states the axes of its features and how a block of grey images gets them."""

    _parameter_constraints: dict = {
        "norm": [StrOptions({"l1", "l2"}), None],
        "image_shape": [tuple, list, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    # ---- what a family states ------------------------------------------------------------------------------------

    def _axes(self, shape: tuple[int, ...]) -> list[list[str]]:
        """Labels along each axis of the features of one image; raises where the images do not suit the parameters."""
        raise NotImplementedError

    def _features(self, images: np.ndarray) -> np.ndarray:
        """Features of grey images (n, height, width), the first axis theirs, the others those of `_axes`."""
        raise NotImplementedError

    # ---- scikit-learn's contract ---------------------------------------------------------------------------------

    def fit(self, X: Data, y: ArrayLike | None = None) -> Self:
        """Learn the size of the images.

        Parameters
        ----------
        X : array-like of shape (n, height, width), (n, height, width, channels) or (n, height * width)
            Images. Flattened rows need ``image_shape``.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._validate_params()
        self._images(X, reset=True)
        return self

    def transform(self, X: Data) -> np.ndarray:
        """Describe images.

        Parameters
        ----------
        X : array-like of shape (n, height, width), (n, height, width, channels) or (n, height * width)
            Images of the size seen in `fit`.

        Returns
        -------
        ndarray of shape (n, n_features_out)
            One row an image, float32 for float32 images and float64 for all others.
        """
        check_is_fitted(self)
        images = self._images(X, reset=False)
        rows = np.empty((len(images), self._n_features_out), dtype=float_type(images))
        for part, result in self._each_block(self._rows, images):
            rows[part] = result
        return rows

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return names of the features by their places: rows ``r0, r1, ..``, columns ``c0, c1, ..`` and so on.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Only checked against the names seen in `fit`.

        Returns
        -------
        ndarray of str objects
            One name a feature.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.array(["_".join(labels) for labels in product(*self._axes(self.image_shape_))], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "image_shape_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ---- the path of the images ----------------------------------------------------------------------------------

    def _images(self, X, *, reset: bool) -> np.ndarray:
        """Validate X and fold it into images, (n, height, width) or (n, height, width, channels), of any type."""
        X, shape = flatten(X)
        if not reset and shape not in (None, self.image_shape_):
            raise ValueError(
                f"The images are of {size_text(shape)} pixels, {type(self).__name__} was fitted on "
                f"{size_text(self.image_shape_)}: resize them, or fit again."
            )
        X = validate_data(self, X, reset=reset, dtype="numeric")
        if reset:
            shape = fold(X.shape[1], shape, self.image_shape)
            self._n_features_out = prod(len(labels) for labels in self._axes(shape))
            self.image_shape_ = shape
        return X.reshape(len(X), *self.image_shape_)

    def _each_block(self, work: Callable, images: np.ndarray) -> Iterator[tuple[slice, object]]:
        """Yield ``work(grey images)`` block by block, in order, worked out on ``n_jobs`` threads."""
        step = max(1, _BLOCK // prod(self.image_shape_[:2]))
        parts = [slice(i, min(i + step, len(images))) for i in range(0, len(images), step)]
        dtype = float_type(images)

        def work_on(part: slice):
            return work(grey(images[part], dtype))

        run = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")
        with counting(type(self).__name__, len(images), self.verbose) as tell:
            for part, result in zip(parts, run(delayed(work_on)(part) for part in parts), strict=True):
                yield part, result
                tell(part.stop)

    def _rows(self, images: np.ndarray) -> np.ndarray:
        return self._normalised(self._features(images).reshape(len(images), -1))

    def _normalised(self, rows: np.ndarray) -> np.ndarray:
        """Rows in the norm asked for; a row of zeros stays one."""
        if self.norm not in ("l1", "l2"):
            return rows
        # In unit scale, because scikit-learn takes rows with a norm near the rounding unit for zero.
        return normalize(unit_scale(rows)[0], self.norm, copy=False)
