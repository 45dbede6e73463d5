"""A small fitted model of every public estimator, and of every setting that changes what a fitted model holds."""

import inspect
import warnings
from functools import cache

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import laminar
from laminar import baselines, features, graphs
from laminar.attributes.bands import BANDS
from laminar.deep.nonlinear import ACTIVATIONS

rng = np.random.default_rng(0)
X = rng.gamma(1.0, size=(24, 6))
NEW = rng.gamma(1.0, size=(5, 6))
Y = np.array([0, 0, 1, 1, -1, 2, 0, 1, 2, 2, -1, -1] * 2)
H0, Z0 = rng.random((24, 3)), rng.random((3, 6))
WORDS = np.array(["left", "left", "right", None, "right", "up"] * 4, dtype=object)
IMAGES = rng.random((5, 16, 12))
LANDMARKS = np.array([[[3.0, 3.0], [9.0, 3.0], [6.0, 11.0]]] * 5) + rng.normal(0, 0.3, (5, 3, 2))


def frame(values):
    """A table with names of features."""
    pandas = __import__("pandas")
    return pandas.DataFrame(values, columns=[f"feature {j}" for j in range(values.shape[1])])


def attribute_table():
    pandas = __import__("pandas")
    return pandas.DataFrame({"pose": WORDS, 7: np.tile(["day", "night", None], 8), "all": np.repeat([1, 2], 12)})


def two_views(values, *, complete=False):
    """Views by name, not in the order of the alphabet; a sample lacks one."""
    values = values.copy()
    if not complete:
        values[2, 4:] = np.nan
    return {"pixels": values[:, :4], "edges": values[:, 4:]}


# Parameters of the plain example of a class: the first one at 3, unless it is here.
SETTINGS = {
    "ClassDrivenNMF": {},
    "MultiLayerNMF": {"layers": (4, 3)},
    "DeepSemiNMF": {"layers": (4, 3), "max_iter": 20},
    "DeepWSF": {"layers": (4, 3), "max_iter": 10},
    "MultiNMF": {"n_components": 3, "view_sizes": (4, 2), "max_iter": 5, "max_inner_iter": 3},
    "MultiViewDeepNMF": {"layers": (4, 3), "view_sizes": (4, 2), "max_iter": 20},
    "MultiViewSemiNMF": {"n_components": 3, "view_sizes": (4, 2), "max_iter": 20},
    "AttributeLayers": {"n_components": 3, "bands": BANDS[:3]},
    "SlowFeatureAnalysis": {},
    "Crop": {"shape": (8, 8)},
    "Resize": {"shape": (8, 8)},
    "AlignLandmarks": {},
    "SiftBagOfWords": {"n_words": 3, "step": 4},
    "GaborMagnitudes": {},
    "GradientOrientations": {},
    "LocalBinaryPatterns": {},
    "Pixels": {},
}


def estimators(module):
    """Names and classes of the public estimators of a module."""
    found = {name: getattr(module, name) for name in module.__all__}
    return {name: kind for name, kind in found.items() if inspect.isclass(kind) and issubclass(kind, BaseEstimator)}


def plain(name, kind):
    parameters = inspect.signature(kind).parameters
    given = SETTINGS.get(name, {next(iter(parameters)): 3})
    return kind(**given, **({"random_state": 0} if "random_state" in parameters else {}))


def made(name, **parameters):
    """An example of a class of `laminar` with other parameters."""
    return plain(name, getattr(laminar, name)).set_params(**parameters)


def cases():
    """Name: unfitted model, arguments of fit, and new samples."""
    found = {name: (plain(name, kind), (X, Y), NEW) for name, kind in estimators(laminar).items()}
    for name, kind in estimators(baselines).items():
        labelled = hasattr(kind, "predict_proba")
        found[name] = (plain(name, kind), (X, Y) if labelled else (X,), NEW if labelled else None)
    for name, kind in estimators(features).items():
        found[name] = (plain(name, kind), (IMAGES,), IMAGES)
    return found | models() | deep_models() | view_models() | clustering_models() | attribute_models()


def models():
    graph = graphs.KNN(3) + 0.5 * graphs.Chain() + 2 * graphs.Labels(weight="binary")
    W = graphs.KNN(3).build(X).tocsr()
    fitted = laminar.NMF(3, max_iter=5, tol=0, random_state=0).fit(X)
    return {
        "NMF kl": (made("NMF", loss="kl"), (X,), NEW),
        "NMF float32": (made("NMF"), (X.astype(np.float32),), NEW.astype(np.float32)),
        "NMF sparse": (made("NMF"), (sp.csr_array(X),), sp.csc_matrix(NEW)),
        "NMF names": (made("NMF").set_output(transform="pandas"), (frame(X),), frame(NEW)),
        "NMF init arrays": (made("NMF", init=(H0, np.asfortranarray(Z0))), (X,), NEW),
        "NMF init model": (made("NMF", init=fitted), (X,), NEW),
        "NMF generator": (made("NMF", random_state=np.random.RandomState(3)), (X,), NEW),
        "NMF readout": (made("NMF", readout="whitened", n_clusters=2, n_components=np.int64(3)), (X,), NEW),
        "GNMF kl": (made("GNMF", loss="kl"), (X,), NEW),
        "GNMF sum": (made("GNMF", graph=graph), (X, Y), NEW),
        "GNMF matrix": (made("GNMF", graph=W), (X,), NEW),
        "GNMF precomputed": (made("GNMF", graph=graphs.Precomputed(W.toarray())), (X,), NEW),
        "GNMF labelled": (made("GNMF", graph=graphs.LabelledKNN(3)), (X, Y), NEW),
        "GNMF rank": (made("GNMF", graph=graphs.Rank(4)), (X,), NEW),
        "SemiNMF offset": (made("SemiNMF", fit_offset=True), (X,), NEW),
        "SemiNMF float32": (made("SemiNMF"), (X.astype(np.float32) - 1,), NEW.astype(np.float32) - 1),
        "WSF attributes": (made("WSF", alpha=[0.3, 0.7]), (X, np.column_stack([Y, Y % 2])), NEW),
        "ConstrainedNMF kl": (made("ConstrainedNMF", loss="kl"), (X, Y), NEW),
        "ClassDrivenNMF words": (made("ClassDrivenNMF"), (X, WORDS), NEW),
        "ClassDrivenNMF counts": (made("ClassDrivenNMF", classes=3, components_per_class=2), (X, Y), NEW),
        "ClassDrivenNMF by name": (
            made("ClassDrivenNMF", components_per_class={"left": 2, "right": 1, "up": 1}, free_components=1),
            (X, WORDS),
            NEW,
        ),
        "ConceptFactorization rbf": (made("ConceptFactorization", kernel="rbf", gamma=0.1), (X,), NEW),
        "ConceptFactorization sparse": (made("ConceptFactorization", kernel="linear"), (sp.csr_array(X),), NEW),
        "ConceptFactorization products": (made("ConceptFactorization", kernel="precomputed"), (X @ X.T,), NEW @ X.T),
        "SlowFeatureAnalysis float32": (made("SlowFeatureAnalysis", n_components=2), (X.astype(np.float32),), NEW),
    }


def deep_models():
    plainly = {"graph": None}
    return {
        "DeepSemiNMF all": (made("DeepSemiNMF", layer="all"), (X,), NEW),
        "DeepSemiNMF graph": (made("DeepSemiNMF", graph=graphs.KNN(3)), (X,), NEW),
        "DeepSemiNMF stanh": (made("DeepSemiNMF", activation="stanh", **plainly), (X,), NEW),
        "DeepSemiNMF object": (made("DeepSemiNMF", activation=ACTIVATIONS["relu"], **plainly), (X,), NEW),
        "DeepSemiNMF coupled": (made("DeepSemiNMF", objective="coupled", **plainly), (X,), NEW),
        "DeepSemiNMF batches": (made("DeepSemiNMF", batch_size=8, **plainly), (X,), NEW),
        "DeepWSF words": (made("DeepWSF", attribute_layers={"pose": 0, 7: 1, "all": 1}), (X, attribute_table()), NEW),
        "DeepWSF nonnegative": (made("DeepWSF", activation="stanh", hidden="nonnegative"), (X, Y), NEW),
        "DeepWSF softplus": (made("DeepWSF", activation="softplus"), (X, Y), NEW),
    }


def view_models():
    deep = {"view_sizes": None, "n_neighbors": 3}
    return {
        "ClusterEnsemble names": (made("ClusterEnsemble"), (two_views(X),), two_views(NEW)),
        "ClusterEnsemble sparse": (made("ClusterEnsemble", forms=["unit"]), (sp.csr_array(X),), sp.csr_array(NEW)),
        "ClusterEnsemble sample": (made("ClusterEnsemble", max_samples=15), (X.astype(np.float32),), NEW),
        "MultiNMF names": (made("MultiNMF", view_sizes=None), (two_views(X, complete=True),), two_views(NEW)),
        "MultiNMF init": (made("MultiNMF", init=[(H0, Z0[:, :4]), (H0, Z0[:, 4:])]), (X,), NEW),
        "MultiViewSemiNMF names": (made("MultiViewSemiNMF", view_sizes=None), (two_views(X), Y), two_views(NEW)),
        "MultiViewSemiNMF k-means": (made("MultiViewSemiNMF", clustering="kmeans"), (X,), NEW),
        "MultiViewDeepNMF names": (made("MultiViewDeepNMF", **deep), (two_views(X, complete=True),), two_views(NEW)),
        "MultiViewDeepNMF all": (made("MultiViewDeepNMF", layer="all", clustering="kmeans"), (X,), NEW),
        "MultiViewDeepNMF float32": (made("MultiViewDeepNMF"), (X.astype(np.float32),), NEW.astype(np.float32)),
    }


def clustering_models():
    return {
        "MultipleClusterings sparse": (made("MultipleClusterings", form="unit"), (sp.csr_array(X),), sp.csr_array(NEW)),
        "MultipleClusterings sample": (made("MultipleClusterings", max_samples=15), (X.astype(np.float32),), NEW),
    }


def attribute_models():
    return {
        "AttributeLayers names": (made("AttributeLayers", bands=None), (X, attribute_table()), NEW),
        "AttributeLayers raw": (made("AttributeLayers", bands=BANDS[:5], readout="raw", layer="all"), (X, Y), NEW),
        "AttributeLayers float32": (made("AttributeLayers", bands=None), (X.astype(np.float32), Y), NEW),
        "AttributeLayers sparse": (made("AttributeLayers"), (sp.csr_array(X), Y), sp.csr_array(NEW)),
        "AttributeLayers unlabelled": (made("AttributeLayers"), (X,), NEW),
    }


@cache
def _fitted(name):
    model, data, _ = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        landmarks = {"landmarks": LANDMARKS} if name == "AlignLandmarks" else {}
        return model.fit(*data, **landmarks)


def fitted(name):
    """The fitted model of a case, a copy of its own."""
    from copy import deepcopy

    return deepcopy(_fitted(name))


def stream(**parameters):
    """A deep model in the middle of a stream of batches."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = made("DeepSemiNMF", graph=None, **parameters)
        return model.partial_fit(X[:12]).partial_fit(X[12:])


def described():
    """Data with all that a description holds."""
    pandas = __import__("pandas")
    from laminar.io.dataset import Dataset, Scaling
    from laminar.io.images import ImageReader

    ids = np.array([f"sample {i}" for i in range(len(X))])
    labels = pandas.DataFrame(
        {"pose": np.array(["left", None, "up"] * 8, dtype=object), "year": range(24), "age": np.arange(24) / 7},
        index=ids,
    )
    return Dataset(
        X,
        ids,
        feature_names=np.array([f"p{j}" for j in range(6)]),
        labels=labels,
        groups=np.array(["a", "b"] * 12),
        image_shape=(2, 3),
        sources=ids.copy(),
        frame_rate=25.0,
        observed=np.ones((24, 2), dtype=bool),
        reader=ImageReader(size=(2, 3)),
        scaling=Scaling.of(X),
        notes=("resized", "two rows dropped"),
    )


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    CASES = cases()
