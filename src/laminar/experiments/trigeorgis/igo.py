"""Clusters of image gradient orientations (arXiv:1509.03248, figures of features IGO)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..item import item
from ..result import Result
from .clusters import compared, draw, how, scores_of, start_of, table_of, verdict_of
from .models import CURVED, Setting, fits, samples

if TYPE_CHECKING:
    from ..run import Run

AREAS = {  # of accuracy, CMU PIE, of 50
    "Semi-NMF": 35.57,
    "Deep Semi-NMF": 37.16,
    "Deep Semi-NMF tanh": 37.10,
    "Deep Semi-NMF square": 36.13,
}


@item(
    "trigeorgis-igo",
    "Of image gradient orientations too, clusters of Deep Semi-NMF agree with the identities more than those of "
    "Semi-NMF.",
)
def orientations(run: Run) -> Result:
    """Clusters of gradient orientations of CMU PIE by number of components: the models without non-negative data."""
    features = "gradient orientations"
    setting = Setting("pie_pose27", features, sizes=(20, 40, 70), plain=200, layered=40, curved=5).of(run)
    data = samples(setting.name, run.quick)
    found = fits(run, "trigeorgis-igo", setting, only=("Semi-NMF", "Deep Semi-NMF", *CURVED))
    scores = scores_of(found)
    is_exact = data.title == setting.name
    table = table_of(found, scores, AREAS if is_exact else {})
    sentences = [*compared(scores), *start_of(scores, setting.middle), how(setting)]
    if is_exact:
        sentences.append("The printed areas are over six sizes from 20 to 70, ours over three of them.")
    title = f"Trigeorgis et al., figures of gradient orientations: clusters, {data.title}"
    caption = "Areas under the curves, of 50: mean and spread over the seeds of k-means"
    return Result(
        title,
        found,
        [(caption, table)],
        verdict_of(scores, setting),
        sentences,
        lambda: draw(scores, setting, f"{data.title}, {features}"),
    )
