"""The safetensors container: what is written is read, by others too; writing is atomic; strange files are refused."""

import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from _persistence.forge import joined
from laminar._persistence import safetensors_file
from laminar._persistence.errors import ModelFileError
from laminar._persistence.safetensors_file import TYPES, has_valid_checksum, read, write

TENSORS = {
    "layers_.0.components": np.arange(6.0).reshape(2, 3),
    "counts": np.arange(4, dtype=np.int8),
    "flags": np.array([True, False]),
    "none": np.empty((0, 3), np.float32),
    "one": np.array(2.5),
}


@pytest.fixture
def file(tmp_path):
    write(tmp_path / "model.laminar", TENSORS, {"format": "test", "note": 'é "quoted"'})
    return tmp_path / "model.laminar"


# --------------------------------------------------------------------------------------------------------- round trip


def test_arrays_and_text_are_read(file):
    header, arrays, is_intact = read(file)
    assert is_intact
    assert header.metadata["note"] == 'é "quoted"'
    assert set(arrays) == set(TENSORS)
    for name, array in TENSORS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        assert arrays[name].flags.writeable
        assert arrays[name].flags.aligned


def test_safetensors_reads_the_file(file):
    from safetensors.numpy import load_file

    for name, array in load_file(file).items():
        np.testing.assert_array_equal(array, TENSORS[name])


@pytest.mark.parametrize("dtype", TYPES.values())
def test_every_type_is_stored(dtype, tmp_path):
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    write(tmp_path / "x", {"a": array}, {})
    header, arrays, is_intact = read(tmp_path / "x")
    assert is_intact
    assert arrays["a"].dtype == dtype
    np.testing.assert_array_equal(arrays["a"], array)
    assert has_valid_checksum(tmp_path / "x", header)


@pytest.mark.parametrize("dtype", ["complex128", "datetime64[s]", "longdouble"])
def test_other_types_are_refused(dtype, tmp_path):
    with pytest.raises(TypeError, match=r"array of type .* cannot be stored"):
        write(tmp_path / "x", {"a": np.zeros(2, dtype)}, {})
    assert list(tmp_path.iterdir()) == []


def test_checksum_covers_every_byte(file):
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    for place in range(8 + length, len(data)):
        changed = bytearray(data)
        changed[place] ^= 1
        file.write_bytes(changed)
        header = read(file)[0]
        assert not read(file)[2]
        assert not has_valid_checksum(file, header)


# ------------------------------------------------------------------------------------------------------------- writing


def test_failed_write_leaves_the_old_file(file, monkeypatch):
    def fails(tensors, path, metadata):
        path.write_bytes(b"half")
        raise OSError("no space left on device")

    before = file.read_bytes()
    monkeypatch.setattr("safetensors.numpy.save_file", fails)
    with pytest.raises(OSError, match="no space"):
        write(file, TENSORS, {})
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_killed_write_leaves_the_old_file(file):
    before = file.read_bytes()
    program = f"""
        import os, signal
        import numpy as np
        import safetensors.numpy
        from laminar._persistence.safetensors_file import write

        def killed(tensors, path, metadata):
            path.write_bytes(b"half")
            os.kill(os.getpid(), signal.SIGKILL)

        safetensors.numpy.save_file = killed
        write({str(file)!r}, {{"a": np.zeros(3)}}, {{}})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], timeout=60)
    assert done.returncode == -9
    assert file.read_bytes() == before
    assert read(file)[2]


def test_folder_is_not_replaced(tmp_path):
    with pytest.raises(
        IsADirectoryError, match=r"is a folder: give the name of a file in it, such as .*model\.laminar"
    ):
        write(tmp_path, TENSORS, {})
    with pytest.raises(FileNotFoundError, match="folder that does not exist: create"):
        write(tmp_path / "no" / "x.laminar", TENSORS, {})


def test_header_that_is_too_large_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(safetensors_file, "MAX_HEADER", 1000)
    with pytest.raises(ValueError, match=r"would have a header of .* more than the .* format allows"):
        write(tmp_path / "x", {}, {"note": "x" * 1000})
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------------------- reading


def entry(**changes):
    return {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]} | changes


def header(**entries):
    import json

    return json.dumps({"__metadata__": {"format": "test"}} | entries)


BODY = bytes(16)
REFUSED = {
    "empty": (b"", "is empty"),
    "text": (b"hello, world, this is no model", "not a model file of Laminar: it has no safetensors header"),
    "pickle": (pickle.dumps({"a": np.zeros(9)}), "not a model file of Laminar: it has no safetensors header"),
    "header longer than file": ((50).to_bytes(8, "little") + b"{}", "is truncated: the header has 50 bytes"),
    "huge header": ((2**60).to_bytes(8, "little") + b"{}", "not a model file of Laminar"),
    "no JSON": (joined("{nothing}", BODY), "header is not valid"),
    "a list": (joined("{}]", BODY), "header is not valid"),
    "not UTF-8": (joined(b'{"\xff": 1}', BODY), "header is not valid"),
    "same name twice": (joined('{"a": 1, "a": 2}', BODY), "the key 'a' is there twice"),
    "deep": (joined('{"a": ' + "[" * 10**5, BODY), "nested 100001 deep"),
    "deep in text": (joined('{"a": "' + "[" * 100 + '", "b": NaN}', BODY), "NaN is no JSON"),
    "infinite": (joined('{"a": 1e999}', BODY), "1e999 is out of range"),
    "many digits": (joined('{"a": ' + "9" * 5000 + "}", BODY), "header is not valid"),
    "no dtype": (joined(header(a={"shape": [2]}), BODY), "'a' has no dtype, shape and data_offsets"),
    "more keys": (joined(header(a=entry(more=1)), BODY), "'a' has no dtype, shape and data_offsets alone"),
    "text for shape": (joined(header(a=entry(shape="2")), BODY), "shape or data_offsets of 'a' are not valid"),
    "negative size": (joined(header(a=entry(shape=[-2])), BODY), "shape or data_offsets of 'a' are not valid"),
    "half a size": (joined(header(a=entry(shape=[2.0])), BODY), "shape or data_offsets of 'a' are not valid"),
    "true for a size": (joined(header(a=entry(shape=[2, True])), BODY), "data_offsets of 'a' are not valid"),
    "three offsets": (joined(header(a=entry(data_offsets=[0, 8, 16])), BODY), "data_offsets of 'a' are not valid"),
    "offsets reversed": (joined(header(a=entry(data_offsets=[16, 0])), BODY), "'a' of shape"),
    "huge shape": (joined(header(a=entry(shape=[2**40, 2**40])), BODY), "'a' of shape .* has 16 bytes"),
    "huge and none": (joined(header(a=entry(shape=[2**47, 2**47, 0], data_offsets=[0, 0])), b""), "is damaged"),
    "huge offsets": (joined(header(a=entry(shape=[2**40], data_offsets=[0, 2**43])), BODY), "is truncated: its arrays"),
    "wrong shape": (joined(header(a=entry(shape=[3])), BODY), r"'a' of shape \(3,\) and type F64 has 16 bytes"),
    "gap": (joined(header(a=entry(data_offsets=[8, 24])), bytes(24)), "overlap others, or leave a gap"),
    "overlap": (joined(header(a=entry(), b=entry(data_offsets=[8, 24])), bytes(24)), "'b' overlap others"),
    "same bytes": (joined(header(a=entry(), b=entry()), BODY), "overlap others"),
    "more bytes": (joined(header(a=entry()), bytes(20)), "is damaged: 4 bytes at the end belong to no array"),
    "complex": (joined(header(a=entry(dtype="C64")), BODY), "arrays of type 'C64', which Laminar does not write"),
    "bfloat": (joined(header(a=entry(dtype="BF16", shape=[8])), BODY), "arrays of type 'BF16'"),
    "no truth value": (joined(header(a=entry(dtype="BOOL", shape=[16])), bytes(range(16))), "others than 0 and 1"),
    "numbers as text": (joined('{"__metadata__": {"a": 1}}', b""), "__metadata__ is no map of text"),
    "list as text": (joined('{"__metadata__": []}', b""), "__metadata__ is no map of text"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_strange_file_is_refused(case, tmp_path):
    data, message = REFUSED[case]
    path = tmp_path / "model.laminar"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path} ")


def test_truncated_file_is_refused_at_every_length(file):
    data = file.read_bytes()
    for length in range(len(data)):
        file.write_bytes(data[:length])
        with pytest.raises(ModelFileError, match=r"is truncated|is empty|not a model file of Laminar"):
            read(file)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no\.laminar does not exist: check the path"):
        read(tmp_path / "no.laminar")
    with pytest.raises(ModelFileError, match="is a folder, not a model file"):
        read(tmp_path)
    with pytest.raises(ModelFileError, match="is no regular file"):
        read(os.devnull)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read every file")
def test_protected_file_is_refused(file):
    file.chmod(0)
    with pytest.raises(PermissionError, match="cannot be read: you have no permission"):
        read(file)


def test_permission_error_has_a_sentence(file, monkeypatch):
    def refuses(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuses)
    with pytest.raises(PermissionError, match=r"model\.laminar cannot be read: you have no permission"):
        read(file)


@pytest.mark.parametrize("case", ["huge shape", "huge header", "huge offsets", "huge and none", "deep", "many digits"])
def test_small_file_needs_little_memory(case, tmp_path):
    import tracemalloc

    path = tmp_path / "model.laminar"
    path.write_bytes(REFUSED[case][0])
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
