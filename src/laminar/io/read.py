"""`read`: data of any supported kind, from a file, a folder, or several of them as views."""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from laminar.io._kinds import READERS, check_exists, kind_of, reader_class

if TYPE_CHECKING:
    from pandas import DataFrame

    from laminar.io.dataset import Dataset, Matrix, Scaling

PathLike: TypeAlias = str | os.PathLike
Paths: TypeAlias = PathLike | Sequence[PathLike] | Mapping[str, PathLike]


def read(
    path: Paths,
    *,
    labels: PathLike | DataFrame | None = None,
    kind: str | None = None,
    scale: str = "none",
    like: Dataset | None = None,
    skip_bad: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
    **options: Any,
) -> Dataset:
    r"""Read a data set from a file or a folder, or several as views of the same samples.

    Parameters
    ----------
    path : path, list of paths, or dict of paths
        A table (.csv .tsv .parquet .xlsx), arrays (.npy .npz .mat .h5 .zarr), AnnData (.h5ad), a video, or a folder of
        images, videos or texts. Of several, each is a view: rows are matched by the names of the samples. Views are
        named by the keys of a dict, or after the files.
    labels : path, DataFrame or None, default=None
        Labels of the samples by their names, see `read_labels` and `match_labels`.
    kind : {"images", "video", "frames", "texts", "table", "arrays", "anndata"} or None, default=None
        What the path holds; None is by ending, of a folder by most of its files. "frames" are images of a video.
    scale : {"none", "standard"}, default="none"
        "standard" subtracts the mean of each feature and divides by its standard deviation.
    like : Dataset or None, default=None
        Treat the files as those of this data set were: same size, columns, vocabulary, scaling. Its X may be None.
    skip_bad : bool, default=False
        Leave out files that cannot be read instead of raising an error.
    n_jobs : int or None, default=None
        Number of threads that read images; None is all cores.
    verbose : int, default=0
        Show progress on standard error if positive.
    **options
        Fields of the reader of this kind, such as ``size=32`` of `ImageReader`. With several views an option goes to
        every reader that has it; a dict by the names of the views gives each its own.

    Returns
    -------
    Dataset
        The samples; ``notes`` has a sentence for each decision that was made.

    See Also
    --------
    TableReader : Options of tables.
    ImageReader : Options of images.

    Examples
    --------
    >>> import tempfile
    >>> from laminar.io import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "flowers.csv"
    ...     _ = table.write_text("id,length,width,kind\na,1,2,rose\nb,3,4,iris\n")
    ...     data = read(table, label_columns=["kind"])
    >>> data.X, data.feature_names.tolist(), data.labels["kind"].tolist()
    (array([[1., 2.],
           [3., 4.]]), ['length', 'width'], ['rose', 'iris'])
    """
    if scale not in ("none", "standard"):
        raise ValueError(f"scale={scale!r} is not 'none' or 'standard'.")
    running = {"skip_bad": skip_bad, "n_jobs": n_jobs, "verbose": verbose}
    source = _unwrap(path)
    if like is not None:
        _check_nothing_else({"kind": kind, "scale": None if scale == "none" else scale, **options})
        data = _read_like(source, like, running)
    elif isinstance(source, Path):
        data = _reader(source, kind, options).read(source, **running)
    else:
        data = _read_views(source, kind, options, running)
    if labels is not None:
        data = _with_labels(data, labels)
    if like is not None:
        return data if like.scaling is None else _scaled(data, like.scaling)
    return _standardised(data) if scale == "standard" else data


# Paths


def _unwrap(path: Paths) -> Path | dict[str, Path]:
    """Return one path, or paths by the names of their views; all of them exist."""
    if isinstance(path, Mapping):
        found = {str(name): Path(each) for name, each in path.items()}
    elif isinstance(path, (str, os.PathLike)):
        if not os.fspath(path):
            raise ValueError("the path is empty: give a file or a folder, the present one as '.'.")
        check_exists(Path(path))
        return Path(path)
    elif not isinstance(path, Sequence):
        raise TypeError(f"path is {path!r}: give a path, or a list or a dict of paths, which are views.")
    else:
        every = [Path(each) for each in path]
        if len(every) == 1:
            return _unwrap(every[0])
        found = dict(zip(_view_names(every), every, strict=True))
    if not found:
        raise ValueError("no path was given: read needs a file or a folder, or several as views.")
    for each in found.values():
        check_exists(each)
    return found


def _view_names(paths: Sequence[Path]) -> list[str]:
    """Name views after their files; those of one name by their folders as well, or else by number."""
    for names in (
        [each.name.partition(".")[0] or each.resolve().name for each in paths],
        [each.name for each in paths],
        ["/".join(each.resolve().parts[-2:]) for each in paths],
    ):
        if len(set(names)) == len(names):
            return names
    seen: Counter[str] = Counter()
    numbered = []
    for each in paths:
        seen[each.name] += 1
        numbered.append(f"{each.name} {seen[each.name]}")
    return numbered


# Readers and their options


def _reader(path: Path, kind: str | None, options: Mapping[str, Any]) -> Any:
    kind = _kind(path, options) if kind is None else kind
    reader = reader_class(kind)
    options = {_own_name(name, kind): value for name, value in options.items()}
    for name in options:
        if name not in _option_names(kind):
            raise TypeError(_unknown_option(name, [kind]))
    return reader(**options)


def _kind(path: Path, options: Mapping[str, Any]) -> str:
    """Return what a path holds; a table of which a column of texts is named holds texts."""
    found = kind_of(path)
    return "texts" if found == "table" and "column" in options else found


def _own_name(option: str, kind: str) -> str:
    """Return the name of an option in the reader: labels are columns of tables, but arrays in files of arrays."""
    return "label_names" if (option, kind) == ("label_columns", "arrays") else option


def _option_names(kind: str) -> list[str]:
    return [field.name for field in fields(reader_class(kind))]


def _unknown_option(name: str, kinds: Sequence[str]) -> str:
    """Write what is wrong with an option: of other kinds only, or of none."""
    known = list(dict.fromkeys(option for kind in kinds for option in _user_options(kind)))
    nearest = difflib.get_close_matches(name, known, n=1)
    others = [kind for kind in READERS if kind not in kinds and name in _option_names(kind)]
    hint = f" Did you mean {nearest[0]}=?" if nearest else f" It is one of kind={others[0]!r}." if others else ""
    return f"{name}= is not an option of kind={' or '.join(map(repr, kinds))}.{hint} Options are {', '.join(known)}."


def _user_options(kind: str) -> list[str]:
    """Return the fields of a reader that are not found from the data."""
    return [field.name for field in fields(reader_class(kind)) if not field.metadata.get("from_data")]


# Views


def _read_views(paths: dict[str, Path], kind: Any, options: Mapping[str, Any], running: dict[str, Any]) -> Dataset:
    from laminar.io.views import ViewsReader

    views = list(paths)
    kinds = {view: _of_view(kind, view, views) or _kind(path, options) for view, path in paths.items()}
    for name in options:
        if not any(_own_name(name, each) in _option_names(each) for each in kinds.values()):
            raise TypeError(_unknown_option(name, sorted(set(kinds.values()))))
    readers = {
        view: _reader(path, kinds[view], _options_of_view(options, view, views, kinds[view]))
        for view, path in paths.items()
    }
    data = ViewsReader(readers).read(paths, **running)
    _check_labels_found(data, options, views)
    return data


def _options_of_view(options: Mapping[str, Any], view: str, views: list[str], kind: str) -> dict[str, Any]:
    known = _option_names(kind)
    mine = {_own_name(name, kind): _of_view(value, view, views) for name, value in options.items()}
    mine = {name: value for name, value in mine.items() if name in known and value is not None}
    if set(mine) & {"label_columns", "label_names", "drop"}:
        mine["labels_optional"] = True  # in one of the views is enough, see _check_labels_found
    return mine


def _check_labels_found(data: Dataset, options: Mapping[str, Any], views: list[str]) -> None:
    found = set() if data.labels is None else set(data.labels.columns)
    for option in ("label_columns", "label_names"):
        for view in views:
            names = _of_view(options.get(option), view, views) or ()
            absent = [name for name in ([names] if isinstance(names, str) else names) if name not in found]
            if absent:
                raise ValueError(f"none of the views {', '.join(views)} has {absent[0]!r} ({option}).")


def _of_view(value: Any, view: str, views: list[str]) -> Any:
    """Return the part of a view if the value is a dict by views, else the value."""
    if isinstance(value, Mapping) and value and set(value) <= set(views):
        return value.get(view)
    return value


# New data like old


def _check_nothing_else(options: Mapping[str, Any]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ValueError(
            f"{', '.join(f'{name}=' for name in given)} cannot be combined with like=: "
            "new files are read as those of the data set were."
        )


def _read_like(paths: Path | dict[str, Path], like: Dataset, running: dict[str, Any]) -> Dataset:
    if like.reader is None:
        raise ValueError("like= has no reader: it was not read from files. Give kind= and the options instead.")
    reader: Any = like.reader
    expected = list(getattr(reader, "readers", ()))  # names of the views of a ViewsReader
    given = len(paths) if isinstance(paths, dict) else 1
    if given != max(len(expected), 1):
        names = f" ({', '.join(expected)})" if expected else ""
        n_inputs = max(len(expected), 1)
        raise ValueError(f"the training data were read from {n_inputs} inputs{names}, and {given} are given here.")
    if expected and isinstance(paths, dict):
        # By name where the names are those of the views, otherwise in their order.
        if set(paths) != set(expected):
            paths = dict(zip(expected, paths.values(), strict=True))
        paths = {view: paths[view] for view in expected}
    return reader.read(paths, **running)


# Labels and scaling


def _with_labels(data: Dataset, labels: Any) -> Dataset:
    from laminar.io.labels import match_labels, read_labels

    if isinstance(labels, (str, os.PathLike)):
        check_exists(Path(labels))
        labels = read_labels(labels)
    return match_labels(data, labels)


def _scaling_of(data: Dataset) -> Scaling | dict[str, Scaling]:
    from laminar.io.dataset import Scaling

    if not data.has_views:
        return Scaling.of(data.views()["X"])
    # Sparse views stay as they are, as do the NaN of samples that lack a view.
    return {
        view: Scaling.of(X if data.observed is None else X[data.observed[:, v]])
        for v, (view, X) in enumerate(data.views().items())
        if not _is_sparse(X)
    }


def _standardised(data: Dataset) -> Dataset:
    from laminar.io.tables import SCALE_PROPOSAL

    others = (note for note in data.notes if not note.endswith(SCALE_PROPOSAL))
    notes = (*others, "features standardised to mean 0 and standard deviation 1.")
    return _scaled(replace(data, notes=notes), _scaling_of(data))


def _scaled(data: Dataset, scaling: Any) -> Dataset:
    if not isinstance(scaling, dict):
        return replace(data, X=scaling.apply(data.X), scaling=scaling)
    X: dict[str, Matrix] = {
        view: scaling[view].apply(part) if view in scaling else part for view, part in data.views().items()
    }
    return replace(data, X=X, scaling=scaling)


def _is_sparse(X: Matrix) -> bool:
    from scipy.sparse import issparse

    return issparse(X)
