"""Layered, non-negative representations of data."""

from .models import GNMF, NMF, WSF, SemiNMF, SlowFeatureNMF

__all__ = ["GNMF", "NMF", "WSF", "SemiNMF", "SlowFeatureNMF"]
__version__ = "0.1.0.dev0"
