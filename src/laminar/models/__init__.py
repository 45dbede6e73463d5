"""The models, one family a file."""

from .graph import GNMF, WSF, SlowFeatureNMF
from .nmf import NMF
from .semi import SemiNMF

__all__ = ["GNMF", "NMF", "WSF", "SemiNMF", "SlowFeatureNMF"]
