"""Trigeorgis, Bousmalis, Zafeiriou and Schuller, A deep matrix factorization method, TPAMI 2017 (arXiv:1509.03248).

Samples are scaled to unit Euclidean norm first (authors' code; `sklearn.preprocessing.Normalizer`). Layers are 625-k
with k of 20 to 70. Fits stop where the reconstruction error decreases by less than 1e-6, after at most 1000 iterations
(section 6.2). Clusters are k-means of the raw codes; the number of its starts is not stated (100 in the authors' code:
``model.cluster(n_clusters=68, n_init=100)``).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..callbacks import ReconstructionStop
from ..deep.multilayer import MultiLayerNMF
from ..deep.semi import DeepSemiNMF
from ..deep.wsf import DeepWSF
from ..nmf.constrained import ConstrainedNMF
from ..nmf.discriminant import DiscriminantNMF
from ..nmf.gnmf import GNMF
from ..nmf.nmf import NMF
from ..nmf.semi import SemiNMF
from ..nmf.wsf import WSF

__all__ = [
    "cnmf",
    "deep_semi_nmf",
    "deep_wsf",
    "dnmf",
    "gnmf",
    "multi_layer_nmf",
    "nenmf",
    "nmf_mul",
    "semi_nmf",
    "wsf",
    "wsf_ma",
]


def _published(init: str, **more) -> dict:
    """Return the settings common to all: the rule, the start, the stopping rule and the read-out."""
    stop = ReconstructionStop(kappa=1e-6)
    return {"rule": "published", "init": init, "max_iter": 1000, "tol": 0, "readout": "raw", "callback": stop, **more}


def semi_nmf(k: int, **parameters) -> SemiNMF:
    """Semi-NMF, eq. 1 to 6, from the SVD of Gillis and Kumar (section 6.1)."""
    return SemiNMF(k, **{**_published("svd"), **parameters})


def deep_semi_nmf(k: int, first: int | Sequence[int] = 625, **parameters) -> DeepSemiNMF:
    """Deep Semi-NMF, eq. 7 to 12 and Algorithm 1, layers ``first``-k; with ``activation="stanh"`` or ``"square"`` the
    models "tanh" and "sq" of section 3.1.
    """
    hidden = (first,) if isinstance(first, int) else tuple(first)
    init = "random" if "activation" in parameters else "svd"
    return DeepSemiNMF((*hidden, k), **{**_published(init, pretraining_max_iter=1000), **parameters})


def nmf_mul(k: int, **parameters) -> NMF:
    """NMF (MUL), the multiplicative rule of Lee and Seung, from NNDSVD with its zeros raised."""
    return NMF(k, **{**_published("nndsvda"), **parameters})


def nenmf(k: int, **parameters) -> NMF:
    """NeNMF of Guan et al., with its own stopping rule, to a projected gradient of 1e-5 of the first."""
    settings = {"rule": "published", "solver": "apg", "init": "nndsvda", "max_iter": 1000, "tol": 1e-5}
    return NMF(k, **{**settings, "readout": "raw", **parameters})


def gnmf(k: int, **parameters) -> GNMF:
    """GNMF of Cai et al. with five nearest neighbours; the weight, not stated, is that of Cai et al., 100."""
    # Its reconstruction error may increase while its objective decreases: no stopping by the former.
    settings = _published("nndsvda", graph="knn", n_neighbors=5, alpha=100.0, max_iter=500, callback=None)
    return GNMF(k, **{**settings, **parameters})


def multi_layer_nmf(k: int, first: int | Sequence[int] = 625, **parameters) -> MultiLayerNMF:
    """Multi-layer NMF of Song and Lee, layers ``first``-k."""
    hidden = (first,) if isinstance(first, int) else tuple(first)
    return MultiLayerNMF((*hidden, k), **{**_published("nndsvda"), **parameters})


def cnmf(k: int, **parameters) -> ConstrainedNMF:
    """CNMF of Liu et al., samples of one class with equal codes (section 6.5)."""
    return ConstrainedNMF(k, **{**_published("nndsvda"), **parameters})


def dnmf(k: int, **parameters) -> DiscriminantNMF:
    """DNMF as the authors ran it: the scatter within classes alone, with weight 10 (authors' code)."""
    return DiscriminantNMF(k, **{**_published("nndsvda", within=10.0), **parameters})


def wsf(k: int, **parameters) -> WSF:
    """WSF, eq. 20, with the weight 1e-3 of Table 2."""
    return WSF(k, **{**_published("svd", alpha=1e-3), **parameters})


def wsf_ma(k: int, **parameters) -> WSF:
    """WSF-MA, eq. 22: WSF with the labels of several attributes, one column of y for each."""
    return wsf(k, **parameters)


def deep_wsf(layers: Sequence[int] = (100, 100, 100), **parameters) -> DeepWSF:
    """Deep WSF, eq. 21 and Algorithm 2, with the settings of Table 2: pose, expression and identity in this order, from
    the first layer up, with weight 1e-3.
    """
    settings = {"alphas": 1e-3, "attribute_layers": "in order", "pretraining": "wsf", "pretraining_max_iter": 1000}
    init = "random" if "activation" in parameters else "svd"
    return DeepWSF(tuple(layers), **{**_published(init, **settings), **parameters})
