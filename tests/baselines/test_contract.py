"""What every baseline owes its user: scikit-learn's contract, every form of views, errors that say what to do."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from laminar.baselines import (
    NEMO,
    CoRegularizedSpectral,
    CoTrainedSpectral,
    DiMSC,
    MinDisagreement,
    NgJordanWeiss,
    SimilarityNetworkFusion,
    SmoothRepresentation,
    WhitenedSpectral,
)
from laminar.datasets import make_views
from laminar.metrics import clustering_accuracy

SEVERAL = [
    CoRegularizedSpectral(3, random_state=0),
    CoRegularizedSpectral(3, variant="centroid", affinity="rank", random_state=0),
    CoTrainedSpectral(3, affinity="knn", random_state=0),
    MinDisagreement(3, affinity="knn", random_state=0),
    SmoothRepresentation(3, random_state=0),
    DiMSC(3, random_state=0),
    SimilarityNetworkFusion(3, random_state=0),
    NEMO(3, random_state=0),
]
MODELS = [
    WhitenedSpectral(3, random_state=0),
    NgJordanWeiss(3, random_state=0),
    NgJordanWeiss(3, affinity="knn", random_state=0),
    *SEVERAL,
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)
several_views = pytest.mark.parametrize("model", SEVERAL, ids=repr)

DATA = make_views(45, 3, (6, 4, 5), noise=0.3, random_state=0)
X = DATA.views[0]
A, B, C = DATA.views


@parametrize_with_checks(list({type(model): model for model in MODELS}.values()))  # one of a class
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@every_model
@pytest.mark.parametrize("name", ["check_param_validation", "check_dataframe_column_names_consistency"])
def test_more_scikit_learn_checks(model, name):
    pytest.importorskip("pandas")
    getattr(estimator_checks, name)(type(model).__name__, clone(model))


@several_views
def test_views_in_every_form(model):
    expected = clone(model).fit([A, B, C])
    assert clustering_accuracy(DATA.y, expected.labels_) == 1
    assert expected.n_features_in_ == 15
    stacked = np.hstack([A, B, C])
    for views, sizes in [((A, B, C), None), ({"a": A, "b": B, "c": C}, None), (stacked, (6, 4, 5))]:
        same = clone(model).set_params(view_sizes=sizes).fit(views)
        assert np.array_equal(same.labels_, expected.labels_)
        assert np.allclose(same.embedding_, expected.embedding_, atol=1e-9)
    assert clone(model).fit({"a": A, "b": B}).view_names_ == ["a", "b"]


@every_model
def test_same_seed_same_labels_and_copies(model):
    fitted = clone(model).fit(X)
    for other in (clone(model).fit(X), pickle.loads(pickle.dumps(fitted))):
        assert np.array_equal(other.labels_, fitted.labels_)
        assert np.array_equal(other.embedding_, fitted.embedding_)
    assert np.array_equal(clone(model).fit_predict(X), fitted.labels_)
    assert np.allclose((fitted.embedding_**2).sum(axis=1), 1)


@several_views
def test_views_are_not_changed_and_single_precision_will_do(model):
    before = [view.copy() for view in DATA.views]
    labels = clone(model).fit_predict(DATA.views)
    assert all(np.array_equal(*pair) for pair in zip(before, DATA.views, strict=True))
    single = clone(model).fit_predict([view.astype(np.float32) for view in DATA.views])
    assert clustering_accuracy(labels, single) == 1


def nan_at(A, where):
    A = A.copy()
    A[where] = np.nan
    return A


BAD = {
    "no views": ([], {}, "there are no views"),
    "nothing": (None, {}, "views must be a list or a dict of arrays"),
    "different lengths": ([A, B[:9]], {}, r"same samples as rows.*\{0: 45, 1: 9\}"),
    "NaN": (
        [A, nan_at(B, (3, 1))],
        {},
        "view 1 contains NaN or masked entries in a part of 1 rows, the first of them row 3",
    ),
    "a missing view": ([A, nan_at(B, 3)], {}, "1 of 45 samples lack view 1.*every sample is needed in every view"),
    "one dimension": ([A, B[0]], {}, "view 1 is one-dimensional"),
    "sparse": ([A, sp.csr_array(B)], {}, "view 1: Sparse data was passed"),
    "sizes of a list": ([A, B], {"view_sizes": [6, 4]}, "view_sizes=.* is for one stacked array"),
    "sizes that do not add up": (A, {"view_sizes": [6, 4]}, "add up to the 6 of the stacked array"),
    "sizes in words": (A, {"view_sizes": "two"}, "'view_sizes' parameter of"),
    "more clusters than samples": ([A[:2], B[:2]], {}, "n_clusters=3 needs a sample a cluster.*n_samples=2"),
    "no clusters": ([A, B], {"n_clusters": 0}, "'n_clusters' parameter of"),
    "no starts": ([A, B], {"n_init": 0}, "'n_init' parameter of"),
    "seed": ([A, B], {"random_state": "a"}, "'random_state' parameter of"),
}


@several_views
@pytest.mark.parametrize(("views", "parameters", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(model, views, parameters, message):
    if isinstance(model, NEMO) and "lack view" in message:
        pytest.skip("NEMO is for samples that lack views")
    model = clone(model).set_params(**parameters)
    with pytest.raises((ValueError, TypeError), match="(?s)" + message):
        model.fit(views)
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (NgJordanWeiss(affinity="rbf"), "'affinity' parameter of NgJordanWeiss.*'gaussian'.*Got 'rbf'"),
        (NgJordanWeiss(n_neighbors=0), "'n_neighbors' parameter of"),
        (CoRegularizedSpectral(variant="all"), "'variant' parameter of .*'centroid'.*Got 'all'"),
        (CoRegularizedSpectral(alpha=-1), "'alpha' parameter of"),
        (CoRegularizedSpectral(max_iter=0), "'max_iter' parameter of"),
        (CoTrainedSpectral(max_iter=0), "'max_iter' parameter of"),
        (SmoothRepresentation(alpha=-1), "'alpha' parameter of"),
        (SmoothRepresentation(graph="chain"), "'graph' parameter of"),
        (DiMSC(alpha_diversity=-1), "'alpha_diversity' parameter of"),
    ],
    ids=repr,
)
def test_bad_parameters_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X)


ODD = {
    "zeros": np.zeros((12, 3)),
    "constant": np.ones((12, 3)),
    "zero rows": X[:12] * (np.arange(12) % 3 > 0)[:, None],
    "duplicates": np.repeat(X[:4], 3, axis=0),
    "one feature": X[:12, :1],
    "three samples": X[:3],
    "tiny": 1e-200 * X[:12],
    "huge": 1e200 * X[:12],
    "integers": np.arange(24).reshape(12, 2),
    "negative": -X[:12],
}


@every_model
@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
def test_odd_input_gives_a_finite_answer(model, data):
    for n_clusters in (1, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "A graph of the samples has")
            warnings.simplefilter("ignore", ConvergenceWarning)  # k-means finds fewer distinct samples than clusters
            fitted = clone(model).set_params(n_clusters=n_clusters).fit(data)
        assert np.isfinite(fitted.embedding_).all()
        assert fitted.labels_.shape == (len(data),)
        assert set(fitted.labels_) <= set(range(n_clusters))
