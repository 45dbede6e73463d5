"""Columns of a data frame as a matrix of features: types, 0/1 columns of text, missing values."""

from __future__ import annotations

import datetime
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from laminar.io._columns import texts_of
from laminar.io._folders import counted, first_few

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MANY_VALUES = 50  # of a column of text, from which on a note is given
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?|\d{1,2}([./])\d{1,2}\2\d{2,4}")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")


@dataclass
class Features:
    """Features (n_samples, n_features), NaN where a value is missing."""

    X: np.ndarray
    names: list[str]
    categories: dict[str, tuple[str, ...]]
    notes: list[str] = field(default_factory=list)

    def means(self) -> dict[str, float]:
        """Return the mean of each feature over its known values; features without any have none."""
        is_known = ~np.isnan(self.X)
        number = is_known.sum(axis=0)
        total = np.where(is_known, self.X, 0).sum(axis=0, dtype=np.float64)
        return {name: float(t / n) for name, t, n in zip(self.names, total, number, strict=True) if n}


# Types


def check_types(
    path: Path, frame: DataFrame, one_hot: bool, categories: Mapping[str, Sequence[str]] | None
) -> list[str]:
    """Return the columns of text; raise ValueError for those that cannot be features."""
    if categories is not None:  # of a reader of new files
        one_hot = False
    text = [name for name in frame.columns if name not in (categories or {}) and not _is_numeric(frame[name])]
    refused = [name for name in text if not one_hot or _is_date(frame[name]) or not _is_text(frame[name])]
    if refused:
        raise ValueError(_not_numeric(path, frame[refused], one_hot, is_new=categories is not None))
    return [name for name in frame.columns if name in (categories or text)]


def _is_numeric(column: Series) -> bool:
    from pandas.api import types

    if types.is_bool_dtype(column) or (types.is_numeric_dtype(column) and not types.is_complex_dtype(column)):
        return True
    known = column.dropna()
    return types.is_object_dtype(column) and all(isinstance(cell, (bool, int, float, np.number)) for cell in known)


def _is_text(column: Series) -> bool:
    from pandas.api import types

    is_category = isinstance(column.dtype, type(types.pandas_dtype("category")))
    return is_category or all(isinstance(cell, (str, bool, int, float)) for cell in column.dropna())


def _is_date(column: Series) -> bool:
    from pandas.api import types

    if types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
        return True
    known = column.dropna().head(50)
    return bool(len(known)) and all(
        isinstance(cell, datetime.date) or (isinstance(cell, str) and bool(_DATE.fullmatch(cell.strip())))
        for cell in known
    )


def _not_numeric(path: Path, frame: DataFrame, one_hot: bool, is_new: bool) -> str:
    examples = first_few(f"{name!r} ({_example(frame[name])})" for name in frame.columns)
    if is_new:
        return f"{path}: columns that held numbers before do not in this file: {examples}."
    choices = [
        "name labels by label_columns= (--label-columns)",
        "leave columns out by drop= (--drop)",
        *["turn text into 0/1 columns by one_hot=True (--one-hot)"] * (not one_hot),
        *["read a column of texts by column= (--text-column)"] * (not one_hot),
        *['read 3,14 as a number by decimal="," (--read decimal=,)'] * any(map(_has_decimal_comma, frame.items())),
    ]
    return f"{path} has columns without numbers: {examples}. Choose: {'; '.join(choices)}."


def _example(column: Series) -> str:
    kind = "a date, " if _is_date(column) else ""
    known = column.dropna()
    # A value that is no number: of a column of numbers with one word, the word.
    shown = next((cell for cell in known if not _is_number(cell)), known.iloc[0] if len(known) else None)
    return f"{kind}such as {str(shown)[:40]!r}"


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _has_decimal_comma(item: tuple[Hashable, Series]) -> bool:
    known = [cell for cell in item[1].dropna().head(50) if isinstance(cell, str)]
    return any(_DECIMAL_COMMA.fullmatch(cell.strip()) for cell in known) and all(
        _DECIMAL_COMMA.fullmatch(cell.strip()) or _is_number(cell) for cell in known
    )


# Values


def to_features(
    frame: DataFrame, text: Sequence[str], categories: Mapping[str, Sequence[str]] | None, dtype: str | None
) -> Features:
    """Return numbers as they are and text as columns of 0 and 1, in the order of the frame."""
    kind = np.dtype(dtype) if dtype is not None else _common_dtype(frame, text)
    if not text:
        return Features(_numbers(frame, kind), [str(name) for name in frame.columns], {})
    features = Features(np.empty((len(frame), 0), dtype=kind), [], {})
    parts = []
    for name in frame.columns:
        if name in text:
            parts.append(_indicators(features, name, frame[name], (categories or {}).get(name)).astype(kind))
        else:
            parts.append(_numbers(frame[[name]], kind))
            features.names.append(str(name))
    features.X = np.hstack(parts)
    return features


def _common_dtype(frame: DataFrame, text: Sequence[str]) -> np.dtype:
    """Return float32 if all numbers are; booleans and text are exact in either."""
    types = {str(frame[name].dtype).lower() for name in frame.columns if name not in text}
    return np.dtype(
        np.float32 if types and types <= {"float32", "float16", "bool"} and types != {"bool"} else np.float64
    )


def _numbers(frame: DataFrame, dtype: np.dtype) -> np.ndarray:
    try:
        return np.array(frame.to_numpy(dtype=dtype, na_value=np.nan), order="C")
    except TypeError:  # cells of booleans and of None
        return np.array(frame.astype(float).to_numpy(dtype=dtype), order="C")


def _indicators(features: Features, name: str, column: Series, categories: Sequence[str] | None) -> np.ndarray:
    """Return 0/1 columns, NaN where the cell is empty, and record their names."""
    is_missing = column.isna().to_numpy()
    values = texts_of(column).astype(object)
    found = sorted(set(values[~is_missing]))
    chosen = tuple(found if categories is None else categories)
    unknown = [value for value in found if value not in set(chosen)]
    if unknown:
        features.notes.append(f"{name!r} has values that are new: {first_few(unknown)}; their columns are all 0.")
    if categories is None and len(chosen) > MANY_VALUES:
        features.notes.append(f"{name!r} has {len(chosen)} values, a column each; leave it out by drop= (--drop).")
    features.categories[name] = chosen
    features.names += [f"{name}={value}" for value in chosen]
    indicators = (values[:, None] == np.array(chosen, dtype=object)[None, :]).astype(float)
    indicators[is_missing] = np.nan
    return indicators


# Missing values


def fill_missing(
    path: Path, features: Features, ids: np.ndarray, missing: str, means: Mapping[str, float]
) -> tuple[np.ndarray, str | None]:
    """Fill missing values in place, return which rows are kept and a note on what was done; see `TableReader`."""
    is_missing = np.isnan(features.X)
    number = is_missing.sum(axis=0)
    keep = np.ones(len(ids), dtype=bool)
    if not number.any():
        return keep, None
    columns = np.flatnonzero(number)
    counts = first_few(f"{number[column]} in {features.names[column]!r}" for column in columns)
    if missing == "drop":
        keep = ~is_missing.any(axis=1)
        if not keep.any():
            raise ValueError(f"{path}: every row has a missing value ({counts}). Leave columns out by drop= (--drop).")
        return (
            keep,
            f"{path.name}: {counted(int((~keep).sum()), 'row')} with missing values left out: {first_few(ids[~keep])}.",
        )
    if missing == "mean":
        return keep, _fill_by_means(path, features, is_missing, means, counts)
    raise ValueError(
        f"{path} has missing values: {counts}. Replace them by the mean of the column, missing='mean' "
        "(--missing mean), leave these rows out, missing='drop' (--missing drop), or leave columns out by drop=."
    )


def _fill_by_means(
    path: Path, features: Features, is_missing: np.ndarray, means: Mapping[str, float], counts: str
) -> str:
    for column in np.flatnonzero(is_missing.any(axis=0)):
        name = features.names[column]
        if name not in means:
            raise ValueError(f"{path}: column {name!r} has no values and so no mean. Leave it out by drop= (--drop).")
        features.X[is_missing[:, column], column] = means[name]
    return (
        f"{path.name}: {counted(int(is_missing.sum()), 'missing value')} replaced by the mean of the column: {counts}."
    )


# Scale


def constant_columns(X: Any) -> np.ndarray:
    """Return which columns have a single value."""
    return (X[:1] == X).all(axis=0)


def scale_ratio(X: Any) -> float:
    """Return the largest standard deviation of a column over the smallest one that is not zero."""
    deviations = X.std(axis=0, dtype=np.float64)[~constant_columns(X)]
    return float(deviations.max() / deviations.min()) if len(deviations) and deviations.min() > 0 else 1.0
