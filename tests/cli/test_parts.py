"""Parts of the command: choice of a model, parameters, exit codes, progress, options."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import laminar
from laminar import Dataset
from laminar.cli import choice, options, progress, terminal
from laminar.cli.commands.info import view_facts

X = np.random.default_rng(0).random((6, 4))
IDS = np.array(list("abcdef"))
ESTIMATORS = [
    name
    for name in laminar.__all__
    if isinstance(getattr(laminar, name), type) and issubclass(getattr(laminar, name), BaseEstimator)
]

# Data, attributes: the model.
CHOICES = {
    "nothing": (Dataset(X, IDS), [], "SmoothedSemiNMF"),
    "labels": (Dataset(X, IDS), ["pose"], "AttributeLayers"),
    "views": (Dataset({"a": X, "b": X}, IDS), ["pose"], "ClusterEnsemble"),
    "time": (Dataset(X, IDS, groups=np.array(["v"] * 6)), [], "SlowFeatureNMF"),
    "time with signs": (Dataset(X - 1, IDS, groups=np.array(["v"] * 6)), [], "SlowFeatureAnalysis"),
    "sparse": (Dataset(sp.csr_array(X), IDS), [], "NMF"),
    "sparse with signs": (Dataset(sp.csr_array(X - 1), IDS), [], "SmoothedSemiNMF"),
    "many": (Dataset(np.ones((20_001, 1)), np.arange(20_001).astype(str)), [], "NMF"),
    "many with signs": (Dataset(-np.ones((20_001, 1)), np.arange(20_001).astype(str)), [], "SemiNMF"),
}


@pytest.mark.parametrize("case", CHOICES)
def test_choice_by_data(case):
    data, attributes, expected = CHOICES[case]
    found = choice.choose(data, attributes, seed=5)
    assert type(found.estimator).__name__ == expected
    assert found.estimator.random_state == 5
    assert found.reason


def test_catalogue_has_every_estimator():
    assert sorted(choice.MODELS) == sorted(ESTIMATORS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_catalogue_signs_are_true(cls):
    purpose, model = choice.MODELS[cls], getattr(laminar, cls)()
    data = {"a": X, "b": X[:, :3]} if purpose.views else X
    y = np.array([0, 0, 0, 1, 1, 1]) if purpose.labels else None
    size = {"n_components": 2, "layers": (3, 2), "n_neighbors": 2, "n_clusters": 2}
    model.set_params(**{name: value for name, value in size.items() if name in model.get_params()})
    negative = {"a": X - 0.5, "b": X[:, :3]} if purpose.views else X - 0.5
    model.fit(data, y)
    if purpose.data == "any":
        model.fit(negative, y)
    else:
        with pytest.raises(ValueError, match=r"(?i)negative"):
            model.fit(negative, y)


@pytest.mark.parametrize("name", ["deep-semi-nmf", "DeepSemiNMF", "deep_semi_nmf", "deepseminmf"])
def test_model_by_name(name):
    assert type(choice.named(name, 0).estimator).__name__ == "DeepSemiNMF"


@pytest.mark.parametrize(
    ("text", "value"),
    [("alpha=10", 10), ("alpha=1e-3", 0.001), ("alpha=(1, 2)", (1, 2)), ("graph=knn", "knn"), ("alpha=None", None)],
)
def test_setting_values(text, value):
    model = laminar.GNMF()
    choice.set_parameters(model, settings=[text])
    assert model.get_params()[text.partition("=")[0]] == value


@pytest.mark.parametrize(
    ("model", "given", "sentence"),
    [
        ("NMF", {"layers": (5, 3)}, "has one layer"),
        ("NMF", {"layers": (5,), "components": 3}, "give one of them"),
        ("DeepSemiNMF", {"components": 5}, "--layers 100,5"),
        ("MultipleClusterings", {"components": 5}, "has none; leave it out"),
        ("AttributeLayers", {"clusters": 5}, "laminar cluster takes -k"),
        ("NMF", {"settings": ["max_itre=3"]}, "did you mean max_iter"),
        ("NMF", {"settings": ["max_iter"]}, "write name=value"),
    ],
)
def test_unsuitable_parameters(model, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        choice.set_parameters(getattr(laminar, model)(), **given)


# Options and samples


@pytest.mark.parametrize(("text", "size"), [("32", 32), ("32x24", (32, 24)), ("32 X 24", (32, 24))])
def test_size_option(text, size):
    command = options.with_reading_options(lambda reading: reading)
    assert command(size=text) == {"size": size}


@pytest.mark.parametrize("text", ["big", "3x4x5", "0", "-3"])
def test_size_option_refused(text):
    command = options.with_reading_options(lambda reading: reading)
    with pytest.raises(ValueError, match="--size"):
        command(size=text)


def test_reading_options_belong_to_readers():
    from dataclasses import fields
    from inspect import signature

    from laminar import io

    readers = (
        io.ImageReader,
        io.VideoReader,
        io.TextReader,
        io.TableReader,
        io.ArrayReader,
        io.AnnDataReader,
    )
    known = {field.name for reader in readers for field in fields(reader)} | set(signature(io.read).parameters)
    assert set(options.READING) - known == {"more"}  # --read: any of them


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_facts_of_data(form):
    entries = np.array([[0.0, -1.0, 2.0], [0.0, 0.0, 5.0]])
    facts = view_facts(form(entries))
    assert (facts["smallest"], facts["largest"], facts["zeros"]) == (-1.0, 5.0, 0.5)


# Terminal


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ValueError("wrong"), 2, "wrong"),
        (FileNotFoundError(2, "No such file", "x.csv"), 2, "x.csv: no such file or folder."),
        (PermissionError(13, "denied", "x.csv"), 1, "x.csv: no permission. Change the permissions"),
        (ImportError("needs PIL"), 1, "needs PIL"),
        (MemoryError(), 1, "not enough memory"),
        (RuntimeError("what"), 1, "RuntimeError: what. This should not happen: run it again with --debug"),
    ],
)
def test_errors_become_sentences(capsys, error, code, text):
    with pytest.raises(SystemExit) as end, terminal.session(False, False, False):
        raise error
    assert end.value.code == code
    assert capsys.readouterr().err.startswith(f"Error: {text}")


def test_interrupt_names_written_files(capsys, tmp_path):
    (tmp_path / "codes.csv").write_text("1")

    def interrupted():
        with terminal.session(True, False, False) as found:
            found.wrote(tmp_path / "codes.csv")
            raise KeyboardInterrupt

    with pytest.raises(SystemExit) as end:
        interrupted()
    assert end.value.code == 1
    assert capsys.readouterr().err == f"Error: stopped; already complete on disk: {tmp_path / 'codes.csv'}.\n"


def test_interrupt_inside_compiled_code(capsys):
    def interrupted():
        with terminal.session(False, False, False):
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt as error:
                raise SystemError("a result with an exception set") from error

    with pytest.raises(SystemExit):
        interrupted()
    assert capsys.readouterr().err.startswith("Error: stopped; nothing was written")


def test_json_has_plain_values(capsys):
    found = terminal.Terminal(as_json=True)
    found.show("for people")
    found.finish({"n": np.int64(3), "sizes": np.array([1, 2])})
    assert capsys.readouterr().out == '{"n": 3, "sizes": [1, 2]}\n'


@pytest.mark.parametrize("is_terminal", [False, True])
def test_progress_of_long_steps(capsys, monkeypatch, is_terminal):
    import sys

    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    shown = progress.Progress()
    task = shown.task("Images", 10, " images", False)
    task.report(4)
    deadline = time.monotonic() + 20
    text = ""
    while "4/10 images" not in text and time.monotonic() < deadline:
        time.sleep(0.05)
        text += capsys.readouterr().err
    shown.hide()
    assert "Images 4/10 images" in text
    assert "s left" in text


def test_short_steps_show_nothing(capsys):
    shown = progress.Progress()
    shown.stage("graph")
    shown.task("Fit", 3, "", True).report(2)
    shown.hide()
    assert capsys.readouterr().err == ""


def test_progress_line_of_fit_has_upper_bound():
    step = progress.Progress(is_shown=False).task("NMF", 100, "", True)
    step.began -= 10
    step.report(50, "  objective 3")
    assert step.line() == "NMF 50/100  objective 3  10 s, at most 10 s left"


def test_report_follows_stage():
    shown = progress.Progress(is_shown=False)
    task = shown.task("NMF", 100, "", True)
    shown.stage("NMF: initial factors")
    assert shown.current.line().startswith("NMF: initial factors")
    task.report(1)
    assert shown.current.line().startswith("NMF 1/100")
