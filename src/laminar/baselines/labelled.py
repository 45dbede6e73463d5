"""Base of the baselines with labels: one layer for each attribute, of principal scores and a few labels."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from .._base.clusters import Form, Readout, reader
from .._base.coding import Layer
from .._utils import threads
from .._utils.labels import Attribute
from .._utils.typing import Data
from ..attributes.attribute_coder import AttributeCoder
from ..attributes.principal_scores import PrincipalScores
from ..deep.composition import regress


class LabelledBaseline(AttributeCoder):
    """Baseline with labels of some samples; a subclass fits the classes of one attribute to principal scores."""

    _parameter_constraints: dict = {
        "n_scores": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def fit(self, X: Data, y: ArrayLike) -> Self:
        """Fit the classes of each attribute.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data, at least two samples.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes)
            Labels of some or all samples, one column for each attribute; -1, NaN, None and ``pandas.NA`` stand for
            unknown.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = self._validate(X, reset=True)
        attributes = self._read_attributes(y, X.shape[0], stacklevel=2)
        with threads.own_threads():
            rng = check_random_state(self.random_state)
            self._principal, F = PrincipalScores.fit(X, self.n_scores, rng)
            self._fit_scores(F)
            fits = [self._fit_attribute(F, attribute) for attribute in attributes]
        self.layers_ = [self._layer(E, F) for E, _ in fits]
        self.components_, self.mean_ = self.layers_[0].components, self._principal.mean.astype(F.dtype)
        self.labels_ = {}
        for name, attribute, (_, P) in zip(self.attributes_, attributes, fits, strict=True):
            if len(attribute.classes):
                found = np.where(attribute.known, attribute.codes, P.argmax(1))
                self.labels_[name] = attribute.classes[found]
        return self

    def _fit_scores(self, F: np.ndarray) -> None:
        """Fit what all attributes share to the principal scores."""

    @abstractmethod
    def _fit_attribute(self, F: np.ndarray, attribute: Attribute) -> tuple[np.ndarray, np.ndarray]:
        """Return codes and class probabilities of the training samples, from their scores and labels."""

    def _layer(self, E: np.ndarray, F: np.ndarray) -> Layer:
        E = E.astype(F.dtype)
        components = regress(E, F * F.dtype.type(self._principal.scale)) @ self._principal.basis.T
        return Layer(np.eye(E.shape[1], dtype=F.dtype), components, E)

    def _reader(self, place: int, form: Form) -> Readout:
        # Features are their own components: distances are theirs.
        layer = self.layers_[place]
        return reader("raw" if form == "isometric" else form, replace(layer, components=layer.weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
