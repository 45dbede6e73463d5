"""Scores of the agreement of clusters ``c`` with true classes ``y``, invariant to the names of both.

Every function takes one label per sample, numbers or strings. -1 is a label like any other here (classes are
often coded -1 and 1): keep only the samples whose class is known before scoring.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import trapezoid
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, mutual_info_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix

from laminar._utils.labels import is_missing, label_array

__all__ = [
    "PairwiseScores",
    "adjusted_rand_index",
    "area_under_components",
    "clustering_accuracy",
    "clustering_report",
    "mutual_information",
    "normalized_mutual_information",
    "pairwise_precision_recall_f",
]

Average = Literal["geometric", "max", "arithmetic", "min"]
_AVERAGES = get_args(Average)


class PairwiseScores(NamedTuple):
    """Precision, recall and F over pairs of samples.

    Attributes
    ----------
    precision : float
        Part of the pairs in one cluster that are in one class.
    recall : float
        Part of the pairs in one class that are in one cluster.
    f : float
        Harmonic mean of both.

    Examples
    --------
    >>> PairwiseScores(precision=1.0, recall=0.5, f=2 / 3).recall
    0.5
    """

    precision: float
    recall: float
    f: float


def clustering_accuracy(y: ArrayLike, c: ArrayLike) -> float:
    """Compute the share of samples whose cluster is matched to their class, under the best one-to-one matching.

    When the numbers of clusters and classes differ, samples of unmatched ones count as wrong.

    Parameters
    ----------
    y, c : array-like of shape (n_samples,)
        True classes and clusters.

    Returns
    -------
    float
        In (0, 1]; 1 for equal partitions.

    Examples
    --------
    >>> clustering_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 2])
    0.75
    """
    y, c = _codes(y, c)
    counts = contingency_matrix(y, c)
    classes, clusters = linear_sum_assignment(counts, maximize=True)
    return float(counts[classes, clusters].sum() / len(y))


def mutual_information(y: ArrayLike, c: ArrayLike) -> float:
    """Compute the mutual information of classes and clusters, in nats.

    Parameters
    ----------
    y, c : array-like of shape (n_samples,)
        True classes and clusters.

    Returns
    -------
    float
        At least 0; at most the smaller of the two entropies.

    Examples
    --------
    >>> round(mutual_information([0, 0, 1, 1], ["a", "a", "b", "b"]), 6)
    0.693147
    """
    return float(mutual_info_score(*_codes(y, c)))


def normalized_mutual_information(y: ArrayLike, c: ArrayLike, average: Average = "geometric") -> float:
    """Compute the mutual information divided by an average of the two entropies.

    Papers use different averages, and their numbers are not comparable: on the same clusters
    ``max <= arithmetic <= geometric <= min``.

    Parameters
    ----------
    y, c : array-like of shape (n_samples,)
        True classes and clusters.
    average : {"geometric", "max", "arithmetic", "min"}
        Average of the entropies.

    Returns
    -------
    float
        In [0, 1]. 1 when both partitions have a single part, 0 when exactly one has.

    Examples
    --------
    >>> round(normalized_mutual_information([0, 0, 1, 1], [0, 0, 1, 2], average="max"), 6)
    0.666667
    """
    if average not in _AVERAGES:
        raise ValueError(f"average must be one of {', '.join(map(repr, _AVERAGES))}; got {average!r}.")
    return float(normalized_mutual_info_score(*_codes(y, c), average_method=average))


def adjusted_rand_index(y: ArrayLike, c: ArrayLike) -> float:
    """Compute the Rand index, the agreement over pairs of samples, corrected for chance.

    Parameters
    ----------
    y, c : array-like of shape (n_samples,)
        True classes and clusters.

    Returns
    -------
    float
        1 for equal partitions, near 0 for independent ones; it can be negative.

    Examples
    --------
    >>> adjusted_rand_index([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return float(adjusted_rand_score(*_codes(y, c)))


def pairwise_precision_recall_f(y: ArrayLike, c: ArrayLike) -> PairwiseScores:
    """Compute precision, recall and F over pairs of samples that share a cluster, against those that share a class.

    Parameters
    ----------
    y, c : array-like of shape (n_samples,)
        True classes and clusters.

    Returns
    -------
    PairwiseScores
        ``precision`` over the pairs that share a cluster, ``recall`` over the pairs that share a class, and
        their harmonic mean ``f``. Precision and recall are 1 where there is no such pair.

    Examples
    --------
    >>> precision, recall, f = pairwise_precision_recall_f([0, 0, 0, 1], [0, 0, 1, 1])
    >>> precision, round(recall, 6), f
    (0.5, 0.333333, 0.4)
    """
    (_, false_positive), (false_negative, true_positive) = pair_confusion_matrix(*_codes(y, c)).tolist()
    together, same_class = true_positive + false_positive, true_positive + false_negative
    precision = true_positive / together if together else 1.0
    recall = true_positive / same_class if same_class else 1.0
    f = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return PairwiseScores(precision, recall, f)


def area_under_components(n_components: ArrayLike, accuracies: ArrayLike) -> float:
    """Compute the area under accuracy as a function of the number of components, by the trapezoid rule.

    Parameters
    ----------
    n_components : array-like of shape (n_points,)
        Numbers of components, increasing.
    accuracies : array-like of shape (n_points,)
        The score, in [0, 1], at each of them.

    Returns
    -------
    float
        At most ``n_components[-1] - n_components[0]``: 50 over 20, 30, ..., 70.

    Examples
    --------
    >>> area_under_components([20, 30, 40], [0.5, 0.7, 0.9])
    14.0
    """
    x, score = np.asarray(n_components, dtype=float), np.asarray(accuracies, dtype=float)
    if x.ndim != 1 or x.shape != score.shape or len(x) < 2:
        raise ValueError(
            "n_components and accuracies must be two lists of one length, with two points at least; "
            f"got shapes {x.shape} and {score.shape}."
        )
    if not np.all(np.diff(x) > 0):
        raise ValueError(f"n_components must increase; got {x.tolist()}. Sort both lists by n_components.")
    if not np.all((score >= 0) & (score <= 1)):
        raise ValueError(f"accuracies must lie in [0, 1]; got {score.tolist()}. Divide percentages by 100.")
    return float(trapezoid(score, x))


def clustering_report(y: ArrayLike, c: ArrayLike, average: Average = "arithmetic") -> dict[str, float]:
    """Compute the six scores of tables of multi-view clustering.

    Parameters
    ----------
    y, c : array-like of shape (n_samples,)
        True classes and clusters.
    average : {"geometric", "max", "arithmetic", "min"}
        Average that normalises the mutual information; those tables use the arithmetic mean.

    Returns
    -------
    dict
        Keys ``NMI``, ``ACC``, ``ARI``, ``F``, ``precision``, ``recall``.

    Examples
    --------
    >>> clustering_report([0, 0, 1, 1], [1, 1, 0, 0])
    {'NMI': 1.0, 'ACC': 1.0, 'ARI': 1.0, 'F': 1.0, 'precision': 1.0, 'recall': 1.0}
    """
    pairs = pairwise_precision_recall_f(y, c)
    return {
        "NMI": normalized_mutual_information(y, c, average),
        "ACC": clustering_accuracy(y, c),
        "ARI": adjusted_rand_index(y, c),
        "F": pairs.f,
        "precision": pairs.precision,
        "recall": pairs.recall,
    }


def _codes(y: ArrayLike, c: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Validate both partitions and encode them as integers."""
    y, c = _integers("y", y), _integers("c", c)
    if len(y) != len(c):
        raise ValueError(f"y has {len(y)} labels and c has {len(c)}; give one of each for every sample.")
    if len(y) == 0:
        raise ValueError("y and c are empty; a score needs one sample at least.")
    return y, c


def _integers(name: str, labels: ArrayLike) -> np.ndarray:
    labels = label_array(labels)
    if labels.ndim != 1:
        raise ValueError(
            f"{name} must hold one label per sample, shape (n_samples,); got shape {labels.shape}. "
            "Score one attribute at a time, and take the argmax of soft memberships."
        )
    if is_missing(labels).any():
        raise ValueError(f"{name} holds missing labels (NaN or None); score only the samples where both are known.")
    return np.unique(labels, return_inverse=True)[1]
