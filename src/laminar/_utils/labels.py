"""Partial labels: one column per attribute (pose, expression, identity), one row per sample.

Unknown is -1, NaN, None, ``pandas.NA``, a masked entry or an empty string. Classes may be numbers or strings.
"""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .workers.reading import is_dask

__all__ = [
    "Attribute",
    "append_unknown",
    "attribute_names",
    "read_attribute",
    "read_groups",
    "read_labels",
    "warn_uninformative",
    "with_classes",
]


@dataclass(frozen=True, eq=False)
class Attribute:
    """One attribute of the samples, known for some of them.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Position of each sample's class in `classes`; -1 where it is unknown.
    classes : ndarray of shape (n_classes,)
        The values that were given, sorted.
    name : hashable, optional
        The column's name, if it had one.

    Examples
    --------
    >>> pose = Attribute(codes=np.array([0, -1, 1, 1]), classes=np.array(["left", "right"]))
    >>> pose.known
    array([ True, False,  True,  True])
    >>> pose.class_sizes
    array([1, 2])
    """

    codes: np.ndarray
    classes: np.ndarray
    name: Hashable = None

    @property
    def known(self) -> np.ndarray:
        """Mask of the samples whose class is known."""
        return self.codes >= 0

    @property
    def class_sizes(self) -> np.ndarray:
        """Number of known samples of each class."""
        return np.bincount(self.codes[self.known], minlength=len(self.classes))

    def one_hot(self) -> sp.csr_array:
        """Return the membership matrix (n_samples, n_classes); the row of an unknown sample is zero."""
        starts = np.concatenate([[0], np.cumsum(self.known)])
        codes = self.codes[self.known]
        return sp.csr_array((np.ones(len(codes)), codes, starts), (len(self.codes), len(self.classes)))


def read_labels(y: ArrayLike, n_samples: int) -> tuple[Attribute, ...]:
    """Read partial labels from a list, an array, a pandas Series or DataFrame, or these of dask.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_attributes)
        List, array, or pandas Series or DataFrame. -1, NaN, None, ``pandas.NA``, masked entries and empty
        strings are unknown. A column may be unknown throughout: it then has no classes.
    n_samples : int
        Number of samples the labels belong to.

    Returns
    -------
    tuple of Attribute
        One for each column.

    Examples
    --------
    >>> (pose,) = read_labels(["right", None, "left", "right"], n_samples=4)
    >>> pose.codes
    array([ 1, -1,  0,  1])
    >>> pose.classes
    array(['left', 'right'], dtype='<U5')

    >>> pose, identity = read_labels([[0, 7], [0, -1], [1, 9]], n_samples=3)
    >>> identity.codes, identity.classes
    (array([ 0, -1,  1]), array([7, 9]))
    """
    y = cast(Any, y).compute() if is_dask(y) else y
    _check_container(y)
    values = label_array(y)
    if values.ndim not in (1, 2):
        raise ValueError(
            f"y must have shape (n_samples,) or (n_samples, n_attributes); got {values.ndim} dimensions, "
            f"shape {values.shape}."
        )
    if len(values) != n_samples:
        hint = " Transpose it: rows are samples." if values.shape[1:] == (n_samples,) else ""
        raise ValueError(
            f"y has {len(values)} rows but X has {n_samples} samples; give one label per sample, "
            f"with -1, NaN or None where it is unknown.{hint}"
        )
    columns = values.T if values.ndim == 2 else [values]
    names = getattr(y, "columns", [getattr(y, "name", None)] * len(columns))
    return tuple(_read_column(column, name) for column, name in zip(columns, names, strict=True))


def read_attribute(y: ArrayLike | None, n_samples: int) -> Attribute:
    """Read partial labels of a single attribute.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, 1), or None
        As for :func:`read_labels`; None means that every label is unknown.
    n_samples : int
        Number of samples the labels belong to.

    Returns
    -------
    Attribute
        The attribute.

    Examples
    --------
    >>> read_attribute([3, -1, 3], n_samples=3).codes
    array([ 0, -1,  0])
    >>> read_attribute(None, n_samples=3).codes
    array([-1, -1, -1])
    """
    if y is None:
        return Attribute(np.full(n_samples, -1), np.array([]))
    attributes = read_labels(y, n_samples)
    if len(attributes) != 1:
        raise ValueError(
            f"y has {len(attributes)} attributes, and a sample can have one class only here: {one_column(attributes)}."
        )
    return attributes[0]


def read_groups(groups: ArrayLike, n_samples: int) -> np.ndarray:
    """Read the group of every sample, such as the sequence it belongs to.

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        Names of groups, none of them unknown.
    n_samples : int
        Number of samples.

    Returns
    -------
    ndarray of shape (n_samples,)
        Number of the group of each sample.

    Examples
    --------
    >>> read_groups(["b", "a", "b"], n_samples=3)
    array([1, 0, 1])
    """
    found = read_attribute(groups, n_samples)
    if not found.known.all():
        raise ValueError("groups must name the sequence of every sample; some are unknown (-1, NaN or None).")
    return found.codes


def is_one_hot(attributes: Sequence[Attribute]) -> bool:
    """Return whether the columns of y are the classes of one attribute: 0 or 1, and one 1 in each labelled row.

    Examples
    --------
    >>> is_one_hot(read_labels([[0, 1], [1, 0], [-1, -1]], n_samples=3)), is_one_hot(read_labels([[1, 1], [1, 0]], 2))
    (True, False)
    """
    known = np.array([attribute.known for attribute in attributes])
    if len(attributes) < 2 or not known.any() or (known.any(axis=0) != known.all(axis=0)).any():
        return False
    if any(a.classes.dtype.kind not in "biuf" or not np.isin(a.classes, (0, 1)).all() for a in attributes):
        return False
    ones = sum(a.classes[a.codes[known[0]]] == 1 for a in attributes)
    return bool(np.all(np.asarray(ones, dtype=int) == 1))


def one_column(attributes: Sequence[Attribute]) -> str:
    """Return how several columns become one, for error messages.

    Examples
    --------
    >>> one_column(read_labels([[0, 1], [1, 0]], n_samples=2))
    'y is one-hot, pass y.argmax(axis=1)'
    """
    return "y is one-hot, pass y.argmax(axis=1)" if is_one_hot(attributes) else "pass one column of y"


def warn_uninformative(
    attributes: Sequence[Attribute], *, stacklevel: int, singletons: bool = False, one_class: bool = True
) -> None:
    """Warn of labels that can have no effect, or distinguish no samples.

    Parameters
    ----------
    attributes : sequence of Attribute
        The columns of y.
    stacklevel : int
        That of the user's call, as `warnings.warn` counts from here.
    singletons : bool, default=False
        Whether a class of one sample has an effect in the model; then labels are reported where every sample has a
        class of its own alone.
    one_class : bool, default=True
        Whether labels of one class have an effect in the model, besides samples whose label is unknown.
    """
    if is_one_hot(attributes):
        warnings.warn(
            f"y is one-hot: its {len(attributes)} columns of 0 and 1 are taken for as many attributes of two classes "
            "each. Pass y.argmax(axis=1) for one attribute.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
        return
    for name, attribute in zip(attribute_names(attributes), attributes, strict=True):
        fault = _fault(attribute, singletons, one_class)
        if fault:
            where = f"y, column {name!r}" if len(attributes) > 1 else "y"
            warnings.warn(f"{where}: {fault}", UserWarning, stacklevel=stacklevel + 1)


def _fault(attribute: Attribute, singletons: bool, one_class: bool) -> str | None:
    """Return a sentence on labels that distinguish nothing, and what to do; None for others."""
    n_known, n_classes = int(attribute.known.sum()), int((attribute.class_sizes > 0).sum())
    if len(attribute.codes) == 1:  # of one sample nothing can be distinguished
        return None
    if not n_known:
        return (
            "no label is known, so that labels have no effect. -1, NaN, None and empty strings stand for unknown: give "
            "some others, or leave y out."
        )
    if n_classes == n_known and (1 < n_known == len(attribute.codes) or not singletons):
        return (
            f"there are as many classes as labels, {n_known}, and no two samples share one, so that labels have no "
            "effect. Give classes; numbers on a scale become classes by sklearn.preprocessing.KBinsDiscretizer."
        )
    if n_classes == 1 and (n_known == len(attribute.codes) or not one_class):
        only = attribute.classes[attribute.codes[attribute.known]][:1].tolist()[0]
        return (
            f"all labels are of one class, {only!r}, so that they distinguish no samples. Give labels of two classes "
            "or more, or leave y out."
        )
    return None


def with_classes(attribute: Attribute, names: ArrayLike) -> Attribute:
    """Return the same labels over given classes, in their order; some of these may have no label.

    Parameters
    ----------
    attribute : Attribute
        Labels of some classes.
    names : array-like of shape (n_classes,)
        The names of all classes.

    Returns
    -------
    Attribute
        With ``classes`` the given names.

    Examples
    --------
    >>> pose = read_attribute(["right", None, "left"], n_samples=3)
    >>> with_classes(pose, ["front", "left", "right"]).codes
    array([ 2, -1,  1])
    """
    values = label_array(names)
    if values.ndim != 1 or _is_unknown(values).any():
        raise ValueError(
            f"classes must be a number, or a list of names none of which stands for unknown; got {names!r}."
        )
    classes = np.array(values.tolist())
    places = {name: place for place, name in enumerate(classes.tolist())}
    if len(places) < len(classes):
        raise ValueError(f"classes names a class twice; got {names!r}.")
    absent = [name for name in attribute.classes.tolist() if name not in places]
    if absent:
        raise ValueError(f"y has labels of classes that classes does not name: {absent}; add them to classes.")
    # Code -1, unknown, finds the -1 at the end.
    codes = np.array([*(places[name] for name in attribute.classes.tolist()), -1])[attribute.codes]
    return Attribute(codes, classes, attribute.name)


def append_unknown(classes: np.ndarray) -> np.ndarray:
    """Append to classes the value of their type that stands for unknown, so that they are labels again.

    Examples
    --------
    >>> append_unknown(np.array([3, 5])), append_unknown(np.array(["left", "right"]))
    (array([ 3,  5, -1]), array(['left', 'right', ''], dtype='<U5'))
    """
    unknown = {"i": -1, "u": -1, "f": np.nan, "U": ""}
    if classes.dtype.kind in unknown:
        return np.append(classes, [unknown[classes.dtype.kind]])
    return np.array([*classes.tolist(), None], dtype=object)


def attribute_names(attributes: Sequence[Attribute]) -> list[Hashable]:
    """Return the names of attributes, and the positions of those without a name.

    Examples
    --------
    >>> attribute_names(read_labels([[0, 7], [1, 9]], n_samples=2))
    [0, 1]
    """
    return [j if attribute.name is None else attribute.name for j, attribute in enumerate(attributes)]


def by_name(values, names: Sequence[Hashable], parameter: str):
    """Return a parameter with one value for each attribute: as it is, or from a mapping in the order of the names.

    Examples
    --------
    >>> by_name({"who": 2, "pose": 1}, ["pose", "who"], "alphas"), by_name(0.1, ["pose"], "alphas")
    ([1, 2], 0.1)
    """
    if not isinstance(values, Mapping):
        return values
    if set(values) != set(names):
        raise ValueError(
            f"{parameter} must have one entry for each attribute of y, {list(names)}; got {list(values)}. Name the "
            "columns of y, as in a DataFrame."
        )
    return [values[name] for name in names]


def label_array(y: ArrayLike) -> np.ndarray:
    """Convert labels to an array that keeps the type of each value.

    >>> label_array(["a", None, 3]).tolist()
    ['a', None, 3]
    """
    if np.ma.isMaskedArray(y):
        labels = y.data.astype(object)
        labels[np.ma.getmaskarray(y)] = None
        return labels
    # numpy would convert the values of a list with a string to text, NaN to a class called "nan", and whole numbers of
    # pandas with missing entries to floats.
    return np.asarray(y) if isinstance(getattr(y, "dtype", None), np.dtype) else np.asarray(y, dtype=object)


def is_missing(values: np.ndarray) -> np.ndarray:
    """Mark NaN, None, ``pandas.NA`` and NaT; -1 is left to the caller.

    >>> is_missing(np.array(["a", None, float("nan"), -1], dtype=object))
    array([False,  True,  True, False])
    """
    if values.dtype.kind == "O":
        # pandas.NA is recognised by name, so that pandas stays optional; it has no truth value when compared.
        missing = (v is None or type(v).__name__ == "NAType" or v != v for v in values)
        return np.fromiter(missing, bool, len(values))
    return values != values  # true of NaN and NaT alone


def _read_column(values: np.ndarray, name: Hashable) -> Attribute:
    _check_values(values)
    known = ~_is_unknown(values)
    try:
        classes, positions = np.unique(values[known], return_inverse=True)
    except TypeError as error:
        types = ", ".join(sorted({type(value).__name__ for value in values[known]}))
        raise TypeError(f"y mixes labels of types {types}; make them all strings or all numbers.") from error
    codes = np.full(len(values), -1)
    codes[known] = positions
    if values.dtype.kind == "O":  # back to a dtype of numbers or strings
        classes = np.array(classes.tolist())
    return Attribute(codes, classes, name)


def _is_unknown(values: np.ndarray) -> np.ndarray:
    unknown = is_missing(values)
    if values.dtype.kind == "O":
        unknown[~unknown] = [value in ("", -1) for value in values[~unknown]]
    elif values.dtype.kind == "U":
        unknown |= values == ""
    elif values.dtype.kind in "iuf":
        unknown |= values == -1
    return unknown


def _check_container(y: ArrayLike) -> None:
    if sp.issparse(y):
        raise TypeError(
            "y is a sparse matrix, and labels are dense: pass y.toarray(), or y.toarray().argmax(axis=1) if it is "
            "one-hot."
        )
    if isinstance(y, Mapping):
        raise TypeError(
            "y is a dict: pass a list or an array with a row for each sample, or pandas.DataFrame(y) to name the "
            "attributes."
        )
    if isinstance(y, AbstractSet):
        raise TypeError("y is a set, which has no order: pass a list or an array with a label for each sample.")


def _check_values(values: np.ndarray) -> None:
    if values.dtype.kind == "c":
        raise ValueError("y holds complex numbers: give classes as whole numbers or strings.")
    if _has_infinity(values):
        raise ValueError("y contains infinity, which is no class: mark unknown labels by -1, NaN or None.")
    if values.dtype.kind == "O" and any(isinstance(value, list | tuple | np.ndarray) for value in values):
        raise ValueError("y has rows of different lengths; give every sample the same number of attributes.")
    if values.dtype.kind == "U" and np.isin(values, ["-1", "nan"]).any():
        raise ValueError(
            "y is an array of text that holds '-1' or 'nan', most likely unknown labels which numpy turned "
            "into text. Give a list, or an array of dtype=object, with None where the label is unknown."
        )


def _has_infinity(values: np.ndarray) -> bool:
    if values.dtype.kind == "f":
        return bool(np.isinf(values).any())
    return values.dtype.kind == "O" and any(isinstance(v, float | np.floating) and np.isinf(v) for v in values)


def read_alphas(alpha: float | ArrayLike, n_attributes: int, name: str = "alpha") -> list[float]:
    """Read the weights of several attributes, given as one number for all or one for each.

    Parameters
    ----------
    alpha : float or array-like of shape (n_attributes,)
        Weights, not negative.
    n_attributes : int
        Number of attributes.
    name : str, default="alpha"
        Name of the parameter, for error messages.

    Returns
    -------
    list of float
        One for each attribute.

    Examples
    --------
    >>> read_alphas(0.1, 2), read_alphas([1, 2], 2)
    ([0.1, 0.1], [1.0, 2.0])
    """
    alphas = np.full(n_attributes, alpha) if np.ndim(alpha) == 0 else np.asarray(alpha)
    if alphas.shape != (n_attributes,):
        raise ValueError(
            f"{name} has {np.size(alpha)} weights but y has {n_attributes} attributes; "
            "give one number, or one for each."
        )
    if n_attributes and (alphas.dtype.kind not in "fiu" or not (np.isfinite(alphas) & (alphas >= 0)).all()):
        raise ValueError(f"{name} must be finite and not below 0; got {alpha!r}.")
    return alphas.astype(float).tolist()
