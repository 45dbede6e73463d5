"""Weights of bands for an attribute: a prior, and how well the labels of held-out samples are predicted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._utils.labels import Attribute
from .class_centres import pooled_lda
from .held_out import held_out_scores


def band_weights(
    bands: Sequence[np.ndarray], attribute: Attribute, priors: Sequence[float], *, min_weight: float = 0.02
) -> np.ndarray:
    """Compute weights ``prior * exp(hits)`` of bands, with sum one, from the labelled samples.

    Hits are the labels predicted when they are held out, the larger number of ridge classifiers (`held_out_scores`) and
    of linear discriminants (`lda_hits`). With one label a class nothing can be held out: the weights are the priors.
    Without two classes the first band has all the weight.

    Parameters
    ----------
    bands : sequence of ndarray of shape (n_samples, n_features)
        Bands of the same samples.
    attribute : Attribute
        Labels.
    priors : sequence of float
        Weights before labels are seen.
    min_weight : float, default=0.02
        Smaller weights are set to 0.

    Returns
    -------
    ndarray of shape (n_bands,)
        Weights.

    Examples
    --------
    >>> labels = Attribute(np.array([0, 0, 0, 1, 1, -1]), np.array(["a", "b"]))
    >>> useless, useful = np.zeros((6, 1)), np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [5.0]])
    >>> band_weights([useless, useful], labels, [1.0, 1.0]).round(2)
    array([0.12, 0.88])
    """
    n_classes = len(attribute.classes)
    if n_classes < 2:
        return np.eye(len(bands))[0]
    known = attribute.known
    codes = attribute.codes[known]
    labelled = [band[known].astype(np.float64) for band in bands]
    ridge = [held_out_scores(A, codes, n_classes).hits for A in labelled]
    reduced = [A @ leading_directions(band) for A, band in zip(labelled, bands, strict=True)]
    hits = np.maximum(ridge, [lda_hits(A, codes, n_classes) for A in reduced])
    weights = np.asarray(priors) * np.exp(hits - hits.max())
    weights /= weights.sum()
    weights[weights < min_weight] = 0
    return weights / weights.sum()


def leading_directions(band: np.ndarray, n_directions: int = 60) -> np.ndarray:
    """Return the leading right singular vectors of a band, as columns."""
    G = band.T.astype(np.float64) @ band
    return np.linalg.eigh(G)[1][:, ::-1][:, :n_directions]


def lda_hits(A: np.ndarray, codes: np.ndarray, n_classes: int, *, max_folds: int = 10) -> int:
    """Count labels that linear discriminant analysis predicts when they are held out; the seed is fixed.

    The folds are of single labels, whatever their class, so that classes keep most of theirs: of two or three labels a
    class equal folds would leave one or two, too few for the scatter inside classes.
    """
    sizes = np.bincount(codes, minlength=n_classes)
    usable = np.random.RandomState(0).permutation(np.flatnonzero(sizes[codes] > 1))
    n_folds, n_hits = min(max_folds, len(usable)), 0
    for i in range(n_folds):
        held_out = np.zeros(len(codes), dtype=bool)
        held_out[usable[i::n_folds]] = True
        present, reduced = np.unique(codes[~held_out], return_inverse=True)
        predicted = present[pooled_lda(A[~held_out], reduced, len(present)).predict(A[held_out])]
        n_hits += int((predicted == codes[held_out]).sum())
    return n_hits
