"""A small item of each paper, on stand-ins for its data."""

import pytest
from numpy.testing import assert_allclose

from laminar.experiments import ITEMS, Run, Skipped
from laminar.experiments.data import images, views
from laminar.experiments.page import section
from laminar.experiments.result import markdown_table, paired, table_of_rows
from laminar.experiments.trigeorgis.models import svd_error

SMALL = ("trigeorgis-table1", "trigeorgis-fig2", "xiao-table1", "zhao-table1")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run in small without data, whose results the tests share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMINAR_DATA", "")
        images.cache_clear()
        views.cache_clear()
        yield Run(tmp_path_factory.mktemp("cells"), quick=True)
    images.cache_clear()
    views.cache_clear()


@pytest.mark.parametrize("name", SMALL)
def test_item_in_small(name, run, tmp_path):
    result = ITEMS[name].make(run)
    assert "in place of" in result.title  # a stand-in says that it is one
    assert (result.cells["seconds"] >= 0).all()
    text = section(ITEMS[name], result, tmp_path)
    assert result.verdict in text
    for caption, table in result.tables:
        assert caption in text
        assert (table.map(len) > 0).any(axis=1).all()


def test_printed_numbers_only_beside_data_of_paper(run):
    result = ITEMS["xiao-table1"].make(run)
    _, table = result.tables[0]
    assert set(table["accuracy, printed"]) == {""}


def test_errors_are_not_below_bound(run):
    result = ITEMS["trigeorgis-table1"].make(run)
    errors = result.cells
    for k, part in errors.groupby("components"):
        bound = svd_error("pie_pose27", True, k)["error"]
        assert (part["error"] >= bound * (1 - 1e-9)).all()
        assert_allclose(part[part["method"] == "SVD"]["error"], bound)


def test_absent_data_are_a_reason(run):
    with pytest.raises(Skipped, match=r"coil20.npz"):
        images("coil20")


def test_paired_differences_are_of_equal_draws():
    import pandas as pd

    cells = pd.DataFrame({"method": list("aaabbb"), "seed": [0, 1, 2] * 2, "nmi": [0.1, 0.5, 0.9, 0.2, 0.6, 1.0]})
    said = paired(cells, "nmi", "method", "b", "a", ["seed"])
    assert said.startswith("b - a: +0.1 (nmi, 3 pairs)")
    assert "sign test p = 0.25" in said


def test_rows_of_a_table_keep_their_names():
    rows = {("a", 1): {"x": "ax", "y": "ay"}, ("b", 1): {"y": "by"}, ("c", 1): {"x": "cx", "y": "cy"}}
    table = table_of_rows(rows, ["name", "number"])
    assert table.to_dict("index") == {**rows, ("b", 1): {"x": "", "y": "by"}}


def test_markdown_keeps_columns():
    import pandas as pd

    table = pd.DataFrame({"a|b": ["1"]}, index=pd.Index(["x"], name="row"))
    assert r"| row | a\|b |" in markdown_table(table)
