"""What needs an optional package says so in one sentence; nothing else needs one.

`tools/check_wheel.py` asks the same of an installed wheel without extras.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from lowest_versions import lowest_versions
from typer.testing import CliRunner

import evenscore as es
from evenscore.cli import app
from evenscore.extras import EXTRAS, require
from evenscore.files.models import load_model

PROJECT = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())


@pytest.fixture
def core_only(monkeypatch):
    """As if no optional package were installed."""
    for package in EXTRAS:
        monkeypatch.setitem(sys.modules, package, None)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(200, 2)), np.tile(["a", "b"], 100)
    return X, X[:, 0] + rng.normal(size=200) > 0, group


def test_extras_are_those_of_the_distribution():
    declared = PROJECT["project"]["optional-dependencies"]
    for package, (_, extra) in EXTRAS.items():
        names = [re.split(r"[\[>=]", requirement)[0] for requirement in declared[extra]]
        assert package in names, f"[{extra}] does not bring {package}"
    core = {re.split(r"[\[>=]", name)[0] for name in PROJECT["project"]["dependencies"]}
    assert core == {
        "numpy", "scipy", "scikit-learn", "narwhals", "matplotlib", "jinja2", "typer", "rich",
    }  # fmt: skip


def test_every_requirement_has_a_lowest_version():
    """`make wheel` installs these, and tests them."""
    extras = [name for name in PROJECT["project"]["optional-dependencies"] if name != "all"]
    pins = lowest_versions(PROJECT["project"], extras)
    assert {"numpy==2.0", "scikit-learn==1.6", "lightgbm==4.6"} <= set(pins)
    with pytest.raises(ValueError, match="'numpy<3'"):
        lowest_versions({"dependencies": ["numpy<3"]}, [])


@pytest.mark.parametrize(("installed", "refused"), [("4.5.0", True), ("4.6.0", False),
                                                    ("4.10.1", False), ("5.0.0.99", False),
                                                    ("mine", False)])  # fmt: skip
def test_a_version_that_is_not_safe_is_refused(monkeypatch, installed, refused):
    monkeypatch.setattr("evenscore.extras.version", lambda package: installed)
    if not refused:
        require("A test", "lightgbm")
        return
    with pytest.raises(ImportError, match=r"LightGBM 4\.6 or later, and 4\.5\.0 is"):
        require("A test", "lightgbm")


def test_nothing_is_said_of_what_is_there():
    require("A test", "lightgbm", "duckdb", "skops")


@pytest.mark.usefixtures("core_only")
def test_a_scorer_says_what_it_needs(rows):
    X, y, group = rows
    with pytest.raises(ImportError, match=r"^RepairedScorer .*LightGBM: .*evenscore\[boosted\]"):
        es.RepairedScorer(constraints="inter_group").fit(X, y, sensitive_features=group)


@pytest.mark.usefixtures("core_only")
def test_an_even_score_needs_nothing(rows, monkeypatch):
    """Its trees are then scikit-learn's."""
    monkeypatch.setattr("evenscore.learning.trees.find_spec", lambda name: None)
    X, y, group = rows
    fair = es.RateConstraint("fnr", cuts=es.Cuts(at=0.5), tolerance=0.3)
    scorer = es.EvenScorer(fair, folds=2, random_state=0).fit(X, y, sensitive_features=group)
    kinds = [type(model).__name__ for model in scorer.posteriors_.models[0].label]
    assert kinds == ["HistGradientBoostingClassifier", "Pipeline"]
    assert scorer.score(X, y) > 0.6


@pytest.mark.usefixtures("core_only")
@pytest.mark.filterwarnings("ignore:.*too soon to tell")
def test_the_paper_needs_nothing(rows):
    X, y, _ = rows
    es.paper.PaperScorer(n_iter=50).fit(X, y)


@pytest.mark.usefixtures("core_only")
def test_files_say_what_they_need(tmp_path):
    with pytest.raises(ImportError, match=r"skops: pip install"):
        load_model(tmp_path / "model.skops")
    table = tmp_path / "scores.csv"
    table.write_text("y,s,g\n1,0.5,a\n")
    done = CliRunner().invoke(
        app, ["audit", str(table), "--label", "y", "--score", "s", "--group", "g"]
    )
    assert done.exit_code == 2
    assert "DuckDB: pip install 'evenscore[files]'" in done.stderr


@pytest.mark.usefixtures("core_only")
def test_the_core_does_its_work_without_extras(rows, tmp_path):
    X, y, group = rows
    scorer = es.LinearScorer("inter_group", tolerance=0.05)
    score = scorer.fit(X, y, sensitive_features=group).decision_function(X)
    result = es.audit(y, score, sensitive_features=group, constraints="inter_group")
    assert result.to_html(tmp_path / "report.html").stat().st_size > 10_000
    es.repair(y, X[:, 0], sensitive_features=group, constraints="inter_group")


def test_lightgbm_without_docstrings_is_refused_in_a_sentence():
    code = "from evenscore.extras import require; require('A', 'duckdb'); require('A', 'lightgbm')"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    told = done.stderr.splitlines()[-1]
    assert told.startswith("ImportError: LightGBM ")
    assert "PYTHONOPTIMIZE" in told
