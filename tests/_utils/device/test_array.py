"""`DeviceArray`: numpy's operations on a device, results where they belong, and nothing else."""

import numpy as np
import pytest

from laminar._utils import tall
from laminar._utils.device.array import DeviceArray
from laminar._utils.device.namespaces import Device, is_tensor
from tensors import DEVICES, tensor, to_numpy

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(6, 3)), RNG.random((6, 3)).astype(np.float32)
ROW, MATRIX, COLUMN = RNG.random(3), RNG.random((3, 2)), RNG.random(6)


def on_device(X, kind):
    X = tensor(X, kind)
    return DeviceArray(X, Device.of(X))


def value(X):
    return X.to_host() if isinstance(X, DeviceArray) else X


TALL = {
    "sum": lambda a, b: a + b,
    "row": lambda a, b: 2 * a - ROW,
    "single stays single": lambda a, b: b * 2.0 + 1,
    "double scalar": lambda a, b: b * np.float64(2),
    "comparison": lambda a, b: (a > 0) & (b < 0.5) | ~(a == b),
    "memberships": lambda a, b: 0.2 + (np.arange(3) == a.argmax(1)[:, None]),
    "maximum": lambda a, b: np.maximum(a, 0) + np.minimum(0, b),
    "square in double": lambda a, b: np.square(b, dtype=np.float64),
    "where": lambda a, b: np.where(a > 0, a, 0),
    "matrix": lambda a, b: a @ MATRIX,
    "vector": lambda a, b: a @ ROW,
    "columns": lambda a, b: a[:, [2, 0]] if isinstance(a, np.ndarray) else a[:, np.array([2, 0])],
    "slice": lambda a, b: a[1:4][:, :2],
    "strided": lambda a, b: a[1::2],
    "mask": lambda a, b: a[a[:, 0] > 0],
    "mask and axis": lambda a, b: a[:, 0][a[:, 0] > 0, None],
    "rows": lambda a, b: a[np.array([4, 1])],
    "row sums": lambda a, b: a.sum(1) + b.max(1) - a.min(1, keepdims=True)[:, 0],
    "lengths": lambda a, b: np.linalg.norm(a, axis=1, keepdims=True),
    "side by side": lambda a, b: np.hstack([a, b, np.ones_like(a[:, :1])]),
    "split": lambda a, b: np.split(a, [1], axis=1)[1],
    "zeros": lambda a, b: np.zeros_like(b, dtype=np.float64),
    "type": lambda a, b: b.astype(np.float64),
    "root": lambda a, b: np.sqrt(np.abs(a)) ** 3.0,
    "rows of a table": lambda a, b: tall.rows_of(MATRIX, a.argmax(1) - 1),
}

HOST = {
    "Gram": lambda a, b: a.T @ b,
    "weights": lambda a, b: a[:, 0] @ b,
    "all": lambda a, b: [a.sum(), b.min(), a.max(), a.mean(), (a > 5).any(), (b >= 0).all()],
    "columns": lambda a, b: [a.sum(0), b.sum(0, dtype=np.float64), a.min(0), a.max(0, initial=9.0), b.mean(0)],
    "counts": lambda a, b: (a > 0).sum(0),
    "arg": lambda a, b: a[np.abs(a).argmax(axis=0), np.arange(3)],
    "einsum": lambda a, b: np.einsum("ij,ij->j", a, b, dtype=np.float64),
    "vdot": lambda a, b: np.vdot(a, b),
    "norm": lambda a, b: np.linalg.norm(a),
    "one row": lambda a, b: a[2],
    "indices": lambda a, b: np.flatnonzero(a[:, 0] > 0),
    "none": lambda a, b: a[a[:, 0] > 100].max(0, initial=-np.inf),
}


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("name", TALL)
def test_what_has_rows_stays(name, kind):
    expected, found = TALL[name](A, B), TALL[name](on_device(A, kind), on_device(B, kind))
    assert isinstance(found, DeviceArray)
    assert found.dtype == expected.dtype
    assert np.allclose(found.to_host(), expected)


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("name", HOST)
def test_sums_over_samples_come_back(name, kind):
    expected, found = HOST[name](A, B), HOST[name](on_device(A, kind), on_device(B, kind))
    for x, y in (
        zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True)
        if name != "columns"
        else zip(found, expected, strict=True)
    ):
        assert isinstance(x, np.ndarray | np.generic)
        assert np.allclose(x, y)


@pytest.mark.parametrize("kind", DEVICES)
def test_assignment(kind):
    F, expected = on_device(A.copy(), kind), A.copy()
    for X in (F, expected):
        X[1:3] = 0
        X[4] = ROW
        X[:, :1] = 2.0
        X[:, np.array([False, False, True])] = COLUMN[:, None]
        X *= 2
        np.maximum(X, 1, out=X)
        np.divide(X, 2, out=X, where=X > 2)
    assert np.allclose(F.to_host(), expected)


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize(
    "operation",
    [
        np.asarray,
        np.array,
        np.cumsum,
        np.arctan,
        lambda F: np.add(np.zeros((6, 3)), F, out=np.zeros((6, 3))),
        lambda F: np.zeros((3, 6)) @ F.T,
        lambda F: np.maximum.accumulate(F),
    ],
)
def test_other_operations_are_errors(operation, kind):
    with pytest.raises(TypeError):
        operation(on_device(A, kind))


@pytest.mark.parametrize("kind", DEVICES)
def test_place(kind):
    place = on_device(A, kind).workers
    drawn = tall.drawn((6, 2), np.float32, lambda b: np.full((b.stop - b.start, 2), 3.0), place)
    assert drawn.dtype == np.float32
    assert (drawn.to_host() == 3).all()
    assert (tall.zeros((6, 2), np.float64, place).to_host() == 0).all()
    assert tall.placed(A, drawn).shape == A.shape
    copied = tall.copy(drawn)
    copied[:] = 0
    assert (drawn.to_host() == 3).all()


@pytest.mark.parametrize("kind", DEVICES)
def test_rows_are_cut_into_few_slices_at_tiles(kind):
    place = on_device(np.zeros((100_000, 1), np.float32), kind).workers
    slices = place.blocks(256).slices
    assert [b.start % 192 for b in slices] == [0] * len(slices)
    assert sum(b.stop - b.start for b in slices) == 100_000
    assert place.blocks(None).slices == [slice(0, 100_000)]


@pytest.mark.parametrize("kind", DEVICES)
def test_single_precision_where_a_device_has_no_other(kind, monkeypatch):
    monkeypatch.setattr(Device, "double", np.dtype(np.float32))
    F = on_device(B, kind)
    assert F.astype(np.float64).dtype == np.float32
    assert F.sum(0, dtype=np.float64).dtype == np.float32
    assert (F @ MATRIX).dtype == np.float32


def test_tensors_are_told_from_other_arrays():
    assert not any(map(is_tensor, [A, [[1.0]], None, "torch", np.float64(1)]))
    assert is_tensor(tensor(A, "strict device"))
    assert Device.of(A) is None


def test_half_precision_becomes_single():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assert to_numpy(torch.tensor(A).to(torch.bfloat16)).dtype == np.float32
