"""Layered, non-negative representations of data."""

from .models import NMF, SemiNMF

__all__ = ["NMF", "SemiNMF"]
__version__ = "0.1.0.dev0"
