"""Opening a table: CSV or Parquet by content, its columns by name, its rows by SQL."""

import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from evenscore.extras import require

_DELIMITERS = (",", ";", "\t", "|")
_SHOWN = 20  # columns in a sentence
# Characters of the aggregates of one query: DuckDB plans it in a time that grows with their square.
# Looking closely at 300 columns took 0.8 s so, some 20 at a time, 1.0 s by 10 or by 50 of them, and
# 3.8 s all at once. How reading grows is measured by benchmarks/wide_files.py.
_AT_ONCE = 10_000


@dataclass(frozen=True, eq=False)
class TableFile:
    """An open table. In SQL it is the view `rows`, whose columns are c0, c1, …

    Queries speak of c0, c1, … alone. Names from a file are part of SQL in two places, there as
    `quoted` identifiers: where the view of a Parquet file is made, and where `write_beside` names
    the columns it writes. The file's own name is never part of the SQL that opens it. CSV columns
    are texts, as they are written; those of Parquet have their types.
    """

    path: Path
    kind: Literal["csv", "parquet"]
    names: tuple[str, ...]
    types: tuple[str, ...]
    delimiter: str
    connection: Any

    @property
    def name(self) -> str:
        """The file's name in sentences."""
        return self.path.name

    def column(self, name: str) -> str:
        """The SQL name of a column; one sentence if there is none, or more than one."""
        positions = self._positions.get(name, [])
        if len(positions) > 1:
            raise ValueError(f"{self.name} has {len(positions)} columns called {name!r}.")
        if positions:
            return f"c{positions[0]}"
        shown = ", ".join(repr(known) for known in self.names[:_SHOWN])
        more = ", …" if len(self.names) > _SHOWN else ""
        alike = {known.casefold(): known for known in reversed(self.names)}
        near = get_close_matches(name.casefold(), list(alike), n=1)
        hint = f" (did you mean {alike[near[0]]!r}?)" if near else ""
        raise ValueError(f"{self.name} has no column {name!r}{hint}; it has {shown}{more}.")

    @cached_property
    def _positions(self) -> dict[str, list[int]]:
        """Where the columns of a name are."""
        positions: dict[str, list[int]] = {}
        for k, name in enumerate(self.names):
            positions.setdefault(name, []).append(k)
        return positions

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Run SQL and give DuckDB's connection, to fetch from; errors become one sentence."""
        with _in_one_sentence(self.name):
            return self.connection.execute(sql, list(parameters))

    def one(self, sql: str, parameters: Sequence[Any] = ()) -> tuple[Any, ...]:
        """The only row of a query's answer."""
        [row] = self.query(sql, parameters).fetchall()
        return tuple(row)

    def aggregates(self, expressions: Sequence[str]) -> list[Any]:
        """The values of aggregates over all rows, however many there are, some at a time."""
        values: list[Any] = []
        start = 0
        while start < len(expressions):
            stop, length = start, 0
            while stop < len(expressions) and (stop == start or length < _AT_ONCE):
                length += len(expressions[stop])
                stop += 1
            values += self.one(f"SELECT {', '.join(expressions[start:stop])} FROM rows")
            start = stop
        return values

    def arrays(self, sql: str) -> dict[str, Any]:
        """The columns of a query's answer as NumPy arrays, rows in the file's order."""
        with _in_one_sentence(self.name):
            return dict(self.query(sql).fetchnumpy())

    def hold(self, columns: Sequence[str]) -> None:
        """Keep some columns of a CSV file in memory, so that it is parsed once; only they remain.

        Parquet files are left where they are: reading a column of them again costs little.
        """
        if self.kind == "csv":
            kept = ", ".join(sorted(set(columns)))
            self.query(f"CREATE TABLE held AS SELECT {kept} FROM rows")
            # A table, not a view of it: every query of a view looks at all its columns first.
            self.query("DROP VIEW rows")
            self.query("ALTER TABLE held RENAME TO rows")

    def first_row(self, condition: str) -> int:
        """The number, from 1, of the first row that meets a condition."""
        numbered = f"SELECT row_number() OVER () AS r, {condition} AS met FROM rows"
        return int(self.one(f"SELECT min(r) FROM ({numbered}) WHERE met")[0])


@contextmanager
def open_table(path: str | PathLike[str], *, wanted: Sequence[str] = ()) -> Iterator[TableFile]:
    """Open a CSV file (plain or gzip) or a Parquet file; what it is, its first bytes tell.

    The delimiter of a CSV file (comma, semicolon, tab or |) is the one with which its header has
    the most of the columns `wanted`, then the most columns at all. A byte order mark is skipped.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.csv"
    ...     _ = path.write_bytes(b"score;sex" + bytes([10]) + b"0,5;f")
    ...     with open_table(path, wanted=["sex"]) as table:
    ...         table.names, table.query("SELECT c1 FROM rows").fetchall()
    (('score', 'sex'), [('f',)])
    """
    require("Reading a CSV or Parquet file", "duckdb")
    import duckdb

    path = Path(path)
    first = _first_bytes(path)
    config: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        # The statistics of a Parquet file leave NaN out: DuckDB would answer by them that there is
        # none, and never look at the values.
        "disabled_optimizers": "statistics_propagation",
    }
    with duckdb.connect(config=config) as connection, _in_one_sentence(path.name):
        # DuckDB's progress bar would be drawn where there is no terminal, too.
        connection.execute("SET enable_progress_bar = false")
        if first[:4] == b"PAR1":
            yield _parquet(path, connection)
        else:
            yield _csv(path, connection, wanted, packed=first[:2] == b"\x1f\x8b")


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            first = file.read(4096)
    except FileNotFoundError:
        raise ValueError(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise ValueError(f"{path} is a folder, not a file.") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
    if not path.is_file():  # a pipe can be read only once
        raise ValueError(f"{path} is no ordinary file: save the rows to one first.")
    if not first:
        raise ValueError(f"{path.name} is empty: not even a header is in it.")
    if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError(f"{path.name} is UTF-16 text: save it as UTF-8.")
    if first[:4] == b"PK\x03\x04":
        raise ValueError(
            f"{path.name} is a zip archive, perhaps of a spreadsheet: save it as CSV or Parquet."
        )
    return first


def _literal(path: Path) -> str:
    """The path as DuckDB takes it: absolute, and nothing in it is a pattern."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path.resolve()))


def _parquet(path: Path, connection: Any) -> TableFile:
    rows = connection.read_parquet(_literal(path), hive_partitioning=False)
    names, types = tuple(rows.columns), tuple(str(kind) for kind in rows.types)
    columns = ", ".join(f"{quoted(name)} AS c{k}" for k, name in enumerate(names))
    rows.project(columns).create_view("rows")
    return TableFile(path, "parquet", names, types, ",", connection)


def _csv(path: Path, connection: Any, wanted: Sequence[str], *, packed: bool) -> TableFile:
    delimiter, names = _header(path, wanted, packed=packed)
    connection.read_csv(
        _literal(path),
        header=True,
        auto_detect=False,
        columns={f"c{k}": "VARCHAR" for k in range(len(names))},
        delimiter=delimiter,
        quotechar='"',
        escapechar='"',
        compression="gzip" if packed else "none",
    ).create_view("rows")
    return TableFile(path, "csv", names, ("VARCHAR",) * len(names), delimiter, connection)


def _header(path: Path, wanted: Sequence[str], *, packed: bool) -> tuple[str, tuple[str, ...]]:
    """The delimiter and the names of the columns, without spaces around them."""
    headers = []
    for delimiter in _DELIMITERS:
        try:
            with path.open("rb") as raw:
                unpacked: Any = gzip.GzipFile(fileobj=raw) if packed else raw
                text = io.TextIOWrapper(unpacked, encoding="utf-8-sig", newline="")
                cells = next(csv.reader(text, delimiter=delimiter), [])
        except UnicodeDecodeError:
            raise ValueError(f"{path.name} is not UTF-8 text: save it as UTF-8.") from None
        except (csv.Error, OSError, EOFError) as error:
            raise ValueError(f"The header of {path.name} cannot be read: {error}.") from None
        headers.append((delimiter, tuple(cell.strip() for cell in cells)))
    delimiter, names = max(
        headers, key=lambda pair: (sum(name in pair[1] for name in wanted), len(pair[1]))
    )
    if not any(names):
        raise ValueError(f"The first line of {path.name} is empty: its header must be there.")
    return delimiter, names


@contextmanager
def _in_one_sentence(name: str) -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise ValueError(_sentence(name, str(error))) from None


def _sentence(name: str, message: str) -> str:
    """What DuckDB says, in one sentence."""
    line = re.search(r"on Line: (\d+)", message)
    at = f" on line {int(line[1]):,}" if line else ""
    cells = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if cells:
        values = "1 value" if cells[2] == "1" else f"{cells[2]} values"
        return f"{name} has {values}{at}, but {cells[1]} in its header."
    if "unterminated quote" in message:
        return f"{name} has a quote{at} that is never closed."
    if "utf-8" in message.lower() or "unicode" in message.lower():
        return f"{name} is not UTF-8 text{at}: save it as UTF-8."
    if "aximum line size" in message:
        return f"{name} has a line{at} that is too long: is a quote not closed?"
    if "invalid state" in message:
        return f"{name} is no proper CSV: its quotes do not match, or its line ends are mixed."
    first = " ".join(message.split("\n")[0].split()).rstrip(".")
    first = re.sub(r"^[A-Z][\w /]*(Error|Exception): ", "", first)
    return f"{name} cannot be read: {first}."
