"""`evenscore audit` on a Parquet file of 10^7 rows, in units of DuckDB's own GROUP BY.

The file has a score, a label and a group of four values. The target: at most three times the time
that DuckDB takes to GROUP BY the three columns, plus ten seconds; at most 4 GB of memory; a report
of at most 1 MB. Both are timed in the same run, each in a process of its own, start included.

    python benchmarks/cli_audit.py                  # 10^7 rows, scores all different and rounded
    python benchmarks/cli_audit.py --rows 1000000
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

GROUP_BY = (
    "import duckdb, sys; connection = duckdb.connect(); "
    "connection.execute('SET enable_progress_bar = false'); connection.execute("
    "'SELECT count(*) FROM (SELECT score, label, \"group\", count(*) AS n '"
    "'FROM read_parquet(?) GROUP BY ALL)', [sys.argv[1]]).fetchall()"
)


def make(path: Path, rows: int, *, rounded: bool) -> None:
    """Scores that lean by group, from a generator without memory of its own."""
    draw = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"  # a normal variable
    score = f"{draw} + 0.7 * label + 0.1 * g"
    score = f"round({score}, 2)" if rounded else score
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false; SET threads = 1")
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            f"COPY (SELECT {score} AS score, label, "
            "(['north', 'east', 'south', 'west'])[g + 1] AS \"group\" FROM "
            "(SELECT CAST(random() < 0.4 AS INTEGER) AS label, "
            f"CAST(floor(4 * random()) AS INTEGER) AS g FROM range({rows}))) "
            f"TO '{path}' (FORMAT parquet)"
        )


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds and the peak of memory in GB of a process."""
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[:4]} ended with {process.returncode}.")
    return seconds, usage.ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--times", type=int, default=2, help="runs, of which the best counts")
    told = parser.parse_args()
    print(f"DuckDB {duckdb.__version__}, load {os.getloadavg()[0]:.1f}, {told.rows:,} rows")
    with tempfile.TemporaryDirectory() as folder:
        table, page = Path(folder) / "scores.parquet", Path(folder) / "report.html"
        asked = ["--label", "label", "--score", "score", "--group", "group", "--quiet"]
        audit = [sys.executable, "-m", "evenscore.cli", "audit", str(table), *asked]
        for rounded in (False, True):
            make(table, told.rows, rounded=rounded)
            print(f"{'scores to 2 digits' if rounded else 'scores all different'}:")
            theirs = min(
                measured([sys.executable, "-c", GROUP_BY, str(table)])[0] for _ in range(told.times)
            )
            runs = [measured([*audit, "--html", str(page)]) for _ in range(told.times)]
            ours, memory = min(run[0] for run in runs), max(run[1] for run in runs)
            limit = 3 * theirs + 10
            print(f"   DuckDB's GROUP BY {theirs:6.2f} s")
            print(f"   evenscore audit   {ours:6.2f} s, limit {limit:.2f} s")
            print(f"   peak of memory    {memory:6.2f} GB, limit 4 GB")
            print(f"   report            {page.stat().st_size / 1e6:6.2f} MB, limit 1 MB")
            assert ours <= limit, "too slow"
            assert memory <= 4.0, "too much memory"
            assert page.stat().st_size <= 1e6, "too large a report"


if __name__ == "__main__":
    main()
