"""Journal: what was appended is there again, whatever happens while it is written."""

import errno
import os

import pytest

from laminar.studio.errors import Refused
from laminar.studio.journal import Journal


@pytest.fixture
def path(tmp_path):
    with Journal(tmp_path / "labels.journal") as journal:
        journal.append({"value": "anna"})
        journal.append({"value": "</script>\n\u2028"})
    return journal.path


def records(path):
    with Journal(path) as journal:
        return journal.records


def test_records_are_read_again(path):
    assert [record["value"] for record in records(path)] == ["anna", "</script>\n\u2028"]


@pytest.mark.parametrize("torn", [b'{"value":"b', b'{"value":"ben"}', b"\0\0\0", b"[1]\n", b"\xff\n"])
def test_torn_end_is_cut(path, torn):
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(torn)
    assert len(records(path)) == 2
    assert path.stat().st_size == size


def test_damage_inside_is_an_error(path):
    path.write_bytes(path.read_bytes().replace(b'"anna"}', b'"anna'))
    with pytest.raises(ValueError, match=r"line 1 of .* is damaged"):
        Journal(path)


def test_second_process_is_refused(path):
    with Journal(path), pytest.raises(Refused, match="open in another studio"):
        Journal(path)
    assert len(records(path)) == 2


@pytest.mark.parametrize("n_written", [0, 5])
def test_full_disk_leaves_no_trace(path, monkeypatch, n_written):
    before, write = path.read_bytes(), os.write

    def full(file, data):
        write(file, bytes(data[:n_written]))
        raise OSError(errno.ENOSPC, "No space left on device")

    with Journal(path) as journal:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            journal.append({"value": "carl"})
        monkeypatch.undo()
        assert path.read_bytes() == before
        journal.append({"value": "dora"})
    assert [record["value"] for record in records(path)][-2:] == ["</script>\n\u2028", "dora"]


def test_record_is_withdrawn(path):
    with Journal(path) as journal:
        journal.withdraw()
    assert records(path) == [{"value": "anna"}]
