"""The models that Trigeorgis et al. compare: one fit of each for all tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from laminar import GNMF, NMF, DeepSemiNMF, MultiLayerNMF, SemiNMF, SmoothedSemiNMF
from laminar.baselines import WhitenedSpectral
from laminar.features import GradientOrientations
from laminar.metrics import clustering_accuracy, normalized_mutual_information
from laminar.recipes import trigeorgis as published

from ..cells import Cell
from ..data import SMALL, Images, images

if TYPE_CHECKING:
    from ..run import Run

COMPONENTS = (20, 30, 40, 50, 60, 70)
N_INIT = 10  # starts of k-means, for all
SEEDS = 3  # of k-means: the fits begin at the decomposition by singular values and have no seed
CURVED = ("Deep Semi-NMF tanh", "Deep Semi-NMF square")
LAYERED = ("Deep Semi-NMF", "Multi-layer NMF")


@dataclass(frozen=True)
class Setting:
    """How large the models of an item are, and how long they are fitted.

    Attributes
    ----------
    name : str
        Data set.
    features : {"pixels", "gradient orientations"}
        Of the images.
    sizes : sequence of int
        Numbers of components.
    first : int
        Size of the first of two layers.
    plain, layered, curved : int
        Largest number of iterations as published: of one layer; of each layer and of fine-tuning; of fine-tuning with
        a function between the layers.
    """

    name: str
    features: str = "pixels"
    sizes: Sequence[int] = COMPONENTS
    first: int = 625
    plain: int = 1000
    layered: int = 100
    curved: int = 10

    @property
    def middle(self) -> int:
        """The size at which starts and iterations are compared."""
        return self.sizes[(len(self.sizes) - 1) // 2]

    def of(self, run: Run) -> Setting:
        """Return the setting of a run: smaller if it is in small or the data are few."""
        n = len(samples(self.name, run.quick).X)
        if run.quick:
            return replace(self, sizes=(20, 30), first=min(60, n // 2), plain=10, layered=10, curved=5)
        return replace(self, first=min(self.first, n // 2))

    def limits(self, method: str) -> dict[str, int]:
        """Return the numbers of iterations of a published rule."""
        if method in CURVED:
            return {"max_iter": self.curved, "pretraining_max_iter": self.layered}
        if method == "Deep Semi-NMF":
            return {"max_iter": self.layered, "pretraining_max_iter": self.layered}
        return {"max_iter": self.layered if method in LAYERED else self.plain}


def models(k: int, first: int) -> dict[tuple[str, str], Any]:
    """Return the models of Table 1 and of Figs. 4 to 6 by name and rule."""
    found: dict[tuple[str, str], Any] = {
        ("Deep Semi-NMF", "published"): published.deep_semi_nmf(k, first),
        ("Deep Semi-NMF", "published, random start"): published.deep_semi_nmf(k, first, init="random"),
        ("Deep Semi-NMF", "laminar"): DeepSemiNMF((first, k)),
        ("Deep Semi-NMF tanh", "published"): published.deep_semi_nmf(k, first, activation="stanh"),
        ("Deep Semi-NMF square", "published"): published.deep_semi_nmf(k, first, activation="square"),
        ("GNMF", "published"): published.gnmf(k),
        ("GNMF", "laminar"): GNMF(k),
        ("Multi-layer NMF", "published"): published.multi_layer_nmf(k, first),
        ("Multi-layer NMF", "laminar"): MultiLayerNMF((first, k)),
        ("NMF (MUL)", "published"): published.nmf_mul(k),
        ("NMF (MUL)", "laminar"): NMF(k),
        ("NeNMF", "published"): published.nenmf(k),
        ("NeNMF", "laminar"): NMF(k, solver="apg"),
        ("Semi-NMF", "published"): published.semi_nmf(k),
        ("Semi-NMF", "published, random start"): published.semi_nmf(k, init="random"),
        ("Semi-NMF", "laminar"): SemiNMF(k),
        ("SmoothedSemiNMF", "recommended"): SmoothedSemiNMF(k),
    }
    return {place: model.set_params(random_state=0) for place, model in found.items()}


def samples(name: str, small: bool) -> Images:
    """Return images; in small some of them, of two people or more."""
    data = images(name, small)
    if not small or len(np.unique(next(iter(data.attributes.values())))) > 1:
        return data
    whole = images(name)
    keep = np.arange(0, len(whole.X), len(whole.X) // SMALL)
    kept = {name: labels[keep] for name, labels in whole.attributes.items()}
    return Images(whole.X[keep], kept, f"{whole.title} ({len(keep)} of {len(whole.X)} images)")


def features_of(name: str, small: bool, features: str) -> np.ndarray:
    """Return images of unit norm, or the orientations of their gradients."""
    data = samples(name, small)
    if features == "pixels":
        return data.unit
    side = round(data.X.shape[1] ** 0.5)
    return GradientOrientations(norm="l2", image_shape=(side, side)).fit_transform(data.X)


def classes(name: str, small: bool) -> np.ndarray:
    """Return the labels that clusters are compared with: those of the first attribute, identity where it is known."""
    return next(iter(samples(name, small).attributes.values()))


def fitted(name: str, small: bool, features: str, model: Any, readouts: Sequence[str], n_init: int) -> dict[str, float]:
    """Fit a model; return its error, its iterations and, for several seeds of k-means, the scores of its clusters."""
    y = classes(name, small)
    model = clone(model).fit(features_of(name, small, features))
    scores = {"error": model.reconstruction_err_, "iterations": model.n_iter_}
    for readout in readouts:
        for seed in range(SEEDS):
            model.clusters_.random_state = seed  # of k-means alone: the codes stay
            found = model.cluster(readout=readout, n_clusters=len(np.unique(y)), n_init=n_init)
            scores |= _scored(y, found, readout, seed)
    return scores


def whitened(name: str, small: bool, features: str, exponent: float, n_init: int) -> dict[str, float]:
    """Return the scores of the baseline: spectral clusters of the rank graph of (partly) whitened scores."""
    y, X = classes(name, small), features_of(name, small, features)
    scores: dict[str, float] = {}
    for seed in range(SEEDS):
        baseline = WhitenedSpectral(len(np.unique(y)), exponent=exponent, n_init=n_init, random_state=seed)
        scores |= _scored(y, baseline.fit_predict(X), "auto", seed)
    return scores


def svd_error(name: str, small: bool, k: int, features: str = "pixels") -> dict[str, float]:
    """Return the smallest error that k components can have, by the singular values."""
    singular = np.linalg.svd(features_of(name, small, features), compute_uv=False)
    return {"error": float(np.sqrt((singular[k:] ** 2).sum()))}


def _scored(y: np.ndarray, found: np.ndarray, readout: str, seed: int) -> dict[str, float]:
    return {
        f"accuracy, {readout}, seed {seed}": clustering_accuracy(y, found),
        f"nmi, {readout}, seed {seed}": normalized_mutual_information(y, found),
    }


def fits(
    run: Run,
    title: str,
    setting: Setting,
    only: Sequence[str] | None = None,
    without: Sequence[tuple[str, str]] = (),
) -> pd.DataFrame:
    """Compute one fit of every model and size, the same for all items of the same setting.

    Parameters
    ----------
    run : Run
        Computes them.
    title : str
        What is shown as progress.
    setting : Setting
        Data, sizes and iterations.
    only : sequence of str or None, default=None
        Names of models; None takes all.
    without : sequence of (str, str), default=()
        Names and rules of models that are left out.

    Returns
    -------
    DataFrame
        A row a model, rule and size, with its error, iterations, scores of clusters and seconds.
    """
    small, name, features = run.quick, setting.name, setting.features
    cells = []
    for k in setting.sizes:
        for (method, rule), model in models(k, setting.first).items():
            wanted = only is None or method in only or rule == "recommended"
            elsewhere = rule == "published, random start" and k != setting.middle
            if wanted and not elsewhere and (method, rule) not in without:
                is_published = rule.startswith("published")
                model.set_params(**(setting.limits(method) if is_published or run.quick else {}))
                readouts = ("raw", "auto") if is_published else ("auto",)
                names = {"method": method, "rule": rule, "components": k}
                cells.append(Cell(names, fitted, (name, small, features, model, readouts, N_INIT)))
        names = {"method": "SVD", "rule": "bound", "components": k}
        cells.append(Cell(names, svd_error, (name, small, k, features)))
    for exponent, method in ((1.0, "whitened scores, rank graph"), (0.75, "partly whitened scores, rank graph")):
        names = {"method": method, "rule": "baseline", "components": 0}
        cells.append(Cell(names, whitened, (name, small, features, exponent, N_INIT)))
    return run.cells(title, cells)
