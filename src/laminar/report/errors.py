"""Standard errors of accuracies, and of differences of two, where samples are not independent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

MIN_GROUPS = 5
MIN_SCORED = 20  # fewer samples are no evidence of a gain
LEVEL = norm.sf(2)  # one-sided: two standard errors


def standard_error(values: np.ndarray, groups: Sequence[np.ndarray] = ()) -> float:
    """Return the standard error of a mean, the largest over ways to group the samples.

    With the sums ``s_g`` of the deviations from the mean in G groups, of which whole ones are drawn::

        se^2 = G / (G - 1) sum_g s_g^2 / n^2

    as the bootstrap over groups gives for many draws [1]_. Every sample by itself is one way to group them. Two further
    samples, one of each extreme, keep the error of few equal values from being zero [2]_.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Values from 0 to 1, or differences of such from -1 to 1.
    groups : sequence of ndarray of shape (n_samples,)
        Ways to group the samples; those with fewer than `MIN_GROUPS` groups are left out.

    Returns
    -------
    float
        The error.

    References
    ----------
    .. [1] K.-Y. Liang and S. Zeger, Longitudinal data analysis using generalized linear models, Biometrika 73, 1986.
    .. [2] A. Agresti and B. Caffo, Simple and effective confidence intervals for proportions, The American Statistician
       54, 2000.

    Examples
    --------
    >>> values, people = np.repeat([1.0, 0.0, 1.0, 1.0, 0.0], 30), np.repeat(np.arange(5), 30)
    >>> float(round(standard_error(values), 3)), float(round(standard_error(values, [people]), 3))
    (0.04, 0.234)
    """
    n = len(values)
    if not n:
        return float("nan")
    extremes = (1.0, -1.0) if values.min() < 0 else (1.0, 0.0)
    padded = np.concatenate([values, extremes])
    alone = np.arange(n + 2)
    errors = [_grouped_error(padded, alone)]
    for group in groups:
        names, positions = np.unique(group, return_inverse=True)
        if len(names) >= MIN_GROUPS:
            errors.append(_grouped_error(padded, np.concatenate([positions, len(names) + np.arange(2)])))
    return float(max(errors))


def _grouped_error(values: np.ndarray, groups: np.ndarray) -> float:
    sums = np.bincount(groups, values - values.mean())
    count = len(sums)
    return float(np.sqrt(count / (count - 1) * np.square(sums).sum()) / len(values))


def threshold(n_layers: int) -> float:
    """Return how many standard errors a gain needs: two, and more where the best of several layers is picked.

    Parameters
    ----------
    n_layers : int
        Number of layers that are compared.

    Returns
    -------
    float
        The quantile of the normal distribution at `LEVEL` divided by the number of layers (Bonferroni).

    Examples
    --------
    >>> [round(threshold(n), 2) for n in (1, 4)]
    [2.0, 2.53]
    """
    return float(norm.isf(LEVEL / n_layers))


def is_gain(better: np.ndarray, base: np.ndarray, groups: Sequence[np.ndarray], n_layers: int) -> bool:
    """Whether one method is right more often than another, by more than chance and grouping explain.

    Parameters
    ----------
    better, base : ndarray of shape (n_samples,)
        1 for samples that a method has right, 0 for others, NaN for those it has no answer for.
    groups : sequence of ndarray of shape (n_samples,)
        Ways to group the samples.
    n_layers : int
        Number of layers that one was picked from.

    Returns
    -------
    bool
        Whether the paired difference is above `threshold` standard errors.

    Examples
    --------
    >>> right = np.ones(100)
    >>> is_gain(right, 1 - right, [], 1), is_gain(right, right, [], 1)
    (True, False)
    """
    both = np.isfinite(better) & np.isfinite(base)
    difference = (better - base)[both]
    if len(difference) < MIN_SCORED:
        return False
    return bool(difference.mean() > threshold(n_layers) * standard_error(difference, [group[both] for group in groups]))
