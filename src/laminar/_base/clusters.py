"""Read-outs of codes that do not depend on their basis, and clusters of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Integral

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from .._engine.linalg.blocked import gram
from .._engine.linalg.small import isometry, unit_rows, whitener
from .._utils import tall
from .._utils.device.array import DeviceArray
from .._utils.progress import stage
from .._utils.validation import check_choice
from .._utils.workers.reading import by_rows, is_dask
from .spectral import kmeans

READOUTS = ("raw", "whitened", "isometric")
"""Forms of codes: as they are, whitened with rows of unit length, or with the distances of the reconstructions."""


def side_by_side(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return arrays side by side; one alone is not copied."""
    return parts[0] if len(parts) == 1 else np.hstack(parts)


@dataclass(frozen=True, eq=False)
class Readout:
    """Codes times a basis, if there is one; with ``unit``, then with rows of unit length."""

    basis: np.ndarray | None = None
    unit: bool = False

    def __call__(self, H: np.ndarray) -> np.ndarray:
        """Return codes in this form."""
        if self.basis is None:
            return H
        if is_dask(H):
            return by_rows(self, H)
        return (embed(H, self.basis) if self.unit else H @ self.basis).astype(H.dtype)

    def width(self, n_codes: int) -> int:
        """Return the number of columns of so many codes in this form."""
        if self.basis is None:
            return n_codes
        return max(1, self.basis.shape[1]) if self.unit else self.basis.shape[1]


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


def reader(readout: str, layer) -> Readout:
    """Return the function from codes of a layer to a read-out of them."""
    check_choice("readout", readout, READOUTS)
    if readout == "raw":
        return Readout()
    if readout == "isometric":
        return Readout(isometry(layer.components))
    return Readout(whitener(layer.representation) if layer.whitening is None else layer.whitening, unit=True)


def embed(H: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return codes in another basis, each row of length one.

    Examples
    --------
    >>> embed(np.array([[1.0, 1.0]]), np.diag([3.0, 4.0]))
    array([[0.6, 0.8]])
    """
    # Codes that are all zero span nothing: every sample is alike.
    return unit_rows(H @ W) if W.shape[1] else tall.zeros((len(H), 1), np.float64, tall.workers_of(H))


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
        return Readout(whitener(self.H), unit=True) if self.read is None else self.read

    def features(self, H: np.ndarray) -> np.ndarray:
        """Return codes in the form that is clustered, in double precision, as k-means was fitted."""
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
        sample = subsample(H, max(self.max_samples, 100 * n_clusters), check_random_state(self.random_state))
        sample = sample if isinstance(sample, DeviceArray) else np.asarray(sample)
        return kmeans(tall.to_host(self.features(sample)), n_clusters, self.random_state, self.n_init)

    def predict(self, H: np.ndarray, n_clusters: int) -> np.ndarray:
        """Return the cluster of each row of codes."""
        if is_dask(H):
            return by_rows(partial(self.without_codes(n_clusters).predict, n_clusters=n_clusters), H)
        return self._fit(n_clusters).predict(tall.to_host(self.features(H)))

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
    Z = Z.astype(np.float64)
    w, Q = np.linalg.eigh(gram(H, np.float64, tall.ROWS))
    keep = w > 1e-12 * max(w[-1], 0.0)
    w, Q = w[keep], Q[:, keep]
    T = Q * np.sqrt(w)
    s, R = np.linalg.eigh(T.T @ (Z.T @ Z) @ T)
    s, R = s[::-1], R[:, ::-1]
    rank = int((s > 1e-10 * s.max(initial=0.0)).sum())
    return (Q / np.sqrt(w)) @ R[:, : above_noise(s[:rank], energy, (len(H), n_features), expected)]


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
