import sys

import pytest
from typer.testing import CliRunner

import laminar
from laminar import cli
from laminar._extras import require


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
        ("matplotlib.figure", 'laminar demo needs matplotlib: pip install "laminar[plots]"'),
        ("rich.console", 'laminar demo needs rich: pip install "laminar[report]"'),
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
    assert capsys.readouterr().err == 'Error: the laminar command needs typer: pip install "laminar[report]"\n'


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
    from laminar import demo

    full = demo.run
    monkeypatch.setattr(demo, "run", lambda **settings: full(n_identities=3, **settings))
    output = tmp_path / "demo.png"
    result = run("demo", "--output", str(output), "--size", "12", "--seed", "1")
    assert result.exit_code == 0, result.output
    for word in (
        "k-means on pixels",
        "whitened SVD",
        "NMF",
        "SemiNMF",
        "identity (3)",
        "pose (5)",
        "light (6)",
    ):
        assert word in result.output
    assert str(output) in result.output
    assert output.read_bytes().startswith(b"\x89PNG")


def test_demo_scores_are_repeatable_and_within_bounds():
    from laminar import demo

    first, again = (demo.run(size=12, seed=2, n_identities=4) for _ in range(2))
    assert first.scores.equals(again.scores)
    assert first.scores.to_numpy().min() >= 0
    assert first.scores.to_numpy().max() <= 1
    assert list(first.seconds) == list(first.scores.index) == list(demo.methods())


def test_require_does_not_hide_a_broken_package(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import something_it_needs\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_it_needs"):
        require("broken_package", "plots")
