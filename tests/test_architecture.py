"""docs/architecture.md: its picture is that of the source tree, and the files and names in it exist."""

import re
from pathlib import Path

from benchmarks import package_picture

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
PATHS = sorted(set(re.findall(r"`((?:_\w+|\w+)/[\w/]*(?:\.py)?)`", PAGE)))
SOURCE = "\n".join(path.read_text() for path in (ROOT / "src" / "laminar").rglob("*.py"))
NAMES = sorted(set(re.findall(r"`(_?[A-Za-z]\w+)`", PAGE)))


def test_picture_is_current():
    assert package_picture.PICTURE.read_text() == package_picture.current()


def test_paths_exist():
    assert len(PATHS) > 20
    assert [path for path in PATHS if not any((top / path).exists() for top in (ROOT / "src" / "laminar", ROOT))] == []


def test_names_are_defined():
    assert len(NAMES) > 20
    defined = re.compile(r"(?:def|class|as) (\w+)\b|^\s*(\w+)\s*[:=]", re.MULTILINE)
    assert set(NAMES) - {name for pair in defined.findall(SOURCE) for name in pair} == set()
