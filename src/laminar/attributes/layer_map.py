"""Linear maps from bands to the features of a layer, and the non-negative codes of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from .class_centres import ClassCentres
from .discriminants import Decomposition, Discriminants
from .simplex_codes import SimplexCoder


class Part(NamedTuple):
    """Features T of the training samples, and the matrix that gives them from principal scores of new samples."""

    T: np.ndarray
    coef: np.ndarray
    offset: np.ndarray
    start: np.ndarray | None = None  # where the search for the directions of the codes begins


@dataclass(frozen=True, eq=False)
class LayerMap:
    """Features ``T = sum_b bands_b maps_b + offset`` of samples on a layer, and their codes.

    Parameters
    ----------
    maps : dict of ndarray of shape (n_band_features, n_features)
        By position of a band.
    offset : ndarray of shape (n_features,)
        Added to the sum.
    coders : list of SimplexCoder
        Of consecutive columns of T: first those of the discriminants, if there are some, then those of the bands.
    classes : ClassCentres
        Classes by the first features T; none where no label was known.
    """

    maps: dict[int, np.ndarray]
    offset: np.ndarray
    coders: list[SimplexCoder]
    classes: ClassCentres

    def features(self, bands: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return T of samples from their bands."""
        T = sum(bands[b] @ A.astype(bands[b].dtype) for b, A in self.maps.items())
        return T + self.offset.astype(T.dtype)

    def code(self, T: np.ndarray) -> np.ndarray:
        """Return the non-negative codes of features."""
        edges = np.cumsum([coder.weights.shape[1] for coder in self.coders])[:-1]
        parts = zip(self.coders, np.split(T, edges, axis=1), strict=True)
        return np.hstack([coder.code(np.ascontiguousarray(part)) for coder, part in parts])

    def probabilities(self, T: np.ndarray) -> np.ndarray:
        """Return the probability of each class for samples with features T."""
        n_directions = len(self.classes.directions)
        return self.classes.probabilities(T[:, :n_directions])

    @property
    def weights(self) -> np.ndarray:
        """Z with codes times Z near T, one block for each coder."""
        return block_diag(*(coder.weights for coder in self.coders)).astype(self.coders[0].weights.dtype)

    @property
    def sizes(self) -> list[int]:
        """Number of codes of each coder."""
        return [len(coder.weights) for coder in self.coders]

    @property
    def n_discriminant_codes(self) -> int:
        """Number of the first codes that are those of discriminants."""
        return self.sizes[0] if len(self.classes.centres) > 1 else 0


def discriminant_part(found: Discriminants) -> tuple[Part, ClassCentres]:
    """Return the discriminants in their c - 1 directions, with mean squared length one, and the classes in them."""
    mean, n_classes = found.Z.mean(0), found.Z.shape[1]
    V = np.linalg.svd(found.Z - mean, full_matrices=False)[2][: n_classes - 1].T
    T, centres = (found.Z - mean) @ V, (found.centres - mean) @ V
    length = max(float(np.linalg.norm(T)) / len(T) ** 0.5, 1e-12)
    start = centres / length if len(centres) == V.shape[1] + 1 else None
    part = Part(T / length, found.coef @ V / length, -(mean @ V) / length, start)
    return part, ClassCentres(np.eye(V.shape[1]) * length, centres)


def band_part(data: Decomposition, n_features: int, share: float) -> Part:
    """Return leading principal scores of the weighted bands, which have mean squared length one, times ``share``."""
    T = data.features[:, :n_features]
    return Part(T * share, np.eye(data.U.shape[1], T.shape[1]) * share, np.zeros(T.shape[1]))


def layer_coders(parts: Sequence[Part], n_codes: Sequence[int], max_steps: int, sweeps: int) -> list[SimplexCoder]:
    """Fit a coder to each part."""
    return [SimplexCoder(k, max_steps, sweeps).fit(part.T, part.start) for part, k in zip(parts, n_codes, strict=True)]
