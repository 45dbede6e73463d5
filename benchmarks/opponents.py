"""Those Laminar is measured against. Each is given the same start and runs a number of iterations of its own."""

from __future__ import annotations

import importlib.util
import warnings
from itertools import pairwise

import numpy as np
from sklearn.decomposition import non_negative_factorization
from sklearn.exceptions import ConvergenceWarning


def _parts(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.maximum(A, 0), np.maximum(-A, 0)


def published_naive(X: np.ndarray, H: np.ndarray, n_iter: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Semi-NMF as printed (Trigeorgis et al. eq. 4-5): pseudo-inverse, and the residual for the error."""
    for _ in range(n_iter):
        Z = np.linalg.pinv(H) @ X
        H = _published_step(X, H, Z)
        error = np.linalg.norm(X - H @ Z)
    return H, Z, float(error)


def published_grams(X: np.ndarray, H: np.ndarray, n_iter: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The same iterations by small Gram matrices: the same rule, written well."""
    norm = float(np.vdot(X, X))
    for _ in range(n_iter):
        Z = np.linalg.solve(H.T @ H, H.T @ X)
        B, G = X @ Z.T, Z @ Z.T
        (bp, bm), (gp, gm) = _parts(B), _parts(G)
        H = H * np.sqrt((bp + H @ gm) / (bm + H @ gp + 1e-10))
        error = norm - 2 * float(np.vdot(B, H)) + float(np.vdot(G, H.T @ H))
    return H, Z, float(np.sqrt(max(error, 0)))


def published_wsf(X: np.ndarray, H: np.ndarray, W, alpha: float, n_iter: int) -> np.ndarray:
    """Weakly supervised Semi-NMF (Trigeorgis et al.) by small Gram matrices, the graph a scipy matrix of its edges."""
    degree = W.sum(axis=1)[:, None]
    for _ in range(n_iter):
        Z = np.linalg.solve(H.T @ H, H.T @ X)
        (bp, bm), (gp, gm) = _parts(X @ Z.T), _parts(Z @ Z.T)
        H = H * np.sqrt((bp + H @ gm + alpha * (W @ H)) / (bm + H @ gp + alpha * degree * H + 1e-10))
    return H


def published_views(
    views: list[np.ndarray], layers: tuple[int, ...], n_iter: int, seed: int = 0, gamma: float = 0.5
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Deep multi-view factorisation as printed (Zhao et al. Algorithm 1, no graph), from a random start.

    Consensus of all views summed, as in the authors' code. Returns the consensus and what each view multiplies it by.
    """
    rng = np.random.default_rng(seed)
    n = len(views[0])
    hidden = [[rng.random((n, k)) for k in layers] for _ in views]
    weights = [[rng.normal(size=shape[::-1]) for shape in pairwise((X.shape[1], *layers))] for X in views]
    H, alpha = hidden[0][-1], np.full(len(views), 1 / len(views))
    for _ in range(n_iter):
        up, down = np.zeros_like(H), np.zeros_like(H)
        for X, codes, Z in zip(views, hidden, weights, strict=True):
            for i in range(len(layers)):
                implied = H
                for above in Z[:i:-1]:
                    implied = implied @ above
                Z[i] = np.linalg.pinv(implied) @ X
                if i:
                    Z[i] = Z[i] @ np.linalg.pinv(_product(Z[:i]))
                if i < len(layers) - 1:
                    codes[i] = _published_step(X, codes[i], _product(Z[: i + 1]))
        for X, Z, a in zip(views, weights, alpha, strict=True):
            (bp, bm), (gp, gm) = _parts(X @ _product(Z).T), _parts(_product(Z) @ _product(Z).T)
            up += a**gamma * (bp + H @ gm)
            down += a**gamma * (bm + H @ gp)
        H = H * np.sqrt(up / (down + 1e-10))
        left = np.array([np.linalg.norm(X - H @ _product(Z)) ** 2 for X, Z in zip(views, weights, strict=True)])
        alpha = (gamma * left) ** (1 / (1 - gamma))
        alpha /= alpha.sum()
    return H, [_product(Z) for Z in weights]


def _product(Z: list[np.ndarray]) -> np.ndarray:
    """What the codes of the last of these layers stand for."""
    basis = Z[0]
    for above in Z[1:]:
        basis = above @ basis
    return basis


def _published_step(X: np.ndarray, H: np.ndarray, Z: np.ndarray) -> np.ndarray:
    (bp, bm), (gp, gm) = _parts(X @ Z.T), _parts(Z @ Z.T)
    return H * np.sqrt((bp + H @ gm) / (bm + H @ gp + 1e-10))


def sklearn_nmf(X, H: np.ndarray, Z: np.ndarray, n_iter: int, solver: str = "cd", loss: str = "frobenius"):
    """scikit-learn's NMF from a given start, for exactly ``n_iter`` iterations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        H, Z, _ = non_negative_factorization(
            X,
            W=H.copy(),
            H=Z.copy(),
            n_components=H.shape[1],
            init="custom",
            solver=solver,
            beta_loss="kullback-leibler" if loss == "kl" else loss,
            max_iter=n_iter,
            tol=0,
        )
    return H, Z


def torchnmf(X: np.ndarray, H: np.ndarray, Z: np.ndarray, n_iter: int):
    """Torch NMF: multiplicative updates."""
    import torch
    from torchnmf.nmf import NMF

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NMF(W=torch.from_numpy(Z.T.copy()), H=torch.from_numpy(H.copy()))
        model.fit(torch.from_numpy(X), beta=2, tol=-1, max_iter=n_iter)
        return model.H.detach().numpy(), model.W.detach().numpy().T


def nn_fac(X: np.ndarray, H: np.ndarray, Z: np.ndarray, n_iter: int):
    """nn-fac's accelerated HALS."""
    from nn_fac.nmf import nmf

    return nmf(X, H.shape[1], init="custom", U_0=H.copy(), V_0=Z.copy(), n_iter_max=n_iter, tol=0, update_rule="hals")


def gensim(X: np.ndarray, H: np.ndarray, Z: np.ndarray, n_iter: int):
    """Gensim: online NMF, ``n_iter`` passes; it chooses its own start."""
    from gensim.matutils import Dense2Corpus
    from gensim.models.nmf import Nmf

    corpus = list(Dense2Corpus(X, documents_columns=False))
    words = {j: str(j) for j in range(X.shape[1])}
    model = Nmf(corpus, H.shape[1], id2word=words, passes=n_iter, normalize=False, random_state=0, eval_every=0)
    Z = np.ascontiguousarray(np.asarray(model._W.todense() if hasattr(model._W, "todense") else model._W).T)
    H = np.zeros((len(X), Z.shape[0]))
    for i, document in enumerate(corpus):
        for a, weight in model.get_document_topics(document, minimum_probability=0, normalize=False):
            H[i, a] = weight
    return H, Z


def installed(module: str) -> bool:
    """Whether the ``bench`` extra brought this opponent."""
    return importlib.util.find_spec(module) is not None
