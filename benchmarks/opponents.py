"""Those Laminar is measured against. Each is given the same start and runs a number of iterations of its own."""

from __future__ import annotations

import importlib.util
import warnings

import numpy as np
from sklearn.decomposition import non_negative_factorization
from sklearn.exceptions import ConvergenceWarning


def _parts(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.maximum(A, 0), np.maximum(-A, 0)


def published_naive(X: np.ndarray, H: np.ndarray, n_iter: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Semi-NMF as printed (Trigeorgis et al. eq. 4-5): pseudo-inverse, and the residual for the error."""
    for _ in range(n_iter):
        Z = np.linalg.pinv(H) @ X
        bp, bm = _parts(X @ Z.T)
        gp, gm = _parts(Z @ Z.T)
        H = H * np.sqrt((bp + H @ gm) / (bm + H @ gp + 1e-10))
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
