"""The house keeps its shape: layers import downwards, families are asked and not told apart."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import evenscore

SOURCE = Path(evenscore.__file__).parent

# Each room may import those of a line above, never those of its own line or below.
LAYERS = [
    {"scores"},
    {"inference"},
    {"gaps"},
    {"metrics", "auditing"},
    {"repairing"},
    {"learning"},
    {"choosing"},
    {"showing"},
    {"files", "paper"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# Modules that stand below their room: they import nothing of the house but what is said here.
BELOW = {
    "extras": set(),  # optional packages
    "files.atomic": set(),  # writing whole or not at all
    "paper.laws": {"scores", "gaps"},  # what data are drawn from
    "datasets": {"scores", "files.atomic", "paper.laws"},
}


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts != ("__init__",):
            yield ".".join(part for part in parts if part != "__init__"), path


def imported(path):
    """Dotted names after `evenscore.` that a file imports, by statement or by text."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("evenscore"):
            base = node.module.removeprefix("evenscore").removeprefix(".")
            for alias in node.names:
                yield f"{base}.{alias.name}".removeprefix(".")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("evenscore."):
                    yield alias.name.removeprefix("evenscore.")
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) == "import_module":
            for argument in ast.walk(node.args[0]):
                if isinstance(argument, ast.Constant) and "evenscore" in str(argument.value):
                    yield str(argument.value).removeprefix("evenscore").removeprefix(".") or "?"


def below(name):
    return next((known for known in BELOW if name == known or name.startswith(f"{known}.")), None)


def test_layers():
    for name, path in modules():
        room, low = name.split(".")[0], below(name)
        for other in imported(path):
            other_low, other_room = below(other), other.split(".")[0]
            if other_room in ("__version__", room) and low is None:
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
    for target in evenscore.auditing.showable.RENDERERS.values():
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
    rooms = {*LEVEL, "datasets"} - {"metrics"}
    assert entries == {*rooms, "__init__.py", "extras.py", "metrics.py", "py.typed"}
    assert len(entries) <= 16


def test_no_room_is_called_utils():
    names = {path.stem for _, path in modules()}
    assert not names & {"utils", "helpers", "common", "tests"}


SUBMODULES = ("auditing.audit", "repairing", "choosing", "metrics", "showing.plots", "cli", "paper")


@pytest.mark.parametrize("module", SUBMODULES)
def test_public_functions_are_functions_whatever_is_imported_first(module):
    code = (
        f"import evenscore.{module}, evenscore as es, numpy as np; y = np.arange(80) % 2; "
        "g = np.arange(80) // 2 % 2; s = np.sin(np.arange(80.0)); "
        "es.audit(y, s, sensitive_features=g, constraints='bnsp'); "
        "es.repair(y, s, sensitive_features=g, constraints='bnsp')"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_import_is_light():
    code = (
        "import sys, evenscore; "
        "print([m for m in ('matplotlib', 'jax', 'lightgbm', 'pandas', 'polars', 'pyarrow', "
        "'duckdb', 'sklearn', 'scipy', 'rich', 'typer', 'jinja2') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_public_names_exist():
    for name in evenscore.__all__:
        thing = getattr(evenscore, name)
        if name.isupper():  # a constant
            assert isinstance(thing, str)
            continue
        home = thing.__name__ if inspect.ismodule(thing) else thing.__module__
        assert home.split(".")[0] == "evenscore", name
        assert thing.__name__.split(".")[-1] == name
        assert inspect.getdoc(thing), f"{name} says nothing of itself"
        assert name in dir(evenscore)
    with pytest.raises(AttributeError, match="has no attribute 'utils'"):
        evenscore.utils  # noqa: B018
    assert evenscore.datasets.load_german().X.shape == (1000, 61)
