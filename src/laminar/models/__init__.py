"""The models, one family a file."""

from .nmf import NMF
from .semi import SemiNMF

__all__ = ["NMF", "SemiNMF"]
