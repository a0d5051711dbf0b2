"""Rows that are not in one file: a folder of Parquet files, a pattern of names, a DuckDB database.

They become the view `rows` of a `TableFile`, like a file, and are read by the same checks.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
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

    Files and folders whose names start with a point or an underscore are left out, unless the
    pattern names them so.

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
        root = start_of(path)
        pattern = path.relative_to(root)
        hidden = any(part.startswith((".", "_")) for part in pattern.parts)
        files = sorted(
            file
            for file in root.glob(str(pattern))
            if not file.is_dir() and (hidden or not _is_hidden(file, root))
        )
        if not files:
            raise ValueError(f"No file has a name like {path}.")
    else:
        files = [path]
    return [ordinary_file(file) for file in files]


def start_of(path: Path) -> Path:
    """The folder below which the files of a folder or pattern are."""
    if path.is_dir():
        return path
    fixed = next((k for k, part in enumerate(path.parts) if re.search(r"[*?\[]", part)), None)
    return path.parent if fixed is None else Path(*path.parts[:fixed])


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
    root = start_of(path)
    below = [file.relative_to(root) for file in files]
    hive = all(any("=" in part for part in file.parts[:-1]) for file in below)
    with ExitStack() as stack:
        connection = stack.enter_context(connected(path.name))
        contents = [str(plainly_named(file, stack)) for file in files]
        if hive:
            contents = _linked(root, below, stack)
        names = _common_names(connection, dict(zip(contents, below, strict=True)))
        rows = connection.read_parquet(contents, hive_partitioning=hive)
        keys = {part.split("=")[0] for file in below for part in file.parts[:-1] if "=" in part}
        twice = sorted(keys & set(names)) if hive else []
        if twice:
            raise ValueError(
                f"{path.name} has the column {twice[0]!r} in its files and in the names of its "
                "folders: rename one of them."
            )
        yield _viewed(path, rows, connection, names)


def _linked(root: Path, below: Sequence[Path], stack: ExitStack) -> list[str]:
    """The same files below a folder of a plain name: only folders below `root` name values."""
    odd = next((file for file in below if re.search(r"[*?\[]", str(file))), None)
    if odd is not None:
        raise ValueError(f"{odd} has one of the characters * ? [ in its name: rename it first.")
    link = Path(stack.enter_context(TemporaryDirectory(prefix="evenscore-"))) / "rows"
    link.symlink_to(root.resolve(), target_is_directory=True)
    return [str(link / file) for file in below]


def _common_names(connection: Any, files: dict[str, Path]) -> tuple[str, ...]:
    """The names of the columns, which are the same, and of the same types, in all files."""
    sql = "SELECT file_name, name, type, num_children, converted_type, precision, scale FROM "
    columns: dict[str, list[Any]] = {}
    for file, *column in connection.execute(f"{sql} parquet_schema(?)", [[*files]]).fetchall():
        columns.setdefault(file, []).append(tuple(column))
    (first, expected), *others = columns.items()
    for file, own in others:
        if own[1:] != expected[1:]:
            differ = next(
                (name for (name, *_), other in zip(expected[1:], own[1:], strict=False)
                 if (name, *_) != other), "")  # fmt: skip
            about = f" (look at {differ!r})" if differ else ""
            one, two = files.get(first, Path(first)), files.get(file, Path(file))
            raise ValueError(
                f"{one} and {two} have different columns, or columns of different types{about}: "
                "rows are read together if all files are alike."
            )
    return parquet_names(connection, Path(first))


@contextmanager
def _database(path: Path, table: str | None, query: str | None) -> Iterator[TableFile]:
    require("Reading a DuckDB database", "duckdb")
    if table is not None and query is not None:
        raise ValueError("--table and --query both say which rows: leave one of them out.")
    if table is None and query is None:
        raise ValueError(f"{path.name} is a database: say which rows with --table or --query.")
    unsaved = path.with_name(f"{path.name}.wal")
    if unsaved.exists():
        raise ValueError(
            f"{path.name} has changes that are not in the file yet ({unsaved.name}): close the "
            "program that writes to it, or CHECKPOINT it, first."
        )
    with ExitStack() as stack:
        connection = stack.enter_context(connected(path.name))
        file = str(plainly_named(ordinary_file(path), stack)).replace("'", "''")
        connection.execute(f"ATTACH '{file}' AS {_ATTACHED} (READ_ONLY)")
        # From here on nothing else is read, and nothing is written, whatever a query asks for.
        connection.execute("SET enable_external_access = false")
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
            rows = _one_select(connection, query, path.name)
        else:
            names = {f"{schema}.{name}": (schema, name) for schema, name in known}
            names |= {name: (schema, name) for schema, name in reversed(known)}
            if table not in names:
                shown = listed([repr(_place(*one)) for one in known[:20]]) if known else "none"
                raise ValueError(f"{path.name} has no table {table!r}; it has {shown}.")
            schema, name = names[table]
            rows = connection.sql(f"SELECT * FROM {_ATTACHED}.{quoted(schema)}.{quoted(name)}")
        yield _viewed(path, rows, connection, ())


def _one_select(connection: Any, query: str, name: str) -> Any:
    """The relation of a query, which must be one SELECT."""
    import duckdb

    try:
        statements = connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise ValueError(f"The query of {name} must be one SELECT, and nothing else.")
        return connection.sql(statements[0].query)
    except duckdb.Error as error:
        reason = " ".join(str(error).split("\n\n")[0].split()).rstrip(".!")
        raise ValueError(f"The query of {name} is not understood: {reason}.") from None


def _place(schema: str, name: str) -> str:
    return name if schema == "main" else f"{schema}.{name}"


def _viewed(path: Path, rows: Any, connection: Any, names: Sequence[str]) -> TableFile:
    """A relation as a table: `names` are those of its first columns, where DuckDB changes some."""
    unique = list(rows.columns)
    columns = ", ".join(f"{quoted(name)} AS c{k}" for k, name in enumerate(unique))
    relation = rows.project(columns)
    try:
        connection.execute(f"CREATE OR REPLACE TEMP VIEW rows AS {relation.sql_query()}")
        connection.execute("SELECT 1 FROM rows LIMIT 0")
    except Exception as error:
        if "recurs" not in str(error):
            raise
        raise ValueError(
            f"{path.name} has a table called rows, which cannot be part of a query here: ask for "
            "--table rows, or for a view of it."
        ) from None
    types = tuple(str(kind) for kind in rows.types)
    named = (*names, *unique[len(names) :])
    return TableFile(path, "parquet", named, types, ",", connection)
