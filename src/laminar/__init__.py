"""Layered, non-negative representations of data."""

from .models import (
    GNMF,
    NMF,
    WSF,
    AttributeLayers,
    ClassDrivenNMF,
    ConceptFactorization,
    ConstrainedNMF,
    DeepSemiNMF,
    DeepWSF,
    DiscriminantNMF,
    MultiLayerNMF,
    MultiNMF,
    MultiViewDeepNMF,
    SemiNMF,
    SlowFeatureAnalysis,
    SlowFeatureNMF,
)
from .selection import select_layers
from .tables import layer_attribute_table

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
    "layer_attribute_table",
    "select_layers",
]
__version__ = "0.1.0.dev0"
