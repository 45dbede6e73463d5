"""`report`: a fitted model and its samples as one HTML file."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from laminar._utils.files import replacing

from .document import SHARED_SCRIPTS, SHARED_STYLES, document, read_page
from .record import record
from .subject import read_subject

STYLES = (*SHARED_STYLES, "sample.css", "training.css", "narrow.css", "print.css")
SCRIPTS = (
    *SHARED_SCRIPTS,
    "state.js",
    "hero.js",
    "stack.js",
    "components.js",
    "inspector.js",
    "clusters.js",
    "layer.js",
    "reconstruction.js",
    "mixer.js",
    "neighbours.js",
    "sample.js",
    "training.js",
    "views.js",
    "course.js",
    "keys.js",
    "report.js",
)


@dataclass(frozen=True, eq=False)
class Report:
    """A report on a fitted model.

    Attributes
    ----------
    record : dict
        What the page draws: the sentences, scores, layers, samples and settings.

    Examples
    --------
    >>> from laminar import NMF
    >>> from laminar.datasets import make_faces
    >>> faces = make_faces(3, 2, 2, size=12, random_state=0)
    >>> found = NMF(3, random_state=0).fit(faces.X).report(faces.X, labels={"pose": faces.pose}, image_shape=(12, 12))
    >>> found.title
    '12 images in one layer'
    """

    record: dict[str, Any]

    @property
    def title(self) -> str:
        """The title."""
        return self.record["title"]

    @property
    def sentence(self) -> str:
        """The opening sentences: what was found, beside the best baseline."""
        return "".join(text for text, _ in self.record["lede"])

    @cached_property
    def html(self) -> str:
        """The page, which holds all it needs."""
        return document(
            read_page("report.html"),
            [read_page(name) for name in STYLES],
            [read_page(name) for name in SCRIPTS],
            self.record,
            title=f"{self.title} · laminar report",
        )

    def save(self, path: str | os.PathLike) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : path
            The file, ending in .html. One that is there is replaced when the new one is complete.
        """
        with replacing(Path(path)) as partial:
            partial.write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        """Return the page inside a frame, for notebooks."""
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="900" style="border:1px solid #ccc"></iframe>'

    def __repr__(self) -> str:
        return f"<Report: {self.title}. {self.sentence}>"


def report(
    model: Any,
    X: Any = None,
    *,
    labels: Any = None,
    given: Any = None,
    groups: ArrayLike | None = None,
    image_shape: tuple[int, ...] | None = None,
    noun: str | tuple[str, str] | None = None,
    run: dict[str, Any] | None = None,
    is_training: bool | None = None,
    map: str = "tsne",
    cache: str | os.PathLike | None = None,
    seed: int = 0,
    max_samples: int = 3000,
    texts: Sequence[str] | None = None,
    verbose: int = 0,
) -> Report:
    """Report what the layers of a fitted model hold, beside baselines.

    Labels are compared with, and not learned from. Those that the model was given are not scored, and the baselines
    beside it are given the same ones. Where it was given every known label, it is fitted again five times, with the
    labels of a fifth of the samples withheld, and scored on these.

    Parameters
    ----------
    model : fitted model with ``layers_``
        The model.
    X : Dataset, array-like, sparse matrix, views, or None, default=None
        Samples, those of the fit or new ones. None means those of the fit, of which the model has the codes alone:
        without the samples themselves, reconstructions and the baselines.
    labels : DataFrame, mapping from name to labels, array-like, or None, default=None
        Known labels, one column an attribute; -1, NaN and None are unknown. None means those of a `Dataset`.
    given : as ``labels``, or None, default=None
        The labels that the model was given. None means all of ``labels``, for models that use labels.
    groups : array-like of shape (n_samples,) or None, default=None
        Sequence or other group of each sample. Samples of one group are not taken for independent.
    image_shape : tuple of int or None, default=None
        Height and width of a row as an image, with the number of channels if there are several.
    noun : str, (str, str) or None, default=None
        What a sample is called, as "face", and what several are.
    run : dict or None, default=None
        Record of the run that fitted the model, as model files hold it.
    is_training : bool or None, default=None
        Whether X are the samples of the fit, in their order; None means that they are if there are as many.
    map : {"tsne", "umap", "pca"}, default="tsne"
        How the samples of a layer are brought onto a map; "umap" needs umap-learn.
    cache : path or None, default=None
        File, .npz, in which the maps are kept for the next report.
    seed : int, default=0
        Seed of maps, clusters and baselines.
    max_samples : int, default=3000
        Number of samples on the page, drawn at random where there are more; scores are of at most
        10 000, beside those whose label was given.
    texts : sequence of str or None, default=None
        The text of each sample, for texts: its beginning is shown.
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    Report
        ``save("report.html")`` writes it, notebooks show it, ``record`` has all of it.

    Examples
    --------
    >>> from laminar import NMF
    >>> from laminar.datasets import make_faces
    >>> from laminar.report import report
    >>> faces = make_faces(3, 2, 2, size=12, random_state=0)
    >>> model = NMF(3, random_state=0).fit(faces.X)
    >>> print(report(model, faces.X, labels={"pose": faces.pose}, image_shape=(12, 12)).sentence)
    The model was given no labels. No layer finds pose (... better than the baselines do.
    """
    subject = read_subject(
        model,
        X,
        labels=labels,
        given=given,
        groups=groups,
        image_shape=image_shape,
        noun=noun,
        run=run,
        is_training=is_training,
        seed=seed,
        max_samples=max_samples,
        texts=texts,
    )
    return Report(record(subject, map=map, cache=cache, verbose=verbose))
