"""The classes that a file may name, and the attributes that it may set. Nothing else is imported or built.

Names are text: a module is imported when a file names a class of this table. An attribute whose name ends in "?" may
be absent.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .kinds import (
    ANY,
    COUNT,
    FINITE,
    FLAG,
    INTEGER,
    INTEGERS,
    LABELS,
    MATRIX,
    NAME,
    NAMES,
    NUMBER,
    NUMBERS,
    SIZE,
    SPARSE,
    TEXT,
    VECTOR,
    Kind,
    dict_of,
    either,
    list_of,
    made,
    one_of,
    optional,
)

_BASE = "laminar._base."
_LAYER, _READOUT, _JOINED = f"{_BASE}coding.Layer", f"{_BASE}clusters.Readout", f"{_BASE}clusters.Joined"
_CLUSTERS, _GRAPH_CLUSTERS = f"{_BASE}clusters.Clusters", f"{_BASE}graph_clusters.GraphClusters"
_BANDS, _STACKS = "laminar.attributes.bands.", "laminar.deep.nonlinear."
_ACTIVATIONS = (f"{_STACKS}activations.Activation", f"{_STACKS}activations.Rectified")
_GRAPHS = {
    "laminar.graphs.neighbours.KNN": ("n_neighbors", "weight", "symmetrize", "bandwidth"),
    "laminar.graphs.labelled.Labels": ("weight", "normalize", "bandwidth", "attribute", "self_loops"),
    "laminar.graphs.labelled.LabelledKNN": (
        "n_neighbors",
        "weight",
        "symmetrize",
        "bandwidth",
        "label_weight",
        "attribute",
    ),
    "laminar.graphs.rank.Rank": ("n_neighbors", "n_clusters"),
    "laminar.graphs.specs.Chain": (),
    "laminar.graphs.specs.Precomputed": ("W",),
    "laminar.graphs.specs.Sum": ("terms",),
}
_HISTORIES = list_of(NUMBERS)
_READ = made(_READOUT, _JOINED)
_CLUSTERING = {
    "H": MATRIX,
    "read": optional(_READ),
    "n_init": SIZE,
    "max_samples": SIZE,
    "random_state": COUNT,
    "_read?": _READ,
}
_KMEANS, _NEIGHBOURS, _NEAREST = (
    "sklearn.cluster._kmeans.KMeans",
    "sklearn.neighbors._unsupervised.NearestNeighbors",
    "sklearn.neighbors._classification.KNeighborsClassifier",
)

OBJECTS: dict[str, dict[str, Kind]] = {
    _LAYER: {
        "weights": MATRIX,
        "components": MATRIX,
        "representation": MATRIX,
        "ridge": FINITE,
        "whitening?": optional(MATRIX),
        "mean?": optional(VECTOR),
    },
    _READOUT: {"basis": optional(MATRIX), "unit": FLAG},
    _JOINED: {"reads": list_of(made(_READOUT)), "edges": INTEGERS},
    _CLUSTERS: {**_CLUSTERING, "_fitted": dict_of(made(_KMEANS), SIZE)},
    _GRAPH_CLUSTERS: {
        **_CLUSTERING,
        "_fitted": dict_of(made(_NEAREST), SIZE),
        "graph": either(one_of("knn", "rank"), made(*_GRAPHS)),
    },
    f"{_BANDS}Band": {"kind": TEXT, "rank": SIZE, "n_neighbors": SIZE, "strength": FINITE},
    f"{_BANDS}NeighbourGraph": {
        "singular_values": VECTOR,
        "n_neighbors": SIZE,
        "graph": made("laminar.graphs.operators.SparseOperator"),
        "_search": made(_NEIGHBOURS),
    },
    f"{_BANDS}FilterBank": {
        "bands": list_of(made(f"{_BANDS}Band")),
        "n_scores": SIZE,
        "max_nodes": SIZE,
        "mean": VECTOR,
        "scale": FINITE,
        "basis": MATRIX,
        "singular_values": VECTOR,
        "_graphs": dict_of(made(f"{_BANDS}NeighbourGraph")),
        "_smooth": dict_of(MATRIX, made(f"{_BANDS}Band")),
        "sizes": list_of(FINITE),
    },
    "laminar.attributes.simplex_codes.SimplexCoder": {
        "n_codes": SIZE,
        "max_steps": COUNT,
        "sweeps": COUNT,
        "directions": MATRIX,
        "weights": MATRIX,
    },
    "laminar.attributes.class_means.ClassMeans": {"weights": MATRIX, "intercepts": VECTOR},
    "laminar.graphs.operators.SparseOperator": {"W": SPARSE, "degree": VECTOR},
    "laminar.multiview.layers.View": {
        "weight": FINITE,
        "layers": list_of(made(_LAYER)),
        "mean": VECTOR,
        "size": FINITE,
        "length": FINITE,
    },
    "laminar.nmf.embedding.Embedding": {
        "kernel": TEXT,
        "parameters": dict_of(optional(FINITE)),
        "chosen": INTEGERS,
        "root": MATRIX,
        "samples": optional(either(MATRIX, SPARSE)),
    },
    f"{_STACKS}stack.Stack": {"weights": list_of(MATRIX), "activation": either(TEXT, made(*_ACTIVATIONS))},
    f"{_STACKS}stochastic.Moments": {
        "mean": MATRIX,
        "square": MATRIX,
        "beta1": FINITE,
        "beta2": FINITE,
        "epsilon": FINITE,
    },
    f"{_STACKS}stochastic.Stream": {
        "stack": made(f"{_STACKS}stack.Stack"),
        "scale": FINITE,
        "moments": list_of(made(f"{_STACKS}stochastic.Moments")),
        "n_steps": COUNT,
        "loss": NUMBER,
    },
    "laminar.deep.batches.Online": {
        "weights": list_of(MATRIX),
        "unit": FINITE,
        "ridge": FINITE,
        "n_batches": FINITE,
        "gram": MATRIX,
        "product": MATRIX,
        "discount": FINITE,
    },
    **{name: {"name": TEXT} for name in _ACTIVATIONS},
    **{name: dict.fromkeys(fields, ANY) for name, fields in _GRAPHS.items()},
}
"""Classes of fitted state and of parameters, by module and name: attribute -> kind."""

RECORDS = frozenset(
    {
        "laminar.io.dataset.Dataset",
        "laminar.io.dataset.Scaling",
        "laminar.io.images.ImageReader",
        "laminar.io.video.VideoReader",
        "laminar.io.texts.TextReader",
        "laminar.io.tables.TableReader",
        "laminar.io.arrays.ArrayReader",
        "laminar.io.omics.AnnDataReader",
        "laminar.io.views.ViewsReader",
    }
)
"""Dataclasses of the description of data, restored by their constructors."""

ATTRIBUTES: dict[str, Kind] = {
    "n_features_in_": SIZE,
    "feature_names_in_": NAMES,
    "_sklearn_output_config": dict_of(TEXT),
    # factors and codes
    "components_": MATRIX,
    "layers_": list_of(made(_LAYER)),
    "clusters_": made(_CLUSTERS, _GRAPH_CLUSTERS),
    "_clustered": ANY,
    "objective_history_": NUMBERS,
    "history_iterations_": NUMBERS,
    "n_iter_": COUNT,
    "converged_": FLAG,
    "reconstruction_err_": NUMBER,
    "mean_": VECTOR,
    # single models
    "ridge_": FINITE,
    "offset_": either(VECTOR, FINITE),
    "classes_": either(LABELS, dict_of(LABELS)),
    "component_classes_": INTEGERS,
    "_has_classes": FLAG,
    "concepts_": MATRIX,
    "_embedding": made("laminar.nmf.embedding.Embedding"),
    "_weights": VECTOR,
    "_directions": made(_READOUT),
    # deep models
    "_sizes": list_of(SIZE),
    "_ridges": list_of(FINITE),
    "_stack": optional(made(f"{_STACKS}stack.Stack")),
    "_stream": optional(made(f"{_STACKS}stochastic.Stream")),
    "_online": optional(made("laminar.deep.batches.Online")),
    "pretraining_histories_": either(_HISTORIES, dict_of(_HISTORIES)),
    "objective_histories_": _HISTORIES,
    "attribute_scores_": dict_of(ANY),
    "attribute_layers_": dict_of(INTEGER),
    # several views
    "view_names_": list_of(NAME),
    "view_sizes_": INTEGERS,
    "totals_": VECTOR,
    "_alpha": VECTOR,
    "consensus_": MATRIX,
    "representations_": either(dict_of(MATRIX), list_of(MATRIX)),
    "weights_": VECTOR,
    "views_": dict_of(made("laminar.multiview.layers.View")),
    "_basis": MATRIX,
    "embedding_": MATRIX,
    # slow features
    "deltas_": VECTOR,
    "explained_variance_ratio_": VECTOR,
    "n_pcs_": COUNT,
    "patterns_": MATRIX,
    # attributes
    "attributes_": list_of(NAME),
    "band_weights_": dict_of(dict_of(NUMBER)),
    "_bank": made(f"{_BANDS}FilterBank"),
    "_maps": list_of(dict_of(MATRIX, COUNT)),
    "_coders": list_of(made("laminar.attributes.simplex_codes.SimplexCoder")),
    "_class_means": dict_of(made("laminar.attributes.class_means.ClassMeans"), COUNT),
    # baselines
    "labels_": INTEGERS,
    "eigenvalues_": VECTOR,
    # features of images
    "image_shape_": list_of(SIZE),
    "output_shape_": list_of(SIZE),
    "position_": list_of(INTEGER),
    "target_": MATRIX,
    "codebook_": MATRIX,
    "_n_features_out": COUNT,
}
"""Fitted attributes of estimators: they mean the same in all of them."""

_ALL = "n_features_in_ feature_names_in_? _sklearn_output_config?"
_CODES = f"{_ALL} components_ layers_ clusters_ _clustered objective_history_ history_iterations_ n_iter_ converged_"
_ONE = f"{_CODES} reconstruction_err_"
_DEEP = f"{_ONE} _sizes _ridges _stack pretraining_histories_"
_VIEWS = f"{_CODES} view_names_ view_sizes_"
_SHARED = f"{_VIEWS} weights_ views_ mean_ _basis embedding_"
_CLUSTERER = f"{_ALL} view_names_ embedding_ labels_"
_IMAGES = f"{_ALL} image_shape_ _n_features_out"

ESTIMATORS: dict[str, tuple[str, ...]] = {
    name: tuple(attributes.split())
    for name, attributes in {
        "laminar.attributes.layers.AttributeLayers": f"{_ALL} components_ layers_ mean_ attributes_ classes_ "
        "band_weights_ _bank _maps _coders _class_means",
        "laminar.deep.multilayer.MultiLayerNMF": f"{_ONE} _sizes objective_histories_",
        "laminar.deep.semi.DeepSemiNMF": f"{_DEEP} _stream? _online?",
        "laminar.deep.wsf.DeepWSF": f"{_DEEP} attribute_scores_ attribute_layers_",
        "laminar.multiview.deep_nmf.MultiViewDeepNMF": f"{_SHARED} pretraining_histories_",
        "laminar.multiview.multinmf.MultiNMF": f"{_VIEWS} totals_ _alpha consensus_ representations_",
        "laminar.multiview.semi_nmf.MultiViewSemiNMF": _SHARED,
        "laminar.nmf.class_driven.ClassDrivenNMF": f"{_ONE} classes_ component_classes_ _has_classes",
        "laminar.nmf.concept.ConceptFactorization": f"{_ONE} concepts_ _embedding?",
        "laminar.nmf.constrained.ConstrainedNMF": _ONE,
        "laminar.nmf.discriminant.DiscriminantNMF": _ONE,
        "laminar.nmf.gnmf.GNMF": _ONE,
        "laminar.nmf.nmf.NMF": _ONE,
        "laminar.nmf.semi.SemiNMF": f"{_ONE} ridge_? offset_?",
        "laminar.nmf.slow.SlowFeatureNMF": f"{_ONE} _weights",
        "laminar.nmf.smoothed.SmoothedSemiNMF": f"{_ONE} _directions",
        "laminar.nmf.wsf.WSF": f"{_ONE} ridge_? offset_?",
        "laminar.temporal.sfa.SlowFeatureAnalysis": f"{_ALL} components_ patterns_ mean_ deltas_ n_pcs_ "
        "explained_variance_ratio_",
        "laminar.baselines.coregularized.CoRegularizedSpectral": f"{_CLUSTERER} objective_history_ n_iter_",
        "laminar.baselines.cotraining.CoTrainedSpectral": f"{_CLUSTERER} n_iter_",
        "laminar.baselines.cotraining.MinDisagreement": _CLUSTERER,
        "laminar.baselines.spectral.NgJordanWeiss": f"{_CLUSTERER} eigenvalues_",
        "laminar.baselines.subspace.DiMSC": f"{_CLUSTERER} representations_ objective_history_ n_iter_",
        "laminar.baselines.subspace.SmoothRepresentation": f"{_CLUSTERER} representations_",
        "laminar.features.gabor.GaborMagnitudes": _IMAGES,
        "laminar.features.geometry.AlignLandmarks": f"{_IMAGES} output_shape_ target_",
        "laminar.features.geometry.Crop": f"{_IMAGES} output_shape_ position_",
        "laminar.features.geometry.Resize": f"{_IMAGES} output_shape_",
        "laminar.features.gradients.GradientOrientations": _IMAGES,
        "laminar.features.lbp.LocalBinaryPatterns": _IMAGES,
        "laminar.features.pixels.Pixels": _IMAGES,
        "laminar.features.sift.SiftBagOfWords": f"{_IMAGES} codebook_",
    }.items()
}
"""Estimators, by module and name, with the fitted attributes they have."""


def resolve(name: str) -> Any:
    """Return the class of a name of the tables; the module is imported."""
    if name not in ESTIMATORS and name not in OBJECTS and name not in RECORDS:
        raise ValueError(f"the class {name[:200]!r} is not one that a model file may hold")
    module, _, short = name.rpartition(".")
    return getattr(import_module(module), short)


def check_state(name: str, state: dict[str, Any], kinds: dict[str, Kind]) -> None:
    """Raise an error unless a state has all attributes of a class, no others, and each is of its kind."""
    short = name.rpartition(".")[2]
    required = {attribute for attribute in kinds if not attribute.endswith("?")}
    by_name = {attribute.rstrip("?"): kind for attribute, kind in kinds.items()}
    missing, unknown = sorted(required - set(state)), sorted(set(state) - set(by_name))
    if missing or unknown:
        problem = f"lacks {missing[0]!r}" if missing else f"has {unknown[0]!r}, which is unknown"
        raise ValueError(f"the state of {short} {problem}")
    for attribute, value in state.items():
        if not by_name[attribute].holds(value):
            raise ValueError(f"{attribute} of {short} is not {by_name[attribute].name}")


def fitted_kinds(name: str) -> dict[str, Kind]:
    """Return the kinds of the fitted attributes of an estimator."""
    return {attribute: ATTRIBUTES[attribute.rstrip("?")] for attribute in ESTIMATORS[name]}
