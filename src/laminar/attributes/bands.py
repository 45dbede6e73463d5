"""Parameters of the bands: principal scores, standardised, smoothed over a graph of samples, or diffused over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .._utils.validation import check_choice, check_positive

KINDS = ("scores", "standardised", "smooth", "detail", "diffusion")


GraphKey = tuple[int | None, float, int]
"""Rank, whitening and neighbours of a graph, see `Band`."""


@dataclass(frozen=True)
class Band:
    """Parameters of one band of samples with principal scores F.

    With ``N = D^-1/2 W D^-1/2``, W a graph of nearest neighbours of the scores, ``S`` solves
    ``(I + strength (I - N)) S = F``, and U diag(mu) U^T are the leading eigenvectors of N.

    Parameters
    ----------
    kind : {"scores", "standardised", "smooth", "detail", "diffusion"}, default="scores"
        F itself; the principal scores of standardised features; S; F - S; or ``U (I + strength (I - diag(mu)))^-1/2``,
        whose inner products are those of label spreading.
    rank : int or None, default=40
        Leading scores the graph is built on; at most a sixth of the samples, but two. None means all scores.
    n_neighbors : int, default=5
        Neighbours of each sample; at most the number of others.
    strength : float, default=3.0
        Strength of the smoothing.
    whitening : float, default=1.0
        The graph links samples by the directions of their scores, divided by this power of the singular values; with 0
        by the distances of the scores themselves.
    prior : float, default=0.1
        Weight of the band before labels are seen, relative to those of others.

    Examples
    --------
    >>> Band().name, Band("smooth", rank=80, strength=30.0).name, Band("smooth", rank=None, whitening=0.0).name
    ('scores', 'smooth(80, 5, 30)', 'smooth(all, 5, 3, 0)')
    """

    kind: Literal["scores", "standardised", "smooth", "detail", "diffusion"] = "scores"
    rank: int | None = 40
    n_neighbors: int = 5
    strength: float = 3.0
    whitening: float = 1.0
    prior: float = 0.1

    def __post_init__(self):
        check_choice("kind", self.kind, KINDS)
        for name in ("rank", "n_neighbors", "strength", "prior"):
            check_positive(name, getattr(self, name))
        if not 0 <= self.whitening <= 1:
            raise ValueError(f"whitening must be a number from 0 to 1; got {self.whitening!r}.")

    @property
    def graph(self) -> GraphKey | None:
        """Parameters of its graph; None for bands without one."""
        has_graph = self.kind not in ("scores", "standardised")
        return (self.rank, self.whitening, self.n_neighbors) if has_graph else None

    @property
    def name(self) -> str:
        """Name in tables."""
        if self.graph is None:
            return self.kind
        rank = "all" if self.rank is None else self.rank
        power = "" if self.whitening == 1 else f", {self.whitening:g}"
        return f"{self.kind}({rank}, {self.n_neighbors}, {self.strength:g}{power})"


BANDS = (
    Band(),
    Band("standardised", prior=1.0),
    Band("smooth", None, 5, 3.0, whitening=0.0, prior=1.0),
    Band("smooth", 80, 5, 3.0, prior=1.0),
    Band("smooth", 80, 5, 30.0),
    *(Band("detail", *p) for p in ((20, 5, 10.0), (40, 10, 10.0), (80, 5, 1.0))),
    *(Band("diffusion", None, 5, strength, whitening=0.5) for strength in (10.0, 100.0)),
)
"""Default bands. On faces, identity is mostly in smooth bands and light in detail bands."""
