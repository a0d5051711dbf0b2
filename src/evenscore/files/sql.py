"""The GROUP BY of an audit as text, in the words of any database.

sqlglot translates it. Rows in which a value is missing are left out, as `--drop-missing` would; NaN
is a number to many databases, so that it is left out by its difference from itself.
"""

import math
from collections.abc import Sequence

from evenscore.extras import require
from evenscore.files.aggregated import BIN, COUNT, HIGH, LOW, SQUARE, WEIGHT
from evenscore.files.opening import quoted
from evenscore.files.people import check_roles

_BINS = 2**14


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
    >>> print(audit_query("loans", score="s", label="y", groups=["sex"]))
    SELECT
      "s",
      "y",
      "sex",
      COUNT(*) AS "n"
    FROM "loans"
    WHERE
      "s" - "s" = 0 AND NOT "y" IS NULL AND NOT "sex" IS NULL
    GROUP BY
      "s",
      "y",
      "sex";
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
    value = quoted(score)
    keys = [quoted(name) for name in (*labels, *groups)]
    first, extra = [value], []
    if bins is not None:
        low, high = _ends(bins)
        place = f"FLOOR(({value} - ({low!r})) * {_BINS / (high - low)!r})"
        within = f"CASE WHEN {value} < {low!r} THEN -1 WHEN {value} >= {high!r} THEN {_BINS} "
        first = [f"{within}ELSE {place} END"]
        extra = [f"MIN({value}) AS {quoted(LOW)}", f"MAX({value}) AS {quoted(HIGH)}"]
    shown = [f"{first[0]} AS {quoted(BIN)}"] if bins is not None else first
    sums = [f"COUNT(*) AS {quoted(COUNT)}", *extra]
    conditions = [f"{value} - {value} = 0", *(f"NOT {key} IS NULL" for key in keys)]
    if weight is not None:
        heavy = quoted(weight)
        sums += [
            f"SUM({heavy}) AS {quoted(WEIGHT)}",
            f"SUM({heavy} * {heavy}) AS {quoted(SQUARE)}",
        ]
        conditions.append(f"{heavy} - {heavy} = 0")
    parts = ".".join(quoted(part) for part in table.split("."))
    text = (
        f"SELECT {', '.join([*shown, *keys, *sums])} FROM {parts} "
        f"WHERE {' AND '.join(conditions)} GROUP BY {', '.join([*first, *keys])}"
    )
    try:
        written = sqlglot.transpile(
            text, read="duckdb", write=None if dialect == "ansi" else dialect, pretty=True,
            identify=True,
        )[0]  # fmt: skip
    except SqlglotError as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"The query cannot be written for {dialect}: {reason[:120]}.") from None
    return f"{written};"


def _ends(bins: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in bins.split(":"))
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"--bins must be two numbers such as 0:1, the smaller first, not {bins!r}."
        ) from None
    return low, high
