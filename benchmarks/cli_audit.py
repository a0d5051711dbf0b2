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
import sys
import tempfile
from pathlib import Path

import duckdb
from measuring.ratios import record
from measuring.timing import process

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--times", type=int, default=2, help="runs, of which the best counts")
    parser.add_argument("--no-limits", action="store_true", help="measure only: others are busy")
    told = parser.parse_args()
    print(f"DuckDB {duckdb.__version__}, load {os.getloadavg()[0]:.1f}, {told.rows:,} rows")
    with tempfile.TemporaryDirectory() as folder:
        table, page = Path(folder) / "scores.parquet", Path(folder) / "report.html"
        asked = ["--label", "label", "--score", "score", "--group", "group", "--quiet"]
        audit = [sys.executable, "-m", "evenscore.cli", "audit", str(table), *asked]
        group_by = [sys.executable, "-c", GROUP_BY]
        for rounded in (False, True):
            make(table, told.rows, rounded=rounded)
            kind = "scores to 2 digits" if rounded else "scores all different"
            print(f"{kind}:")
            counts, runs = [], []
            for _ in range(told.times):
                counts.append(process([*group_by, str(table)], one_thread=False))
                runs.append(process([*audit, "--html", str(page)], one_thread=False))
            record(
                f"evenscore audit, {kind}, {told.rows:,} rows",
                "DuckDB's GROUP BY",
                [run.cpu for run in runs],
                [count.cpu for count in counts],
            )
            theirs = min(count.wall for count in counts)
            ours, memory = min(run.wall for run in runs), max(run.peak for run in runs)
            limit = 3 * theirs + 10
            print(f"   DuckDB's GROUP BY {theirs:6.2f} s")
            print(f"   evenscore audit   {ours:6.2f} s, limit {limit:.2f} s")
            print(f"   peak of memory    {memory:6.2f} GB, limit 4 GB")
            print(f"   report            {page.stat().st_size / 1e6:6.2f} MB, limit 1 MB")
            if told.no_limits:
                continue
            assert ours <= limit, "too slow"
            assert memory <= 4.0, "too much memory"
            assert page.stat().st_size <= 1e6, "too large a report"


if __name__ == "__main__":
    main()
