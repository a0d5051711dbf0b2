"""AuditResult: everything an audit found, ready to be shown, kept and compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from evenscore.catalogue import CATALOGUE
from evenscore.files import write_atomically
from evenscore.inference.calibration import Calibration
from evenscore.inference.cuts import CutTable
from evenscore.inference.estimate import Estimate, GapKey
from evenscore.inference.tests import PermutationTest
from evenscore.outlines import Histogram, Outline
from evenscore.results.family import beyond_all
from evenscore.results.frames import Backend, data_frame, estimate_columns
from evenscore.results.numbers import interval, plain
from evenscore.results.parts import (
    ClassCertificate,
    DetectableGap,
    FairCuts,
    Finding,
    GapCurve,
    LabelledMatrix,
    Sample,
    Settings,
    Verdict,
    verdict,
)
from evenscore.results.people import People
from evenscore.results.plain import from_plain, to_plain
from evenscore.scores import CLASSES

if TYPE_CHECKING:
    from evenscore.results.comparison import ComparisonResult

__all__ = ["FORMAT", "SCHEMA_VERSION", "AuditResult"]

FORMAT = "evenscore.audit"
SCHEMA_VERSION = "1.0"


@final
@dataclass(frozen=True, eq=False, repr=False)
class AuditResult:
    """What an audit found; made by `evenscore.audit`, or read with `from_json`.

    Every AUC and gap is an `Estimate` with its interval. `gaps` are the named AUC gaps of every
    pair of groups, their p-values adjusted by Holm's correction over all of them; `roc_gaps` the
    curves of the ROC gaps with bands, `roc_gaps_at_rates` their estimates at the rates asked for.
    `roc_curves` are everyone's ROC curve, then each group's; `thresholds` the rates of the groups
    at the cuts asked for and `explorer` those at cuts all over the scores. With many groups only
    the worst pairs are kept, and `omitted` says what was left out.
    `findings` says the most important in sentences, `warnings` what to keep in mind. ROC gaps and
    their curves take ties as broken at random, alike in all groups (`roc_gap_estimates`).

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
    auc: Estimate
    auc_by_group: tuple[Estimate, ...]
    auc_matrix: LabelledMatrix
    gaps: tuple[Estimate, ...]
    roc_gaps_at_rates: tuple[Estimate, ...]
    roc_gaps: tuple[GapCurve, ...]
    roc_curves: tuple[Outline, ...]
    certificate: tuple[ClassCertificate, ...]
    fair_cuts: tuple[FairCuts, ...]
    thresholds: CutTable
    explorer: CutTable
    calibration: Calibration
    distributions: Histogram
    detectable: tuple[DetectableGap, ...]
    permutation_tests: tuple[PermutationTest, ...]
    omitted: tuple[str, ...]
    warnings: tuple[str, ...]
    _people: People | None = field(default=None, kw_only=True)

    # ------------------------------------------------------------------ what it says

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, in order: the first is the one that ROC gaps cut in."""
        return self.sample.groups

    @cached_property
    def all_gaps(self) -> tuple[Estimate, ...]:
        """The named gaps, then the ROC gaps at the rates asked for."""
        return (*self.gaps, *self.roc_gaps_at_rates)

    @property
    def n_gaps(self) -> int:
        """How many gaps were looked at: those of `all_gaps`, and the ones left out."""
        k = len(self.groups)
        by_pair = len(CATALOGUE) + len(CLASSES) * len(self.settings.rates)
        return k * (k - 1) // 2 * by_pair

    def verdict(self, gap: Estimate) -> Verdict:
        """Whether a gap lies "beyond" the tolerance, "within" it, or "unclear".

        "within": the gap's whole interval lies within. "beyond": the whole interval lies beyond,
        and still does so after Holm's correction over all gaps looked at, so that with the
        confidence level of the audit *no* gap is called beyond that is not. A gap that would be
        beyond on its own only (`beyond_alone`) is unclear: among many, some such come by chance.
        """
        found = verdict(gap, self.settings.tolerance)
        alone = found == "beyond" and not self._beyond.get(gap.key, True)
        return "unclear" if alone else found

    @cached_property
    def _beyond(self) -> dict[GapKey, bool]:
        settings = self.settings
        found = beyond_all(
            self.all_gaps, settings.tolerance, settings.confidence_level, self.n_gaps
        )
        return dict(zip((gap.key for gap in self.all_gaps), found.tolist(), strict=True))

    @cached_property
    def beyond(self) -> tuple[Estimate, ...]:
        """The gaps whose verdict is "beyond", largest first: the error rate is that of all."""
        found = [gap for gap in self.all_gaps if self.verdict(gap) == "beyond"]
        return tuple(sorted(found, key=lambda gap: -abs(gap.value)))

    @property
    def beyond_alone(self) -> tuple[Estimate, ...]:
        """The gaps whose own interval lies beyond the tolerance, but not among so many gaps."""
        tolerance = self.settings.tolerance
        return tuple(
            gap
            for gap in self.all_gaps
            if verdict(gap, tolerance) == "beyond" and self.verdict(gap) != "beyond"
        )

    def worst(self, name: str) -> Estimate:
        """The gap of a name that is largest in magnitude, over the pairs of groups and the rates.

        A name is one of `constraint_names()`, "roc_gap(negatives)" or "roc_gap(positives)".
        """
        found = [gap for gap in self.all_gaps if gap.name == name]
        if not found:
            known = ", ".join(dict.fromkeys(gap.name for gap in self.all_gaps)) or "none"
            raise ValueError(f"There is no gap {name!r} in this audit; there are {known}.")
        return max(found, key=lambda gap: -1.0 if gap.value != gap.value else abs(gap.value))

    # ------------------------------------------------------------------ out and in

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; `schema/audit.schema.json` describes it.

        The numbers are those of this object, unrounded. NaN is None, and infinities are the texts
        "Infinity" and "-Infinity".
        """
        return {"format": FORMAT, "schema_version": SCHEMA_VERSION, **to_plain(self)}

    def to_json(self, path: str | Path | None = None) -> str:
        """The same as JSON text; written to `path` if given, whole or not at all."""
        text = json.dumps(
            self.to_dict(), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        if path is not None:
            write_atomically(path, text)
        return text

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AuditResult:
        """The result that `to_dict` wrote. It cannot `compare`: the people are not kept."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ValueError(f"This is no audit: it lacks 'format': {FORMAT!r}.")
        version = str(data.get("schema_version"))
        if version.split(".")[0] != SCHEMA_VERSION.split(".")[0]:
            raise ValueError(
                f"The audit is of schema version {version}; this evenscore reads {SCHEMA_VERSION}."
            )
        found = from_plain(cls, data, "audit")
        assert isinstance(found, AuditResult)
        return found

    @classmethod
    def from_json(cls, path: str | Path) -> AuditResult:
        """Read the file that `to_json` wrote."""
        if isinstance(path, str) and path.lstrip().startswith("{"):
            raise ValueError(
                "from_json takes the path of a file; of JSON text, use from_dict(json.loads(text))."
            )
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise ValueError(f"{path} is no JSON file: {error}.") from None
        return cls.from_dict(data)

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row an estimate: the AUCs, then every named gap, then the ROC gaps at the rates.

        The column `verdict` says whether a gap lies beyond the tolerance. `backend` is "pandas",
        "polars" or "pyarrow"; None takes the first that is installed.
        """
        aucs = (self.auc, *self.auc_by_group)
        columns = estimate_columns((*aucs, *self.all_gaps))
        columns["verdict"] = [""] * len(aucs) + [self.verdict(gap) for gap in self.all_gaps]
        return data_frame(columns, backend)

    def to_html(self, path: str | Path) -> Path:
        """Write the report, one self-contained HTML file, and return its path."""
        # The report is built on results, so that it is reached by name and on first use.
        report = import_module("evenscore.report")
        return Path(report.write(self, path))

    # ------------------------------------------------------------------ on screen

    def __str__(self) -> str:
        """The findings, one a line."""
        head = self.title or f"Audit of {self.sample.n:,} people"
        return "\n".join([head, *(f"- {finding}" for finding in self.findings)])

    def __repr__(self) -> str:
        auc, groups = self.auc, ", ".join(self.groups[:6])
        more = f", … ({len(self.groups)} groups)" if len(self.groups) > 6 else ""
        return (
            f"<AuditResult: {self.sample.n:,} people, groups {groups}{more}, "
            f"AUC {plain(auc.value)} ({interval(auc.low, auc.high)}), "
            f"{len(self.beyond)} of {len(self.all_gaps)} gaps beyond {self.settings.tolerance:g}>"
        )

    def __rich__(self) -> Any:
        """Tables for a terminal, drawn by rich."""
        return import_module("evenscore.terminal").render(self)

    def _repr_html_(self) -> str:
        """A small table for notebooks; every text in it is escaped."""
        from evenscore.results.notebook import notebook_html

        return notebook_html(self)

    # ------------------------------------------------------------------ two scores

    def compare(
        self, other: AuditResult, *, n_resamples: int = 400, random_state: int | None = None
    ) -> ComparisonResult:
        """Pair this score with the other (this minus other), of the same people.

        Both must come from `audit` on the same rows. `n_resamples` and `random_state` are those of
        the bootstrap of the ROC gaps (by default the audit's seed).
        """
        from evenscore.results.comparison import compare

        return compare(self, other, n_resamples=n_resamples, random_state=random_state)
