"""The house keeps its shape: layers import downwards, families are asked and not told apart."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from architecture import (
    BELOW,
    LEVEL,
    PAGE,
    PICTURE,
    below,
    draw_rooms,
    imported,
    lines_of,
    modules,
    page_text,
    picture_text,
    read_rooms,
    room_of,
)

import evenscore as es
from evenscore.cli.commands import app

SOURCE, TESTS = Path(es.__file__).parent, Path(__file__).parent


@pytest.mark.slow
def test_layers():
    for name, path in modules():
        room, low = name.split(".")[0], below(name)
        for other in imported(path):
            other_low, other_room = below(other), other.split(".")[0]
            if other_room in ("__version__", "RENDERERS", room) and low is None:
                continue
            if low is not None:
                allowed = BELOW[low] | {low}
                assert other_low in allowed or other_room in allowed, f"{name} imports {other}"
            elif other_low is None:
                assert LEVEL[other_room] < LEVEL[room], f"{name} must not import {other}"


def test_imports_by_text_are_seen():
    """Only lazy packages and the registry of renderers import by text."""
    users = {name for name, path in modules() if "import_module" in path.read_text()}
    assert users <= {"auditing.showable", "paper", "learning"}
    for target in es.RENDERERS.values():
        module, function = target.split(":")
        assert module.startswith("evenscore.showing")
        assert callable(getattr(__import__(module, fromlist=["x"]), function))


def test_families_of_gaps_are_told_apart_in_their_own_room_only():
    kinds = r"\b(AucConstraint|RocConstraint|RateConstraint|CurveConstraint)\b"
    asks = re.compile(rf"isinstance\([^)]*{kinds}|\brate is (not )?None|isnan\([^)]*\.rate\b")
    for name, path in modules():
        if not name.startswith("gaps"):
            lines = path.read_text().splitlines()
            told_apart = [line for line in lines if asks.search(line)]
            assert not told_apart, f"{name}: {told_apart[0].strip()}"


def test_the_rooms_are_those_drawn():
    entries = {path.name for path in SOURCE.iterdir() if path.name != "__pycache__"}
    rooms = {*LEVEL, "datasets"} - {"metrics", "__main__"}
    assert entries == {*rooms, "__init__.py", "__main__.py", "extras.py", "metrics.py", "py.typed"}
    assert len(entries) <= 18


COUNT = re.compile(r"(?<=\| )[\d,]+(?= \|)")


def test_the_page_of_the_architecture_is_drawn_from_the_code():
    """All of it but the counts, which must be near; `python tools/architecture.py` writes it."""
    (page, shown), (made, known) = (
        text.split("## The longest files")
        for text in (PAGE.read_text(encoding="utf-8"), page_text())
    )
    assert COUNT.sub("", page) == COUNT.sub("", made)
    for old, new in zip(COUNT.findall(page), COUNT.findall(made), strict=True):
        assert int(old.replace(",", "")) == pytest.approx(
            int(new.replace(",", "")), rel=0.25, abs=3
        )
    assert PICTURE.read_text(encoding="utf-8") == picture_text()
    named = re.findall(r"\| `(.+)` \|", shown)
    assert len(named) == len(re.findall(r"\| `(.+)` \|", known))
    lengths = sorted((lines_of(path) for _, path in modules()), reverse=True)
    assert all(lines_of(SOURCE / name) >= 0.75 * lengths[len(named)] for name in named)


def test_a_new_import_or_room_changes_the_page(monkeypatch, tmp_path):
    late = tmp_path / "late.py"
    late.write_text(
        "def late():\n    from evenscore.learning import History\n"
        "    import evenscore.scores.table\n    import_module('evenscore.showing')\n"
    )
    assert set(imported(late)) == {"learning.History", "scores.table", "showing"}
    known = list(modules())
    before = page_text(), picture_text()
    monkeypatch.setattr("architecture.modules", lambda: [*known, ("metrics.late", late)])
    assert read_rooms()["metrics"].imports == {"scores", "inference", "gaps", "learning", "showing"}
    assert COUNT.sub("", page_text()) != COUNT.sub("", before[0])
    assert picture_text() != before[1]
    rooms = {name: room.imports for name, room in read_rooms().items()}
    assert ">monitoring</text>" in draw_rooms(rooms | {"monitoring": frozenset({"cli"})})
    with pytest.raises(ValueError, match="in a circle"):
        draw_rooms(rooms | {"inference": rooms["inference"] | {"gaps"}})


# What stands may only fall: a feature pays for its lines. Lower a number when it has fallen.
BUDGET = {
    "lines of source": 50_100,
    "modules": 255,
    "lines of learning, repairing and placement": 9_300,
    "lines of the longest file": 909,
    "public names": 78,
    "options of evenscore audit": 43,
    "parameters of audit": 18,
    "parameters of a scorer": 12,
    "members of the largest protocol": 30,
    "lines of tests": 32_600,
}


def spent():
    """What the budget counts, as it is."""
    files = list(SOURCE.rglob("*.py"))
    lengths = {name: lines_of(path) for name, path in modules()}
    learned = [
        n for name, n in lengths.items() if room_of(name) in ("learning", "repairing", "placement")
    ]
    places = (es.metrics, es.plots, es.datasets, es.paper)
    scorers = [thing for name in es.__all__ if isinstance(thing := getattr(es, name), type)]
    scorers = [kind for kind in scorers if issubclass(kind, es.FairScorer | es.RepairedScorer)]
    command = typer.main.get_command(app)
    return {
        "lines of source": sum(map(lines_of, files)),
        "modules": len(files),
        "lines of learning, repairing and placement": sum(learned),
        "lines of the longest file": max(lengths.values()),
        "public names": len(
            {name for name in es.__all__ if not inspect.ismodule(getattr(es, name))}
        )
        + sum(len(place.__all__) for place in places),
        "options of evenscore audit": len(command.commands["audit"].params),
        "parameters of audit": len(inspect.signature(es.audit).parameters),
        "parameters of a scorer": max(len(inspect.signature(kind).parameters) for kind in scorers),
        "members of the largest protocol": len(
            [name for name in vars(es.GapFamily) if not name.startswith("_")]
        ),
        "lines of tests": sum(map(lines_of, TESTS.rglob("*.py"))),
    }


def test_the_budget_is_kept():
    over = {name: (n, BUDGET[name]) for name, n in spent().items() if n > BUDGET[name]}
    assert not over, f"more than the budget allows: {over}"


def test_no_test_pins_a_whole_sentence():
    """What is asserted of a message is what it names: sentences may be improved."""
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match = isinstance(node, ast.keyword) and node.arg == "match"
            if match or isinstance(node, ast.Assert):
                asserted = node.value if match else node.test
                for part in ast.walk(asserted):
                    text = part.value if isinstance(part, ast.Constant) else ""
                    words = re.findall(r"[A-Za-z]{2,}", text if isinstance(text, str) else "")
                    assert len(words) < 6, f"{path.name}:{part.lineno} pins {text!r}"


def test_no_room_is_called_utils():
    names = {path.stem for _, path in modules()}
    assert not names & {"utils", "helpers", "common", "tests"}


SUBMODULES = ("auditing.audit", "repairing", "choosing", "metrics", "showing.plots", "cli", "paper")


@pytest.mark.slow
def test_public_functions_are_functions_whatever_is_imported_first():
    """A module hides a function of its name: in a copy of one process for each first import."""
    code = f"""
import inspect, os, matplotlib.pyplot, scipy.stats, sklearn.linear_model
from importlib import import_module
for module in {SUBMODULES}:
    if not os.fork():
        import_module(f"evenscore.{{module}}")
        import evenscore as es
        functions = es.audit, es.repair, es.plan, es.tradeoff_path
        assert all(inspect.isfunction(f) for f in functions), module
        os._exit(0)
    assert os.wait()[1] == 0, module
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.slow
def test_import_is_light():
    code = (
        "import sys, evenscore; "
        "print([m for m in ('matplotlib', 'lightgbm', 'pandas', 'polars', 'pyarrow', "
        "'duckdb', 'sklearn', 'scipy', 'rich', 'typer', 'jinja2') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_public_names_exist():
    for name in es.__all__:
        thing = getattr(es, name)
        if name.isupper():  # a constant
            assert isinstance(thing, str)
            continue
        home = thing.__name__ if inspect.ismodule(thing) else thing.__module__
        assert home.split(".")[0] == "evenscore", name
        assert thing.__name__.split(".")[-1] == name
        assert inspect.getdoc(thing), f"{name} says nothing of itself"
        assert name in dir(es)
    with pytest.raises(AttributeError, match="has no attribute 'utils'"):
        es.utils  # noqa: B018
    assert es.datasets.load_german().X.shape == (1000, 61)
