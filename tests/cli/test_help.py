"""Help of every command: examples run as they are printed, options have a text, it starts fast."""

import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request

import pytest

from laminar.cli.app import COMMANDS, build_app

NAMES = [command.__name__ for command in COMMANDS]
FIRST = ("datasets", "fit", "transform", "cluster", "evaluate")  # later ones use the files of earlier ones
OWN_TESTS = {"demo"}  # the longest: test_app.py runs it on small faces, test_demo.py its parts


@pytest.fixture(scope="module")
def helps(laminar, tmp_path_factory):
    folder = tmp_path_factory.mktemp("help")
    return {name: laminar(*([name] if name else []), "--help", cwd=folder).stdout for name in ["", *NAMES]}


def examples(text):
    """The commands below "Examples:", without their first word."""
    block = text.split("Examples:\n")[1].split("\n\n")[0]
    return [shlex.split(line)[1:] for line in block.splitlines() if line.strip().startswith("laminar ")]


def run_until_served(*arguments, cwd):
    """Start a command that serves a page, read the page at the address it prints, and stop it as Ctrl-C does."""
    pytest.importorskip("uvicorn", reason='needs uvicorn: pip install "laminar-nmf[studio]"')
    command = [sys.executable, "-m", "laminar", *arguments]
    with subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, text=True, env={**os.environ, "BROWSER": "true"}
    ) as process:
        address = process.stdout.readline().split()[-1]
        with urllib.request.urlopen(address) as page:
            assert b"<title>faces" in page.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_every_command_has_examples(helps):
    assert [name for name, text in helps.items() if not examples(text)] == []


def test_examples_run_as_printed(helps, laminar, tmp_path):
    pytest.importorskip("PIL", reason='needs pillow: pip install "laminar-nmf[images]"')
    pytest.importorskip("matplotlib", reason='needs matplotlib: pip install "laminar-nmf[plots]"')
    laminar("datasets", "faces", "-o", ".", "--force", cwd=tmp_path)
    laminar("datasets", "wine", "-o", "cellar", cwd=tmp_path)
    (tmp_path / "cellar" / "wine.csv").rename(tmp_path / "wine.csv")
    order = sorted(NAMES, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))
    for name in [name for name in order if name not in OWN_TESTS]:
        run = run_until_served if name == "studio" else laminar
        for arguments in examples(helps[name]):
            run(*arguments, "--quiet", cwd=tmp_path)


def test_main_examples_are_those_of_commands(helps):
    own = {tuple(arguments) for name in NAMES for arguments in examples(helps[name])}
    assert {tuple(arguments) for arguments in examples(helps[""])} <= own


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_a_text(helps, name):
    options = helps[name].split("Options:\n")[1]
    for entry in re.split(r"\n  (?=-)", "\n" + options.rstrip())[1:]:
        assert re.search(r"(\s{2,}|\n\s+)[A-Z0-9a-z].{8}", entry), entry


def test_help_imports_nothing_heavy():
    heavy = ("sklearn", "scipy", "pandas", "numba", "rich.table", "PIL", "cv2", "h5py", "anndata", "safetensors")
    code = "import sys; from laminar.cli.app import build_app; build_app()"
    code += f"; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_completion_is_offered(helps):
    assert "--install-completion" in helps[""]


def test_application_has_all_commands():
    assert [command.callback.__name__ for command in build_app().registered_commands] == NAMES
