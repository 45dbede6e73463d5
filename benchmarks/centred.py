"""Semi-NMF on centred data: ``LAMINAR_DATA=folder python -m benchmarks.centred [quality] [layers] [labels] [speed]``.

*quality*: on standardised tables and faces, the error over that of the truncated SVD, the energy of the codes
``sum_a ||h_a||^2 ||z_a||^2 / ||X||^2``, and the accuracy of ``StandardScaler -> model -> StandardScaler ->
LogisticRegression`` (3 shuffled folds, 3 seeds) beside PCA. *layers*: the same energy and accuracy of the other models.
*labels*: what `fit_transform` returns to the next step of a pipeline from models that are told labels.
*speed*: CPU seconds of a default fit of 20 000 x 768 with 50 components, and of Semi-NMF of the package overcomplete
(torch) where it is installed; set OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1.
"""

from __future__ import annotations

import importlib.util
import sys
import time
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from laminar import GNMF, WSF, ClassDrivenNMF, ConstrainedNMF, DeepSemiNMF, DeepWSF, DiscriminantNMF, SemiNMF
from laminar.datasets import available, load

TABLES = {"wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}


def sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    for name, table in TABLES.items():
        yield name, *table(return_X_y=True)
    if "uci_digits_mv" in available():
        digits = load("uci_digits_mv", dtype=np.float64)
        yield "UCI digits X3", digits.views[2], digits[digits.attributes[0]]
    if "orl" in available():
        faces = load("orl", dtype=np.float64)
        yield "ORL", faces.X, faces.identity


def accuracy(model, X: np.ndarray, y: np.ndarray, seeds: int = 3) -> float:
    steps = make_pipeline(StandardScaler(), model, StandardScaler(), LogisticRegression(max_iter=1000))
    scores = [cross_val_score(steps, X, y, cv=KFold(3, shuffle=True, random_state=seed)) for seed in range(seeds)]
    return float(np.mean(scores))


def energy(layer, X: np.ndarray) -> float:
    return float((layer.representation**2).sum(0) @ (layer.components**2).sum(1)) / float((X**2).sum())


def quality() -> None:
    print(f"{'':14}  k | error/tail(k-1)  energy  PCA(k-1)  SemiNMF | error/tail(k)  energy  PCA(k)  with an offset")
    for name, X, y in sets():
        S = StandardScaler().fit_transform(X)
        squares = np.linalg.svd(S, compute_uv=False) ** 2
        for k in (k for k in (6, 10, 20) if k < min(S.shape)):
            row = []
            for fit_offset in (False, True):
                model = SemiNMF(k, fit_offset=fit_offset, random_state=0)
                fitted, rank = clone(model).fit(S), k if fit_offset else k - 1
                ratio = fitted.reconstruction_err_**2 / squares[rank:].sum()
                row.append(
                    f"{ratio:8.4f} {energy(fitted.layers_[0], S):10.2f} {accuracy(PCA(rank), X, y):9.3f} "
                    f"{accuracy(model, X, y):9.3f}"
                )
            print(f"{name:14} {k:2} | {' | '.join(row)}", flush=True)


def layers() -> None:
    print(f"{'':10} {'':22} energy of the layers, half of the labels; accuracy, all labels of the training samples")
    for name, k in (("digits", 10), ("wine", 6)):
        X, y = TABLES[name](return_X_y=True)
        S = StandardScaler().fit_transform(X)
        half = np.where(np.random.default_rng(0).random(len(y)) < 0.5, y, -1)
        models = {
            **{f"WSF, alpha {alpha}": WSF(k, alpha=alpha) for alpha in (0.01, 1, 100)},
            "DeepSemiNMF": DeepSemiNMF((2 * k, k)),
            "DeepSemiNMF, coupled": DeepSemiNMF((2 * k, k), objective="coupled"),
            "DeepWSF": DeepWSF((2 * k, k)),
            "DeepWSF, coupled": DeepWSF((2 * k, k), objective="coupled"),
        }
        for label, model in models.items():
            model.set_params(random_state=0)
            fitted = clone(model).fit(S, half if "WSF" in label else None)
            energies = " ".join(f"{energy(layer, S):6.2f}" for layer in fitted.layers_)
            print(f"{name:10} {label:22} {energies:14} {accuracy(model, X, y, seeds=1):.3f}", flush=True)


def labels() -> None:
    print(
        "accuracy of a classifier of new samples, trained on the codes of the fit, which depend on labels; of transform"
    )
    for name, k in (("wine", 6), ("digits", 20)):
        X, y = (A[:600] for A in TABLES[name](return_X_y=True))
        for model in (WSF(k), DeepWSF((2 * k, k)), GNMF(k), ClassDrivenNMF(k), ConstrainedNMF(k), DiscriminantNMF(k)):
            scores = []
            for train, test in KFold(3, shuffle=True, random_state=0).split(X):
                scaler = MinMaxScaler(clip=True).fit(X[train])
                fitted = clone(model).set_params(random_state=0).fit(scaler.transform(X[train]), y[train])
                new = fitted.transform(scaler.transform(X[test]))
                for H in (fitted.layers_[-1].representation, fitted.transform(scaler.transform(X[train]))):
                    steps = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(H, y[train])
                    scores.append(steps.score(new, y[test]))
            of_fit, of_transform = np.mean(np.reshape(scores, (3, 2)), axis=0)
            print(f"{name:8} {type(model).__name__:18} {of_fit:.3f} {of_transform:.3f}", flush=True)


def embeddings(n: int, p: int, decay: float) -> np.ndarray:
    """Sixty clusters in a rotated space whose standard deviations decay as a power of their number, centred."""
    rng = np.random.default_rng(0)
    scales = np.arange(1.0, p + 1) ** -decay
    X = (3 * rng.normal(size=(60, p))[rng.integers(0, 60, n)] + rng.normal(size=(n, p))) * scales
    X = X @ np.linalg.qr(rng.normal(size=(p, p)))[0]
    return X - X.mean(0)


def speed(n: int = 20_000, p: int = 768, k: int = 50) -> None:
    SemiNMF(5).fit(embeddings(2000, 100, 0.5))  # kernels
    for decay in (0.5, 1.0):
        X = embeddings(n, p, decay)
        size, least = float((X**2).sum()), (np.linalg.eigvalsh(X.T @ X)[::-1][k - 1 :]).sum()
        for label, tol in {"SemiNMF": 1e-4, "float32": 1e-4, "float32, tol 1e-2": 1e-2}.items():
            model, data = SemiNMF(k, tol=tol, random_state=0), X.astype(np.float32 if "float32" in label else float)
            began = time.process_time()
            model.fit(data)
            seconds, error = time.process_time() - began, model.reconstruction_err_**2
            ratio = error / least
            print(f"decay {decay}: {label:18} {seconds:6.1f} s, error {error / size:.5f}, over tail(k-1) {ratio:.4f}")
        if importlib.util.find_spec("overcomplete"):
            torch_fit(X, k, size, decay)


def torch_fit(X: np.ndarray, k: int, size: float, decay: float) -> None:
    import torch
    from overcomplete.optimization import SemiNMF as TorchSemiNMF

    torch.manual_seed(0)
    torch.set_num_threads(1)
    A = torch.tensor(X, dtype=torch.float32)
    for n_iter in (100, 500):
        began = time.process_time()
        H, Z = TorchSemiNMF(k).fit(A, max_iter=n_iter)
        seconds = time.process_time() - began
        error = float(((A - H @ Z) ** 2).sum())
        print(f"decay {decay}: overcomplete, {n_iter} iterations {seconds:6.1f} s, error {error / size:.5f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for part in sys.argv[1:] or ("quality", "layers", "labels", "speed"):
        {"quality": quality, "layers": layers, "labels": labels, "speed": speed}[part]()
