"""Xiao, Zhu, Zhao and Wei, Class-driven non-negative matrix factorization for image representation, JCST 2013."""

from . import convergence, parameters, tables

__all__ = ["convergence", "parameters", "tables"]
