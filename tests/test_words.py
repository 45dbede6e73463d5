"""Words that docstrings, comments and identifiers of the package do without, and what to say instead."""

import ast
import io
import re
import tokenize
from pathlib import Path

import laminar

ROOT = Path(laminar.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# A pattern of whole words, in lower case: what to say. From the words of the optimisation literature.
INSTEAD = {
    r"leaps?|leaping": "extrapolation",
    r"stiffness": "row_curvature",
    r"leans?|leaning": "column_weights",
    r"pulls?|pulled": "penalty, majoriser",
    r"thinned|thinning": "subsample",
    r"told|tells?|heard": "given, reported",
    r"at rest|quiet|stubborn": "stationary, converged",
    r"taken back": "restarted",
    r"turning": "rotation",
    r"silent|dead|live|lives": "zero component, nonzero",
    r"careful": "the name of the method",
    r"weighs?|weighed|weighing": "evaluate, weight",
    r"wish|wished|wants?": "given",
    r"speaks?|says?|said|asks?|asked|knows?": "is, has, requires",
    r"nobody|somebody|everybody": "no sample, no view",
    r"looks?|looked|looking": "evaluate, read",
    r"settles?|settled": "converge",
}
# File, word: where a word is the exact one.
COMMANDS = (
    *("cluster", "datasets", "demo", "evaluate", "fit", "info"),
    *("models", "report", "reproduce", "select", "studio", "transform"),
)
ALLOWED = {(f"cli/{name}.py", "quiet") for name in ("options", "terminal", *(f"commands/{name}" for name in COMMANDS))}
# Methods that are told labels.
ALLOWED |= {(f"experiments/{name}.py", "told") for name in ("trigeorgis/attributes", "xiao/tables")}


def texts(path):
    """Yield line and text of the docstrings, comments and identifiers of a file."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        # A string that is a statement of its own documents what it follows.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from enumerate(node.value.value.splitlines(), start=node.lineno)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
        elif token.type == tokenize.NAME:
            yield token.start[0], words_of(token.string)


def words_of(name):
    """Split an identifier at underscores and at capitals."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", name)


def findings(path):
    name = path.relative_to(ROOT).as_posix()
    for line, text in texts(path):
        for pattern, instead in INSTEAD.items():
            for found in re.findall(rf"\b(?:{pattern})\b", text.lower()):
                if (name, found) not in ALLOWED:
                    yield f'{name}:{line}: "{found}"; say {instead}'


def test_words_are_of_the_literature():
    assert sorted({found for path in FILES for found in findings(path)}) == []


def test_identifiers_are_split():
    assert words_of("_max_leap") == " max leap"
    assert words_of("CarefulUpdate") == "Careful Update"


def test_exceptions_are_needed():
    found = {
        (path.relative_to(ROOT).as_posix(), word)
        for path in FILES
        for _, text in texts(path)
        for pattern in INSTEAD
        for word in re.findall(rf"\b(?:{pattern})\b", text.lower())
    }
    assert found >= ALLOWED
