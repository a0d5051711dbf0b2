"""Two scores of the same people: by how much does each AUC and gap differ?"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final

import numpy as np

from evenscore.auditing.frames import Backend, data_frame
from evenscore.auditing.plain import to_plain
from evenscore.auditing.showable import Showable
from evenscore.gaps.family import EstimateSettings
from evenscore.inference.decisions import holm
from evenscore.inference.estimate import Estimate, GapTest, percent
from evenscore.inference.paired import PairedScores, paired_auc, size_changes

if TYPE_CHECKING:
    from evenscore.auditing.result import AuditResult

MAX_GROUPS = 10
Change = Literal["higher", "lower", "smaller gap", "larger gap", "not told apart"]


@final
@dataclass(frozen=True, eq=False)
class Difference:
    """An AUC or gap of one score, of the other, and their difference with its paired interval.

    `magnitude` is |one| − |other| with its interval: `difference`'s where both are surely of one
    sign, and that of their sum, up to the sign, where they are of opposite signs. Both are about
    this row alone. `test` is about |one| − |other| (for an AUC, the difference) among all that were
    compared, and decides the `change`, seen from the other score: an AUC is "higher" or "lower", a
    gap "smaller" or "larger" in magnitude; "not told apart" if the interval of the test holds zero.
    """

    one: Estimate
    other: Estimate
    difference: Estimate
    magnitude: Estimate
    change: Change
    test: GapTest | None = None

    @property
    def title(self) -> str:
        """Which AUC or gap it is."""
        return "AUC" if self.one.name == "AUC" else self.difference.title

    @property
    def words(self) -> str:
        """The difference in a sentence."""
        return self.say("", "")

    def say(self, one: str, other: str) -> str:
        """The difference in a sentence that names the two scores, if they have names."""
        with_one, with_other = (f" with {name}" if name else "" for name in (one, other))
        what = "a difference" if self.one.name == "AUC" else "a difference in size"
        if self.one.value * self.other.value < 0.0 and self.one.name != "AUC":
            what = "of opposite signs, a difference in size"
        told = "no interval"
        if self.test is not None:
            level = percent(self.difference.confidence_level)
            told = f"corrected {level} interval {self.test.low:+.3f} to {self.test.high:+.3f}"
        return (
            f"{self.title}: {self.one.value:.3f}{with_one} against {self.other.value:.3f}"
            f"{with_other}, {what} of {self.magnitude.value:+.3f} ({told}): {self.change}"
        )


@final
@dataclass(frozen=True, eq=False, repr=False)
class ComparisonResult(Showable):
    """The AUC and every gap of two scores of the same people; made by `AuditResult.compare`.

    Differences are the first score minus the other. What is said to have changed is so with the
    confidence level over all that were compared (Holm's correction).
    """

    title: str
    other_title: str
    n: int
    groups: tuple[str, ...]
    confidence_level: float
    differences: tuple[Difference, ...]
    _audits: "tuple[AuditResult, AuditResult] | None" = None

    shown_as: ClassVar[str] = "comparison"

    @property
    def audits(self) -> "tuple[AuditResult, AuditResult] | None":
        """The audits of the two scores, of which a page can be made."""
        return self._audits

    @property
    def auc(self) -> Difference:
        """The overall AUC of the two."""
        return self.differences[0]

    @property
    def gaps(self) -> tuple[Difference, ...]:
        """The named gaps, then the ROC gaps at the rates."""
        return self.differences[1:]

    @property
    def words(self) -> tuple[str, ...]:
        """What changed, in sentences: the AUC, then a count of the gaps, then each of them."""
        counts = {
            change: sum(gap.change == change for gap in self.gaps)
            for change in ("smaller gap", "larger gap", "not told apart")
        }
        told = (
            f"Of {len(self.gaps)} gaps, {counts['smaller gap']} "
            f"{'is' if counts['smaller gap'] == 1 else 'are'} smaller with {self._name(0)} "
            f"than with {self._name(1)}, {counts['larger gap']} larger, and "
            f"for {counts['not told apart']} this sample cannot tell, with "
            f"{percent(self.confidence_level)} confidence over all of them"
        )
        first = self.auc.say(self._name(0), self._name(1))
        return (f"{first}.", f"{told}.", *(f"{gap.words}." for gap in self.gaps))

    def _name(self, which: int) -> str:
        title = (self.title, self.other_title)[which]
        return f"“{title}”" if title else ("this score", "the other")[which]

    def __str__(self) -> str:
        return "\n".join(self.words)

    def __repr__(self) -> str:
        return f"<ComparisonResult: {self.n:,} people, {self.words[0]} {self.words[1]}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; NaN is None, infinities are texts."""
        return {"format": "evenscore.comparison", "schema_version": "2.0", **to_plain(self)}

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row an AUC or gap: both scores' values and intervals, and the difference's."""
        rows = self.differences
        columns: dict[str, list[Any]] = {
            name: [getattr(row.difference, name) for row in rows]
            for name in ("name", "first", "second")
        }
        columns["on"] = [row.difference.on or "" for row in rows]
        rates = [row.difference.rate for row in rows]
        columns["rate"] = np.array(rates, dtype=np.float64).tolist()  # NaN where absent
        for which in ("one", "other", "difference", "magnitude"):
            for part in ("value", "low", "high"):
                name = which if part == "value" else f"{which}_{part}"
                columns[name] = [getattr(getattr(row, which), part) for row in rows]
        for name in ("p_value", "adjusted_p_value"):
            columns[name] = [getattr(row.difference, name) for row in rows]
        tests = {"change_p_value": "p_value", "change_low": "low", "change_high": "high"}
        for name, part in tests.items():
            columns[name] = [getattr(row.test, part, math.nan) for row in rows]
        columns["change"] = [row.change for row in rows]
        return data_frame(columns, backend)


def compare(
    one: "AuditResult",
    other: "AuditResult",
    *,
    n_resamples: int = 400,
    random_state: int | None = None,
) -> ComparisonResult:
    """The first audit's AUC and gaps minus the other's, paired by person."""
    rows, others = one._rows, other._rows
    if rows is None or others is None or rows.score is None or others.score is None:
        which = "This audit" if rows is None else "The other audit"
        raise ValueError(
            f"{which} does not have its rows, which pairing two scores needs: it was read from a "
            "file or made from a table; call audit on the columns again."
        )
    if not (one.outcomes_known and other.outcomes_known):
        raise ValueError("Two scores are compared where outcomes are known, and here they are not.")
    reason = rows.differs(others)
    if reason:
        raise ValueError(f"The two audits are not of the same people: {reason}.")
    level = one.settings.confidence_level
    if level != other.settings.confidence_level:
        raise ValueError(
            "The two audits were made with different confidence_level; make them equal."
        )
    if one._families != other._families:
        raise ValueError(
            "The two audits were made with different constraints or cuts; make them equal."
        )
    if one._groups is None or one._groups != other._groups:
        raise ValueError(
            "The two audits were made with different min_group_size or reference_group; make them "
            "equal."
        )
    if not 2 <= len(one.compared_groups) <= MAX_GROUPS:
        raise ValueError(
            f"A comparison takes 2 to {MAX_GROUPS} groups, and there are "
            f"{len(one.compared_groups)}."
        )
    both_scores = (rows.score, others.score)
    pairs = [PairedScores(seen, both_scores) for seen in one._groups.rows(rows)]
    empty = [cell for pair in pairs for cell in pair.tables[0].empty_cells()]
    if empty:
        raise ValueError(
            f"A comparison needs all cells, but there are no {' and no '.join(empty)}."
        )
    settings = EstimateSettings(
        level,
        n_resamples=n_resamples,
        random_state=one.settings.random_state if random_state is None else random_state,
    )
    auc = paired_auc(pairs[0], confidence_level=level)
    wanted = {gap.key for gap in one.gaps}
    gaps = [
        both
        for family in one._families
        for pair in pairs
        for both in family.paired(pair, settings)
        if both.difference.key in wanted
    ]
    sides = [{e.key: e for e in (r.auc, *r.gaps)} for r in (one, other)]
    differences = holm([both.difference for both in (auc, *gaps)])
    of_auc, of_gaps = size_changes(auc.difference, gaps, level)
    sizes = [auc.difference, *(gap.magnitude for gap in gaps)]
    return ComparisonResult(
        one.title,
        other.title,
        one.sample.n,
        one.groups,
        level,
        tuple(
            _difference(sides[0][e.key], sides[1][e.key], e, size, test)
            for e, size, test in zip(differences, sizes, (of_auc, *of_gaps), strict=True)
        ),
        (one, other),
    )


def _difference(
    one: Estimate, other: Estimate, difference: Estimate, size: Estimate, test: GapTest | None
) -> Difference:
    magnitude = difference if one.name == "AUC" else size
    change: Change = "not told apart"
    if test is not None and test.low > 0.0:
        change = "higher" if one.name == "AUC" else "larger gap"
    elif test is not None and test.high < 0.0:
        change = "lower" if one.name == "AUC" else "smaller gap"
    return Difference(one, other, difference, magnitude, change, test)
