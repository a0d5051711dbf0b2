from typer.testing import CliRunner

from evenscore import constraint_names
from evenscore.cli import app


def run(*arguments):
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


def test_constraints_lists_the_catalogue():
    output = run("constraints")
    for name in constraint_names():
        assert name in output


def test_demo_audits_an_unfair_score():
    output = run("demo")
    assert "overall AUC is 0.90" in output
    assert "inter_group" in output
    assert "+0.1" in output
    assert "a positive of female outranks a negative of male in 79.9%" in " ".join(
        output.replace("│", " ").split()
    )


def test_version():
    assert run("--version").startswith("evenscore 0.")


def test_help():
    assert "demo" in run("--help")
