"""Cells are computed once and kept: whatever stops a run, what was computed is not computed again."""

import pytest

from laminar import NMF
from laminar.experiments import Run, data
from laminar.experiments.cells import Cell, Kept, work_version
from laminar.experiments.trigeorgis.models import fitted

COUNT = []


def counted(x):
    COUNT.append(x)
    return {"square": x * x}


def failing(x):
    if x == 2:
        raise KeyboardInterrupt
    return counted(x)


@pytest.fixture(autouse=True)
def none_counted():
    COUNT.clear()


def cells(work=counted, n=4):
    return [Cell({"x": x}, work, (x,)) for x in range(n)]


def test_rows_have_names_scores_and_seconds():
    found = Run().cells("squares", cells())
    assert list(found.columns) == ["x", "square", "seconds"]
    assert found["square"].tolist() == [0, 1, 4, 9]


def test_known_cells_are_not_computed(tmp_path):
    first = Run(tmp_path).cells("squares", cells())
    again = Run(tmp_path).cells("squares", cells(n=5))
    assert COUNT == [0, 1, 2, 3, 4]
    assert again[:4].equals(first)


def test_interrupted_run_keeps_results(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        Run(tmp_path).cells("squares", cells(failing))
    assert COUNT == [0, 1]
    with pytest.raises(KeyboardInterrupt):
        Run(tmp_path).cells("squares", cells(failing))
    assert COUNT == [0, 1]


def fitted_in_place(model):
    return counted(model.set_params(random_state=7).random_state)


def test_work_may_change_its_arguments(tmp_path):
    for _ in range(2):
        Run(tmp_path).cells("models", [Cell({}, fitted_in_place, (NMF(2),))])
    assert COUNT == [7]


def test_cut_off_file_is_computed_again(tmp_path):
    Run(tmp_path).cells("squares", cells(n=1))
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text()[:10])
    assert Run(tmp_path).cells("squares", cells(n=1))["square"].tolist() == [0]
    assert COUNT == [0, 0]


@pytest.mark.parametrize(
    "other", [NMF(3), NMF(2, max_iter=7), NMF(2, random_state=1)], ids=["components", "iterations", "seed"]
)
def test_key_depends_on_settings(other):
    assert Cell({}, counted, (NMF(2),)).key == Cell({}, counted, (NMF(2),)).key
    assert Cell({}, counted, (NMF(2),)).key != Cell({}, counted, (other,)).key


def test_key_depends_on_data(tmp_path, monkeypatch):
    keys = set()
    for content in (b"", b"other"):
        folder = tmp_path / str(len(content))
        (folder / "orl").mkdir(parents=True)
        (folder / "orl" / "1.png").write_bytes(content)  # folders of images too
        monkeypatch.setenv("LAMINAR_DATA", str(folder))
        keys.add(Cell({}, counted, (1,)).key)
    assert len(keys) == 2


def test_key_depends_on_what_work_uses(monkeypatch):
    before = work_version.__wrapped__(fitted)
    assert work_version.__wrapped__(fitted) == before
    monkeypatch.setitem(data.STAND_INS, "orl", (2, 2, 2))  # a constant of a function that it calls
    assert work_version.__wrapped__(fitted) != before


def test_nothing_is_kept_without_folder():
    Run().cells("squares", cells(n=1))
    Run().cells("squares", cells(n=1))
    assert COUNT == [0, 0]


def test_unknown_cell_has_no_scores(tmp_path):
    assert Kept(tmp_path / "absent").get(cells()[0]) is None
