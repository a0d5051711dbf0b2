"""Rows that are not in one file: a folder of Parquet files, a pattern of names, a DuckDB database.

They become the view `rows` of a `TableFile`, like a file, and are read by the same checks.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from evenscore.extras import require
from evenscore.files.opening import (
    TableFile,
    connected,
    listed,
    open_table,
    parquet_names,
    quoted,
)
from evenscore.files.ordinary import ordinary_file, plainly_named

_ATTACHED = "es_database"
_DATABASES = (".duckdb", ".ddb", ".db")


def input_files(path: str | PathLike[str]) -> list[Path]:
    """The ordinary files that a path stands for: one, those of a folder, or those of a pattern.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "part-1.parquet").write_bytes(b"PAR1")
    ...     [file.name for file in input_files(f"{folder}/part-*.parquet")]
    ['part-1.parquet']
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*.parquet") if not _is_hidden(file, path))
        if not files:
            raise ValueError(f"{path} is a folder without Parquet files.")
    elif _is_pattern(path):
        fixed = [part for part in path.parts if not re.search(r"[*?\[]", part)]
        start = Path(*path.parts[: next(k for k, part in enumerate(path.parts)
                                        if k >= len(fixed) or part != fixed[k])])  # fmt: skip
        files = sorted(start.glob(str(path.relative_to(start))))
        if not files:
            raise ValueError(f"No file has a name like {path}.")
    else:
        files = [path]
    return [ordinary_file(file) for file in files]


def _is_hidden(file: Path, folder: Path) -> bool:
    """Spark and others keep files beside the data whose names start so."""
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def _is_pattern(path: Path) -> bool:
    return bool(re.search(r"[*?\[]", str(path))) and not path.exists()


@contextmanager
def open_rows(
    path: str | PathLike[str],
    *,
    wanted: Sequence[str] = (),
    table: str | None = None,
    query: str | None = None,
) -> Iterator[TableFile]:
    """Open a file, a folder or pattern of Parquet files, or a DuckDB database.

    Parameters
    ----------
    path
        Where the rows are.
    wanted
        Columns that will be asked for (see `open_table`).
    table, query
        Of a database: the name of a table or view, or a query.
    """
    path = Path(path)
    database = path.suffix.lower() in _DATABASES
    if not database and (table is not None or query is not None):
        option = "--table" if table is not None else "--query"
        raise ValueError(
            f"{option} is for a DuckDB database, whose name ends in {listed(_DATABASES, 'or')}, "
            f"and {path.name} is none."
        )
    if database:
        with _database(path, table, query) as opened:
            yield opened
    elif path.is_dir() or _is_pattern(path):
        with _parts(path) as opened:
            yield opened
    else:
        with open_table(path, wanted=wanted) as opened:
            yield opened


@contextmanager
def _parts(path: Path) -> Iterator[TableFile]:
    """Parquet files with the same columns; folders named column=value add a column."""
    files = input_files(path)
    for file in files:
        with file.open("rb") as opened:
            if opened.read(4) != b"PAR1":
                raise ValueError(
                    f"{file} is not a Parquet file; a folder or a pattern is read if all its files "
                    "are."
                )
    hive = path.is_dir() and all("=" in str(file.relative_to(path)) for file in files)
    with ExitStack() as stack:
        connection = stack.enter_context(connected(path.name))
        contents = [str(plainly_named(file, stack)) for file in files]
        if hive:  # a link would lose the folders' names
            contents = [str(file.resolve()) for file in files]
        rows = connection.read_parquet(contents, hive_partitioning=hive)
        yield _viewed(path, rows, connection, parquet_names(connection, Path(contents[0])))


@contextmanager
def _database(path: Path, table: str | None, query: str | None) -> Iterator[TableFile]:
    require("Reading a DuckDB database", "duckdb")
    if (table is None) == (query is None):
        raise ValueError(f"{path.name} is a database: say which rows with --table or --query.")
    with ExitStack() as stack:
        connection = stack.enter_context(connected(path.name))
        file = str(plainly_named(ordinary_file(path), stack)).replace("'", "''")
        connection.execute(f"ATTACH '{file}' AS {_ATTACHED} (READ_ONLY)")
        known = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_catalog = ? ORDER BY ALL",
            [_ATTACHED],
        ).fetchall()
        # What is made on the way is made in memory, and names are looked for in the database, too.
        schemas = dict.fromkeys(["main", *(schema for schema, _ in known)])
        places = ",".join(f"{_ATTACHED}.{quoted(schema)}" for schema in schemas)
        connection.execute(f"SET search_path = '{places.join(['memory.main,', ''])}'")
        if query is not None:
            rows = connection.sql(f"SELECT * FROM ({query.strip().rstrip(';')})")
        else:
            names = {f"{schema}.{name}": (schema, name) for schema, name in known}
            names |= {name: (schema, name) for schema, name in reversed(known)}
            if table not in names:
                shown = listed([repr(name) for _, name in known[:20]]) if known else "none"
                raise ValueError(f"{path.name} has no table {table!r}; it has {shown}.")
            schema, name = names[table]
            rows = connection.sql(f"SELECT * FROM {_ATTACHED}.{quoted(schema)}.{quoted(name)}")
        yield _viewed(path, rows, connection, ())


def _viewed(path: Path, rows: Any, connection: Any, names: Sequence[str]) -> TableFile:
    """A relation as a table: `names` are those of its first columns, where DuckDB changes some."""
    unique = list(rows.columns)
    columns = ", ".join(f"{quoted(name)} AS c{k}" for k, name in enumerate(unique))
    relation = rows.project(columns)
    connection.execute(f"CREATE OR REPLACE TEMP VIEW rows AS {relation.sql_query()}")
    types = tuple(str(kind) for kind in rows.types)
    named = (*names, *unique[len(names) :])
    return TableFile(path, "parquet", named, types, ",", connection)
