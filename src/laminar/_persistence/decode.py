"""From a tree of JSON and tensors back to objects; whatever `encode` does not write is a ValueError."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from .classes import OBJECTS, RECORDS
from .encode import Node, has_room
from .estimators import ESTIMATORS, fitted_kinds
from .kinds import COUNT, INTEGERS, LABELS, MATRIX, SIZE, Kind, check_state
from .model_checks import check_model
from .safetensors_file import TYPES
from .strict_json import parse

_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


class Decoder:
    """Builds the values of nodes; ``unused`` are the tensors that no node has named so far."""

    def __init__(self, tensors: Mapping[str, np.ndarray]) -> None:
        self._tensors, self.unused = dict(tensors), set(tensors)
        self._columns: dict[str, np.ndarray] = {}

    def decode(self, node: Node) -> Any:
        """Return the value of a node."""
        if node is None or type(node) in (bool, int, float, str):
            return node
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        kind = node.get("kind") if isinstance(node, dict) else None
        if not isinstance(kind, str) or kind not in _DECODERS:
            raise ValueError(f"a value of kind {str(kind)[:40]!r} is unknown")
        keys, decode = _DECODERS[kind]
        optional = {key.rstrip("?") for key in keys if key.endswith("?")}
        found = set(node) - {"kind"}
        if not set(keys) - {f"{key}?" for key in optional} <= found <= {key.rstrip("?") for key in keys}:
            raise ValueError(f"a value of kind {kind!r} has {sorted(found)}")
        return decode(self, node)

    def estimator(self, node: Node) -> Any:
        """Return an estimator with its parameters, which it validates, and its fitted attributes, which are checked."""
        name = node["class"]
        if not isinstance(name, str) or name not in ESTIMATORS:
            raise ValueError(f"the class {str(name)[:200]!r} is not one that a model file may hold")
        cls, parameters = resolve(name), {key: self.decode(value) for key, value in _map(node["parameters"]).items()}
        unknown = sorted(set(parameters) - set(inspect.signature(cls).parameters))
        if unknown:
            raise ValueError(f"{cls.__name__} has no parameter {unknown[0]!r}")
        model = cls(**parameters)
        model._validate_params()
        state = {key: self.decode(value) for key, value in _map(node["state"]).items()}
        check_state(name, state, fitted_kinds(name))
        for attribute, value in state.items():
            setattr(model, attribute, value)
        check_model(model)
        return model

    # ---- one kind each -------------------------------------------------------------------------------------------

    def _float(self, node: Node) -> float:
        return {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[_text(node["value"])]

    def _tuple(self, node: Node) -> tuple:
        return tuple(self.decode(item) for item in _list(node["items"]))

    def _dict(self, node: Node) -> dict:
        return {key: self.decode(item) for key, item in _map(node["items"]).items()}

    def _pairs(self, node: Node) -> dict:
        pairs = [(self.decode(key), self.decode(item)) for key, item in _list(node["items"])]
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a key is there twice")
        return found

    def _set(self, node: Node) -> set | frozenset:
        return {"set": set, "frozenset": frozenset}[node["kind"]](self._tuple(node))

    def _scalar(self, node: Node) -> Any:
        if node["dtype"] == "str":
            return np.str_(_text(node["value"]))
        value = self.decode(node["value"])
        if node["dtype"] not in TYPES.values() or type(value) not in (bool, int, float):
            raise ValueError(f"a number of type {str(node['dtype'])[:40]!r} is unknown")
        return np.dtype(node["dtype"]).type(value)

    def _tensor(self, name: Node) -> np.ndarray:
        if not isinstance(name, str) or name not in self._tensors:
            raise ValueError(f"the array {str(name)[:80]!r} is missing")
        self.unused.discard(name)
        return self._tensors[name]

    def _array(self, node: Node) -> np.ndarray:
        array = self._tensor(node["tensor"])
        if "order" not in node:
            return array
        if node["order"] != "F":
            raise ValueError(f"the order {str(node['order'])[:40]!r} is unknown")
        return self._columns.setdefault(node["tensor"], np.asfortranarray(array))

    def _text(self, node: Node) -> np.ndarray:
        cells, width = self._cells(node), node["width"]
        if not COUNT.holds(width) or not all(isinstance(cell, str) for cell in cells):
            raise ValueError("an array of text is not valid")
        if not has_room(width, cells):
            raise ValueError(f"an array of text has room for {width} characters an entry, which none needs")
        return np.array(cells, dtype=f"<U{width}").reshape(node["shape"])

    def _objects(self, node: Node) -> np.ndarray:
        cells = self._cells(node)
        if not all(cell is None or isinstance(cell, str | bool | int | float | np.generic) for cell in cells):
            raise ValueError("an array has entries that are neither numbers nor text")
        found = np.empty(len(cells), dtype=object)
        found[:] = cells
        return found.reshape(node["shape"])

    def _cells(self, node: Node) -> list:
        if ("items" in node) == ("tensor" in node):
            raise ValueError("an array of text has no entries")
        nodes = node["items"] if "items" in node else parse(self._tensor(node["tensor"]).tobytes().decode("utf-8"))
        shape = _list(node["shape"])
        if not all(map(COUNT.holds, shape)) or len(shape) > 32 or prod(shape) != len(_list(nodes)):
            raise ValueError(f"an array of text of shape {str(shape)[:80]} has {len(nodes)} entries")
        return [self.decode(cell) for cell in nodes]

    def _sparse(self, node: Node) -> Any:
        forms = {
            ("csr", True): sp.csr_array,
            ("csc", True): sp.csc_array,
            ("csr", False): sp.csr_matrix,
            ("csc", False): sp.csc_matrix,
        }
        parts = tuple(self._array(_map(node[part])) for part in ("data", "indices", "indptr"))
        if any(part.ndim != 1 for part in parts) or any(part.dtype.kind not in "iu" for part in parts[1:]):
            raise ValueError("a sparse matrix is not valid")
        rows, columns = node["shape"]
        n = rows if node["format"] == "csr" else columns
        if not COUNT.holds(rows) or not COUNT.holds(columns) or len(parts[2]) != n + 1:
            raise ValueError(f"a sparse matrix has no shape {str(node['shape'])[:80]}")
        matrix = forms[node["format"], node["array"]](parts, shape=(rows, columns))
        matrix.check_format(full_check=True)
        return matrix

    def _table(self, node: Node) -> Any:
        from pandas import DataFrame, Series

        index, columns = self.decode(node["index"]), [self.decode(name) for name in _list(node["columns"])]
        cells = [self.decode(column) for column in _list(node["cells"])]
        arrays = [index, *cells]
        if len(columns) != len(cells) or any(not LABELS.holds(array) or len(array) != len(index) for array in arrays):
            raise ValueError("a table is not valid")
        found = DataFrame({j: Series(column, index=index) for j, column in enumerate(cells)}, index=index)
        found.columns = columns
        found.index.name = self.decode(node["index_name"])
        return found

    def _random_state(self, node: Node) -> np.random.RandomState:
        keys, (position, has_gauss, cached) = self._array(_map(node["keys"])), node["numbers"]
        if keys.shape != (624,) or keys.dtype != np.uint32 or not 0 <= position <= 624 or has_gauss not in (0, 1):
            raise ValueError("the state of a random generator is not valid")
        found = np.random.RandomState()
        found.set_state(("MT19937", keys, position, has_gauss, float(cached)))
        return found

    def _generator(self, node: Node) -> np.random.Generator:
        state = self.decode(node["state"])
        if not isinstance(state, dict) or state.get("bit_generator") not in _GENERATORS:
            raise ValueError("the state of a random generator is not valid")
        bits = getattr(np.random, state["bit_generator"])()
        bits.state = state
        return np.random.Generator(bits)

    def _kmeans(self, node: Node) -> KMeans:
        kinds = {"n_init": SIZE, "random_state": COUNT, "centres": MATRIX}
        state = self._checked("KMeans", node, kinds)
        centres = state["centres"]
        model = KMeans(len(centres), n_init=state["n_init"], random_state=state["random_state"])
        model.cluster_centers_, model._n_features_out = np.ascontiguousarray(centres), len(centres)
        model.n_features_in_, model._n_threads = centres.shape[1], 1
        return model

    def _classifier(self, node: Node) -> KNeighborsClassifier:
        kinds = {"n_neighbors": SIZE, "points": MATRIX, "labels": INTEGERS}
        state = self._checked("KNeighborsClassifier", node, kinds)
        return KNeighborsClassifier(state["n_neighbors"]).fit(state["points"], state["labels"])

    def _neighbours(self, node: Node) -> NearestNeighbors:
        state = self._checked("NearestNeighbors", node, {"n_neighbors": SIZE, "points": MATRIX})
        if state["n_neighbors"] > len(state["points"]):
            raise ValueError("there are more neighbours than points")
        return NearestNeighbors(n_neighbors=state["n_neighbors"]).fit(state["points"])

    def _path(self, node: Node) -> Path:
        return Path(_text(node["value"]))

    def _object(self, node: Node) -> Any:
        name = node["class"]
        if not isinstance(name, str) or (name not in OBJECTS and name not in RECORDS):
            raise ValueError(f"the class {str(name)[:200]!r} is not one that a model file may hold")
        cls: Any = resolve(name)
        if name in RECORDS:
            return cls(**{key: self.decode(value) for key, value in _map(node["state"]).items()})
        state = self._checked(name, node, OBJECTS[name])
        if hasattr(cls, "_from_file"):
            return cls._from_file(**state)
        if is_dataclass(cls):
            return _made(cls, state)
        found = cls.__new__(cls)
        vars(found).update(state)
        return found

    def _checked(self, name: str, node: Node, kinds: dict[str, Kind]) -> dict[str, Any]:
        state = {key: self.decode(value) for key, value in _map(node["state"]).items()}
        check_state(name, state, kinds)
        return state


def resolve(name: str) -> Any:
    """Return the class of a name of the tables; the module is imported."""
    if name not in ESTIMATORS and name not in OBJECTS and name not in RECORDS:
        raise ValueError(f"the class {name[:200]!r} is not one that a model file may hold")
    module, _, short = name.rpartition(".")
    return getattr(import_module(module), short)


def _made(cls: Any, state: dict[str, Any]) -> Any:
    """Return a dataclass made by its constructor; fields that are no arguments of it are set after."""
    arguments = {field.name for field in fields(cls) if field.init}
    found = cls(**{name: value for name, value in state.items() if name in arguments})
    for name in set(state) - arguments:
        object.__setattr__(found, name, state[name])
    return found


def _map(node: Node) -> dict[str, Node]:
    if not isinstance(node, dict):
        raise ValueError("a part is no map")
    return node


def _list(node: Node) -> list[Node]:
    if not isinstance(node, list):
        raise ValueError("a part is no list")
    return node


def _text(node: Node) -> str:
    if not isinstance(node, str):
        raise ValueError("a part is no text")
    return node


_DECODERS: dict[str, tuple[tuple[str, ...], Callable[[Decoder, Node], Any]]] = {
    "float": (("value",), Decoder._float),
    "tuple": (("items",), Decoder._tuple),
    "dict": (("items",), Decoder._dict),
    "pairs": (("items",), Decoder._pairs),
    "set": (("items",), Decoder._set),
    "frozenset": (("items",), Decoder._set),
    "scalar": (("dtype", "value"), Decoder._scalar),
    "array": (("tensor", "order?"), Decoder._array),
    "text": (("shape", "width", "items?", "tensor?"), Decoder._text),
    "objects": (("shape", "items?", "tensor?"), Decoder._objects),
    "sparse": (("format", "array", "shape", "data", "indices", "indptr"), Decoder._sparse),
    "table": (("columns", "index", "index_name", "cells"), Decoder._table),
    "random state": (("keys", "numbers"), Decoder._random_state),
    "generator": (("state",), Decoder._generator),
    "k-means": (("state",), Decoder._kmeans),
    "neighbour classifier": (("state",), Decoder._classifier),
    "neighbours": (("state",), Decoder._neighbours),
    "estimator": (("class", "parameters", "state"), Decoder.estimator),
    "path": (("value",), Decoder._path),
    "object": (("class", "state"), Decoder._object),
}
"""Kind of a node: its keys, and what builds its value."""
