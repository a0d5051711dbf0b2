"""Two scores of the same people: by how much does each AUC and gap differ?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from evenscore.catalogue import CATALOGUE
from evenscore.inference.estimate import Estimate, holm, percent
from evenscore.inference.magnitudes import Paired
from evenscore.inference.paired import paired_estimates
from evenscore.inference.paired_rates import paired_roc_gaps
from evenscore.results.frames import Backend, data_frame
from evenscore.results.numbers import interval, plain, signed
from evenscore.results.plain import to_plain

if TYPE_CHECKING:
    from evenscore.results.audit_result import AuditResult

__all__ = ["ComparisonResult", "Difference", "compare"]

MAX_GROUPS = 10
Change = Literal["higher", "lower", "smaller gap", "larger gap", "not told apart"]


@final
@dataclass(frozen=True, eq=False)
class Difference:
    """An AUC or gap of one score, of the other, and their difference with its paired interval.

    `magnitude` is |one| − |other| with its interval: `difference`'s where both are surely of one
    sign, and that of their sum, up to the sign, where they are of opposite signs.
    `change` says what became of it, seen from the other score: an AUC is "higher" or "lower", a
    gap "smaller" or "larger" in magnitude; "not told apart" if the interval holds zero.
    """

    one: Estimate
    other: Estimate
    difference: Estimate
    magnitude: Estimate
    change: Change

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
        d, what = self.difference, "a difference"
        if self.one.value * self.other.value < 0.0 and self.one.name != "AUC":
            d, what = self.magnitude, "of opposite signs, a difference in size"
        return (
            f"{self.title}: {plain(self.one.value)}{with_one} against "
            f"{plain(self.other.value)}{with_other}, {what} of {signed(d.value)} "
            f"({percent(d.confidence_level)} interval {interval(d.low, d.high, 'signed')}): "
            f"{self.change}"
        )


@final
@dataclass(frozen=True, eq=False, repr=False)
class ComparisonResult:
    """The AUC and every gap of two scores of the same people; made by `AuditResult.compare`.

    Differences are the first score minus the other. Holm's correction of the p-values runs over all
    of them.
    """

    title: str
    other_title: str
    n: int
    groups: tuple[str, ...]
    confidence_level: float
    differences: tuple[Difference, ...]

    @property
    def auc(self) -> Difference:
        """The overall AUC of the two."""
        return self.differences[0]

    @property
    def gaps(self) -> tuple[Difference, ...]:
        """The named gaps, then the ROC gaps at the rates."""
        return self.differences[1:]

    @property
    def most_changed(self) -> Difference | None:
        """The gap whose magnitude changed most, of those that are surely smaller or larger."""
        changed = [gap for gap in self.gaps if gap.change != "not told apart"]
        return max(changed, key=lambda gap: abs(gap.magnitude.value), default=None)

    @property
    def words(self) -> tuple[str, ...]:
        """What changed, in sentences: the AUC, then a count of the gaps, then each of them."""
        counts = {
            change: sum(gap.change == change for gap in self.gaps)
            for change in ("smaller gap", "larger gap", "not told apart")
        }
        told = (
            f"Of {len(self.gaps)} gaps, {counts['smaller gap']} are smaller with {self._name(0)} "
            f"than with {self._name(1)}, {counts['larger gap']} larger, and "
            f"{counts['not told apart']} cannot be told apart"
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

    def __rich__(self) -> Any:
        """A table for a terminal, drawn by rich."""
        return import_module("evenscore.terminal").render_comparison(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; NaN is None, infinities are texts."""
        return {"format": "evenscore.comparison", "schema_version": "1.0", **to_plain(self)}

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row an AUC or gap: both scores' values and intervals, and the difference's."""
        rows = self.differences
        columns: dict[str, list[Any]] = {
            name: [getattr(row.difference, name) for row in rows]
            for name in ("name", "first", "second")
        }
        columns["on"] = [row.difference.on or "" for row in rows]
        columns["rate"] = [
            float("nan") if row.difference.rate is None else row.difference.rate for row in rows
        ]
        for which in ("one", "other", "difference", "magnitude"):
            for part in ("value", "low", "high"):
                name = which if part == "value" else f"{which}_{part}"
                columns[name] = [getattr(getattr(row, which), part) for row in rows]
        for name in ("p_value", "adjusted_p_value"):
            columns[name] = [getattr(row.difference, name) for row in rows]
        columns["change"] = [row.change for row in rows]
        return data_frame(columns, backend)


def compare(
    one: AuditResult,
    other: AuditResult,
    *,
    n_resamples: int = 400,
    random_state: int | None = None,
) -> ComparisonResult:
    """The first audit's AUC and gaps minus the other's, paired by person."""
    from evenscore.results.audit_result import AuditResult

    if not isinstance(other, AuditResult):
        raise TypeError(f"compare takes another AuditResult, not {type(other).__name__}.")
    people, others = one._people, other._people
    if people is None or others is None:
        which = "This audit" if people is None else "The other audit"
        raise ValueError(
            f"{which} does not have its rows, which pairing two scores needs: it was read from a "
            "file or made from a table; call audit on the columns again."
        )
    reason = people.differs(others)
    if reason:
        raise ValueError(f"The two audits are not of the same people: {reason}.")
    for name in ("rates", "confidence_level"):
        if getattr(one.settings, name) != getattr(other.settings, name):
            raise ValueError(f"The two audits were made with different {name}; make them equal.")
    if not 2 <= len(one.groups) <= MAX_GROUPS:
        raise ValueError(
            f"A comparison takes 2 to {MAX_GROUPS} groups, and there are {len(one.groups)}."
        )
    if (one.sample.cell_counts == 0).any():
        raise ValueError(f"A comparison needs all cells. {one.warnings[0]}")
    level, rates = one.settings.confidence_level, one.settings.rates
    names = np.empty(len(people.groups), dtype=object)
    names[:] = people.groups
    found = paired_estimates(
        people.positive,
        people.score,
        others.score,
        sensitive_features=names[people.codes],
        constraints=list(CATALOGUE),
        pos_label=True,
        sample_weight=people.weight,
        group_order=people.groups,
        confidence_level=level,
    )
    found += paired_roc_gaps(
        people.positive,
        people.score,
        others.score,
        people.codes,
        people.groups,
        rates,
        sample_weight=people.weight,
        confidence_level=level,
        n_resamples=n_resamples,
        random_state=one.settings.random_state if random_state is None else random_state,
    )
    sides = [{e.key: e for e in (r.auc, *r.all_gaps)} for r in (one, other)]
    differences = holm([replace(paired.difference, words="") for paired in found])
    return ComparisonResult(
        one.title,
        other.title,
        one.sample.n,
        one.groups,
        level,
        tuple(
            _difference(sides[0][e.key], sides[1][e.key], e, paired)
            for e, paired in zip(differences, found, strict=True)
        ),
    )


def _difference(one: Estimate, other: Estimate, difference: Estimate, paired: Paired) -> Difference:
    magnitude = difference if one.name == "AUC" else replace(paired.magnitude, words="")
    change: Change = "not told apart"
    if magnitude.low > 0.0:
        change = "higher" if one.name == "AUC" else "larger gap"
    elif magnitude.high < 0.0:
        change = "lower" if one.name == "AUC" else "smaller gap"
    return Difference(one, other, difference, magnitude, change)
