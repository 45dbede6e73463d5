"""What the command prints: results on standard output, talk and progress on standard error, errors as one sentence."""

from __future__ import annotations

import errno
import json
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .progress import Progress

if TYPE_CHECKING:
    from rich.table import Table

FAILURE, USAGE = 1, 2  # exit codes: it could not be done, and what was requested is wrong


class Terminal:
    """Standard output and standard error of one call of the command.

    Parameters
    ----------
    quiet : bool, default=False
        Whether standard error has errors alone.
    as_json : bool, default=False
        Whether standard output has one JSON object, and nothing else.

    Examples
    --------
    >>> terminal = Terminal(as_json=True)
    >>> terminal.show("a table for people")
    >>> terminal.finish({"n_samples": 3})
    {"n_samples": 3}
    """

    def __init__(self, quiet: bool = False, as_json: bool = False):
        self.is_quiet, self.as_json = quiet, as_json
        self.written: list[Path] = []
        self.checkpoint: Path | None = None  # of the fit, if it is recorded
        self.progress = Progress(is_shown=not quiet)

    @property
    def verbose(self) -> int:
        """The parameter ``verbose`` of what the command calls."""
        return 0 if self.is_quiet else 1

    def inform(self, text: str) -> None:
        """Print a line of talk."""
        if not self.is_quiet:
            self.progress.hide()
            print(text, file=sys.stderr, flush=True)

    def show(self, result: str | Table) -> None:
        """Print a result for people."""
        if self.as_json:
            return
        self.progress.hide()
        if isinstance(result, str):
            print(result, flush=True)
        else:
            _print_table(result)

    def finish(self, facts: Mapping[str, Any]) -> None:
        """Print the result for machines, if it was requested."""
        if self.as_json:
            self.progress.hide()
            print(json.dumps(facts, default=_plain, allow_nan=False), flush=True)

    def wrote(self, path: Path) -> None:
        """Report a file that is complete."""
        self.written.append(path)
        self.inform(f"Wrote {path} ({size(path.stat().st_size)}).")


@contextmanager
def session(quiet: bool, as_json: bool, debug: bool) -> Iterator[Terminal]:
    """Yield the terminal of a command; errors in the block become one sentence and an exit code.

    Parameters
    ----------
    quiet, as_json, debug : bool
        Options of the command. With ``debug`` errors keep their traceback.

    Yields
    ------
    Terminal
        What the command prints on.
    """
    from laminar._utils.progress import shown_on

    terminal = Terminal(quiet, as_json)
    try:
        with _warnings_as_sentences(terminal), shown_on(terminal.progress):
            yield terminal
    except KeyboardInterrupt:
        fail(_stopped(terminal), FAILURE)
    except Exception as error:
        if debug:
            traceback.print_exc()
        if is_interrupt(error):
            fail(_stopped(terminal), FAILURE)
        fail(sentence(error), exit_code(error))
    finally:
        terminal.progress.hide()


def fail(text: str, code: int) -> NoReturn:
    """Print an error and exit."""
    print(f"Error: {text}", file=sys.stderr, flush=True)
    raise SystemExit(code) from None


def exit_code(error: Exception) -> int:
    """Return 2 where something wrong was requested, such as a name that does not exist, and 1 for all else.

    Examples
    --------
    >>> exit_code(ValueError("no such column")), exit_code(PermissionError()), exit_code(FileNotFoundError())
    (2, 1, 2)
    """
    from laminar._persistence.model_file import ModelFileError

    if isinstance(error, ModelFileError):
        return FAILURE
    return (
        USAGE
        if isinstance(error, ValueError | TypeError | FileNotFoundError | FileExistsError | IsADirectoryError)
        else FAILURE
    )


def sentence(error: Exception) -> str:
    r"""Return an error on one line, with what to do about it.

    Examples
    --------
    >>> sentence(ValueError("two\n  lines"))
    'two lines'
    >>> sentence(OSError(28, "No space left on device", "codes.csv"))
    'codes.csv: no space left on the disk. Free some, or write to another place with -o.'
    """
    if isinstance(error, OSError) and error.errno is not None:
        where = f"{error.filename}: " if error.filename else ""
        cures = {
            errno.ENOSPC: "no space left on the disk. Free some, or write to another place with -o.",
            errno.EACCES: "no permission. Change the permissions, or give another path.",
            errno.EPERM: "no permission. Change the permissions, or give another path.",
            errno.EROFS: "the disk is read-only. Write to another place with -o.",
            errno.EISDIR: "this is a folder, and a file is needed.",
            errno.ENOENT: "no such file or folder.",
        }
        return where + cures.get(error.errno, f"{error.strerror}.")
    if isinstance(error, MemoryError):
        return "not enough memory. Use fewer samples, smaller images (--size), or fewer components."
    text = " ".join(str(error).split())
    if isinstance(error, ValueError | TypeError | OSError | ImportError):
        return text or type(error).__name__
    return f"{type(error).__name__}: {text}. This should not happen: run it again with --debug to see where."


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is due to Ctrl-C: inside compiled code it arrives as the cause of a SystemError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _stopped(terminal: Terminal) -> str:
    if terminal.checkpoint is not None and terminal.checkpoint.exists():
        return f"stopped; the same call with --resume goes on from {terminal.checkpoint}."
    if not terminal.written:
        return "stopped; nothing was written, and files that were there are as they were."
    return f"stopped; already complete on disk: {', '.join(map(str, terminal.written))}."


@contextmanager
def _warnings_as_sentences(terminal: Terminal) -> Iterator[None]:
    def show(message, category, filename, lineno, file=None, line=None) -> None:
        terminal.inform(f"Note: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.showwarning = show
        yield


def _print_table(table: Table) -> None:
    from rich.console import Console

    # Without a terminal nothing is cut off: a file has no width.
    width = None if sys.stdout.isatty() else 10_000
    console = Console(width=width, soft_wrap=not sys.stdout.isatty(), highlight=False)
    if table.title:
        console.print(table.title)  # not above the table, where it would be wrapped to its width
        table.title = None
    console.print(table)


def _plain(value: Any) -> Any:
    """Return what JSON has for numpy's numbers, arrays and paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def size(n_bytes: float) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> size(900), size(1_536_000)
    ('900 bytes', '1.5 MB')
    """
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    for unit in ("kB", "MB", "GB"):
        n_bytes /= 1000
        if n_bytes < 1000 or unit == "GB":
            break
    return f"{n_bytes:.1f} {unit}"


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, text: Sequence[int] = (0,)) -> Table:
    """Return a table; columns of text are aligned to the left, those of numbers to the right.

    Examples
    --------
    >>> table("Layers", ["layer", "size"], [["0", "100"]]).row_count
    1
    """
    from rich import box
    from rich.table import Table as RichTable

    found = RichTable(title=title or None, title_justify="left", box=box.SIMPLE_HEAD)
    for i, name in enumerate(columns):
        found.add_column(name, justify="left" if i in text else "right", no_wrap=i == 0)
    for row in rows:
        found.add_row(*row)
    return found
