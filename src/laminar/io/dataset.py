"""`Dataset`: samples with their names, labels and origin, as the readers return them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from laminar._utils.stored import Stored

if TYPE_CHECKING:
    import os

    from pandas import DataFrame

Matrix: TypeAlias = np.ndarray | sp.csr_array  # or a laminar._utils.stored.Stored, which has their attributes


class Reader(Protocol):
    """What reads files of one kind; that of a `Dataset` treats new files as those of the data set were treated."""

    def read(self, path: str | os.PathLike) -> Dataset:
        """Read a file or a folder."""
        ...


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples in rows, with names, labels and origin.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features), dict of such arrays, or None
        Data; of several views a dict by name, all with the same rows, NaN throughout in the row of a sample that lacks
        the view. None in the description of the training samples that a model file holds.
    ids : ndarray of str of shape (n_samples,)
        Name of each sample, all different.
    feature_names : ndarray of str of shape (n_features,), dict of such arrays, or None, default=None
        Names of the features, of each view.
    labels : DataFrame of shape (n_samples, n_attributes) or None, default=None
        One column an attribute, indexed by ``ids``; None where a label is unknown.
    groups : ndarray of str of shape (n_samples,) or None, default=None
        The sequence that each sample belongs to; rows of a sequence are in order of time.
    image_shape : tuple of int, dict of such tuples, or None, default=None
        Height and width of a row as an image, with the number of channels if there are several; of each view.
    sources : ndarray of str of shape (n_samples,) or None, default=None
        File that each sample was read from, relative to the path that was read.
    frame_rate : float or None, default=None
        Samples a second, of sequences.
    observed : ndarray of bool of shape (n_samples, n_views) or None, default=None
        The views that each sample has, where some lack one.
    reader : Reader or None, default=None
        Reads new files as these were read.
    scaling : Scaling, dict of Scaling, or None, default=None
        What was subtracted from the features and what they were divided by; of each view.
    notes : tuple of str, default=()
        What was done on the way, a sentence each: images resized, rows dropped.

    Examples
    --------
    >>> data = Dataset(np.eye(2), np.array(["anna", "ben"]))
    >>> data.n_samples, data.has_views, data.fingerprint()[:8]
    (2, False, '21255472')
    """

    X: Matrix | dict[str, Matrix] | None
    ids: np.ndarray
    feature_names: np.ndarray | dict[str, np.ndarray] | None = None
    labels: DataFrame | None = None
    groups: np.ndarray | None = None
    image_shape: tuple[int, ...] | dict[str, tuple[int, ...]] | None = None
    sources: np.ndarray | None = None
    frame_rate: float | None = None
    observed: np.ndarray | None = None
    reader: Reader | None = None
    scaling: Scaling | dict[str, Scaling] | None = None
    notes: tuple[str, ...] = ()

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.ids)

    @property
    def has_views(self) -> bool:
        """Whether X has several views."""
        return isinstance(self.X, Mapping)

    def views(self) -> dict[str, Matrix]:
        """Return the data by view; of data without views, under the name "X".

        Returns
        -------
        dict
            Name -> array.
        """
        if self.X is None:
            raise ValueError("this Dataset describes samples and has no data: read them again.")
        return dict(self.X) if isinstance(self.X, Mapping) else {"X": self.X}

    def take(self, rows: np.ndarray) -> Dataset:
        """Return some of the samples.

        Parameters
        ----------
        rows : ndarray of int or bool
            Which samples, in which order.

        Returns
        -------
        Dataset
            These samples.
        """
        X: Any = self.X
        if X is not None:
            X = {name: view[rows] for name, view in X.items()} if self.has_views else X[rows]
        parts: dict[str, Any] = {
            name: None if (array := getattr(self, name)) is None else array[rows]
            for name in ("ids", "groups", "sources", "observed")
        }
        labels = None if self.labels is None else self.labels.iloc[np.arange(self.n_samples)[rows]]
        return replace(self, X=X, labels=labels, **parts)

    def fingerprint(self) -> str:
        """Return a hash of the data and of the names of the samples.

        Returns
        -------
        str
            32 hexadecimal digits.
        """
        found = blake2b(digest_size=16)
        found.update("\0".join(map(str, self.ids)).encode())
        for name, X in self.views().items():
            found.update(f"{name} {X.shape} {X.dtype}".encode())
            if sp.issparse(X):
                for indices in (X.indptr, X.indices):  # type: ignore[union-attr]
                    found.update(np.ascontiguousarray(indices, dtype=np.int64).data)
            for block in row_blocks(X):
                found.update(np.ascontiguousarray(block).data)
        return found.hexdigest()

    def description(self, *, training_samples: bool = True) -> Dataset:
        """Return what a model file holds of the training data: all but X.

        Parameters
        ----------
        training_samples : bool, default=True
            Whether names, labels, groups and files of the samples are included.

        Returns
        -------
        Dataset
            With ``X=None``.
        """
        if training_samples:
            return replace(self, X=None)
        return replace(self, X=None, ids=self.ids[:0], labels=None, groups=None, sources=None, observed=None)


@dataclass(frozen=True, eq=False)
class Scaling:
    """Standardisation of features: ``(X - mean) / scale``.

    Parameters
    ----------
    mean, scale : ndarray of shape (n_features,)
        Mean and standard deviation of each feature; features that are constant have scale 1.

    Examples
    --------
    >>> X = np.array([[0.0, 5.0], [2.0, 5.0]])
    >>> Scaling.of(X).apply(X)
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray) -> Scaling:
        """Return the standardisation of dense data.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Data.

        Returns
        -------
        Scaling
            Mean and standard deviation of each feature.
        """
        if sp.issparse(X):
            raise ValueError('scale="standard" needs dense data: to subtract the mean makes every entry nonzero.')
        if isinstance(X, Stored):
            raise ValueError(
                'scale="standard" needs data in memory, and these are on disk: standardise the file before, or raise '
                "max_memory (--max-memory)."
            )
        mean, scale = X.mean(axis=0), X.std(axis=0)
        return cls(mean, np.where(scale > 0, scale, 1).astype(X.dtype))

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return standardised data.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            ``(X - mean) / scale``.
        """
        return (X - self.mean) / self.scale


def row_blocks(X: Any, rows: int = 4096) -> Iterator[np.ndarray]:
    """Yield an array by blocks of rows, so that one on disk is not read as a whole; of sparse data the stored entries.

    Parameters
    ----------
    X : {ndarray, sparse array, Stored}
        Data.
    rows : int, default=4096
        Rows of a block.

    Yields
    ------
    ndarray
        The next rows.

    Examples
    --------
    >>> [len(block) for block in row_blocks(np.zeros((5, 2)), rows=3)]
    [3, 2]
    """
    entries = X.data if sp.issparse(X) else X
    read = entries.read if isinstance(entries, Stored) else entries.__getitem__
    for start in range(0, entries.shape[0], rows):
        yield read(slice(start, start + rows))
