"""Build the wheel and use it as strangers do: without extras, with them, with the oldest packages.

    python tools/check_wheel.py            # all three
    python tools/check_wheel.py lowest     # one of core, installed, lowest

Each part runs outside the repository, in a virtual environment of its own. The first problem ends
the script with exit code 1.
"""

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

from lowest_versions import PYPROJECT, lowest_versions

ROOT = PYPROJECT.parent
CORE_ONLY = Path(__file__).with_name("core_only.py")

# Tests that between them call every package that has a lower bound, in less than a minute.
AT_LOWEST = (
    "tests/test_cli.py",
    "tests/test_extras.py",
    "tests/files/test_opening.py",
    "tests/learning/test_boosters.py",
    "tests/learning/test_collective.py",
    "tests/learning/test_network.py",
    "tests/learning/test_neural.py::test_the_same_random_state_gives_the_same_score",
    "tests/learning/test_xgboost_text.py",
    "tests/learning/test_xgboost_trees.py",
    "tests/scores/test_bins.py",
    "tests/scores/test_frames.py",
    "tests/scores/test_reading.py",
    "tests/scores/test_survey.py",
    "tests/scores/test_table.py",
    "tests/showing/plots/test_group_roc.py",
    "tests/showing/test_terminal.py",
)
# The bundled data as a table, so that their files must have been packed.
WRITE_TABLE = """
from evenscore.datasets import load_german
data = load_german()
print("repaid,score,sex")
for label, row, group in zip(data.y, data.X, data.groups):
    print(label, row[0], group, sep=",")
"""

LOWEST_EXTRAS = ("boosted", "files", "neural", "test")
NOT_TESTED = {
    "ruff",
    "mypy",
    "selenium",
    "fairlearn",
    "jsonschema",
    "dask",
    "distributed",
    "pyspark",
    "ibis-framework",
}  # tools, what few tests use, and engines that bring new packages along: `make test` has those


def main(parts: list[str]) -> None:
    """Run some parts, or all."""
    checks = {"core": core, "installed": installed, "lowest": lowest}
    with tempfile.TemporaryDirectory(prefix="evenscore-wheel-") as name:
        folder = Path(name)
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT, at=folder)
        wheel = next(folder.glob("evenscore-*.whl"))
        for part in parts or checks:
            print(f"== wheel: {part}", flush=True)
            checks[part](folder, wheel)


def core(folder: Path, wheel: Path) -> None:
    """Without extras: the core works, and the rest says what it needs."""
    python = environment(folder / "core", wheel)
    run(python, CORE_ONLY, at=folder)


def installed(folder: Path, wheel: Path) -> None:
    """The README's commands, on a table in another folder."""
    home = folder / "core"  # the packages of the core need not be installed twice
    python = environment(home, f"{wheel}[boosted,files]", existing=home.exists())
    command = home / "bin" / "evenscore"
    table = folder / "people.csv"
    table.write_text(run(python, "-c", WRITE_TABLE, at=folder))
    columns = ("--label", "repaid", "--group", "sex", "--cuts", "everyone=0.1:0.4")
    assert "Example: evenscore demo" in run(command, "demo", "--help", at=folder)
    outputs = ("--html", "a.html", "--json", "a.json")
    run(command, "audit", table, *columns, "--score", "score", *outputs, at=folder)
    assert "</html>" in (folder / "a.html").read_text()
    assert (folder / "a.json").stat().st_size > 1000
    run(command, "fit", table, *columns, "--equal", "fnr", "-o", "m.skops", at=folder)
    run(command, "score", "m.skops", table, "--column", "fair", "-o", "scored.csv", at=folder)
    assert len((folder / "scored.csv").read_text().splitlines()) == 1001


def lowest(folder: Path, wheel: Path) -> None:
    """A choice of tests, of the installed wheel, with the lowest versions that are promised."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    pins = [
        pin
        for pin in lowest_versions(project, list(LOWEST_EXTRAS))
        if pin.split("==")[0] not in NOT_TESTED
    ]
    python = environment(folder / "lowest", wheel, *pins)
    # Old packages warn of new Pythons: that is not what is tested.
    options = ("-q", "-W", "ignore", "-p", "no:cacheprovider", "-m", "not slow")
    print(run(python, "-m", "pytest", *options, *AT_LOWEST, at=ROOT).splitlines()[-1])


def environment(home: Path, *requirements: str | Path, existing: bool = False) -> Path:
    """The Python of a virtual environment with some packages installed."""
    if not existing:
        venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--no-compile", *requirements, at=home)
    return python


def run(*command: str | Path, at: Path) -> str:
    """What a command prints; if it fails, end with what it said."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    clean["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    done = subprocess.run(
        [*map(str, command)], cwd=at, env=clean, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
        sys.exit(f"{' '.join(map(str, command))} ended with exit code {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    main(sys.argv[1:])
