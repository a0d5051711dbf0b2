"""What `fit` and `tradeoff` share: options, rows to learn from, the scorer by its name."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenscore.cli.errors import say
from evenscore.constraints import RocConstraint

if TYPE_CHECKING:
    from evenscore.tables import TrainingRows

__all__ = [
    "Exclude",
    "Features",
    "IncludeGroup",
    "Model",
    "ModelName",
    "Seed",
    "made_scorer",
    "rows_to_learn_from",
    "say_dropped",
]


class ModelName(StrEnum):
    """The scorers by their names on the command line."""

    boosted = "boosted"
    linear = "linear"
    neural = "neural"


Model = Annotated[ModelName, typer.Option("--model", help="What kind of score to learn.")]
Features = Annotated[
    str | None,
    typer.Option("--features", help="Columns to learn from, as a,b,c.", show_default="all others"),
]
Exclude = Annotated[
    list[str] | None, typer.Option("--exclude", help="A column that is no feature, as an id.")
]
IncludeGroup = Annotated[
    bool, typer.Option("--include-group", help="Let the columns of groups be features too.")
]
Seed = Annotated[int, typer.Option(help="Of everything random.")]


def rows_to_learn_from(
    table: Path,
    *,
    features: str | None,
    exclude: Sequence[str] | None,
    model: ModelName,
    **options: Any,
) -> TrainingRows:
    """Read the file as the options say."""
    from evenscore.tables import read_training

    named = None
    if features is not None:
        named = [name.strip() for name in features.split(",") if name.strip()]
    return read_training(
        table,
        features=named,
        exclude=exclude or (),
        allow_missing=model is ModelName.boosted,
        **options,
    )


def say_dropped(rows: TrainingRows, *, quiet: bool) -> None:
    """Say how many rows lacked a value, if any did."""
    people = rows.people
    if people.dropped and not quiet:
        say(f"{people.dropped:,} of {people.total:,} rows lack a value and were left out.")


def made_scorer(
    model: ModelName, constraints: Sequence[str | RocConstraint], seed: int, **options: Any
) -> Any:
    """A scorer that is not fitted yet."""
    from evenscore import scorers

    if not constraints:
        raise ValueError(
            "Say what should be even: --constraint with a name that `evenscore constraints` lists, "
            "or --roc-rates."
        )
    kinds = {
        ModelName.boosted: scorers.BoostedScorer,
        ModelName.linear: scorers.LinearScorer,
        ModelName.neural: scorers.NeuralScorer,
    }
    return kinds[model](list(constraints), random_state=seed, **options)
