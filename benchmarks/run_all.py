"""Runs the benchmarks of speed and keeps their ratios in one file, with a page to look at.

`make bench` calls it. Scripts run one after the other, each on one thread where it can be told to;
one that fails is named, the others go on, and the exit code is 1. The file before is kept beside
the new one, and compared with it. What the other scripts of this folder measure (coverage, quality
of scores, made-up input) is no matter of speed: `make soak` runs some of them, for hours.

    python benchmarks/run_all.py                       # writes results/bench.json and bench.html
    python benchmarks/run_all.py --quick               # smaller sizes
    python benchmarks/run_all.py --only engines repair
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from compare import told
from measuring.comparing import compared
from measuring.page import page
from measuring.ratios import VARIABLE, Ratio, recorded
from measuring.stored import Bench, NotABenchError, Script, busy, facts, packages, read
from measuring.timing import ONE_THREAD

from evenscore.files.atomic import write_atomically

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Sizes:
    """What a script is told in a whole run, and in a quick one."""

    full: str
    quick: str

    def arguments(self, quick: bool) -> tuple[str, ...]:
        """As a command takes them."""
        return tuple((self.quick if quick else self.full).split())


SCRIPTS = {
    "audit_core": Sizes("--max 6", "--max 5"),
    "inference": Sizes("--rows 200000 --resamples 20", "--rows 50000 --boot 2 --resamples 5"),
    "audit_speed": Sizes("", "--most 100000"),
    "audit_report": Sizes("", "--groups 2"),
    "cli_audit": Sizes(
        "--rows 2000000 --times 5 --no-limits", "--rows 200000 --times 5 --no-limits"
    ),
    "wide_files": Sizes("--columns 100 1000 --repeats 5", "--columns 100 --repeats 5"),
    "engines": Sizes(
        "--laws normal --repeats 5",
        "--laws normal --repeats 5 --engines duckdb,polars --rows 200000",
    ),
    "repair": Sizes("--rows 1000000", "--rows 100000"),
    "learning": Sizes(
        "--rows 20000 --repeats 5 --scorers linear",
        "--rows 5000 --repeats 5 --scorers linear",
    ),
    "fit_cost": Sizes("--rows 30000 --groups 2 5", "--rows 10000 --groups 2"),
    "paper_networks": Sizes("", "--iterations 1000"),
}


def run(name: str, arguments: tuple[str, ...], folder: Path = FOLDER):
    """Run a script, its table shown as it comes; what it was, and the ratios that it recorded."""
    script = folder / f"{name}.py"
    with TemporaryDirectory() as temporary:
        ratios = Path(temporary) / "ratios.jsonl"
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, str(script), *arguments],
            env={**os.environ, **ONE_THREAD, VARIABLE: str(ratios)},
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - start
        found: tuple[Ratio, ...] = ()
        failure = ""
        if done.returncode:
            failure = (done.stderr.strip() or "no message").splitlines()[-1]
            sys.stderr.write(done.stderr)
        try:
            found = recorded(ratios)
        except ValueError as error:
            failure = f"its ratios cannot be read: {error}"
        if not found:
            failure = failure or "it recorded no ratio"
    return Script(name, about(script), arguments, seconds, failure), found


def about(script: Path) -> str:
    """The first line of a script's description."""
    told = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    return told.split("\n", 1)[0]


def previous(path: Path) -> Bench | None:
    """The run that is there already, kept under another name."""
    if not path.exists():
        return None
    kept = path.with_suffix(".before.json")
    path.replace(kept)
    print(f"The run before is kept in {kept}.")
    try:
        return read(kept)
    except NotABenchError as error:
        print(f"It is not compared: {error}")
        return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--only", nargs="+", choices=SCRIPTS, default=list(SCRIPTS), metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("results/bench.json"))
    asked = parser.parse_args()
    known, scripts, ratios = facts(), [], []
    before = previous(asked.out)
    html = asked.out.with_suffix(".html")
    print(busy(known) or f"A load of {known['load at the start']} on {known['cores']} cores.")
    for name in asked.only:
        arguments = SCRIPTS[name].arguments(asked.quick)
        print(f"== {name} {' '.join(arguments)}", flush=True)
        script, found = run(name, arguments)
        scripts.append(script)
        ratios += found
        print(f"   {len(found)} ratios, {script.wall_seconds:.0f} s", flush=True)
        # After every script: a run that is stopped keeps what it has measured.
        bench = Bench(asked.quick, known, packages(), tuple(scripts), tuple(ratios))
        comparison = compared(before, bench) if before else None
        bench.write(asked.out)
        write_atomically(html, page(bench, comparison))
    if comparison:
        print("\n".join(["", *told(comparison)]))
    print(f"\n{len(bench.ratios)} ratios are in {asked.out}, the page is {html}.")
    for script in bench.failures:
        print(f"{script.name} failed: {script.failure}", file=sys.stderr)
    return 1 if bench.failures else 0


if __name__ == "__main__":
    sys.exit(main())
