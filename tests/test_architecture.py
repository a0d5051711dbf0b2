"""The house keeps its shape: layers import downwards, families are asked and not told apart."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
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
)

import evenscore

SOURCE, TESTS = Path(evenscore.__file__).parent, Path(__file__).parent


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
    for target in evenscore.RENDERERS.values():
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
    assert len(entries) <= 17


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
    with pytest.raises(ValueError, match="rooms import each other in a circle"):
        draw_rooms(rooms | {"inference": rooms["inference"] | {"gaps"}})


# Rooms whose tests follow what a user does rather than modules: commands, files, parts of a page.
BY_TASK = {"auditing", "cli", "files", "showing"}
# Parts that are worth testing through what they serve only, by the file that does.
TESTED_AT = {
    "choosing/test_certifying.py": ["choosing.candidates", "choosing.certified"],
    "choosing/test_claims.py": ["choosing.validation"],
    "choosing/test_planning.py": ["choosing.assumed_law", "choosing.power", "inference.reaches"],
    "datasets/test_real.py": ["datasets.compas_source", "datasets.dataset", "datasets.tables"],
    "gaps/test_curves.py": ["inference.curve_gaps"],
    "gaps/test_family.py": ["gaps.catalogue", "gaps.equalities"],
    "inference/test_bands.py": [
        "inference.bootstrap",
        "inference.certificates",
        "inference.pointwise",
        "inference.redrawing",
        "inference.roc_gaps",
    ],
    "inference/test_clustered.py": [
        "inference.cluster_sizes",
        "inference.paired",
        "inference.paired_rates",
        "scores.cluster_shares",
    ],
    "inference/test_cut_certificates.py": [
        "inference.cut_bounds",
        "inference.cut_curves",
        "inference.exact_rates",
    ],
    "inference/test_cut_gaps.py": ["inference.bridges"],
    "inference/test_cuts.py": ["inference.calibration", "inference.intervals", "inference.shares"],
    "inference/test_decisions.py": ["inference.changes", "inference.estimate"],
    "inference/test_log_odds.py": [
        "inference.aucs",
        "inference.differences",
        "inference.influence",
    ],
    "learning/test_boosting.py": ["learning.growth"],
    "learning/test_clusters_in_fits.py": ["learning.spreading"],
    "learning/engines/test_dask.py": ["learning.engines.base"],
    "learning/test_exchange.py": ["learning.pooling", "learning.sampling"],
    "learning/test_frame_reading.py": ["learning.frame_summary"],
    "learning/test_linear.py": ["learning.linear_solving"],
    "learning/test_neural.py": ["learning.neural_training"],
    "learning/test_posteriors.py": [
        "learning.rankings",
        "learning.recalibration",
        "learning.wrapping",
    ],
    "learning/test_price.py": ["learning.guarding"],
    "paper/test_laws.py": ["datasets.synthetic", "paper.laws"],
    "paper/test_reproduction.py": [
        "paper.assembly",
        "paper.plan",
        "paper.real_data",
        "paper.tables",
    ],
    "repairing/test_common_cuts.py": ["repairing.search"],
    "repairing/test_fitting.py": [
        "repairing.alignment",
        "repairing.offsets",
        "repairing.profile",
    ],
    "repairing/test_ways.py": ["repairing.points"],
    "scores/test_precision_recall.py": ["inference.precision_recall"],
    "scores/test_reading.py": ["scores.labels"],
    "scores/test_table.py": ["scores.arrays", "scores.sources"],
    "test_stored_formats.py": ["scores.stored"],
}


def home_of_tests(name):
    """Where the tests of a module are to be."""
    *rooms, own = name.split(".")
    return TESTS.joinpath(*rooms, f"test_{own}.py")


def test_tests_mirror_the_source():
    elsewhere = {name: TESTS / file for file, names in TESTED_AT.items() for name in names}
    for name, path in modules():
        if path.name.startswith("__") or name.split(".")[0] in BY_TASK:
            continue
        part = next((known for known in elsewhere if f"{name}.".startswith(f"{known}.")), None)
        if part is None:
            assert home_of_tests(name).is_file(), f"{name} has no tests: {home_of_tests(name)}"
        else:
            assert not home_of_tests(name).exists(), (
                f"{name} has tests of its own: take it off the list"
            )
    known = {name for name, _ in modules()}
    assert set(elsewhere) <= known, f"there is no {sorted(set(elsewhere) - known)}"
    for file in elsewhere.values():
        assert file.is_file(), f"{file} is gone"


def test_no_room_is_called_utils():
    names = {path.stem for _, path in modules()}
    assert not names & {"utils", "helpers", "common", "tests"}


SUBMODULES = ("auditing.audit", "repairing", "choosing", "metrics", "showing.plots", "cli", "paper")


@pytest.mark.slow
@pytest.mark.parametrize("module", SUBMODULES)
def test_public_functions_are_functions_whatever_is_imported_first(module):
    code = (
        f"import evenscore.{module}, evenscore as es, inspect; "
        "functions = es.audit, es.repair, es.plan, es.tradeoff_path; "
        "assert all(inspect.isfunction(f) for f in functions)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.slow
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
