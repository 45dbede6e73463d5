"""Xiao, Zhu, Zhao and Wei, Class-driven non-negative matrix factorization for image representation, JCST 2013.

The number of components is the number N of classes drawn, k = N; 200 iterations (Fig. 5); clusters are k-means of the
raw codes of the fit, ``model.fit(X, y).cluster()``, scored by accuracy and by NMI over the larger entropy. Starts are
not stated: random ones here.
"""

from __future__ import annotations

from ..nmf.class_driven import ClassDrivenNMF
from ..nmf.concept import ConceptFactorization
from ..nmf.constrained import ConstrainedNMF
from ..nmf.gnmf import GNMF
from ..nmf.nmf import NMF

__all__ = ["cdnmf_f", "cdnmf_kl", "cf", "cnmf_f", "cnmf_kl", "gnmf", "nmf", "sgnmf"]


def _published(**more) -> dict:
    return {"rule": "published", "init": "random", "max_iter": 200, "tol": 0, "readout": "raw", **more}


def cdnmf_f(k: int, lam: float = 1.0, **parameters) -> ClassDrivenNMF:
    """cdNMF_F, eq. 5 to 12; lambda 1 (Yale), .1 (ORL), 10 (Caltech). k is the total number of classes."""
    return ClassDrivenNMF(k, **{**_published(alpha=lam), **parameters})


def cdnmf_kl(k: int, gamma: float = 10.0, **parameters) -> ClassDrivenNMF:
    """cdNMF_KL, eq. 21 to 23; gamma 10 (Yale, ORL), 1 (Caltech). k is the total number of classes."""
    return ClassDrivenNMF(k, **{**_published(loss="kl", alpha=gamma), **parameters})


def nmf(k: int, **parameters) -> NMF:
    """NMF by the multiplicative rules of Lee and Seung, eq. 1 to 4."""
    return NMF(k, **{**_published(), **parameters})


def cf(k: int, **parameters) -> ConceptFactorization:
    """CF, the concept factorisation of Xu and Gong."""
    return ConceptFactorization(k, **{**_published(), **parameters})


def gnmf(k: int, **parameters) -> GNMF:
    """GNMF of Cai et al.; settings not stated: five neighbours and weight 100, as Cai et al."""
    return GNMF(k, **{**_published(graph="knn", n_neighbors=5, alpha=100.0), **parameters})


def sgnmf(k: int, **parameters) -> GNMF:
    """sGNMF, GNMF whose graph links samples of one class and not of two: ``fit(X, y)``."""
    return gnmf(k, **parameters)


def cnmf_f(k: int, **parameters) -> ConstrainedNMF:
    """CNMF_F of Liu et al., squared error."""
    return ConstrainedNMF(k, **{**_published(), **parameters})


def cnmf_kl(k: int, **parameters) -> ConstrainedNMF:
    """CNMF_KL of Liu et al., divergence."""
    return ConstrainedNMF(k, **{**_published(loss="kl"), **parameters})
