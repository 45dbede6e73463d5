"""Fits on tensors of PyTorch against overcomplete and torchnmf, to equal error.

    python -m benchmarks.accelerators                 # 20 000 x 768, k = 50, float32, on the processor
    python -m benchmarks.accelerators --device cuda

The opponent makes a fixed number of iterations on a tensor; ours stops at the first iteration whose error is no larger
than the opponent's last one. Both take turns, and the median of the ratios of times is reported. The last rows are the
same fit of ours with its arrays treated as those of a device, by operations of PyTorch, against compiled kernels on
views of the tensors: why tensors in memory are not treated so.

overcomplete needs torchvision for models of images, which are not used here, and that would install another build of
torch: ``pip install --no-deps overcomplete`` beside the extra ``bench`` is enough.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

import laminar
from benchmarks.harness import Race, median_ratio, seconds, spread
from laminar._utils.device.namespaces import Device

K = 50


def activations(n: int, p: int, device: str, *, signed: bool) -> torch.Tensor:
    """Sparse codes on 60 directions, with noise: of mixed sign and centred, or their positive part."""
    rng = np.random.default_rng(0)
    codes = rng.gamma(0.5, size=(n, 60)) * (rng.random((n, 60)) < 0.3)
    X = codes @ rng.normal(size=(60, p)) + 0.3 * rng.normal(size=(n, p))
    X = X - X.mean(0) if signed else np.maximum(X, 0)
    return torch.tensor(X.astype(np.float32), device=device)


def overcomplete(name: str, X: torch.Tensor, n_iter: int, **settings: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """A model of overcomplete, without the package's own ``__init__``, which imports torchvision."""
    if "overcomplete" not in sys.modules:
        package, spec = ModuleType("overcomplete"), find_spec("overcomplete")
        assert spec is not None
        package.__path__ = list(spec.submodule_search_locations or ())
        sys.modules["overcomplete"] = package
    from overcomplete.optimization.nmf import NMF
    from overcomplete.optimization.semi_nmf import SemiNMF

    torch.manual_seed(0)
    kind = {"NMF": NMF, "SemiNMF": SemiNMF}[name]
    return kind(K, device=str(X.device), tol=0.0, **settings).fit(X, max_iter=n_iter)


def torchnmf(X: torch.Tensor, n_iter: int) -> tuple[torch.Tensor, torch.Tensor]:
    """NMF of torchnmf: multiplicative updates."""
    from torchnmf.nmf import NMF

    torch.manual_seed(0)
    model = NMF(tuple(X.shape), rank=K).to(X.device)
    model.fit(X, beta=2, tol=-1, max_iter=n_iter)
    return model.H.detach(), model.W.detach().T


def error(X: torch.Tensor, H: torch.Tensor, Z: torch.Tensor) -> float:
    """``||X - H Z||``."""
    return float(torch.linalg.norm(X - H.to(X.dtype) @ Z.to(X.dtype)))


def race(model: Any, X: torch.Tensor, goal: float) -> Race:
    """Fit until the error is that of the goal; the objective is at least half of its square."""
    reached = np.inf

    def stop(state) -> bool:
        nonlocal reached
        if np.sqrt(2 * state.objective) > goal:
            return False
        reached = state.seconds  # since the start of the fit
        return True

    whole, _ = seconds(lambda: model.set_params(callback=stop, tol=0.0).fit(X))
    return Race(reached, whole)


def compare(name: str, theirs: Callable, ours: Any, X: torch.Tensor, repeats: int) -> None:
    """Print a row: the median ratio of their time to ours, and the errors."""
    pairs = []
    for _ in range(repeats):
        spent, found = seconds(theirs)
        goal = error(X, *found)
        pairs.append((spent, race(ours, X, goal)))
    left = goal / float(torch.linalg.norm(X))
    theirs_median = np.median([spent for spent, _ in pairs])
    print(
        f"{name:42} {median_ratio(pairs):6.2f} x  theirs {theirs_median:.2f} s to {left:.4f} of ||X||; {spread(pairs)}",
        flush=True,
    )


def as_device(model: Any, X: torch.Tensor, repeats: int) -> None:
    """Print how much longer a fit takes by operations of PyTorch than by kernels on views of its tensors."""
    ratios = []
    for _ in range(repeats):
        with patch.object(Device, "is_memory", property(lambda self: False)):
            there, _ = seconds(lambda: model.fit(X))
        ratios.append(there / seconds(lambda: model.fit(X))[0])
    name = f"{type(model).__name__} by operations of PyTorch"
    print(f"{name:42} {np.median(ratios):6.2f} x the time by kernels on views, {min(ratios):.3g} .. {max(ratios):.3g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=768)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    shape = given.rows, given.columns
    mixed = activations(*shape, given.device, signed=True)
    positive = activations(*shape, given.device, signed=False)
    semi, nmf = (kind(K, random_state=0) for kind in (laminar.SemiNMF, laminar.NMF))
    few = [kind(K, random_state=0, max_iter=5, tol=0.0) for kind in (laminar.SemiNMF, laminar.NMF)]
    for model, X in zip(few, (mixed, positive), strict=True):
        model.fit(X[:4000])  # kernels are compiled before anything is timed
    print(f"{shape[0]} x {shape[1]}, k = {K}, float32, {given.device}")
    rows = [
        ("SemiNMF / overcomplete, 200 it.", lambda: overcomplete("SemiNMF", mixed, 200), semi, mixed),
        ("NMF / overcomplete hals, 20 it.", lambda: overcomplete("NMF", positive, 20), nmf, positive),
        ("NMF / overcomplete mu, 50 it.", lambda: overcomplete("NMF", positive, 50, solver="mu"), nmf, positive),
        ("NMF / torchnmf, 50 it.", lambda: torchnmf(positive, 50), nmf, positive),
    ]
    for name, theirs, ours, X in rows:
        compare(name, theirs, ours, X, given.repeats)
    if given.device == "cpu":
        for model, X in zip(few, (mixed, positive), strict=True):
            as_device(model, X, given.repeats)


if __name__ == "__main__":
    main()
