"""Numbers of every estimator in its main modes, to see whether a change of form changed a result.

    python -m benchmarks.frozen record numbers.npz     # before
    python -m benchmarks.frozen compare numbers.npz    # after, on the same machine

Recorded are the objective of every iteration, the number of iterations, components, codes of all layers, codes and
clusters of new samples; of published rules the iterates after one, two and five iterations. Only public names are
used, so that two versions with different insides can be compared.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

import laminar as lm
from laminar.graphs import KNN, Chain, Labels

N, P, K = 90, 24, 5
rng = np.random.default_rng(0)
H0, Z0 = rng.gamma(0.6, size=(N, K)), rng.gamma(0.6, size=(K, P))
POSITIVE = H0 @ Z0 + 0.1 * rng.gamma(1.0, size=(N, P))
MIXED = H0 @ rng.normal(size=(K, P)) + 0.3 * rng.normal(size=(N, P))
CENTRED = POSITIVE - POSITIVE.mean(0)
COUNTS = rng.poisson(3 * POSITIVE).astype(float)
SPARSE = sp.csr_array(np.where(rng.random((N, P)) < 0.4, POSITIVE, 0.0))
TALL = rng.gamma(0.6, size=(9000, 4)) @ rng.gamma(0.6, size=(4, 12)) + 0.1 * rng.gamma(1.0, size=(9000, 12))
NEW = rng.gamma(0.6, size=(17, K)) @ Z0
POSE = np.where(rng.random(N) < 0.5, H0[:, :3].argmax(1), -1)
LIGHT = np.where(rng.random(N) < 0.4, H0[:, 3:].argmax(1), -1)
BOTH = np.column_stack([POSE, LIGHT])
IN_ORDER = {"attribute_layers": "in order"}
SEQUENCES = np.repeat([0, 1, 2], N // 3)
VIEWS = [POSITIVE[:, :10], POSITIVE[:, 10:], COUNTS[:, :8]]
MISSING = [np.where(rng.random((N, 1)) < 0.2, np.nan, view) for view in VIEWS[:2]] + VIEWS[2:]

NONNEGATIVE = {"positive": POSITIVE, "sparse": SPARSE, "float32": POSITIVE.astype(np.float32)}
SIGNED = {"positive": POSITIVE, "mixed": MIXED, "centred": CENTRED, "sparse": SPARSE, "float32": MIXED.astype("f4")}
Case = tuple[object, object, tuple, dict]  # model, X, positional arguments of fit, those by name


def cases() -> Iterator[tuple[str, Case]]:
    """Named fits."""
    for name, X in NONNEGATIVE.items():
        yield f"NMF {name}", (lm.NMF(K, random_state=0), X, (), {})
        for loss in ("frobenius", "kl"):
            yield f"NMF {loss} random {name}", (lm.NMF(K, loss=loss, init="random", random_state=0), X, (), {})
            yield f"GNMF {loss} {name}", (lm.GNMF(K, loss=loss, alpha=0.2, random_state=0), X, (), {})
            yield f"ConstrainedNMF {loss} {name}", (lm.ConstrainedNMF(K, loss=loss, random_state=0), X, (POSE,), {})
            yield f"ClassDriven {loss} {name}", (lm.ClassDrivenNMF(6, loss=loss, random_state=0), X, (POSE,), {})
            yield f"MultiLayer {loss} {name}", (lm.MultiLayerNMF((8, 4), loss=loss, random_state=0), X, (), {})
        yield f"GNMF labels {name}", (lm.GNMF(K, alpha=0.2, random_state=0), X, (POSE,), {})
        yield f"GNMF none {name}", (lm.GNMF(K, alpha=0.2, scale="none", max_iter=50, random_state=0), X, (), {})
        yield f"SlowFeatureNMF {name}", (lm.SlowFeatureNMF(K, random_state=0), X, (), {"groups": SEQUENCES})
        yield f"DiscriminantNMF {name}", (lm.DiscriminantNMF(K, between=0.1, random_state=0), X, (POSE,), {})
        for solver in ("mu", "apg"):
            yield f"NMF {solver} {name}", (lm.NMF(K, solver=solver, max_iter=60, random_state=0), X, (), {})
            yield (
                f"GNMF {solver} {name}",
                (lm.GNMF(K, solver=solver, max_iter=60, alpha=0.2, random_state=0), X, (), {}),
            )
    yield "NMF tall", (lm.NMF(4, random_state=0), TALL, (), {})
    yield "NMF tall random", (lm.NMF(4, init="random", random_state=0), TALL, (), {})
    yield "NMF counts", (lm.NMF(K, loss="kl", random_state=0), COUNTS, (), {})
    for name, X in SIGNED.items():
        yield f"SemiNMF {name}", (lm.SemiNMF(K, random_state=0), X, (), {})
        yield f"SemiNMF random {name}", (lm.SemiNMF(K, init="random", random_state=0), X, (), {})
        yield f"SemiNMF mu {name}", (lm.SemiNMF(K, solver="mu", init="kmeans", random_state=0, max_iter=60), X, (), {})
        yield f"WSF {name}", (lm.WSF(K, random_state=0), X, (POSE,), {})
        yield f"WSF-MA {name}", (lm.WSF(K, alpha=(0.5, 2.0), random_state=0), X, (BOTH,), {})
        yield f"WSF none {name}", (lm.WSF(K, scale="none", max_iter=50, random_state=0), X, (POSE,), {})
        yield f"Concept {name}", (lm.ConceptFactorization(K, max_iter=60, random_state=0), X, (), {})
        yield f"DeepSemiNMF {name}", (lm.DeepSemiNMF((8, 4), random_state=0), X, (), {})
        yield f"DeepSemiNMF plain {name}", (lm.DeepSemiNMF((8, 4), pretraining=None, random_state=0), X, (), {})
        yield f"DeepSemiNMF narrow {name}", (lm.DeepSemiNMF((3, 5), random_state=0), X, (), {})
        coupled = lm.DeepSemiNMF((8, 6, 4), objective="coupled", max_iter=60, random_state=0)
        yield f"DeepSemiNMF coupled {name}", (coupled, X, (), {})
        tied = lm.DeepWSF((8, 4), objective="coupled", **IN_ORDER, max_iter=60, random_state=0)
        yield f"DeepWSF coupled {name}", (tied, X, (BOTH,), {})
        yield f"DeepWSF {name}", (lm.DeepWSF((8, 4), **IN_ORDER, max_iter=15, random_state=0), X, (BOTH,), {})
        yield f"DeepWSF one layer {name}", (lm.DeepWSF((4,), random_state=0), X, (POSE,), {})
    graph = Labels() + 0.5 * Chain()
    yield "WSF graph sum", (lm.WSF(K, graph=graph, random_state=0), MIXED, (POSE,), {"groups": SEQUENCES})
    yield "WSF rbf", (lm.WSF(K, weight="rbf", random_state=0), MIXED, (POSE,), {})
    yield "GNMF graph", (lm.GNMF(K, graph=KNN(3, weight="heat") + Chain(), random_state=0), POSITIVE, (), {})
    yield "ClassDriven two", (lm.ClassDrivenNMF(components_per_class=2, random_state=0), POSITIVE, (POSE,), {})
    yield (
        "Concept kernel",
        (lm.ConceptFactorization(K, kernel="rbf", gamma=0.1, max_iter=40, random_state=0), MIXED, (), {}),
    )
    yield "Concept poly", (lm.ConceptFactorization(K, kernel="poly", max_iter=40, random_state=0), MIXED, (), {})
    yield "DeepSemiNMF knn", (lm.DeepSemiNMF((8, 4), graph="knn", random_state=0), MIXED, (), {})
    yield "SmoothedSemiNMF", (lm.SmoothedSemiNMF(4, random_state=0), MIXED, (), {})
    yield "SmoothedSemiNMF clusters", (lm.SmoothedSemiNMF(4, n_clusters=3, random_state=0), POSITIVE, (), {})
    yield "DeepSemiNMF batches", (lm.DeepSemiNMF((8, 4), batch_size=30, max_iter=5, random_state=0), MIXED, (), {})
    for activation in ("stanh", "square", "relu", "softplus", "sigmoid"):
        yield f"DeepSemiNMF {activation}", (
            lm.DeepSemiNMF((8, 4), activation=activation, max_iter=12, random_state=0), POSITIVE, (), {})  # fmt: skip
    for solver in ("apg", "adam"):
        yield f"DeepSemiNMF relu {solver}", (
            lm.DeepSemiNMF((8, 4), activation="relu", solver=solver, max_iter=12, random_state=0), POSITIVE, (), {}
        )  # fmt: skip
    yield (
        "DeepWSF relu",
        (lm.DeepWSF((8, 4), **IN_ORDER, activation="relu", max_iter=12, random_state=0), POSITIVE, (BOTH,), {}),
    )
    yield (
        "DeepWSF auto",
        (lm.DeepWSF((8, 4), attribute_layers="mutual information", max_iter=12, random_state=0), POSITIVE, (BOTH,), {}),
    )
    yield "AttributeLayers", (lm.AttributeLayers(6, random_state=0), POSITIVE, (BOTH,), {})
    yield "AttributeLayers sparse", (lm.AttributeLayers(6, random_state=0), SPARSE, (BOTH,), {})
    yield "SFA", (lm.SlowFeatureAnalysis(n_pcs="auto", random_state=0), MIXED, (), {})
    yield "SFA groups", (lm.SlowFeatureAnalysis(3, n_pcs="auto", random_state=0), MIXED, (), {"groups": SEQUENCES})
    for name, views in {"views": VIEWS, "missing": MISSING}.items():
        yield f"MultiView {name}", (lm.MultiViewSemiNMF(n_clusters=3, random_state=0), views, (), {})
        yield f"MultiView labels {name}", (lm.MultiViewSemiNMF(5, n_clusters=3, random_state=0), views, (POSE,), {})
        yield f"MultiView raw {name}", (
            lm.MultiViewSemiNMF(5, normalize=False, weights="equal", random_state=0), views, (), {})  # fmt: skip
    yield "MultiViewDeep", (lm.MultiViewDeepNMF((8, 5), n_clusters=3, random_state=0), VIEWS, (), {})
    yield "MultiViewDeep none", (lm.MultiViewDeepNMF((8, 5), scale="none", random_state=0), VIEWS, (), {})
    yield "MultiViewDeep equal", (
        lm.MultiViewDeepNMF((8, 5), normalize=False, weights="equal", graph=None, random_state=0), VIEWS, (), {}
    )  # fmt: skip
    yield "MultiNMF", (lm.MultiNMF(4, n_clusters=3, random_state=0), VIEWS, (), {})
    yield "MultiNMF alpha", (lm.MultiNMF(4, alpha=(0.1, 0.2, 0.3), init="random", random_state=0), VIEWS, (), {})
    yield from published()


def published() -> Iterator[tuple[str, Case]]:
    """Iterates of the papers' rules."""
    for n in (1, 2, 5):
        how = {"rule": "published", "max_iter": n, "tol": 0, "random_state": 0}
        for loss in ("frobenius", "kl"):
            yield f"published NMF {loss} {n}", (lm.NMF(K, loss=loss, **how), POSITIVE, (), {})
            yield f"published GNMF {loss} {n}", (lm.GNMF(K, loss=loss, alpha=3.0, **how), POSITIVE, (), {})
            yield f"published ClassDriven {loss} {n}", (lm.ClassDrivenNMF(6, loss=loss, **how), POSITIVE, (POSE,), {})
            yield f"published Constrained {loss} {n}", (lm.ConstrainedNMF(K, loss=loss, **how), POSITIVE, (POSE,), {})
            yield f"published MultiLayer {loss} {n}", (lm.MultiLayerNMF((8, 4), loss=loss, **how), POSITIVE, (), {})
        yield f"published SlowFeatureNMF {n}", (lm.SlowFeatureNMF(K, **how), POSITIVE, (), {})
        yield f"published DiscriminantNMF {n}", (lm.DiscriminantNMF(K, **how), POSITIVE, (POSE,), {})
        for name, X in {"positive": POSITIVE, "mixed": MIXED}.items():
            yield f"published SemiNMF {name} {n}", (lm.SemiNMF(K, **how), X, (), {})
            yield f"published WSF {name} {n}", (lm.WSF(K, **how), X, (POSE,), {})
            yield f"published Concept {name} {n}", (lm.ConceptFactorization(K, **how), X, (), {})
            yield (
                f"published DeepSemiNMF {name} {n}",
                (lm.DeepSemiNMF((8, 4), pretraining_max_iter=n, **how), X, (), {}),
            )
            yield (
                f"published DeepWSF {name} {n}",
                (lm.DeepWSF((8, 4), **IN_ORDER, pretraining_max_iter=n, **how), X, (BOTH,), {}),
            )
        yield f"published MultiView {n}", (
            lm.MultiViewDeepNMF((8, 4), alpha=0.1, n_clusters=3, **how), VIEWS, (), {})  # fmt: skip
        yield f"published MultiNMF {n}", (lm.MultiNMF(4, max_inner_iter=n, **how), VIEWS, (), {})


def numbers(model, X, labels: tuple, by_name: dict) -> dict[str, np.ndarray]:
    """Fit, and collect what a user can read."""
    model.fit(X, *labels, **by_name)
    found = {"components": model.components_} if hasattr(model, "components_") else {}
    for name in ("objective_history_", "n_iter_", "reconstruction_err_", "weights_", "labels_", "converged_"):
        if hasattr(model, name):
            found[name] = np.asarray(getattr(model, name))
    layers = getattr(model, "layers_", [])
    for i, layer in enumerate(layers.values() if isinstance(layers, dict) else layers):
        for part in ("representation", "weights"):
            if hasattr(layer, part):
                found[f"{part} {i}"] = getattr(layer, part)
    new = NEW.astype(X.dtype) if hasattr(X, "dtype") else [view[:17] for view in X]
    if getattr(X, "shape", (0, 24))[1] == new[0].shape[-1] or isinstance(new, list):
        for method in ("transform", "predict"):
            if hasattr(model, method):
                found[method] = np.asarray(getattr(model, method)(new))
    return {name: value for name, value in found.items() if value.dtype.kind in "fiub"}


def collect(report: Callable[[str], object] = lambda name: None) -> dict[str, np.ndarray]:
    """Numbers of all cases, by the names of the case and of the number."""
    found = {}
    for name, (model, X, labels, by_name) in cases():
        report(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found |= {f"{name} | {key}": value for key, value in numbers(model, X, labels, by_name).items()}
    return found


def difference(old: np.ndarray, new: np.ndarray) -> float:
    """Largest difference, relative to the largest magnitude; infinite where shapes differ."""
    if old.shape != new.shape:
        return np.inf
    size = float(np.abs(np.nan_to_num(old)).max(initial=0)) or 1.0
    return float(np.abs(np.nan_to_num(old * 1.0) - np.nan_to_num(new * 1.0)).max(initial=0)) / size


def compare(old: dict[str, np.ndarray], new: dict[str, np.ndarray], tol: float = 1e-9) -> int:
    """Print what differs by more than ``tol`` (single precision: 1e-3); returns the number of such cases."""
    changed = {}
    for key in sorted(old.keys() | new.keys()):
        case, what = key.split(" | ")
        off = difference(old[key], new[key]) if key in old and key in new else np.inf
        if off > (1e-3 if "float32" in case else tol):
            changed.setdefault(case, []).append(f"{what} {off:.1e}")
    for case, differences in changed.items():
        print(f"{case}: {', '.join(differences)}")
    print(f"{len(changed)} of {len({key.split(' | ')[0] for key in new})} fits changed")
    return len(changed)


if __name__ == "__main__":
    action, path = sys.argv[1:]
    if action == "record":
        np.savez(path, **collect())
    else:
        with np.load(path) as file:
            sys.exit(compare(dict(file), collect()) > 0)
