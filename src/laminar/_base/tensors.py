"""Tensors in, tensors out: where arrays of other libraries become numpy's or those of a device, and back.

Between the two the models see arrays of numpy, views of tensors that are in memory; or, where X is on a device, a
`DeviceArray` for X and for codes, and arrays of numpy for all that has no row for each sample.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator

from .._utils import runs
from .._utils.callbacks import as_returned
from .._utils.device.array import DeviceArray
from .._utils.device.namespaces import Device, is_tensor, to_host

FITTING = ("fit", "partial_fit", "fit_transform", "fit_predict")
USING = ("transform", "inverse_transform", "predict", "cluster", "score", "mapping")
TALL = "representation"  # the attribute of a layer with a row for each sample

MODELS = "NMF, SemiNMF, WSF and ClassDrivenNMF, with graphs of labels, and DeepSemiNMF without an activation"


def wrap_methods(cls: type) -> None:
    """Let the methods that a class defines take and return tensors."""
    for names, wrapped in ((FITTING, _fitting), (USING, _using)):
        for name in names:
            if callable(vars(cls).get(name)):
                setattr(cls, name, wrapped(vars(cls)[name]))


def _fitting(method: Callable) -> Callable:
    @wraps(method)
    def run(self: Any, *arguments: Any, **keywords: Any) -> Any:
        call = _Call(arguments, keywords)
        if not call.has_tensors(self):
            return method(self, *arguments, **keywords)
        device, before = call.device(self, method.__name__), dict(vars(self))
        vars(self).update(vars(in_memory(self)))
        token = as_returned.set(lambda model: _on_device(model, device))
        try:
            found = call.read(device).on(method, self)
        except KeyboardInterrupt:  # the model is fitted as of the last iteration
            _on_device(self, device)
            raise
        except Exception:
            vars(self).update(before)
            raise
        finally:
            as_returned.reset(token)
        _on_device(self, device)
        return found if found is self else _sent(found, device)

    return run


def _using(method: Callable) -> Callable:
    @wraps(method)
    def run(self: Any, *arguments: Any, **keywords: Any) -> Any:
        call = _Call(arguments, keywords)
        if not call.has_tensors(self):
            return method(self, *arguments, **keywords)
        _check_same(self, call.data, method.__name__)
        alone = call.data is None or method.__name__ == "mapping"  # results are of the fit
        device = Device.of(vars(self).get("components_")) if alone else call.device(self, method.__name__)
        found = call.read(device).on(method, in_memory(self))
        return _sent(found, device)

    return run


class _Call(NamedTuple):
    """The arguments of a method, of which the first is samples or codes."""

    arguments: tuple
    keywords: dict[str, Any]

    @property
    def data(self) -> Any:
        """The samples or codes."""
        return self.arguments[0] if self.arguments else self.keywords.get("X", self.keywords.get("H"))

    def has_tensors(self, model: Any) -> bool:
        """Whether an argument is a tensor, or a model that is fitted to tensors."""
        given = (*self.arguments, *self.keywords.values())
        models = [model, *(value for value in given if isinstance(value, BaseEstimator))]
        return any(map(is_tensor, given)) or any(is_tensor(vars(one).get("components_")) for one in models)

    def device(self, model: Any, method: str) -> Device | None:
        """Return where results are to be; None is numpy, also for models that take tensors as any array-like."""
        device, name = Device.of(self.data), type(model).__name__
        takes = model._on_devices and method != "partial_fit"
        if device is None or device.is_memory:
            return device if model._on_devices else None
        if not takes:
            raise TypeError(
                f"X is on {device}, and {name} with these parameters is fitted in memory: give X.cpu(), or use one of "
                f"the models that are fitted on devices: {MODELS}."
            )
        if runs.current() is not None:
            raise TypeError(f"X is on {device}, and a fit there has no checkpoints: give X in memory, X.cpu().")
        return device

    def read(self, device: Device | None) -> _Call:
        """Return the call without tensors: samples on a device are wrapped, all others are numpy's."""

        def read(value: Any) -> Any:
            if isinstance(value, BaseEstimator):
                return in_memory(value)
            is_there = device is not None and not device.is_memory and value is self.data
            return DeviceArray(value, device) if is_there and device is not None else to_host(value)

        return _Call(tuple(map(read, self.arguments)), {name: read(value) for name, value in self.keywords.items()})

    def on(self, method: Callable, model: Any) -> Any:
        """Call the method."""
        return method(model, *self.arguments, **self.keywords)


def _check_same(model: Any, data: Any, method: str) -> None:
    """Raise scikit-learn's error for samples of another library than the fit, where its dispatch is on."""
    if data is None or not model._on_devices or not get_config().get("array_api_dispatch"):
        return
    try:
        from sklearn.utils._array_api import check_same_namespace
    except ImportError:  # before 1.9
        return
    check_same_namespace(data, model, attribute="components_", method=method)


# ---- fitted attributes -----------------------------------------------------------------------------------------------


def in_memory(model: Any) -> Any:
    """Return a model as its methods need it: without tensors; codes on a device are wrapped."""
    if not is_tensor(vars(model).get("components_")):
        return model
    inner = copy(model)
    vars(inner).update(_converted(_fitted(model), _read_attribute))
    return inner


def _read_attribute(name: str, value: Any) -> Any:
    device = Device.of(value)
    if name == TALL and device is not None and not device.is_memory:
        return DeviceArray(value, device)
    return to_host(value)


def _on_device(model: Any, device: Device | None) -> Any:
    """Give a model fitted attributes on a device, in place; None leaves those of numpy."""
    vars(model).update(_converted(_fitted(model), lambda name, array: _sent(array, device)))
    return model


def _sent(value: Any, device: Device | None) -> Any:
    """Return an array of numbers as a tensor; anything else as it is."""
    if isinstance(value, DeviceArray):
        return value.data
    if device is None:
        return value
    return device.send(value) if isinstance(value, np.ndarray) and value.dtype.kind in "bif" else value


def _fitted(model: Any) -> dict[str, Any]:
    """Return the public fitted attributes."""
    return {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")}


def _converted(attributes: dict[str, Any], convert: Callable[[str, Any], Any]) -> dict[str, Any]:
    """Convert arrays among attributes, also in lists and in layers; one that occurs twice is converted once."""
    known: dict[int, Any] = {}

    def converted(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [converted(name, part) for part in value]
        if is_dataclass(value) and not isinstance(value, type):
            parts = {field.name: converted(field.name, getattr(value, field.name)) for field in fields(value)}
            return replace(value, **parts)
        if not isinstance(value, np.ndarray | DeviceArray) and not is_tensor(value):
            return value
        if id(value) not in known:
            known[id(value)] = convert(name, value)
        return known[id(value)]

    return {name: converted(name, value) for name, value in attributes.items()}
