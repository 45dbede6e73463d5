"""Labels: what is reported as saved is in the CSV, through kills, full disks and other writers."""

import errno
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest

from laminar import Dataset
from laminar.io.labels import match_labels, read_labels
from laminar.studio.errors import Refused
from laminar.studio.labels import LabelFile


@pytest.fixture
def path(tmp_path):
    return tmp_path / "labels.csv"


@pytest.fixture
def labels(path, data):
    found = LabelFile(path, data)
    found.give(found.version, "pose", "left", ["s00", "s01"])
    found.give(found.version, "pose", "right", ["s02"])
    yield found
    found.close()


def again(labels):
    labels.close()
    return LabelFile(labels.path, labels.data)


# Values


def test_csv_is_that_of_fit(labels, data):
    matched = match_labels(data, read_labels(labels.path)).labels
    pandas.testing.assert_frame_equal(matched, labels.frame())


@pytest.mark.parametrize(
    "value", ["a,b", 'a "b" c', "</script><img src=x onerror=alert(1)>", "Zoë 名前", "-3", "007", "2.5", "a;b", "+"]
)
def test_values_survive_the_csv(labels, value):
    labels.give(labels.version, "pose", value, ["s03"])
    assert read_labels(labels.path).loc["s03", "pose"] == value
    assert labels.frame().loc["s03", "pose"] == value
    reopened = again(labels)
    assert reopened.columns["pose"]["s03"] == value
    reopened.close()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "has no name"),
        ("  ", "has no name"),
        ("nan", "unknown label"),
        ("?", "unknown label"),
        ("-1", "unknown label"),
        ("-1.0", "unknown label"),
        ("a\nb", "line break"),
        ("\ud800", "control character"),
        ("=1+1", "spreadsheets"),
        ("@x", "spreadsheets"),
        ("-x", "spreadsheets"),
        ("x" * 101, "101 characters"),
    ],
)
def test_values_are_refused(labels, value, why):
    before = labels.path.read_bytes(), labels.version
    with pytest.raises(Refused, match=why):
        labels.give(labels.version, "pose", value, ["s03"])
    assert (labels.path.read_bytes(), labels.version) == before


@pytest.mark.parametrize("name", ["", "a;b", "id", "File", "rest", "a\tb", "=x"])
def test_attributes_are_refused(labels, name):
    with pytest.raises(Refused):
        labels.give(labels.version, name, "left", ["s03"])


def test_unknown_samples_are_refused(labels):
    with pytest.raises(Refused, match="no sample is called 's99' \\(1 of 2 are unknown\\)"):
        labels.give(labels.version, "pose", "left", ["s03", "s99"])
    with pytest.raises(Refused, match="no sample is selected"):
        labels.give(labels.version, "pose", "left", [])


@pytest.mark.parametrize("ids", [["NA", "nan", "?"], ["a,b", 'c"d', "=e"], ["x/1", "y/1", "x/2"]])
def test_odd_names_of_samples_survive(path, ids):
    data = Dataset(np.eye(3), np.array(ids))
    labels = LabelFile(path, data)
    for i, name in enumerate(ids):
        labels.give(labels.version, "pose", f"p{i % 2}", [name])
    assert match_labels(data, read_labels(path)).labels["pose"].tolist() == ["p0", "p1", "p0"]
    labels.close()


def test_names_alike_are_refused(path):
    with pytest.raises(ValueError, match="cannot distinguish"):
        LabelFile(path, Dataset(np.eye(2), np.array(["a", " a"])))


# Undo and redo


def test_undo_and_redo_across_restarts(labels):
    before, after = None, labels.path.read_text()
    labels.undo(labels.version)
    before = labels.path.read_text()
    assert before == "id,pose\ns00,left\ns01,left\n"
    reopened = again(labels)
    reopened.redo(reopened.version)
    assert reopened.path.read_text() == after
    reopened.undo(reopened.version)
    reopened.undo(reopened.version)
    assert (reopened.path.read_text(), reopened.undoable) == ("id\n", None)
    with pytest.raises(Refused, match="nothing to undo"):
        reopened.undo(reopened.version)
    reopened.close()


def test_change_ends_redo(labels):
    labels.undo(labels.version)
    labels.give(labels.version, "light", "low", ["s09"])
    assert labels.redoable is None
    with pytest.raises(Refused, match="nothing to redo"):
        labels.redo(labels.version)


def test_label_is_replaced_and_removed(labels):
    labels.give(labels.version, "pose", "right", ["s00"])
    labels.give(labels.version, "pose", None, ["s01"])
    assert labels.columns == {"pose": {"s00": "right", "s02": "right"}}
    labels.undo(labels.version)
    assert labels.columns["pose"]["s01"] == "left"


def test_drawn_samples_are_recorded(labels):
    labels.give(labels.version, "pose", "right", ["s05", "s06"], drawn=["s06"])
    labels.give(labels.version, "pose", "right", ["s07"])
    assert (labels.drawn("pose"), labels.since_draw("pose")) == ({"s06"}, 1)
    labels.undo(labels.version)
    labels.undo(labels.version)
    assert labels.drawn("pose") == set()


# Starting


def test_first_labels_are_those_of_the_data(path, data):
    frame = pandas.DataFrame({"pose": ["left", "right", *[None] * 58]}, index=data.ids, dtype=object)
    labels = LabelFile(path, replace(data, labels=frame))
    assert path.read_text() == "id,pose\ns00,left\ns01,right\n"
    labels.close()


def test_csv_of_someone_else_is_gone_on_with(path, data):
    path.write_text("file,pose,room\ns01.png,left,\nelsewhere,right,7\n")
    labels = LabelFile(path, data)
    labels.give(labels.version, "pose", "right", ["s02"])
    assert path.read_text() == "id,pose,room\ns01,left,\ns02,right,\nelsewhere,right,7\n"
    labels.close()


@pytest.mark.parametrize("edit", ["id,pose\ns00,up\n", "id\n", "id,pose\ns00,left\ns01,left\n"])
def test_edits_between_runs_are_taken(labels, edit):
    labels.give(labels.version, "pose", "left", ["s04"])
    labels.close()
    labels.path.write_text(edit)
    reopened = LabelFile(labels.path, labels.data)
    assert reopened.path.read_text() == edit
    assert any("changed by another program" in note for note in reopened.notes)
    reopened.close()


def test_lost_csv_is_written_again(labels):
    text = labels.path.read_text()
    labels.close()
    labels.path.unlink()
    reopened = LabelFile(labels.path, labels.data)
    assert labels.path.read_text() == text
    reopened.close()


# Other writers


def test_stale_writer_is_refused(labels):
    seen = labels.version
    labels.give(seen, "pose", "up", ["s07"])
    for change in (lambda: labels.give(seen, "pose", "down", ["s07"]), lambda: labels.undo(seen)):
        with pytest.raises(Refused, match="changed since") as refusal:
            change()
        assert refusal.value.status == 409
    assert labels.columns["pose"]["s07"] == "up"


def test_edits_while_open_are_taken(labels):
    labels.path.write_text("id,pose\ns00,up\ns03,down\n")
    with pytest.raises(Refused, match="another program") as refusal:
        labels.give(labels.version, "pose", "left", ["s09"])
    assert refusal.value.status == 409
    labels.give(labels.version, "pose", "left", ["s09"])
    assert labels.path.read_text() == "id,pose\ns00,up\ns03,down\ns09,left\n"


# Killed, and out of space


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_full_disk_changes_nothing(labels, monkeypatch, step):
    before, version = labels.path.read_bytes(), labels.version

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    owner, name = {"write": (os, "write"), "fsync": (os, "fsync"), "replace": (Path, "replace")}[step]
    monkeypatch.setattr(owner, name, full)
    with pytest.raises(OSError, match="No space"):
        labels.give(version, "pose", "left", ["s08"])
    monkeypatch.undo()
    assert (labels.path.read_bytes(), labels.version) == (before, version)
    assert sorted(p.name for p in labels.path.parent.iterdir()) == ["labels.csv", "labels.journal"]
    labels.give(version, "pose", "left", ["s08"])
    reopened = again(labels)
    assert reopened.columns["pose"] == {"s00": "left", "s01": "left", "s02": "right", "s08": "left"}
    reopened.close()


KILLED = """
import sys
import numpy as np
from pathlib import Path
from laminar import Dataset
from laminar.studio.labels import LabelFile

labels = LabelFile(Path(sys.argv[1]), Dataset(np.eye(60), np.array([f"s{i:02d}" for i in range(60)])))
for turn in range(10_000):
    labels.give(labels.version, "pose", f"p{turn}", [f"s{turn % 60:02d}"])
    print(turn, flush=True)
"""


def test_killed_process_loses_nothing(path, data):
    n_shown = 41
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True) as process:
        for _ in range(n_shown):
            process.stdout.readline()
        process.kill()
        shown = n_shown + len(process.stdout.read().splitlines())
    labels = LabelFile(path, data)
    values = {int(value[1:]) for value in labels.columns["pose"].values()}
    assert set(range(max(0, shown - 60), shown)) <= values <= set(range(max(0, shown - 60), shown + 1))
    assert read_labels(path)["pose"].to_dict() == labels.columns["pose"]
    labels.close()


def test_kill_before_the_rename_is_repaired(labels):
    old = labels.path.read_bytes()
    labels.give(labels.version, "pose", "up", ["s05"])
    labels.close()
    labels.path.write_bytes(old)
    (labels.path.parent / ".labels-abcd1234.csv").write_text("id,po")
    reopened = LabelFile(labels.path, labels.data)
    assert reopened.columns["pose"]["s05"] == "up"
    assert read_labels(labels.path).loc["s05", "pose"] == "up"
    assert sorted(p.name for p in labels.path.parent.iterdir()) == ["labels.csv", "labels.journal"]
    reopened.close()


def test_unreadable_edits_are_refused(labels):
    labels.path.write_text("id,pose\ns00,left\ns00,right\n")
    with pytest.raises(Refused, match=r"Not saved: labels\.csv was changed by another program.*keep one") as refusal:
        labels.give(labels.version, "pose", "left", ["s09"])
    assert refusal.value.status == 409
    assert labels.path.read_text() == "id,pose\ns00,left\ns00,right\n"
