"""Layers that show attributes without labels: ``python -m benchmarks.unlabelled_layers layers choices``.

NMI (arithmetic) of the clusters of `MultipleClusterings` with every attribute: of the best layer, with as many clusters
as the attribute has values and with as many as the layer has by itself. It is compared with the best *single*
representation, found by the labels: unit rows of principal scores whitened with exponent t = 0, .25, .5, .75, 1 of 10,
40 and 120 directions, and bands of whitened directions, clustered by k-means and by the spectral clusters of their rank
graph. "choices" has other subspaces and thresholds, and the leave-one-set-out figure.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits, load_wine

from laminar import ClusterEnsemble, DeepSemiNMF, MultipleClusterings, SemiNMF, layer_clusters
from laminar._base.spectral import graph_affinity, kmeans, spectral_labels
from laminar._engine.linalg.small import unit_rows
from laminar.datasets import available, load, make_faces
from laminar.ensemble.agreement import pairwise_information
from laminar.ensemble.cluster_number import partitions
from laminar.ensemble.clusterings import chosen_layers, cluster_subspace, without_main_clusters
from laminar.ensemble.forms import fit_form, suited_form
from laminar.ensemble.scores import principal_scores
from laminar.ensemble.subspaces import MAIN, SUBSPACES, Subspace, directions_needed
from laminar.graphs import Rank
from laminar.metrics import normalized_mutual_information

Labels = dict[str, np.ndarray]

ATTRIBUTES = {
    "pie_5pose_10id": ("identity", "pose", "illumination"),
    "cmu_faces": ("identity", "pose", "eyes", "expression"),
    "dsprites_style": ("pos_x", "pos_y", "scale", "shape", "orientation"),
    "yale": ("identity", "condition"),
    "orl": ("identity",),
    "coil20": ("identity",),
    "umist_sequences": ("identity",),
}
RENDERED = {  # people, poses, expressions, lights, seed
    "make_faces(20, 5, 6)": (20, 5, 1, 6, 0),
    "make_faces(20, 5, 6), other people": (20, 5, 1, 6, 3),
    "make_faces(20, 3, 3, 3)": (20, 3, 3, 3, 0),
    "make_faces(20, 3, 3, 3), other people": (20, 3, 3, 3, 3),
}
BUNDLED = {"digits": load_digits, "wine": load_wine}
NAMES = [
    "pie_5pose_10id",
    "cmu_faces",
    *RENDERED,
    "dsprites_style",
    "yale",
    "orl",
    "coil20",
    "umist_sequences",
    *BUNDLED,
]
BANDS = ((0, 3), (3, 8), (8, 20), (20, 60), (60, 150))


def data_of(name: str) -> tuple[np.ndarray, Labels]:
    """Samples and attributes of a set; of PIE the images in which person, pose and light are crossed."""
    if name in RENDERED:
        people, poses, expressions, lights, seed = RENDERED[name]
        faces = make_faces(people, poses, lights, n_expressions=expressions, random_state=seed)
        found = {attribute: faces[attribute] for attribute in ("identity", "pose", "expression", "light")}
        return faces.X.astype(np.float64), {a: labels for a, labels in found.items() if len(np.unique(labels)) > 1}
    if name in BUNDLED:
        bunch = BUNDLED[name]()
        return bunch.data, {"class": bunch.target}
    bunch = load(name, dtype=np.float64)
    rows = np.asarray(bunch.crossed_mask, bool) if name == "pie_5pose_10id" else slice(None)
    labels = {a: np.unique(bunch[a][rows], return_inverse=True)[1] for a in ATTRIBUTES[name]}
    return bunch.X.reshape(len(bunch.X), -1)[rows], labels


def nmi(labels: np.ndarray, clusters: np.ndarray) -> float:
    return normalized_mutual_information(labels, clusters, "arithmetic")


def n_values(labels: np.ndarray) -> int:
    return len(np.unique(labels))


def representations(X: np.ndarray) -> Iterator[np.ndarray]:
    """The single representations: partly whitened scores, and bands of whitened ones."""
    scores = principal_scores(X, 150, np.random.RandomState(0))
    for t, k in product((0.0, 0.25, 0.5, 0.75, 1.0), (10, 40, 120)):
        yield scores.whitened(scores.training, k, t)
    whitened = scores.training / scores.sizes
    yield from (unit_rows(whitened[:, a:b]) for a, b in BANDS if a < whitened.shape[1])


def best_single(X: np.ndarray, attributes: Labels) -> dict[str, float]:
    """The best score of each attribute over all single representations and both ways to cluster them."""
    best = dict.fromkeys(attributes, 0.0)
    for E in representations(X):
        W = graph_affinity(E, Rank(min(20, len(E) - 1)), 2)
        numbers = sorted({n_values(labels) for labels in attributes.values()})
        spectral = dict(zip(numbers, partitions(W, numbers, 0, n_init=5), strict=True))
        means = {c: kmeans(E, c, 0, 5).labels_ for c in numbers}
        for name, labels in attributes.items():
            found = spectral[n_values(labels)], means[n_values(labels)]
            best[name] = max(best[name], *(nmi(labels, clusters) for clusters in found))
    return best


# ---- layers ----------------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """Scores of the layers of one fit: by attribute and layer, with its number of values and with their own."""

    given: dict[str, np.ndarray]
    own: dict[str, np.ndarray]
    model: MultipleClusterings


def scores_of_layers(X: np.ndarray, attributes: Labels, seed: int) -> Found:
    model = MultipleClusterings(random_state=seed).fit(X)
    layers = range(len(model.layers_))
    own = [model.cluster(layer=i) for i in layers]
    given: dict[int, list[np.ndarray]] = {}
    for c in {n_values(labels) for labels in attributes.values()}:
        given[c] = [model.cluster(n_clusters=c, layer=i) for i in layers]
    return Found(
        {name: np.array([nmi(y, found) for found in given[n_values(y)]]) for name, y in attributes.items()},
        {name: np.array([nmi(y, found) for found in own]) for name, y in attributes.items()},
        model,
    )


def ensemble(X: np.ndarray, attributes: Labels, numbers: list[int]) -> dict[str, float]:
    """One clustering: `ClusterEnsemble`, with the number of values of each attribute."""
    found = {c: ClusterEnsemble(c, random_state=0).fit_predict(X) for c in {n_values(y) for y in attributes.values()}}
    return {name: nmi(y, found[n_values(y)]) for name, y in attributes.items()}


def deep(X: np.ndarray, attributes: Labels, numbers: list[int]) -> dict[str, float]:
    """The best of five layers of `DeepSemiNMF`."""
    most = min(X.shape) - 1
    layers = tuple(sorted({min(most, k) for k in (160, 80, 40, 20, 10)}, reverse=True))
    model = DeepSemiNMF(layers, random_state=0).fit(X)
    return best_layer([(model, i) for i in range(len(layers))], attributes)


def shallow(X: np.ndarray, attributes: Labels, numbers: list[int]) -> dict[str, float]:
    """The best of `SemiNMF` with as many components as each layer has clusters."""
    return best_layer([(SemiNMF(c, random_state=0).fit(X), 0) for c in sorted(set(numbers))], attributes)


def best_layer(models: list[tuple], attributes: Labels) -> dict[str, float]:
    return {
        name: max(nmi(y, layer_clusters(model, i, n_values(y), n_init=5)) for model, i in models)
        for name, y in attributes.items()
    }


BASELINES: dict[str, Callable] = {"ClusterEnsemble": ensemble, "DeepSemiNMF": deep, "SemiNMF": shallow}


def place(model: MultipleClusterings, layer: int) -> str:
    """The position of a layer from 1, and where it is."""
    common = model.common_[layer]
    return f"{layer + 1}: {common['main_clusters']}, t {common['exponent']:g}".replace("0.", ".")


def table_of_layers(names: list[str], seeds: int) -> None:
    rows, counts, given, own = [], [], [], []
    for name in names:
        X, attributes = data_of(name)
        single = best_single(X, attributes)
        fits = [scores_of_layers(X, attributes, seed) for seed in range(seeds)]
        numbers = [common["n_clusters"] for common in fits[0].model.common_]
        rivals = {method: run(X, attributes, numbers) for method, run in BASELINES.items()}
        layers = "/".join(str(len(fit.model.layers_)) for fit in fits)
        supports = " ".join(f"{support:.2f}" for support in fits[0].model.support_)
        counts.append(f"| {name} | {layers} | {supports} | {' '.join(map(str, numbers))} |")
        for attribute, y in attributes.items():
            best = np.array([[fit.given[attribute].max(), fit.own[attribute].max()] for fit in fits])
            ratio, own_ratio = best.mean(axis=0) / single[attribute]
            if single[attribute] >= 0.03:  # below it no representation shows the attribute
                given.append(ratio)
                own.append(own_ratio)
            where = place(fits[0].model, int(fits[0].given[attribute].argmax()))
            cells = [f"{rivals[method][attribute]:.3f}" for method in BASELINES]
            rows.append(
                f"| {name} | {attribute} ({n_values(y)}) | {single[attribute]:.3f} | {best[:, 0].mean():.3f} "
                f"({best[:, 0].std():.3f}) | {ratio:.2f} | {best[:, 1].mean():.3f} | {own_ratio:.2f} | {where} "
                f"| {' | '.join(cells)} |"
            )
            print(rows[-1], file=sys.stderr, flush=True)
        print(counts[-1], file=sys.stderr, flush=True)
    heads = ["set", "attribute (values)", "best single", "best layer (deviation)", "ratio", "its own number", "ratio"]
    show([*heads, "layer", *BASELINES], rows)
    show(["set", "layers", "support", "clusters"], counts)
    for what, ratios in (("with the number of values", given), ("with its own number", own)):
        reached = np.array(ratios) >= 0.9
        print(f"{what}: {reached.sum()} of {len(reached)} attributes that a single representation shows reach .9")


# ---- choices ---------------------------------------------------------------------------------------------------------

POOL = tuple(Subspace(s, t, (80, 160) if t else (10, 80)) for s in (0, 1) for t in (0.0, 0.5, 0.75, 1.0))
AGREEMENTS, SUPPORTS = (0.7, 0.8, 0.9), (0.0, 0.25, 0.4)
RULES = [
    ((MAIN, *others), agreement, support)
    for others in combinations([subspace for subspace in POOL if subspace != MAIN], 5)
    for agreement, support in product(AGREEMENTS, SUPPORTS)
]
FIXED = frozenset(SUBSPACES), 0.8, 0.25


def ratios_of_rules(name: str) -> np.ndarray:
    """The ratio of every attribute that a single representation shows, by rule."""
    X, attributes = data_of(name)
    single = best_single(X, attributes)
    rng = np.random.RandomState(0)
    form = fit_form(suited_form(X), X)
    limited = {subspace: subspace.limited(len(X)) for subspace in POOL}
    scores = [principal_scores(form(X), directions_needed(list(limited.values())) + 50, rng)]
    stages = without_main_clusters(form, scores[0], cluster_subspace(limited[MAIN], scores[0], 50, rng), rng)
    found, given = [], []
    for subspace in POOL:
        own = stages.scores[subspace.stage]
        found.append(cluster_subspace(limited[subspace], own, 50, rng))
        S = limited[subspace].graph(own)
        given.append([nmi(y, spectral_labels(S, n_values(y), 0, n_init=10)) for y in attributes.values()])
    information = pairwise_information([clustering.labels for clustering in found], 50)
    support, at = np.array([clustering.support for clustering in found]), {s: i for i, s in enumerate(POOL)}
    shown = [i for i, value in enumerate(single.values()) if value >= 0.03]
    mark, out = np.array(list(single.values()))[shown], []
    for subspaces, agreement, least in RULES:
        chosen = np.array([at[subspace] for subspace in subspaces])
        kept = chosen[chosen_layers(information[np.ix_(chosen, chosen)], support[chosen], 5, agreement, least)]
        out.append(np.array([given[i] for i in kept])[:, shown].max(axis=0) / mark)
    return np.array(out)


def table_of_choices(names: list[str]) -> None:
    ratios = {}
    for name in names:
        ratios[name] = ratios_of_rules(name)
        print(f"choices | {name}", file=sys.stderr, flush=True)

    def merit(sets: list[str]) -> np.ndarray:
        every = np.hstack([ratios[name] for name in sets])
        return (every >= 0.9).mean(axis=1) + 0.1 * np.minimum(every, 1).mean(axis=1)

    def text(rule: int) -> str:
        subspaces, agreement, support = RULES[rule]
        found = ", ".join(f"{'out' if s.stage else 'in'} {s.exponent:g}" for s in subspaces)
        return f"{found}; agreement {agreement}, support {support}"

    def reached(rule: int, sets: list[str]) -> str:
        every = np.hstack([ratios[name][rule] for name in sets])
        return f"{(every >= 0.9).sum()} of {every.size}"

    fixed = next(i for i, (s, *rest) in enumerate(RULES) if (frozenset(s), *rest) == FIXED)
    best = int(merit(names).argmax())
    print(f"\n{len(RULES)} rules\nfixed: {text(fixed)}: {reached(fixed, names)}")
    print(f"best on all sets: {text(best)}: {reached(best, names)}")
    n_reached, total = 0, 0
    for name in names:  # sets that were drawn alike are left out together
        family = name.split(",")[0]
        rule = int(merit([other for other in names if other.split(",")[0] != family]).argmax())
        print(f"left out {name}: {text(rule)}: {reached(rule, [name])}")
        n_reached += int((ratios[name][rule] >= 0.9).sum())
        total += ratios[name].shape[1]
    print(f"leave one set out: {n_reached} of {total}")


def show(heads: list[str], rows: list[str]) -> None:
    print(f"\n| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    print("\n".join(row.replace(" 0.", " .").replace("(0.", "(.") for row in rows) + "\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=["layers", "choices"], help="which tables")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds of the model; rivals have one")
    parser.add_argument("--sets", nargs="*", default=NAMES, help="which sets")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [name for name in given.sets if name not in ATTRIBUTES or name in available()]
    if "layers" in given.tables:
        table_of_layers(names, given.seeds)
    if "choices" in given.tables:
        table_of_choices(names)


if __name__ == "__main__":
    main()
