"""audit: columns in, `AuditResult` out. Only orchestration: every number is computed elsewhere."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from evenscore.columns import check_lengths, to_numbers
from evenscore.constraints import RocConstraint
from evenscore.distributions import Distribution, check_weights, to_floats
from evenscore.findings import find
from evenscore.inference.calibration import calibration_by_group
from evenscore.inference.cuts import CutTable, cut_table
from evenscore.inference.estimate import check_level
from evenscore.inference.moments import placement_moments
from evenscore.labels import label_text
from evenscore.outlines import coarsened, histogram
from evenscore.results import AuditResult, SelectedIs, Settings
from evenscore.results.people import People
from evenscore.scores import GroupedScores, check_scores, decode
from evenscore.sections import (
    auc_section,
    certificate_section,
    detectable_section,
    fair_cut_section,
    gap_section,
    permutation_section,
    roc_gap_section,
    roc_section,
    sample_section,
    warning_section,
)

__all__ = ["MAX_GROUPS", "audit", "audit_scores"]

Floats = NDArray[np.float64]

EXACT_LEVELS = 100_000  # distinct scores by cell up to which every one of them is a threshold
COARSE_LEVELS = 10_000  # thresholds looked at where there are more
MAX_GROUPS = 100
"""An audit of more groups is refused: nobody could read it, and pairs grow with the square."""


def audit(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    sample_weight: Any = None,
    rates: Sequence[float] = (0.125, 0.25),
    tolerance: float = 0.05,
    confidence_level: float = 0.95,
    random_state: int = 0,
    thresholds: Any = None,
    title: str | None = None,
    group_order: Sequence[Hashable] | None = None,
    selected_is: SelectedIs | None = None,
) -> AuditResult:
    """Audit a score: how well it ranks people, and whether it does so evenly across groups.

    `sensitive_features` is one column, or several whose intersections are the groups. `pos_label`
    may be left out for labels 0/1, −1/1 and False/True. ROC gaps are estimated at `rates`; a gap up
    to `tolerance` is called even. `thresholds` are cuts to look at (a person is selected if their
    score is above); by default those that select the shares `rates` of all negatives.
    `selected_is` says whether that is "good" for a person (a loan) or "bad" (a prison term): the
    findings then say whom a gap favours.

    Rows are kept in memory, so that `result.compare(other)` can pair two scores of the same people.

    >>> from evenscore import datasets
    >>> data = datasets.load_german()
    >>> result = audit(data.y, data.X[:, 0], sensitive_features=data.groups)
    >>> result.groups
    ('female', 'male')
    >>> len(result.gaps)
    8
    """
    settings = _Asked(
        rates, tolerance, confidence_level, random_state, thresholds, title, selected_is
    )
    score = to_numbers(y_score, "y_score")
    positive, codes, groups = decode(
        y_true, sensitive_features, pos_label=pos_label, group_order=group_order
    )
    columns: dict[str, NDArray[Any]] = {
        "y_true": positive,
        "y_score": score,
        "sensitive_features": codes,
    }
    weight = None
    if sample_weight is not None:
        weight = columns["sample_weight"] = to_numbers(sample_weight, "sample_weight")
        check_weights(weight, "sample_weight")
    check_lengths(columns)
    _check_groups(len(groups))
    codes = codes.astype(np.min_scalar_type(max(len(groups) - 1, 0)))
    names = _distinct_names(groups)
    scores = GroupedScores.from_arrays(
        positive,
        score,
        sensitive_features=codes,
        sample_weight=weight,
        pos_label=True,
        group_order=range(len(groups)),
    )
    zero = 0 if weight is None else int(np.sum(weight == 0.0))
    people = People(positive, score, codes, names, weight)
    found = _audit(
        replace(scores, groups=names),
        settings,
        "1" if pos_label is None else label_text(pos_label),
        zero,
    )
    return replace(found, _people=people)


def audit_scores(
    scores: GroupedScores,
    *,
    rates: Sequence[float] = (0.125, 0.25),
    tolerance: float = 0.05,
    confidence_level: float = 0.95,
    random_state: int = 0,
    thresholds: Any = None,
    title: str | None = None,
    pos_label: Any = None,
    selected_is: SelectedIs | None = None,
) -> AuditResult:
    """Audit a `GroupedScores`, for instance the table that a data engine's GROUP BY gave.

    Everything an audit reports is a function of that table. The arguments are those of `audit`;
    `pos_label` only names the positive class. The result cannot `compare`: a table does not say
    who is who.
    """
    settings = _Asked(
        rates, tolerance, confidence_level, random_state, thresholds, title, selected_is
    )
    check_scores(scores)
    _check_groups(scores.n_groups)
    named = replace(scores, groups=_distinct_names(scores.groups))
    return _audit(named, settings, "1" if pos_label is None else label_text(pos_label), 0)


@dataclass(frozen=True)
class _Asked:
    """The arguments of an audit, checked before any work is done."""

    rates: Sequence[float]
    tolerance: float
    confidence_level: float
    random_state: int
    thresholds: Any
    title: str | None
    selected_is: SelectedIs | None

    def __post_init__(self) -> None:
        RocConstraint(rates=self.rates)  # type: ignore[arg-type]
        check_level(self.confidence_level)
        if isinstance(self.tolerance, bool) or not (
            isinstance(self.tolerance, Real) and 0.0 < self.tolerance < 0.5
        ):
            raise ValueError(
                f"tolerance must lie strictly between 0 and 0.5, not {self.tolerance!r}."
            )
        seed = self.random_state
        if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
            raise ValueError(f"random_state must be a whole number of at least 0, not {seed!r}.")
        if self.title is not None and not isinstance(self.title, str):
            raise ValueError(f"title must be text, not {self.title!r}.")
        if self.selected_is not in (None, *get_args(SelectedIs)):
            raise ValueError(
                f"selected_is must be 'good' or 'bad' (for a person), or None, not "
                f"{self.selected_is!r}."
            )
        if self.thresholds is not None:
            cuts = np.atleast_1d(to_floats(self.thresholds, "thresholds"))
            if cuts.ndim != 1 or cuts.size == 0 or not np.isfinite(cuts).all():
                raise ValueError(
                    f"thresholds must be one or several finite numbers, not {self.thresholds!r}."
                )

    def settings(self) -> Settings:
        from evenscore import __version__

        return Settings(
            RocConstraint(rates=self.rates).rates,  # type: ignore[arg-type]
            float(self.tolerance),
            float(self.confidence_level),
            int(self.random_state),
            __version__,
            self.selected_is,
        )


def _audit(scores: GroupedScores, asked: _Asked, pos_label: str, zero_weights: int) -> AuditResult:
    settings = asked.settings()
    level = settings.confidence_level
    sample = sample_section(scores, pos_label)
    moments = placement_moments(scores)
    coarse = coarsened(scores, COARSE_LEVELS) if len(scores) > EXACT_LEVELS else scores
    everyone = coarse.pooled("both")
    aucs = auc_section(scores, moments, level)
    gaps = gap_section(scores, moments, level)
    at_rates = roc_gap_section(scores, settings)
    curves = roc_section(scores, coarse, settings)
    certificates = certificate_section(scores, settings)
    tests = permutation_section(coarse, settings)
    blank = AuditResult(
        title=asked.title or "",
        settings=settings,
        sample=sample,
        findings=(),
        auc=aucs.overall,
        auc_by_group=aucs.by_group,
        auc_matrix=aucs.matrix,
        gaps=gaps.estimates,
        roc_gaps_at_rates=at_rates.estimates,
        roc_gaps=curves.gaps,
        roc_curves=curves.by_group,
        certificate=certificates.certificates,
        fair_cuts=fair_cut_section(coarse, settings.tolerance, everyone, exact=coarse is scores),
        thresholds=_cuts(scores, asked, level),
        explorer=_explorer(scores, everyone, asked, level),
        calibration=calibration_by_group(scores, confidence_level=level, everyone=everyone),
        distributions=histogram(scores),
        detectable=detectable_section((*gaps.estimates, *at_rates.estimates)),
        permutation_tests=tests.tests,
        omitted=tuple(
            told
            for section in (gaps, at_rates, curves, certificates, tests)
            for told in section.omitted
        ),
        warnings=warning_section(scores, sample, zero_weights, aucs.overall),
    )
    return replace(blank, findings=find(blank))


def _cuts(scores: GroupedScores, asked: _Asked, level: float) -> CutTable:
    if asked.thresholds is not None:
        cuts = np.atleast_1d(to_floats(asked.thresholds, "thresholds"))
        labels = ("asked for",) * len(cuts)
    else:
        rates = asked.settings().rates
        cuts = scores.pooled("negatives").threshold(rates)
        labels = tuple(f"selects at most {rate:.1%} of all negatives" for rate in rates)
    return cut_table(
        scores, cuts, labels=labels, confidence_level=level, burden=asked.selected_is == "bad"
    )


def _explorer(
    scores: GroupedScores, everyone: Distribution, asked: _Asked, level: float
) -> CutTable:
    """Cuts spread over the scores, from selecting nobody to nearly everybody."""
    steps = 101 if scores.n_groups <= 2 else max(21, min(81, 324 // scores.n_groups))
    cuts = np.unique(everyone.threshold(np.arange(steps) / steps))
    return cut_table(scores, cuts, confidence_level=level, burden=asked.selected_is == "bad")


def _check_groups(n_groups: int) -> None:
    if n_groups > MAX_GROUPS:
        raise ValueError(
            f"There are {n_groups:,} groups, and an audit compares at most {MAX_GROUPS}: is this "
            "column an identifier? Otherwise merge groups into larger ones."
        )


def _distinct_names(groups: tuple[Hashable, ...]) -> tuple[str, ...]:
    """The groups as texts that differ and are not empty: if two would read alike, by `repr`."""
    texts = [label_text(group) for group in groups]
    clear = [text for text in texts if text.strip() and texts.count(text) == 1]
    names = [
        text if text in clear else repr(group) for text, group in zip(texts, groups, strict=True)
    ]
    if len(set(names)) < len(names):
        names = [f"{name} (group {k + 1})" for k, name in enumerate(names)]
    return tuple(names)
