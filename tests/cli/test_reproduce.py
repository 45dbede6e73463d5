"""`laminar reproduce`: the list, an item, the page of all items, and items that cannot be computed here."""

import json
import sys
from unittest import mock

import pytest

from laminar.cli.app import main
from laminar.experiments import ITEMS, Run, Skipped
from laminar.experiments.cells import Cell
from laminar.experiments.item import Item
from laminar.experiments.result import Result


def square(x):
    return {"square": x * x}


def squares(run: Run) -> Result:
    found = run.cells("squares", [Cell({"x": x}, square, (x,)) for x in run.seeds(4)])
    table = found[["square"]].map("{:.0f}".format).set_axis(found["x"], axis=0)
    return Result("Squares", found, [("Of small numbers", table)], f"the largest is {found['square'].max():.0f}.")


def absent(run: Run) -> Result:
    raise Skipped("the numbers are not on disk: put numbers.npz there")


@pytest.fixture
def two_items(monkeypatch):
    """Two items in place of those of the papers: one that is computed and one that is skipped."""
    for name in list(ITEMS):
        monkeypatch.delitem(ITEMS, name)
    for item in (Item("lee-table1", "Squares are large.", squares), Item("lee-table2", "So are others.", absent)):
        monkeypatch.setitem(ITEMS, item.name, item)


def command(*arguments):
    with (
        mock.patch.object(sys, "argv", ["laminar", "reproduce", *map(str, arguments)]),
        pytest.raises(SystemExit) as end,
    ):
        main()
    return end.value.code


def test_list_has_every_item(laminar, tmp_path):
    found = json.loads(laminar("reproduce", "--json", cwd=tmp_path).stdout)["items"]
    assert list(found) == sorted(ITEMS)
    assert all(claim.endswith((".", "?")) for claim in found.values())


def test_unknown_item_names_the_known_ones(laminar, tmp_path):
    error = laminar("reproduce", "lee-table9", cwd=tmp_path, code=2).stderr
    assert "no item 'lee-table9'" in error
    assert "xiao-table1" in error


def test_page_has_what_was_found_and_what_was_skipped(two_items, tmp_path, capsys):
    assert not command("all", "--quick", "-o", tmp_path, "--jobs", 1)
    assert "lee-table2: skipped. the numbers are not on disk" in capsys.readouterr().err
    page = (tmp_path / "reproduction.md").read_text()
    assert "| [lee-table1](#lee-table1) | Squares are large. | the largest is 1. |" in page
    assert "| lee-table2 | So are others. | skipped: the numbers are not on disk: put numbers.npz there |" in page
    assert "In small" in page
    assert "| 1 | 1 |" in page.partition("Of small numbers")[2]
    assert (tmp_path / "reproduction" / "lee-table1.csv").read_text().startswith("x,square,seconds\n0,0.0,")
    assert "**Found.** the largest is 1." in (tmp_path / "reproduction" / "lee-table1.md").read_text()


def test_an_item_that_fails_does_not_cost_the_others(two_items, monkeypatch, tmp_path, capsys):
    def broken(run: Run) -> Result:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setitem(ITEMS, "lee-fig1", Item("lee-fig1", "It is drawn.", broken))
    assert command("all", "--quick", "-o", tmp_path, "--jobs", 1) == 1
    assert "lee-fig1 failed, and the page is without them" in capsys.readouterr().err
    assert "the largest is 1." in (tmp_path / "reproduction.md").read_text()


def test_whole_run_is_not_called_small(two_items, tmp_path):
    assert not command("lee-table1", "-o", tmp_path, "--jobs", 1)
    assert not (tmp_path / "reproduction.md").exists()  # the page is of all items
    assert not command("all", "-o", tmp_path, "--jobs", 1)
    page = (tmp_path / "reproduction.md").read_text()
    assert "In small" not in page
    assert "the largest is 9." in page


@pytest.mark.slow
def test_all_in_small_without_data(laminar, tmp_path):
    laminar("reproduce", "all", "--quick", cwd=tmp_path, timeout=3600, LAMINAR_DATA="")
    page = (tmp_path / "reproduction.md").read_text()
    assert all(name in page for name in ITEMS)
