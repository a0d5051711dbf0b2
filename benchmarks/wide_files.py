"""How the commands grow with the columns of a file: CPU seconds, and ratios to the narrowest.

Three hundred rows; every tenth column is a category, the others are numbers, in half of which some
values are missing. Each command runs in a process of its own with one thread, and the seconds that
Python takes to start are in its time: `fit` (with a constraint), `score` to CSV and to
Parquet, and `audit`. "Reading alone" is what `fit` does before it learns, without the start.

    python benchmarks/wide_files.py                     # 100, 300, 1,000 and 3,000 columns
    python benchmarks/wide_files.py --columns 100 1000
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from measuring.ratios import record
from measuring.timing import LOADING, cpu_seconds, process

from evenscore.files.features import read_training

N_ROWS = 300


def write(path: Path, n_columns: int) -> None:
    """A file with so many features, a label, two groups and a score."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_ROWS)
    columns = {}
    for k in range(n_columns):
        if k % 10 == 0:
            columns[f"x{k}"] = rng.choice(["red", "green", "blue"], N_ROWS)
            continue
        texts = np.char.mod("%.4f", rng.normal(size=N_ROWS) + 0.3 * y * (k % 7 == 0))
        columns[f"x{k}"] = np.where(rng.random(N_ROWS) < 0.02 * (k % 2), "", texts)
    columns["repaid"] = y.astype(str)
    columns["sex"] = rng.choice(["f", "m"], N_ROWS)
    columns["made"] = np.char.mod("%.3f", rng.normal(size=N_ROWS) + y)
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")


def seconds(*arguments: str) -> float:
    """CPU seconds of a command, its children included."""
    return process([sys.executable, "-m", "evenscore.cli", *arguments, "--quiet"], quiet=True).cpu


def measure(folder: Path, n_columns: int) -> dict[str, float]:
    """Seconds of every command on a file of so many columns."""
    table, model = folder / f"{n_columns}.csv", str(folder / "model.skops")
    write(table, n_columns)
    people = (str(table), "--label", "repaid", "--group", "sex")
    constraint = ("--equal", "fnr", "--tolerance", "0.2")
    return {
        "fit": seconds("fit", *people, *constraint, "--exclude", "made", "-o", model),
        "score, CSV": seconds("score", model, str(table), "-o", str(folder / "out.csv")),
        "score, Parquet": seconds("score", model, str(table), "-o", str(folder / "out.parquet")),
        "audit": seconds("audit", *people, "--score", "made"),
    }


def reading(folder: Path, n_columns: int) -> float:
    """CPU seconds of reading the rows to learn from, in this process."""
    table = folder / f"{n_columns}.csv"
    asked = dict(label="repaid", groups=["sex"], exclude=["made"], allow_missing=True)
    return cpu_seconds(read_training, table, **asked)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--columns", type=int, nargs="+", default=[100, 300, 1000, 3000])
    parser.add_argument("--repeats", type=int, default=1, help="the medians are told")
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        found = {}
        for n in options.columns:
            runs, loading = [], []
            for _ in range(options.repeats):
                runs.append(measure(folder, n))
                loading.append(process(LOADING).cpu)
                if n == options.columns[0] and len(runs) == 1:
                    reading(folder, n)  # imports what is imported once
                runs[-1]["reading alone"] = reading(folder, n)
            seconds_of = {command: [run[command] for run in runs] for command in runs[0]}
            found[n] = {command: np.median(taken) for command, taken in seconds_of.items()}
            for command, taken in seconds_of.items():
                record(
                    f"{command}, {n:,} columns", "loading scikit-learn and SciPy", taken, loading
                )
            first = found[options.columns[0]]
            told = "  ".join(
                f"{command} {took:.2f} s (×{took / first[command]:.1f})"
                for command, took in found[n].items()
            )
            print(f"{n:5,} columns: {told}", flush=True)


if __name__ == "__main__":
    main()
