"""Wrong calls of the command: one sentence that names what is wrong and what to do, and an exit code."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pandas
import pytest

FIT = ("fit", "faces", "-o", "new.laminar")
# Arguments, exit code, what the sentence holds.
CALLS = {
    "no such command": (("fti", "faces"), 2, "fti"),
    "no such option": (("fit", "faces", "--lables", "few.csv"), 2, "--labels"),
    "no data": (("fit",), 2, "Missing argument"),
    "no such file": (("fit", "facse"), 2, "facse.*faces"),
    "empty folder": (("fit", "empty"), 2, "empty.*images"),
    "one image": (("fit", "single"), 2, "1 sample: .*at least two"),
    "broken image": (("fit", "broken"), 2, "bad.png.*--skip-bad"),
    "mixed folder": (("fit", "mixed"), 2, "mixed.*--kind"),
    "unknown kind of file": (("fit", "notes.docx"), 2, "docx"),
    "labels of other ids": ((*FIT, "--labels", "others.csv"), 2, "others.csv.*(nobody|left_00)"),
    "labels that disagree": ((*FIT, "--labels", "twice.csv"), 2, "twice.csv.*left_00"),
    "no such labels": ((*FIT, "--labels", "fwe.csv"), 2, "fwe.csv"),
    "no such attribute": ((*FIT, "--labels", "few.csv", "--attributes", "poes"), 2, "poes.*side"),
    "no such column": (("fit", "table.csv", "--id-column", "nmae"), 2, "nmae.*name"),
    "text column": (("fit", "table.csv", "--id-column", "name"), 2, "colour.*--label-columns"),
    "missing cells": (("fit", "holes.csv"), 2, "b.*--missing"),
    "option of another kind": (("fit", "table.csv", "--size", "32"), 2, "size"),
    "negative data": (("fit", "signed.csv", "--model", "nmf"), 2, "(?i)negative"),
    "no such model": ((*FIT, "--model", "sem-nmf"), 2, "Did you mean semi-nmf"),
    "no such parameter": ((*FIT, "--model", "nmf", "--set", "aplha=3"), 2, "aplha.*has no parameter|alpha"),
    "parameter out of range": ((*FIT, "--model", "nmf", "--set", "max_iter=0"), 2, "max_iter"),
    "components in words": ((*FIT, "-k", "ten"), 2, "--components.*integer"),
    "layers in words": ((*FIT, "--model", "deep-semi-nmf", "--layers", "a-b"), 2, "whole numbers"),
    "views for one": (("fit", "signed.csv", "signed2.csv", "--model", "nmf"), 2, "cluster-ensemble"),
    "one for views": ((*FIT, "--model", "multi-nmf"), 2, "several inputs"),
    "wrong ending": (("fit", "faces", "-o", "model.h5"), 2, ".laminar"),
    "no such folder": (("fit", "faces", "-o", "no/model.laminar"), 2, "folder that does not exist"),
    "no model file": (("transform", "table.csv", "faces"), 1, "table.csv.*(not a|no) .*model"),
    "model of another program": (("info", "other.safetensors.laminar"), 1, "other"),
    "truncated model": (("transform", "short.laminar", "faces"), 1, "short.laminar.*(truncated|damaged)"),
    "no such model file": (("transform", "modle.laminar", "faces"), 2, "modle.laminar"),
    "data of another kind": (("transform", "model.laminar", "signed.csv"), 2, "signed.csv"),
    "codes in an unknown format": (("transform", "model.laminar", "faces", "-o", "codes.doc"), 2, "codes.doc.*.csv"),
    "clusters without a number": (("cluster", "model.laminar", "--attribute", "pose"), 2, "pose.*-k"),
    "layer out of range": (("transform", "model.laminar", "faces", "--layer", "7"), 2, "layer=7"),
    "nothing to evaluate": (("evaluate", "model.laminar"), 2, "--labels"),
    "no such data set": (("datasets", "facse"), 2, "Did you mean faces"),
    "candidates in words": (("select", "faces", "--candidates", "few"), 2, "whole numbers"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, write_images, laminar):
    folder = tmp_path_factory.mktemp("wrong")
    names = write_images(folder / "faces")
    write_images(folder / "single", 1)
    write_images(folder / "broken", 3)
    write_images(folder / "mixed", 2)
    (folder / "broken" / "bad.png").write_bytes(b"no image")
    for i in range(2):
        (folder / "mixed" / f"{i}.txt").write_text("some words")
    (folder / "empty").mkdir()
    (folder / "notes.docx").write_text("x")
    sides = [name.split("_")[0] for name in names]
    pandas.DataFrame({"id": names[:4], "side": sides[:4]}).to_csv(folder / "few.csv", index=False)
    pandas.DataFrame({"id": ["nobody", "someone"], "side": ["a", "b"]}).to_csv(folder / "others.csv", index=False)
    pandas.DataFrame({"id": [names[0]] * 2, "side": ["a", "b"]}).to_csv(folder / "twice.csv", index=False)
    X = np.random.default_rng(0).normal(size=(12, 3))
    signed = pandas.DataFrame(X, columns=["a", "b", "c"])
    for name in ("signed.csv", "signed2.csv"):
        signed.to_csv(folder / name, index=False)
    signed.assign(name=names, colour="red").to_csv(folder / "table.csv", index=False)
    signed.assign(b=np.where(np.arange(12) == 3, np.nan, X[:, 1])).to_csv(folder / "holes.csv", index=False)
    laminar("fit", "faces", "--model", "nmf", "-k", "2", "-o", "model.laminar", cwd=folder)
    whole = (folder / "model.laminar").read_bytes()
    (folder / "short.laminar").write_bytes(whole[: len(whole) // 2])
    (folder / "other.safetensors.laminar").write_bytes(b"\x80\x04some pickle")
    return folder


def is_one_sentence(text):
    return text.startswith("Error: ") and len(text.splitlines()) == 1 and text.rstrip()[-1] in ".?)"


@pytest.mark.parametrize("call", CALLS)
def test_wrong_call(folder, run_here, call):
    arguments, code, words = CALLS[call]
    before = set(os.listdir(folder))
    found, out, err = run_here(*arguments, cwd=folder)
    assert found == code, err
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert is_one_sentence(last), err
    assert re.search(words, last), last
    assert out == ""
    assert set(os.listdir(folder)) == before


def test_debug_shows_where(folder):
    command = [sys.executable, "-m", "laminar", "fit", "empty", "--debug"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" in done.stderr


def test_skip_bad_leaves_out_file(folder, laminar, tmp_path):
    done = laminar("fit", folder / "broken", "--skip-bad", "-o", "m.laminar", cwd=tmp_path)
    assert "bad.png" in done.stderr
    assert "3 samples" in done.stdout


def test_no_permission(folder, tmp_path):
    command = [sys.executable, "-m", "laminar", "fit", folder / "faces", "-o", tmp_path / "m.laminar"]
    if os.geteuid() == 0:  # the superuser may write everywhere, unless that is taken away
        if not shutil.which("setpriv"):
            pytest.skip("the superuser may write everywhere, and there is no setpriv")
        rights = "-dac_override,-dac_read_search,-fowner"
        command = ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}", *command]
        os.chown(tmp_path, 12345, -1)
    tmp_path.chmod(0o555)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    tmp_path.chmod(0o755)
    assert done.returncode == 1
    assert is_one_sentence(done.stderr)
    assert "Permission denied" in done.stderr


def test_no_space(folder, tmp_path):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    (tmp_path / "m.laminar").write_text("before")
    command = [sys.executable, "-B", "-m", "laminar", "fit", folder / "faces", "--force", "-o", tmp_path / "m.laminar"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, preexec_fn=small_files)
    assert done.returncode == 1, done.stderr
    assert is_one_sentence(done.stderr.splitlines()[-1])
    assert (tmp_path / "m.laminar").read_text() == "before"
    assert os.listdir(tmp_path) == ["m.laminar"]


@pytest.mark.parametrize("extra", [("images", "PIL"), ("tables", "openpyxl")])
def test_missing_package_is_named(folder, laminar, tmp_path, extra):
    name, module = extra
    pandas.DataFrame({"a": [1.0, 2.0]}).to_csv(tmp_path / "t.xlsx")  # not read: the package is sought first
    (tmp_path / module).mkdir()
    (tmp_path / module / "__init__.py").write_text(f"raise ModuleNotFoundError('no', name='{module}')")
    path = folder / "faces" if name == "images" else tmp_path / "t.xlsx"
    done = laminar("info", path, cwd=tmp_path, code=1, PYTHONPATH=str(tmp_path))
    assert f'pip install "laminar-nmf[{name}]"' in done.stderr


def test_interrupt_leaves_files_as_they_were(folder, tmp_path):
    (tmp_path / "m.laminar").write_text("before")
    command = [sys.executable, "-m", "laminar", "fit", folder / "faces", "--force", "-o", tmp_path / "m.laminar"]
    arguments = ["--model", "nmf", "--set", "solver='mu'", "--set", "tol=0", "--set", "max_iter=100000000"]
    # A shell ignores Ctrl-C in jobs that it runs in the background, and their processes inherit that.
    heeded = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        [*command, *arguments], cwd=folder, stderr=subprocess.PIPE, text=True, preexec_fn=heeded
    ) as process:
        for line in process.stderr:
            if line.startswith("NMF"):  # progress of the fit, after two seconds
                break
        process.send_signal(signal.SIGINT)
        end = time.monotonic() + 60
        rest = process.stderr.read()
        assert process.wait(timeout=max(1, end - time.monotonic())) == 1
    assert rest.splitlines()[-1] == "Error: stopped; nothing was written, and files that were there are as they were."
    assert (tmp_path / "m.laminar").read_text() == "before"
