"""Data sets: synthetic with known structure, or read from files."""

from laminar.datasets.faces import make_faces
from laminar.datasets.files import available, load
from laminar.datasets.synthetic import (
    make_attributes,
    make_lowrank,
    make_temporal,
    make_views,
    make_xor,
    partial_labels,
    sample_attributes,
)

__all__ = [
    "available",
    "load",
    "make_attributes",
    "make_faces",
    "make_lowrank",
    "make_temporal",
    "make_views",
    "make_xor",
    "partial_labels",
    "sample_attributes",
]
