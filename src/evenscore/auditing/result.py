"""AuditResult: everything an audit found, ready to be shown, kept and compared."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar, final

from evenscore.auditing.blocks import (
    AtThresholds,
    Block,
    Certificates,
    Curves,
    CutsInUse,
    Ranking,
    Shape,
    SmallGroup,
    SmallGroups,
)
from evenscore.auditing.comparison import ComparisonResult, compare
from evenscore.auditing.frames import Backend, data_frame, estimate_columns
from evenscore.auditing.groups import GroupChoice
from evenscore.auditing.parts import (
    NO_ANSWER,
    Answer,
    BinnedScores,
    FamilyRecord,
    Finding,
    GapCurve,
    Sample,
    Settings,
)
from evenscore.auditing.provenance import Provenance
from evenscore.auditing.showable import Showable
from evenscore.auditing.stored import audit_from_dict, audit_to_dict, from_file
from evenscore.files.atomic import write_atomically
from evenscore.gaps.family import GapFamily
from evenscore.gaps.words import ALL_OTHERS
from evenscore.inference.decisions import detectable
from evenscore.inference.estimate import Estimate, Verdict
from evenscore.scores.reading import Rows

AnyBlock = TypeVar("AnyBlock", bound=Block)
Content = TypeVar("Content")


def _part(kind: type[AnyBlock], read: Callable[[AnyBlock], Content]) -> "cached_property[Content]":
    """A part of a block as an attribute of the result."""
    return cached_property(lambda result: read(result.block(kind)))


def _some(
    kind: type[AnyBlock], read: Callable[[AnyBlock], tuple[Content, ...]]
) -> "cached_property[tuple[Content, ...]]":
    """The same of a list, which is empty where a column is audited without that block."""
    return cached_property(
        lambda result: read(result.block(kind)) if kind.name in result.blocks else ()
    )


@final
@dataclass(frozen=True, eq=False, repr=False)
class AuditResult(Showable):
    """What an audit found; made by `evenscore.audit`, or read with `from_json`.

    Every AUC and gap is an `Estimate` with its interval. `gaps` is one list, whatever the family:
    each has its `verdict`, corrected for all `n_gaps` that were looked at, and `families` says what
    each kind of gap compares. The other parts are `blocks`, of which `cuts` (those in use),
    `certificate`, `cut_gaps`, `cut_curves` and `thresholds` (what is certified of all gaps there,
    the gaps, curves of the rates of the groups, and these rates at some of the cuts), `auc`,
    `auc_matrix`, `roc_curves`, `explorer` (rates at cuts all over the scores), `fair_cuts`,
    `calibration`, `distributions` and, where ROC gaps were asked for, `roc_gaps` (curves with
    bands) and `roc_certificates` are read directly. Of `groups`, only the
    `compared_groups` have gaps, `small_groups` are shown apart, and the `main_groups` hold most
    people. If there are several `columns` of groups, each is audited by itself too, and the groups
    here are their intersections. With many groups only the worst pairs are kept, and `omitted` says
    what was left out. `answer` says in one sentence whether the score is fair where it will be
    used, and what can be done; `findings` says the most important in sentences, `warnings` what to
    keep in mind, and `assumptions` what is taken for granted about the rows: which are independent,
    and whether the score was trained on them. `provenance` says where the numbers come
    from: versions, settings, rows, the file if one was read, and what was declared; the audit of
    one column of several has none of its own. `binned` says how far grouping the scores into bins
    may matter, where a data engine did that; otherwise it is None.

    Examples
    --------
    >>> import evenscore as es
    >>> y, groups = [0, 1, 0, 1] * 25, list("aabb") * 25
    >>> score = [(7 * i) % 100 + 30 * label for i, label in enumerate(y)]
    >>> result = es.audit(y, score, sensitive_features=groups)
    >>> result.auc.low < result.auc.value < result.auc.high
    True
    >>> AuditResult.from_dict(result.to_dict()).to_dict() == result.to_dict()
    True
    """

    title: str
    settings: Settings
    sample: Sample
    findings: tuple[Finding, ...]
    gaps: tuple[Estimate, ...]
    families: tuple[FamilyRecord, ...]
    blocks: Mapping[str, Block]
    omitted: tuple[str, ...]
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...] = field(default=(), kw_only=True)
    answer: Answer = field(default=NO_ANSWER, kw_only=True)
    columns: "tuple[ColumnAudit, ...]" = field(default=(), kw_only=True)
    corrected_for: int = field(default=0, kw_only=True)
    provenance: Provenance | None = field(default=None, kw_only=True)
    binned: BinnedScores | None = field(default=None, kw_only=True)
    _rows: Rows | None = field(default=None, kw_only=True)
    _families: tuple[GapFamily, ...] = field(default=(), kw_only=True)
    _groups: GroupChoice | None = field(default=None, kw_only=True)

    shown_as: ClassVar[str] = "audit"

    # ------------------------------------------------------------------ its blocks

    def block(self, kind: type[AnyBlock]) -> AnyBlock:
        """A block by its class; one sentence if a stored audit lacks it."""
        block = self.blocks.get(kind.name)
        if not isinstance(block, kind):
            raise ValueError(f"This audit has no block {kind.name!r}.")
        return block

    auc = _part(Ranking, lambda block: block.auc)
    """The overall AUC."""
    auc_by_group = _part(Ranking, lambda block: block.by_group)
    """The AUC within each group."""
    auc_matrix = _part(Ranking, lambda block: block.matrix)
    """AUCs between all cells."""
    roc_gaps = _some(Curves, lambda block: block.roc_gaps)
    """Curves of ROC gaps, with bands."""
    roc_curves = _part(Curves, lambda block: block.roc_curves)
    """Everyone's ROC curve, then each group's."""
    roc_certificates = _some(Certificates, lambda block: block.certificates)
    """On which rates the ROC gaps are within the tolerance, by class and method."""
    cuts = _part(CutsInUse, lambda block: block.cuts)
    """The cuts in use."""
    certificate = _part(CutsInUse, lambda block: block.certificate)
    """That the rates differ by at most the tolerance at the cuts in use, or why that is not so."""
    cut_curves = _part(CutsInUse, lambda block: block.curves)
    """The rates of the groups over the cuts in use."""
    thresholds = _part(CutsInUse, lambda block: block.chosen)
    """The rates of the groups at some of the cuts in use."""
    explorer = _part(AtThresholds, lambda block: block.explorer)
    """The rates of the groups at cuts all over the scores."""
    fair_cuts = _some(AtThresholds, lambda block: block.fair_cuts)
    """Thresholds at which the score is fair as a classifier."""
    calibration = _part(Shape, lambda block: block.calibration)
    """Shares of positives by bin of the score and group."""
    distributions = _part(Shape, lambda block: block.distributions)
    """How the score is distributed in each cell."""

    @property
    def cut_gaps(self) -> tuple[Estimate, ...]:
        """The gaps at the cuts in use, whether they were asked for or are context."""
        block = self.block(CutsInUse)
        if not block.asked:
            return block.gaps
        return tuple(gap for gap in self.gaps if gap.kind in block.kinds)

    # ------------------------------------------------------------------ what it says

    @property
    def outcomes_known(self) -> bool:
        """Whether it is known who is positive; if not, selection alone was audited."""
        return self.sample.outcomes_known

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, in order."""
        return self.sample.groups

    @property
    def compared_groups(self) -> tuple[str, ...]:
        """The groups large enough to be compared, in order."""
        return self.sample.compared_groups or self.groups

    @property
    def main_groups(self) -> tuple[str, ...]:
        """The largest groups, which hold most people: headlines and pictures are about them."""
        return self.sample.main_groups or self.compared_groups

    @property
    def small_groups(self) -> tuple[SmallGroup, ...]:
        """The groups too small to be compared, with what is known of them."""
        block = self.blocks.get(SmallGroups.name)
        return block.groups if isinstance(block, SmallGroups) else ()

    @property
    def n_pairs(self) -> int:
        """How many pairs of groups were compared."""
        n, reference = len(self.compared_groups), self.settings.reference_group
        if reference is None:
            return n * (n - 1) // 2
        return n if reference == ALL_OTHERS else n - 1

    def is_headline(self, gap: Estimate | GapCurve) -> bool:
        """Whether a gap is one between main groups, or of one with whom all are compared."""
        known = {*self.main_groups, self.settings.reference_group}
        return gap.first in known and gap.second in known

    @property
    def n_gaps(self) -> int:
        """How many gaps the verdicts are corrected for.

        Those of `gaps`, the ones left out, and those of the other columns of groups.
        """
        return self.corrected_for or self._n_own

    @property
    def _n_own(self) -> int:
        return sum(family.n_gaps for family in self.families)

    @property
    def headings(self) -> dict[str, tuple[Estimate, ...]]:
        """The gaps by the heading of their family, in order: one table each."""
        titles = {family.family: family.heading for family in self.families}
        by_title: dict[str, list[Estimate]] = {title: [] for title in titles.values()}
        for gap in self.gaps:
            by_title[titles[gap.family]].append(gap)
        return {title: tuple(gaps) for title, gaps in by_title.items()}

    def headed_gaps(self, *, at_cuts: bool) -> dict[str, tuple[Estimate, ...]]:
        """The gaps at the cuts in use by heading, those for context too, or all others."""
        headings, in_use = self.headings, self.cut_gaps
        if not self.block(CutsInUse).asked:
            headings = {"Rates at the cuts in use, for context": in_use, **headings}
        keys = {gap.key for gap in in_use}
        return {
            heading: gaps
            for heading, gaps in headings.items()
            if gaps and any(gap.key in keys for gap in gaps) == at_cuts
        }

    @property
    def meanings(self) -> dict[str, str]:
        """What each kind of gap compares."""
        return {kind.label: kind.meaning for family in self.families for kind in family.kinds}

    @property
    def titles(self) -> dict[str, str]:
        """The plain name of each kind of gap."""
        return {kind.label: kind.title for family in self.families for kind in family.kinds}

    def with_verdict(self, verdict: Verdict) -> tuple[Estimate, ...]:
        """The gaps of a verdict, in order."""
        return tuple(gap for gap in self.gaps if gap.verdict == verdict)

    @cached_property
    def beyond(self) -> tuple[Estimate, ...]:
        """The gaps whose verdict is "beyond", largest first: the error rate is that of all."""
        return tuple(sorted(self.with_verdict("beyond"), key=lambda gap: -abs(gap.value)))

    @property
    def beyond_alone(self) -> tuple[Estimate, ...]:
        """The gaps whose own interval lies beyond the tolerance, but not among so many gaps."""
        unclear = self.with_verdict("unclear")
        return tuple(gap for gap in unclear if gap.lies_beyond(self.settings.tolerance))

    @property
    def all_within(self) -> bool:
        """Whether every gap looked at is within the tolerance: one statement about all of them."""
        return bool(self.gaps) and len(self.with_verdict("within")) == self._n_own

    def detectable(self, gap: Estimate, power: float = 0.8) -> float:
        """The smallest true gap of this kind that such an audit calls beyond, with that power."""
        settings = self.settings
        return detectable(
            gap, settings.tolerance, settings.confidence_level, self.n_gaps, power=power
        )

    def worst(self, name: str) -> Estimate:
        """The gap of a name that is largest in magnitude, over the pairs of groups and the rates.

        A name is that of a notion, as "bnsp" or "roc_gap(negatives)".
        """
        named = [gap for gap in self.gaps if gap.name == name]
        if not named:
            known = ", ".join(dict.fromkeys(gap.name for gap in self.gaps)) or "none"
            raise ValueError(f"There is no gap {name!r} in this audit; there are {known}.")
        return max(named, key=lambda gap: -1.0 if gap.value != gap.value else abs(gap.value))

    # ------------------------------------------------------------------ out and in

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; `auditing/audit.schema.json` describes it.

        The numbers are those of this object, unrounded. NaN is None, and infinities are the texts
        "Infinity" and "-Infinity".
        """
        return audit_to_dict(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """The same as JSON text; written to `path` if given, whole or not at all."""
        text = json.dumps(
            self.to_dict(), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        if path is not None:
            write_atomically(path, text)
        return text

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "AuditResult":
        """The result that `to_dict` wrote. It cannot `compare`: the people are not kept.

        Verdicts are those that were stored. Blocks that are not known here are skipped.
        """
        fields = audit_from_dict(data)
        parts = fields.pop("columns")
        columns = tuple(ColumnAudit(name, cls.from_dict(audit)) for name, audit in parts)
        return cls(**fields, columns=columns)

    @classmethod
    def from_json(cls, path: str | Path) -> "AuditResult":
        """Read the file that `to_json` wrote."""
        return from_file(path, cls.from_dict)

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row per estimate: the AUCs, if outcomes are known, then every gap.

        The column `verdict` says whether a gap lies beyond the tolerance. `backend` is "pandas",
        "polars" or "pyarrow"; None takes the first that is installed.
        """
        aucs = (self.auc, *self.auc_by_group) if self.outcomes_known else ()
        return data_frame(estimate_columns((*aucs, *self.gaps)), backend)

    # ------------------------------------------------------------------ on screen

    def __str__(self) -> str:
        """The findings, one per line."""
        head = self.title or f"Audit of {self.sample.n:,} people"
        return "\n".join([head, *(f"- {finding}" for finding in self.findings)])

    def __repr__(self) -> str:
        groups, ranking = ", ".join(self.groups[:6]), "outcomes unknown"
        more = f", … ({len(self.groups)} groups)" if len(self.groups) > 6 else ""
        if self.outcomes_known:
            auc = self.auc
            ranking = f"AUC {auc.value:.3f} ({auc.low:.3f} to {auc.high:.3f})"
        return (
            f"<AuditResult: {self.sample.n:,} people, groups {groups}{more}, {ranking}, "
            f"{len(self.beyond)} of {len(self.gaps)} gaps beyond {self.settings.tolerance:g}>"
        )

    # ------------------------------------------------------------------ two scores

    def compare(
        self, other: "AuditResult", *, n_resamples: int = 400, random_state: int | None = None
    ) -> ComparisonResult:
        """Pair this score with the other (this minus other), of the same people.

        Parameters
        ----------
        other : AuditResult
            Both must come from `audit` on the same rows, with the same constraints.
        n_resamples, random_state : int
            Of families whose differences are resampled; by default the audit's seed.

        Returns
        -------
        ComparisonResult
        """
        if not isinstance(other, AuditResult):
            raise TypeError(f"compare takes another AuditResult, not {type(other).__name__}.")
        return compare(self, other, n_resamples=n_resamples, random_state=random_state)


@final
@dataclass(frozen=True, eq=False)
class ColumnAudit:
    """The audit of one of several columns of groups, by itself."""

    name: str
    audit: AuditResult
