"""The ledger: claims that stand in sentences, one line, one number, one verdict each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..cells import Cell
from ..data import images, views
from ..item import item
from ..result import Result
from . import trigeorgis, xiao, zafeiriou, zhao

if TYPE_CHECKING:
    from ..run import Run

CLAIMS = (*trigeorgis.CLAIMS, *xiao.CLAIMS, *zafeiriou.CLAIMS, *zhao.CLAIMS)


@item("claims", "What the papers claim in sentences: speed, starts, iterations, orders, stability, weights.")
def claims(run: Run) -> Result:
    """All claims in sentences of the four papers."""
    cells = [
        Cell({"paper": claim.paper, "claim": claim.text, "seed": seed}, claim.work, (run.quick, seed))
        for claim in CLAIMS
        for seed in range(1 if run.quick else claim.seeds)
    ]
    found = run.cells("claims", cells)
    rows = []
    for claim in CLAIMS:
        own = found[(found["paper"] == claim.paper) & (found["claim"] == claim.text)]["value"]
        value = float(own.median())
        verdict = claim.verdict(value)
        rows.append({"claim": claim.text, "measured": claim.measured(value), "verdict": verdict})
    table = pd.DataFrame(rows, index=pd.Index([claim.paper for claim in CLAIMS], name="paper"))
    counts = table["verdict"].value_counts()
    words = {"holds": "hold", "holds in part": "hold in part", "does not hold": "do not hold"}
    verdict = ", ".join(f"{counts.get(word, 0)} {several}" for word, several in words.items())
    sentences = [
        "Every number is the median of its seeds; those of time are ratios of runs on one thread. A claim holds from "
        "the number in brackets on, or up to it.",
        "Published rules (`laminar.recipes`) are measured, but the non-linear models, which are Laminar's.",
    ]
    shown = ", ".join(
        (images(xiao.FACES, run.quick).title, images(xiao.YALE, run.quick).title, views(zhao.SEVERAL, run.quick)[2])
    )
    title = f"Claims in sentences: {shown}, and synthetic data"
    return Result(
        title, found, [("Claims, a number and a verdict each", table)], f"of {len(CLAIMS)}: {verdict}.", sentences
    )
