"""Trigeorgis, Bousmalis, Zafeiriou and Schuller, A deep matrix factorization method, TPAMI 2017 (arXiv:1509.03248)."""

from . import clusters, layers, reconstruction

__all__ = ["clusters", "layers", "reconstruction"]
