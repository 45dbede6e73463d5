"""Zafeiriou, Nikitidis, Zafeiriou and Pantic, Slow features nonnegative matrix factorization.

One video at a time, ``fit(frames)``, all methods with 50 components (section 4); the slowest feature of each is that of
``laminar.temporal.slowest_feature(model, criterion="published")``. Fits run to the convergence of the objective.
"""

from __future__ import annotations

from ..nmf.gnmf import GNMF
from ..nmf.nmf import NMF
from ..nmf.slow import SlowFeatureNMF
from ..temporal.sfa import SlowFeatureAnalysis

__all__ = ["gnmf", "nmf", "sfa", "sfnmf"]


def _published(**more) -> dict:
    return {"rule": "published", "init": "random", "max_iter": 1000, "tol": 1e-5, "readout": "raw", **more}


def sfnmf(k: int = 50, lam: float = 1.0, **parameters) -> SlowFeatureNMF:
    """SFNMF, eq. 9 to 13. The paper does not report lambda: it was found on a part of the data."""
    return SlowFeatureNMF(k, **{**_published(alpha=lam), **parameters})


def sfa(k: int | None = None, **parameters) -> SlowFeatureAnalysis:
    """SFA, eq. 4 to 6, on all principal components."""
    return SlowFeatureAnalysis(k, **{"n_pcs": None, **parameters})


def nmf(k: int = 50, **parameters) -> NMF:
    """NMF, eq. 1 to 3."""
    return NMF(k, **{**_published(), **parameters})


def gnmf(k: int = 50, **parameters) -> GNMF:
    """GNMF with five nearest neighbours, weights 0 and 1, and lambda 150."""
    return GNMF(k, **{**_published(graph="knn", n_neighbors=5, alpha=150.0), **parameters})
