"""The same rows as a frame of every engine.

Rows are a pyarrow table, which tells NULL from NaN. Each function takes it and a folder to write
Parquet files to. Spark is started once per process, and only where pyspark and Java are.
"""

import functools
import importlib.util
import logging
import shutil
import warnings
from pathlib import Path

import dask.dataframe as dd
import duckdb
import ibis
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

NO_SPARK = next(
    (
        f"{what} is missing"
        for what, there in (
            ("pyspark", importlib.util.find_spec("pyspark") is not None),
            ("Java", shutil.which("java") is not None),
        )
        if not there
    ),
    None,
)


def to_parquet(rows: pa.Table, folder: Path) -> str:
    """The path of a file of the rows, in several row groups with statistics of their own."""
    path = folder / f"rows-{len(list(folder.iterdir()))}.parquet"
    pq.write_table(rows, path, row_group_size=max(1, rows.num_rows // 3))
    return str(path)


def of_pandas(rows, folder):
    return rows.to_pandas()


def of_pyarrow(rows, folder):
    return rows


def of_polars(rows, folder):
    return pl.from_arrow(rows)


def of_polars_lazy(rows, folder):
    return pl.from_arrow(rows).lazy()


def of_polars_parquet(rows, folder):
    return pl.scan_parquet(to_parquet(rows, folder))


@functools.cache
def duckdb_connection():
    return duckdb.connect()


def of_duckdb(rows, folder):
    return duckdb_connection().from_arrow(rows)


def of_duckdb_parquet(rows, folder):
    return duckdb_connection().read_parquet(to_parquet(rows, folder))


def of_dask(rows, folder):
    return dd.from_pandas(rows.to_pandas(), npartitions=3)


def of_dask_parquet(rows, folder):
    return dd.read_parquet(to_parquet(rows, folder))


@functools.cache
def ibis_connection():
    return ibis.duckdb.connect()


def of_ibis(rows, folder):
    return ibis.memtable(rows)


def of_ibis_parquet(rows, folder):
    return ibis_connection().read_parquet(to_parquet(rows, folder))


def of_spark_parquet(rows, folder):
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


ENGINES = {
    "pandas": of_pandas,
    "pyarrow": of_pyarrow,
    "polars": of_polars,
    "polars, lazy": of_polars_lazy,
    "polars, Parquet": of_polars_parquet,
    "DuckDB": of_duckdb,
    "DuckDB, Parquet": of_duckdb_parquet,
    "Dask": of_dask,
    "Dask, Parquet": of_dask_parquet,
    "Ibis": of_ibis,
    "Ibis, Parquet": of_ibis_parquet,
}
SPARK = {"Spark, Parquet": of_spark_parquet}
