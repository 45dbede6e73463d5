"""Synthetic data with known structure."""

from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from laminar._utils.typing import Seed
from laminar.datasets._action_units import ACTION_UNITS, EXPRESSIONS

PHASES = ("neutral", "onset", "apex", "offset")  # names of the codes of phases


def _at_least(kind: type, bound: int) -> list[Interval]:
    return [Interval(kind, bound, None, closed="left")]


_COUNTS = ("n_samples", "n_features", "n_components", "n_per_corner", "n_sequences", "n_classes")
_FACES = ("n_identities", "n_poses", "n_lights", "size")
_CONSTRAINTS = {
    **dict.fromkeys((*_COUNTS, *_FACES), _at_least(Integral, 1)),
    **dict.fromkeys(("n_slow", "n_fast", "n_noise_features", "per_class_min"), _at_least(Integral, 0)),
    **dict.fromkeys(("noise", "spread", "scales", "drift"), _at_least(Real, 0)),
    "n_expressions": [Interval(Integral, 1, len(EXPRESSIONS), closed="both")],
    "unit": [StrOptions(set(ACTION_UNITS))],
    "levels": _at_least(Integral, 2),
    "n_frames": _at_least(Integral, 10),  # to hold every phase
    "distance": [Real],
    "density": [Interval(Real, 0, 1, closed="right")],
    "frac": [Interval(Real, 0, 1, closed="both")],
    "basis": [StrOptions({"gamma", "normal"})],
    "random_state": ["random_state"],
}


def check_parameters(maker: str, parameters: dict, sequences: Sequence[str] = ()) -> None:
    """Validate the parameters of a function of this package, given its ``locals()``; of sequences, every entry."""
    for name, value in parameters.items():
        if name in sequences and (np.ndim(value) != 1 or not len(value)):
            raise ValueError(f"{name} must be a sequence of one or more numbers, got {value!r}.")
        for item in value if name in sequences else (value,):
            validate_parameter_constraints(_CONSTRAINTS, {name: item}, maker)


def make_lowrank(
    n_samples: int = 100,
    n_features: int = 50,
    n_components: int = 5,
    *,
    noise: float = 0.0,
    basis: str = "gamma",
    density: float = 1.0,
    random_state: Seed = None,
) -> Bunch:
    """Draw a product of factors, ``X = H Z + noise``.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Shape of the data and of the factors.
    noise : float, default=0.0
        Standard deviation of normal noise. With a gamma basis negative entries of X are then set to zero.
    basis : {"gamma", "normal"}, default="gamma"
        "gamma" gives a non-negative basis and non-negative X, "normal" a basis of mixed sign.
    density : float, default=1.0
        Share of the codes that are not zero; every sample has at least one.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Bunch
        ``X`` (n_samples, n_features), ``H`` (n_samples, n_components) >= 0, ``Z`` (n_components, n_features).

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.datasets import make_lowrank
    >>> data = make_lowrank(30, 12, 4, random_state=0)
    >>> int(np.linalg.matrix_rank(data.X)), bool((data.X >= 0).all())
    (4, True)
    """
    check_parameters("make_lowrank", locals())
    rng = check_random_state(random_state)
    H = rng.gamma(1.0, 1.0, size=(n_samples, n_components))
    keep = rng.uniform(size=H.shape) < density
    keep[np.arange(n_samples), rng.randint(n_components, size=n_samples)] = True
    H *= keep
    shape = (n_components, n_features)
    Z = rng.gamma(1.0, 1.0, size=shape) if basis == "gamma" else rng.normal(size=shape)
    X = H @ Z + noise * rng.normal(size=(n_samples, n_features))
    if basis == "gamma":
        np.maximum(X, 0, out=X)
    return Bunch(X=X, H=H, Z=Z)


def make_attributes(
    n_samples: int = 200,
    levels: Sequence[int] = (3, 4, 10),
    *,
    n_features: int = 50,
    scales: Sequence[float] = (3.0, 2.0, 1.0),
    noise: float = 0.1,
    random_state: Seed = None,
) -> Bunch:
    """Draw samples that are sums of one effect per attribute, the first attribute being the strongest.

    With the default three attributes, ``x = a[pose] + b[expression] + c[identity] + noise``.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    levels : sequence of int, default=(3, 4, 10)
        Number of classes of each attribute.
    n_features : int, default=50
        Number of features.
    scales : sequence of float, default=(3.0, 2.0, 1.0)
        Root mean square of each attribute's effects.
    noise : float, default=0.1
        Standard deviation of the noise.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Bunch
        ``X``; ``y`` (n_samples, n_attributes); ``maps``, the (n_classes, n_features) effects of each of them.

    See Also
    --------
    sample_attributes : A second draw from the same maps.

    Examples
    --------
    >>> from laminar.datasets import make_attributes, sample_attributes
    >>> train = make_attributes(60, random_state=0)
    >>> test = sample_attributes(train.maps, 20, random_state=1)
    >>> train.y.shape, test.X.shape
    ((60, 3), (20, 50))
    """
    check_parameters("make_attributes", locals(), ("levels", "scales"))
    if len(levels) != len(scales):
        raise ValueError(f"levels and scales must be equally long, got {len(levels)} and {len(scales)}")
    rng = check_random_state(random_state)
    maps = []
    for n_classes, scale in zip(levels, scales, strict=True):
        effects = rng.normal(size=(n_classes, n_features))
        effects -= effects.mean(axis=0)
        maps.append(effects * scale / np.sqrt(np.mean(effects**2)))
    return sample_attributes(maps, n_samples, noise=noise, random_state=rng)


def sample_attributes(
    maps: Sequence[np.ndarray], n_samples: int = 200, *, noise: float = 0.1, random_state: Seed = None
) -> Bunch:
    """Draw samples from given effects of attributes.

    Parameters
    ----------
    maps : sequence of ndarray of shape (n_classes, n_features)
        The effects of each attribute's classes, such as the ``maps`` of :func:`make_attributes`.
    n_samples : int, default=200
        Number of samples. Classes are as balanced as possible, attributes independent of each other.
    noise : float, default=0.1
        Standard deviation of the noise.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Bunch
        ``X``, ``y`` and ``maps`` as from :func:`make_attributes`.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.datasets import sample_attributes
    >>> sample_attributes([np.eye(2), 5 * np.eye(2)], 4, noise=0.0, random_state=0).X.sum(axis=1)
    array([6., 6., 6., 6.])
    """
    check_parameters("sample_attributes", locals())
    maps = [check_array(effects, input_name="maps") for effects in maps]
    if len({effects.shape[1] for effects in maps}) != 1:
        raise ValueError(f"maps must be one or more arrays of the same features, got {[m.shape for m in maps]}.")
    rng = check_random_state(random_state)
    y = np.column_stack([rng.permutation(np.arange(n_samples) % len(effects)) for effects in maps])
    X = sum(effects[labels] for effects, labels in zip(maps, y.T, strict=True))
    return Bunch(X=X + noise * rng.normal(size=X.shape), y=y, maps=maps)


def make_xor(n_per_corner: int = 25, *, distance: float = 3.0, spread: float = 1.0, random_state: Seed = None) -> Bunch:
    """Draw four normal clouds at the corners of a square: two people, the diagonals, each in two poses, its sides.

    Pose can be read from the first coordinate, identity from no linear function of the data ([1]_, sec. 6.1, Fig. 4).

    Parameters
    ----------
    n_per_corner : int, default=25
        Samples a cloud.
    distance : float, default=3.0
        The clouds' means are (±distance, ±distance).
    spread : float, default=1.0
        Standard deviation of a cloud.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Bunch
        ``X`` (4 * n_per_corner, 2); ``pose``, 0 at the left and 1 at the right; ``identity`` (also as ``y``), 1 where
        the signs of the corner agree and 0 where they differ; ``corner``, the cloud of each sample.

    References
    ----------
    .. [1] G. Trigeorgis, K. Bousmalis, S. Zafeiriou and B. Schuller, A deep matrix factorization method for learning
       attribute representations, arXiv:1509.03248.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.datasets import make_xor
    >>> data = make_xor(random_state=0)
    >>> data.X.shape
    (100, 2)
    >>> np.column_stack([data.pose, data.identity])[::25].tolist()
    [[0, 1], [0, 0], [1, 0], [1, 1]]
    """
    check_parameters("make_xor", locals())
    rng = check_random_state(random_state)
    signs = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    corner = np.repeat(np.arange(4), n_per_corner)
    X = distance * signs[corner] + spread * rng.normal(size=(len(corner), 2))
    pose, identity = ((values[corner] > 0).astype(int) for values in (signs[:, 0], signs.prod(axis=1)))
    return Bunch(X=X, y=identity, pose=pose, identity=identity, corner=corner)


def make_temporal(
    n_frames: int = 60,
    n_sequences: int = 1,
    *,
    n_features: int = 64,
    n_slow: int = 1,
    n_fast: int = 4,
    noise: float = 0.01,
    random_state: Seed = None,
) -> Bunch:
    """Draw frames that are sums of components, some with slow (trapezoid) and some with fast activations.

    Parameters
    ----------
    n_frames : int, default=60
        Frames a sequence, at least 10.
    n_sequences : int, default=1
        Number of sequences, with the same components and different times of the phases.
    n_features : int, default=64
        Pixels a frame.
    n_slow, n_fast : int, default=1, 4
        Number of slow components (trapezoid activation) and of fast ones (independent in time or alternating).
    noise : float, default=0.01
        Standard deviation of normal noise; negative pixels are then set to zero.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Bunch
        ``X`` (n_sequences * n_frames, n_features) >= 0; ``phase``, codes of ``phase_names``; ``sequence``,
        the sequence of each frame; ``activations`` (slow ones first) and ``parts``, the components, whose product
        is X but for noise.

    Examples
    --------
    >>> from laminar.datasets import make_temporal
    >>> film = make_temporal(40, n_sequences=2, random_state=0)
    >>> film.X.shape, film.phase_names[film.phase[20]]
    ((80, 64), 'apex')
    """
    check_parameters("make_temporal", locals())
    rng = check_random_state(random_state)
    parts = rng.gamma(1.0, 1.0, size=(n_slow + n_fast, n_features))
    films = []
    for _ in range(n_sequences):
        phase, height = trapezoid(n_frames, rng)
        slow = np.outer(height, rng.uniform(0.8, 1.2, size=n_slow))
        films.append((np.hstack([slow, _fast_activations(n_frames, n_fast, rng)]), phase))
    activations, phase = (np.concatenate(arrays) for arrays in zip(*films, strict=True))
    X = np.maximum(activations @ parts + noise * rng.normal(size=(len(activations), n_features)), 0)
    sequence = np.repeat(np.arange(n_sequences), n_frames)
    return Bunch(X=X, phase=phase, phase_names=PHASES, sequence=sequence, activations=activations, parts=parts)


def trapezoid(n_frames: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Draw the phase of every frame (neutral, onset, apex, offset, neutral) and the height of the trapezoid."""
    starts = np.array([0.18, 0.34, 0.66, 0.82]) + rng.uniform(-0.05, 0.05, size=4)
    onset, apex, offset, neutral = np.round(starts * n_frames).astype(int)
    frame = np.arange(n_frames)
    height = np.interp(frame, [onset - 1, apex, offset - 1, neutral], [0.0, 1.0, 1.0, 0.0])
    phase = np.zeros(n_frames, dtype=int)
    phase[onset:apex], phase[apex:offset], phase[offset:neutral] = 1, 2, 3
    return phase, height


def _fast_activations(n_frames: int, n_fast: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw the activations of fast components: even columns independent in time, odd ones alternating."""
    independent = rng.gamma(1.0, 0.4, size=(n_frames, n_fast))
    periods = rng.uniform(2.0, 3.0, size=n_fast)
    phases = rng.uniform(0, 2 * np.pi, size=n_fast)
    wave = 0.4 * (1 + np.cos(2 * np.pi * np.arange(n_frames)[:, None] / periods + phases))
    return np.where(np.arange(n_fast) % 2 == 0, independent, wave)


def make_views(
    n_samples: int = 200,
    n_classes: int = 4,
    n_features: Sequence[int] = (30, 40, 50),
    *,
    noise: float = 0.5,
    n_noise_features: int = 0,
    random_state: Seed = None,
) -> Bunch:
    """Draw several views of the same clusters, with different cluster means.

    Parameters
    ----------
    n_samples, n_classes : int
        Number of samples and of clusters, which are as balanced as possible.
    n_features : sequence of int, default=(30, 40, 50)
        Features of each view.
    noise : float, default=0.5
        Standard deviation of normal noise; negative entries are then set to zero.
    n_noise_features : int, default=0
        Number of features of a last view that is independent of the clusters; 0 is none.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Bunch
        ``views``, a list of non-negative arrays; ``y``; ``maps``, the (n_classes, n_features) cluster means of
        each view but that of noise.

    Examples
    --------
    >>> from laminar.datasets import make_views
    >>> [view.shape for view in make_views(60, n_noise_features=8, random_state=0).views]
    [(60, 30), (60, 40), (60, 50), (60, 8)]
    """
    check_parameters("make_views", locals(), ("n_features",))
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n_samples) % n_classes)
    maps = [rng.gamma(1.0, 1.0, size=(n_classes, p)) for p in n_features]
    views = [np.maximum(m[y] + noise * rng.normal(size=(n_samples, m.shape[1])), 0) for m in maps]
    if n_noise_features:
        views.append(rng.gamma(1.0, 1.0, size=(n_samples, n_noise_features)))
    return Bunch(views=views, y=y, maps=maps)


def partial_labels(y: ArrayLike, frac: float, per_class_min: int = 1, random_state: Seed = None) -> np.ndarray:
    """Hide labels: the same share of every class stays known, all others become -1.

    Parameters
    ----------
    y : array-like of int of shape (n,) or (n, n_attributes)
        Labels; each column is hidden on its own. Labels already -1 stay so.
    frac : float
        Share of the labels to keep, within [0, 1].
    per_class_min : int, default=1
        Fewest labels to keep of every class; of a smaller class, all.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    ndarray
        A copy of `y` with hidden labels.

    Examples
    --------
    >>> from laminar.datasets import partial_labels
    >>> partial_labels([0, 0, 0, 0, 1, 1, 1, 1], frac=0.5, random_state=0)
    array([-1, -1,  0,  0,  1, -1,  1, -1])
    """
    check_parameters("partial_labels", locals())
    y = np.array(y)
    if y.dtype.kind not in "iu" or y.ndim not in (1, 2):
        raise ValueError(f"y must hold integers in one or two dimensions, got {y.dtype} in {y.ndim}")
    rng = check_random_state(random_state)
    known = np.full(y.shape, -1, dtype=np.result_type(y.dtype, np.int8))
    for labels, kept in zip(np.atleast_2d(y.T), np.atleast_2d(known.T), strict=True):
        for label in np.unique(labels[labels >= 0]):
            members = rng.permutation(np.flatnonzero(labels == label))
            count = max(per_class_min, round(frac * len(members)))
            kept[members[:count]] = label
    return known
