"""Every model of the library with layers has a report."""

import json

import numpy as np
import pytest

import laminar
from laminar.report.arrays import pack

N, P = 36, 10
SETTINGS = {  # for few samples; models that are not listed have those of their own
    "AttributeLayers": {"n_components": 6},
    "ClassDrivenNMF": {"n_components": 3},
    "ClusterEnsemble": {"n_clusters": 3},
    "ConceptFactorization": {"n_components": 3},
    "ConstrainedNMF": {"n_components": 3},
    "DeepSemiNMF": {"layers": (5, 3)},
    "DeepWSF": {"layers": (5, 3)},
    "DiscriminantNMF": {"n_components": 3},
    "GNMF": {"n_components": 3},
    "MultiLayerNMF": {"layers": (5, 3)},
    "MultiNMF": {"n_components": 3},
    "MultiViewDeepNMF": {"layers": (5, 3)},
    "MultiViewSemiNMF": {"n_components": 3},
    "NMF": {"n_components": 3, "loss": "kl"},
    "SemiNMF": {"n_components": 3, "fit_offset": True},
    "SlowFeatureNMF": {"n_components": 3},
    "SmoothedSemiNMF": {"n_components": 3},
    "WSF": {"n_components": 3},
}
WITHOUT_LAYERS = {"SlowFeatureAnalysis"}
PUBLIC = {name: getattr(laminar, name) for name in dir(laminar)}
MODELS = sorted(
    name
    for name, found in PUBLIC.items()
    if isinstance(found, type) and hasattr(found, "get_params") and name not in WITHOUT_LAYERS
)
VIEWS = {"MultiNMF", "MultiViewDeepNMF", "MultiViewSemiNMF"}
LABELLED = {"AttributeLayers", "ClassDrivenNMF", "ConstrainedNMF", "DeepWSF", "DiscriminantNMF", "WSF"}


@pytest.fixture(scope="module")
def data():
    """Samples in three classes, of which two thirds of the labels are given."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    X = rng.gamma(2, 1, (3, P))[y] * rng.gamma(20, 0.05, (N, P))
    return X, y, np.where(rng.random(N) < 0.66, y, -1)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_model_has_report(data, name):
    X, y, given = data
    model = getattr(laminar, name)(**SETTINGS.get(name, {}), random_state=0)
    views = {"first": X, "second": X[:, ::-1] ** 2} if name in VIEWS else X
    takes_labels = name in LABELLED
    model.fit(views, given) if takes_labels else model.fit(views)
    labels = {"kind": y} if name != "AttributeLayers" else {"attribute 0": y}
    told = {next(iter(labels)): given} if takes_labels else {}
    found = model.report(views, labels=labels, given=told, map="pca")
    scores = found.record["scores"]
    assert scores["rows"][0]["cells"][0][0]["value"] > 0.3
    assert len(found.record["layers"]) == sum(row["kind"] == "layer" for row in scores["rows"])
    for layer in found.record["layers"]:
        assert layer["explained"] is None or layer["explained"] <= layer["best"] + 1e-4
    json.loads(pack(found.record)[0])
