"""The options that several commands share, those that belong together as one object."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from filecmp import cmp
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np
from typer import Argument, Option

from evenscore.cli.errors import say, working
from evenscore.files.atomic import target_file
from evenscore.files.collections import input_files
from evenscore.files.notation import Decimal as DecimalMark
from evenscore.files.opening import AdvisedError
from evenscore.files.people import People
from evenscore.gaps import AucConstraint, Cuts, GapFamily, RateConstraint, RocConstraint
from evenscore.gaps.catalogue import constraint_names
from evenscore.gaps.cuts import DEFAULT_CUTS
from evenscore.gaps.words import SelectedIs, Words
from evenscore.inference.estimate import check_between

if TYPE_CHECKING:
    from evenscore.files.features import TrainingRows

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
Decimal = Annotated[
    DecimalMark,
    Option(
        help="How decimals are written where a column of a CSV file does not show it: is 1,234 "
        "more than a thousand (point), or 1.234 (comma)? By default such a column is refused."
    ),
]


@dataclass(frozen=True)
class _Columns:
    """A file, and the columns that say who its rows are about."""

    table: Table
    group: Annotated[list[str], Option(help="A column of groups; with several, intersections.")]
    pos_label: Annotated[
        str | None, Option(help="The positive label.", show_default="1 or true")
    ] = None
    weight: Annotated[str | None, Option(help="The column of weights.")] = None
    drop_missing: Annotated[
        bool, Option("--drop-missing", help="Leave out rows that lack a value, and say so.")
    ] = False
    decimal: Decimal = "auto"

    def read(self, reader: Callable[..., Read], *, quiet: bool, **options: Any) -> Read:
        """The rows, by `read_scores` or `read_training`."""
        with working(f"Reading {self.table.name} …", quiet=quiet):
            return reader(
                self.table,
                groups=self.group,
                weight=self.weight,
                pos_label=self.pos_label,
                drop_missing=self.drop_missing,
                decimal=self.decimal,
                **options,
            )


@dataclass(frozen=True, kw_only=True)
class Source(_Columns):
    """A file whose rows have labels."""

    label: Annotated[str, Option(help="The column of labels.")]

    def read(self, reader: Callable[..., Read], *, quiet: bool, **options: Any) -> Read:
        """The rows, with their labels."""
        return super().read(reader, quiet=quiet, label=self.label, **options)


@dataclass(frozen=True, kw_only=True)
class AuditedSource(_Columns):
    """Rows that may have no labels, in a file or where else data are, or a table of them."""

    table: Annotated[
        Path,
        Argument(
            help="A CSV or Parquet file, a folder of Parquet files or a pattern of their names, a "
            "DuckDB database, or a table that --save wrote.",
            metavar="FILE",
        ),
    ]
    group: Annotated[
        list[str], Option(help="A column of groups; with several, intersections.")
    ] = ()  # type: ignore[assignment]
    label: Annotated[
        str | None,
        Option(
            help="The column of labels. Without it, who is selected is audited alone.",
            show_default="outcomes are unknown",
        ),
    ] = None
    table_name: Annotated[
        str | None, Option("--table", help="A table or view of the DuckDB database.")
    ] = None
    query: Annotated[
        str | None, Option(help="A query of the DuckDB database, whose rows are audited.")
    ] = None
    aggregated: Annotated[
        bool,
        Option(
            "--aggregated",
            help="The file is the answer to the query of `evenscore sql`: one row per score (or "
            "bin), label and group, with the number of people in n.",
        ),
    ] = False
    accuracy: Annotated[
        float,
        Option(
            help="By how much bins may leave an AUC uncertain, where more than a million rows "
            "have their scores put into bins; 0 asks for every score."
        ),
    ] = 1e-4
    bins_of: Annotated[
        str | None,
        Option(help="A table that --save wrote: use its bins, so that the two can be merged."),
    ] = None

    def read(self, reader: Callable[..., Read], *, quiet: bool, **options: Any) -> Read:
        """The rows, with their labels if there are any."""
        return super().read(reader, quiet=quiet, label=self.label, **options)


@dataclass(frozen=True)
class Gaps:
    """What should be equal between groups, and at which cuts."""

    cuts: Annotated[
        str | None,
        Option(
            help="The cuts that will be used: everyone=0.1:0.4 for every cut that selects 10 % to "
            "40 % of everyone; of negatives or positives instead; shares such as "
            "everyone=0.1,0.2; or thresholds=600,650.",
            show_default="everyone=0.05:0.5",
        ),
    ] = None
    equal: Annotated[
        str | None,
        Option(
            help="The rates that should be equal at these cuts, such as fpr,fnr; "
            "`evenscore constraints` lists them."
        ),
    ] = None
    select: Annotated[
        Literal["high", "low"], Option(help="Whether high or low scores are selected.")
    ] = "high"
    inclusive: Annotated[
        bool, Option("--inclusive", help="Whoever has exactly the threshold is selected too.")
    ] = False
    constraint: Annotated[
        list[str] | None,
        Option(
            help="An AUC constraint that `evenscore constraints` lists, or two AUCs that should be "
            'equal, such as "H0,G0 = H1,G1".'
        ),
    ] = None
    roc_rates: Annotated[
        str | None,
        Option(
            help="Rates of the paper's ROC constraint, such as 0.125,0.25, or an interval of them, "
            "such as 0:0.25."
        ),
    ] = None
    on: Annotated[
        Literal["negatives", "positives", "both"],
        Option(help="The class, or both, that --roc-rates is about."),
    ] = "both"

    def where(self) -> Cuts:
        """The cuts that will be used."""
        if self.cuts is None:
            return replace(DEFAULT_CUTS, selected=self.select, inclusive=self.inclusive)
        return Cuts.parse(self.cuts, selected=self.select, inclusive=self.inclusive)

    def rates(self) -> tuple[str, ...]:
        """The rates that should be equal; both errors, if only cuts are given, and else none."""
        if self.equal is None:
            return () if self.cuts is None else ("fpr", "fnr")
        return tuple(name.strip() for name in self.equal.split(","))

    def constraints(self) -> list[str | GapFamily]:
        """The rates at the cuts, the AUC constraints by name, then the ROC constraint."""
        names = self.rates()
        at_cuts = [RateConstraint(*names, cuts=self.where())] if names else []
        return [*at_cuts, *self.others()]

    def others(self) -> list[str | GapFamily]:
        """The AUC constraints by name, then the ROC constraint."""
        named: list[str | GapFamily] = []
        for name in self.constraint or []:
            if "=" not in name and name not in constraint_names():
                known = ", ".join(constraint_names())
                raise ValueError(f"--constraint {name!r} is unknown; there are {known}.")
            named.append(AucConstraint.parse(name) if "=" in name else name)
        return [*named, *self._roc()]

    def _roc(self) -> list[RocConstraint]:
        """At some rates, or over an interval of them."""
        if self.roc_rates is None or ":" not in self.roc_rates:
            rates = numbers(self.roc_rates, "--roc-rates")
            return [] if rates is None else [RocConstraint(on=self.on, rates=rates)]
        try:
            low, high = (float(end) for end in self.roc_rates.split(":"))
        except ValueError:
            raise ValueError(
                f"--roc-rates takes rates such as 0.125,0.25 or an interval such as 0:0.25, not "
                f"{self.roc_rates!r}."
            ) from None
        return [RocConstraint(on=self.on, interval=(low, high))]


@dataclass(frozen=True)
class Learner:
    """What kind of score to learn, and from which columns."""

    model: Annotated[
        Literal["even", "linear"],
        Option(
            help="The kind of score to learn: even, over a classifier's chances, or linear, with "
            "one weight per feature."
        ),
    ] = "even"
    estimator: Annotated[
        Literal["blend", "trees", "logistic"],
        Option(help="The classifier of --model even: boosted trees, a logistic regression, both."),
    ] = "blend"
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

    def scorer(self, constraints: list[str | GapFamily], tolerance: float | None = None) -> Any:
        """A scorer that is not fitted yet."""
        from evenscore.gaps import as_constraints
        from evenscore.gaps.family import with_tolerance
        from evenscore.learning.even import EvenScorer
        from evenscore.learning.linear import LinearScorer

        if not constraints:
            raise ValueError(
                "Say what should be equal: --equal with rates, such as --equal fnr, and --cuts "
                "with the cuts that will be used; or --constraint, or --roc-rates. `evenscore "
                "constraints` lists them."
            )
        asked = as_constraints(constraints)
        if tolerance is not None:
            asked = [with_tolerance(one, tolerance) for one in asked]
        if self.model == "even":
            own = None if self.estimator == "blend" else self.estimator
            scorer = EvenScorer(asked, own, random_state=self.seed)
            try:
                scorer.check_parameters()
            except TypeError as error:
                raise ValueError(f"{error} Or take --model linear.") from None
            return scorer
        if self.estimator != "blend":
            raise ValueError("--estimator is for --model even.")
        return LinearScorer(asked, random_state=self.seed)

    def rows(self, source: Source, clusters: list[str] | None, *, quiet: bool) -> Any:
        """The rows to learn from; how many lacked a value is said, if any did.

        Features that state the group are left out, and named, unless groups are to be features.
        """
        from evenscore.files.features import read_training

        def read(exclude: list[str]) -> Any:
            return source.read(
                read_training,
                quiet=quiet,
                clusters=clusters or (),
                features=None if self.features is None else [self.features],
                exclude=exclude,
                include_groups=self.include_group,
                allow_missing=self.model == "even",
            )

        rows, left_out = read(self.exclude or []), list[str]()
        if not self.include_group:
            left_out = _telling(rows)
        if left_out:
            names = ", ".join(left_out)
            if len(left_out) == len(rows.features):
                raise ValueError(f"There is nothing to learn from: the group is stated by {names}.")
            say(
                f"Note: left out, since {'it states' if len(left_out) == 1 else 'they state'} the "
                f"group, which a score should not need: {names}. --include-group keeps "
                f"{'it' if len(left_out) == 1 else 'them'}.",
                quiet=quiet,
            )
            rows = read([*(self.exclude or []), *left_out])
        say_read(rows.people, quiet=quiet)
        return rows

    def held_out(
        self, source: Source, path: Path, known: Any, clusters: list[str] | None, *, quiet: bool
    ) -> Any:
        """Rows of another file, with the columns and features of those learned from, `known`."""
        from evenscore.files.features import read_held_out

        other = replace(source, table=path, pos_label=known.people.pos_label)
        rows = other.read(
            read_held_out,
            quiet=quiet,
            features=known.features,
            clusters=clusters or (),
            allow_missing=self.model == "even",
        )
        say_read(rows.people, quiet=quiet)
        return rows


@dataclass(frozen=True)
class Proof:
    """On whom a choice is proved to be fair, and how surely."""

    certify: Annotated[
        Path | None,
        Option(
            help="Prove the choice on the rows of this file, which must not be learned from: the "
            "best score that is fair within --tolerance, or by how much there is none."
        ),
    ] = None
    hold_out: Annotated[
        float | None,
        Option(help="Instead of --certify: hold out this share of the rows, such as 0.4."),
    ] = None
    confidence: Annotated[float, Option(help="How sure a certificate has to be.")] = 0.95

    @property
    def asked(self) -> bool:
        """Whether anything is to be proved."""
        return self.certify is not None or self.hold_out is not None

    def check(self, source: Path, tolerance: float | None) -> None:
        """Refuse, before any work, what cannot prove anything."""
        if not self.asked:
            return
        if self.certify is not None and self.hold_out is not None:
            raise ValueError("Give --certify or --hold-out, not both.")
        if tolerance is None:
            raise ValueError(
                "Say the largest gap that may be with --tolerance, such as --tolerance 0.05: that "
                "is what is certified."
            )
        check_between(tolerance, "--tolerance")
        check_between(self.confidence, "--confidence")
        if self.hold_out is not None:
            check_between(self.hold_out, "--hold-out")
        elif self.certify is not None and self.certify.exists() and source.exists():
            same = self.certify.samefile(source)
            if same or (self.certify.is_file() and cmp(self.certify, source, shallow=False)):
                raise ValueError(
                    f"--certify {self.certify.name} holds the rows to be learned from: a "
                    "certificate needs others. --hold-out 0.4 holds out a part of them."
                )


@dataclass(frozen=True, kw_only=True)
class Called:
    """What people are called in a report."""

    people: Annotated[str, Option(help="What to call the people, such as: applicants.")] = "people"
    positives: Annotated[str, Option(help="What to call people with the positive label.")] = (
        "positives"
    )
    negatives: Annotated[str, Option(help="What to call people with the other label.")] = (
        "negatives"
    )
    selected: Annotated[
        str, Option(help="What happens to people who are selected, such as: granted a loan.")
    ] = "selected"
    selected_is: Annotated[
        SelectedIs | None,
        Option(help="Whether being selected is good for a person (a loan) or bad (a prison term)."),
    ] = None
    refused: Annotated[
        str,
        Option(
            help="What happens to everybody else, such as: refused.", show_default="not selected"
        ),
    ] = ""
    group_name: Annotated[
        list[str] | None,
        Option(
            help="What to call a group, in the plural, such as female=women.",
            show_default="its label",
        ),
    ] = None

    def words(self) -> Words:
        """What people and outcomes are called."""
        names = {}
        for text in self.group_name or ():
            label, sign, name = text.rpartition("=")
            if not sign or not label.strip() or not name.strip():
                raise ValueError(f"--group-name is written as female=women, not as {text!r}.")
            names[label.strip()] = name.strip()
        given = {one.name: getattr(self, one.name) for one in fields(Words) if one.name != "groups"}
        return Words(**given, groups=tuple(names.items()))


def _telling(rows: "TrainingRows") -> list[str]:
    """The features that state the group, by name."""
    from evenscore.learning.telling import telling_columns
    from evenscore.learning.training_set import TrainingSet

    people = rows.people.rows
    codes = people.codes.astype(np.intp, copy=False)
    columns = telling_columns(TrainingSet(rows.X, people.positive, codes, people.groups, None))
    owner = np.repeat(np.arange(len(rows.features)), [one.width for one in rows.features])
    return [rows.features[k].name for k in np.unique(owner[columns]).tolist()]


def say_read(people: People, *, quiet: bool) -> None:
    """Say how a file was read, where that is not plain, and how many rows were left out."""
    for note in people.notes:
        say(f"Note: {note}", quiet=quiet)
    say(people.remark, quiet=quiet)


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


# What is written, and how the names of such files end.
_KINDS = {
    "html": ("an HTML page", (".html", ".htm")),
    "json": ("JSON", (".json",)),
    "maps": ("maps as JSON", (".json",)),
    "model": ("a skops model", (".skops",)),
    "save": ("a table of scores as JSON", (".json",)),
    "rows": ("rows as CSV or Parquet", (".csv", ".tsv", ".txt", ".parquet", ".pq")),
}
_ENDS = {end for _, ends in _KINDS.values() for end in ends} | {
    *(".pkl", ".pickle", ".joblib", ".onnx", ".pdf", ".png", ".svg", ".md", ".docx", ".xlsx"),
    *(".xls", ".ods", ".gz", ".zip", ".xml", ".yaml", ".toml"),
}


def check_outputs(*sources: Path, **targets: Path | None) -> None:
    """Refuse, before any work, what cannot or should not be written; targets are by kind.

    That is: over the input, to a folder or device, into a folder that is not there or where it is
    forbidden, twice to one file, or under a name that says that it is something else. Input that is
    no ordinary file is refused first.
    """
    files = (file for source in sources for file in input_files(source))
    taken = {Path(os.path.realpath(file)) for file in files}
    for kind, target in targets.items():
        if target is None:
            continue
        real = target_file(target)
        if real in taken:
            raise ValueError(f"{target} would be written over: name another file.")
        taken.add(real)
        what, ends = _KINDS[kind]
        end = target.suffix.lower()
        if end in _ENDS and end not in ends:
            raise AdvisedError(
                f"{target} would hold {what}, and its name says otherwise: it must end in "
                f"{ends[0]}.",
                instead={str(target): str(target.with_suffix(ends[0]))},
            )
        if not real.parent.exists():
            raise ValueError(
                f"There is no folder {target.parent} to write {target.name} to: make it first."
            )
        if not real.parent.is_dir() or not os.access(real.parent, os.W_OK):
            raise ValueError(f"{target} cannot be written: {real.parent} does not allow it.")
