"""`evenscore sql`: the one query that an audit needs, to be run where the data are."""

from typing import Annotated

import typer
from typer import Option

from evenscore.cli.errors import command
from evenscore.cli.options import Score
from evenscore.files.sql import audit_query


@command
def sql(
    table: Annotated[str, Option(help="The table or view, as the database names it.")],
    score: Score,
    group: Annotated[list[str], Option(help="A column of groups; with several, intersections.")],
    label: Annotated[
        str | None,
        Option(help="The column of labels.", show_default="outcomes are unknown"),
    ] = None,
    weight: Annotated[str | None, Option(help="The column of weights.")] = None,
    bins: Annotated[
        str | None,
        Option(
            help="Put scores into 16,384 bins between two ends, such as 0:1, where there are too "
            "many different ones; write --bins=-3:3 if the first is negative.",
            show_default="one row per score",
        ),
    ] = None,
    dialect: Annotated[
        str,
        Option(
            help="Of the database: duckdb, postgres, snowflake, bigquery, spark, redshift, tsql, "
            "…, or ansi."
        ),
    ] = "ansi",
) -> None:
    r"""Print the query whose answer is all that an audit needs.

    Run it where the data are, save the answer as CSV or Parquet with its column
    names, and audit that: nothing about single people leaves the database, only
    how many have which score. The query leaves out rows that lack a value.

    Example:
      evenscore sql --table loans --score s --label y --group sex \
        --dialect snowflake > query.sql
      evenscore audit answer.csv --aggregated --label y --score s --group sex
    """
    typer.echo(
        audit_query(
            table, score=score, label=label, groups=group, weight=weight, bins=bins, dialect=dialect
        )
    )
