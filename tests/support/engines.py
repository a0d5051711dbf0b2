"""The same rows as a frame of every engine.

Rows are a pyarrow table, which tells NULL from NaN. Each function takes it and a folder to write
Parquet files to. What a component is missing for is skipped with the reason.
"""

import functools
import logging
import shutil
import warnings
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


def to_parquet(rows: pa.Table, folder: Path) -> str:
    """The path of a file of the rows, in several row groups with statistics of their own."""
    path = folder / f"rows-{len(list(folder.iterdir()))}.parquet"
    pq.write_table(rows, path, row_group_size=max(1, rows.num_rows // 3))
    return str(path)


@functools.cache
def duckdb_connection():
    return duckdb.connect()


def of_dask(rows, folder):
    return pytest.importorskip("dask.dataframe").read_parquet(to_parquet(rows, folder))


def of_ibis(rows, folder):
    return pytest.importorskip("ibis").memtable(rows)


def of_spark(rows, folder):
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Java is missing")
    return spark().read.parquet(to_parquet(rows, folder))


@functools.cache
def spark():
    """The session of this process: two cores, nothing to look at, nothing said."""
    from pyspark.sql import SparkSession

    logging.getLogger("py4j").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the address of the machine
        session = (
            SparkSession.builder.master("local[2]")
            .appName("evenscore")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.memory", "1g")
            .config("spark.sql.session.timeZone", "UTC")
            .getOrCreate()
        )
    session.sparkContext.setLogLevel("OFF")
    return session


# The quick ones, where a test may ask many questions; and the others, for one broad question each.
QUICK = {
    "pandas": lambda rows, folder: rows.to_pandas(),
    "pyarrow": lambda rows, folder: rows,
    "polars, Parquet": lambda rows, folder: pl.scan_parquet(to_parquet(rows, folder)),
    "DuckDB, Parquet": lambda rows, folder: duckdb_connection().read_parquet(
        to_parquet(rows, folder)
    ),
}
OTHERS = {"Dask": of_dask, "Ibis": of_ibis, "Spark": of_spark}
