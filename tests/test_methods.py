"""docs/methods.md: sections cited in the code exist, its table of equations is complete, and its paths exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")

LAST_EQUATION = {"11.1": 26, "11.2": 25, "11.3": 30, "11.4": 13, "11.5": 15}
ALGORITHMS = {"11.1": 2, "11.2": 2, "11.5": 1}

HEADINGS = set(re.findall(r"^#{2,3} (\d+(?:\.\d+)?)\.? ", PAGE, re.M))
CITATION = re.compile(r"methods\.md\s+(\d+(?:\.\d+)?(?:(?:,\s*|\s+and\s+)\d+(?:\.\d+)?)*)")


def _rows(section: str) -> list[list[str]]:
    """Cells of the table of one paper, without its two head rows."""
    text = re.search(rf"^### {re.escape(section)} .*?(?=^##)", PAGE, re.M | re.S).group()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    # A formula may hold a bar; it stands in backticks.
    return [re.split(r"(?<!\|)\|(?!\|)", line.strip("|")) for line in lines[2:]]


def _equations(cell: str) -> list[int]:
    """``"5, 6"`` and ``"7-9"`` as numbers; none of a row without a number."""
    found: list[int] = []
    for part in cell.strip().split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if match is None:
            return []
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return found


def _paths() -> list[str]:
    cells = [row[-1] for section in (*LAST_EQUATION, "11.6") for row in _rows(section)]
    return sorted({path for cell in cells for path in re.findall(r"`(laminar(?:\.\w+)+)`", cell)})


def _resolve(path: str) -> object:
    """Import as much of a dotted path as is a module, and get the rest."""
    names = path.split(".")
    found, rest = import_module(names[0]), names[1:]
    for i, name in enumerate(rest, start=2):
        try:
            found = getattr(found, name)
        except AttributeError:
            found = import_module(".".join(names[:i]))
    return found


def test_paths_can_be_imported():
    assert [path for path in _paths() if _resolve(path) is None] == []


@pytest.mark.parametrize("section", LAST_EQUATION)
def test_every_equation_is_listed_once(section):
    listed = [number for row in _rows(section) for number in _equations(row[0])]
    assert listed == list(range(1, LAST_EQUATION[section] + 1))


@pytest.mark.parametrize("section", ALGORITHMS)
def test_every_algorithm_is_listed(section):
    listed = {row[0].strip() for row in _rows(section)}
    assert {f"Algorithm {i + 1}" for i in range(ALGORITHMS[section])} <= listed


@pytest.mark.parametrize("section", LAST_EQUATION)
def test_row_names_path_or_reason(section):
    for number, what, where in _rows(section):
        assert what.strip(), number
        assert "`laminar." in where or len(where.split()) >= 2, number


def test_cited_sections_exist():
    missing = [f"11.6: {n}" for row in _rows("11.6") for n in row[0].replace(" ", "").split(",") if n not in HEADINGS]
    for folder in ("src", "tests", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for cited in CITATION.findall(path.read_text(encoding="utf-8")):
                numbers = re.findall(r"\d+(?:\.\d+)?", cited)
                missing += [f"{path.relative_to(ROOT)}: {n}" for n in numbers if n not in HEADINGS]
    assert not missing


def test_cited_errata_exist():
    table = PAGE[PAGE.index("## 12. Errata") :]
    known = set(re.findall(r"^\| (\w+-\d+) ", table, re.M))
    assert set(re.findall(r"\b(?:Tri|Zha|Xia|Zaf)-\d+", PAGE)) <= known
