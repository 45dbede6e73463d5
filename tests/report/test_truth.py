"""The numbers of a report: what is scored, beside which baselines, with which errors, and what is claimed of them."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.decomposition import PCA

from laminar import NMF, WSF, AttributeLayers, MultiViewSemiNMF, SemiNMF
from laminar.datasets import make_views
from laminar.metrics import clustering_accuracy
from laminar.report.errors import is_gain, standard_error, threshold
from laminar.report.groups import clusters, neighbours
from laminar.report.methods import Method
from laminar.report.scores import METRICS, Row, Scores, matched, score
from laminar.report.sentence import lede
from laminar.report.subject import Attribute, read_subject
from laminar.report.variance import affine, best_explained, explained


@pytest.fixture(scope="module")
def faces(subjects):
    return subjects("images")


@pytest.fixture(scope="module")
def face_scores(faces):
    return score(faces)


def _text(parts) -> str:
    return "".join(text for text, _ in parts)


# What is scored


def test_given_labels_are_not_scored(faces, face_scores):
    for attribute in faces.attributes:
        assert attribute.given.any()
        for row in face_scores.rows:
            for metric in METRICS:
                right = row.right[metric].get(attribute.name)
                assert right is None or np.isnan(right[attribute.given]).all()


def test_baselines_are_given_same_labels(face_scores):
    names = [row.method.name for row in face_scores.rows if row.method.is_given and not row.method.is_own]
    assert names == ["LDA, same labels", "label spreading, same labels"]
    assert {"input", "whitened SVD (20)"} <= {row.method.name for row in face_scores.rows}


def test_baselines_do_not_see_other_labels(faces):
    def predicted(attributes):
        scores = score(replace(faces, attributes=attributes))
        (lda,) = (row.method for row in scores.rows if row.method.name == "LDA, same labels")
        return lda.predicted["pose"]

    rng = np.random.default_rng(0)
    shuffled = [replace(a, codes=np.where(a.given, a.codes, rng.permutation(a.codes))) for a in faces.attributes]
    assert np.array_equal(predicted(faces.attributes), predicted(shuffled))


def test_random_labels_are_not_found():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(120, 30)), rng.integers(0, 2, 120).astype(str)
    model = AttributeLayers(5, random_state=0).fit(X, labels)
    scores = score(read_subject(model, X, labels={"attribute 0": labels}))
    assert scores.way == "withheld"
    assert all((model.labels_[0] == labels).tolist())  # what it was given it repeats
    for row in scores.rows:
        value = scores.value(row, "classifier", "attribute 0")
        assert value is None or abs(value - 0.5) < 0.17, row.method.name


def test_every_withheld_label_is_scored_once():
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], 30)
    X = rng.random((90, 6)) + np.repeat(np.eye(3), 30, axis=0) @ rng.random((3, 6))
    known = np.where(rng.random(90) < 0.7, labels, None)
    scores = score(read_subject(WSF(3, random_state=0).fit(X, known), X, labels={"kind": known}))
    assert scores.way == "withheld"
    right = scores.rows[0].right["classifier"]["kind"]
    assert np.array_equal(np.isfinite(right), [label is not None for label in known])


def test_cluster_scores_are_clustering_accuracy(subjects):
    subject = subjects("table")
    scores = score(subject)
    (attribute,) = subject.attributes
    for row in scores.rows:
        if row.method.kind == "layer":
            found = clusters(row.method.clustered, [attribute], 3)["labels"]
            expected = clustering_accuracy(attribute.codes, found)
            assert scores.value(row, "clusters", "kind") == pytest.approx(expected)


def test_many_samples_are_scored_by_a_part():
    y = np.arange(10_400) % 2
    X = np.random.default_rng(0).random((len(y), 3)) + y[:, None]
    scores = score(read_subject(NMF(2, random_state=0, max_iter=20, tol=1e-2).fit(X), X, labels={"half": y}))
    (right,) = (row.right["classifier"]["half"] for row in scores.rows if row.method.kind == "layer")
    assert np.isfinite(right).sum() == 10_000
    assert np.nanmean(right) > 0.9


def test_matching_is_the_best():
    rng = np.random.default_rng(0)
    true, found = rng.integers(0, 4, 50), rng.integers(0, 4, 50)
    assert np.mean(matched(true, found, 4) == true) == pytest.approx(clustering_accuracy(true, found))


def test_filled_labels_count_as_given():
    X = np.random.default_rng(0).random((40, 4))
    model = NMF(2, random_state=0).fit(X)
    truth = {"half": [None] * 10 + ["b"] * 30}
    subject = read_subject(model, X, labels=truth, given={"half": ["a"] * 10 + [None] * 30})
    (attribute,) = subject.attributes
    assert attribute.classes == ["a", "b"]
    assert np.array_equal(attribute.given, np.arange(40) < 10)


def test_nothing_is_claimed_without_baselines(cases):
    model, options = cases("images")
    alone = read_subject(model, labels=options["X"].labels, given=options["given"])
    scores = score(alone)
    assert scores.way == "none"
    assert "no baseline can be given the same labels" in _text(lede(alone, scores))
    model, options = cases("table")
    alone = read_subject(model, labels=options["labels"])
    assert "the only baseline is chance" in _text(lede(alone, score(alone)))


def test_views_have_baseline_with_same_labels():
    data = make_views(n_classes=3, n_samples=60, random_state=0)
    given = np.where(np.random.default_rng(0).random(60) < 0.4, data.y, -1)
    model = MultiViewSemiNMF(3, random_state=0).fit(data.views, given)
    scores = score(read_subject(model, data.views, labels={"class": data.y}, given={"class": given}))
    assert scores.way == "others"
    (lda,) = (row for row in scores.rows if row.method.name == "LDA, same labels")
    assert scores.value(lda, "clusters", "class") > 0.8


def test_new_samples_of_labelled_model_are_refused(cases):
    model, options = cases("images")
    with pytest.raises(ValueError, match="is of the 96 samples of its fit"):
        read_subject(model, options["X"].X[:50])


# Errors and gains


def test_error_respects_groups():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 20)
    values = (rng.random(12) < 0.5)[groups].astype(float)
    draws = [values.reshape(12, 20)[rng.integers(0, 12, 12)].mean() for _ in range(4000)]
    assert standard_error(values, [groups]) == pytest.approx(np.std(draws), rel=0.1)
    assert standard_error(values, [groups]) > 3 * standard_error(values)


def test_equal_methods_show_no_gain():
    rng = np.random.default_rng(0)
    gains = 0
    for _ in range(300):
        a, b = (rng.random((2, 100)) < 0.6).astype(float)
        gains += is_gain(a, b, [], 4)
    assert gains <= 9  # 0.6 % a layer, two sides


def test_few_samples_are_no_evidence():
    assert not is_gain(np.ones(10), np.zeros(10), [], 1)


def _scores(layer: np.ndarray, base: np.ndarray) -> tuple:
    codes = np.arange(len(layer)) % 2
    attribute = Attribute("pose", ["left", "right"], codes, np.zeros(len(codes), dtype=bool))
    rows = [
        Row(Method(name, kind), {"clusters": {"pose": right}, "classifier": {}})
        for name, kind, right in (("layer 0", "layer", layer), ("LDA, same labels", "baseline", base))
    ]
    X = np.random.default_rng(0).random((len(codes), 4))
    subject = read_subject(NMF(2, random_state=0).fit(X), X, labels={"pose": np.array(["left", "right"])[codes]})
    return subject, Scores(rows, {"clusters": {"pose": 0.5}, "classifier": {}}, [attribute], "cross-validated")


def test_sentence_has_gain_with_baseline():
    right = np.ones(100)
    base = np.tile([1.0, 0.0, 1.0, 1.0], 25)
    subject, scores = _scores(right, base)
    parts = lede(subject, scores)
    expected = "Clusters of layer 0 match the pose of 100 % of the samples (75 % with LDA given the same)."
    assert expected in _text(parts)
    assert [text for text, is_finding in parts if is_finding] == ["100 %"]


def test_sentence_admits_no_gain():
    base = np.ones(100)
    subject, scores = _scores(np.tile([1.0, 0.0, 1.0, 1.0], 25), base)
    expected = "No layer finds pose (75 % against 100 % with LDA given the same) better than the baselines do."
    assert _text(lede(subject, scores)).endswith(expected)


def test_sentence_is_careful_above_baseline():
    base = np.ones(100)
    base[:2] = 0
    subject, scores = _scores(np.ones(100), base)
    expected = "No layer finds pose (100 % against 98 % with LDA given the same) clearly better than the baselines do."
    assert _text(lede(subject, scores)).endswith(expected)


def test_gain_needs_every_baseline():
    _, scores = _scores(np.ones(100), np.zeros(100))
    also = Row(Method("input", "input"), {"clusters": {"pose": np.ones(100)}, "classifier": {}})
    attribute = scores.attributes[0]
    assert scores.gain(scores.rows[0], "clusters", attribute, None) == pytest.approx(0.5)  # above chance
    scores.rows.append(also)
    assert scores.gain(scores.rows[0], "clusters", attribute, None) is None


def test_threshold_grows_with_layers():
    assert threshold(1) == pytest.approx(2)
    assert threshold(2) < threshold(8)


# Variance


@pytest.mark.parametrize("kind", ["images", "table", "texts", "spectra"])
def test_explained_is_residual_over_variance(subjects, kind):
    subject = subjects(kind)
    X = subject.X.toarray() if hasattr(subject.X, "toarray") else np.asarray(subject.X)
    for place in subject.places:
        found, H = affine(subject, place), subject.codes(place)
        residual = X - found.offset - H @ found.components
        expected = 1 - np.sum(residual**2) / np.sum((X - X.mean(axis=0)) ** 2)
        assert explained(subject.X, H, found) == pytest.approx(expected, abs=1e-5)
        k = len(found.components)
        assert expected <= best_explained(subject.X, [k], is_centred=found.has_offset)[k] + 1e-6


def test_best_explained_is_that_of_pca():
    X = np.random.default_rng(0).normal(size=(40, 7)) + 3
    expected = PCA(3).fit(X).explained_variance_ratio_.sum()
    assert best_explained(X, [3], is_centred=True)[3] == pytest.approx(expected)


def test_offset_is_part_of_reconstruction():
    X = np.random.default_rng(0).normal(size=(40, 7)) + 5
    subject = read_subject(SemiNMF(3, fit_offset=True, random_state=0).fit(X), X)
    found = affine(subject, subject.places[0])
    assert found.has_offset
    assert explained(X, subject.codes(subject.places[0]), found) > 0


# Clusters and neighbours


def test_purity_counts_labels_that_were_not_given():
    E = np.repeat([[0.0], [9.0]], 40, axis=0) + np.random.default_rng(0).random((80, 1))
    codes = np.r_[np.zeros(30), np.ones(50)].astype(int)
    given = np.arange(80) < 20
    found = clusters(E, [Attribute("half", ["a", "b"], codes, given)], 2)
    (first,) = (c["attributes"][0] for c in found["clusters"] if c["samples"][0] < 40)
    assert first[:2] == [0, pytest.approx(0.5)]  # 10 of the 20 that are counted, and not 30 of 40


def test_chance_of_purity_is_that_of_random_clusters():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 90)
    attribute = Attribute("kind", ["a", "b", "c"], codes, np.zeros(90, dtype=bool))
    found = clusters(rng.normal(size=(90, 2)), [attribute], 3)["clusters"]
    draws = [np.bincount(rng.permutation(codes)[: found[0]["size"]]).max() for _ in range(2000)]
    assert found[0]["attributes"][0][2] == pytest.approx(np.mean(draws) / found[0]["size"], abs=0.02)


def test_neighbours_of_equal_samples_leave_out_itself():
    found = neighbours(np.zeros((12, 2)))
    assert found.shape == (12, 10)
    assert not (found == np.arange(12)[:, None]).any()
