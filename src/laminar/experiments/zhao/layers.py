"""Fig. 1: classes gather layer by layer."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from laminar import ClusterEnsemble, MultiViewDeepNMF
from laminar.baselines import concat_features, concat_pca
from laminar.metrics import normalized_mutual_information
from laminar.recipes import zhao as published

from ..cells import Cell
from ..data import views
from ..item import item
from ..result import Result, mean_and_spread, table_of_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..run import Run

N_INIT = 20  # starts of k-means


def scatter_ratio(H: np.ndarray, y: np.ndarray) -> float:
    """Return the scatter within the classes over that between them: traces of the two matrices.

    Examples
    --------
    >>> scatter_ratio(np.array([[0.0], [2.0], [4.0], [6.0]]), np.array([0, 0, 1, 1]))
    0.25
    """
    means = np.vstack([H[y == a].mean(axis=0) for a in np.unique(y)])[np.unique(y, return_inverse=True)[1]]
    return float(((H - means) ** 2).sum() / ((means - H.mean(axis=0)) ** 2).sum())


def codes_by_layer(data: list[np.ndarray], model: Any, seed: int) -> dict[str, np.ndarray]:
    """Fit a model and return the codes of every layer; of a hidden one those of all views side by side."""
    if isinstance(model, int):
        return {"principal scores": concat_pca(data, n_components=model, random_state=seed)}
    fitted = clone(model).set_params(random_state=seed).fit(data)
    if isinstance(model, ClusterEnsemble):
        return {"memberships": fitted.layers_[-1].representation}
    codes = {"views": concat_features(data)}
    for i in range(len(model.layers) - 1):
        hidden = [view.layers[i].representation for view in fitted.views_.values()]
        codes[f"layer {i + 1}"] = np.hstack(hidden)
    codes[f"layer {len(model.layers)}"] = fitted.layers_[-1].representation
    return codes


def gathered(name: str, small: bool, model: Any, seed: int) -> dict[str, float]:
    """Return for every layer the ratio of scatters and the NMI of k-means of its codes."""
    data, y, _ = views(name, small)
    scores = {}
    for layer, H in codes_by_layer(data, model, seed).items():
        found = KMeans(len(np.unique(y)), n_init=N_INIT, random_state=seed).fit_predict(H)
        scores[f"scatter, {layer}"] = scatter_ratio(H, y)
        scores[f"NMI, {layer}"] = normalized_mutual_information(y, found)
    return scores


@item(
    "zhao-layers",
    "Layer by layer DMF-MVC gathers the samples of a class: undesired factors are gone from the last layer.",
)
def layers(run: Run) -> Result:
    """Fig. 1, which is a drawing: scatter and clusters of the codes of every layer."""
    name = "yale_mv"
    data, y, what = views(name, run.quick)
    c, sizes = len(np.unique(y)), (30, 15) if run.quick else (100, 50)
    limits = {"max_iter": 20, "pretraining_max_iter": 20} if run.quick else {}
    models: dict[str, Any] = {
        "published": published.dmf_mvc(c, sizes, **limits),
        "laminar": MultiViewDeepNMF(sizes, n_clusters=c),
        "recommended": ClusterEnsemble(c, n_init=N_INIT),
        "baseline": sizes[-1],
    }
    cells = [
        Cell({"rule": rule, "seed": seed}, gathered, (name, run.quick, model, seed))
        for rule, model in models.items()
        for seed in run.seeds(5)
    ]
    found = run.cells("zhao-layers", cells)
    methods = {"published": "DMF-MVC", "laminar": "DMF-MVC", "recommended": "ClusterEnsemble", "baseline": "PCA"}
    rows = {}
    for rule, part in found.groupby("rule", sort=False):
        for column in part.columns[part.notna().any()]:
            if column.startswith("NMI, "):
                layer = column.removeprefix("NMI, ")
                rows[methods[rule], rule, layer] = {
                    "within / between": mean_and_spread(part[f"scatter, {layer}"], 2),
                    "NMI of k-means": mean_and_spread(part[column], 3),
                }
    table = table_of_rows(rows, ["method", "rule", "layer"])
    means = found.groupby("rule", sort=False).mean(numeric_only=True)
    steps = ("views", "layer 1", "layer 2")
    ratios = {rule: [float(means.loc[rule, f"scatter, {step}"]) for step in steps] for rule in ("published", "laminar")}
    moves = ["gather" if step < 0 else "spread" for step in np.diff(ratios["published"])]
    nmi = [float(means.loc["published", f"NMI, {step}"]) for step in steps]
    verdict = (
        f"as published classes {moves[0]} from the views to the first layer and {moves[1]} from there to the last one: "
        f"scatter within classes over that between them {_listed(ratios['published'], 2)}, NMI of k-means "
        f"{_listed(nmi, 3)}."
    )
    other = means.loc["baseline", "scatter, principal scores"]
    sentences = [
        f"With Laminar's rule the scatter ratio is {_listed(ratios['laminar'], 2)}; the joined views reduced to as "
        f"many principal scores as the last layer has codes have {other:.2f}.",
        f"Hidden codes of all views are side by side; all have k-means with {N_INIT} starts, of codes as they are.",
    ]

    def draw() -> Figure:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shown = {f"{methods[rule]}, {rule}": codes_by_layer(data, models[rule], 0) for rule in ratios}
        return _drawn(shown, y)

    caption = f"Layers {list(sizes)}; means of {len(run.seeds(5))} runs"
    return Result(f"Zhao et al., Fig. 1: classes by layer, {what}", found, [(caption, table)], verdict, sentences, draw)


def _listed(values: list[float], digits: int) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


def _drawn(shown: dict[str, dict[str, np.ndarray]], y: np.ndarray) -> Figure:
    """Draw two principal directions of the codes of each layer, a row a model, coloured by class."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    columns = list(next(iter(shown.values())))
    figure = Figure(figsize=(2.9 * len(columns), 2.9 * len(shown) + 0.2), layout="constrained")
    grid = figure.subplots(len(shown), len(columns), squeeze=False)
    colours = colormaps["tab20"](np.unique(y, return_inverse=True)[1] % 20)
    markers = np.unique(y, return_inverse=True)[1] % 3
    for axes_of_row, (method, codes) in zip(grid, shown.items(), strict=True):
        for axes, (layer, H) in zip(axes_of_row, codes.items(), strict=True):
            points = PCA(2, random_state=0).fit_transform(H)
            for place, marker in enumerate("os^"):
                at = markers == place
                axes.scatter(*points[at].T, s=16, c=colours[at], marker=marker, linewidths=0)
            axes.set_title(f"{layer}: within / between {scatter_ratio(H, y):.2f}", fontsize=9, loc="left")
            axes.set(xticks=[], yticks=[])
        axes_of_row[0].set_ylabel(method)
    return figure
