"""Table 2 and Fig. 2: clusters of counts of words with a tenth of the labels."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from laminar.datasets import available, load, make_lowrank
from laminar.features import SiftBagOfWords

from ..data import Images
from ..item import item
from ..result import Result
from .tables import Method, Protocol, class_table, scores_of_draw

if TYPE_CHECKING:
    from ..run import Run

NAME, STAND_IN = "caltech101", "tdt2_small"
N_WORDS = 500
SMALL = 15  # samples a class of a run in small
DRAWS = 3  # not ten: a draw of ten classes is of 1200 samples and more


@lru_cache(maxsize=2)
def words(small: bool = False) -> Images:
    """Load counts of 500 words of Caltech-101, or of news where it is not on disk, or draw some.

    Parameters
    ----------
    small : bool, default=False
        Whether to take a few samples of each class.

    Returns
    -------
    Images
        Counts, their classes under "class", and what they are.

    Examples
    --------
    >>> import os
    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, LAMINAR_DATA=""):
    ...     found = words.__wrapped__(small=True)
    >>> found.title, found.X.shape
    ('synthetic counts in place of caltech101, which is not on disk (150 of 1200 samples)', (150, 500))
    """
    if NAME in available():
        bunch: Any = load(NAME, dtype=np.float64)
        X, y, title = bunch.X, np.asarray(bunch[bunch.attributes[0]]), NAME
        if X.shape[1] != N_WORDS:  # photographs
            bag = SiftBagOfWords(N_WORDS, norm=None, image_shape=bunch.image_shape, random_state=0)
            X, title = bag.fit_transform(X), f"{NAME}, with {N_WORDS} words made here"
    elif STAND_IN in available():
        bunch = load(STAND_IN, dtype=np.float64)
        counts = np.rint(bunch.X / bunch.X[bunch.X > 0].min())  # bytes are scaled to [0, 1]
        X, y = counts[:, np.argsort(-counts.sum(axis=0), kind="stable")[:N_WORDS]], np.asarray(bunch.y)
        title = f"{N_WORDS} words of news (TDT2) in place of {NAME}, which is not on disk"
    else:
        topics = make_lowrank(1200, N_WORDS, 10, density=0.02, random_state=0)
        X = np.random.default_rng(0).poisson(60 * topics.X / topics.X.sum(axis=1, keepdims=True)).astype(float)
        y, title = topics.H.argmax(axis=1), f"synthetic counts in place of {NAME}, which is not on disk"
    if small:
        rows = np.sort(np.concatenate([np.flatnonzero(y == label)[:SMALL] for label in np.unique(y)]))
        title = f"{title} ({len(rows)} of {len(y)} samples)"
        X, y = X[rows], y[rows]
    return Images(X, {"class": y}, title)


def word_scores(name: str, small: bool, method: Method, n_classes: int, seed: int, n_init: int) -> dict[str, float]:
    """Score clusters of counts of some classes."""
    data = words(small)
    return scores_of_draw(data.X, data.attributes["class"], method, n_classes, seed, n_init)


def how_to_obtain() -> str:
    """Return where Caltech-101 is given out and where to put it; nothing where it is on disk.

    Examples
    --------
    >>> import os
    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, LAMINAR_DATA=""):
    ...     "https://data.caltech.edu" in how_to_obtain()
    True
    """
    if NAME in available():
        return ""
    try:
        load(NAME)
    except FileNotFoundError as absent:
        return str(absent)
    return ""


@item(
    "xiao-table2",
    "On Caltech-101, cdNMF_KL has clusters with an accuracy of 59.27 and an NMI of 38.60 %, the most of eight methods.",
)
def table2(run: Run) -> Result:
    """Table 2 and Fig. 2: counts of 500 words, 2 to 10 classes."""
    title = "Xiao et al., Table 2 and Fig. 2"
    result = class_table(run, Protocol(NAME, title, words(run.quick).title, word_scores, (10.0, 1.0)), DRAWS)
    if absent := how_to_obtain():
        result.sentences.append(absent)
    return result
