"""`AttributeCoder`: base of models with a layer for each attribute: labels, codes of samples, classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from .._base.clusters import Form, refuse_without_codes, side_by_side
from .._base.output import LayerOutput
from .._utils import threads
from .._utils.labels import Attribute, attribute_names, read_labels, warn_uninformative
from .._utils.typing import Data
from .._utils.validation import read_data


class AttributeCoder(LayerOutput):
    """Base of models with ``attributes_``, ``classes_``, ``labels_`` and a layer for each attribute.

    A subclass has `fit`, `_code`, codes of new samples on a layer, and `_probabilities` of their classes.
    """

    layer: Any = 0
    _main, _code_form = 0, "isometric"
    _sample_attributes = ("labels_",)
    _more_layers: tuple[str, ...] = ()  # names of layers after those of the attributes

    @abstractmethod
    def _code(self, X: Any, i: int) -> np.ndarray:
        """Return the codes of validated samples on layer i."""

    @abstractmethod
    def _probabilities(self, X: Any, i: int) -> np.ndarray:
        """Return the probabilities of the classes of attribute i for validated samples."""

    def _read_attributes(self, y: ArrayLike | None, n_samples: int, *, stacklevel: int) -> tuple[Attribute, ...]:
        """Read labels and set ``attributes_`` and ``classes_``."""
        attributes = () if y is None else read_labels(y, n_samples)
        warn_uninformative(attributes, stacklevel=stacklevel + 1, singletons=True, one_class=False)
        self.attributes_ = attribute_names(attributes)
        if len(set(self.attributes_)) < len(attributes):
            raise ValueError(f"the columns of y are named {self.attributes_}: give every attribute a name of its own.")
        self.classes_ = {name: a.classes for name, a in zip(self.attributes_, attributes, strict=True)}
        return attributes

    def _validate(self, X: Data, *, reset: bool) -> np.ndarray | sp.spmatrix | sp.sparray:
        return read_data(
            self,
            X,
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            ensure_min_samples=2 if reset else 1,
        )

    def transform(self, X: Data, layer: Hashable = None, *, readout: Form | None = None) -> np.ndarray:
        """Compute the codes of samples on one layer, or on all, by their nearest training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.
        layer : int, str or None, default=None
            Which layer: a name from ``attributes_``, "rest", a position in ``layers_``, or "all", all of them side by
            side. None means the parameter ``layer``.
        readout : {"auto", "raw", "whitened", "isometric", "discriminants", "bands"}, float or None, default=None
            Form of the codes, see the parameter of that name; None means its value.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Codes, in the units of X unless whitened.
        """
        places, form = self._places(layer), self._form(readout, self._code_form)
        return self._output(self._parts(X, places, form), X, places)

    def _transform(self, X: Data, layer: Hashable = 0, readout: Form = "raw") -> np.ndarray:
        """Return codes as an array whatever the parameters."""
        return side_by_side(self._parts(X, self._places(layer), readout))

    def _parts(self, X: Data, places: list[int], form: Form) -> list[np.ndarray]:
        """Return the codes of samples on each layer."""
        reads, X = [self._reader(i, form) for i in places], self._validate(X, reset=False)
        with threads.own_threads():
            return [read(self._code(X, i)) for read, i in zip(reads, places, strict=True)]

    def fit_transform(
        self,
        X: Data,
        y: ArrayLike | None = None,
        *,
        layer: Hashable = None,
        readout: Form | None = None,
    ) -> np.ndarray:
        """Fit a layer for each attribute and return the codes of the fit.

        There all training samples, or 10 000 at random, are nodes of the graphs. `transform` codes every sample by its
        nearest training samples, since neighbours of new samples are unknown in the fit, and gives other codes of the
        same samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data, at least two samples.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes), default=None
            Labels of some or all samples, one column for each attribute; -1, NaN, None and ``pandas.NA`` stand for
            unknown.
        layer : int, str or None, default=None
            Layer as for `transform`; None means the parameter ``layer``.
        readout : {"auto", "raw", "whitened", "isometric", "discriminants", "bands"}, float or None, default=None
            Form of the codes as for `transform`; None means the parameter ``readout``.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            ``layers_[i].representation`` of the layer i, in this form: `training_codes`.
        """
        self.fit(X, y)
        return self._fit_output(X, self._places(layer), self._form(readout, self._code_form))

    def training_codes(self, layer: Hashable = None) -> np.ndarray:
        """Return the codes of the fit, ``layers_[i].representation`` of one layer i, in the form of ``readout``.

        There all training samples, or 10 000 at random, are nodes of the graphs; `transform` gives them the codes of
        new samples.

        Parameters
        ----------
        layer : int, str or None, default=None
            Layer as for `transform`; None means the parameter ``layer``.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Codes, in the units of X unless whitened, in the form of the parameter ``readout``.
        """
        places, form = self._places(layer), self._form(None, self._code_form)
        refuse_without_codes(self.layers_[places[0]].representation, "training_codes")
        return side_by_side([self._reader(i, form)(self.layers_[i].representation) for i in places])

    def predict(self, X: Data, attribute: Hashable = None) -> np.ndarray:
        """Predict the class of an attribute, by the layer of that attribute.

        Samples are coded by `transform`, those of the fit too, whether or not their label is known.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.
        attribute : str, int or None, default=None
            Which attribute: a name from ``attributes_``, or a position in it. None means the first.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            An entry of ``classes_[attribute]`` for each sample, in the type of the labels.
        """
        i = self._class_position(attribute)
        return self.classes_[self.attributes_[i]][self.predict_proba(X, attribute).argmax(1)]

    def predict_proba(self, X: Data, attribute: Hashable = None) -> np.ndarray:
        """Estimate the probability of each class of an attribute, by the layer of that attribute.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.
        attribute : str, int or None, default=None
            Which attribute: a name from ``attributes_``, or a position in it. None means the first.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_[attribute]``.
        """
        i = self._class_position(attribute)
        X = self._validate(X, reset=False)
        with threads.own_threads():
            return self._probabilities(X, i)

    def _class_position(self, attribute: Hashable) -> int:
        """Return the position of an attribute; raise an error where it has no classes."""
        check_is_fitted(self)
        wanted = 0 if attribute is None else attribute
        try:
            i = self._layer_at(wanted)
        except ValueError as error:
            raise ValueError(
                f"attribute={wanted!r} is none of the fit: give one of {self.attributes_}, or its position."
            ) from error
        if i >= len(self.attributes_) or not len(self.classes_[self.attributes_[i]]):
            have = [name for name in self.attributes_ if len(self.classes_[name])]
            name = [*self.attributes_, *self._more_layers][i]
            raise ValueError(
                f"layer {name!r} has no classes, since y had no labels of it in fit; those that have some are {have}."
            )
        return i

    @property
    def _layer_names(self) -> Mapping[Hashable, int]:
        named = {name: i for i, name in enumerate(self.attributes_) if not isinstance(name, Integral)}
        more = {name: len(self.attributes_) + i for i, name in enumerate(self._more_layers)}
        return more | named

    def _place_name(self, place: int) -> str:
        name = [*self.attributes_, *self._more_layers][place]
        return name if isinstance(name, str) else super()._place_name(place)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.classifier_tags = ClassifierTags()  # of an attribute, by predict_proba; the estimator itself is none
        return tags
