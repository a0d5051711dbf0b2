"""The house keeps its shape: layers import downwards, and importing it is cheap."""

import ast
import inspect
import subprocess
import sys
import time
from pathlib import Path

import pytest

import evenscore

SOURCE = Path(evenscore.__file__).parent

# Each module may import those before it (of any line above), never those after.
LAYERS = [
    {"columns", "files"},
    {"labels", "sorting", "distributions"},
    {"scores"},
    {"curves"},
    {"measures"},
    {"catalogue"},
    {"constraints"},
    {"thresholds", "outlines"},
    {"inference"},
    {"results"},
    {"findings", "sections", "terminal"},
    {"audit"},
    {"metrics"},
    {"learning"},
    {"plots"},
    {"report"},
    {"repairs"},
    {"scorers"},
    {"tradeoff"},
    {"datasets"},
    {"paper"},
    {"tables"},
    {"models"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts != ("__init__",):
            yield parts[0], path


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("evenscore"):
            names = node.module.split(".")[1:2] or [alias.name for alias in node.names]
            yield from names
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("evenscore."):
                    yield alias.name.split(".")[1]


def test_layers():
    for room, path in modules():
        assert room in LEVEL, f"{path} is not in the list of layers"
        for other in imported(path):
            if other not in (room, "__version__"):
                assert LEVEL[other] < LEVEL[room], f"{path.name} must not import {other}"


def test_no_room_is_called_utils():
    assert not [path for _, path in modules() if path.stem in ("utils", "helpers", "common")]


def test_import_is_light():
    code = (
        "import sys, time, numpy; t = time.process_time(); import evenscore; "
        "print(time.process_time() - t); "
        "print([m for m in ('matplotlib', 'jax', 'lightgbm', 'pandas', 'polars', 'pyarrow', "
        "'duckdb', 'sklearn', 'scipy', 'rich', 'typer') if m in sys.modules])"
    )
    seconds = []
    for _ in range(3):
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        assert out[1] == "[]"
        seconds.append(float(out[0]))
    assert min(seconds) < 0.5


def test_public_names_exist():
    for name in evenscore.__all__:
        found = getattr(evenscore, name)
        # `audit` is a module as well as a function: what is public must be the latter.
        home = found.__name__ if inspect.ismodule(found) else found.__module__
        assert home.split(".")[0] == "evenscore", name
        assert found.__name__.split(".")[-1] == name
        assert inspect.getdoc(found), f"{name} says nothing of itself"
        assert name in dir(evenscore)
    with pytest.raises(AttributeError, match="has no attribute 'utils'"):
        evenscore.utils  # noqa: B018
    assert evenscore.datasets.load_german().X.shape == (1000, 61)


def test_one_gap_of_a_thousand_rows_costs_no_more_than_three_aucs():
    import numpy as np
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    y, s, g = rng.integers(0, 2, 1000), rng.normal(size=1000), rng.integers(0, 2, 1000)

    def best(call, times=30):
        seconds = []
        for _ in range(times):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    ours = best(lambda: evenscore.metrics.auc_gap(y, s, sensitive_features=g))
    theirs = best(lambda: roc_auc_score(y, s))
    assert ours < 3 * theirs
