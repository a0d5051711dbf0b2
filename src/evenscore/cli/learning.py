"""What `fit` and `tradeoff` share: the rows to learn from, the scorer by its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from evenscore.cli.errors import say_dropped
from evenscore.cli.options import ModelName
from evenscore.constraints import RocConstraint

if TYPE_CHECKING:
    from evenscore.tables import TrainingRows

__all__ = ["made_scorer", "rows_to_learn_from"]


def rows_to_learn_from(
    table: Path,
    *,
    features: str | None,
    exclude: Sequence[str] | None,
    model: ModelName,
    quiet: bool,
    **options: Any,
) -> TrainingRows:
    """Read the file as the options say, and say how many rows lacked a value, if any did."""
    from evenscore.tables import read_training

    named = None
    if features is not None:
        named = [name.strip() for name in features.split(",") if name.strip()]
    with Console(stderr=True, quiet=quiet).status(f"Reading {table.name} …"):
        rows = read_training(
            table,
            features=named,
            exclude=exclude or (),
            allow_missing=model is ModelName.boosted,
            **options,
        )
    say_dropped(rows.people, quiet=quiet)
    return rows


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
