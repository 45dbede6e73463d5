"""The models, one family a file."""

from .attributes import AttributeLayers
from .classes import ClassDrivenNMF
from .concept import ConceptFactorization
from .constrained import ConstrainedNMF
from .deep import DeepSemiNMF
from .deep_wsf import DeepWSF
from .discriminant import DiscriminantNMF
from .graph import GNMF, WSF, SlowFeatureNMF
from .multilayer import MultiLayerNMF
from .multinmf import MultiNMF
from .multiview import MultiViewDeepNMF
from .nmf import NMF
from .semi import SemiNMF
from .slow import SlowFeatureAnalysis

__all__ = [
    "GNMF",
    "NMF",
    "WSF",
    "AttributeLayers",
    "ClassDrivenNMF",
    "ConceptFactorization",
    "ConstrainedNMF",
    "DeepSemiNMF",
    "DeepWSF",
    "DiscriminantNMF",
    "MultiLayerNMF",
    "MultiNMF",
    "MultiViewDeepNMF",
    "SemiNMF",
    "SlowFeatureAnalysis",
    "SlowFeatureNMF",
]
