"""Slow directions of scores: slow feature analysis in given principal components, and the number of components."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, svd
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import GroupKFold, KFold

from .._engine.linalg.small import safe_divide

Steps = Sequence[np.ndarray]  # positions of successive frames: the earlier ones, the later ones


def steps_of(chain: sp.csr_array) -> Steps:
    """Return the steps in time of a chain of frames."""
    return sp.triu(chain).nonzero()


def numerical_rank(s: np.ndarray) -> int:
    """Count the singular values above 1e-4 of the largest."""
    return int(np.count_nonzero(s**2 > 1e-8 * s[0] ** 2))


def slowest_directions(W: np.ndarray, links: Steps, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the delta values of the k slowest features and their coordinates in the whitened components W."""
    steps = W[links[1]] - W[links[0]]
    deltas, rotation = eigh(steps.T @ steps / len(steps), subset_by_index=(0, k - 1))
    return np.maximum(deltas, 0), rotation


def choose_n_pcs(S: np.ndarray, links: Steps, chain: sp.csr_array, k: int, *, slack: float = 1.1) -> int:
    """Choose the fewest components whose first k features are, on held-out frames, nearly the slowest.

    Their delta is at most ``slack`` (a choice) times the lowest. S are the scores of all components.
    """
    # From k to k, rounding errors of geomspace would fall below it.
    candidates = np.unique(np.maximum(k, np.geomspace(k, S.shape[1], 40).astype(int)))
    steps, power = np.zeros((2, len(candidates), k))
    for train, test in _folds(chain):
        in_train = np.zeros(len(S), dtype=bool)
        in_train[train] = True
        inside = in_train[links[0]] & in_train[links[1]]
        mean = S[train].mean(0)
        _, s, Vt = svd(S[train] - mean, full_matrices=False)
        rank = numerical_rank(s)
        if not inside.any() or rank < k:
            continue
        # The components of the training frames alone.
        W = (S - mean) @ (Vt[:rank].T * (np.sqrt(len(train)) / s[:rank]))
        for i, r in enumerate(np.minimum(candidates, rank)):
            features = W[:, :r] @ slowest_directions(W[:, :r], [ends[inside] for ends in links], k)[1]
            steps[i] += ((features[links[1][~inside]] - features[links[0][~inside]]) ** 2).sum(0)
            power[i] += (features[test] ** 2).sum(0)
    deltas = safe_divide(steps, power, fill=np.inf).mean(1)
    # Without a fold (too few frames) all are infinite and the smallest number is taken.
    return int(candidates[np.argmax(deltas <= slack * deltas.min())])


def _folds(chain: sp.csr_array) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """Return ten folds: whole sequences if several have a step, otherwise blocks of time."""
    n_sequences, sequence = connected_components(chain, directed=False)
    if np.count_nonzero(np.bincount(sequence) > 1) > 1:
        return GroupKFold(min(10, n_sequences)).split(sequence, groups=sequence)
    n_blocks = min(10, len(sequence) // 2)  # a block of one frame has no step inside
    return KFold(n_blocks).split(sequence) if n_blocks > 1 else ()
