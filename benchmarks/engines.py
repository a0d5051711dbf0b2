"""What an audit costs where the data are: each engine against its own plain GROUP BY.

Parquet files are written once, in chunks. Each engine and law has a process of its own, which first
counts by 16,384 bins of equal width, label and group, which is the plain GROUP BY, and then makes
the table of an audit at the default cuts. Seconds are of CPU (of wall for Spark, which computes in
another process), without starting up. "Per pass" is the table over its passes, as a ratio to the
plain GROUP BY. Errors are against the rows themselves, up to 10^7 of them.

    python benchmarks/engines.py                              # 10^6 rows
    python benchmarks/engines.py --rows 1e7 --engines duckdb,polars --laws normal --out engines.json
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from measuring.ratios import record

ENGINES = ("duckdb", "polars", "dask", "spark")
LAWS = ("normal", "probabilities", "cauchy", "atoms")
CHUNK = 1_000_000
PLAIN_BINS = 2**14
NAMED = {"score": "score", "label": "label", "group": "group"}


def chunk(law: str, seed: int, n: int) -> dict[str, np.ndarray]:
    """Some people of three groups, by one of four laws."""
    rng = np.random.default_rng([LAWS.index(law), seed])
    group = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    label = rng.random(n) < 0.3
    z = rng.normal(size=n) + 0.8 * label + 0.2 * group
    if law == "probabilities":
        score = 1.0 / (1.0 + np.exp(6.0 - 1.5 * z))
    elif law == "cauchy":
        score = rng.standard_cauchy(n) + 0.8 * label + 0.2 * group
    elif law == "atoms":
        values = rng.choice([0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0], n)
        score = np.where(rng.random(n) < 0.4, values, np.exp(3.0 * z))
    else:
        score = z
    return {"score": score, "label": label.astype(np.int8), "group": group.astype(np.int8)}


def write(folder: Path, law: str, n: int) -> Path:
    """One Parquet file, written in chunks unless it is there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"{law}-{n}.parquet"
    if path.exists():
        return path
    writer = None
    for k, start in enumerate(range(0, n, CHUNK)):
        table = pa.table(chunk(law, k, min(CHUNK, n - start)))
        writer = writer or pq.ParquetWriter(path, table.schema, compression="none")
        writer.write_table(table, row_group_size=250_000)
    assert writer is not None
    writer.close()
    return path


def opened(engine: str, path: Path):
    """The file as a frame of an engine."""
    if engine == "duckdb":
        import duckdb

        return duckdb.connect(config={"threads": os.cpu_count()}).read_parquet(str(path))
    if engine == "polars":
        import polars as pl

        return pl.scan_parquet(path)
    if engine == "dask":
        import dask.dataframe as dd

        return dd.read_parquet(path, split_row_groups=8)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{os.cpu_count()}]")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session.read.parquet(str(path))


def plain(frame, low: float, high: float) -> None:
    """The engine's own GROUP BY of bins of equal width."""
    import narwhals as nw

    from evenscore.scores.survey import collected

    width = (high - low) / PLAIN_BINS
    key = ((nw.col("score") - low) / width).floor()
    lazy = nw.from_native(frame).lazy().select("label", "group", key=key)
    collected(lazy.group_by("key", "label", "group").agg(nw.len().alias("n")))


def clock(engine: str) -> float:
    if engine == "spark":
        return time.perf_counter()
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(
    engine: str, law: str, path: Path, n: int, repeats: int
) -> dict[str, float | str | list[float]]:
    """One line of the table, in this process."""
    import warnings

    import narwhals as nw

    from evenscore.gaps.cuts import DEFAULT_CUTS
    from evenscore.scores.brackets import auc_bracket
    from evenscore.scores.frames import read_frame
    from evenscore.scores.survey import collected

    warnings.simplefilter("ignore")
    frame = opened(engine, path)
    score = nw.col("score")
    ends = collected(nw.from_native(frame).lazy().select(a=score.min(), b=score.max()))
    low, high = ends["a"][0], ends["b"][0]
    plain(frame, low, high)  # whatever is slower the first time
    plains, tables, walls = [], [], []
    for _ in range(repeats):  # side by side, and the best of as many of both
        start = clock(engine)
        plain(frame, low, high)
        plains.append(clock(engine) - start)
        start, wall = clock(engine), time.perf_counter()
        reading = read_frame(frame, **NAMED, cuts=DEFAULT_CUTS)
        tables.append(clock(engine) - start)
        walls.append(time.perf_counter() - wall)
    taken, wall = min(tables), min(walls)
    peak = _peak_of(os.getpid())
    if engine == "spark":
        peak += _peak_of(frame.sparkSession.sparkContext._gateway.proc.pid)
    return {
        "engine": engine, "law": law, "rows": n, "plain": min(plains), "table": taken, "wall": wall,
        "passes": reading.passes, "ratio": taken / reading.passes / min(plains),
        "back": len(reading.scores), "bracket": auc_bracket(reading.scores),
        "error": actual_error(reading.scores, path.with_suffix(".json")), "peak_mb": peak,
        "plains": plains, "tables": tables,
    }  # fmt: skip


def _peak_of(process: int) -> float:
    """The largest memory of a process, in MB; `getrusage` would count that of its parent."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def exact_aucs(law: str, n: int) -> list[float]:
    """The AUCs between all pairs of cells, from the rows themselves."""
    parts = [chunk(law, k, min(CHUNK, n - s)) for k, s in enumerate(range(0, n, CHUNK))]
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    cell = rows["label"] * 3 + rows["group"]
    level, place = np.unique(rows["score"], return_inverse=True)
    counts = [np.bincount(place[cell == c], minlength=len(level)) for c in range(6)]
    return [_auc(counts[i], counts[j]) for i in range(6) for j in range(i)]


def actual_error(scores, known: Path) -> float:
    """By how much an AUC between two cells is off at most; NaN if that is not known."""
    if not known.exists():
        return float("nan")
    level, place = np.unique(scores.score, return_inverse=True)
    counts = [
        np.bincount(place[scores.cell == c], scores.weight[scores.cell == c], len(level))
        for c in range(6)
    ]
    found = [_auc(counts[i], counts[j]) for i in range(6) for j in range(i)]
    return float(np.abs(np.array(found) - json.loads(known.read_text())).max())


def _auc(one: np.ndarray, other: np.ndarray) -> float:
    below = np.cumsum(one) - one / 2.0
    return float(below @ other / (one.sum() * other.sum()))


HEAD = (
    "| engine | scores | rows | plain, s | table, s | wall, s | passes | per pass / plain "
    "| rows back | AUC bracket | actual error | peak MB | 10^10 rows on 64 cores, s |"
)


def line(found: dict) -> str:
    cores = os.cpu_count() if found["engine"] == "spark" else 1  # of Spark the wall was measured
    far = found["table"] / found["rows"] * 1e10 * cores / 64
    return (
        f"| {found['engine']} | {found['law']} | {found['rows']:.0e} | {found['plain']:.2f} "
        f"| {found['table']:.2f} | {found['wall']:.1f} | {found['passes']} | {found['ratio']:.2f} "
        f"| {found['back']:,} | {found['bracket']:.1e} | {found['error']:.1e} "
        f"| {found['peak_mb']:.0f} | {far:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--laws", default=",".join(LAWS))
    parser.add_argument("--repeats", type=int, default=2, help="of which the best counts")
    parser.add_argument("--folder", type=Path, help="where data are written, and kept")
    parser.add_argument("--out", type=Path, help="a JSON file for the numbers")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    n = int(asked.rows)
    if asked.one:
        path = asked.folder / f"{asked.laws}-{n}.parquet"
        print(json.dumps(measure(asked.engines, asked.laws, path, n, asked.repeats)))
        return
    found, failed = [], []
    with TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        print(HEAD + "\n|" + "---|" * (HEAD.count("|") - 1), flush=True)
        for law in asked.laws.split(","):
            path = write(folder, law, n)
            known = path.with_suffix(".json")
            if n <= 10_000_000 and not known.exists():
                known.write_text(json.dumps(exact_aucs(law, n)))
            for engine in asked.engines.split(","):
                command = [sys.executable, __file__, "--one", "--rows", str(n), "--laws", law]
                command += ["--engines", engine, "--folder", str(folder)]
                command += ["--repeats", str(asked.repeats)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    reason = (done.stderr.strip() or "no message").splitlines()[-1]
                    print(f"| {engine} | {law} | {n:.0e} | failed: {reason} |", flush=True)
                    failed.append(f"{engine} ({law}): {reason}")
                    continue
                found.append(json.loads(done.stdout.splitlines()[-1]))
                print(line(found[-1]), flush=True)
                per_pass = [taken / found[-1]["passes"] for taken in found[-1]["tables"]]
                name = f"table of an audit per pass, {engine}, {law}, {n:,} rows"
                record(name, "its plain GROUP BY", per_pass, found[-1]["plains"])
    if asked.out:
        asked.out.write_text(json.dumps(found, indent=1))
    if failed:
        raise SystemExit(f"Failed: {'; '.join(failed)}")


if __name__ == "__main__":
    main()
