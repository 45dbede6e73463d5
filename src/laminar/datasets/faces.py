"""Rendered portraits with known identity, pose and light.

This module samples the traits of people and crosses them with poses and lights; `_portrait` renders them.
"""

import numpy as np
from sklearn.utils import Bunch, check_random_state

from laminar._utils.typing import Seed
from laminar.datasets._portrait import Scene
from laminar.datasets.synthetic import check_parameters

# Range of every trait, uniform; lengths are in half-images, tones in [0, 1]. A choice.
_TRAITS = {
    "width": (0.48, 0.58),
    "height": (0.66, 0.76),
    "square": (2.0, 2.9),
    "jaw": (0.06, 0.30),
    "skin": (0.40, 0.82),
    "ear": (0.10, 0.14),
    "eye_gap": (0.185, 0.235),
    "eye_level": (-0.08, 0.02),
    "eye_width": (0.095, 0.125),
    "eye_open": (0.040, 0.068),
    "iris": (0.05, 0.45),
    "brow_lift": (0.105, 0.150),
    "brow_thick": (0.014, 0.036),
    "brow_arch": (0.00, 0.05),
    "brow_tilt": (-0.03, 0.03),
    "nose_length": (0.24, 0.34),
    "nose_width": (0.060, 0.095),
    "nose_height": (0.7, 1.3),
    "mouth_drop": (0.14, 0.19),
    "mouth_width": (0.13, 0.20),
    "mouth_curve": (-0.014, 0.050),
    "lip": (0.024, 0.050),
    "lip_tone": (0.55, 0.85),
    "hair_tone": (0.04, 0.62),
    "hair_volume": (0.05, 0.20),
    "hairline": (-0.66, -0.40),
    "hair_length": (0.0, 1.0),
    "hair_part": (-0.22, 0.22),
    "hair_wave": (0.0, 0.05),
    "hair_phase": (0.0, 6.3),
    "shirt": (0.12, 0.85),
}
# Share of people with each binary trait. A choice.
_SHARES = {"long_hair": 0.42, "bald": 0.07, "beard": 0.25, "moustache": 0.10, "glasses": 0.25}


def make_faces(
    n_identities: int = 10,
    n_poses: int = 5,
    n_lights: int = 5,
    size: int = 32,
    random_state: Seed = None,
) -> Bunch:
    """Render grey portraits of every person in every pose under every light.

    Parameters
    ----------
    n_identities : int, default=10
        Number of people. The first people of a seed do not depend on it.
    n_poses : int, default=5
        Number of head directions, evenly spaced from 35 degrees left to 35 degrees right.
    n_lights : int, default=5
        Number of light directions, evenly spaced from left to right and alternately low and high.
    size : int, default=32
        Height and width of the images in pixels.
    random_state : int, RandomState instance or None, default=None
        Seed of the traits, and of small random errors of the poses.

    Returns
    -------
    Bunch
        ``X`` (also as ``data``) of shape (n_identities * n_poses * n_lights, size * size), float32 in [0, 1],
        images flattened row by row; labels ``identity``, ``pose``, ``light``; ``image_shape``; ``names``,
        the names of the classes of each attribute.

    Examples
    --------
    >>> from laminar.datasets import make_faces
    >>> faces = make_faces(n_identities=3, n_poses=2, n_lights=2, size=24, random_state=0)
    >>> faces.X.shape, faces.image_shape
    ((12, 576), (24, 24))
    >>> faces.names["pose"]
    ['yaw -35', 'yaw +35']
    """
    check_parameters("make_faces", locals())
    people_seed, pose_seed = check_random_state(random_state).randint(2**31 - 1, size=2)
    # One row of numbers a person, so that the first people do not depend on their number.
    people = np.random.RandomState(people_seed).uniform(size=(n_identities, len(_TRAITS) + len(_SHARES)))
    pose_errors = np.random.RandomState(pose_seed).uniform(-1, 1, size=(n_identities, n_poses, 3))
    yaws, azimuths = _evenly_spaced(35, n_poses), _evenly_spaced(62, n_lights)
    elevations = np.where(np.arange(n_lights) % 2 == 0, 22, 40)
    X = _render(people, yaws, pose_errors, _directions(azimuths, elevations), size).reshape(-1, size * size)
    identity, pose, light = (grid.ravel() for grid in np.indices((n_identities, n_poses, n_lights)))
    names = {
        "identity": [f"person {i + 1}" for i in range(n_identities)],
        "pose": [f"yaw {yaw:+.0f}" for yaw in yaws],
        "light": [f"azimuth {a:+.0f}, elevation {e:.0f}" for a, e in zip(azimuths, elevations, strict=True)],
    }
    shape = (size, size)
    return Bunch(X=X, data=X, identity=identity, pose=pose, light=light, image_shape=shape, names=names)


def _render(
    people: np.ndarray,
    yaws: np.ndarray,
    pose_errors: np.ndarray,
    lights: np.ndarray,
    size: int,
    *,
    oversample: int = 2,
    n_at_once: int = 16,
) -> np.ndarray:
    """Render images of shape (n_identities * n_poses, n_lights, size, size).

    A pixel is the mean of ``oversample`` by ``oversample`` rendered ones, against aliasing; ``n_at_once`` portraits are
    rendered at a time, so that a layer stays in cache.
    """
    person, pose = (grid.ravel() for grid in np.indices(pose_errors.shape[:2]))
    pose_errors = pose_errors.reshape(-1, 3)
    images = np.empty((len(person), len(lights), size, size), dtype=np.float32)
    for start in range(0, len(person), n_at_once):
        batch = slice(start, start + n_at_once)
        scene = Scene(_traits(people[person[batch]]), yaws[pose[batch]], pose_errors[batch], size * oversample)
        images[batch] = scene.draw().render(lights, oversample)
    return images


def _evenly_spaced(limit: float, n: int) -> np.ndarray:
    return np.linspace(-limit, limit, n) if n > 1 else np.zeros(1)


def _directions(azimuths: np.ndarray, elevations: np.ndarray) -> np.ndarray:
    """Return unit vectors towards the lights: x to the right, y down, z to the viewer."""
    a, e = np.deg2rad(azimuths), np.deg2rad(elevations)
    return np.stack([np.sin(a) * np.cos(e), -np.sin(e), np.cos(a) * np.cos(e)], axis=1).astype(np.float32)


def _traits(people: np.ndarray) -> Bunch:
    """Map uniform numbers, one row a person, to named traits of shape (n, 1, 1)."""
    columns = people.astype(np.float32).T[:, :, None, None]
    measures, chances = columns[: len(_TRAITS)], columns[len(_TRAITS) :]
    t = Bunch()
    for (name, (low, high)), value in zip(_TRAITS.items(), measures, strict=True):
        t[name] = low + value * (high - low)
    for (name, share), value in zip(_SHARES.items(), chances, strict=True):
        t[name] = (value < share).astype(np.float32)
    t.long_hair = t.long_hair * (1 - t.bald)
    # Hair ends above the ears or below the chin; in between it would cover half of the face.
    t.hair_length = np.where(t.long_hair > 0, 0.75 + 0.55 * t.hair_length, 0.25 * t.hair_length - 0.2)
    t.hair_tone = t.hair_tone * (0.3 + 0.85 * t.skin)
    return t
