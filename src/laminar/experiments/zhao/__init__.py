"""Zhao, Ding and Fu, Multi-view clustering via deep matrix factorization, AAAI 2017."""

from . import curves, layers, tables

__all__ = ["curves", "layers", "tables"]
