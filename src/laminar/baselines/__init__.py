"""Baselines: spectral and subspace clustering of one view or several, and classes from a few labels.

The clusterings are scikit-learn clusterers, ``fit(views)`` and ``fit_predict(views)``, where the views are a list or
dict of arrays with the same rows, or one array with ``view_sizes``. They are references: as published where that is
well defined, corrected where it is not. True classes are used by `best_single_view` alone.

By the names of Zhao, Ding and Fu: BestSV is `best_single_view`, ConcatFea `concat_features`, ConcatPCA `concat_pca`,
Co-Reg `CoRegularizedSpectral`, Co-Train `CoTrainedSpectral`, Min-D `MinDisagreement`, NaMSC `SmoothRepresentation`, and
DiMSC `DiMSC`; their own method, DMF-MVC, is `laminar.MultiViewDeepNMF`, and MultiNMF `laminar.MultiNMF`.

`SimilarityNetworkFusion` and `NEMO` are of genomics. `WhitenedSpectral` is the plain graph of partly whitened scores of
one view, of which `laminar.ClusterEnsemble` makes many.

`PooledLDA` and `LabelSpreading` are given labels of some samples, ``fit(X, y)`` with unknown ones in y, as
`laminar.AttributeLayers` is, and have its methods.
"""

from .coregularized import CoRegularizedSpectral
from .cotraining import CoTrainedSpectral, MinDisagreement
from .lda import PooledLDA
from .networks import NEMO, SimilarityNetworkFusion
from .spectral import BestView, NgJordanWeiss, WhitenedSpectral, best_single_view, concat_features, concat_pca
from .spreading import LabelSpreading
from .subspace import DiMSC, SmoothRepresentation

__all__ = [
    "NEMO",
    "BestView",
    "CoRegularizedSpectral",
    "CoTrainedSpectral",
    "DiMSC",
    "LabelSpreading",
    "MinDisagreement",
    "NgJordanWeiss",
    "PooledLDA",
    "SimilarityNetworkFusion",
    "SmoothRepresentation",
    "WhitenedSpectral",
    "best_single_view",
    "concat_features",
    "concat_pca",
]
