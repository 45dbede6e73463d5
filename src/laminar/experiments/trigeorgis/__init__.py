"""Trigeorgis, Bousmalis, Zafeiriou and Schuller, A deep matrix factorization method, TPAMI 2017 (arXiv:1509.03248)."""

from . import attributes, clusters, depth, igo, layers, reconstruction, transfer, xor

__all__ = ["attributes", "clusters", "depth", "igo", "layers", "reconstruction", "transfer", "xor"]
