"""Pages of docs/ and the README: the first example of each runs, links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = {page.name: found for page in PAGES if (found := re.search(r"```python\n(.*?)```", page.read_text(), re.S))}
WITHOUT_EXAMPLE = {"architecture.md", "methods.md", "multiview-scores.md", "reproduction.md"}  # mathematics, tables


NEEDS = {"accelerators.md": "torch"}  # in no extra that tests are run with


@pytest.mark.parametrize("page", EXAMPLES)
def test_first_example_runs(page):
    if page in NEEDS:
        pytest.importorskip(NEEDS[page], reason=f"{NEEDS[page]} is not installed")
    exec(EXAMPLES[page].group(1), {})


def test_every_page_has_an_example():
    assert {page.name for page in PAGES} - set(EXAMPLES) == WITHOUT_EXAMPLE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []
