"""Read-outs of codes that do not depend on their basis, and clusters of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Integral, Real
from typing import TypeAlias

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from .._engine.linalg.small import isometry, safe_divide, whitener
from .._utils import tall
from .._utils.device.array import DeviceArray
from .._utils.progress import stage
from .._utils.validation import check_choice
from .._utils.workers.reading import by_rows, is_dask
from .spectral import kmeans

READOUTS = ("raw", "whitened", "isometric")
"""Forms of codes: as they are, whitened with rows of unit length, or with the distances of the reconstructions."""

STANDARD = 0.75
"""Exponent of the standard form of codes for clusters, chosen on the sets of docs/clustering.md."""

Form: TypeAlias = str | float
"""One of `READOUTS`, or an exponent t from 0, isometric up to a rotation, to 1, whitened (docs/methods.md 1.7)."""


def side_by_side(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return arrays side by side; one alone is not copied."""
    return parts[0] if len(parts) == 1 else np.hstack(parts)


@dataclass(frozen=True, eq=False)
class Readout:
    """Codes times a basis, if there is one, each row divided by its length to the power of ``unit``.

    Attributes
    ----------
    basis : ndarray of shape (n_components, n_directions) or None
        What codes are multiplied by.
    unit : float
        0 leaves rows as they are, 1 gives them unit length.

    Examples
    --------
    >>> Readout(np.diag([3.0, 4.0]), 1.0)(np.array([[1.0, 1.0]]))
    array([[0.6, 0.8]])
    """

    basis: np.ndarray | None = None
    unit: float = 0.0

    def __call__(self, H: np.ndarray) -> np.ndarray:
        """Return codes in this form."""
        if self.basis is None:
            return H
        if is_dask(H):
            return by_rows(self, H)
        if not self.basis.shape[1]:  # codes that are all zero span nothing: every sample is alike
            return tall.zeros((len(H), 1), H.dtype, tall.workers_of(H))
        E = H @ self.basis
        if self.unit:
            E = safe_divide(E, np.linalg.norm(E, axis=1, keepdims=True) ** float(self.unit))
        return E.astype(H.dtype)

    def width(self, n_codes: int) -> int:
        """Return the number of columns of so many codes in this form."""
        return n_codes if self.basis is None else max(1, self.basis.shape[1])

    def leading(self, n_directions: int) -> Readout:
        """Return the form of the first directions alone."""
        return self if self.basis is None else Readout(self.basis[:, :n_directions], self.unit)


@dataclass(frozen=True, eq=False)
class Joined:
    """Read-outs of the codes of several layers, which are side by side."""

    reads: tuple[Readout, ...]
    edges: np.ndarray  # the columns at which the next layer begins

    def __call__(self, H: np.ndarray) -> np.ndarray:
        """Return the codes of each layer in its form, side by side."""
        if is_dask(H):
            return by_rows(self, H)
        parts = np.split(H, self.edges, axis=1)
        return side_by_side([read(part) for read, part in zip(self.reads, parts, strict=True)])

    def leading(self, n_directions: int) -> Joined:
        """Return the form of the first directions of each layer alone."""
        return Joined(tuple(read.leading(n_directions) for read in self.reads), self.edges)


def check_form(form: Form, names: tuple[str, ...] = READOUTS) -> None:
    """Raise an error for a read-out that is neither one of the names nor a number from 0 to 1."""
    if isinstance(form, str):
        check_choice("readout", form, names)
    elif not isinstance(form, Real) or not 0 <= form <= 1:
        raise ValueError(
            f"readout must be one of {', '.join(map(repr, names))}, or a number from 0 to 1; got {form!r}."
        )


def reader(form: Form, layer) -> Readout:
    """Return the function from codes of a layer to a read-out of them."""
    check_form(form)
    if form == "raw":
        return Readout()
    if form == "isometric":
        return Readout(isometry(layer.components))
    W = whitener(layer.representation) if layer.whitening is None else layer.whitening
    return Readout(W, 1.0) if form == "whitened" else partly_whitened(W, layer.components, float(form))


def partly_whitened(W: np.ndarray, Z: np.ndarray, exponent: float) -> Readout:
    """Return the form of exponent t between isometric, t = 0, and whitened codes, t = 1.

        H Z = U diag(s) V^T,     F = U diag(s)^(1 - t),     f_i <- f_i / ||f_i||^t        (docs/methods.md 1.7)

    Columns are in decreasing order of s.

    Parameters
    ----------
    W : ndarray of shape (k, rank)
        The matrix that whitens the codes H, `whitener`.
    Z : ndarray of shape (k, n_features)
        Components.
    exponent : float
        t.

    Returns
    -------
    Readout
        From H to F.

    Examples
    --------
    >>> H, Z = np.array([[1.0, 0.0], [2.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    >>> F = partly_whitened(whitener(H), Z, 0.0)(H)
    >>> np.allclose(F @ F.T, H @ Z @ Z.T @ H.T)
    True
    """
    B, s = directions(W, Z)
    return Readout(B * s ** (1 - exponent), exponent)


def directions(W: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return B (k, r) and s such that ``H Z = U diag(s) V^T`` with ``U = H B``, for the codes H that W whitens.

    ``T = W^+ Z`` has the same singular values and right vectors, and k rows at most: the product is not formed.

    Examples
    --------
    >>> H, Z = np.array([[1.0, 0.0], [2.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    >>> B, s = directions(whitener(H), Z)
    >>> np.allclose(s, np.linalg.svd(H @ Z, compute_uv=False)[:2])
    True
    """
    # Columns of W are orthogonal, so that its pseudo-inverse are these over their squared lengths.
    largest = np.abs(W).max(axis=0, initial=0.0)
    lengths = largest * np.linalg.norm(W / largest, axis=0)  # squares stay in range
    T = ((W / lengths) / lengths).T @ Z.astype(np.float64)
    unit = np.abs(T).max(initial=0.0) or 1.0
    squares, R = np.linalg.eigh((T / unit) @ (T / unit).T)
    squares, R = squares[::-1], R[:, ::-1]
    rank = int((squares > 1e-10 * squares.max(initial=0.0)).sum())
    return W @ R[:, :rank], np.sqrt(squares[:rank]) * unit


def subsample(E: np.ndarray, max_samples: int, rng: np.random.RandomState) -> np.ndarray:
    """Return E, or that many random rows of it in their order if it has more.

    Examples
    --------
    >>> subsample(np.arange(10)[:, None], 3, np.random.RandomState(0)).ravel()
    array([2, 4, 8])
    """
    return E[np.sort(rng.choice(len(E), max_samples, replace=False))] if len(E) > max_samples else E


class Clusters:
    """k-means of a read-out of codes; computed on first use and kept.

    Parameters
    ----------
    H : ndarray of shape (n_samples, n_components)
        Codes of the training samples.
    random_state : int, RandomState instance or None
        Seed of k-means.
    read : Readout, Joined or None
        The form in which codes are clustered; None whitens them and scales their rows to unit length.
    n_init : int, default=20
        Starts of k-means.
    max_samples : int, default=50_000
        Training samples k-means is fitted to, at random if there are more, and at least 100 for each cluster; all
        samples are then assigned to its centres. At the same minimum the inertia is about 0.01 % higher than with all
        of them (docs/benchmarks.md); the starts may lead to another minimum, better or worse.

    Examples
    --------
    >>> import numpy as np
    >>> H = np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]])
    >>> labels = Clusters(H, random_state=0).predict(H, n_clusters=2)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    def __init__(
        self,
        H: np.ndarray,
        random_state=None,
        read: Readout | Joined | None = None,
        *,
        n_init: int = 20,
        max_samples: int = 50_000,
    ):
        self.H, self.read, self.n_init, self.max_samples = H, read, n_init, max_samples
        # Drawn now, so that copies of a fitted model agree on clusters computed later; from a copy, so that the
        # generator of the caller does not depend on it.
        drawn = isinstance(random_state, Integral)
        self.random_state = random_state if drawn else deepcopy(check_random_state(random_state)).randint(2**31 - 1)
        self._fitted: dict[int, KMeans] = {}

    @cached_property
    def _read(self) -> Readout | Joined:
        return Readout(whitener(self.H), 1.0) if self.read is None else self.read

    def features(self, H: np.ndarray, n_clusters: int | None = None) -> np.ndarray:
        """Return codes in the form that is clustered, for so many clusters, in double precision."""
        return self._read(H.astype(np.float64, copy=False))

    def _fit(self, n_clusters: int) -> KMeans:
        if n_clusters not in self._fitted:
            refuse_without_codes(self.H, f"n_clusters={n_clusters}", self._fitted)
            if n_clusters > len(self.H):
                raise ValueError(
                    f"n_clusters={n_clusters} is more than the {len(self.H)} samples the model was fitted on: "
                    "ask for fewer clusters."
                )
            self._fitted[n_clusters] = self._model(self.H, n_clusters)
        return self._fitted[n_clusters]

    def _model(self, H: np.ndarray, n_clusters: int):
        """Return the fitted model that predicts clusters."""
        stage(f"k-means of {len(H)} samples, {n_clusters} clusters")
        E = self._sampled(H, n_clusters, max(self.max_samples, 100 * n_clusters))
        return kmeans(E, n_clusters, self.random_state, self.n_init)

    def _sampled(self, H: np.ndarray, n_clusters: int, size: int) -> np.ndarray:
        """Return the features of the training samples, or of so many of them at random if there are more."""
        sample = subsample(H, size, check_random_state(self.random_state))
        sample = sample if isinstance(sample, DeviceArray) else np.asarray(sample)
        return tall.to_host(self.features(sample, n_clusters))

    def predict(self, H: np.ndarray, n_clusters: int) -> np.ndarray:
        """Return the cluster of each row of codes."""
        if is_dask(H):
            return by_rows(partial(self.without_codes(n_clusters).predict, n_clusters=n_clusters), H)
        return self._fit(n_clusters).predict(tall.to_host(self.features(H, n_clusters)))

    def labels(self, n_clusters: int) -> np.ndarray:
        """Return the clusters of the training samples."""
        refuse_without_codes(self.H, "this clustering")
        return self.predict(self.H, n_clusters)

    def without_codes(self, n_clusters: int) -> Clusters:
        """Return a copy without the codes of the training samples, which predicts this number of clusters."""
        if 0 < len(self.H) >= n_clusters:
            self._fit(n_clusters)
        kept = copy(self)
        kept._fitted = {n: model for n, model in self._fitted.items() if n == n_clusters}
        vars(kept)["_read"] = self._read
        kept.H = np.empty((0, self.H.shape[1]), self.H.dtype)
        return kept


def refuse_without_codes(H: np.ndarray, what: str, known: Iterable[int] = ()) -> None:
    """Raise an error where the codes of the training samples that are needed were not saved."""
    if not len(H):
        others = f" The number of clusters it was saved with is {', '.join(map(str, known))}." if known else ""
        raise ValueError(
            f"this model was saved without training codes, and {what} cannot be had: save it with training_codes=True, "
            f"or fit it again.{others}"
        )


def readout_basis(H: np.ndarray, Z: np.ndarray, energy: float, n_features: float, expected: int) -> np.ndarray:
    """Return W such that ``H W`` are the left singular vectors of ``H Z^T`` above the noise.

    These depend on the product and not on the basis of the codes. All of them have unit length, so that those which
    noise alone would give must be left out (`above_noise`).

    Parameters
    ----------
    H, Z : ndarray of shape (n_samples, k), (n_features, k)
        Codes and transposed components.
    energy, n_features : float
        Squared norm of what ``H Z^T`` is a fit of, and the features it spreads over.
    expected : int
        Number of singular vectors that are kept whatever the noise.

    Returns
    -------
    W : ndarray of shape (k, n_directions)
        In decreasing order of the singular values.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> H, Z = rng.random((6, 3)), rng.normal(size=(4, 3))
    >>> E = H @ readout_basis(H, Z, energy=np.sum((H @ Z.T) ** 2), n_features=4, expected=3)
    >>> U = np.linalg.svd(H @ Z.T)[0][:, :3]
    >>> np.allclose(E @ E.T, U @ U.T)
    True
    """
    B, s = directions(whitener(H), Z.T)
    return B[:, : above_noise(s**2, energy, (len(H), n_features), expected)]


def above_noise(squares: np.ndarray, energy: float, shape: tuple[float, float], expected: int) -> int:
    """Count the squared singular values above the largest one of noise; at least the expected ones.

    That is ``s^2 (sqrt(n) + sqrt(p))^2`` for a matrix of shape (n, p), with the variance s^2 of all that the expected
    ones leave.

    Parameters
    ----------
    squares : ndarray
        In decreasing order.
    energy : float
        Sum of all of them, those not given included.
    shape : tuple of float
        Of the matrix they are of.
    expected : int
        Number that is counted whatever the noise.

    Returns
    -------
    count : int

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(60, 40))
    >>> noise[0, 0] += 30
    >>> squares = np.linalg.svd(noise, compute_uv=False) ** 2
    >>> above_noise(squares[:20], squares.sum(), noise.shape, expected=1)
    1
    """
    if expected >= len(squares):
        return len(squares)
    n, p = shape
    left = max(energy - float(squares[:expected].sum()), 0.0)
    variance = left / (max(1.0, n - expected) * max(1.0, p - expected))
    return max(expected, int((squares > variance * (n**0.5 + p**0.5) ** 2).sum()))
