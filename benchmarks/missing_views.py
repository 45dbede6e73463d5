"""What samples lose that lack views: ``python -m benchmarks.missing_views --sets yale_mv --draws 3``.

30 % of each view's rows are missing at random, every sample keeps a view. MultiViewSemiNMF with its defaults, once
given what is there and once with the mean of the view in every gap, against the same model on all views; NMI
(arithmetic), mean over draws. Required: a mean loss over the sets of .07 at most, and .03 more than with the mean.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from laminar import MultiViewSemiNMF
from laminar._engine.linalg.small import unit_rows
from laminar.datasets import available, load
from laminar.metrics import normalized_mutual_information

from .multiview import SETS

SHARE = 0.3
MOST_LOSS, LEAST_GAIN = 0.07, 0.03


def observed(n_samples: int, n_views: int, seed: int, share: float = SHARE) -> np.ndarray:
    """Which sample has which view: the same share of every view is missing, and nobody lacks all."""
    rng = np.random.default_rng(seed)
    mask = np.ones((n_samples, n_views), dtype=bool)
    for v in range(n_views):
        mask[rng.choice(n_samples, round(share * n_samples), replace=False), v] = False
    for i in np.flatnonzero(~mask.any(axis=1)):  # gets a view back from somebody who can do without it
        v = rng.integers(n_views)
        other = rng.choice(np.flatnonzero(mask[:, v] & (mask.sum(axis=1) > 1)))
        mask[i, v], mask[other, v] = True, False
    return mask


def filled(views: list[np.ndarray], mask: np.ndarray) -> list[np.ndarray]:
    """The mean of those that have the view, in place of it; samples at unit length, as the model sees them."""
    units = [unit_rows(view) for view in views]
    return [np.where(has[:, None], view, view[has].mean(axis=0)) for view, has in zip(units, mask.T, strict=True)]


def row(name: str, draws: int) -> np.ndarray:
    """NMI of the full fit, with missing views, and with their means: averages over draws."""
    data = load(name, dtype=np.float64)
    y, views = data[data.attributes[0]], data.views
    scores = []
    for seed in range(draws):
        mask = observed(len(y), len(views), seed)
        model = MultiViewSemiNMF(n_clusters=len(np.unique(y)), random_state=seed)
        found = (
            model.fit_predict(views),
            model.fit_predict(views, observed=mask),
            model.fit_predict(filled(views, mask)),
        )
        scores.append([normalized_mutual_information(y, labels, "arithmetic") for labels in found])
        print(f"{name} | draw {seed} | {' / '.join(f'{s:.3f}' for s in scores[-1])}", file=sys.stderr, flush=True)
    return np.mean(scores, axis=0)


def show(rows: dict[str, np.ndarray], draws: int) -> None:
    """Print the table and what is required of its means."""
    from rich.console import Console
    from rich.table import Table

    title = f"NMI with {SHARE:.0%} of each view missing, mean of {draws} draws"
    table = Table("set", "full", "missing", "mean instead", "loss", "gain over mean", title=title)
    for name, (full, missing, mean) in {**rows, "mean": np.mean(list(rows.values()), axis=0)}.items():
        table.add_row(name, *(f"{value:.3f}" for value in (full, missing, mean, full - missing, missing - mean)))
    Console(width=100).print(table)
    loss, gain = full - missing, missing - mean
    for what, value, required, met in (
        ("mean loss", loss, f"at most {MOST_LOSS}", loss <= MOST_LOSS),
        ("mean gain over the mean of the view", gain, f"at least {LEAST_GAIN}", gain >= LEAST_GAIN),
    ):
        print(f"{what}: {value:.3f}, required {required}: {'ok' if met else 'MISSED'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, help="names of data sets")
    parser.add_argument("--draws", type=int, default=5, help="how often views are left out at random")
    given = parser.parse_args()
    names = [name for name in given.sets if name in available()]
    for name in sorted(set(given.sets) - set(names)):
        print(f"{name} is left out: the folder LAMINAR_DATA names does not hold it", file=sys.stderr)
    if names:
        show({name: row(name, given.draws) for name in names}, given.draws)


if __name__ == "__main__":
    main()
