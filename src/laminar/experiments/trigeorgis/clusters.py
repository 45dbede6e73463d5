"""Figs. 4 to 6: clusters by number of components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from laminar import SmoothedSemiNMF
from laminar.baselines import WhitenedSpectral
from laminar.metrics import area_under_components, clustering_accuracy, normalized_mutual_information
from laminar.recipes import trigeorgis as published

from ..cells import Cell
from ..data import images
from ..item import item
from ..result import Result, mean_and_spread, paired
from .models import models, setting

if TYPE_CHECKING:
    from ..run import Run

AREAS = {  # of accuracy, CMU PIE pixels, rescaled to 50
    "Semi-NMF": 27.68,
    "NMF (MUL)": 25.75,
    "Multi-layer NMF": 28.15,
    "GNMF": 29.18,
    "NeNMF": 29.14,
    "Deep Semi-NMF": 36.54,
    "Deep Semi-NMF tanh": 36.68,
    "Deep Semi-NMF square": 38.50,
}


def clusters(name: str, small: bool, model: Any, form: str, seed: int, n_init: int) -> dict[str, float]:
    """Fit a model, and score its clusters of identities: k-means of raw codes, or Laminar's read-out."""
    data = images(name, small)
    y = data.attributes["identity"]
    c, X = len(np.unique(y)), data.unit
    model.set_params(random_state=seed)
    if form == "baseline":
        found = model.fit_predict(X)
    else:
        settings = {"readout": "raw"} if form == "raw" else {}
        found = model.set_params(**settings).fit(X).cluster(n_clusters=c, n_init=n_init)
    return {"accuracy": clustering_accuracy(y, found), "nmi": normalized_mutual_information(y, found)}


@item(
    "trigeorgis-fig4",
    "Clusters of Deep Semi-NMF agree with the identities more than those of Semi-NMF and of all variants of NMF.",
)
def figure4(run: Run) -> Result:
    """Figs. 4 and 5 on CMU PIE: clusters by number of components, all eight curves."""
    return _curves(run, "pie_pose27", "Trigeorgis et al., Figs. 4 and 5")


@item(
    "trigeorgis-fig6", "The same on further faces: COIL-20 and five poses of ten people stand in for XM2VTS and CASIA."
)
def figure6(run: Run) -> Result:
    """Fig. 6 on a stand-in for the licensed sets: five poses of ten people."""
    return _curves(run, "pie_5pose_10id", "Trigeorgis et al., Fig. 6 (stand-in)")


def _curves(run: Run, name: str, title: str) -> Result:
    data = images(name, run.quick)
    sizes, first, limits = setting(run, len(data.X))
    c = len(np.unique(data.attributes["identity"]))
    n_init = 10 if run.quick else 20
    seeds, cells = run.seeds(3), []
    for k in sizes:
        compared = models(k, first)
        for activation, word in (("stanh", "tanh"), ("square", "square")):
            compared[f"Deep Semi-NMF {word}"] = {"published": published.deep_semi_nmf(k, first, activation=activation)}
        for method, forms in compared.items():
            for rule, model in forms.items():
                form = "raw" if rule == "published" else "readout"
                cells += [
                    Cell(
                        {"method": method, "rule": rule, "components": k, "seed": seed},
                        clusters,
                        (name, run.quick, model.set_params(**limits), form, seed, n_init),
                    )
                    for seed in seeds
                ]
        for seed in seeds:
            names = {"method": "SmoothedSemiNMF", "rule": "recommended", "components": k, "seed": seed}
            arguments = (name, run.quick, SmoothedSemiNMF(k), "readout", seed, n_init)
            cells.append(Cell(names, clusters, arguments))
    for seed in seeds:
        baseline = (name, run.quick, WhitenedSpectral(c), "baseline", seed, n_init)
        cells += [
            Cell(
                {"method": "whitened scores, rank graph", "rule": "baseline", "components": k, "seed": seed},
                clusters,
                baseline,
            )
            for k in sizes[:1]
        ]
    found = run.cells(title, cells)
    rows: dict[tuple[str, str], dict[str, str]] = {}
    areas: dict[tuple[str, str], float] = {}
    for (method, rule), part in found.groupby(["method", "rule"], sort=False):
        values = {}
        for score in ("accuracy", "nmi"):
            by_size = part.groupby("components")[score].mean()
            if rule == "baseline":
                area = 50 * float(by_size.iloc[0])
            else:
                area = area_under_components(by_size.index, by_size.to_numpy()) * 50 / (max(sizes) - min(sizes))
            values[score] = f"{area:.2f}"
            if score == "accuracy":
                areas[method, rule] = area
        spread = mean_and_spread(part.groupby("seed")["accuracy"].mean(), 3)
        printed = AREAS.get(method) if name == "pie_pose27" and rule == "published" else None
        rows[method, rule] = {
            "printed": "" if printed is None else f"{printed:.2f}",
            "area of accuracy": values["accuracy"],
            "area of NMI": values["nmi"],
            "mean accuracy": spread,
            "seconds": f"{part['seconds'].sum():.0f}",
        }
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(rows, names=["model", "rule"])
    deep, plain = areas["Deep Semi-NMF", "published"], areas["Semi-NMF", "published"]
    best = max(areas, key=lambda key: areas[key])
    verdict = (
        f"as published Deep Semi-NMF has {deep:.1f} and Semi-NMF {plain:.1f} of 50; first is "
        f"{best[0]} ({best[1]}) with {areas[best]:.1f}."
    )
    as_published = found[found["rule"] == "published"]
    sentences = [
        paired(as_published, "accuracy", "method", "Deep Semi-NMF", "Semi-NMF", ["components", "seed"]) + ".",
        f"All have k-means with {n_init} starts; areas over {sizes[0]} to {sizes[-1]} components are rescaled to 50.",
    ]

    def draw() -> Any:
        from laminar.plots import score_curves

        curves = {
            f"{method}, {rule}": part.pivot(index="components", columns="seed", values="accuracy").to_numpy()
            for (method, rule), part in found[found["rule"] != "baseline"].groupby(["method", "rule"], sort=False)
        }
        return score_curves(sizes, curves, title=f"{title}: {data.title}")

    return Result(
        f"{title}: clusters, {data.title}", found, [("Areas under the curves", table)], verdict, sentences, draw
    )
