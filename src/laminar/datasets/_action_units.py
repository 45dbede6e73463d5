"""Action units of a face: what each moves, and the expressions that are made of them."""

from collections.abc import Mapping

import numpy as np
from sklearn.utils import Bunch

# Traits that a unit of intensity 1 changes: factor, summand. Lengths are in half-images. A choice; the numbers in
# comments are those of the Facial Action Coding System.
ACTION_UNITS: dict[str, dict[str, tuple[float, float]]] = {
    "mouth stretch": {"mouth_open": (1.0, 0.15), "mouth_width": (0.85, 0.0)},  # 27
    "eyes closed": {"eye_open": (0.04, 0.0)},  # 43
    "lids raised": {"eye_open": (1.4, 0.0)},  # 5
    "brows raised": {"brow_lift": (1.0, 0.06), "brow_arch": (1.0, 0.02)},  # 1, 2
    "brows lowered": {"brow_lift": (1.0, -0.04), "brow_tilt": (1.0, 0.045)},  # 4
    "lip corners raised": {"mouth_curve": (1.0, 0.08), "mouth_width": (1.25, 0.0), "lip": (0.85, 0.0)},  # 12
    "lip corners lowered": {"mouth_curve": (1.0, -0.08)},  # 15
    "nose wrinkled": {"nose_length": (0.92, 0.0), "nose_width": (1.2, 0.0), "mouth_drop": (0.9, 0.0)},  # 9
}
# Intensities of the units of each expression; those of the CMU Multi-PIE set.
EXPRESSIONS: dict[str, dict[str, float]] = {
    "neutral": {},
    "smile": {"lip corners raised": 1.0, "eyes closed": 0.25},
    "surprise": {"brows raised": 1.0, "lids raised": 1.0, "mouth stretch": 0.7},
    "squint": {"eyes closed": 0.7, "brows lowered": 0.4},
    "disgust": {"lip corners lowered": 1.0, "nose wrinkled": 1.0, "brows lowered": 0.8, "eyes closed": 0.4},
    "scream": {"mouth stretch": 1.0, "brows lowered": 0.5, "eyes closed": 0.75},
}


def move(traits: Bunch, intensities: Mapping[str, np.ndarray]) -> None:
    """Change traits of shape (n, 1, 1), in place, by action units of intensities (n,) in [0, 1]; at 0 none changes."""
    for unit, intensity in intensities.items():
        by = intensity.astype(np.float32)[:, None, None]
        for name, (factor, summand) in ACTION_UNITS[unit].items():
            traits[name] = traits[name] * (1 + by * (factor - 1)) + by * summand
