"""Which estimator: by name, or by what was given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

import laminar
from laminar._utils.stored import Stored, is_streamed

from .options import setting

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from laminar.io.dataset import Dataset

MAX_SAMPLES_WITH_GRAPH = 20_000  # a fit with a graph of neighbours takes seconds up to here


@dataclass(frozen=True)
class Purpose:
    """Columns of `laminar models`: what a model is for."""

    data: str  # "any" sign or ">= 0"
    labels: str  # "", "some" attributes, "one"
    views: bool = False
    one_input: bool = True  # whether one input is enough
    time: bool = False
    holes: bool = False  # samples may lack a view
    graph: bool = False  # whether it needs neighbours of all samples, which takes long for very many
    use: str = ""


MODELS: dict[str, Purpose] = {
    "SmoothedSemiNMF": Purpose("any", "", graph=True, use="clusters, where nothing else is given"),
    "NMF": Purpose(">= 0", "", use="parts that add up; counts and texts; many samples"),
    "SemiNMF": Purpose("any", "", use="parts of standardised or centred data; many samples"),
    "AttributeLayers": Purpose("any", "some", use="one layer an attribute, from a few labels of each"),
    "DeepSemiNMF": Purpose("any", "", use="several layers, from fine to coarse"),
    "MultiLayerNMF": Purpose(">= 0", "", use="several layers of parts"),
    "WSF": Purpose("any", "some", use="codes that agree where labels do"),
    "DeepWSF": Purpose("any", "some", use="several layers, attributes on different ones"),
    "GNMF": Purpose(">= 0", "", graph=True, use="parts whose codes are smooth over neighbours"),
    "ClassDrivenNMF": Purpose(">= 0", "one", use="components of each class; predicts classes"),
    "ConstrainedNMF": Purpose(">= 0", "one", use="samples of a class share one code"),
    "DiscriminantNMF": Purpose(">= 0", "one", use="codes that separate classes"),
    "ConceptFactorization": Purpose("any", "", use="components that are mixtures of samples; kernels"),
    "SlowFeatureNMF": Purpose(">= 0", "", time=True, use="parts that change slowly; phases of a video"),
    "SlowFeatureAnalysis": Purpose("any", "", time=True, use="slowest signals of a sequence"),
    "ClusterEnsemble": Purpose("any", "", views=True, holes=True, graph=True, use="one clustering of several views"),
    "MultipleClusterings": Purpose("any", "", graph=True, use="several clusterings that differ, without labels"),
    "MultiViewSemiNMF": Purpose(
        "any", "", views=True, one_input=False, holes=True, graph=True, use="codes that several views share"
    ),
    "MultiViewDeepNMF": Purpose(
        "any", "", views=True, one_input=False, graph=True, use="layers of each view, one shared (DMF-MVC)"
    ),
    "MultiNMF": Purpose(">= 0", "", views=True, one_input=False, use="views that agree on their codes"),
}


@dataclass(frozen=True)
class Choice:
    """An estimator and why it was chosen."""

    estimator: BaseEstimator
    reason: str


def command_name(cls: str) -> str:
    """Return the name of a class on the command line.

    Examples
    --------
    >>> [command_name(cls) for cls in ("NMF", "DeepSemiNMF", "MultiViewSemiNMF", "WSF", "DeepWSF", "MultiNMF")]
    ['nmf', 'deep-semi-nmf', 'multi-view-semi-nmf', 'wsf', 'deep-wsf', 'multi-nmf']
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls).lower()


def choose(data: Dataset, attributes: Sequence[str], seed: int) -> Choice:
    """Choose an estimator by views, labels, time, signs and size, in this order; not one that data on disk do not suit.

    Parameters
    ----------
    data : Dataset
        What it is fitted to.
    attributes : sequence of str
        Attributes of which labels are used.
    seed : int
        Seed of the estimator.

    Returns
    -------
    Choice
        The estimator, not fitted, and a reason.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import Dataset
    >>> choose(Dataset(np.eye(3), np.array(list("abc"))), [], seed=0).reason
    'no labels, no time, and 3 samples: codes smoothed over a graph of neighbours find clusters best'
    """
    if data.has_views:
        return _choice(
            "ClusterEnsemble",
            f"{len(data.views())} views: clusters that many graphs agree on; --clusters is their number",
            seed,
        )
    is_on_disk = is_streamed(data.X) or isinstance(data.X, Stored)
    named = ", ".join(attributes[:4]) + (" ..." if len(attributes) > 4 else "")
    if attributes and is_on_disk:
        return _choice("WSF", f"labels of {named}, and data on disk, read by blocks", seed)
    if attributes:
        return _choice("AttributeLayers", f"labels of {named}: one layer for each", seed)
    X: Any = data.X
    is_negative = X.min() < 0
    if data.groups is not None:
        if is_negative:
            return _choice("SlowFeatureAnalysis", "sequences in time, with negative values", seed)
        return _choice("SlowFeatureNMF", "sequences in time, without negative values", seed)
    if sp.issparse(X) and not is_negative:
        return _choice("NMF", "sparse data without negative values, such as word counts: parts that add up", seed)
    if X.shape[0] <= MAX_SAMPLES_WITH_GRAPH and not is_on_disk:
        why = "codes smoothed over a graph of neighbours find clusters best"
        return _choice("SmoothedSemiNMF", f"no labels, no time, and {X.shape[0]} samples: {why}", seed)
    if is_negative:
        return _choice("SemiNMF", f"{X.shape[0]} samples, with negative values", seed)
    return _choice("NMF", f"{X.shape[0]} samples, without negative values", seed)


def _choice(cls: str, reason: str, seed: int) -> Choice:
    return Choice(getattr(laminar, cls)(random_state=seed), reason)


def named(name: str, seed: int) -> Choice:
    """Return an estimator by its name, written in any way.

    Parameters
    ----------
    name : str
        As ``deep-wsf``, ``DeepWSF`` or ``deep_wsf``.
    seed : int
        Seed of the estimator.

    Returns
    -------
    Choice
        The estimator, not fitted.

    Examples
    --------
    >>> named("semi-nmf", seed=0).estimator
    SemiNMF(random_state=0)
    >>> named("semi-mnf", seed=0)
    Traceback (most recent call last):
    ValueError: --model semi-mnf: no such model. Did you mean semi-nmf? laminar models lists all.
    """
    classes = {_letters(cls): cls for cls in MODELS}
    if _letters(name) in classes:
        return _choice(classes[_letters(name)], "as given", seed)
    near = get_close_matches(_letters(name), classes, n=1, cutoff=0.5)
    hint = f" Did you mean {command_name(classes[near[0]])}?" if near else ""
    raise ValueError(f"--model {name}: no such model.{hint} laminar models lists all.")


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def set_parameters(
    estimator: BaseEstimator,
    *,
    components: int | None = None,
    layers: tuple[int, ...] | None = None,
    clusters: int | None = None,
    settings: Sequence[str] = (),
) -> None:
    """Set the parameters that were given on the command line.

    Parameters
    ----------
    estimator : estimator
        What is changed.
    components : int or None, default=None
        Number of components, of models with one layer.
    layers : tuple of int or None, default=None
        Sizes of the layers.
    clusters : int or None, default=None
        Number of clusters.
    settings : sequence of str, default=()
        ``name=value`` each, the value as in Python.

    Examples
    --------
    >>> from laminar import NMF
    >>> model = NMF()
    >>> set_parameters(model, components=5, settings=["tol=1e-3"])
    >>> model
    NMF(n_components=5, tol=0.001)
    """
    parameters, cls = estimator.get_params(deep=False), type(estimator).__name__
    chosen = dict(setting(text, "--set") for text in settings)
    for name in chosen:
        _check_name(name, cls, parameters)
    if layers is not None and "layers" not in parameters:
        if components is not None:
            raise ValueError(f"--components and --layers: {cls} has one layer; give one of them.")
        if len(layers) > 1:
            raise ValueError(f"--layers: {cls} has one layer; give one number, or --model deep-semi-nmf.")
        (components,), layers = layers, None
    if components is not None and "n_components" not in parameters:
        cure = (
            f"has several layers; give --layers 100,{components}"
            if "layers" in parameters
            else "has none; leave it out"
        )
        raise ValueError(f"--components: {cls} {cure}.")
    if clusters is not None and "n_clusters" not in parameters:
        raise ValueError(f"--clusters: {cls} has no such parameter; laminar cluster takes -k.")
    given = {"n_components": components, "layers": layers, "n_clusters": clusters}
    estimator.set_params(**{name: value for name, value in given.items() if value is not None}, **chosen)


def _check_name(name: str, cls: str, parameters: dict[str, Any]) -> None:
    if name not in parameters:
        near = get_close_matches(name, parameters, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(sorted(parameters))}."
        raise ValueError(f"--set {name}: {cls} has no parameter {name}; {hint}")
