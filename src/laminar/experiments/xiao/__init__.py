"""Xiao, Zhu, Zhao and Wei, Class-driven non-negative matrix factorization for image representation, JCST 2013."""

from . import caltech, convergence, parameters, tables

__all__ = ["caltech", "convergence", "parameters", "tables"]
