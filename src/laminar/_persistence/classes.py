"""The classes of state that a file may name, and the attributes that it may set; `estimators` has the estimators.

Names are text: a module is imported when a file names a class of this table. An attribute whose name ends in "?" may
be absent.
"""

from __future__ import annotations

from .kinds import (
    ANY,
    COUNT,
    FINITE,
    FLAG,
    FLAGS,
    INTEGERS,
    MATRIX,
    NUMBER,
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
LAYER, READOUT, _JOINED = f"{_BASE}coding.Layer", f"{_BASE}clusters.Readout", f"{_BASE}clusters.Joined"
CLUSTERS, GRAPH_CLUSTERS = f"{_BASE}clusters.Clusters", f"{_BASE}graph_clusters.GraphClusters"
_NEAREST_MEAN = f"{_BASE}graph_clusters.NearestMean"
ATTRIBUTE_PARTS, STACKS = "laminar.attributes.", "laminar.deep.nonlinear."
ENSEMBLE = "laminar.ensemble."
_ACTIVATIONS = (f"{STACKS}activations.Activation", f"{STACKS}activations.Rectified")
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
_READ = made(READOUT, _JOINED)
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
    LAYER: {
        "weights": MATRIX,
        "components": MATRIX,
        "representation": MATRIX,
        "ridge": FINITE,
        "whitening?": optional(MATRIX),
        "mean?": optional(VECTOR),
    },
    READOUT: {"basis": optional(MATRIX), "unit": either(FLAG, FINITE)},
    _JOINED: {"reads": list_of(made(READOUT)), "edges": INTEGERS},
    CLUSTERS: {**_CLUSTERING, "_fitted": dict_of(made(_KMEANS), SIZE)},
    _NEAREST_MEAN: {"means": MATRIX, "owners": INTEGERS},
    GRAPH_CLUSTERS: {
        **_CLUSTERING,
        "_fitted": dict_of(made(_NEAREST_MEAN, _NEAREST), SIZE),
        "graph": either(one_of("knn", "rank"), made(*_GRAPHS)),
        "n_neighbors?": optional(SIZE),
        "n_directions?": optional(SIZE),
        "_labels?": dict_of(INTEGERS, SIZE),
    },
    f"{ATTRIBUTE_PARTS}bands.Band": {
        "kind": TEXT,
        "rank": optional(SIZE),
        "n_neighbors": SIZE,
        "strength": FINITE,
        "whitening": FINITE,
        "prior": FINITE,
    },
    f"{ATTRIBUTE_PARTS}neighbour_graph.NeighbourGraph": {
        "singular_values": VECTOR,
        "whitening": FINITE,
        "n_neighbors": SIZE,
        "graph": made("laminar.graphs.operators.SparseOperator"),
        "_search": made(_NEIGHBOURS),
    },
    f"{ATTRIBUTE_PARTS}principal_scores.PrincipalScores": {
        "factors": optional(VECTOR),
        "mean": VECTOR,
        "scale": FINITE,
        "basis": MATRIX,
        "singular_values": VECTOR,
    },
    f"{ATTRIBUTE_PARTS}filter_bank.FilterBank": {
        "bands": list_of(made(f"{ATTRIBUTE_PARTS}bands.Band")),
        "n_scores": SIZE,
        "max_nodes": SIZE,
        "principal": dict_of(made(f"{ATTRIBUTE_PARTS}principal_scores.PrincipalScores"), TEXT),
        "length": FINITE,
        "_graphs": dict_of(made(f"{ATTRIBUTE_PARTS}neighbour_graph.NeighbourGraph")),
        "_filtered": dict_of(MATRIX, made(f"{ATTRIBUTE_PARTS}bands.Band")),
        "sizes": list_of(FINITE),
    },
    f"{ATTRIBUTE_PARTS}simplex_codes.SimplexCoder": {
        "n_codes": SIZE,
        "max_steps": COUNT,
        "sweeps": COUNT,
        "directions": MATRIX,
        "weights": MATRIX,
    },
    f"{ENSEMBLE}forms.Form": {"name": TEXT, "factors": VECTOR, "smallest": FINITE},
    f"{ENSEMBLE}scores.Scores": {"mean": VECTOR, "basis": MATRIX, "sizes": VECTOR, "training": MATRIX},
    f"{ENSEMBLE}scores.JointScores": {"factors": VECTOR, "shared": made(f"{ENSEMBLE}scores.Scores")},
    f"{ENSEMBLE}spaces.Spaces": {
        "n_clusters": SIZE,
        "observed": FLAGS,
        "weights": VECTOR,
        "forms": list_of(list_of(made(f"{ENSEMBLE}forms.Form"))),
        "scores": list_of(list_of(made(f"{ENSEMBLE}scores.Scores"))),
        "joint": list_of(made(f"{ENSEMBLE}scores.JointScores")),
    },
    f"{ENSEMBLE}grid.Member": {
        "source": one_of("view", "sum", "joint"),
        "form": TEXT,
        "position": COUNT,
        "exponent": FINITE,
        "directions": SIZE,
        "n_neighbors": SIZE,
    },
    f"{ENSEMBLE}subspaces.Subspace": {"stage": COUNT, "exponent": FINITE, "directions": list_of(SIZE)},
    f"{ENSEMBLE}subspaces.Stages": {
        "form": made(f"{ENSEMBLE}forms.Form"),
        "scores": list_of(made(f"{ENSEMBLE}scores.Scores")),
        "labels": INTEGERS,
        "centres": MATRIX,
        "main": made(f"{ENSEMBLE}subspaces.Subspace"),
    },
    f"{ENSEMBLE}base.Reading": {"labels": INTEGERS, "members": INTEGERS},
    f"{ATTRIBUTE_PARTS}class_centres.ClassCentres": {"directions": MATRIX, "centres": MATRIX},
    f"{ATTRIBUTE_PARTS}layer_map.LayerMap": {
        "maps": dict_of(MATRIX, COUNT),
        "offset": VECTOR,
        "coders": list_of(made(f"{ATTRIBUTE_PARTS}simplex_codes.SimplexCoder")),
        "classes": made(f"{ATTRIBUTE_PARTS}class_centres.ClassCentres"),
    },
    "laminar.graphs.operators.SparseOperator": {"W": SPARSE, "degree": VECTOR},
    "laminar.multiview.layers.View": {
        "weight": FINITE,
        "layers": list_of(made(LAYER)),
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
    f"{STACKS}stack.Stack": {"weights": list_of(MATRIX), "activation": either(TEXT, made(*_ACTIVATIONS))},
    f"{STACKS}stochastic.Moments": {
        "mean": MATRIX,
        "square": MATRIX,
        "beta1": FINITE,
        "beta2": FINITE,
        "epsilon": FINITE,
    },
    f"{STACKS}stochastic.Stream": {
        "stack": made(f"{STACKS}stack.Stack"),
        "scale": FINITE,
        "moments": list_of(made(f"{STACKS}stochastic.Moments")),
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
