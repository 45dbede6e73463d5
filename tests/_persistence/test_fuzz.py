"""Thousands of damaged and forged files: a ModelFileError, or a model that works; never anything else."""

import json
import warnings
from contextlib import suppress
from copy import deepcopy
from functools import cache

import numpy as np
import pytest

from _persistence.examples import CASES, described, fitted
from _persistence.forge import at, contents, joined, nodes, packed, split
from laminar._persistence.errors import ModelFileError
from laminar._persistence.model_file import load, read_header, save_model

# Small models that hold all kinds of state between them.
NAMES = (
    "NMF",
    "NMF init model",
    "GNMF matrix",
    "SemiNMF offset",
    "ClassDrivenNMF words",
    "ConceptFactorization rbf",
    "DeepSemiNMF stanh",
    "DeepWSF words",
    "MultiNMF names",
    "MultiViewSemiNMF names",
    "MultiViewDeepNMF all",
    "AttributeLayers names",
    "SlowFeatureAnalysis",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@cache
def original(name, folder):
    """Bytes, parts and results of a file, and the parts of it in JSON."""
    path, model = folder / "original", fitted(name)
    described_too = {"data": described(), "run": {"seconds": 1.5}} if name == "NMF" else {}
    save_model(model, path, **described_too)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return path.read_bytes(), contents(path), model.transform(CASES[name][2])


def check_sentence(error, path):
    assert str(error).startswith(str(path))
    assert "\n" not in str(error)


# -------------------------------------------------------------------------------------------- bytes, checksum as it is


def flip(data, rng):
    place = rng.integers(len(data))
    return data[:place] + bytes([data[place] ^ (1 << rng.integers(8))]) + data[place + 1 :]


def overwrite(data, rng):
    place, count = rng.integers(len(data)), rng.integers(1, 40)
    return data[:place] + rng.bytes(count) + data[place + count :]


def insert(data, rng):
    place = rng.integers(len(data))
    return data[:place] + rng.bytes(rng.integers(1, 20)) + data[place:]


def delete(data, rng):
    place = rng.integers(len(data))
    return data[:place] + data[place + rng.integers(1, 20) :]


def truncate(data, rng):
    return data[: rng.integers(len(data))]


def splice(data, rng):
    a, b = np.sort(rng.integers(len(data), size=2))
    place = rng.integers(len(data))
    return data[:place] + data[a:b] + data[place:]


def digits(data, rng):
    """Another number in the header: a size, an offset, a version."""
    places = [i for i in range(8, min(len(data), 8 + int.from_bytes(data[:8], "little"))) if 48 <= data[i] < 58]
    place = places[rng.integers(len(places))]
    return data[:place] + bytes([48 + rng.integers(10)]) + data[place + 1 :]


def swap_entries(data, rng):
    """Two tensors in the place of each other."""
    header, body = split(data)
    names = [name for name in header if name != "__metadata__"]
    a, b = rng.choice(names, 2)
    key = ("shape", "dtype", "data_offsets", None)[rng.integers(4)]
    if key is None:
        header[a], header[b] = header[b], header[a]
    else:
        header[a][key], header[b][key] = header[b][key], header[a][key]
    return joined(json.dumps(header), body)


BYTES = (flip, overwrite, insert, delete, truncate, splice, digits, swap_entries)


def check_bytes(name, folder, rng):
    """A damaged file is refused, or it is the same model: spaces in the header do not matter."""
    data, _, expected = original(name, folder)
    damaged = BYTES[rng.integers(len(BYTES))](data, rng)
    path = folder / "damaged"
    path.write_bytes(damaged)
    try:
        model = load(path)
    except ModelFileError as error:
        check_sentence(error, path)
    else:
        assert np.array_equal(model.transform(CASES[name][2]), expected)
    with suppress(ModelFileError):
        read_header(path)


# --------------------------------------------------------------------------------------- contents, checksum made to fit

VALUES = [None, True, False, 0, 1, -1, 3, 10**6, 2**70, 0.5, -1e300, "", "x", "all", "laminar.nmf.nmf.NMF", [], [1], {}]
KINDS = ["tuple", "dict", "pairs", "array", "text", "objects", "sparse", "scalar", "object", "estimator", "k-means"]


def replace_value(parts, arrays, rng):
    part, path = some_place(parts, rng)
    at(part, path[:-1])[path[-1]] = deepcopy(VALUES[rng.integers(len(VALUES))])


def move_value(parts, arrays, rng):
    """A part of the tree in another place."""
    part, path = some_place(parts, rng)
    other, source = some_place(parts, rng)
    at(part, path[:-1])[path[-1]] = deepcopy(at(other, source))


def drop_value(parts, arrays, rng):
    part, path = some_place(parts, rng)
    del at(part, path[:-1])[path[-1]]


def other_kind(parts, arrays, rng):
    part, path = some_place(parts, rng, lambda path: path[-1] == "kind")
    at(part, path[:-1])["kind"] = KINDS[rng.integers(len(KINDS))]


def other_tensor(parts, arrays, rng):
    part, path = some_place(parts, rng, lambda path: path[-1] == "tensor")
    at(part, path[:-1])["tensor"] = list(arrays)[rng.integers(len(arrays))]


def other_array(parts, arrays, rng):
    """An array of another shape, type or content."""
    name = list(arrays)[rng.integers(len(arrays))]
    changes = (
        lambda A: A.T.copy(),
        lambda A: A[:-1],
        lambda A: A[..., :-1] if A.ndim else A,
        lambda A: A.astype(np.float32),
        lambda A: A.astype(np.int8),
        lambda A: A[None],
        lambda A: A[:0] if A.ndim else A,
        lambda A: -A if A.dtype != bool else A,
        lambda A: A * 0,
        lambda A: np.repeat(A, 2, axis=0) if A.ndim else A,
        lambda A: A + A.dtype.type(100) if A.dtype != bool else A,
    )
    with np.errstate(all="ignore"):
        arrays[name] = np.ascontiguousarray(changes[rng.integers(len(changes))](arrays[name]))


def some_place(parts, rng, condition=lambda path: True):
    names = [name for name in ("parameters", "state", "state", "data", "run") if isinstance(parts.get(name), dict)]
    part = parts[names[rng.integers(len(names))]]
    places = [path for path in nodes(part) if condition(path)] or list(nodes(part))
    return part, places[rng.integers(len(places))]


CONTENTS = (replace_value, replace_value, move_value, drop_value, other_kind, other_tensor, other_array, other_array)


def check_contents(name, folder, rng):
    """A forged file is refused, or gives a model whose methods work or raise a ValueError."""
    _, (parts, arrays), _ = original(name, folder)
    parts, arrays = deepcopy(parts), dict(arrays)
    for _ in range(rng.integers(1, 3)):
        try:
            CONTENTS[rng.integers(len(CONTENTS))](parts, arrays, rng)
        except (KeyError, IndexError, TypeError, OverflowError):  # a place that the change before took away
            break
    path = folder / "forged"
    path.write_bytes(packed(parts, arrays))
    assert read_header(path).checksum_ok
    try:
        model = load(path)
    except ModelFileError as error:
        check_sentence(error, path)
        return False
    for method in ("transform", "predict"):
        with suppress(ValueError):
            getattr(model, method, len)(CASES[name][2])
    return True


def run(check, folder, count, seed):
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [check(NAMES[i % len(NAMES)], folder, rng) for i in range(count)]


def test_damaged_files_are_refused(folder):
    run(check_bytes, folder, 250, seed=0)


def test_forged_files_are_refused_or_work(folder):
    worked = run(check_contents, folder, 250, seed=1)
    assert 10 < sum(worked) < 240  # both outcomes are tried


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_many_damaged_files_are_refused(folder, seed):
    run(check_bytes, folder, 1500, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 12))
def test_many_forged_files_are_refused_or_work(folder, seed):
    run(check_contents, folder, 1500, seed)
