"""Sequences: slowness of features, and detection of phases (neutral, onset, apex, offset)."""

from .phases import Phases, boundary_errors, detect_phases, frame_accuracy
from .slowness import slowest_feature, slowness

__all__ = ["Phases", "boundary_errors", "detect_phases", "frame_accuracy", "slowest_feature", "slowness"]
