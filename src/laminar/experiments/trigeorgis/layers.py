"""Fig. 2: layers without labels against attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from laminar import DeepSemiNMF
from laminar.metrics import normalized_mutual_information
from laminar.recipes import trigeorgis as published

from ..cells import Cell
from ..data import Images, images
from ..item import item
from ..result import Result, mean_and_spread

if TYPE_CHECKING:
    from ..run import Run


def layers_against_attributes(name: str, small: bool, model: Any, seed: int, n_init: int) -> dict[str, float]:
    """Return the agreement (NMI) of k-means of the raw codes of every layer with every attribute."""
    data = images(name, small)
    fitted, scores = model.set_params(random_state=seed).fit(data.unit), {}
    for attribute in _shown(data):
        y = data.attributes[attribute]
        known = y >= 0
        for layer in range(len(fitted.layers_)):
            found = fitted.cluster(layer=layer, readout="raw", n_clusters=len(np.unique(y[known])), n_init=n_init)
            scores[f"{attribute}, layer {layer + 1}"] = normalized_mutual_information(y[known], found[known])
    return scores


def _shown(data: Images) -> list[str]:
    return [name for name in ("pose", "illumination", "light", "identity") if name in data.attributes]


def explained(name: str, small: bool, attribute: str) -> dict[str, float]:
    """Return the share of the variance of the images that is between the classes of an attribute."""
    data = images(name, small)
    y, X = data.attributes[attribute], data.unit
    X, y = X[y >= 0], y[y >= 0]
    centre, total = X.mean(axis=0), ((X - X.mean(axis=0)) ** 2).sum()
    between = sum((y == a).sum() * ((X[y == a].mean(axis=0) - centre) ** 2).sum() for a in np.unique(y))
    return {"share": float(between / total)}


@item(
    "trigeorgis-fig2",
    "Without labels, the layers of Deep Semi-NMF cluster by pose, expression and identity, from the first layer up.",
)
def figure2(run: Run) -> Result:
    """Fig. 2, the main claim: layers against attributes, without labels."""
    name, data = "pie_5pose_10id", images("pie_5pose_10id", run.quick)
    sizes = (30, 20, 10) if run.quick else (100, 60, 30)
    limits = {"max_iter": 10, "pretraining_max_iter": 10} if run.quick else {}
    models = {
        "published": published.deep_semi_nmf(sizes[-1], sizes[:-1]).set_params(**limits),
        "laminar": DeepSemiNMF(sizes),
    }
    attributes = _shown(data)
    shares = run.cells(
        "trigeorgis-fig2: variance", [Cell({"attribute": a}, explained, (name, run.quick, a)) for a in attributes]
    ).set_index("attribute")["share"]
    cells = [
        Cell({"rule": rule, "seed": seed}, layers_against_attributes, (name, run.quick, model, seed, 10))
        for rule, model in models.items()
        for seed in run.seeds(3)
    ]
    found = run.cells("trigeorgis-fig2", cells)
    rows = {
        (rule, str(layer)): {a: mean_and_spread(part[f"{a}, layer {layer}"]) for a in attributes}
        for rule, part in found.groupby("rule", sort=False)
        for layer in (1, 2, 3)
    }
    rows["share of the variance", ""] = {a: f"{shares[a]:.2f}" for a in attributes}
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(rows, names=["rule", "layer"])
    means = found[found["rule"] == "published"].mean(numeric_only=True)
    by_layer = {a: [float(means[f"{a}, layer {layer}"]) for layer in (1, 2, 3)] for a in attributes}
    gain = max(max(values) - min(values) for values in by_layer.values())
    own = len({int(np.argmax(values)) for values in by_layer.values()}) == len(attributes)
    verdict = (
        "as published, each attribute is clearest on a layer of its own."
        if own and gain > 0.1
        else f"as published, no layer specialises: NMI of an attribute differs by at most {gain:.2f} between layers."
    )
    title = f"Trigeorgis et al., Fig. 2: layers without labels, {data.title}"
    return Result(title, found, [("NMI of k-means of the raw codes with each attribute", table)], verdict)
