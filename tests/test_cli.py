import subprocess
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from evenscore import constraint_names, datasets, rate_names
from evenscore.cli import app
from evenscore.cli.errors import say, say_outcome, working


def run(*arguments):
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


def test_constraints_lists_the_catalogue():
    output = run("constraints")
    for name in (*rate_names(), *constraint_names()):
        assert f"\n{name}\n" in output
    assert output.index("fnr") < output.index("intra_group")
    assert "{" not in output


@pytest.mark.slow  # of few people; of all it takes half a minute
@pytest.mark.filterwarnings("ignore:EvenScorer did not reach")
def test_demo_tells_the_story_and_writes_the_report(tmp_path, monkeypatch):
    data = datasets.load_adult()
    few = replace(data, train=data.train[:1500], test=data.test[:3000])
    monkeypatch.setattr(datasets, "load_adult", lambda: few)
    output = " ".join(run("demo", "--html", str(tmp_path / "report.html")).split())
    assert "of women but" in output
    assert "smaller gap" in output
    report = (tmp_path / "report.html").read_text()
    assert str(tmp_path / "report.html") in output
    assert "Before and after" in report


def test_version_and_help():
    assert run("--version").startswith("evenscore 0.")
    assert "demo" in run("--help")


@pytest.mark.parametrize(
    ("arguments", "told", "way"),
    [
        (["frobnicate"], "No such command 'frobnicate'", "evenscore"),
        (["audit"], "Missing argument 'FILE'.", "evenscore audit"),
        (["audit", "x.csv", "--grup", "sex"], "No such option", "evenscore audit"),
        (["plan", "--prevalence"], "Option '--prevalence' requires an argument.", "evenscore"),
    ],
)
def test_options_that_are_not_understood_get_a_sentence(arguments, told, way):
    result = CliRunner().invoke(app, arguments, prog_name="evenscore")
    assert result.exit_code == 2
    assert result.stdout == ""
    sentence, advice = result.stderr.splitlines()
    assert sentence.startswith(told)
    if told == "No such option":
        assert "--grup" in sentence
    assert sentence.endswith(".")
    assert advice == f"Try: {way} --help"


def test_no_arguments_is_a_question():
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0
    assert "demo" in result.output


def test_names_of_files_are_no_markup(capsys):
    path = "a[/b]/[red].csv"
    assert working(f"Reading {path} …").status.plain == f"Reading {path} …"
    say_outcome(f"{path} is not written.")
    say(f"{path} cannot be read.")
    assert capsys.readouterr() == (f"{path} is not written.\n", f"{path} cannot be read.\n")


@pytest.mark.slow
def test_an_audit_does_not_load_what_learning_needs(tmp_path):
    """Seconds that everybody would wait for: scikit-learn, SciPy's distributions."""
    rows = "".join(f"{k % 2},{(k * 7) % 31},{'ab'[k % 3 % 2]}\n" for k in range(200))
    (tmp_path / "t.csv").write_text("y,s,g\n" + rows)
    code = (
        "import sys\n"
        "from evenscore.cli.commands import app\n"
        "try:\n"
        "    app(['audit', 't.csv', '--label', 'y', '--score', 's', '--group', 'g', '-q'])\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        "print([name for name in ('sklearn', 'scipy.stats') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
