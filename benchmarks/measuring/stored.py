"""The file of a run: its ratios, what was run, and on which machine with which versions."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from evenscore.files.atomic import write_atomically
from measuring.ratios import Ratio, from_plain

FORMAT = "evenscore bench 1"
ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "evenscore", "numpy", "scipy", "scikit-learn", "narwhals", "lightgbm", "fairlearn",
    "duckdb", "polars", "pandas", "pyarrow", "dask", "pyspark",
)  # fmt: skip


class NotABenchError(ValueError):
    """A file that holds no run, told in one sentence."""


@dataclass(frozen=True)
class Script:
    """A benchmark that was run: what it is about, how long it took, and why it failed if it did."""

    name: str
    about: str
    arguments: tuple[str, ...]
    wall_seconds: float
    failure: str = ""


@dataclass(frozen=True)
class Bench:
    """A run of the benchmarks of speed."""

    quick: bool
    facts: dict[str, str]
    packages: dict[str, str]
    scripts: tuple[Script, ...]
    ratios: tuple[Ratio, ...]
    format: str = field(default=FORMAT)

    @property
    def failures(self) -> list[Script]:
        """The scripts that failed."""
        return [script for script in self.scripts if script.failure]

    def of(self, script: Script) -> list[Ratio]:
        """The ratios that a script measured."""
        return [ratio for ratio in self.ratios if ratio.script == script.name]

    def write(self, path: Path) -> None:
        """As JSON, whole or not at all."""
        write_atomically(path, json.dumps(asdict(self), indent=1) + "\n")


def read(path: Path) -> Bench:
    """A run from its file; raises `NotABenchError` with one sentence if it holds none."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotABenchError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise NotABenchError(f"{path} is not a JSON file.") from None
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise NotABenchError(f"{path} was not written by `make bench`: its format is not {FORMAT}.")
    try:
        return _from_plain(plain)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise NotABenchError(f"{path} is damaged: {error}.") from None


def _from_plain(plain: dict[str, Any]) -> Bench:
    scripts = tuple(
        Script(**{**entry, "arguments": tuple(entry["arguments"])}) for entry in plain["scripts"]
    )
    return Bench(
        quick=bool(plain["quick"]),
        facts=_texts(plain["facts"]),
        packages=_texts(plain["packages"]),
        scripts=scripts,
        ratios=from_plain(plain["ratios"]),
    )


def _texts(entries: dict[str, object]) -> dict[str, str]:
    return {str(name): str(text) for name, text in entries.items()}


def facts() -> dict[str, str]:
    """When, of which version, and on which machine."""
    cores = os.cpu_count() or 1
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "processor": _processor(),
        "cores": str(cores),
        "load at the start": load,
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }


def busy(facts: dict[str, str]) -> str:
    """A caution if the machine had other work when the run began."""
    try:
        load, cores = float(facts["load at the start"]), int(facts["cores"])
    except (KeyError, ValueError):
        return ""
    if load < 0.5 * cores:
        return ""
    return (
        f"The machine was busy when the run began (a load of {load:g} on {cores} cores): "
        "expect wider ranges, and compare runs of an idle machine where it matters."
    )


def packages() -> dict[str, str]:
    """Versions of the package, and of what it is compared with, as far as they are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _commit() -> str:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short=12", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()
