"""Rendered portraits with known identity, pose, expression and light, and videos of an expression.

This module samples the traits of people and combines them with poses, action units and lights; `_portrait` renders
them.
"""

from collections.abc import Mapping

import numpy as np
from sklearn.utils import Bunch, check_random_state

from laminar._utils.typing import Seed
from laminar.datasets._action_units import EXPRESSIONS, move
from laminar.datasets._portrait import Scene
from laminar.datasets.synthetic import PHASES, check_parameters, trapezoid

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
    *,
    n_expressions: int = 1,
) -> Bunch:
    """Render grey portraits of every person in every pose, with every expression, under every light.

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
    n_expressions : int, default=1
        Number of expressions, at most 6: the first of neutral, smile, surprise, squint, disgust, scream.

    Returns
    -------
    Bunch
        ``X`` (also as ``data``) of shape (n_identities * n_poses * n_expressions * n_lights, size * size), float32 in
        [0, 1], images flattened row by row; labels ``identity``, ``pose``, ``expression``, ``light``; ``image_shape``;
        ``names``, the names of the classes of each attribute.

    See Also
    --------
    make_expression_video : Videos of an expression that comes and goes.

    Examples
    --------
    >>> from laminar.datasets import make_faces
    >>> faces = make_faces(n_identities=3, n_poses=2, n_lights=2, size=24, random_state=0)
    >>> faces.X.shape, faces.image_shape
    ((12, 576), (24, 24))
    >>> faces.names["pose"]
    ['yaw -35', 'yaw +35']
    >>> make_faces(3, 1, 1, n_expressions=3).names["expression"]
    ['neutral', 'smile', 'surprise']
    """
    check_parameters("make_faces", locals())
    people_seed, pose_seed = check_random_state(random_state).randint(2**31 - 1, size=2)
    shape = (n_identities, n_poses, n_expressions)
    people = _people(n_identities, people_seed)
    pose_errors = np.random.RandomState(pose_seed).uniform(-1, 1, size=(*shape, 3))
    yaws, azimuths = _evenly_spaced(35, n_poses), _evenly_spaced(62, n_lights)
    elevations = np.where(np.arange(n_lights) % 2 == 0, 22, 40)
    expressions = list(EXPRESSIONS)[:n_expressions]
    who, pose, expression = (grid.ravel() for grid in np.indices(shape))
    X = _render(
        people[who],
        yaws[pose],
        pose_errors.reshape(-1, 3),
        _intensities(expressions, expression),
        _directions(azimuths, elevations),
        size,
    ).reshape(-1, size * size)
    names = {
        "identity": [f"person {i + 1}" for i in range(n_identities)],
        "pose": [f"yaw {yaw:+.0f}" for yaw in yaws],
        "expression": expressions,
        "light": [f"azimuth {a:+.0f}, elevation {e:.0f}" for a, e in zip(azimuths, elevations, strict=True)],
    }
    labels = dict(zip(names, (grid.ravel() for grid in np.indices((*shape, n_lights))), strict=True))
    return Bunch(X=X, data=X, **labels, image_shape=(size, size), names=names)


def make_expression_video(
    unit: str = "mouth stretch",
    n_frames: int = 60,
    n_sequences: int = 1,
    *,
    size: int = 32,
    drift: float = 1.0,
    noise: float = 0.01,
    random_state: Seed = None,
) -> Bunch:
    """Render videos of a face in which one action unit comes and goes while the head drifts.

    Every sequence shows another person, neutral at first, then onset, apex and offset of the unit, then neutral. The
    intensity of the unit is a trapezoid, the phases being at other times in every sequence.

    Parameters
    ----------
    unit : str, default="mouth stretch"
        Action unit: "mouth stretch", "eyes closed", "lids raised", "brows raised", "brows lowered",
        "lip corners raised", "lip corners lowered" or "nose wrinkled".
    n_frames : int, default=60
        Frames a sequence, at least 10.
    n_sequences : int, default=1
        Number of sequences.
    size : int, default=32
        Height and width of the frames in pixels.
    drift : float, default=1.0
        Size of the slow movement of the head. 1 is up to 2 degrees to a side and up to 0.8 % of the image in each
        direction from the place of the first frame, as after an alignment; 0 is none.
    noise : float, default=0.01
        Standard deviation of normal noise; frames are then clipped to [0, 1].
    random_state : int, RandomState instance or None, default=None
        Seed of people, phases, drift and noise.

    Returns
    -------
    Bunch
        ``X`` (n_sequences * n_frames, size * size), float32 in [0, 1], frames flattened row by row, in order of time;
        ``image_shape``; ``groups``, the sequence of each frame; ``phase``, the phase of each frame as a position in
        ``phase_names``; ``boundaries`` (n_sequences, 4), the first frames of onset, apex, offset and the neutral end,
        counted from the start of the sequence, as `laminar.temporal.boundary_errors` takes them; ``intensity`` of the
        unit in each frame.

    See Also
    --------
    make_temporal : Sequences that are sums of given components.
    laminar.temporal.detect_phases : Detection of the phases.

    Examples
    --------
    >>> from laminar.datasets import make_expression_video
    >>> video = make_expression_video("eyes closed", 40, n_sequences=2, size=24, random_state=0)
    >>> video.X.shape, video.boundaries.shape
    ((80, 576), (2, 4))
    >>> [video.phase_names[code] for code in video.phase[[0, 20, 39]]]
    ['neutral', 'apex', 'neutral']
    """
    check_parameters("make_expression_video", locals())
    rng = check_random_state(random_state)
    people = _people(n_sequences, rng.randint(2**31 - 1))
    phase, intensity = map(np.concatenate, zip(*(trapezoid(n_frames, rng) for _ in range(n_sequences)), strict=True))
    movement = drift * np.concatenate([_smooth_walks(n_frames, 3, rng) for _ in range(n_sequences)])
    groups = np.repeat(np.arange(n_sequences), n_frames)
    frames = _render(
        people[groups],
        2 * movement[:, 0],
        movement * [0, 1.25, 1.25],  # in units of the errors of a pose: 0.015 half-images
        {unit: intensity},
        _directions(np.zeros(1), np.full(1, 22)),
        size,
    ).reshape(-1, size * size)
    frames = np.clip(frames + noise * rng.normal(size=frames.shape), 0, 1).astype(np.float32)
    return Bunch(
        X=frames,
        image_shape=(size, size),
        groups=groups,
        phase=phase,
        phase_names=PHASES,
        boundaries=np.array([np.flatnonzero(np.diff(codes)) + 1 for codes in phase.reshape(n_sequences, -1)]),
        intensity=intensity,
    )


def _people(n: int, seed: int) -> np.ndarray:
    """Draw one row of uniform numbers a person, so that the first people do not depend on their number."""
    return np.random.RandomState(seed).uniform(size=(n, len(_TRAITS) + len(_SHARES)))


def _intensities(expressions: list[str], which: np.ndarray) -> dict[str, np.ndarray]:
    """Return the intensities (n,) of the action units of portraits with these expressions."""
    units = dict.fromkeys(unit for name in expressions for unit in EXPRESSIONS[name])
    return {unit: np.array([EXPRESSIONS[name].get(unit, 0.0) for name in expressions])[which] for unit in units}


def _smooth_walks(n_frames: int, n_walks: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw slow movements (n_frames, n_walks) in [-1, 1], zero at first: sine waves of period 1 to 2 sequences."""
    time = np.arange(n_frames)[:, None] / n_frames
    waves = np.sin(2 * np.pi * (time / rng.uniform(1, 2, size=n_walks) + rng.uniform(size=n_walks)))
    return (waves - waves[0]) / 2


def _render(
    people: np.ndarray,
    yaws: np.ndarray,
    pose_errors: np.ndarray,
    intensities: Mapping[str, np.ndarray],
    lights: np.ndarray,
    size: int,
    *,
    oversample: int = 2,
    n_at_once: int = 16,
) -> np.ndarray:
    """Render images of shape (n, n_lights, size, size): one row of each of the other arguments a portrait.

    A pixel is the mean of ``oversample`` by ``oversample`` rendered ones, against aliasing; ``n_at_once`` portraits are
    rendered at a time, so that a layer stays in cache.
    """
    images = np.empty((len(people), len(lights), size, size), dtype=np.float32)
    for start in range(0, len(people), n_at_once):
        batch = slice(start, start + n_at_once)
        traits = _traits(people[batch])
        move(traits, {unit: values[batch] for unit, values in intensities.items()})
        scene = Scene(traits, yaws[batch], pose_errors[batch], size * oversample)
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
    t.mouth_open = np.zeros_like(t.lip)
    return t
