"""How slowly features change from frame to frame, whatever their scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from ..graphs import Chain

_DEAD = 1e-6  # part of the largest variance below which a feature says nothing


def slowness(H: ArrayLike, groups: ArrayLike | None = None, components: ArrayLike | None = None) -> np.ndarray:
    """Delta value of every feature: its mean squared change from a frame to the next, over its variance.

    It does not depend on a feature's scale or offset; 2 is noise, 4 the fastest flicker, and 0 no change inside any
    sequence. The sum of squared changes alone, which some authors minimise, finds the smallest feature rather than
    the slowest.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_components)
        Features of frames in order of time.
    groups : array-like of shape (n_samples,), default=None
        The sequence of each frame; None means that all are one sequence.
    components : array-like of shape (n_components, n_features), default=None
        What each feature stands for in a frame. Given, it makes the variances of features comparable where the model
        leaves their scale open.

    Returns
    -------
    deltas : ndarray of shape (n_components,)
        Infinite for a dead feature, one whose variance is below a millionth of the largest: it then comes last in any
        order and is never the slowest.

    See Also
    --------
    slowest_feature : The slowest one and its signal.
    laminar.graphs.Chain : The graph behind it.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.temporal import slowness
    >>> t = np.arange(100)
    >>> H = np.column_stack([np.sin(2 * np.pi * t / 50), (-1.0) ** t, np.zeros(100)])
    >>> slowness(H).round(3)
    array([0.016, 4.   ,   inf])
    """
    H = _scaled(H, components)
    chain = Chain().build(H, groups=groups)
    n_steps = chain.degree.sum() / 2
    if not n_steps:
        raise ValueError(f"no sequence has two frames among the {len(H)} samples: slowness needs steps in time.")
    H = H / (np.abs(H).max() or 1)  # squares stay in range
    variance = H.var(axis=0)
    variance[variance <= 1e-24 * (H**2).mean(axis=0)] = 0  # a constant leaves rounding
    alive = (variance > 0) & (variance >= _DEAD * variance.max())
    return np.divide(chain.quad_columns(H) / n_steps, variance, out=np.full(len(variance), np.inf), where=alive)


def slowest_feature(
    model_or_H: Any, X: ArrayLike | None = None, groups: ArrayLike | None = None
) -> tuple[int, np.ndarray]:
    """Find the slowest feature of a model, or of features given as they are.

    Parameters
    ----------
    model_or_H : fitted transformer, or array-like of shape (n_samples, n_components)
        A model of Laminar, `SlowFeatureAnalysis`, scikit-learn's PCA, a pipeline, or features.
    X : array-like of shape (n_samples, n_features), default=None
        Frames in order of time, for the model to transform. None means the training frames, whose codes the
        factorisations of Laminar keep; other models need X.
    groups : array-like of shape (n_samples,), default=None
        The sequence of each frame; None means that all are one sequence.

    Returns
    -------
    index : int
        Which feature.
    signal : ndarray of shape (n_samples,)
        Its value in every frame, in the units of X where the model can map features back to X.

    See Also
    --------
    slowness : How slow each feature is.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from laminar.datasets import make_temporal
    >>> from laminar.temporal import slowest_feature
    >>> film = make_temporal(random_state=0)
    >>> index, signal = slowest_feature(PCA(5).fit(film.X), film.X)
    >>> index, signal.shape
    (3, (60,))
    """
    if hasattr(model_or_H, "transform"):
        H = _features(model_or_H, X)
        H = _scaled(H, _patterns(model_or_H, H.shape[1]))
    else:
        H = _scaled(model_or_H, None)
    deltas = slowness(H, groups)
    index = int(deltas.argmin())
    if np.isinf(deltas[index]):
        raise ValueError(f"none of the {H.shape[1]} features varies, so none is the slowest.")
    return index, H[:, index]


def _scaled(H: ArrayLike, components: ArrayLike | None) -> np.ndarray:
    """Features, checked, and scaled by the length of what they stand for."""
    H = check_array(H, dtype=np.float64, input_name="H")
    if components is None:
        return H
    Z = check_array(components, dtype=np.float64, input_name="components")
    if len(Z) != H.shape[1]:
        raise ValueError(f"components must have one row for each of the {H.shape[1]} features, got {len(Z)} rows.")
    return H * np.linalg.norm(Z, axis=1)


def _features(model, X: ArrayLike | None) -> np.ndarray:
    """Features of X, or of the training frames where the model kept them."""
    if X is not None:
        return np.asarray(model.transform(X))
    if not hasattr(model, "layers_"):
        raise ValueError(
            f"{type(model).__name__} does not keep its training features (or is not fitted): fit it, and give X."
        )
    return model.layers_[-1].representation


def _patterns(model, k: int) -> np.ndarray | None:
    """What a unit of each feature adds to a frame; ``components_`` may be filters, which say nothing of it."""
    if not hasattr(model, "inverse_transform"):
        return None
    frames = np.asarray(model.inverse_transform(np.vstack([np.zeros(k), np.eye(k)])))
    return frames[1:] - frames[0]
