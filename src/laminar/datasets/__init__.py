"""Data sets: synthetic with known structure, or read from files."""

from laminar.datasets.faces import make_expression_video, make_faces
from laminar.datasets.files import available, find, load
from laminar.datasets.record import Record
from laminar.datasets.records import records
from laminar.datasets.sources import stack_sources
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
    "Record",
    "available",
    "find",
    "load",
    "make_attributes",
    "make_expression_video",
    "make_faces",
    "make_lowrank",
    "make_temporal",
    "make_views",
    "make_xor",
    "partial_labels",
    "records",
    "sample_attributes",
    "stack_sources",
]
