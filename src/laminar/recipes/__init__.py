"""The methods of five papers, configured as their papers have them, under the papers' names.

    >>> from laminar.recipes import trigeorgis
    >>> trigeorgis.deep_semi_nmf(40)
    DeepSemiNMF(callback=ReconstructionStop(kappa=1e-06), init='svd', layers=(625, 40), max_iter=1000,
                pretraining_max_iter=1000, readout='raw', rule='published', tol=0)

A recipe returns an estimator that is not fitted, for data of the user's own: the loops, starts, settings, stopping
rules and read-outs of the paper. A docstring has what its paper leaves open. docs/names.md has all in a table.
"""

from . import trigeorgis, xiao, zafeiriou, zhao

__all__ = ["trigeorgis", "xiao", "zafeiriou", "zhao"]
