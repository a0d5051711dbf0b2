"""The options that several commands share, those that belong together as one object."""

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from rich.console import Console
from typer import Argument, Option

from evenscore.cli.errors import say
from evenscore.files.atomic import target_file
from evenscore.gaps import RocConstraint
from evenscore.gaps.catalogue import constraint_names

Read = TypeVar("Read")

Table = Annotated[Path, Argument(help="A CSV or Parquet file.", metavar="FILE")]
Score = Annotated[str, Option(help="The column of scores.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Say nothing but errors.")]
Html = Annotated[Path | None, Option(help="Write a report to this HTML file.")]
Json = Annotated[Path | None, Option(help="Write the numbers to this JSON file.")]
Cluster = Annotated[
    list[str] | None,
    Option(
        help="A column that says which rows belong together, such as the person, household or "
        "branch: they are not taken to be independent. With several, their combinations.",
        show_default="none",
    ),
]
Seed = Annotated[int, Option(help="Random seed.")]


@dataclass(frozen=True)
class Source:
    """A file, and the columns that say who its rows are about."""

    table: Table
    label: Annotated[str, Option(help="The column of labels.")]
    group: Annotated[list[str], Option(help="A column of groups; with several, intersections.")]
    pos_label: Annotated[
        str | None, Option(help="The positive label.", show_default="1 or true")
    ] = None
    weight: Annotated[str | None, Option(help="The column of weights.")] = None
    drop_missing: Annotated[
        bool, Option("--drop-missing", help="Leave out rows that lack a value, and say so.")
    ] = False

    def read(self, reader: Callable[..., Read], *, quiet: bool, **options: Any) -> Read:
        """The rows, by `read_scores` or `read_training`."""
        with Console(stderr=True, quiet=quiet).status(f"Reading {self.table.name} …"):
            return reader(
                self.table,
                label=self.label,
                groups=self.group,
                weight=self.weight,
                pos_label=self.pos_label,
                drop_missing=self.drop_missing,
                **options,
            )


@dataclass(frozen=True)
class Gaps:
    """What should be even."""

    constraint: Annotated[
        list[str] | None, Option(help="An AUC constraint that `evenscore constraints` lists.")
    ] = None
    roc_rates: Annotated[
        str | None, Option(help="Rates of a ROC constraint, such as 0.125,0.25.")
    ] = None

    def constraints(self) -> list[str | RocConstraint]:
        """The AUC constraints by name, then the ROC constraint of both classes."""
        for name in self.constraint or []:
            if name not in constraint_names():
                known = ", ".join(constraint_names())
                raise ValueError(f"--constraint {name!r} is unknown; there are {known}.")
        rates = numbers(self.roc_rates, "--roc-rates")
        roc = [] if rates is None else [RocConstraint(on="both", rates=rates)]
        return [*(self.constraint or []), *roc]


@dataclass(frozen=True)
class Learner:
    """What kind of score to learn, and from which columns."""

    model: Annotated[
        Literal["boosted", "linear", "neural"], Option(help="The kind of score to learn.")
    ] = "boosted"
    features: Annotated[
        str | None,
        Option(help="The columns to learn from, such as a,b,c.", show_default="all others"),
    ] = None
    exclude: Annotated[
        list[str] | None, Option(help="Columns that are not features, such as id,date.")
    ] = None
    include_group: Annotated[
        bool, Option("--include-group", help="Use the columns of groups as features too.")
    ] = False
    seed: Seed = 0

    def scorer(self, constraints: list[str | RocConstraint], **options: Any) -> Any:
        """A scorer that is not fitted yet."""
        from evenscore.learning.boosted import BoostedScorer
        from evenscore.learning.linear import LinearScorer
        from evenscore.learning.neural import NeuralScorer

        if not constraints:
            raise ValueError(
                "Say what should be even: --constraint with a name that `evenscore constraints` "
                "lists, or --roc-rates."
            )
        kinds = {"boosted": BoostedScorer, "linear": LinearScorer, "neural": NeuralScorer}
        return kinds[self.model](constraints, random_state=self.seed, **options)

    def rows(self, source: Source, clusters: list[str] | None, *, quiet: bool) -> Any:
        """The rows to learn from; how many lacked a value is said, if any did."""
        from evenscore.files.features import read_training

        rows = source.read(
            read_training,
            quiet=quiet,
            clusters=clusters or (),
            features=None if self.features is None else _names([self.features]),
            exclude=_names(self.exclude or []),
            include_groups=self.include_group,
            allow_missing=self.model == "boosted",
        )
        say(rows.people.remark, quiet=quiet)
        return rows


def _names(lists: Iterable[str]) -> list[str]:
    return [name.strip() for text in lists for name in text.split(",") if name.strip()]


def numbers(text: str | None, option: str) -> tuple[float, ...] | None:
    """A list such as 0.125,0.25."""
    if text is None:
        return None
    try:
        values = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        values = ()
    if not values or not all(math.isfinite(value) for value in values):
        raise ValueError(f"{option} must be numbers such as 0.125,0.25, not {text!r}.")
    return values


def check_outputs(source: Path, *targets: Path | None) -> None:
    """Refuse to write over the input, to a folder or device, where it is forbidden, or twice."""
    taken = {source.resolve()}
    for target in filter(None, targets):
        real = target_file(target)
        folder = next(parent for parent in real.parents if parent.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise ValueError(f"{target} cannot be written: {folder} does not allow it.")
        if real in taken:
            raise ValueError(f"{target} would be written over: name another file.")
        taken.add(real)
