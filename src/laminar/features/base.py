"""`ImageTransformer`, the base class of image features: validation, conversion to grey, features block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import product
from math import prod
from numbers import Integral
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from .._persistence.estimator import Estimator
from .._utils.progress import progress
from .._utils.typing import Data
from .._utils.validation import read_data, refuse_masked
from .images import flatten, float_type, fold, grey, size_text, unit_scale

_BLOCK = 2**16  # pixels of a block of images, the unit of work of a thread: 512 KB in float64, to stay in cache


class ImageTransformer(TransformerMixin, Estimator):
    """Base class of image features; a subclass defines `_axes` and `_features`."""

    _parameter_constraints: dict = {
        "norm": [StrOptions({"l1", "l2"}), None],
        "image_shape": [tuple, list, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    # ---- defined by a subclass -----------------------------------------------------------------------------------

    def _axes(self, shape: tuple[int, ...]) -> list[list[str]]:
        """Return labels along each axis of the features of one image; raise if the parameters do not suit its shape."""
        raise NotImplementedError

    def _features(self, images: np.ndarray) -> np.ndarray:
        """Compute the features of grey images (n, height, width), of shape n and the lengths of `_axes`."""
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
        """Compute the features of images.

        Parameters
        ----------
        X : array-like of shape (n, height, width), (n, height, width, channels) or (n, height * width)
            Images of the size of the training images.

        Returns
        -------
        ndarray of shape (n, n_features_out)
            One row an image, float32 for float32 images and float64 for all others.
        """
        check_is_fitted(self)
        return self._all_rows(self._images(X, reset=False))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names of the features, made of their positions: rows ``r0, r1, ..``, columns ``c0, c1, ..``.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Checked against the names of `fit`, and otherwise ignored.

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

    # ---- validation and blocks -----------------------------------------------------------------------------------

    def _images(self, X: Data, *, reset: bool) -> np.ndarray:
        """Validate X and return images of shape (n, height, width) or (n, height, width, channels), of any type."""
        refuse_masked(self, X)
        X, shape = flatten(X)
        if not reset and shape not in (None, self.image_shape_):
            raise ValueError(
                f"The images are of {size_text(shape)} pixels, {type(self).__name__} was fitted on "
                f"{size_text(self.image_shape_)}: resize them, or fit again."
            )
        X = read_data(self, X, reset=reset, dtype="numeric")
        if reset:
            shape = fold(X.shape[1], shape, self.image_shape)
            self._n_features_out = prod(len(labels) for labels in self._axes(shape))
            self.image_shape_ = shape
        return X.reshape(len(X), *self.image_shape_)

    def _all_rows(self, images: np.ndarray, *others: np.ndarray) -> np.ndarray:
        """Compute the features of all images; the other arrays have a row an image, for `_rows`."""
        rows = np.empty((len(images), self._n_features_out), dtype=float_type(images))
        for block, result in self._each_block(self._rows, images, *others):
            rows[block] = result
        return rows

    def _each_block(self, work: Callable, images: np.ndarray, *others: np.ndarray) -> Iterator[tuple[slice, object]]:
        """Yield ``work(grey images, *others)`` block by block, in order, computed on ``n_jobs`` threads."""
        step = max(1, _BLOCK // prod(self.image_shape_[:2]))
        blocks = [slice(i, min(i + step, len(images))) for i in range(0, len(images), step)]
        dtype = float_type(images)

        def work_on(block: slice) -> object:
            return work(grey(images[block], dtype), *(other[block] for other in others))

        run = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")
        results = run(delayed(work_on)(block) for block in blocks)
        with progress(type(self).__name__, len(images), unit="images") if self.verbose else nullcontext() as report:
            for block, result in zip(blocks, results, strict=True):
                yield block, result
                if report:
                    report(block.stop)

    def _rows(self, images: np.ndarray) -> np.ndarray:
        return self._normalised(self._features(images).reshape(len(images), -1))

    def _normalised(self, rows: np.ndarray) -> np.ndarray:
        """Scale rows to unit ``norm``; zero rows stay zero."""
        if self.norm not in ("l1", "l2"):
            return rows
        # In unit scale, since scikit-learn treats rows with a norm near machine precision as zero.
        return normalize(unit_scale(rows)[0], self.norm, copy=False)
