"""Auditing a file: what `evenscore audit` does, and `evenscore verify` does again."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

from typer import Option

from evenscore.cli.errors import say, sentences, working
from evenscore.cli.options import AuditedSource, Called, Cluster, Gaps, Seed
from evenscore.gaps import GapFamily, RateConstraint
from evenscore.gaps.catalogue import constraint_names
from evenscore.gaps.cuts import DEFAULT_CUTS

if TYPE_CHECKING:
    from evenscore.auditing.declared import Declared
    from evenscore.auditing.provenance import InputFile
    from evenscore.auditing.result import AuditResult
    from evenscore.files.people import People


@dataclass(frozen=True, kw_only=True)
class Asked(Called):
    """What else an audit is asked about the scores of a file."""

    score: Annotated[str | None, Option(help="The column of scores.")] = None
    cluster: Cluster = None
    tolerance: Annotated[
        float | None,
        Option(
            help="The largest gap that counts as even.",
            show_default="what --declare says, or 0.05",
        ),
    ] = None
    confidence_level: Annotated[float, Option(help="Confidence level of the intervals.")] = 0.95
    min_group_size: Annotated[
        int | None,
        Option(
            help="A group is compared only if both its classes have so many people; smaller ones "
            "are shown apart.",
            show_default="30, unless fewer than two groups reach it",
        ),
    ] = None
    reference_group: Annotated[
        str | None,
        Option(
            help='Compare every group with this one only, or with "all others" together.',
            show_default="compare all pairs of groups",
        ),
    ] = None
    seed: Seed = 0
    trained_on: Annotated[
        bool | None,
        Option(
            "--trained-on/--not-trained-on",
            help="Whether the score was trained on these rows.",
            show_default="not said",
        ),
    ] = None
    title: Annotated[str | None, Option(help="Title of the report.")] = None


class FileAudit(NamedTuple):
    """An audit of a file as it was asked for: any option of these three matters to the numbers."""

    source: AuditedSource
    gaps: Gaps
    asked: Asked

    @classmethod
    def of(cls, table: Path, options: Mapping[str, Any]) -> "FileAudit":
        """The audit that had these options; what they do not say is the default."""
        from evenscore.auditing.plain import from_plain

        kinds = get_type_hints(cls)
        known = {name: {one.name for one in fields(kind)} for name, kind in kinds.items()}
        unknown = set(options) - (set().union(*known.values()) - {"table"})
        if unknown:
            raise ValueError(f"The option {min(unknown)!r} is not known to this evenscore.")
        parts = {}
        for name, kind in kinds.items():
            hints = get_type_hints(kind)
            given = {
                key: from_plain(hints[key], options[key], f"The option {key}")
                for key in known[name]
                if key in options
            }
            if "table" in known[name]:
                given["table"] = table
            for one in fields(kind):
                if one.name not in given and one.default is MISSING:
                    raise ValueError(f"The option {one.name!r} is missing.")
            parts[name] = kind(**given)
        return cls(**parts)

    @property
    def options(self) -> dict[str, Any]:
        """Every option by name, but for the file itself."""
        every = {one.name: getattr(part, one.name) for part in self for one in fields(part)}
        return {name: value for name, value in every.items() if name != "table"}

    def run(
        self,
        people: "People",
        *,
        declared: "Declared",
        name: str,
        command: str,
        date: str,
        quiet: bool,
    ) -> "AuditResult":
        """Audit the people of the file, which `read` gave; `name` is what it was called."""
        from evenscore.auditing.audit import audit_scores
        from evenscore.auditing.provenance import ColumnRole

        source, gaps, asked = self
        constraints = self._constraints()
        with sentences(quiet=quiet):
            for note in people.notes:
                say(f"Note: {note}", quiet=quiet)
            with working("Auditing …", quiet=quiet):
                result = audit_scores(
                    people.grouped(),
                    cuts=gaps.where(),
                    constraints=constraints,
                    tolerance=asked.tolerance,
                    confidence_level=asked.confidence_level,
                    min_group_size=asked.min_group_size,
                    reference_group=asked.reference_group,
                    random_state=asked.seed,
                    words=asked.words(),
                    label=source.label or people.label,
                    neg_label=people.neg_label,
                    trained_on=asked.trained_on,
                    declared=declared,
                    title=asked.title or self._title(name),
                    pos_label=people.pos_label or None,
                    outcomes_known=bool(people.pos_label),
                    zero_weights=people.zero_weights,
                    notes=[*people.notes, *filter(None, [people.remark])],
                    columns=people.names,
                )
        roles = {
            "label": source.label,
            "score": asked.score,
            "group": source.group,
            "weight": source.weight,
            "cluster": asked.cluster,
        }
        columns = [
            ColumnRole(role, column)
            for role, names in roles.items()
            for column in ([names] if isinstance(names, str) else names or [])
        ]
        assert result.provenance is not None
        provenance = result.provenance.of_file(
            replace(input_of(source.table), name=name),
            columns=columns,
            left_out=people.dropped,
            lacking=people.lacking,
            command=command,
            options=self.options,
            date=date,
        )
        return replace(result, provenance=provenance)

    def read(self, *, quiet: bool) -> "People":
        """The people of the file, or of wherever the rows are."""
        from evenscore.files.aggregated import is_saved, read_aggregated, read_saved
        from evenscore.files.scored import read_scores
        from evenscore.scores import GroupedScores

        source, gaps, asked = self
        self._constraints()  # refused before anything is read
        if is_saved(source.table):
            self._refuse_options()
            return read_saved(source.table)
        if asked.score is None and not source.aggregated:
            raise ValueError("Say which column holds the scores with --score.")
        if not source.group:
            raise ValueError("Say at least one column of groups with --group.")
        if source.aggregated:
            for option, value in (("--weight", source.weight), ("--cluster", asked.cluster)):
                if value:
                    raise ValueError(
                        f"{option} is about people, and a file that is --aggregated has only sums."
                    )
            with working(f"Reading {source.table.name} …", quiet=quiet):
                return read_aggregated(
                    source.table, label=source.label, score=asked.score or "score",
                    groups=source.group, pos_label=source.pos_label,
                    drop_missing=source.drop_missing, decimal=source.decimal,
                )  # fmt: skip
        bins = None
        if source.bins_of is not None:
            binned = GroupedScores.load(source.bins_of).binned
            if binned is None or binned.bins is None:
                name = Path(source.bins_of).name
                say(f"Note: {name} has no bins: it holds every score, and adds up with any table.",
                    quiet=quiet)  # fmt: skip
            else:
                bins = binned.bins
        if not 0.0 <= source.accuracy < 0.5:
            raise ValueError(
                f"--accuracy must be at least 0 and below 0.5, not {source.accuracy:g}."
            )
        return source.read(
            read_scores,
            quiet=quiet,
            score=asked.score,
            as_table=True,
            clusters=asked.cluster or (),
            accuracy=source.accuracy,
            cuts=gaps.where() or DEFAULT_CUTS,
            bins=bins,
            table_name=source.table_name,
            query=source.query,
        )

    def about(self, people: "People") -> dict[str, Any]:
        """What a saved table of these people is about."""
        from evenscore.files.aggregated import is_saved
        from evenscore.scores.stored import read_about

        source = self.source
        if is_saved(source.table):
            return read_about(source.table)
        return {
            "score": self.asked.score,
            "label": source.label,
            "positive": people.pos_label,
            "negative": people.neg_label,
            "groups": list(people.names),
            "weight": source.weight,
        }

    def _refuse_options(self) -> None:
        """What says which columns to read says nothing about a saved table."""
        source, asked = self.source, self.asked
        given = {
            "--score": asked.score, "--label": source.label, "--group": source.group,
            "--weight": source.weight, "--cluster": asked.cluster, "--table": source.table_name,
            "--query": source.query, "--aggregated": source.aggregated,
            "--bins-of": source.bins_of, "--pos-label": source.pos_label,
        }  # fmt: skip
        for option, value in given.items():
            if value:
                raise ValueError(
                    f"{source.table.name} is a table of scores, which has no columns to choose "
                    f"from: leave out {option}."
                )

    @property
    def _outcomes_known(self) -> bool:
        from evenscore.files.aggregated import is_saved
        from evenscore.scores.stored import read_about

        if self.source.label is not None:
            return True
        if not is_saved(self.source.table):
            return False
        return read_about(self.source.table).get("label", "") is not None

    def _title(self, name: str) -> str:
        groups = ", ".join(self.source.group)
        return f"{name}: {self.asked.score or 'score'} by {groups}" if groups else name

    def _constraints(self) -> list[str | GapFamily] | None:
        """The gaps to audit: None for the default ones, which an audit knows."""
        gaps = self.gaps
        if gaps.constraint or gaps.roc_rates:
            return gaps.constraints() if gaps.equal else gaps.others()
        if gaps.equal is None:
            return None
        rates: list[str | GapFamily] = [RateConstraint(*gaps.rates(), cuts=gaps.where())]
        return [*rates, *constraint_names()] if self._outcomes_known else rates


def input_of(path: Path) -> "InputFile":
    """What a report says of its input: of several files, the SHA-256 is of their names and own."""
    from evenscore.auditing.provenance import InputFile
    from evenscore.files.collections import input_files, start_of

    paths = input_files(path)
    if paths == [path]:
        return InputFile.of(path)
    root = start_of(path)
    files = [replace(InputFile.of(file), name=file.relative_to(root).as_posix()) for file in paths]
    listed = "".join(f"{file.sha256}  {file.name}\n" for file in files)
    digest = hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()
    return InputFile(path.name, sum(file.size for file in files), digest)


def given_date(option: str | None) -> str:
    """The date of --date, or else of SOURCE_DATE_EPOCH; nothing if there is neither.

    It never comes from the clock: the same input is to give the same bytes.

    >>> given_date("2026-11-16")
    '2026-11-16'
    """
    if option is not None:
        try:
            if not re.fullmatch(r"\d{4}-\d\d-\d\d", option):
                raise ValueError
            return date.fromisoformat(option).isoformat()
        except ValueError:
            raise ValueError(f"--date must be a day such as 2026-11-16, not {option!r}.") from None
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if not seconds:
        return ""
    try:
        return datetime.fromtimestamp(int(seconds), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        raise ValueError(
            f"SOURCE_DATE_EPOCH must be a whole number of seconds since 1970, not {seconds!r}."
        ) from None
