import numpy as np
import pytest

from laminar.metrics import (
    adjusted_rand_index,
    area_under_components,
    clustering_accuracy,
    clustering_report,
    mutual_information,
    normalized_mutual_information,
    pairwise_precision_recall_f,
)

Y = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
C = [0, 0, 1, 1, 1, 1, 2, 2, 0, 3]
SCORES = {
    "ACC": clustering_accuracy,
    "NMI": normalized_mutual_information,
    "ARI": adjusted_rand_index,
    "precision": lambda y, c: pairwise_precision_recall_f(y, c).precision,
    "recall": lambda y, c: pairwise_precision_recall_f(y, c).recall,
    "F": lambda y, c: pairwise_precision_recall_f(y, c).f,
}
every_score = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)


def partitions(n=200, seed=0):
    """Two partitions that agree in part, of 4 and 6 parts."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    return y, np.where(rng.random(n) < 0.6, y, rng.integers(6, size=n))


def test_worked_example():
    assert clustering_accuracy(Y, C) == pytest.approx(0.7)
    assert mutual_information(Y, C) == pytest.approx(0.673012, abs=1e-6)
    assert adjusted_rand_index(Y, C) == pytest.approx(0.28)
    assert pairwise_precision_recall_f(Y, C) == pytest.approx((0.5, 5 / 12, 5 / 11))


@pytest.mark.parametrize(
    ("average", "expected"),
    [("geometric", 0.570096), ("max", 0.525850), ("arithmetic", 0.568241), ("min", 0.673012 / 1.088900)],
)
def test_worked_example_of_each_normalisation(average, expected):
    assert normalized_mutual_information(Y, C, average=average) == pytest.approx(expected, abs=1e-6)


def test_averages_are_ordered():
    y, c = partitions()
    scores = [normalized_mutual_information(y, c, a) for a in ("max", "arithmetic", "geometric", "min")]
    assert scores == sorted(scores)
    assert scores[0] < scores[-1]


@every_score
def test_equal_partitions_score_one(score):
    assert score(Y, Y) == pytest.approx(1.0)


@every_score
def test_names_do_not_matter(score):
    y, c = partitions()
    classes = np.array(["tree", "car", "sky", "sea"])
    clusters = np.array([5, -1, 7, 0, 2, 11])
    assert score(classes[y], clusters[c]) == pytest.approx(score(y, c))


@every_score
def test_order_of_samples_does_not_matter(score):
    y, c = partitions()
    order = np.random.default_rng(1).permutation(len(y))
    assert score(y[order], c[order]) == pytest.approx(score(y, c))


@pytest.mark.parametrize("name", ["NMI", "ARI", "F", "ACC"])
def test_symmetric(name):
    y, c = partitions()
    assert SCORES[name](y, c) == pytest.approx(SCORES[name](c, y))


def test_swapping_the_partitions_swaps_precision_and_recall():
    y, c = partitions()
    precision, recall, _ = pairwise_precision_recall_f(y, c)
    assert precision != pytest.approx(recall)
    assert pairwise_precision_recall_f(c, y)[:2] == pytest.approx((recall, precision))


def test_independent_partitions_score_near_zero():
    rng = np.random.default_rng(0)
    y, c = rng.integers(5, size=(2, 20_000))
    assert normalized_mutual_information(y, c) < 1e-2
    assert abs(adjusted_rand_index(y, c)) < 1e-2


def test_accuracy_is_the_best_over_all_matchings():
    from itertools import permutations

    y, c = partitions(n=60)
    best = max(np.mean(np.array(names)[y] == c) for names in permutations(range(6), 4))
    assert clustering_accuracy(y, c) == pytest.approx(best)


def test_pair_scores_count_pairs():
    y, c = partitions(n=40)
    pairs = np.triu_indices(len(y), 1)
    same_class, together = (y[:, None] == y)[pairs], (c[:, None] == c)[pairs]
    hits = np.sum(same_class & together)
    precision, recall = hits / together.sum(), hits / same_class.sum()
    expected = (precision, recall, 2 * hits / (together.sum() + same_class.sum()))
    assert pairwise_precision_recall_f(y, c) == pytest.approx(expected)


def test_fewer_clusters_than_classes_leave_classes_unmatched():
    assert clustering_accuracy([0, 0, 1, 2], [0, 0, 0, 0]) == 0.5


@pytest.mark.parametrize("average", ["geometric", "max", "arithmetic", "min"])
def test_single_part(average):
    assert normalized_mutual_information([3, 3, 3], ["a", "a", "a"], average) == 1.0
    assert normalized_mutual_information([3, 3, 3], [0, 1, 1], average) == 0.0
    assert normalized_mutual_information([0, 1, 1], [3, 3, 3], average) == 0.0


def test_no_pairs():
    singletons = [0, 1, 2]
    assert pairwise_precision_recall_f(singletons, singletons) == (1.0, 1.0, 1.0)
    assert pairwise_precision_recall_f(singletons, [0, 0, 1]) == (0.0, 1.0, 0.0)
    assert pairwise_precision_recall_f([0, 0, 1, 1], [0, 1, 0, 1]) == (0.0, 0.0, 0.0)
    assert adjusted_rand_index(singletons, singletons) == 1.0


def test_area_under_components():
    sizes = np.arange(20, 71, 10)
    assert area_under_components(sizes, np.ones(6)) == 50.0
    assert area_under_components(sizes, np.linspace(0, 1, 6)) == pytest.approx(25.0)
    assert area_under_components([10, 20, 50], [0.2, 0.4, 0.6]) == pytest.approx(3 + 15)


def test_report_holds_the_six_scores():
    report = clustering_report(Y, C)
    expected = {"NMI": 0.568241, "ACC": 0.7, "ARI": 0.28, "F": 5 / 11, "precision": 0.5, "recall": 5 / 12}
    assert list(report) == list(expected)
    assert report == pytest.approx(expected, abs=1e-6)
    assert clustering_report(Y, C, average="max")["NMI"] == pytest.approx(0.525850, abs=1e-6)


@every_score
@pytest.mark.parametrize(
    ("y", "c", "message"),
    [
        ([0, 1, 1], [0, 1], "y has 3 labels and c has 2"),
        ([], [], "empty"),
        ([[0, 1], [1, 0]], [0, 1], r"y must hold one label per sample.*\(2, 2\)"),
        ([0, 1], [[0.2, 0.8], [0.5, 0.5]], r"c must hold one label per sample.*argmax"),
        ([0.0, np.nan], [0, 1], "y holds missing labels"),
        (["a", np.nan], [0, 1], "y holds missing labels"),
        ([0, 1], ["a", None], "c holds missing labels"),
    ],
)
def test_bad_labels(score, y, c, message):
    with pytest.raises(ValueError, match=message):
        score(y, c)


def test_unknown_average():
    with pytest.raises(ValueError, match=r"average must be one of 'geometric', 'max'.*got 'sqrt'"):
        normalized_mutual_information(Y, C, average="sqrt")


@pytest.mark.parametrize(
    ("sizes", "accuracies", "message"),
    [
        ([20, 30], [0.5], "one length"),
        ([20], [0.5], "two points at least"),
        ([30, 20], [0.5, 0.6], "must increase.*Sort"),
        ([20, 30], [50, 60], "Divide percentages by 100"),
        ([20, 30], [0.5, np.nan], r"accuracies must lie in \[0, 1\]"),
    ],
)
def test_bad_area(sizes, accuracies, message):
    with pytest.raises(ValueError, match=message):
        area_under_components(sizes, accuracies)
