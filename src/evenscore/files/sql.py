"""The GROUP BY of an audit as text, in the words of any database.

sqlglot translates it. Rows in which a value is missing are left out, as `--drop-missing` would; NaN
is a number to many databases, so that it is left out by its difference from itself.
"""

import math
import re
from collections.abc import Sequence

from evenscore.extras import require
from evenscore.files.aggregated import BIN, COUNT, HIGH, LEAST, LOW, SQUARE, WEIGHT
from evenscore.files.opening import quoted
from evenscore.files.people import check_roles

_BINS = 2**14
_OWN = {BIN, COUNT, HIGH, LEAST, LOW, SQUARE, WEIGHT}


def audit_query(
    table: str,
    *,
    score: str,
    label: str | None,
    groups: Sequence[str],
    weight: str | None = None,
    bins: str | None = None,
    dialect: str = "ansi",
) -> str:
    """The query whose answer `evenscore audit --aggregated` reads.

    Parameters
    ----------
    table
        The table, as the database names it; a dotted name is one of a schema.
    score, label, groups, weight
        Columns.
    bins
        Two ends, such as "0:1", between which scores are put into bins; None: every score.
    dialect
        One that sqlglot knows, or "ansi".

    Returns
    -------
    str
        The query, which ends with a semicolon.

    Examples
    --------
    >>> print(audit_query("loans", score="s", label="y", groups=["Sex"]))
    SELECT
      s,
      y,
      "Sex",
      COUNT(*) AS n
    FROM loans
    WHERE
      s - s = 0 AND NOT y IS NULL AND NOT "Sex" IS NULL
    GROUP BY
      s,
      y,
      "Sex";
    """
    require("Writing a query", "sqlglot")
    import sqlglot
    from sqlglot.errors import SqlglotError

    labels = [] if label is None else [label]
    weights = [] if weight is None else [weight]
    check_roles(label=labels, score=[score], group=groups, weight=weights)
    if not table.strip():
        raise ValueError("Name the table with --table.")
    known = sorted(filter(None, sqlglot.Dialect.classes))
    if dialect not in ("ansi", *known):
        raise ValueError(f"--dialect must be ansi or one of {', '.join(known)}, not {dialect!r}.")
    taken = next((name for name in (*labels, score, *groups) if name.lower() in _OWN), None)
    if taken is not None:
        raise ValueError(f"The answer has a column {taken!r} of its own: rename yours in a view.")
    value = _name(score)
    keys = [_name(name) for name in (*labels, *groups)]
    first, extra = [value], []
    if bins is not None:
        low, high = _ends(bins)
        place = f"FLOOR(({value} - ({low!r})) * {_BINS / (high - low)!r})"
        within = f"CASE WHEN {value} < {low!r} THEN -1 WHEN {value} >= {high!r} THEN {_BINS} "
        first = [f"{within}ELSE {place} END"]
        extra = [f"MIN({value}) AS {LOW}", f"MAX({value}) AS {HIGH}"]
    shown = [f"{first[0]} AS {BIN}"] if bins is not None else first
    sums = [f"COUNT(*) AS {COUNT}", *extra]
    conditions = [f"{value} - {value} = 0", *(f"NOT {key} IS NULL" for key in keys)]
    if weight is not None:
        heavy = _name(weight)
        sums[0] = f"SUM(CASE WHEN {heavy} > 0 THEN 1 ELSE 0 END) AS {COUNT}"
        sums += [
            f"SUM({heavy}) AS {WEIGHT}",
            f"SUM({heavy} * {heavy}) AS {SQUARE}",
            f"MIN({heavy}) AS {LEAST}",
        ]
        conditions.append(f"{heavy} - {heavy} = 0")
    parts = ".".join(_name(part) for part in table.split("."))
    text = (
        f"SELECT {', '.join([*shown, *keys, *sums])} FROM {parts} "
        f"WHERE {' AND '.join(conditions)} GROUP BY {', '.join([*first, *keys])}"
    )
    try:
        written = sqlglot.transpile(
            text, read="duckdb", write=None if dialect == "ansi" else dialect, pretty=True,
        )[0]  # fmt: skip
    except SqlglotError as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"The query cannot be written for {dialect}: {reason[:120]}.") from None
    return f"{written};"


def _name(name: str) -> str:
    """A name, in quotes if it needs them: some databases take names in quotes by their letters."""
    from sqlglot.tokens import Tokenizer

    plain = re.fullmatch(r"[a-z_][a-z0-9_]*", name) and name.upper() not in Tokenizer.KEYWORDS
    return name if plain else quoted(name)


def _ends(bins: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in bins.split(":"))
        if not (low < high and 0.0 < _BINS / (high - low) < math.inf):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"--bins must be two numbers such as 0:1, the smaller first, not {bins!r}."
        ) from None
    return low, high
