"""`evenscore verify`: does a stored audit follow from its file? All of it is recomputed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console
from typer import Argument

from evenscore.cli.auditing import FileAudit, input_of
from evenscore.cli.errors import command
from evenscore.cli.options import Quiet, Table

if TYPE_CHECKING:
    from evenscore.auditing.differences import Value
    from evenscore.auditing.provenance import Provenance

_SHOWN = 10  # differences that are listed
_DECISIVE = ("evenscore", "numpy", "scipy")  # with the same versions of these, numbers are the same


@command
def verify(
    report: Annotated[
        Path, Argument(help="The JSON file that `evenscore audit --json` wrote.", metavar="REPORT")
    ],
    table: Table,
    quiet: Quiet = False,
) -> None:
    r"""Recompute every number of a stored audit, and say what differs.

    The file is audited with the options and declared facts that the report
    holds. Its SHA-256, and every number, text and verdict, must be those of the
    report: exactly, or, with another version of evenscore, numpy or scipy, to a
    relative 1e-9, which is then said. What was declared cannot be verified, only
    that nobody has changed it since.

    Exit codes: 0 if all is equal; 2 if something differs, or if the report
    cannot be verified.

    Example:
      evenscore verify report.json scores.csv
    """
    from evenscore.auditing.differences import NOTHING, values

    stored, then = _stored(report)
    assert then.file is not None
    file = input_of(table)
    another = ""
    if (file.sha256, file.size) != (then.file.sha256, then.file.size):
        another = (
            f"{table.name} ({file.size:,} bytes, SHA-256 {file.sha256}) is not the file that was "
            f"audited ({then.file.size:,} bytes, SHA-256 {then.file.sha256})"
        )
    again = _again(report, table, then, another, quiet=quiet)
    now = again["provenance"]["versions"]
    changed = {name for name in {*then.versions, *now} if then.versions.get(name) != now.get(name)}
    # An engine adds weights up in the order of its threads: the last digits may differ.
    summed = bool(stored.get("binned")) and bool(then.options.get("weight"))
    exact = not changed.intersection(_DECISIVE) and not summed
    for audit in (stored, again):  # these are told apart
        for name in ("versions", "stated_sha256", "file"):
            del audit["provenance"][name]
        if not exact:
            del audit["schema_version"], audit["settings"]["evenscore_version"]
    every = list(values(stored, again))
    if exact:
        differences = [value for value in every if not value.equal]
    else:  # another version may have other fields
        every = [v for v in every if isinstance(v.place[-1], int) or NOTHING not in v[1:]]
        differences = [value for value in every if not value.close]
    total = f"{len(every):,} numbers, texts and verdicts"
    with_versions = _versions(sorted(changed), then.versions, now, exact=exact)
    if summed:
        with_versions += " (weights were added up in bins, so numbers were compared to 1e-9)"
    if differences:
        if not quiet:
            _show(differences, stored, again)
        raise ValueError(
            f"{report.name} does not follow from {table.name}: "
            f"{_told(differences, total, stored, again)}"
            f"{f'; {another}' if another else ''}{with_versions}."
        )
    if another:
        raise ValueError(f"{another}, yet all {total} are the same{with_versions}.")
    console = Console(quiet=quiet)
    console.print(
        f"{report.name} follows from {table.name}: its SHA-256 and all {total} are the same"
        f"{with_versions}.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    if then.declared.facts:
        console.print("What was declared is unchanged; no computation can confirm it.")


def _stored(report: Path) -> tuple[dict[str, Any], "Provenance"]:
    """The content of a report and its provenance; one sentence if it cannot be verified."""
    from evenscore.auditing.result import AuditResult
    from evenscore.auditing.stored import read_json

    stored = read_json(report)
    try:
        then = AuditResult.from_dict(stored).provenance
    except (ValueError, TypeError) as error:
        raise ValueError(f"{report.name}: {error}") from None
    if then is None:
        raise ValueError(
            f"{report.name} does not say where its numbers come from: audit the file again."
        )
    if then.file is None:
        raise ValueError(
            f"{report.name} was made in Python and names no file: audit the columns again and "
            "compare provenance.data_sha256."
        )
    stated = then.stated()
    altered = [name for name in stated if then.stated_sha256.get(name) != stated[name]]
    if altered:
        parts = " and ".join(f"provenance.{name}" for name in altered)
        raise ValueError(
            f"{report.name} was changed after the audit: {parts} "
            f"{'is' if len(altered) == 1 else 'are'} not what provenance.stated_sha256 was made of."
        )
    return stored, then


def _again(
    report: Path, table: Path, then: "Provenance", another: str, *, quiet: bool
) -> dict[str, Any]:
    """The audit recomputed, as JSON has it."""
    assert then.file is not None
    try:
        audit = FileAudit.of(table, then.options)
        result = audit.run(
            audit.read(quiet=quiet),
            declared=then.declared,
            name=then.file.name,
            command=then.command,
            date=then.date,
            quiet=quiet,
        )
    except ValueError as error:
        if another:
            raise ValueError(f"{another}, and it cannot be audited alike: {error}") from None
        raise ValueError(f"{report.name} cannot be recomputed: {error}") from None
    return json.loads(result.to_json())  # type: ignore[no-any-return]


def _versions(changed: Sequence[str], then: Any, now: Any, *, exact: bool) -> str:
    """What is said of versions that are not those of the report."""
    if not changed:
        return ""
    listed = ", ".join(f"{n} {then.get(n, 'none')} then, {now.get(n, 'none')} now" for n in changed)
    close = "" if exact else "; numbers were therefore compared to a relative 1e-9"
    return f" (with other versions: {listed}{close})"


def _told(differences: "Sequence[Value]", total: str, *audits: Any) -> str:
    """How many values differ, and which is the first."""
    from evenscore.auditing.differences import in_words

    first, n = differences[0], len(differences)
    one, other = first.texts
    some = "1 value differs" if n == 1 else f"{n:,} values differ"
    which = "" if n == 1 else "the first "
    small = " (all in the last digits only, as on another processor)"
    return (
        f"of {total}, {some}{small if all(value.close for value in differences) else ''}, "
        f"{which}in {in_words(first.place, *audits)}: {one} in the report, {other} recomputed"
    )


def _show(differences: "Sequence[Value]", *audits: Any) -> None:
    """The first differences, as a table."""
    from evenscore.auditing.differences import in_words
    from evenscore.showing.terminal import new_table

    rows = [(in_words(value.place, *audits), *value.texts) for value in differences[:_SHOWN]]
    hidden = len(differences) - len(rows)
    notes = [f"{hidden:,} more differ."] if hidden else []
    columns = ("Where in the report", "In the report", "Recomputed")
    Console().print(new_table("What differs", columns, rows, notes, names=3))
