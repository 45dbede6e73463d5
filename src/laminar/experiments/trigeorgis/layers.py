"""Fig. 2: layers without labels against attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.manifold import TSNE

from laminar import DeepSemiNMF, MultipleClusterings, layer_attribute_table, layer_clusters, layer_features
from laminar.baselines import WhitenedSpectral
from laminar.datasets import available
from laminar.metrics import clustering_accuracy, normalized_mutual_information
from laminar.recipes import trigeorgis as published

from ..cells import Cell
from ..data import Images, faces_with_expressions, images
from ..item import item
from ..result import Result, mean_and_spread, paired, table_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..run import Run

RENDERED = "rendered faces with expressions"
SETS = {
    RENDERED: ("pose", "expression", "light", "identity"),
    "pie_5pose_10id": ("pose", "illumination", "identity"),
    "cmu_faces": ("pose", "expression", "eyes", "identity"),
}
PAPER = ("pose", "expression", "identity")  # the attributes of layers 1, 2 and 3
N_DRAWN = 300  # samples of the figure
N_INIT = 10  # starts of k-means
METRICS = ("nmi", "accuracy", "probe")


def faces(name: str, small: bool) -> tuple[Images, dict[str, np.ndarray]]:
    """Return images and the attributes that are compared with the layers.

    Examples
    --------
    >>> data, attributes = faces("rendered faces with expressions", small=True)
    >>> data.X.shape, list(attributes)
    ((96, 1024), ['pose', 'expression', 'light', 'identity'])
    """
    data = faces_with_expressions(small) if name == RENDERED else images(name, small, stand_in=False)
    return data, {attribute: data.attributes[attribute] for attribute in SETS[name]}


def layers_against_attributes(
    name: str, small: bool, model: Any, readout: str | None, seed: int, is_drawn: bool
) -> dict[str, float]:
    """Fit a model without labels; return how well the clusters of every layer, and a linear probe, agree with every
    attribute; and, to be drawn, the place of samples in every layer and their clusters.
    """
    data, attributes = faces(name, small)
    fitted = clone(model).set_params(random_state=seed).fit(data.unit)
    table = layer_attribute_table(
        fitted, None, attributes, metrics=METRICS, readout=readout, n_init=N_INIT, random_state=seed
    )
    scores = {
        f"{attribute}, {'chance' if row == 0 else f'layer {row}'}, {metric}": float(table[attribute, metric].iloc[row])
        for attribute in attributes
        for row in range(len(table))
        for metric in METRICS
    }
    if is_drawn:
        rows = drawn_samples(len(data.X))
        for layer in range(len(fitted.layers_)):
            if readout is None:
                found = fitted.cluster(layer=layer)  # in its own number
            else:
                n_clusters = len(np.unique(data.attributes[PAPER[layer]]))
                found = layer_clusters(fitted, layer, n_clusters, readout=readout, n_init=N_INIT, random_state=seed)
            places = _places(layer_features(fitted, layer, readout=readout)[rows])
            for what, values in (("x", places[:, 0]), ("y", places[:, 1]), ("cluster", found[rows])):
                scores |= {f"drawn {layer + 1} {what} {i}": float(value) for i, value in enumerate(values)}
    return scores


def spectral_against_attributes(name: str, small: bool, seed: int) -> dict[str, float]:
    """Return the agreement of spectral clusters of whitened scores with every attribute, in its number of classes."""
    data, attributes = faces(name, small)
    scores = {}
    for attribute, y in attributes.items():
        known = y >= 0
        model = WhitenedSpectral(len(np.unique(y[known])), n_init=N_INIT, random_state=seed)
        found = model.fit_predict(data.unit)[known]
        scores[f"{attribute}, layer 1, nmi"] = normalized_mutual_information(y[known], found)
        scores[f"{attribute}, layer 1, accuracy"] = clustering_accuracy(y[known], found)
    return scores


def explained(name: str, small: bool, attribute: str) -> dict[str, float]:
    """Return the share of the variance of the images that is between the classes of an attribute."""
    data, attributes = faces(name, small)
    y, X = attributes[attribute], data.unit
    X, y = X[y >= 0], y[y >= 0]
    centre, total = X.mean(axis=0), ((X - X.mean(axis=0)) ** 2).sum()
    between = sum((y == a).sum() * ((X[y == a].mean(axis=0) - centre) ** 2).sum() for a in np.unique(y))
    return {"share": float(between / total)}


def drawn_samples(n_samples: int) -> np.ndarray:
    """Return the samples of the figure, drawn at random: at equal distances they might all have one light.

    Examples
    --------
    >>> len(drawn_samples(1800)), len(drawn_samples(96))
    (300, 96)
    """
    n_drawn = min(N_DRAWN, n_samples)
    return np.sort(np.random.default_rng(0).choice(n_samples, n_drawn, replace=False))


def _places(features: np.ndarray) -> np.ndarray:
    """Return two coordinates that keep neighbours: t-SNE."""
    return TSNE(2, perplexity=min(30, len(features) // 4), init="pca", random_state=0).fit_transform(features)


@item(
    "trigeorgis-fig2",
    "Without labels, the layers of Deep Semi-NMF cluster by pose, expression and identity, from the first layer up.",
)
def figure2(run: Run) -> Result:
    """Fig. 2, the main claim: layers against attributes, without labels."""
    present = [name for name in SETS if name == RENDERED or name in available()]
    names = [name for name in present if not (run.quick and name == "pie_5pose_10id")]  # in small it has one person
    sizes = (30, 20, 10) if run.quick else (100, 60, 30)
    n_iter = 10 if run.quick else 300
    limits = {"max_iter": n_iter, "pretraining_max_iter": n_iter}
    models = {
        "published": (published.deep_semi_nmf(sizes[-1], sizes[:-1]).set_params(**limits), "raw"),
        "laminar": (DeepSemiNMF(sizes), None),
        "recommended": (MultipleClusterings(), None),
    }
    shares = run.cells(
        "trigeorgis-fig2: variance",
        [Cell({"set": name, "attribute": a}, explained, (name, run.quick, a)) for name in names for a in SETS[name]],
    )
    cells = []
    for name in names:
        for seed in run.seeds(1 if run.quick else 3):
            for rule, (model, readout) in models.items():
                is_drawn = name == RENDERED and seed == 0 and rule != "laminar"
                arguments = (name, run.quick, model, readout, seed, is_drawn)
                cells.append(Cell({"set": name, "rule": rule, "seed": seed}, layers_against_attributes, arguments))
            baseline = {"set": name, "rule": "baseline", "seed": seed}
            cells.append(Cell(baseline, spectral_against_attributes, (name, run.quick, seed)))
    computed = run.cells("trigeorgis-fig2", cells)
    drawn = [column for column in computed.columns if column.startswith("drawn ")]
    found = computed.drop(columns=drawn)

    tables = []
    for name in names:
        share = shares[shares["set"] == name].set_index("attribute")["share"]
        data, _ = faces(name, run.quick)
        part = found[found["set"] == name]
        tables += [
            (f"{data.title}: NMI of the clusters of each layer with each attribute", _table(part, SETS[name], share)),
            (
                f"{data.title}: accuracy of these clusters / of a linear probe of the codes, given the labels",
                _table_of_accuracy(part, SETS[name]),
            ),
        ]
    sets = ", ".join(faces(name, run.quick)[0].title for name in names)
    title = f"Trigeorgis et al., Fig. 2: layers without labels, in place of CMU Multi-PIE {sets}"
    by_set = {name: _means(found[found["set"] == name], SETS[name]) for name in names}

    def draw() -> Figure:
        return _draw(computed, by_set, run.quick)

    return Result(title, found, tables, _verdict(by_set), _sentences(found, by_set, shares, sizes, n_iter), draw)


def _rows(part: pd.DataFrame) -> list[tuple[str, int]]:
    """Return the rules and their layers, of which `MultipleClusterings` chooses the number."""
    rows = []
    for rule, of_rule in part.groupby("rule", sort=False):
        layers = [c.split(", ")[1] for c in of_rule.dropna(axis=1, how="all").columns if c.endswith(", nmi")]
        rows += [(str(rule), i) for i in range(1, 1 + max(int(name[6:]) for name in layers if name != "chance"))]
    return rows


def _means(part: pd.DataFrame, attributes: tuple[str, ...]) -> pd.DataFrame:
    """Return the mean NMI less that of chance: a row a layer, a column an attribute."""
    rows = {}
    for rule, layer in _rows(part):
        mean = part[part["rule"] == rule].mean(numeric_only=True)
        chance = part.mean(numeric_only=True)
        rows[rule, layer] = {
            a: max(0.0, mean[f"{a}, layer {layer}, nmi"] - chance[f"{a}, chance, nmi"]) for a in attributes
        }
    return table_of_rows(rows, ["rule", "layer"])


def _table(part: pd.DataFrame, attributes: tuple[str, ...], share: pd.Series) -> pd.DataFrame:
    rows = {("share of the variance", ""): {a: f"{share[a]:.2f}" for a in attributes}}
    rows["chance", ""] = {a: f"{part[f'{a}, chance, nmi'].mean():.2f}" for a in attributes}
    for rule, layer in _rows(part):
        own = part[part["rule"] == rule]
        rows[rule, str(layer)] = {a: mean_and_spread(own[f"{a}, layer {layer}, nmi"].dropna()) for a in attributes}
        rows[rule, str(layer)]["seconds"] = f"{own['seconds'].mean():.0f}" if layer == 1 else ""
    return table_of_rows(rows, ["rule", "layer"])


def _table_of_accuracy(part: pd.DataFrame, attributes: tuple[str, ...]) -> pd.DataFrame:
    places = [("chance", ""), *((rule, str(layer)) for rule, layer in _rows(part))]
    rows = {}
    for rule, layer in places:
        mean = part[part["rule"] == (rule if layer else "published")].mean(numeric_only=True)
        where = f"layer {layer}" if layer else "chance"
        rows[rule, layer] = {
            a: f"{mean[f'{a}, {where}, accuracy']:.2f} / {_two_digits(mean[f'{a}, {where}, probe'])}"
            for a in attributes
        }
    return table_of_rows(rows, ["rule", "layer"])


def _two_digits(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"


def leading(table: pd.DataFrame, least: float = 0.1) -> list[str]:
    """Return the attributes that are the clearest one of a layer, with so much NMI above chance at least.

    Parameters
    ----------
    table : DataFrame
        NMI above chance: a row a layer, a column an attribute.
    least : float, default=0.1
        Least NMI above chance.

    Returns
    -------
    list of str
        In the order of the columns.

    Examples
    --------
    >>> leading(pd.DataFrame({"pose": [0.3, 0.05], "light": [0.1, 0.02], "identity": [0.2, 0.04]}))
    ['pose']
    """
    clear = table[table.max(axis=1) >= least]
    return [a for a in table.columns if a in set(clear.idxmax(axis=1))]


def _verdict(by_set: dict[str, pd.DataFrame]) -> str:
    led = {
        rule: sum(len(leading(table.loc[rule])) for table in by_set.values()) for rule in ("published", "recommended")
    }
    total = sum(table.shape[1] for table in by_set.values())
    in_place, of_paper = 0, 0
    for table in by_set.values():
        own = table.loc["published"]
        for i, attribute in enumerate(PAPER):
            if attribute in own:
                values, of_paper = own[attribute].to_numpy(), of_paper + 1
                in_place += values[i] >= np.delete(values, i).max() + 0.05
    held = "holds" if in_place == of_paper else "not seen"
    return (
        f"{held}: {in_place} of {of_paper} attributes are clearest, by .05 of NMI, in the paper's layer. Layers as "
        f"published are led by {led['published']} of {total} attributes of {len(by_set)} sets, those of "
        f"MultipleClusterings by {led['recommended']}."
    )


def _sentences(
    found: pd.DataFrame, by_set: dict[str, pd.DataFrame], shares: pd.DataFrame, sizes: tuple[int, ...], n_iter: int
) -> list[str]:
    sentences, accuracies = [], []
    for name, table in by_set.items():
        own = table.loc["published"]
        share = shares[shares["set"] == name].set_index("attribute")["share"].sort_values(ascending=False)
        mean = found[(found["set"] == name) & (found["rule"] == "published")].mean(numeric_only=True)
        places = ("chance", "layer 1", "layer 3")
        accuracies += [[mean[f"{a}, {i}, {metric}"] for metric in ("accuracy", "probe") for i in places] for a in own]
        parts = [
            f"{a} ({share[a]:.2f} of the variance) {' / '.join(f'{value:.2f}' for value in own[a])}"
            for a in share.index
        ]
        sentences.append(
            f"{name}, NMI above chance of the published layers from the first to the last: {', '.join(parts)}; layers "
            f"of MultipleClusterings are led by {', '.join(leading(table.loc['recommended'])) or 'no attribute'}."
        )
    clusters, probe = np.mean(accuracies, axis=0).reshape(2, 3)
    return [
        *sentences,
        f"{_compared(found)}; the best layer is chosen by the labels, of three and of at most five.",
        f"Mean accuracy of all attributes, in the first published layer, in the last and by chance: of the clusters "
        f"{clusters[1]:.2f}, {clusters[2]:.2f}, {clusters[0]:.2f}; of a linear probe of the codes, given labels, "
        f"{probe[1]:.2f}, {probe[2]:.2f}, {probe[0]:.2f}. Without an activation hidden codes are read-outs of one "
        "linear model, and nothing in its objective gives a layer an attribute (docs/methods.md 5.1).",
        f"Deep Semi-NMF has layers {'-'.join(map(str, sizes))}; as published it has k-means of the raw codes, and at "
        f"most {n_iter} iterations of each layer and of fine-tuning (the paper: about 100 are enough); "
        "Laminar's default, MultipleClusterings and the baseline have spectral clusters of rank graphs. All have "
        f"images of unit norm, the number of classes of each attribute and {N_INIT} starts of k-means; only these "
        "differ by seed where a fit starts from the SVD.",
    ]


def _compared(found: pd.DataFrame) -> str:
    """Compare the best layers of the recommended and the published model, an attribute of a set a pair."""
    best = []
    for _, row in found[found["rule"].isin(["published", "recommended"])].iterrows():
        for attribute in SETS[row["set"]]:
            columns = [c for c in found.columns if c.startswith(f"{attribute}, layer") and c.endswith(", nmi")]
            names = {"set": row["set"], "rule": row["rule"], "attribute": attribute}
            best.append({**names, "NMI of the best layer": row[columns].astype(float).max()})
    return paired(pd.DataFrame(best), "NMI of the best layer", "rule", "recommended", "published", ["set", "attribute"])


# ---- figure ----------------------------------------------------------------------------------------------------------


def _draw(computed: pd.DataFrame, by_set: dict[str, pd.DataFrame], small: bool) -> Figure:
    """Draw samples by clusters and by attributes in every layer, and heat maps of layers against attributes."""
    from matplotlib.figure import Figure

    _, attributes = faces(RENDERED, small)
    shown = computed[(computed["set"] == RENDERED) & (computed["seed"] == 0)].set_index("rule")
    side, n_columns = 1.2, len(attributes) + 1
    blocks = {"published": "Deep Semi-NMF, as published", "recommended": "MultipleClusterings"}
    n_layers = {rule: len(by_set[RENDERED].loc[rule]) for rule in blocks}
    height_of_maps = 0.27 * max(map(len, by_set.values()))
    upper = side * max(n_layers.values()) + 0.75
    width = 2 * (side * n_columns + 0.75) + 0.2
    height = upper + height_of_maps + 1.0
    figure = Figure(figsize=(width, height), dpi=100, facecolor="white")

    def axes_at(left: float, top: float, wide: float, high: float) -> Axes:
        return figure.add_axes((left / width, (height - top - high) / height, wide / width, high / height))

    for b, (rule, heading) in enumerate(blocks.items()):
        left = 0.7 + b * (side * n_columns + 0.75)
        figure.text(left / width, 1 - 0.22 / height, f"{heading}: {RENDERED}", fontsize=11, va="center")
        for layer in range(1, n_layers[rule] + 1):
            x, y, clusters = (_values(shown.loc[rule], f"drawn {layer} {what} ") for what in ("x", "y", "cluster"))
            n_clusters = len(np.unique(clusters))
            colours = {f"{n_clusters} clusters": clusters}
            rows = drawn_samples(len(next(iter(attributes.values()))))
            colours |= {f"by {name}": labels[rows] for name, labels in attributes.items()}
            for column, (name, labels) in enumerate(colours.items()):
                axes = axes_at(left + column * side, 0.62 + (layer - 1) * side, side - 0.12, side - 0.22)
                axes.scatter(x, y, c=_shades(labels), cmap="turbo", vmin=0, vmax=1, s=5, lw=0)
                axes.set(xticks=[], yticks=[])
                axes.spines[:].set_color("#bbbbbb")
                if column == 0 or layer == 1:
                    axes.set_title(name, fontsize=8.5, pad=3)
                if column == 0:
                    axes.set_ylabel(f"layer {layer}", fontsize=9)

    note = (
        "Samples at their places in each layer (t-SNE of its features).\n"
        "Left: coloured by the clusters of the layer, without labels. Others: the same by attributes."
    )
    below = 0.62 + side * n_layers["published"] + 0.25
    figure.text(0.7 / width, 1 - below / height, note, fontsize=9.5, va="top", linespacing=1.5)
    wide = (width - 0.4) / len(by_set)
    for i, (name, table) in enumerate(by_set.items()):
        names = [f"{rule} {layer}" if rule != "baseline" else rule for rule, layer in table.index]
        axes = axes_at(1.4 + i * wide, upper + 0.55, wide - 1.35, 0.27 * len(table))
        _draw_map(axes, table, names)
        axes.set_title(f"NMI above chance: {name}", loc="right", fontsize=10)
    return figure


def _draw_map(axes: Axes, table: pd.DataFrame, names: list[str]) -> None:
    axes.imshow(table.to_numpy(), cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
    for (row, column), value in np.ndenumerate(table.to_numpy()):
        colour = "white" if value > 0.6 else "black"
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8.5, color=colour)
    axes.set_xticks(range(table.shape[1]), list(table.columns), fontsize=9)
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for row in range(1, len(table)):
        if table.index[row][0] != table.index[row - 1][0]:
            axes.axhline(row - 0.5, color="white", lw=4)


def _values(row: pd.Series, prefix: str) -> np.ndarray:
    return row[[name for name in row.index if name.startswith(prefix)]].dropna().to_numpy(dtype=float)


def _shades(labels: np.ndarray) -> np.ndarray:
    """Return a position on the colour scale for every class."""
    _, codes = np.unique(labels, return_inverse=True)
    return (codes + 0.5) / (codes.max() + 1)
