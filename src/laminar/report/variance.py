"""Reconstructions of layers: the variance they explain, and the most that as many directions could."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from .subject import Place, Subject

MAX_GRAM = 4000  # samples or features: of more, only the leading singular values are computed


@dataclass(frozen=True, eq=False)
class Affine:
    """What a layer makes of codes: ``offset + H @ components``.

    Attributes
    ----------
    offset : ndarray of shape (n_features,)
        Zero for models without one.
    components : ndarray of shape (n_components, n_features)
        Components in the units of X.
    """

    offset: np.ndarray
    components: np.ndarray

    @property
    def has_offset(self) -> bool:
        """Whether the offset is not zero."""
        return bool(np.any(self.offset))


def affine(subject: Subject, place: Place) -> Affine | None:
    """Return how a layer reconstructs samples of all views side by side.

    Parameters
    ----------
    subject : Subject
        The model and its samples.
    place : Place
        The layer.

    Returns
    -------
    Affine or None
        None where codes do not reconstruct samples linearly: layers of single views, and those below an activation.

    Examples
    --------
    >>> from laminar import NMF
    >>> from laminar.report.subject import read_subject
    >>> X = np.random.default_rng(0).random((8, 5))
    >>> subject = read_subject(NMF(2, random_state=0).fit(X), X)
    >>> affine(subject, subject.places[0]).components.shape
    (2, 5)
    """
    if place.view is not None:
        return None
    model, layer = subject.model, subject.layer(place)
    components = np.asarray(layer.components, dtype=np.float64)
    offset = getattr(model, "mean_", None)
    offset = getattr(model, "offset_", 0.0) if offset is None else offset
    found = Affine(np.broadcast_to(np.asarray(offset, dtype=np.float64), components.shape[1:]).copy(), components)
    if subject.has_views and hasattr(model, "views_"):
        lengths = np.repeat([view.length for view in model.views_.values()], model.view_sizes_)
        return Affine(found.offset * lengths, found.components * lengths)
    return found if _is_right(model, place, found) else None


def _is_right(model: Any, place: Place, found: Affine) -> bool:
    """Whether the model reconstructs codes of ones, and of twos, in this way; where it has a way of its own."""
    if not hasattr(model, "inverse_transform"):
        return True
    H = np.array([[1.0], [2.0]]) * np.ones(len(found.components))
    layered = {} if len(model.layers_) == 1 else {"layer": place.position}
    theirs = np.asarray(model.inverse_transform(H, **layered), dtype=np.float64)
    ours = found.offset + H @ found.components
    return theirs.shape == ours.shape and np.allclose(theirs, ours, rtol=1e-3, atol=1e-5 * np.abs(ours).max(initial=0))


def explained(X: Any, H: np.ndarray, found: Affine) -> float:
    """Return the share of the variance of X that a reconstruction explains; that of the mean sample explains none.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features)
        Data.
    H : ndarray of shape (n_samples, n_components)
        Codes.
    found : Affine
        The reconstruction.

    Returns
    -------
    float
        ``1 - ||X - offset - H Z||^2 / ||X - mean||^2``; NaN for data that do not vary.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0]])
    >>> explained(X, X, Affine(np.zeros(2), np.eye(2))), explained(X, 0 * X, Affine(X.mean(0), np.eye(2)))
    (1.0, 0.0)
    """
    total = variance(X)
    if not total > 0:
        return float("nan")
    if not sp.issparse(X):
        error = sum(
            float(np.square(X[b] - found.offset - H[b].astype(np.float64) @ found.components).sum())
            for b in (slice(start, start + 1024) for start in range(0, len(X), 1024))
        )
        return 1 - error / total
    H = np.column_stack([H.astype(np.float64), np.ones(len(H))])
    Z = np.vstack([found.components, found.offset])
    error = _squares(X) - 2 * float(np.sum((X @ Z.T) * H)) + float(np.sum((H.T @ H) * (Z @ Z.T)))
    return 1 - error / total


def best_explained(X: Any, sizes: list[int], *, is_centred: bool) -> dict[int, float]:
    """Return the largest share of the variance of X that k directions explain, for some k.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features)
        Data.
    sizes : list of int
        Numbers of directions.
    is_centred : bool
        Whether an offset comes for free: principal components, not singular vectors of X itself.

    Returns
    -------
    dict
        k -> share.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    >>> round(best_explained(X, [1], is_centred=True)[1], 6)
    1.0
    """
    total = variance(X)
    n, p = X.shape
    if not total > 0 or not sizes:
        return dict.fromkeys(sizes, float("nan"))
    top = min(max(sizes), min(n, p))
    if min(n, p) <= MAX_GRAM:
        squares = _leading(_gram(X, is_centred), top)
    else:
        k = min(top, min(n, p) - 1)
        operator = X if not is_centred else scipy.sparse.linalg.aslinearoperator(X) - _mean_operator(X)
        squares = np.sort(svds(operator, k=k, return_singular_vectors=False, random_state=0))[::-1] ** 2
    sums = np.concatenate([[0.0], np.cumsum(np.maximum(squares, 0))])
    whole = total if is_centred else _squares(X)
    return {k: float(1 - max(whole - sums[min(k, len(squares))], 0.0) / total) for k in sizes}


def variance(X: Any) -> float:
    """Return ``||X - mean||^2``."""
    if sp.issparse(X):
        return _squares(X) - X.shape[0] * float(np.square(X.mean(axis=0)).sum())
    return float(np.square(X - X.mean(axis=0, dtype=np.float64)).sum())


def _squares(X: Any) -> float:
    values = X.data if sp.issparse(X) else X
    return float(np.square(values, dtype=np.float64).sum())


def _gram(X: Any, is_centred: bool) -> np.ndarray:
    """Return the smaller of ``X X^T`` and ``X^T X``, of centred X if requested."""
    n, p = X.shape
    if not sp.issparse(X):
        A = np.asarray(X, dtype=np.float64) - (X.mean(axis=0, dtype=np.float64) if is_centred else 0)
        return A @ A.T if n <= p else A.T @ A
    A = X.astype(np.float64)
    G = np.asarray((A @ A.T if n <= p else A.T @ A).todense())
    if not is_centred:
        return G
    if n <= p:
        return G - G.mean(axis=0) - G.mean(axis=1)[:, None] + G.mean()
    mean = np.asarray(A.mean(axis=0)).ravel()
    return G - n * np.outer(mean, mean)


def _leading(G: np.ndarray, k: int) -> np.ndarray:
    m = len(G)
    return scipy.linalg.eigh(G, eigvals_only=True, subset_by_index=[m - k, m - 1])[::-1]


def _mean_operator(X: Any) -> Any:
    ones, mean = np.ones((X.shape[0], 1)), np.asarray(X.mean(axis=0)).reshape(1, -1)
    return scipy.sparse.linalg.aslinearoperator(ones) * scipy.sparse.linalg.aslinearoperator(mean)
