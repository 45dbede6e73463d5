"""`LayerOutput`: which layers of a fitted model `transform` returns, in which form, and the names of the columns."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _get_container_adapter
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from .._persistence.estimator import Estimator
from .._utils import tall
from .._utils.workers.reading import is_dask
from .clusters import READOUTS, STANDARD, Form, Readout, reader, side_by_side
from .tensors import in_memory, wrap_methods


def readouts(*names: str) -> list:
    """Return the constraints of the parameter ``readout``, with names of forms that a model has besides."""
    return [StrOptions({"auto", *READOUTS, *names}), Interval(Real, 0, 1, closed="both")]


OUTPUT: dict = {"readout": readouts(), "layer": [Integral, str]}
"""Constraints of the parameters ``readout`` and ``layer``."""


class LayerOutput(TransformerMixin, Estimator):
    """Base of all estimators with codes: the parameters ``layer`` and ``readout``, and tables with named columns.

    Arguments of a method that are None mean the parameters. What ``layer`` means is a list of places, which are
    positions in ``layers_`` unless a model has others.
    """

    layer: Any = -1
    readout: Form = "auto"
    _main = -1  # the layer of ``components_``, whose columns have plain names
    _code_form: Form = "raw"  # what readout="auto" means
    _cluster_form: Form = STANDARD
    _clusters_layers = False  # whether `cluster` finds any number of clusters of a layer, not by k-means of its codes
    _takes_tensors = False  # whether public methods are wrapped for tensors (`tensors`)
    _on_devices = False  # whether X may be on a device; tensors give tensors then

    def __init_subclass__(cls, **keywords):
        # scikit-learn's wrapper of `transform` has the names of the constructed layer alone; `_output` takes its place.
        super().__init_subclass__(auto_wrap_output_keys=None, **keywords)
        cls._sklearn_auto_wrap_output_keys = {"transform"}
        if cls._takes_tensors:
            wrap_methods(cls)

    # ---- which layers --------------------------------------------------------------------------------------------

    @property
    def _layer_names(self) -> Mapping[Hashable, int]:
        """Positions of the layers that have names."""
        return {}

    @property
    def _n_layers(self) -> int:
        return len(self.layers_)

    def _layer_at(self, layer, n_layers: int | None = None) -> int:
        """Return the position of one layer, given by position or by name."""
        n, names = self._n_layers if n_layers is None else n_layers, self._layer_names
        if isinstance(layer, Hashable) and layer in names:
            return names[layer]
        if isinstance(layer, str):
            known = (
                f"give one of {list(names)}, or"
                if names
                else f"the layers of {type(self).__name__} have no names; give"
            )
            raise ValueError(f"layer={layer!r} is no attribute of the fit: {known} a position.")
        if not isinstance(layer, Integral) or not -n <= int(layer) < n:
            raise ValueError(
                f"layer={layer!r} is out of range: the model has {n} layer{'s' * (n > 1)}, give a whole number from "
                f"{-n} to {n - 1}."
            )
        return int(layer) % n

    def _positions(self, layer, n_layers: int) -> list[int]:
        if isinstance(layer, str) and layer == "all":
            return list(range(n_layers))
        return [self._layer_at(layer, n_layers)]

    def _check_layer(self, n_layers: int) -> None:
        """Refuse the parameter ``layer`` where a model of so many layers has no such one."""
        self._positions(self.layer, n_layers)

    def _places(self, layer=None) -> list:
        """Return the places of the layers that are meant."""
        check_is_fitted(self)
        return self._positions(self.layer if layer is None else layer, self._n_layers)

    def _at(self, place):
        """Return the layer at a place."""
        return self.layers_[place]

    # ---- in which form -------------------------------------------------------------------------------------------

    def _form(self, readout: Form | None, auto: Form) -> Form:
        """Return the form that is meant, where "auto" means ``auto``."""
        chosen = self.readout if readout is None else readout
        return auto if chosen == "auto" else chosen

    def _reader(self, place, form: Form) -> Readout:
        """Return the function from codes at a place to a form of them."""
        return reader(form, self._at(place))

    def _fit_output(self, X, places: list, form: Form):
        """Return the codes of the fit, as a new array."""
        codes = [self._at(place).representation for place in places]
        copies = [H if is_dask(H) else tall.copy(H) for H in codes]
        return self._output([self._reader(p, form)(H) for p, H in zip(places, copies, strict=True)], X, places)

    # ---- model files ---------------------------------------------------------------------------------------------

    def _in_memory(self) -> Self:
        return in_memory(self)

    _sample_attributes: tuple[str, ...] = ()  # fitted attributes with a row for each training sample

    def _without_training_codes(self) -> Self:
        kept = super()._without_training_codes()
        if "layers_" in vars(self) and not self._codes_with_training_samples:
            kept.layers_ = [layer.without_codes() for layer in self.layers_]
        for name in self._sample_attributes:
            setattr(kept, name, _no_rows(getattr(self, name)))
        return kept

    @property
    def _codes_with_training_samples(self) -> bool:
        """Whether `transform` needs the codes of the training samples."""
        return False

    def _kept_samples(self) -> list[str]:
        layers = vars(self).get("layers_", ())
        found = [f"layers_[{i}].representation" for i, layer in enumerate(layers) if len(layer.representation)]
        return found + [name for name in self._sample_attributes if _n_rows(getattr(self, name))]

    # ---- tables --------------------------------------------------------------------------------------------------

    def _output(self, parts: Sequence[np.ndarray], X, places: list):
        """Return the codes of all places side by side, in the container that `set_output` names."""
        H = side_by_side(parts)
        adapter = _get_container_adapter("transform", self)
        if adapter is None or is_dask(H):
            return H
        return adapter.create_container(
            tall.to_host(H), X, columns=self._column_names(places, [part.shape[1] for part in parts])
        )

    def _place_name(self, place) -> str:
        return f"layer{place}"

    def _column_names(self, places: list, widths: Sequence[int]) -> np.ndarray:
        prefix = type(self).__name__.lower()
        alone = places == self._places(self._main)
        heads = [prefix if alone else f"{prefix}_{self._place_name(place)}_" for place in places]
        names = [f"{head}{a}" for head, width in zip(heads, widths, strict=True) for a in range(width)]
        return np.array(names, dtype=object)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Checked against the features of `fit`, and not used otherwise.

        Returns
        -------
        names : ndarray of str objects
            The name of the class with a number, as in "nmf2"; of several layers, and of one that is not that of
            ``components_``, with the layer as well, as in "deepseminmf_layer0_2".
        """
        places, form = self._places(), self._form(None, self._code_form)
        _check_feature_names_in(self, input_features, generate_names=False)
        return self._column_names(places, [self._reader(place, form).width(self._n_codes(place)) for place in places])

    def _n_codes(self, place) -> int:
        return self._at(place).representation.shape[1]


def _no_rows(rows: Any) -> Any:
    """Return an array, or a dict of arrays, without its rows."""
    if isinstance(rows, dict):
        return {name: array[:0].copy() for name, array in rows.items()}
    return rows[:0].copy()


def _n_rows(rows: Any) -> int:
    return max(map(len, rows.values()), default=0) if isinstance(rows, dict) else len(rows)
