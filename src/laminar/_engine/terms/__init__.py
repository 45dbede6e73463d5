"""Terms of the objective as functions of one factor F, the other factors fixed.

    1/2 ||X - H Z||^2  =  1/2 <F G, F> - <B, F> + 1/2 ||X||^2
    F = H    (n, k):   B = X Z^T,   G = Z Z^T
    F = Z^T  (p, k):   B = X^T H,   G = H^T H           (docs/methods.md 1.1)

Z is held transposed, so that both cases are one function, of X or of X^T. The rows of F are independent least-squares
problems that share the Gram matrix G.
"""

from .kl import KL
from .majoriser import Block, Fit, Groups, Majoriser, SplitRows, Term, by_group
from .penalties import Constant, GraphPenalty, MaskedL1, Ridge, SymmetricOperator, Tie
from .squared import SquaredFit

__all__ = [
    "KL",
    "Block",
    "Constant",
    "Fit",
    "GraphPenalty",
    "Groups",
    "Majoriser",
    "MaskedL1",
    "Ridge",
    "SplitRows",
    "SquaredFit",
    "SymmetricOperator",
    "Term",
    "Tie",
    "by_group",
]
