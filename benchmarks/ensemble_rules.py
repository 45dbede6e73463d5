"""Ways to choose among the members of a cluster ensemble: ``python -m benchmarks.ensemble_rules views holes one``.

The members of each set are made once, for every exponent of the whitening and every size of a graph; then grids of them
and rules that choose among these are compared. NMI (arithmetic), mean over seeds or draws of holes. The last line is
the leave-one-set-out figure: the mean over sets of the score of the grid and rule that are best on the other sets.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np

from laminar._utils.views import read_views
from laminar.datasets import available
from laminar.ensemble.agreement import consensus_labels, kept_members, mean_agreement, pairwise_information, two_groups
from laminar.ensemble.forms import plan_forms
from laminar.ensemble.grid import Member, member_grid, member_sizes
from laminar.ensemble.members import member_graph, member_labels
from laminar.ensemble.spaces import build_spaces
from laminar.metrics import normalized_mutual_information

from .clustering import BUNDLED, SETS, one_view
from .ensemble import VIEWS, views_of
from .missing_views import observed

EXPONENTS = (0.0, 0.5, 0.75, 1.0)
FIXED = ((3, 10), (2, 20))  # directions for each cluster, neighbours: of the study
GRIDS: dict[str, tuple[tuple[float, ...], bool]] = {  # exponents, whether a graph has n / 2c neighbours
    "t 0, .5, 1; 20 neighbours": ((0.0, 0.5, 1.0), False),
    "t 0, .5, 1; n/2c": ((0.0, 0.5, 1.0), True),
    "t 0, .75, 1; 20 neighbours": ((0.0, 0.75, 1.0), False),
    "t 0, .75, 1; n/2c": ((0.0, 0.75, 1.0), True),
}


def everyone(information: np.ndarray, members: list[Member]) -> np.ndarray:
    return np.arange(len(members))


def half(information: np.ndarray, members: list[Member]) -> np.ndarray:
    agreement = mean_agreement(information)
    return np.flatnonzero(agreement >= np.median(agreement))


def half_within(information: np.ndarray, members: list[Member]) -> np.ndarray:
    """The half of the members of each exponent that agrees best with its own exponent."""
    kept = []
    for own in _by_exponent(members):
        kept.extend(own[half(information[np.ix_(own, own)], members)])
    return np.sort(kept)


def half_of_each(information: np.ndarray, members: list[Member]) -> np.ndarray:
    """What `ClusterEnsemble` keeps."""
    return kept_members(information, [member.exponent for member in members])


def larger_group(information: np.ndarray, members: list[Member]) -> np.ndarray:
    return two_groups(information)[0]


def _by_exponent(members: list[Member]) -> list[np.ndarray]:
    exponents = np.array([member.exponent for member in members])
    return [np.flatnonzero(exponents == t) for t in np.unique(exponents)]


RULES: dict[str, Callable] = {
    "all": everyone,
    "half": half,
    "half, agreement within t": half_within,
    "half of each t": half_of_each,
    "larger of two groups": larger_group,
}


def members_of(views, has: np.ndarray, c: int, seeds: int) -> tuple[list[Member], list[list[np.ndarray]]]:
    """Make every member, once for each seed."""
    found = read_views(list(views), observed=has, allow_missing=True)
    parts = [array[own] for array, own in zip(found.arrays, found.observed.T, strict=True)]
    names, n_summed = plan_forms("auto", found.names, parts)
    spaces = build_spaces(found.arrays, found.observed, names, c, np.random.RandomState(0))
    sizes = sorted({*FIXED, *member_sizes(len(has), c)})
    members = member_grid(names, EXPONENTS, sizes, n_summed=n_summed)
    partitions: list[list[np.ndarray]] = [[] for _ in range(seeds)]
    for i, member in enumerate(members):
        S, _ = member_graph(member, spaces)
        for seed in range(seeds):
            partitions[seed].append(member_labels(S, c, 1000 * seed + i))
    return members, partitions


def scores_of(y: np.ndarray, members: list[Member], partitions: list[np.ndarray], seed: int) -> dict:
    """NMI of every grid and rule, and the share of members kept of each exponent."""
    c, found = len(np.unique(y)), {}
    information = pairwise_information(partitions, c)
    for grid, (exponents, by_cluster) in GRIDS.items():
        sizes = set(member_sizes(len(y), c) if by_cluster else FIXED)
        own = [i for i, m in enumerate(members) if m.exponent in exponents and (m.directions, m.n_neighbors) in sizes]
        for rule, choose in RULES.items():
            kept = [own[i] for i in choose(information[np.ix_(own, own)], [members[i] for i in own])]
            labels = consensus_labels([partitions[i] for i in kept], c, np.random.RandomState(seed), 10)
            nmi = normalized_mutual_information(y, labels, "arithmetic")
            at_one = [members[i].exponent == 1 for i in kept], [members[i].exponent == 1 for i in own]
            found[grid, rule] = nmi, sum(at_one[0]) / sum(at_one[1])
    return found


def rows_of(table: str, seeds: int) -> dict[str, dict]:
    """Scores by set; of views with holes one seed a draw."""
    bundled = BUNDLED if table == "one" else ()
    names = [name for name in (VIEWS if table != "one" else SETS) if name in bundled or name in available()]
    results = {}
    for name in names:
        views, y = views_of(name) if table != "one" else ([one_view(name)[0]], one_view(name)[1])
        full = np.ones((len(y), len(views)), dtype=bool)
        masks = [observed(len(y), len(views), s) for s in range(seeds)] if table == "holes" else [full]
        found = []
        for mask in masks:
            members, partitions = members_of(views, mask, len(np.unique(y)), 1 if table == "holes" else seeds)
            found += [scores_of(y, members, own, seed) for seed, own in enumerate(partitions)]
        results[name] = {key: np.mean([row[key] for row in found], axis=0) for key in found[0]}
        print(f"{table} | {name}", file=sys.stderr, flush=True)
    return results


def show(table: str, results: dict[str, dict]) -> None:
    names, keys = list(results), list(next(iter(results.values())))
    print(f"\n{table}: NMI\n\n| members | kept | {' | '.join(names)} | mean | kept of t = 1 |")
    print("|---" * (len(names) + 4) + "|")
    for grid, rule in keys:
        nmi, at_one = np.array([results[name][grid, rule] for name in names]).T
        cells = " | ".join(f"{value:.3f}" for value in nmi)
        print(f"| {grid} | {rule} | {cells} | {nmi.mean():.3f} | {at_one.mean():.2f} |".replace("0.", "."))
    nmi = np.array([[results[name][key][0] for name in names] for key in keys])
    best = [np.delete(nmi, i, axis=1).mean(axis=1).argmax() for i in range(len(names))]
    print(f"\n{table}: leave one set out, {len(keys)} rows: {np.mean([nmi[b, i] for i, b in enumerate(best)]):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=["views", "holes", "one"], help="which tables")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds, and of draws of holes")
    given = parser.parse_args()
    for table in given.tables:
        show(table, rows_of(table, given.seeds))


if __name__ == "__main__":
    main()
