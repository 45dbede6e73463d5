"""Writing of tables and of codes, by the ending of the file."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from laminar._utils.extras import require
from laminar._utils.files import replacing

if TYPE_CHECKING:
    from pandas import DataFrame

TABLE_ENDINGS = (".csv", ".tsv", ".parquet", ".xlsx", ".json")
CODE_ENDINGS = (".csv", ".tsv", ".parquet", ".npz", ".npy", ".h5ad")
_NEEDS = {".parquet": ("pyarrow", "tables"), ".xlsx": ("openpyxl", "tables"), ".h5ad": ("anndata", "omics")}
COMPONENTS = "laminar_components"  # in varm of an .h5ad file
CODES = "X_laminar"  # in obsm


def check_output(path: str | os.PathLike, endings: Sequence[str] = CODE_ENDINGS, force: bool = False) -> None:
    """Check that a result can be written, before the work that leads to it.

    Parameters
    ----------
    path : path
        The file to be written.
    endings : sequence of str, default=CODE_ENDINGS
        Endings that the writer supports, with the dot.
    force : bool, default=False
        Whether an existing file may be replaced.

    Raises
    ------
    ValueError
        If the ending is not one of ``endings``.
    FileNotFoundError
        If the folder does not exist.
    OSError
        If the path is a folder, or the folder cannot be written to.
    FileExistsError
        If the file exists and ``force`` is False.
    ImportError
        If the format needs a package that is not installed.

    Examples
    --------
    >>> check_output("codes.doc")
    Traceback (most recent call last):
    ValueError: codes.doc ends in .doc; results are written to .csv .tsv .parquet .npz .npy .h5ad.
    """
    path = Path(path)
    _check_ending(path, endings)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} lies in a folder that does not exist: create {path.parent} first.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file.")
    _check_writable(path)
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists: give another name, or replace it by force=True (--force).")
    ending = path.suffix.lower()
    if ending in _NEEDS:
        require(*_NEEDS[ending], f"writing {ending} files")


def _check_writable(path: Path) -> None:
    """Write a temporary file: permissions alone do not show that a disk is read-only or takes no files."""
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise PermissionError(f"{path} cannot be written, for its folder takes no files: {error.strerror}.") from None


def _check_ending(path: Path, endings: Sequence[str]) -> None:
    if path.suffix.lower() not in endings:
        ending = f"ends in {path.suffix}" if path.suffix else "has no ending"
        raise ValueError(f"{path} {ending}; results are written to {' '.join(endings)}.")


def write_table(path: str | os.PathLike, frame: DataFrame) -> None:
    """Write a table by the ending of the file: .csv, .tsv, .parquet, .xlsx or .json.

    Parameters
    ----------
    path : path
        The file; one that exists is replaced when the new one is complete.
    frame : DataFrame
        The table. An index that has a name becomes the first column, others are left out. JSON is a list of rows.

    See Also
    --------
    write_codes : Write the codes of samples.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(f"{folder}/scores.csv", pd.DataFrame({"layer": [1, 2], "nmi": [0.5, 0.75]}))
    ...     print(Path(folder, "scores.csv").read_text())
    layer,nmi
    1,0.5
    2,0.75
    """
    path = Path(path)
    _check_ending(path, TABLE_ENDINGS)
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    with replacing(path) as partial:
        _TABLE_WRITERS[path.suffix.lower()](frame, partial)


def _write_parquet(frame: DataFrame, path: Path) -> None:
    require("pyarrow", "tables", "writing .parquet files")
    frame.to_parquet(path, index=False)


def _write_excel(frame: DataFrame, path: Path) -> None:
    require("openpyxl", "tables", "writing .xlsx files")
    frame.to_excel(path, index=False)


_TABLE_WRITERS: dict[str, Callable[[DataFrame, Path], None]] = {
    ".csv": lambda frame, path: frame.to_csv(path, index=False, lineterminator="\n"),
    ".tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t", lineterminator="\n"),
    ".parquet": _write_parquet,
    ".xlsx": _write_excel,
    ".json": lambda frame, path: frame.to_json(
        path, orient="records", indent=1, force_ascii=False, double_precision=15
    ),
}


def write_codes(
    path: str | os.PathLike,
    ids: Sequence[str] | np.ndarray,
    codes: np.ndarray,
    names: Sequence[str] | np.ndarray,
    *,
    model: Any = None,
    source: str | os.PathLike | None = None,
    feature_names: Sequence[str] | np.ndarray | None = None,
) -> None:
    """Write the codes of samples by the ending of the file: .csv, .tsv, .parquet, .npz, .npy or .h5ad.

    Parameters
    ----------
    path : path
        The file; one that exists is replaced when the new one is complete. Tables have a column "id" and one a code;
        .npz has the arrays ``codes``, ``ids`` and ``names``; .npy the codes alone; .h5ad has the codes as
        ``obsm["X_laminar"]``, their names, the class of the model, its parameters as JSON and the version in
        ``uns["laminar"]``, and the components as ``varm["laminar_components"]``.
    ids : sequence of str of shape (n_samples,)
        Names of the samples.
    codes : ndarray of shape (n_samples, n_codes)
        The codes.
    names : sequence of str of shape (n_codes,)
        Names of the codes, all different.
    model : estimator or None, default=None
        The model, described in .h5ad files.
    source : path or None, default=None
        The .h5ad file of the samples: everything in it is kept in the new one. Used for .h5ad only.
    feature_names : sequence of str or None, default=None
        Names of the features of the model, by which components are matched with the variables of ``source``; None is
        ``model.feature_names_in_``, or the order of the variables if their number is right.

    See Also
    --------
    write_table : Write any table.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_codes(f"{folder}/codes.csv", ["anna", "ben"], np.array([[0.5, 0.0], [0.0, 1.0]]), ["h1", "h2"])
    ...     print(Path(folder, "codes.csv").read_text())
    id,h1,h2
    anna,0.5,0.0
    ben,0.0,1.0
    """
    path = Path(path)
    _check_ending(path, CODE_ENDINGS)
    ids, codes, names = np.asarray(ids, dtype=str), np.asarray(codes), np.asarray(names, dtype=str)
    _check_codes(ids, codes, names)
    ending = path.suffix.lower()
    if ending in TABLE_ENDINGS:
        write_table(path, _code_frame(ids, codes, names))
    elif ending == ".h5ad":
        _write_anndata(path, ids, codes, names, model, source, feature_names)
    else:
        with replacing(path) as partial, partial.open("wb") as file:
            if ending == ".npy":
                np.save(file, codes, allow_pickle=False)
            else:
                np.savez(file, codes=codes, ids=ids, names=names)


def _check_codes(ids: np.ndarray, codes: np.ndarray, names: np.ndarray) -> None:
    if codes.shape != (len(ids), len(names)):
        raise ValueError(f"codes have shape {codes.shape}, but there are {len(ids)} ids and {len(names)} names.")
    if len(set(names.tolist())) < len(names):
        raise ValueError("names of the codes must be different.")


def _code_frame(ids: np.ndarray, codes: np.ndarray, names: np.ndarray) -> DataFrame:
    import pandas as pd

    if "id" in names:
        raise ValueError('a code is called "id", which is the name of the column of samples: rename the code.')
    frame = pd.DataFrame(codes, columns=names.tolist())
    frame.insert(0, "id", ids.astype(object))
    return frame


# AnnData


def _write_anndata(
    path: Path,
    ids: np.ndarray,
    codes: np.ndarray,
    names: np.ndarray,
    model: Any,
    source: str | os.PathLike | None,
    feature_names: Any,
) -> None:
    anndata = require("anndata", "omics", "writing .h5ad files")
    import pandas as pd

    empty = anndata.AnnData(obs=pd.DataFrame(index=ids.astype(object)))
    data = empty if source is None else anndata.read_h5ad(source)
    data.obsm[CODES] = _rows_of(data.obs_names, ids, codes, source)
    components = _matched_components(model, data.var_names, feature_names)
    if components is not None:
        data.varm[COMPONENTS] = components
    data.uns["laminar"] = _facts(model, names)
    with replacing(path) as partial:
        data.write_h5ad(partial)


def _rows_of(obs_names: Any, ids: np.ndarray, codes: np.ndarray, source: Any) -> np.ndarray:
    """Return the codes in the order of the file; NaN where a sample has none."""
    rows = obs_names.get_indexer(ids)
    if np.any(rows < 0):
        absent = ids[rows < 0]
        raise ValueError(f"{source} has no sample {str(absent[0])!r} ({len(absent)} of {len(ids)} ids are not in it).")
    if len(ids) == len(obs_names):
        placed = np.empty_like(codes)
    else:
        placed = np.full((len(obs_names), codes.shape[1]), np.nan, dtype=codes.dtype)
    placed[rows] = codes
    return placed


def _matched_components(model: Any, var_names: Any, feature_names: Any) -> np.ndarray | None:
    """Return the components by variable (n_vars, k), NaN for variables the model lacks; None if unknown."""
    components = getattr(model, "components_", None)
    if not isinstance(components, np.ndarray) or components.ndim != 2 or not len(var_names):
        return None
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", var_names)
    if len(feature_names) != components.shape[1]:
        return None
    rows = var_names.get_indexer(list(feature_names))
    if np.any(rows < 0):
        return None
    placed = np.full((len(var_names), len(components)), np.nan, dtype=components.dtype)
    placed[rows] = components.T
    return placed


def _facts(model: Any, names: np.ndarray) -> dict[str, Any]:
    from laminar._utils import __version__

    facts: dict[str, Any] = {"version": __version__, "names": names.astype(object)}
    if model is not None:
        facts["class"] = type(model).__name__
        facts["parameters"] = json.dumps(model.get_params(deep=False), default=repr, sort_keys=True)
    return facts
