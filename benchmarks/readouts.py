"""Which scaling of the codes should `predict` cluster in? ``python -m benchmarks.readouts`` prints the table.

Every candidate sees the same codes; k-means has 10 starts and knows the number of classes. Baselines that owe nothing
to a factorisation (pixels, whitened SVD) are rows of the same table.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from laminar import NMF, SemiNMF
from laminar._engine.data.svd import truncated_svd
from laminar._engine.data.wrap import wrap
from laminar._engine.linalg.small import unit_rows, whitener
from laminar.datasets import available, load
from laminar.metrics import normalized_mutual_information

SETS = {"pie_pose27": 40, "orl": 40, "yale": 30, "cmu_faces": 40, "nottinghill": 40, "uci_digits_mv": 30}


def unit_columns(H, Z):
    norms = np.linalg.norm(H, axis=0)
    return H / np.where(norms > 0, norms, 1)


def isometric(H, Z):
    w, Q = np.linalg.eigh(Z @ Z.T)
    return H @ (Q * np.sqrt(np.maximum(w, 0)) @ Q.T)


READOUTS = {
    "raw": lambda H, Z: H,
    "unit columns": unit_columns,
    "unit columns, unit rows": lambda H, Z: unit_rows(unit_columns(H, Z)),
    "isometric": isometric,
    "isometric, unit rows": lambda H, Z: unit_rows(isometric(H, Z)),
    "whitened": lambda H, Z: H @ whitener(H),
    "whitened, unit rows": lambda H, Z: unit_rows(H @ whitener(H)),
}


def samples(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Unit-norm samples and classes; the digits' pixel view."""
    bunch = load(name, dtype=np.float64)
    X = bunch.views[4] if name == "uci_digits_mv" else bunch.X
    y = getattr(bunch, "identity", None)
    y = bunch[bunch.attributes[0]] if y is None else y
    return unit_rows(X), np.asarray(y)


def codes(X: np.ndarray, k: int, seed: int):
    """Yield name, H, Z of each method."""
    U, s, V = truncated_svd(wrap(X), k, np.random.RandomState(0))
    yield "SVD", U * s, V.T
    models = {
        "SemiNMF": SemiNMF(k),
        "SemiNMF, random start": SemiNMF(k, init="random", random_state=seed),
        "SemiNMF, published 300 it.": SemiNMF(
            k, init="random", rule="published", max_iter=300, tol=0, random_state=seed
        ),
        "NMF": NMF(k),
        "NMF, random start": NMF(k, init="random", random_state=seed),
    }
    for name, model in models.items():
        yield name, model.fit_transform(X), model.components_


def main(n_seeds: int = 3) -> None:
    from rich.console import Console
    from rich.table import Table

    scores: dict[tuple[str, str], dict[str, list]] = {}
    names = [name for name in SETS if name in available()]
    for name in names:
        X, y = samples(name)
        for seed in range(n_seeds):
            for method, H, Z in [("pixels", X, np.eye(1)), *codes(X, SETS[name], seed)]:
                looks = {"raw": READOUTS["raw"]} if method == "pixels" else READOUTS
                for readout, look in looks.items():
                    found = KMeans(len(np.unique(y)), n_init=10, random_state=seed).fit_predict(look(H, Z))
                    cell = scores.setdefault((method, readout), {}).setdefault(name, [])
                    cell.append(normalized_mutual_information(y, found))
    table = Table("method", "read-out", *names, "mean", title=f"k-means NMI (geometric), mean of {n_seeds} seeds")
    for (method, readout), row in scores.items():
        means = [float(np.mean(row[name])) for name in names]
        table.add_row(method, readout, *(f"{m:.3f}" for m in means), f"{np.mean(means):.3f}")
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
