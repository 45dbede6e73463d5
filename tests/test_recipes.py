"""Every method of docs/names.md can be called, and every recipe fits."""

import inspect
import re
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
from benchmarks.parameters import PAGE, estimators, page, parameters
from sklearn.base import BaseEstimator

import laminar
from laminar import callbacks, graphs, metrics, recipes, temporal
from laminar.datasets import make_views

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:gamma:UserWarning", "ignore:view .* of the weight"
)
NAMES = (Path(__file__).parent.parent / "docs" / "names.md").read_text()
X = np.random.default_rng(0).gamma(1.0, size=(40, 12))
Y = np.where(np.arange(40) < 20, np.arange(40) % 3, -1)
PLACES = {**vars(laminar), **{name: getattr(laminar, name) for name in laminar.__all__}, "laminar": laminar}
PLACES |= {name: getattr(recipes, name) for name in recipes.__all__}
PLACES |= {"callbacks": callbacks, "graphs": graphs, "metrics": metrics, "temporal": temporal}
RECIPES = [(paper, name) for paper in recipes.__all__ for name in getattr(recipes, paper).__all__]


def test_calls_of_the_table_are_estimators():
    rows = [line.split("|")[3:5] for line in NAMES.split("## Symbols")[0].splitlines() if line.startswith("| ")]
    calls = re.findall(r"`(\w+(?:\.\w+)?\([^`]*\))`", "".join(cell for row in rows for cell in row))
    calls = [call for call in calls if not call.startswith(("fit", "laminar"))]
    assert len(calls) > 50
    for call in calls:
        assert isinstance(eval(call, dict(PLACES)), BaseEstimator), call


def test_every_recipe_is_in_the_table():
    for paper, name in RECIPES:
        assert f"`{paper}.{name}(" in NAMES


def test_names_of_the_symbols_exist():
    for path in re.findall(r"`((?:graphs|callbacks|temporal|metrics)\.\w+)", NAMES):
        place, name = path.split(".")
        assert hasattr(PLACES[place], name), path


@pytest.mark.parametrize(("paper", "name"), RECIPES, ids=lambda value: value)
def test_every_recipe_fits(paper, name):
    make = getattr(getattr(recipes, paper), name)
    known = inspect.signature(type(make() if name == "deep_wsf" else make(3))).parameters
    few = {parameter: 12 for parameter in ("max_iter", "pretraining_max_iter") if parameter in known}
    if paper == "zhao" and name != "best_sv":
        views = make_views(40, n_classes=3, random_state=0).views
        sizes = {"layers": (8, 4)} if name == "dmf_mvc" else {}
        assert len(make(3, **sizes, **few).fit_predict(views)) == 40
        return
    sizes = {"deep_semi_nmf": (3, 6), "multi_layer_nmf": (3, 6), "deep_wsf": ((6, 5, 3),)}.get(name, (3,))
    labels = {"y": Y} if name.startswith(("cnmf", "cdnmf", "dnmf", "wsf", "sgnmf")) else {}
    labels = {"y": np.c_[Y, Y, Y]} if name == "deep_wsf" else labels
    model = make(*sizes, **few).fit(X, **labels)
    assert len(model.labels_ if name == "best_sv" else model.transform(X)) == 40


def test_table_of_parameters_is_current():
    """``python -m benchmarks.parameters`` writes it."""
    assert PAGE.read_text() == page()


SAME = {"alpha", "alphas", "rule", "scale", "readout", "pretraining", "pretraining_max_iter", "eta", "n_clusters"}


def test_words_of_parameters():
    """One vocabulary: nothing is called by a symbol of a paper, nothing "paper"."""
    for kind in estimators():
        found = parameters(kind)
        assert not {"lam", "lambda_", "beta", "mode", "smoothing"} & set(found), kind
        assert "paper" not in " ".join(found.values())
        text = kind.__doc__
        for name in SAME & set(found):
            assert re.search(rf"^    {name} : ", text, re.M), (kind, name)
        if "rule" in found:
            assert found["rule"] == '"fast"'
        if "scale" in found:
            assert found["scale"] == '"auto"'


PAPERS_NAMES = {
    "ClassDrivenNMF": "cdNMF",
    "ConceptFactorization": "CF",
    "ConstrainedNMF": "CNMF",
    "DeepSemiNMF": "Deep Semi-NMF",
    "DeepWSF": "Deep WSF",
    "DiscriminantNMF": "DNMF",
    "GNMF": "sGNMF",
    "MultiLayerNMF": "Multi-layer NMF",
    "MultiNMF": "MultiNMF",
    "MultiViewDeepNMF": "DMF-MVC",
    "NMF": "NeNMF",
    "SemiNMF": "Semi-NMF",
    "SlowFeatureAnalysis": "SFA",
    "SlowFeatureNMF": "SFNMF",
    "WSF": "WSF-MA",
    "baselines.CoRegularizedSpectral": "Co-Reg",
    "baselines.CoTrainedSpectral": "Co-Train",
    "baselines.DiMSC": "DiMSC",
    "baselines.MinDisagreement": "Min-D",
    "baselines.SmoothRepresentation": "NaMSC",
    "baselines.best_single_view": "BestSV",
    "baselines.concat_features": "ConcatFea",
    "baselines.concat_pca": "ConcatPCA",
}


@pytest.mark.parametrize(("path", "name"), PAPERS_NAMES.items())
def test_docstrings_have_the_papers_names(path, name):
    assert re.search(rf"\b{re.escape(name)}\b", attrgetter(path)(laminar).__doc__)
