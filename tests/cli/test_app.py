import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import laminar
from laminar._utils.extras import require
from laminar.cli import app as cli


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(cli.build_app(), arguments)


def run_main(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["laminar", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return end.value.code


def test_version(run):
    result = run("--version")
    assert result.exit_code == 0
    assert result.output.strip() == f"laminar {laminar.__version__}"


def test_help_lists_the_commands(run):
    assert "demo" in run("--help").output
    assert "--seed" in run("demo", "--help").output


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        ("matplotlib.figure", 'laminar demo needs matplotlib: pip install "laminar-nmf[plots]"'),
        ("rich.console", 'laminar demo needs rich: pip install "laminar-nmf[report]"'),
    ],
)
def test_demo_without_an_extra_is_one_sentence(run, monkeypatch, tmp_path, module, sentence):
    monkeypatch.setitem(sys.modules, module, None)
    result = run("demo", "--output", str(tmp_path / "demo.png"))
    assert result.exit_code == 1
    assert result.stderr == f"Error: {sentence}\n"


def test_command_without_typer_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    assert run_main(monkeypatch, "--version") == 1
    assert capsys.readouterr().err == 'Error: the laminar command needs typer: pip install "laminar-nmf[report]"\n'


def test_main_runs_the_command(monkeypatch, capsys):
    assert run_main(monkeypatch, "--version") == 0
    assert capsys.readouterr().out.startswith("laminar ")


def test_output_is_checked_before_the_work(run, tmp_path):
    absent = run("demo", "--output", str(tmp_path / "no" / "demo.png"))
    assert absent.exit_code == 1
    assert "folder that does not exist" in absent.stderr
    unknown = run("demo", "--output", str(tmp_path / "demo.docx"))
    assert unknown.exit_code == 1
    assert "must end in one of" in unknown.stderr


def test_demo_prints_scores_and_writes_the_figure(run, monkeypatch, tmp_path):
    from laminar.cli import demo

    full = demo.run
    monkeypatch.setattr(demo, "run", lambda **settings: full(n_identities=3, **settings))
    output = tmp_path / "demo.png"
    result = run("demo", "--output", str(output), "--size", "12", "--seed", "1")
    assert result.exit_code == 0, result.output
    for word in (
        "pixels",
        "whitened SVD",
        "NMF",
        "SemiNMF",
        "chance",
        "DeepSemiNMF, layer 0 (100)",
        "DeepSemiNMF, layer 1 (40)",
        "AttributeLayers, pose",
        "identity (3)",
        "pose (5)",
        "light (6)",
        "Clusters: accuracy / normalised mutual information",
        "Linear probe, cross-validated",
        "Linear classifier given a tenth of the labels",
        "the other faces are scored",
    ):
        assert word in " ".join(result.output.split())
    assert str(output) in result.output
    assert output.read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def shown():
    from laminar.cli import demo

    return demo.run(size=12, seed=2, n_identities=4)


@pytest.mark.slow
def test_demo_scores_are_repeatable(shown):
    from laminar.cli import demo

    assert shown.scores.equals(demo.run(size=12, seed=2, n_identities=4).scores)


def test_demo_scores_are_within_bounds(shown):
    from laminar.cli import demo

    assert shown.scores.to_numpy().min() >= 0
    assert shown.scores.to_numpy().max() <= 1
    assert list(shown.seconds) == list(demo.methods())
    assert list(dict.fromkeys(shown.scores.index.get_level_values(0))) == ["chance", *demo.methods()]
    metrics = ("accuracy", "nmi", "probe", "classifier")
    assert list(shown.scores.columns) == [(name, metric) for name in demo.ATTRIBUTES for metric in metrics]


def test_demo_has_a_row_for_every_layer(shown):
    layers = shown.scores.groupby(level="method", sort=False).size().to_dict()
    assert layers == {"chance": 1} | {name: len(model.layers_) for name, model in shown.models.items()}


def test_demo_scores_unlabelled_faces(shown):
    from laminar import layer_attribute_table
    from laminar.cli import demo
    from laminar.datasets import partial_labels

    truth = np.column_stack([shown.faces[name] for name in demo.ATTRIBUTES])
    told = partial_labels(truth, demo.LABELLED, random_state=2)
    table = layer_attribute_table(shown.models["NMF"], None, np.where(told < 0, truth, -1), random_state=2)
    clusters = shown.scores.loc["NMF"].drop(columns="classifier", level=1)
    np.testing.assert_array_equal(clusters.to_numpy(), table.iloc[1:].to_numpy())
    assert shown.models["AttributeLayers"].attributes_ == list(demo.ATTRIBUTES)


def test_demo_classifier_uses_given_labels(shown):
    chance = {"identity": 1 / 4, "pose": 1 / 5, "light": 1 / 6}
    row = shown.scores.loc["whitened SVD"].iloc[0]
    assert all(row[name, "classifier"] > 1.5 * level for name, level in chance.items())


def test_demo_figure_shows_the_layers(shown):
    from laminar.cli import demo

    figure = demo.figure(shown)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[0] == "120 faces: 4 people, 5 poses, 6 lights"
    assert titles[2:5] == ["Layer of identity", "Layer of pose", "Layer of light"]
    figure.canvas.draw()
    tight = figure.get_tightbbox()
    assert tight.x0 >= 0
    assert tight.x1 <= figure.get_size_inches()[0]


def test_require_does_not_hide_a_broken_package(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import something_it_needs\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_it_needs"):
        require("broken_package", "plots")
