"""Grid of the members: what is scored, how far scores are whitened, and how large a graph is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True)
class Member:
    """One clustering of the ensemble.

    Parameters
    ----------
    source : {"view", "sum", "joint"}
        The graph of the only view, the sum of the graphs of all views, or the graph of all views side by side.
    form : str
        Form of the data; of views with different ones, all of them.
    position : int
        Position of the form among those of each view.
    exponent : float
        t, how far scores are whitened: 0 not at all, 1 completely.
    directions : int
        Number of principal directions for each cluster.
    n_neighbors : int
        Neighbours of each sample.

    Examples
    --------
    >>> Member("sum", "raw", 0, 0.5, 2, 20)
    Member(source='sum', form='raw', position=0, exponent=0.5, directions=2, n_neighbors=20)
    """

    source: str
    form: str
    position: int
    exponent: float
    directions: int
    n_neighbors: int


def member_sizes(n_samples: int, n_clusters: int) -> tuple[tuple[int, int], ...]:
    """Return directions for each cluster, and neighbours, of the graphs of the ensemble.

    One graph is of near neighbours in many directions. The other has half the mean size of a cluster as neighbours,
    within 20 and 50: where samples have near-duplicates, fewer would be all duplicates.

    Examples
    --------
    >>> member_sizes(550, 5), member_sizes(100, 10)
    (((3, 10), (2, 50)), ((3, 10), (2, 20)))
    """
    return (3, 10), (2, min(max(round(n_samples / (2 * n_clusters)), 20), 50))


def member_grid(
    names: Sequence[Sequence[str]], exponents: Sequence[float], sizes: Sequence[tuple[int, int]], *, n_summed: int
) -> list[Member]:
    """Return all members for some views.

    Parameters
    ----------
    names : sequence of sequence of str
        Names of the forms, by view and position.
    exponents : sequence of float
        Exponents of the whitening.
    sizes : sequence of (int, int)
        Directions for each cluster, and neighbours.
    n_summed : int
        Number of positions of which graphs of single views are made; the others are of views side by side alone.

    Returns
    -------
    members : list of Member

    Examples
    --------
    >>> len(member_grid([["raw", "standard"]], (0.0, 0.75, 1.0), member_sizes(100, 5), n_summed=2))
    12
    >>> names = [["raw", "standard", "unit"], ["unit", "tfidf", "unit"]]
    >>> len(member_grid(names, (0.0, 0.75, 1.0), member_sizes(100, 5), n_summed=2))
    30
    """
    forms = [", ".join(dict.fromkeys(column)) for column in zip(*names, strict=True)]
    several = len(names) > 1
    sources = [("sum" if several else "view", position) for position in range(n_summed)]
    sources += [("joint", position) for position in range(len(forms))] if several else []
    grid = product(sources, exponents, sizes)
    return [Member(source, forms[position], position, float(t), *size) for (source, position), t, size in grid]
