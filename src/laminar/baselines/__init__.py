"""What multi-view papers compare with: spectral and subspace clustering of one view or several.

All are scikit-learn clusterers, ``fit(views)`` and ``fit_predict(views)``, where the views are a list or dict of arrays
with the same rows, or one array with ``view_sizes``. They are references: as published where that is well defined,
corrected where it is not, and with no choice made by looking at the truth but in `best_single_view`, which says so.
"""

from .agreement import CoTrainedSpectral, MinDisagreement
from .coregularized import CoRegularizedSpectral
from .spectral import BestView, NgJordanWeiss, best_single_view, concat_features, concat_pca
from .subspace import DiMSC, SmoothRepresentation

__all__ = [
    "BestView",
    "CoRegularizedSpectral",
    "CoTrainedSpectral",
    "DiMSC",
    "MinDisagreement",
    "NgJordanWeiss",
    "SmoothRepresentation",
    "best_single_view",
    "concat_features",
    "concat_pca",
]
