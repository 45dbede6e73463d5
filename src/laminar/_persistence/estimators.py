"""The estimators that a file may name, and the fitted attributes that it may set; names end as in `classes`."""

from __future__ import annotations

from .classes import ATTRIBUTE_PARTS, CLUSTERS, ENSEMBLE, GRAPH_CLUSTERS, LAYER, READOUT, STACKS
from .kinds import (
    ANY,
    COUNT,
    FINITE,
    FLAG,
    FLAGS,
    INTEGER,
    INTEGERS,
    LABELS,
    MATRIX,
    NAME,
    NAMES,
    NUMBER,
    NUMBERS,
    SIZE,
    TEXT,
    VECTOR,
    Kind,
    dict_of,
    either,
    list_of,
    made,
    optional,
)

_HISTORIES = list_of(NUMBERS)

ATTRIBUTES: dict[str, Kind] = {
    "n_features_in_": SIZE,
    "feature_names_in_": NAMES,
    "_sklearn_output_config": dict_of(TEXT),
    # factors and codes
    "components_": MATRIX,
    "layers_": list_of(made(LAYER)),
    "clusters_": made(CLUSTERS, GRAPH_CLUSTERS),
    "_clustered": ANY,
    "objective_history_": NUMBERS,
    "history_iterations_": NUMBERS,
    "n_iter_": COUNT,
    "converged_": FLAG,
    "kkt_residual_": optional(NUMBER),
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
    "_directions": made(READOUT),
    # deep models
    "_sizes": list_of(SIZE),
    "_ridges": list_of(FINITE),
    "_stack": optional(made(f"{STACKS}stack.Stack")),
    "_stream": optional(made(f"{STACKS}stochastic.Stream")),
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
    "form_": TEXT,
    # ensemble
    "members_": list_of(made(f"{ENSEMBLE}grid.Member")),
    "agreement_": VECTOR,
    "pairwise_agreement_": MATRIX,
    "kept_": FLAGS,
    "alternatives_": list_of(made(f"{ENSEMBLE}base.Reading")),
    "_member_weights": MATRIX,
    "_memberships": MATRIX,
    "_spaces": made(f"{ENSEMBLE}spaces.Spaces"),
    "support_": VECTOR,
    "_stages": made(f"{ENSEMBLE}subspaces.Stages"),
    "_subspaces": list_of(made(f"{ENSEMBLE}subspaces.Subspace")),
    "_voters": list_of(INTEGERS),
    "_numbers": list_of(SIZE),
    "_seed": COUNT,
    # slow features
    "deltas_": NUMBERS,
    "explained_variance_ratio_": NUMBERS,
    "n_pcs_": COUNT,
    "patterns_": MATRIX,
    # attributes
    "attributes_": list_of(NAME),
    "band_weights_": dict_of(dict_of(NUMBER)),
    "_bank": made(f"{ATTRIBUTE_PARTS}filter_bank.FilterBank"),
    "_maps": list_of(made(f"{ATTRIBUTE_PARTS}layer_map.LayerMap")),
    # baselines
    "labels_": either(INTEGERS, dict_of(LABELS)),
    "eigenvalues_": NUMBERS,
    "_principal": made(f"{ATTRIBUTE_PARTS}principal_scores.PrincipalScores"),
    "_centres": list_of(made(f"{ATTRIBUTE_PARTS}class_centres.ClassCentres")),
    "_graph": made(f"{ATTRIBUTE_PARTS}neighbour_graph.NeighbourGraph"),
    "_spread": list_of(MATRIX),
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
_SWEPT = f"{_ONE} kkt_residual_?"
_DEEP = f"{_SWEPT} _sizes _ridges _stack pretraining_histories_"
_VIEWS = f"{_CODES} view_names_ view_sizes_"
_SHARED = f"{_VIEWS} kkt_residual_? weights_ views_ mean_ _basis embedding_"
_LABELLED = f"{_ALL} components_ layers_ mean_ attributes_ classes_ labels_"
_CLUSTERER = f"{_ALL} view_names_ embedding_ labels_"
_IMAGES = f"{_ALL} image_shape_ _n_features_out"

ESTIMATORS: dict[str, tuple[str, ...]] = {
    name: tuple(attributes.split())
    for name, attributes in {
        "laminar.attributes.layers.AttributeLayers": f"{_LABELLED} "
        "band_weights_ objective_history_ n_iter_ converged_? _bank _maps",
        "laminar.deep.multilayer.MultiLayerNMF": f"{_SWEPT} _sizes objective_histories_",
        "laminar.deep.semi.DeepSemiNMF": f"{_DEEP} _stream? _online?",
        "laminar.deep.wsf.DeepWSF": f"{_DEEP} attribute_scores_ attribute_layers_",
        "laminar.ensemble.cluster_ensemble.ClusterEnsemble": f"{_ALL} view_names_ view_sizes_ components_ layers_ "
        "labels_ members_ agreement_ pairwise_agreement_ kept_ alternatives_ weights_ n_iter_ converged_ "
        "_member_weights _memberships _spaces",
        "laminar.ensemble.multiple_clusterings.MultipleClusterings": f"{_ALL} components_ layers_ labels_ support_ "
        "pairwise_agreement_ n_iter_ converged_ _stages _subspaces _voters _numbers _seed",
        "laminar.multiview.deep_nmf.MultiViewDeepNMF": f"{_SHARED} pretraining_histories_",
        "laminar.multiview.multinmf.MultiNMF": f"{_VIEWS} totals_ _alpha consensus_ representations_",
        "laminar.multiview.semi_nmf.MultiViewSemiNMF": _SHARED,
        "laminar.nmf.class_driven.ClassDrivenNMF": f"{_SWEPT} classes_ component_classes_ _has_classes",
        "laminar.nmf.concept.ConceptFactorization": f"{_SWEPT} concepts_ _embedding?",
        "laminar.nmf.constrained.ConstrainedNMF": _SWEPT,
        "laminar.nmf.discriminant.DiscriminantNMF": _SWEPT,
        "laminar.nmf.gnmf.GNMF": _SWEPT,
        "laminar.nmf.nmf.NMF": _SWEPT,
        "laminar.nmf.semi.SemiNMF": f"{_SWEPT} ridge_ offset_?",
        "laminar.nmf.slow.SlowFeatureNMF": f"{_SWEPT} _weights",
        "laminar.nmf.smoothed.SmoothedSemiNMF": f"{_ONE} _directions",
        "laminar.nmf.wsf.WSF": f"{_SWEPT} ridge_",
        "laminar.temporal.sfa.SlowFeatureAnalysis": f"{_ALL} components_ patterns_ mean_ deltas_ n_pcs_ "
        "explained_variance_ratio_",
        "laminar.baselines.coregularized.CoRegularizedSpectral": f"{_CLUSTERER} objective_history_ n_iter_",
        "laminar.baselines.cotraining.CoTrainedSpectral": f"{_CLUSTERER} n_iter_",
        "laminar.baselines.cotraining.MinDisagreement": _CLUSTERER,
        "laminar.baselines.networks.NEMO": _CLUSTERER,
        "laminar.baselines.networks.SimilarityNetworkFusion": f"{_CLUSTERER} n_iter_",
        "laminar.baselines.spectral.WhitenedSpectral": f"{_CLUSTERER} form_",
        "laminar.baselines.lda.PooledLDA": f"{_LABELLED} _principal _centres",
        "laminar.baselines.spreading.LabelSpreading": f"{_LABELLED} _principal _graph _spread",
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


def fitted_kinds(name: str) -> dict[str, Kind]:
    """Return the kinds of the fitted attributes of an estimator."""
    return {attribute: ATTRIBUTES[attribute.rstrip("?")] for attribute in ESTIMATORS[name]}
