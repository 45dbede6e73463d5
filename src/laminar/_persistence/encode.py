"""From objects to a tree of JSON and named tensors; `decode` is the way back.

Numbers, text, None and lists are JSON itself; all else is a JSON object with its ``kind``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from .._utils.device.namespaces import is_tensor, to_host
from .._utils.place import PlacedArray
from .._utils.workers.reading import is_dask
from .classes import OBJECTS, RECORDS
from .estimators import ESTIMATORS, fitted_kinds
from .kinds import check_state, class_name
from .safetensors_file import TYPES
from .strict_json import dump

INLINE = 256  # entries of an array of text up to which it is JSON in the header, and not a tensor

TEXT_BYTES = 4  # of a character in an array of text

Node = Any  # what JSON holds


class Encoder:
    """Encodes values; arrays become ``tensors``, each once, under the path of attributes that leads to them."""

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}
        self._places: dict[tuple, str] = {}
        self._sources: list[np.ndarray] = []  # kept, so that no address is used twice
        self._gathered: dict[int, tuple[np.ndarray, Any]] = {}  # by the array on workers, which is kept too

    def encode(self, value: Any, path: str) -> Node:
        """Return the node of a value at a path; a TypeError names the path of what cannot be stored."""
        value = self._here(value)
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if np.isfinite(value) else {"kind": "float", "value": str(value)}
        if type(value) is list:
            return self._items(value, path)
        for applies, encode in _ENCODERS:
            if applies(value):
                return encode(self, value, path)
        return self._object(value, path)

    def estimator(self, model: BaseEstimator, path: str = "") -> dict[str, Node]:
        """Return class, parameters and fitted state of an estimator."""
        name = class_name(type(model))
        if name not in ESTIMATORS:
            raise TypeError(
                f"{path or 'the model'} is a {name}, which a model file cannot hold: save one of Laminar's own "
                "estimators, or use pickle for what you trust."
            )
        parameters = model.get_params(deep=False)
        state = {key: self._here(value) for key, value in vars(model).items() if key not in parameters}
        known = {attribute.rstrip("?") for attribute in ESTIMATORS[name]}
        unknown = sorted(set(state) - known)
        if unknown:
            raise TypeError(
                f"{type(model).__name__} has the attribute {unknown[0]!r}, which a model file does not hold: delete "
                "it before saving."
            )
        check_state(name, state, fitted_kinds(name))
        start = f"{path}." if path else ""
        return {
            "class": name,
            "parameters": {key: self._parameter(key, value, start) for key, value in parameters.items()},
            "state": {key: self.encode(value, f"{start}{key}") for key, value in state.items()},
        }

    def _parameter(self, name: str, value: Any, start: str) -> Node:
        if callable(value) and class_name(type(value)) not in OBJECTS:
            raise TypeError(
                f"the parameter {name}={value!r} is a function, and a model file holds no code: use a named one, or "
                "pickle for what you trust."
            )
        return self.encode(value, f"{start}parameters.{name}")

    def _items(self, values: Any, path: str) -> list[Node]:
        return [self.encode(value, f"{path}.{i}") for i, value in enumerate(values)]

    def _tuple(self, value: tuple, path: str) -> Node:
        if type(value) is not tuple:
            raise TypeError(_unknown(value, path))
        return {"kind": "tuple", "items": self._items(value, path)}

    def _dict(self, value: Mapping, path: str) -> Node:
        if type(value) is not dict:
            raise TypeError(_unknown(value, path))
        if all(type(key) is str for key in value):
            return {"kind": "dict", "items": {key: self.encode(item, f"{path}.{key}") for key, item in value.items()}}
        pairs = []
        for i, (key, item) in enumerate(value.items()):
            place = key if isinstance(key, str | int) else i
            pairs.append([self.encode(key, f"{path}.{place}.key"), self.encode(item, f"{path}.{place}")])
        return {"kind": "pairs", "items": pairs}

    def _set(self, value: set | frozenset, path: str) -> Node:
        return {"kind": type(value).__name__, "items": self._items(sorted(value, key=repr), path)}

    def _scalar(self, value: np.generic, path: str) -> Node:
        if value.dtype.name in TYPES.values():
            return {"kind": "scalar", "dtype": value.dtype.name, "value": self.encode(value.item(), path)}
        if isinstance(value, np.str_):
            return {"kind": "scalar", "dtype": "str", "value": str(value)}
        raise TypeError(_unknown(value, path))

    def _here(self, value: Any) -> Any:
        """Return an array on workers or of another library as one here, the same every time; all else as it is."""
        if not isinstance(value, PlacedArray) and not is_dask(value) and not is_tensor(value):
            return value
        if id(value) not in self._gathered:
            here = value.to_host() if isinstance(value, PlacedArray) else np.asarray(to_host(value))
            self._gathered[id(value)] = here, value
        return self._gathered[id(value)][0]

    def _array(self, value: np.ndarray, path: str) -> Node:
        if type(value) not in (np.ndarray, np.memmap):
            raise TypeError(_unknown(value, path))
        if value.dtype.kind in "UO":
            return self._cells(value, path)
        if value.dtype.name not in TYPES.values():
            raise TypeError(f"{path} is an array of type {value.dtype}, which a model file cannot hold.")
        order = "F" if value.ndim > 1 and _is_column_major(value) else "C"
        key = (value.__array_interface__["data"][0], value.shape, value.strides, value.dtype.str)
        if key not in self._places:
            self._places[key] = self._new_name(path)
            self._sources.append(value)
            native = value.dtype.newbyteorder("=")
            self.tensors[self._places[key]] = np.array(value, dtype=native, order="C", copy=None)
        return {"kind": "array", "tensor": self._places[key], **({"order": "F"} if order == "F" else {})}

    def _cells(self, value: np.ndarray, path: str) -> Node:
        """Encode an array of text, or of objects: its entries are JSON, in the header or as bytes of a tensor."""
        cells = value.ravel().tolist()
        node: dict[str, Any] = {"kind": "objects", "shape": list(value.shape)}
        if value.dtype.kind == "U":
            width = value.dtype.itemsize // TEXT_BYTES
            if not has_room(width, cells):
                width = max(map(len, cells))
            if has_room(width, cells):  # else of one long text among many short ones, an array of objects
                node |= {"kind": "text", "width": width}
        nodes = [self._cell(cell, path) for cell in cells]
        if len(nodes) <= INLINE:
            return {**node, "items": nodes}
        name = self._new_name(path)
        self.tensors[name] = np.frombuffer(dump(nodes).encode(), np.uint8)
        return {**node, "tensor": name}

    def _cell(self, cell: Any, path: str) -> Node:
        if cell is None or isinstance(cell, str | bool | int | float | np.generic):
            return self.encode(cell, path)
        if type(cell).__name__ in ("NAType", "NaTType"):  # of pandas
            return None
        raise TypeError(f"{path} is an array with an entry of type {type(cell).__name__}: use numbers or text.")

    def _sparse(self, value: Any, path: str) -> Node:
        form = "csc" if value.format == "csc" else "csr"
        is_array = isinstance(value, sp.sparray)
        value = value.asformat(form)
        parts = {part: self._array(getattr(value, part), f"{path}.{part}") for part in ("data", "indices", "indptr")}
        return {"kind": "sparse", "format": form, "array": is_array, "shape": [int(n) for n in value.shape], **parts}

    def _table(self, value: Any, path: str) -> Node:
        """Encode a DataFrame, column by column."""
        columns = [value.iloc[:, j] for j in range(value.shape[1])]
        return {
            "kind": "table",
            "columns": self._items([_plain(name) for name in value.columns], f"{path}.columns"),
            "index": self._array(value.index.to_numpy(), f"{path}.index"),
            "index_name": self.encode(_plain(value.index.name), path),
            "cells": [self._column(column, f"{path}.{name}") for name, column in zip(value, columns, strict=True)],
        }

    def _column(self, column: Any, path: str) -> Node:
        is_plain = isinstance(column.dtype, np.dtype) and column.dtype.name in TYPES.values()
        return self._array((column if is_plain else column.astype(object)).to_numpy(), path)

    def _random_state(self, value: np.random.RandomState, path: str) -> Node:
        state: Any = value.get_state(legacy=True)
        name, keys, position, has_gauss, cached = state
        if name != "MT19937":
            raise TypeError(f"{path} is a RandomState of {name}, which a model file cannot hold: use a seed.")
        numbers = [int(position), int(has_gauss), float(cached)]
        return {"kind": "random state", "keys": self._array(keys, f"{path}.keys"), "numbers": numbers}

    def _generator(self, value: np.random.Generator, path: str) -> Node:
        return {"kind": "generator", "state": self.encode(value.bit_generator.state, path)}

    def _kmeans(self, value: KMeans, path: str) -> Node:
        state = {"n_init": value.n_init, "random_state": value.random_state, "centres": value.cluster_centers_}
        return {"kind": "k-means", "state": {k: self.encode(v, f"{path}.{k}") for k, v in state.items()}}

    def _classifier(self, value: KNeighborsClassifier, path: str) -> Node:
        state = {"n_neighbors": value.n_neighbors, "points": value._fit_X, "labels": value.classes_[value._y]}
        return {"kind": "neighbour classifier", "state": {k: self.encode(v, f"{path}.{k}") for k, v in state.items()}}

    def _neighbours(self, value: NearestNeighbors, path: str) -> Node:
        state = {"n_neighbors": value.n_neighbors, "points": value._fit_X}
        return {"kind": "neighbours", "state": {k: self.encode(v, f"{path}.{k}") for k, v in state.items()}}

    def _nested(self, value: BaseEstimator, path: str) -> Node:
        return {"kind": "estimator", **self.estimator(value, path)}

    def _path(self, value: PurePath, path: str) -> Node:
        return {"kind": "path", "value": value.as_posix()}

    def _object(self, value: Any, path: str) -> Node:
        """Encode an object of the table of classes."""
        name = class_name(type(value))
        if name not in OBJECTS and name not in RECORDS:
            raise TypeError(_unknown(value, path))
        if hasattr(value, "_to_file"):
            state = value._to_file()
        elif is_dataclass(value):
            state = {field.name: getattr(value, field.name) for field in fields(value)}
        else:
            state = vars(value)
        state = {key: self._here(part) for key, part in state.items()}
        if name in OBJECTS:
            check_state(name, state, OBJECTS[name])
        return {"kind": "object", "class": name, "state": {k: self.encode(v, f"{path}.{k}") for k, v in state.items()}}

    def _new_name(self, path: str) -> str:
        name, count = path, 1
        while name in self.tensors:
            count += 1
            name = f"{path}.{count}"
        return name


def has_room(width: int, cells: list[str]) -> bool:
    """Whether an array of text of this width is about as large as its entries: a small file makes no large array."""
    return TEXT_BYTES * width * len(cells) <= max(1 << 20, 1000 * sum(map(len, cells)))


def _is_column_major(value: np.ndarray) -> bool:
    """Whether rows are nearer to each other than columns; BLAS may round otherwise in the other order."""
    if value.flags.c_contiguous:
        return False
    return bool(value.flags.f_contiguous) or abs(value.strides[0]) < abs(value.strides[-1])


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _unknown(value: Any, path: str) -> str:
    if callable(value) and not isinstance(value, BaseEstimator):
        return f"{path} is the function {value!r}, and a model file holds no code: use a named one."
    return f"{path} is a {class_name(type(value))}, which a model file cannot hold."


def _is_table(value: Any) -> bool:
    return type(value).__name__ == "DataFrame" and type(value).__module__.partition(".")[0] == "pandas"


def _is(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


_ENCODERS: tuple[tuple[Callable[[Any], bool], Callable[[Encoder, Any, str], Node]], ...] = (
    (_is(tuple), Encoder._tuple),
    (sp.issparse, Encoder._sparse),  # before dicts, since some sparse matrices are dicts
    (_is(Mapping), Encoder._dict),
    (_is(set, frozenset), Encoder._set),
    (_is(np.generic), Encoder._scalar),
    (_is(np.ndarray), Encoder._array),
    (_is_table, Encoder._table),
    (_is(np.random.RandomState), Encoder._random_state),
    (_is(np.random.Generator), Encoder._generator),
    (_is(KMeans), Encoder._kmeans),
    (_is(KNeighborsClassifier), Encoder._classifier),
    (_is(NearestNeighbors), Encoder._neighbours),
    (_is(BaseEstimator), Encoder._nested),
    (_is(PurePath), Encoder._path),
)
