"""Kernels as array operations are the compiled ones."""

import numpy as np
import pytest

from laminar._engine.linalg import by_place, elementwise, kernels
from laminar._utils.device.array import DeviceArray
from laminar._utils.device.namespaces import Device
from tensors import DEVICES, tensor

RNG = np.random.default_rng(0)
N, K = 400, 10  # several tiles, and more components than are updated together
M = RNG.normal(size=(K + 5, K))
B = RNG.normal(size=(N, K)) @ M.T @ M + RNG.normal(size=(N, K))
H, CODES = RNG.random((N, K)), RNG.integers(-1, 4, N)


def on_device(X, kind):
    X = tensor(np.asarray(X), kind)
    return DeviceArray(X, Device.of(X))


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ridge", [False, True])
@pytest.mark.parametrize(("sweeps", "inner_tol"), [(1, 0.0), (20, 0.15)])
def test_hals(sweeps, inner_tol, ridge, dtype, kind):
    here, G, linear = H.astype(dtype), (M.T @ M).astype(dtype), B.astype(dtype)
    there = on_device(here.copy(), kind)
    r, c = RNG.random(N).astype(dtype), RNG.random(K).astype(dtype)
    kernels.hals(here, linear, G, sweeps, inner_tol, *((r, c) if ridge else ()))
    more = (on_device(r, kind), c) if ridge else ()
    by_place.hals(there, on_device(linear, kind), kernels.padded(G), sweeps, inner_tol, *more)
    assert np.abs(there.to_host() - here).max() < (1e-3 if dtype == np.float32 else 1e-10)


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("n", [1, 5, 97])
def test_hals_of_few_rows(n, kind):
    here, there = H[:n].copy(), on_device(H[:n].copy(), kind)
    kernels.hals(here, B[:n].copy(), M.T @ M, 5, 0.1)
    by_place.hals(there, on_device(B[:n].copy(), kind), M.T @ M, 5, 0.1)
    assert np.allclose(there.to_host(), here)


@pytest.mark.parametrize("kind", DEVICES)
def test_component_without_curvature_stays(kind):
    there, G = on_device(H.copy(), kind), M.T @ M
    G[2] = G[:, 2] = 0
    by_place.hals(there, on_device(B, kind), G, 2, 0.0)
    assert np.array_equal(there.to_host()[:, 2], H[:, 2])


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("eta", [1.0, 0.5, 0.3])
def test_multiply(eta, kind):
    plus, minus, here = RNG.random((N, K)), RNG.random((N, K)), H.copy()
    there = on_device(H.copy(), kind)
    elementwise.multiply(here, plus, minus, eta)
    by_place.multiply(there, on_device(plus, kind), on_device(minus, kind), eta)
    assert np.allclose(there.to_host(), here)


@pytest.mark.parametrize("kind", DEVICES)
def test_by_sign(kind):
    both = RNG.random((N, 2 * K))
    found = by_place.by_sign(on_device(both, kind), on_device(B, kind))
    for ours, theirs in zip(elementwise.by_sign(both, B), found, strict=True):
        assert np.allclose(theirs.to_host(), ours)


@pytest.mark.parametrize("kind", DEVICES)
def test_class_sums_and_rest(kind):
    sums, loops = elementwise.class_sums(CODES, H), RNG.random(N)
    there = on_device(CODES, kind)
    assert np.allclose(by_place.class_sums(there, on_device(H, kind)), sums)
    rest = by_place.class_rest(there, sums, on_device(loops, kind), on_device(H, kind))
    assert np.allclose(rest.to_host(), elementwise.class_rest(CODES, sums, loops, H))
