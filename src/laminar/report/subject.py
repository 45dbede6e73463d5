"""`Subject`: a fitted model, the samples that a report shows, and what is known of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from laminar._utils.labels import attribute_names, read_groups, read_labels
from laminar.evaluation.layers import layer_features, layer_names, layer_places
from laminar.io.dataset import Dataset


@dataclass(frozen=True, eq=False)
class Attribute:
    """Labels of one attribute.

    Attributes
    ----------
    name : str
        Its name.
    classes : list of str
        Names of the classes, numbers in them in order of size.
    codes : ndarray of int of shape (n_samples,)
        Position of the class of each sample, -1 where it is unknown.
    given : ndarray of bool of shape (n_samples,)
        The samples whose label the model was given.
    """

    name: str
    classes: list[str]
    codes: np.ndarray
    given: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Mask of the samples whose class is known."""
        return self.codes >= 0

    @property
    def is_ordered(self) -> bool:
        """Whether the classes are the values of one quantity: each has one number, some with a sign or a fraction."""
        numbers = [re.findall(r"[-+]?\d+(?:\.\d+)?", name) for name in self.classes]
        texts = {re.sub(r"[-+]?\d+(?:\.\d+)?", "", name) for name in self.classes}
        is_one = len(self.classes) > 2 and len(texts) == 1 and all(len(found) == 1 for found in numbers)
        return is_one and any(re.search(r"[-+.]", found[0]) for found in numbers)


@dataclass(frozen=True)
class Place:
    """A layer of the model: its name, position, and view, None for layers that are of no view."""

    name: str
    position: int
    view: Any = None


@dataclass(frozen=True, eq=False)
class Subject:
    """What a report is about.

    Attributes
    ----------
    model : estimator
        A fitted model with ``layers_``.
    views : dict of array, or None
        Data by view, under the name "X" where there are no views; None where they are not at hand.
    data : Dataset
        Names, groups, shapes of images and names of features.
    attributes : list of Attribute
        Labels that are known.
    is_training : bool
        Whether the samples are those of the fit, in their order.
    run : dict
        Record of the run that fitted the model, as in a model file; may be empty.
    noun : tuple of str
        What a sample is called: one, and several.
    seed : int
        Seed of all that is drawn.
    max_samples : int
        Number of samples on the page, drawn at random where there are more.
    texts : sequence of str or None
        The text of each sample, for texts.
    """

    model: Any
    views: dict[str, Any] | None
    data: Dataset
    attributes: list[Attribute]
    is_training: bool = True
    run: dict[str, Any] = field(default_factory=dict)
    noun: tuple[str, str] = ("sample", "samples")
    seed: int = 0
    max_samples: int = 3000
    texts: Sequence[str] | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.data.ids)

    @property
    def X(self) -> Any:
        """The data as the model takes them; None where they are not at hand."""
        if self.views is None:
            return None
        return self.views if self.has_views else self.views["X"]

    @property
    def has_views(self) -> bool:
        """Whether the model is one of several views."""
        return hasattr(self.model, "view_names_")

    @property
    def given(self) -> bool:
        """Whether the model was given labels."""
        return any(attribute.given.any() for attribute in self.attributes)

    @cached_property
    def places(self) -> list[Place]:
        """The layers, from the input up."""
        if self.has_views:
            return [Place(_bare(name), *place) for name, place in layer_places(self.model).items()]
        return [Place(_bare(name), i) for i, name in enumerate(layer_names(self.model))]

    def features(self, place: Place, readout: str | None = None) -> np.ndarray:
        """Return the features of the samples in a layer, see `laminar.layer_features`.

        Parameters
        ----------
        place : Place
            The layer.
        readout : {"raw", "whitened", "isometric"} or None, default=None
            Form of the codes; None is the one that is clustered.

        Returns
        -------
        ndarray of shape (n_samples, n_directions)
            Of training samples those of the fit, where the model holds them.
        """
        X = None if self._has_codes(place) else self.X
        return np.asarray(layer_features(self.model, place.position, X, view=place.view, readout=readout))

    def codes(self, place: Place) -> np.ndarray:
        """Return the codes of the samples in a layer."""
        if self._has_codes(place):
            return np.asarray(self.layer(place).representation)
        return self.features(place, "raw")

    def layer(self, place: Place) -> Any:
        """Return the layer at a place, with ``components``."""
        if place.view is None:
            return self.model.layers_[place.position]
        return self.model.views_[place.view].layers[place.position]

    def _has_codes(self, place: Place) -> bool:
        return self.is_training and len(self.layer(place).representation) == self.n_samples

    @cached_property
    def shown(self) -> np.ndarray:
        """The samples on the page: all, or ``max_samples`` at random."""
        if self.n_samples <= self.max_samples:
            return np.arange(self.n_samples)
        return np.sort(np.random.default_rng(self.seed).choice(self.n_samples, self.max_samples, replace=False))


def _bare(name: str) -> str:
    """Return the name of a layer without the number of its components."""
    return re.sub(r" \(\d+\)$", "", name)


def read_subject(
    model: Any,
    X: Any = None,
    *,
    labels: Any = None,
    given: Any = None,
    groups: ArrayLike | None = None,
    image_shape: tuple[int, ...] | None = None,
    noun: str | tuple[str, str] | None = None,
    run: Mapping[str, Any] | None = None,
    is_training: bool | None = None,
    seed: int = 0,
    max_samples: int = 3000,
    texts: Sequence[str] | None = None,
) -> Subject:
    """Read a model and samples, in the forms that `laminar.report.report` takes.

    Parameters
    ----------
    model : fitted model with ``layers_``
        The model.
    X : Dataset, array-like, sparse matrix, views, or None, default=None
        Samples. None means those of the fit, of which the model has the codes alone.
    labels : DataFrame, mapping from name to labels, or array-like, default=None
        Known labels; None means those of a `Dataset`.
    given : as ``labels``, or None, default=None
        The labels that the model was given. None means all of ``labels``, for models that use labels.
    groups : array-like of shape (n_samples,) or None, default=None
        Sequence of each sample.
    image_shape : tuple of int or None, default=None
        Height and width of a row as an image, and number of channels if there are several.
    noun : str, (str, str) or None, default=None
        What a sample is called, as "face", and what several are.
    run : mapping or None, default=None
        Record of the run.
    is_training : bool or None, default=None
        Whether the samples are those of the fit; None means that they are if there are as many.
    seed : int, default=0
        Seed of all that is drawn.
    max_samples : int, default=3000
        Number of samples on the page.
    texts : sequence of str or None, default=None
        The text of each sample, for texts.

    Returns
    -------
    Subject
        What the report is about.

    Examples
    --------
    >>> from laminar import NMF
    >>> X = np.random.default_rng(0).random((6, 4))
    >>> subject = read_subject(NMF(2, random_state=0).fit(X), X, labels={"size": ["S", "L", "S", None, "L", "S"]})
    >>> subject.attributes[0].classes, subject.attributes[0].codes.tolist(), subject.given
    (['L', 'S'], [1, 0, 1, -1, 0, 1], False)
    """
    check_is_fitted(model)
    if not hasattr(model, "layers_"):
        raise ValueError(f"{type(model).__name__} has no layers to report on: SlowFeatureNMF has, for sequences.")
    data = X if isinstance(X, Dataset) else _dataset(model, X)
    data = _with(data, groups, image_shape)
    if texts is not None and len(texts) != data.n_samples:
        raise ValueError(f"texts has {len(texts)} entries, and there are {data.n_samples} samples: give one for each.")
    views = None if data.X is None else {name: _array(view) for name, view in data.views().items()}
    named = _classes(data.labels if labels is None else labels, data.n_samples)
    learned = _given(model, named) if given is None else _classes(given, data.n_samples)
    n_fitted = len(model.layers_[-1].representation)
    if is_training is None:
        is_training = data.n_samples == n_fitted or not n_fitted
    if not is_training and _uses_labels(model):
        raise ValueError(
            f"a report on {type(model).__name__}, which learns from labels, is of the {n_fitted} samples of its fit: "
            "baselines are given the same labels. laminar.layer_attribute_table scores new samples."
        )
    return Subject(
        model,
        views,
        data,
        [
            _attribute(name, known, _is_known(learned.get(name), len(known)))
            for name, known in _known(named, learned).items()
        ],
        is_training=is_training,
        run=dict(run or {}),
        noun=_noun(noun, data),
        seed=seed,
        max_samples=max_samples,
        texts=texts,
    )


def _with(data: Dataset, groups: ArrayLike | None, image_shape: tuple[int, ...] | None) -> Dataset:
    """Return a description with groups and the shape of images where these are given."""
    if groups is not None:
        read_groups(groups, data.n_samples)  # refuses what are no groups
        data = replace(data, groups=np.asarray(groups).astype(str))
    if image_shape is not None:
        if data.X is not None and not data.has_views and int(np.prod(image_shape)) != data.views()["X"].shape[1]:
            size = " x ".join(map(str, image_shape))
            raise ValueError(
                f"image_shape: {size} are {np.prod(image_shape)} values, and rows of X have "
                f"{data.views()['X'].shape[1]}."
            )
        data = replace(data, image_shape=tuple(image_shape))
    return data


def _dataset(model: Any, X: Any) -> Dataset:
    """Return a description of samples without names."""
    names = getattr(X, "columns", None)
    if X is None:
        n = len(model.layers_[-1].representation)
        if not n:
            raise ValueError("the model was saved without its training codes: give the samples, X.")
    elif hasattr(model, "view_names_"):
        if not isinstance(X, Mapping):
            widths = np.cumsum(model.view_sizes_)[:-1]
            parts = X if isinstance(X, list | tuple) else np.split(np.asarray(X), widths, axis=1)
            X = dict(zip(map(str, model.view_names_), parts, strict=True))
        X = {str(name): _array(view) for name, view in X.items()}
        n = len(next(iter(X.values())))
    else:
        X = _array(X)
        n = X.shape[0]
    ids = np.array([f"sample {i + 1}" for i in range(n)])
    features = None if names is None else np.array([str(name) for name in names])
    return Dataset(X, ids, feature_names=features)


def _array(X: Any) -> Any:
    return sp.csr_array(X) if sp.issparse(X) else np.asarray(X)


def _classes(labels: Any, n_samples: int) -> dict[str, np.ndarray]:
    """Return the classes of each sample as text, None where unknown, by attribute."""
    if labels is None or (isinstance(labels, Mapping) and not labels):
        return {}
    if isinstance(labels, Mapping):
        import pandas

        labels = pandas.DataFrame({str(name): pandas.Series(list(column)) for name, column in labels.items()})
    read = read_labels(labels, n_samples)
    found = {}
    for name, attribute in zip(attribute_names(read), read, strict=True):
        texts = np.array([*map(str, attribute.classes), None], dtype=object)
        found[title_of(name)] = texts[attribute.codes]
    return found


def title_of(name: Any) -> str:
    """Return the name of an attribute on the page; those without a name have a position."""
    return name if isinstance(name, str) else f"attribute {name}"


def _attribute(name: str, texts: np.ndarray, given: np.ndarray) -> Attribute:
    classes = sorted({text for text in texts if text is not None}, key=natural)
    position: dict[str | None, int] = {text: i for i, text in enumerate(classes)} | {None: -1}
    codes = np.array([position[text] for text in texts], dtype=np.int64)
    return Attribute(name, classes, codes, given & (codes >= 0))


def _is_known(texts: np.ndarray | None, n_samples: int) -> np.ndarray:
    return np.zeros(n_samples, dtype=bool) if texts is None else np.array([text is not None for text in texts])


def _known(labels: dict[str, np.ndarray], given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return labels, filled with those that were given; attributes without any are left out."""
    filled = {
        name: np.where(_is_known(texts, len(texts)), texts, given[name]) if name in given else texts
        for name, texts in labels.items()
    }
    return {name: texts for name, texts in filled.items() if _is_known(texts, len(texts)).any()}


def natural(text: str) -> list[tuple[int, float, str]]:
    """Return a key that sorts texts by the numbers in them.

    Examples
    --------
    >>> sorted(["person 10", "person 9", "all", "yaw -18", "yaw +0", "yaw -35"], key=natural)
    ['all', 'person 9', 'person 10', 'yaw -35', 'yaw -18', 'yaw +0']
    """
    parts = re.split(r"((?:(?<!\w)[-+])?\d+(?:\.\d+)?)", text)
    return [(0, float(part), "") if i % 2 else (1, 0.0, part) for i, part in enumerate(parts) if part]


def _given(model: Any, labels: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the labels that a model is taken to have been given: all, if it uses labels, of the attributes it has."""
    if not _uses_labels(model):
        return {}
    names = getattr(model, "attributes_", None)
    titles = labels if names is None else {title_of(name) for name in names}
    return {name: texts for name, texts in labels.items() if name in titles}


def _uses_labels(model: Any) -> bool:
    return hasattr(model, "classes_") or getattr(model, "_uses_labels", False)


def _noun(noun: str | tuple[str, str] | None, data: Dataset) -> tuple[str, str]:
    """Return what a sample is called, and what several are."""
    if noun is not None:
        return (noun, f"{noun}s") if isinstance(noun, str) else noun
    reader = type(data.reader).__name__
    if data.frame_rate is not None or (data.groups is not None and isinstance(data.image_shape, tuple)):
        return "frame", "frames"
    if isinstance(data.image_shape, tuple):
        return "image", "images"
    if reader == "TextReader":
        return "text", "texts"
    return ("row", "rows") if reader == "TableReader" else ("sample", "samples")
