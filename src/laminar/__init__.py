"""Layered, non-negative representations of data."""

from .models import (
    GNMF,
    NMF,
    WSF,
    ClassDrivenNMF,
    ConceptFactorization,
    ConstrainedNMF,
    DeepSemiNMF,
    DeepWSF,
    DiscriminantNMF,
    MultiLayerNMF,
    SemiNMF,
    SlowFeatureAnalysis,
    SlowFeatureNMF,
)

__all__ = [
    "GNMF",
    "NMF",
    "WSF",
    "ClassDrivenNMF",
    "ConceptFactorization",
    "ConstrainedNMF",
    "DeepSemiNMF",
    "DeepWSF",
    "DiscriminantNMF",
    "MultiLayerNMF",
    "SemiNMF",
    "SlowFeatureAnalysis",
    "SlowFeatureNMF",
]
__version__ = "0.1.0.dev0"
