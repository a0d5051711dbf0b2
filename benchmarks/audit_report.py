"""What an audit of 20,000 people with its report costs.

CPU time on one thread, in fresh processes: of the audit, of its report, and of the whole process,
the start of Python and all imports included. With `--against`, the `src` folder of another version,
the two run by turns and the ratios of their CPU times are printed: median and range.

    python benchmarks/audit_report.py
    python benchmarks/audit_report.py --against ../before/src     # a checkout of another version
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from measuring.ratios import record
from measuring.timing import LOADING, ONE_THREAD, process

SOURCES = Path(__file__).resolve().parents[1] / "src"
PARTS = ("audit", "report", "audit and report", "whole process")
PROGRAM = """
import sys
from time import process_time
import numpy as np
import evenscore as es
rows, n_groups = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
group, y = rng.integers(0, n_groups, rows), (rng.random(rows) < 0.3).astype(int)
score = rng.normal(size=rows) + y + 0.3 * (group == 1)
start = process_time()
result = es.audit(y, score, sensitive_features=group)
audited = process_time()
result.to_html(sys.argv[3])
end = process_time()
numbers = rng.random(10**6)
sorting = process_time()
np.sort(numbers, kind="stable")
sorting = process_time() - sorting
print(audited - start, end - audited, end - start, end, sorting)
"""


def seconds(sources: Path, *arguments: object) -> np.ndarray:
    """CPU seconds of the parts, in a fresh process with the package of a folder; then of a sort."""
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(sources.resolve())}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"The audit with {sources} failed: {done.stderr.strip()}")
    return np.array(done.stdout.split(), dtype=float)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--groups", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--against", type=Path, help="the src folder of another version")
    options = parser.parse_args()
    if options.against and not (options.against / "evenscore" / "__init__.py").is_file():
        parser.error(f"{options.against} holds no package evenscore.")
    versions = [SOURCES, options.against] if options.against else [SOURCES]
    with tempfile.TemporaryDirectory() as folder:
        for n_groups in options.groups:
            asked = options.rows, n_groups, Path(folder) / "report.html"
            for sources in versions:  # not counted: it compiles and fills caches
                seconds(sources, *asked)
            times, loading = [], []
            for _ in range(options.repeats):
                times.append([seconds(each, *asked) for each in versions])
                loading.append(process(LOADING).cpu)
            times = np.array(times)
            for k, part in enumerate(PARTS):
                name = f"{part}, {options.rows:,} people in {n_groups} groups"
                if part == "whole process":
                    record(name, "loading scikit-learn and SciPy", times[:, 0, k], loading)
                else:
                    record(name, "a sort of 10^6 numbers", times[:, 0, k], times[:, 0, -1])
                line = f"{n_groups} groups, {part}: {np.median(times[:, 0, k]):.2f} s"
                if options.against:
                    ratios = times[:, 0, k] / times[:, 1, k]
                    line += f", {np.median(ratios):.0%} of the other version"
                    line += f" ({ratios.min():.0%} to {ratios.max():.0%})"
                print(line)


if __name__ == "__main__":
    main()
