"""CONTRIBUTING.md is followed to the letter: its files are written to a copy of the package, its commands are run."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
EXAMPLES = ["signed", "labelled_slow"]
MOST_LINES = 60  # of code in a file


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.S)


def files():
    """``path, text`` of every file in the guide, in its order; the first line of each is the path."""
    for block in blocks("python"):
        first, text = block.split("\n", 1)
        yield first.removeprefix("# "), text


def code_lines(text):
    """Lines without docstrings, comments and blanks."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            text = text.replace(ast.get_source_segment(text, node.body[0].value), "")
    return [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package, with what the guide adds to it."""
    folder = tmp_path_factory.mktemp("contributing")
    for part in ("src/laminar", "tests", "benchmarks"):
        shutil.copytree(ROOT / part, folder / part)  # compiled kernels too, which keep their times
    shutil.copy2(ROOT / "pyproject.toml", folder)
    for path, text in files():
        if path.endswith(".pyi"):  # one line more
            text = (folder / path).read_text() + text
        (folder / path).write_text(text)
    return folder


def commands():
    return [line for block in blocks("console") for line in block.splitlines()]


def test_guide_has_both_examples():
    paths = [path for path, _ in files()]
    assert paths == [f for name in EXAMPLES for f in (f"src/laminar/nmf/{name}.py", "src/laminar/__init__.pyi")]
    assert len(commands()) >= 7


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_short(name):
    (text,) = [text for path, text in files() if path.endswith(f"{name}.py")]
    assert len(code_lines(text)) < MOST_LINES


@pytest.mark.parametrize("command", dict.fromkeys(commands()))
def test_command_succeeds(command, copy):
    program, *arguments = shlex.split(command)
    assert program == "pytest"
    paths = [str(copy / "src"), str(copy)]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"\b[1-9]\d* passed", run.stdout)
