"""Slowness of features, invariant to their scale."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from .._engine.linalg.small import safe_divide
from .._utils.validation import check_choice
from ..graphs import Chain


def slowness(
    H: ArrayLike, groups: ArrayLike | None = None, components: ArrayLike | None = None, *, min_variance: float = 1e-6
) -> np.ndarray:
    """Compute the delta value of every feature: its mean squared change between successive frames, over its variance.

    It is invariant to the scale and offset of a feature: 2 for white noise, 4 for alternating values, 0 for a feature
    that is constant in every sequence. The sum of squared changes alone, which some authors minimise, is lowest for the
    smallest feature rather than the slowest.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_components)
        Features of frames in order of time.
    groups : array-like of shape (n_samples,), default=None
        The sequence of each frame; None means that all are one sequence.
    components : array-like of shape (n_components, n_features), default=None
        Components of the features, by whose norms the features are multiplied, so that variances are comparable where
        the scale of features is arbitrary.
    min_variance : float, default=1e-6
        Features with less than this part of the largest variance count as constant.

    Returns
    -------
    deltas : ndarray of shape (n_components,)
        Infinite for a constant feature, so that it is never the slowest.

    See Also
    --------
    slowest_feature : The slowest feature and its signal.
    laminar.graphs.Chain : The graph of successive frames.

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
    H = H / (np.abs(H).max() or 1)  # so that squares do not overflow
    variance = H.var(axis=0)
    variance[variance <= 1e-24 * (H**2).mean(axis=0)] = 0  # rounding error of a constant
    variance[variance < min_variance * variance.max()] = 0
    return safe_divide(_mean_squared_changes(H, groups), variance, fill=np.inf)


def slowest_feature(
    model_or_H: Any, X: ArrayLike | None = None, groups: ArrayLike | None = None, *, criterion: str = "delta"
) -> tuple[int, np.ndarray]:
    """Find the slowest feature of a model, or of given features.

    With h_a the feature in all frames and L the Laplacian of the chains of the sequences::

        criterion="delta"        argmin_a  h_a^T L h_a / ||h_a - mean||^2                                           (1)
        criterion="published"    argmin_a  h_a^T L h_a                                                              (2)

    (2) is the selection of [1]_, section 4. It depends on the scale of the features: half a feature has a quarter of
    its value, a component that is not used has 0 and is chosen. (1) does not, and leaves out constant features.

    Parameters
    ----------
    model_or_H : fitted transformer, or array-like of shape (n_samples, n_components)
        A model of Laminar, `SlowFeatureAnalysis`, scikit-learn's PCA, a pipeline, or features.
    X : array-like of shape (n_samples, n_features), default=None
        Frames in order of time, which the model transforms. None means the training frames, whose codes the
        factorisations of Laminar store; other models need X.
    groups : array-like of shape (n_samples,), default=None
        The sequence of each frame; None means that all are one sequence. A model whose ``transform`` takes groups, as
        that of `SlowFeatureNMF` does, is given them.
    criterion : {"delta", "published"}, default="delta"
        (1), the delta value of `slowness`; or (2), of the features as the model or the array gives them.

    Returns
    -------
    index : int
        Position of the feature.
    signal : ndarray of shape (n_samples,)
        Its value in every frame; in the units of X if the model has an ``inverse_transform``.

    See Also
    --------
    slowness : Delta values of all features.

    References
    ----------
    .. [1] L. Zafeiriou, S. Nikitidis, S. Zafeiriou and M. Pantic, Slow features nonnegative matrix factorization for
       temporal data decomposition, IEEE International Conference on Image Processing (ICIP), 2014.

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
    check_choice("criterion", criterion, ("delta", "published"))
    if hasattr(model_or_H, "transform"):
        given = _features(model_or_H, X, groups)
        H = _scaled(given, _patterns(model_or_H, given.shape[1]))
    else:
        given = H = _scaled(model_or_H, None)
    if criterion == "published":
        index = int(_mean_squared_changes(given / (np.abs(given).max() or 1), groups).argmin())
        return index, H[:, index]
    deltas = slowness(H, groups)
    index = int(deltas.argmin())
    if np.isinf(deltas[index]):
        raise ValueError(f"none of the {H.shape[1]} features varies, so none is the slowest.")
    return index, H[:, index]


def _mean_squared_changes(H: np.ndarray, groups: ArrayLike | None) -> np.ndarray:
    """Return ``h_a^T L h_a`` of every feature, over the number of steps in time."""
    chain = Chain().build(H, groups=groups)
    n_steps = chain.degree.sum() / 2
    if not n_steps:
        raise ValueError(f"no sequence has two frames among the {len(H)} samples: slowness needs steps in time.")
    return chain.quad_columns(H) / n_steps


def _scaled(H: ArrayLike, components: ArrayLike | None) -> np.ndarray:
    """Validate features and multiply them by the norms of their components."""
    H = check_array(H, dtype=np.float64, input_name="H")
    if components is None:
        return H
    Z = check_array(components, dtype=np.float64, input_name="components")
    if len(Z) != H.shape[1]:
        raise ValueError(f"components must have one row for each of the {H.shape[1]} features, got {len(Z)} rows.")
    return H * np.linalg.norm(Z, axis=1)


def _features(model: Any, X: ArrayLike | None, groups: ArrayLike | None) -> np.ndarray:
    """Return the features of X, or of the training frames if the model stores them."""
    if X is not None:
        known = {"groups": groups} if "groups" in signature(model.transform).parameters else {}
        return np.asarray(model.transform(X, **known))
    if not hasattr(model, "layers_"):
        raise ValueError(
            f"{type(model).__name__} does not keep its training features (or is not fitted): fit it, and give X."
        )
    return model.layers_[-1].representation


def _patterns(model: Any, k: int) -> np.ndarray | None:
    """Return the change of a frame per unit of each feature; ``components_`` may be filters instead."""
    if not hasattr(model, "inverse_transform"):
        return None
    frames = np.asarray(model.inverse_transform(np.vstack([np.zeros(k), np.eye(k)])))
    return frames[1:] - frames[0]
