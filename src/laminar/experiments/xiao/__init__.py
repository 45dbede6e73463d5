"""Xiao, Zhu, Zhao and Wei, Class-driven non-negative matrix factorization for image representation, JCST 2013."""

from . import tables

__all__ = ["tables"]
