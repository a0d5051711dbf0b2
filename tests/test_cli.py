import pytest
from typer.testing import CliRunner

from evenscore import constraint_names, rate_names
from evenscore.cli import app


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


@pytest.mark.slow
def test_demo_tells_the_story_and_writes_the_report(tmp_path):
    output = " ".join(run("demo", "--html", str(tmp_path / "report.html")).split())
    assert "an AUC of 0.92" in output
    assert "of women but" in output
    assert "smaller gap" in output
    report = (tmp_path / "report.html").read_text()
    assert str(tmp_path / "report.html") in output
    assert "Before and after" in report


def test_version():
    assert run("--version").startswith("evenscore 0.")


def test_help():
    assert "demo" in run("--help")
