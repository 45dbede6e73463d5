"""Annotated matrices of single cells, the .h5ad files of AnnData."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from laminar._utils.extras import require
from laminar.io._columns import check_columns, labels_of, names_of, texts_of
from laminar.io._folders import counted, existing, first_few
from laminar.io._matrices import as_csr, as_float, check_finite
from laminar.io.dataset import Dataset, Matrix

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class AnnDataReader:
    """Reader of .h5ad files: observations are samples, variables are features.

    Of the file only the matrix, ``obs`` and ``var`` are read, once; a sparse matrix stays sparse. `read` returns a data
    set whose reader has the names of the variables, and so finds the same ones, by name, in other files.

    Parameters
    ----------
    layer : str or None, default=None
        Matrix in ``layers``; None is ``X``.
    label_columns : str or sequence of str, default=()
        Columns of ``obs`` that are labels: categories, text, or whole numbers. New files may lack them.
    group_column : str or None, default=None
        Column of ``obs`` that names the sequence of each observation.
    feature_names : sequence of str or None, default=None
        Names of the variables to read, in this order; None is all of them.
    labels_optional : bool, default=False
        Whether files without the columns of labels are read as well; the reader of a `Dataset` has it.

    See Also
    --------
    read : Read data of any kind.
    write_codes : Write codes to an .h5ad file.

    Examples
    --------
    >>> import tempfile
    >>> import anndata, pandas as pd
    >>> from laminar.io import AnnDataReader
    >>> cells = anndata.AnnData(np.eye(2), obs=pd.DataFrame({"type": ["T", "B"]}, index=["c1", "c2"]))
    >>> cells.var_names = ["CD3", "CD19"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cells.write_h5ad(f"{folder}/cells.h5ad")
    ...     data = AnnDataReader(label_columns="type").read(f"{folder}/cells.h5ad")
    >>> data.ids.tolist(), data.feature_names.tolist(), data.labels["type"].tolist()
    (['c1', 'c2'], ['CD3', 'CD19'], ['T', 'B'])
    """

    layer: str | None = None
    label_columns: str | Sequence[str] = ()
    group_column: str | None = None
    feature_names: Sequence[str] | None = field(default=None, metadata={"from_data": True})
    labels_optional: bool = field(default=False, metadata={"from_data": True})

    def read(
        self, path: str | os.PathLike, *, skip_bad: bool = False, n_jobs: int | None = None, verbose: int = 0
    ) -> Dataset:
        """Read an .h5ad file.

        Parameters
        ----------
        path : path
            The file.
        skip_bad : bool, default=False
            Not used, the data are one file.
        n_jobs : int or None, default=None
            Not used.
        verbose : int, default=0
            Not used.

        Returns
        -------
        Dataset
            The samples, with a reader for new files.
        """
        path = existing(path)
        with _opened(path) as (file, read_part):
            obs, var = read_part(file["obs"]), read_part(file["var"])
            ids, variables = _names(path, obs, "obs"), _names(path, var, "var")
            labels, groups = self._columns(path, obs)
            columns, notes = self._variables(path, variables)
            matrix = self._matrix(path, file)
            X = _as_matrix(path, read_part(matrix), matrix.name.lstrip("/"))
        if X.shape != (len(ids), len(variables)):
            raise ValueError(f"{path}: the matrix has shape {X.shape}, obs {len(ids)} rows, var {len(variables)}.")
        X = X if columns is None else X[:, columns]
        names = variables if columns is None else variables[columns]
        return Dataset(
            X=X,
            ids=ids,
            feature_names=names,
            labels=labels_of(obs, labels, ids),
            groups=texts_of(obs[groups[0]]) if groups else None,
            reader=replace(self, feature_names=tuple(names.tolist()), labels_optional=True),
            notes=tuple(notes + self._unused(path, obs)),
        )

    def _matrix(self, path: Path, file: Any) -> Any:
        if self.layer is None:
            if "X" not in file:
                raise ValueError(f"{path} has no X: choose a matrix by layer=, one of {_listed(file, 'layers')}.")
            return file["X"]
        if self.layer not in file.get("layers", {}):
            raise ValueError(f"{path} has no layer {self.layer!r} (layer=): its layers are {_listed(file, 'layers')}.")
        return file["layers"][self.layer]

    def _columns(self, path: Path, obs: DataFrame) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the columns of labels and of groups that are there."""
        labels, groups = names_of(self.label_columns), names_of(self.group_column)
        if self.labels_optional:
            labels = tuple(name for name in labels if name in obs.columns)
        check_columns(path, obs, labels, "label_columns")
        check_columns(path, obs, groups, "group_column")
        measured = [name for name in labels if _is_measurement(obs[name])]
        if measured:
            raise ValueError(
                f"{path}: columns of obs {first_few(measured)} hold measurements, not labels: "
                "label_columns= (--label-columns) takes categories, text or whole numbers."
            )
        return labels, groups

    def _variables(self, path: Path, variables: np.ndarray) -> tuple[np.ndarray | None, list[str]]:
        """Return the columns of the matrix to read, None for all as they are, and notes."""
        if self.feature_names is None or list(self.feature_names) == variables.tolist():
            return None, []
        place = {name: column for column, name in enumerate(variables.tolist())}
        absent = [name for name in self.feature_names if name not in place]
        if absent:
            raise ValueError(
                f"{path} lacks {len(absent)} of {counted(len(self.feature_names), 'variable')}: {first_few(absent)}. "
                f"Its variables are {first_few(variables)}."
            )
        rest = len(variables) - len(self.feature_names)
        notes = [f"{path.name}: {counted(rest, 'other variable')} not used."] if rest else []
        return np.array([place[name] for name in self.feature_names]), notes

    def _unused(self, path: Path, obs: DataFrame) -> list[str]:
        used = (*names_of(self.label_columns), *names_of(self.group_column))
        rest = [name for name in obs.columns if name not in used and not _is_measurement(obs[name])]
        if not rest or self.labels_optional:
            return []
        return [f"{path.name}: obs has {first_few(rest)}; label_columns= (--label-columns) reads them as labels."]


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """Yield the file and the function that reads a part of it."""
    anndata = require("anndata", "omics", "reading .h5ad files")
    h5py = require("h5py", "omics", "reading .h5ad files")
    try:
        part_reader = require("anndata.io", "omics").read_elem
    except ImportError:  # anndata 0.10
        part_reader = anndata.experimental.read_elem
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give one .h5ad file.")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise ValueError(f"{path} is not a readable .h5ad file: {error}") from error
    with file:
        absent = [name for name in ("obs", "var") if name not in file]
        if absent:
            raise ValueError(f"{path} is not an .h5ad file of AnnData: it has no {' and no '.join(absent)}.")
        yield file, part_reader


def _names(path: Path, frame: DataFrame, part: str) -> np.ndarray:
    names = frame.index.astype(str)
    if not names.is_unique:
        repeated = names[names.duplicated()].unique()
        raise ValueError(
            f"{path}: {part} has names more than once: {first_few(repeated)}. "
            f"Make them different by {part}_names_make_unique() of AnnData."
        )
    if not len(names):
        raise ValueError(f"{path} has no {'observations' if part == 'obs' else 'variables'}.")
    return np.array(names, dtype=str)


def _as_matrix(path: Path, array: Any, name: str) -> Matrix:
    source = f"{path}: {name}"
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{source} holds values of type {array.dtype}: samples need real numbers.")
    X = as_csr(array) if sp.issparse(array) else as_float(array)
    check_finite(source, X)
    return X


def _is_measurement(column: Any) -> bool:
    from pandas.api import types

    if isinstance(column.dtype, type(types.pandas_dtype("category"))):
        return False
    known = column.dropna()
    return types.is_float_dtype(column) and bool((known != known.round()).any())


def _listed(file: Any, part: str) -> str:
    return ", ".join(file[part]) if part in file and len(file[part]) else "none"
