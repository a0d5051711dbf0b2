"""Opening a table: CSV or Parquet by content, its columns by name, its rows by SQL."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from evenscore.extras import require
from evenscore.files.csv_text import CALLED, as_utf8, encoding_of, read_header
from evenscore.files.ordinary import ordinary_file, plainly_named
from evenscore.scores.labels import shown

_SHOWN = 20  # columns in a sentence
_SPREADSHEETS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # .xlsx and .ods are zip archives; .xls
# Characters of the aggregates of one query: DuckDB plans it in a time that grows with their square.
# Looking closely at 300 columns took 0.8 s so, some 20 at a time, 1.0 s by 10 or by 50 of them, and
# 3.8 s all at once. How reading grows is measured by benchmarks/wide_files.py.
_AT_ONCE = 10_000


class AdvisedError(ValueError):
    """A refusal that knows what to ask for instead.

    `instead` has another name for each that was wrong; each of `options` is one way on, as further
    options of the command.
    """

    def __init__(
        self,
        sentence: str,
        *,
        instead: Mapping[str, str] | None = None,
        options: Sequence[tuple[str, ...]] = (),
    ) -> None:
        super().__init__(sentence)
        self.instead = {**(instead or {})}
        self.options = tuple(options)


@dataclass(frozen=True, eq=False)
class TableFile:
    """An open table. In SQL it is the view `rows`, whose columns are c0, c1, …

    Queries speak of c0, c1, … alone. Names from a file are part of SQL in two places, there as
    `quoted` identifiers: where the view of a Parquet file is made, and where `write_beside` names
    the columns it writes. The file's own name is never part of the SQL that opens it. CSV columns
    are texts, as they are written; those of Parquet have their types. `notes` are sentences about
    how the file was read.
    """

    path: Path
    kind: Literal["csv", "parquet"]
    names: tuple[str, ...]
    types: tuple[str, ...]
    delimiter: str
    connection: Any
    notes: list[str] = field(default_factory=list)
    _equal: dict[str, bool] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The file's name in sentences."""
        return self.path.name

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What each column can be called: its name, or name#1, name#2, … if several have it."""
        labels = []
        for k, name in enumerate(self.names):
            alike = self._positions[name]
            numbered = f"{name}#{alike.index(k) + 1}" if len(alike) > 1 else name
            labels.append(numbered if name else f"{UNNAMED} {k}")
        return tuple(labels)

    def require(self, names: Sequence[str]) -> None:
        """Refuse, in one sentence, all the names that no column has."""
        missing = [name for name in dict.fromkeys(names) if not self._has(name)]
        if not missing:
            return
        alike = {known.casefold(): known for known in reversed(self.labels)}
        instead, told = {}, []
        for name in missing:
            near = get_close_matches(name.casefold(), list(alike), n=1)
            if near:
                instead[name] = alike[near[0]]
            hint = f" (did you mean {shown(instead[name])}?)" if near else ""
            told.append(f"{shown(name)}{hint}")
        those = ", ".join(map(shown, self.labels[:_SHOWN]))
        more = ", …" if len(self.labels) > _SHOWN else ""
        columns = "column" if len(missing) == 1 else "columns"
        sentence = f"{self.name} has no {columns} {listed(told)}; it has {those}{more}."
        raise AdvisedError(sentence, instead=instead if len(instead) == len(missing) else None)

    def column(self, name: str) -> str:
        """The SQL name of a column; one sentence if there is none, or several that differ.

        Several columns of one name that hold the same are taken as one.
        """
        self.require([name])
        positions = self._positions.get(name, [])
        if len(positions) > 1 and not self.equal(name):
            known = [f"{name}#{k + 1}" for k in range(len(positions))]
            raise AdvisedError(
                f"{self.name} has {len(positions)} columns called {shown(name)}, and they differ: "
                f"say which one you mean, {listed([*map(shown, known[:_SHOWN])], 'or')}.",
                instead={name: known[0]},
            )
        return f"c{positions[0] if positions else self.labels.index(name)}"

    def equal(self, name: str) -> bool:
        """Whether the columns of one name hold the same in every row; that is noted."""
        if name not in self._equal:
            first, *others = (f"c{k}" for k in self._positions[name])
            differ = " OR ".join(f"{first} IS DISTINCT FROM {other}" for other in others)
            if len({self.types[k] for k in self._positions[name]}) > 1:
                differ = "true"
            [n] = self.one(f"SELECT count(*) FROM rows WHERE {differ}")
            self._equal[name] = n == 0
            if n == 0:
                self.notes.append(
                    f"{self.name} has {len(others) + 1} columns called {name!r}, which hold the "
                    "same in every row: they were taken as one."
                )
        return self._equal[name]

    def separate(self, left_out: Sequence[str]) -> list[str]:
        """The columns but those left out; several of one name are one, if they hold the same.

        Those that differ are noted.
        """
        separate: dict[str, None] = {}
        for label, name in zip(self.labels, self.names, strict=True):
            if label in left_out or (name and name in left_out):
                continue
            several = bool(name) and len(self._positions[name]) > 1
            separate[name if several and self.equal(name) else label] = None
        for name in [name for name, equal in self._equal.items() if not equal]:
            known = [repr(label) for label in separate if label in self.matching(name)[1:]]
            if len(known) > 1:
                self.notes.append(
                    f"{self.name} has {len(known)} columns called {name!r} that differ: here they "
                    f"are {listed(known)}."
                )
        return [*separate]

    def matching(self, name: str) -> list[str]:
        """The labels of the columns that a name stands for."""
        return [*dict.fromkeys((name, *(self.labels[k] for k in self._positions.get(name, []))))]

    def list_of(self, texts: Sequence[str]) -> list[str]:
        """The names in lists such as "id,date"; a name may itself have commas."""
        names: list[str] = []
        for text in texts:
            parts = [part.strip() for part in text.split(",")]
            while parts:
                joined = (",".join(parts[:k]) for k in range(len(parts), 1, -1))
                spaced = {re.sub(r"\s*,\s*", ",", name): name for name in self.labels}
                known = next((name for name in joined if name in spaced), None)
                names.append(parts[0] if known is None else spaced[known])
                parts = parts[1 if known is None else known.count(",") + 1 :]
        return [*filter(None, names)]

    def _has(self, name: str) -> bool:
        return bool(name) and (name in self._positions or name in self.labels)

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

    def query_relation(self, sql: str) -> Any:
        """The rows of a query as a DuckDB relation, which is computed when it is asked."""
        with _in_one_sentence(self.name):
            return self.connection.sql(sql)

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
            # Constants alone would be given for every row: one more aggregate makes it one answer.
            some = ", ".join([*expressions[start:stop], "count(*)"])
            values += self.one(f"SELECT {some} FROM rows")[:-1]
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

    def add(self, columns: Mapping[str, str]) -> None:
        """Add columns to those held in memory, SQL by name."""
        added = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
        self.query(f"CREATE TABLE more AS SELECT *, {added} FROM rows")
        self.query("DROP TABLE rows")
        self.query("ALTER TABLE more RENAME TO rows")

    def drop_blank(self) -> None:
        """Leave out, and note, the rows of a CSV file that are empty in every column held."""
        if self.kind == "csv":
            held = [row[0] for row in self.query("DESCRIBE rows").fetchall()]
            blank = " AND ".join(f"{name} IS NULL" for name in held)
            [n] = self.one(f"SELECT count(*) FROM rows WHERE {blank}")
            if n:
                self.query(f"DELETE FROM rows WHERE {blank}")
                rows = "1 row was" if n == 1 else f"{n:,} rows were"
                self.notes.append(
                    f"{rows} left out of {self.name}: empty in every column that is used."
                )

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
    path = Path(path)
    first = _first_bytes(path)
    with ExitStack() as stack:
        connection = stack.enter_context(connected(path.name))
        content = plainly_named(path, stack)
        if first[:4] == b"PAR1":
            yield _parquet(path, content, connection)
            return
        packed = first[:2] == b"\x1f\x8b"
        encoding = "utf-8" if packed else encoding_of(path, first)
        if encoding == "utf-8":
            yield _csv(path, content, connection, wanted, packed=packed)
            return
        folder = stack.enter_context(TemporaryDirectory(prefix="evenscore-"))
        table = _csv(path, as_utf8(path, encoding, folder), connection, wanted, packed=False)
        table.notes.append(f"{path.name} was read as {CALLED[encoding]} text: it is not UTF-8.")
        yield table


@contextmanager
def connected(name: str) -> Iterator[Any]:
    """A DuckDB connection of our own; what DuckDB says is said in one sentence about `name`."""
    require("Reading a CSV or Parquet file", "duckdb")
    import duckdb

    config: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        # The statistics of a Parquet file leave NaN out: DuckDB would answer by them that there is
        # none, and never look at the values.
        "disabled_optimizers": "statistics_propagation",
    }
    with ExitStack() as stack:
        stack.enter_context(_in_one_sentence(name))
        connection = stack.enter_context(duckdb.connect(config=config))
        # DuckDB's progress bar would be drawn where there is no terminal, too.
        connection.execute("SET enable_progress_bar = false")
        yield connection


UNNAMED = "Unnamed:"
"""What a column without a name is called, before its number."""


def listed(texts: Sequence[str], last: str = "and") -> str:
    """Texts in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return f" {last} ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _first_bytes(path: Path) -> bytes:
    try:
        with ordinary_file(path).open("rb") as file:
            first = file.read(4096)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
    if not first:
        raise ValueError(f"{path.name} is empty: not even a header is in it.")
    if first[:4] in _SPREADSHEETS:
        raise ValueError(
            f"{path.name} is a spreadsheet or a zip archive: export it as CSV or Parquet."
        )
    return first


def _parquet(path: Path, content: Path, connection: Any) -> TableFile:
    try:
        rows = connection.read_parquet(str(content), hive_partitioning=False)
        unique, types = rows.columns, tuple(str(kind) for kind in rows.types)
    except (RuntimeError, UnicodeDecodeError) as error:  # the first by newer versions of DuckDB
        if isinstance(error, RuntimeError) and "conversion" not in str(error):
            raise
        raise ValueError(f"{path.name} has column names that are not UTF-8 text.") from None
    # DuckDB takes "Score" beside "score", or a second "score", by another name: by place, they
    # have their own.
    columns = ", ".join(f"{quoted(name)} AS c{k}" for k, name in enumerate(unique))
    rows.project(columns).create_view("rows")
    names = parquet_names(connection, content)
    return TableFile(path, "parquet", names, types, ",", connection)


def parquet_names(connection: Any, content: Path) -> tuple[str, ...]:
    """The names of a Parquet file's columns as they are written, without those of nested values."""
    sql = "SELECT name, num_children FROM parquet_schema(?)"
    names = []
    entries = iter(connection.execute(sql, [str(content)]).fetchall()[1:])
    for name, children in entries:
        names.append(name)
        within = children or 0  # entries that belong to this column
        while within:
            within += (next(entries)[1] or 0) - 1
    return tuple(names)


def _csv(
    path: Path, content: Path, connection: Any, wanted: Sequence[str], *, packed: bool
) -> TableFile:
    """The table of that path, whose `content` may be a copy of it as UTF-8."""
    delimiter, names, above = read_header(path, content, wanted, packed=packed)
    connection.read_csv(
        str(content),
        header=True,
        skiprows=above,
        auto_detect=False,
        columns={f"c{k}": "VARCHAR" for k in range(len(names))},
        delimiter=delimiter,
        quotechar='"',
        escapechar='"',
        compression="gzip" if packed else "none",
    ).create_view("rows")
    return TableFile(path, "csv", names, ("VARCHAR",) * len(names), delimiter, connection)


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
        return (
            f"{name} is not a proper CSV file: its quotes do not match, or its line ends are mixed."
        )
    first = " ".join(message.split("\n")[0].split()).rstrip(".")
    first = re.sub(r"^[A-Z][\w /]*(Error|Exception): ", "", first)
    return f"{name} cannot be read: {first}."
