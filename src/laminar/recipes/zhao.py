"""Zhao, Ding and Fu, Multi-view clustering via deep matrix factorization, AAAI 2017.

A recipe returns a model for a list or dict of views: ``zhao.dmf_mvc(15).fit_predict(views)``. The views of the paper,
pixels, LBP and Gabor of images, are ``laminar.features.views_from_images(images, recipe="zhao")``. Results are the mean
of 10 runs, by NMI (mean of the entropies in the authors' code), accuracy, adjusted Rand index, F, precision and recall.
"""

from __future__ import annotations

from ..baselines import (
    CoRegularizedSpectral,
    CoTrainedSpectral,
    DiMSC,
    MinDisagreement,
    NgJordanWeiss,
    SmoothRepresentation,
)
from ..multiview.deep_nmf import MultiViewDeepNMF
from ..multiview.multinmf import MultiNMF

__all__ = ["best_sv", "co_reg", "co_train", "dimsc", "dmf_mvc", "min_d", "multi_nmf", "namsc"]


def dmf_mvc(n_clusters: int, layers=(100, 50), **parameters) -> MultiViewDeepNMF:
    """DMF-MVC, eq. 3 to 15: gamma .5, beta .01, five neighbours, 150 iterations, spectral clusters of the codes."""
    return MultiViewDeepNMF(layers, **{"rule": "published", "n_clusters": n_clusters, **parameters})


def best_sv(n_clusters: int, **parameters) -> NgJordanWeiss:
    """BestSV, spectral clustering of one view; `laminar.baselines.best_single_view` finds the best by the truth."""
    return NgJordanWeiss(n_clusters, **parameters)


def multi_nmf(n_clusters: int, **parameters) -> MultiNMF:
    """MultiNMF of J. Liu et al., weight .01."""
    return MultiNMF(n_clusters, **{"rule": "published", "alpha": 0.01, "n_clusters": n_clusters, **parameters})


def co_reg(n_clusters: int, **parameters) -> CoRegularizedSpectral:
    """Co-Reg, pairwise co-regularised spectral clustering of Kumar et al."""
    return CoRegularizedSpectral(n_clusters, **parameters)


def co_train(n_clusters: int, **parameters) -> CoTrainedSpectral:
    """Co-Train, co-trained spectral clustering of Kumar and Daume."""
    return CoTrainedSpectral(n_clusters, **parameters)


def min_d(n_clusters: int, **parameters) -> MinDisagreement:
    """Min-D, spectral clustering with two views of de Sa."""
    return MinDisagreement(n_clusters, **parameters)


def namsc(n_clusters: int, **parameters) -> SmoothRepresentation:
    """NaMSC, the smooth representations of every view by itself, their affinities summed."""
    return SmoothRepresentation(n_clusters, **parameters)


def dimsc(n_clusters: int, **parameters) -> DiMSC:
    """DiMSC, diverse self-expressions of the views."""
    return DiMSC(n_clusters, **parameters)
