"""Sequences: slowness of features, and detection of phases (neutral, onset, apex, offset)."""

from .phases import Phases, detect_phases
from .scores import boundary_errors, boundary_f1, frame_accuracy
from .slowness import slowest_feature, slowness

__all__ = [
    "Phases",
    "boundary_errors",
    "boundary_f1",
    "detect_phases",
    "frame_accuracy",
    "slowest_feature",
    "slowness",
]
