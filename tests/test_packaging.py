"""The distribution: its name in every message, extras that are used, one version, `python -m laminar`."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import laminar

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Where it is not the name of the distribution.
MODULES = {"scikit-image": "skimage", "opencv-python-headless": "cv2", "pillow": "PIL"}
FOLDERS = ("src", "tests", "benchmarks", "docs", ".ci")
TEXTS = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md", ".toml")]
TEXTS += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml", "Makefile")]


def _distribution(requirement: str) -> str:
    return re.match(r"[\w.-]+", requirement).group()


def _imported_in(module: str, folder: str) -> bool:
    used = re.compile(rf"^\s*(?:import|from) {module}\b|(?:require|importorskip)\(\s*\"{module}[\".]", re.MULTILINE)
    return any(used.search(path.read_text()) for path in (ROOT / folder).rglob("*.py"))


# Names


def test_distribution_name():
    assert PROJECT["name"] == "laminar-nmf"
    assert PROJECT["scripts"] == {"laminar": "laminar.cli:main"}


def test_extras_are_of_this_distribution():
    other = re.compile(r"(?<![\w.-])laminar" + r"\[\w")  # in two parts, so that it is not found here
    assert [str(path) for path in TEXTS if other.search(path.read_text())] == []


def test_extras_in_messages_exist():
    named = {
        extra
        for path in TEXTS
        for group in re.findall(r"laminar-nmf\[([\w,]+)\]", path.read_text())
        for extra in group.split(",")
    }
    named |= {
        extra
        for path in (ROOT / "src").rglob("*.py")
        for extra in re.findall(r'require\("[\w.]+", "(\w+)"', path.read_text())
    }
    assert len(named) > 3
    assert named <= set(EXTRAS)


# Extras


@pytest.mark.parametrize("extra", ["images", "video", "tables", "arrays", "omics", "plots", "studio"])
def test_extra_of_users_is_imported(extra):
    modules = {MODULES.get(_distribution(line), _distribution(line)) for line in EXTRAS[extra]}
    assert [module for module in modules if not _imported_in(module, "src/laminar")] == []


def test_extras_are_complete():
    of_users = {"images", "video", "tables", "arrays", "omics", "plots", "dask", "torch", "studio"}
    assert set(EXTRAS) == of_users | {"bench", "dev", "all"}


@pytest.mark.parametrize("extra", ["all", "dev"])
def test_torch_is_an_extra_of_its_own(extra):
    assert not [line for line in EXTRAS[extra] if "torch" in line]


# Version and module


def test_version_is_one():
    assert laminar.__version__ == PROJECT["version"]


def test_module_runs_the_command():
    run = subprocess.run([sys.executable, "-m", "laminar", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == f"laminar {laminar.__version__}"
