"""Build the wheel and the source archive, and use them as strangers do, in fresh environments.

    python tools/check_wheel.py                   # contents, core, installed, source, lowest
    python tools/check_wheel.py lowest            # one of them
    python tools/check_wheel.py --built dist      # of files that `python -m build` has made

Each part runs outside the repository, in a virtual environment of its own. All but `lowest` get the
newest packages that the index has: nothing is pinned, and what another package holds back is named.
The first problem ends the script with exit code 1.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import NamedTuple

from lowest_versions import PYPROJECT, lowest_versions

ROOT = PYPROJECT.parent
CORE_ONLY = Path(__file__).with_name("core_only.py")
PACKAGE = "src/evenscore/"

# Without these the package would install and not work, or not say what it is.
NEEDED = (
    "LICENSE",
    "src/evenscore/py.typed",
    "src/evenscore/auditing/audit.schema.json",
    "src/evenscore/datasets/bundled/README.md",
    "src/evenscore/gaps/catalogue.toml",
    "src/evenscore/scores/scores.schema.json",
    "src/evenscore/showing/page/shell.html.jinja",
)
BUNDLED = {
    "README.md",
    "adult.data.xz",
    "adult.test.xz",
    "bank-additional-full.csv.xz",
    "german.data.xz",
}
METADATA = {
    "METADATA",
    "RECORD",
    "WHEEL",
    "entry_points.txt",
    "licenses/LICENSE",
    "licenses/src/evenscore/datasets/bundled/README.md",
}
WITHOUT_EXTRAS = (
    60  # MB that an environment is smaller by, at least, than one with the extras below
)
EXTRAS = ("boosted", "files")

# Tests that between them call every package that has a lower bound, in less than a minute.
AT_LOWEST = (
    "tests/test_cli.py",
    "tests/test_extras.py",
    "tests/files/test_opening.py",
    "tests/learning/test_even.py",
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

LOWEST_EXTRAS = ("boosted", "files", "test")
NOT_TESTED = {
    "build",
    "ruff",
    "mypy",
    "pyyaml",
    "selenium",
    "fairlearn",
    "jsonschema",
    "dask",
    "distributed",
    "pyspark",
    "ibis-framework",
}  # tools, what few tests use, and engines that bring new packages along: `make test` has those


class Built(NamedTuple):
    """The two files of a version, and the folder in which they are tried."""

    wheel: Path
    source: Path
    folder: Path


def main(parts: list[str], built: Path | None) -> None:
    """Run some parts, or all, on files that were built before or are built now."""
    checks = {
        "contents": contents,
        "core": core,
        "installed": installed,
        "source": source,
        "lowest": lowest,
    }
    with tempfile.TemporaryDirectory(prefix="evenscore-wheel-") as name:
        folder = Path(name)
        if built is None:
            built = folder / "dist"
            run(sys.executable, "-m", "build", "--outdir", built, ROOT, at=folder)
        wheels, archives = [*built.glob("*.whl")], [*built.glob("*.tar.gz")]
        if len(wheels) != 1 or len(archives) != 1:
            sys.exit(f"{built} should hold one wheel and one source archive.")
        unknown = sorted({*parts} - {*checks})
        if unknown:
            sys.exit(f"There is no part {unknown[0]}: the parts are {', '.join(checks)}.")
        for part in parts or checks:
            print(f"== wheel: {part}", flush=True)
            checks[part](Built(wheels[0].resolve(), archives[0].resolve(), folder))


def contents(built: Built) -> None:
    """Both files hold what the repository holds, and nothing else."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", at=ROOT)
    files = {name for name in listed.split("\0") if name and (ROOT / name).exists()}
    missing = [name for name in NEEDED if name not in files]
    bundled = {Path(name).name for name in files if name.startswith(f"{PACKAGE}datasets/bundled/")}
    compas = [name for name in files if Path(name).name.startswith("compas-scores")]
    if missing or compas or bundled != BUNDLED:
        sys.exit(f"Missing: {missing}; never to be packed: {compas}; bundled: {sorted(bundled)}")
    release = built.source.name.removesuffix(".tar.gz")
    with tarfile.open(built.source) as archive:
        packed = {member.name for member in archive if member.isfile()}
    compare(built.source, packed, {f"{release}/{name}" for name in files | {"PKG-INFO"}})
    inside = {name.removeprefix("src/") for name in files if name.startswith(PACKAGE)}
    inside |= {f"{release}.dist-info/{name}" for name in METADATA}
    compare(built.wheel, set(zipfile.ZipFile(built.wheel).namelist()), inside)


def compare(file: Path, packed: set[str], expected: set[str]) -> None:
    """End if a file does not hold exactly what it should."""
    print(f"{file.name}: {len(packed)} files, {file.stat().st_size / 1e6:.1f} MB")
    if packed != expected:
        sys.exit(f"too much: {sorted(packed - expected)}; missing: {sorted(expected - packed)}")


def core(built: Built) -> None:
    """Without extras: the core works, and the rest says what it needs."""
    python = environment(built.folder / "core", built.wheel)
    run(python, CORE_ONLY, at=built.folder)


def installed(built: Built) -> None:
    """The README's commands, on a table in another folder."""
    folder, home = built.folder, built.folder / "core"
    if not home.exists():  # the packages of the core need not be installed twice
        environment(home, built.wheel)
    light = megabytes(home)
    python = environment(home, f"{built.wheel}[{','.join(EXTRAS)}]", existing=True)
    heavy = megabytes(home)
    print(f"installed: {light:.0f} MB, with [{','.join(EXTRAS)}] {heavy:.0f} MB")
    if heavy - light < WITHOUT_EXTRAS:
        sys.exit(f"The core should be lighter by {WITHOUT_EXTRAS} MB: what has it begun to need?")
    table, columns = audit_table(folder, home)
    command = home / "bin" / "evenscore"
    assert "Example: evenscore demo" in run(command, "demo", "--help", at=folder)
    run(command, "fit", table, *columns, "--equal", "fnr", "-o", "m.skops", at=folder)
    run(command, "score", "m.skops", table, "--column", "fair", "-o", "scored.csv", at=folder)
    assert len((folder / "scored.csv").read_text().splitlines()) == 1001
    print(newest(python, folder))


def source(built: Built) -> None:
    """Installed from the source archive: the version, and an audit of a file."""
    home = built.folder / "source"
    environment(home, f"{built.source}[files]")
    said = run(home / "bin" / "evenscore", "--version", at=built.folder).strip()
    assert built.source.name == f"evenscore-{said.split()[-1]}.tar.gz", said
    audit_table(built.folder, home)


def audit_table(folder: Path, home: Path) -> tuple[Path, tuple[str, ...]]:
    """An audit of the bundled data as a file by an installed command; the file and its columns."""
    table = folder / "people.csv"
    table.write_text(run(home / "bin" / "python", "-c", WRITE_TABLE, at=folder))
    columns = ("--label", "repaid", "--group", "sex", "--cuts", "everyone=0.1:0.4")
    page, stored = folder / f"{home.name}.html", folder / f"{home.name}.json"
    outputs = ("--score", "score", "--html", page, "--json", stored)
    run(home / "bin" / "evenscore", "audit", table, *columns, *outputs, at=folder)
    assert "</html>" in page.read_text()
    assert stored.stat().st_size > 1000
    return table, columns


def newest(python: Path, folder: Path) -> str:
    """A line that names the versions of our own requirements, and those that are held back."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    ours = {pin.split("==")[0] for pin in lowest_versions(project, list(EXTRAS))}

    def versions(*options: str) -> dict[str, str]:
        rows = json.loads(run(python, "-m", "pip", "list", "--format=json", *options, at=folder))
        names = {re.sub(r"[-_.]+", "-", row["name"]).lower(): row for row in rows}
        key = "latest_version" if options else "version"
        return {name: row[key] for name, row in sorted(names.items()) if name in ours}

    old = versions("--outdated")
    held = f"; newer there are {old}" if old else ", the newest the index has"
    return ", ".join(f"{name} {version}" for name, version in versions().items()) + held


def megabytes(home: Path) -> float:
    """What the packages of an environment take on the disk."""
    return sum(path.stat().st_size for path in home.glob("lib/**/*") if path.is_file()) / 1e6


def lowest(built: Built) -> None:
    """A choice of tests, of the installed wheel, with the lowest versions that are promised."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    oldest = project["requires-python"].removeprefix(">=")
    if oldest != ".".join(map(str, sys.version_info[:2])):
        print(f"Left out: old packages have no wheels for new Pythons. Python {oldest} runs this.")
        return
    pins = [
        pin
        for pin in lowest_versions(project, list(LOWEST_EXTRAS))
        if pin.split("==")[0] not in NOT_TESTED
    ]
    python = environment(built.folder / "lowest", built.wheel, *pins)
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
    parser = argparse.ArgumentParser(description="Try the wheel and the source archive.")
    parser.add_argument("parts", nargs="*", help="contents, core, installed, source, lowest")
    parser.add_argument("--built", type=Path, help="the folder of files that are built already")
    arguments = parser.parse_args()
    main(arguments.parts, arguments.built)
