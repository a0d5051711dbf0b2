"""The parts of an audit: frozen, labelled, plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenscore.inference.certificates import Certificate, Lacking
from evenscore.inference.estimate import Estimate, GapKey, gap_title
from evenscore.outlines import Outline
from evenscore.scores import ClassName
from evenscore.thresholds import RateName

__all__ = [
    "CertifiedThresholds",
    "ClassCertificate",
    "DetectableGap",
    "FairCuts",
    "Finding",
    "GapCurve",
    "LabelledMatrix",
    "Sample",
    "SelectedIs",
    "Settings",
    "Verdict",
    "verdict",
]

Floats = NDArray[np.float64]
Verdict = Literal["beyond", "within", "unclear", "undefined"]
SelectedIs = Literal["good", "bad"]


def verdict(estimate: Estimate, tolerance: float) -> Verdict:
    """Where the whole interval of a gap lies: beyond the tolerance, within it, or neither.

    "undefined" means that there is no interval; the estimate's warnings say why. This is about one
    gap alone: `AuditResult.verdict` accounts for the others that were looked at.

    >>> verdict(Estimate("gap", 0.2, 0.1, 0.3, 0.95, "t"), 0.05)
    'beyond'
    """
    if np.isnan(estimate.low) or np.isnan(estimate.high):
        return "undefined"
    if estimate.low > tolerance or estimate.high < -tolerance:
        return "beyond"
    if estimate.low >= -tolerance and estimate.high <= tolerance:
        return "within"
    return "unclear"


@dataclass(frozen=True, eq=False)
class Settings:
    """What the audit was asked. `random_state` seeds the resampling of bands and tests.

    `selected_is` says whether being selected, a high score, is "good" or "bad" for a person; None
    if the audit was not told.
    """

    rates: tuple[float, ...]
    tolerance: float
    confidence_level: float
    random_state: int
    evenscore_version: str
    selected_is: SelectedIs | None = None


@dataclass(frozen=True, eq=False)
class Sample:
    """Who was audited. Arrays by cell are (class, group): negatives, then positives.

    `effective_sizes` is (Σw)²/Σw² of a cell. `tied_share` is the share of people whose score
    somebody else has too.
    """

    n: int
    total_weight: float
    weighted: bool
    groups: tuple[str, ...]
    pos_label: str
    cell_counts: Floats
    cell_weights: Floats
    effective_sizes: Floats
    prevalence: float
    prevalence_by_group: Floats
    group_share: Floats
    lowest_score: float
    highest_score: float
    distinct_scores: int
    tied_share: float


@dataclass(frozen=True, eq=False)
class LabelledMatrix:
    """AUCs between all 2K cells: `values[i, j]` has reference cell i (row) and target cell j.

    `low` and `high` are the ends of the intervals. `pair_weights[i, j]`, K × K, is the share of the
    pairs (negative of group i, positive of group j); it weights the block of negatives against
    positives, `values[:K, K:]`, into the overall AUC.
    """

    cells: tuple[str, ...]
    values: Floats
    low: Floats
    high: Floats
    pair_weights: Floats


@dataclass(frozen=True, eq=False)
class GapCurve:
    """The ROC gap Δ(a) = ROC(a) − a of two groups in a class, over the rates a, with bands.

    Ties are broken at random, alike in both groups: see `RocCurve.with_ties_split`. Positive where
    `second` scores higher. The pointwise band holds at each rate alone, the simultaneous one at all
    rates of the curve at once; `simultaneous_method` says how it was made.
    `supremum` (signed, at `supremum_rate`) and `mean_absolute` are over all rates, exact up to
    100,000 distinct scores; beyond, 10,000 of them are looked at.
    `inter_group` is the curve ROC(a) itself, thinned. `reason` says why there is no curve.
    """

    on: ClassName
    first: str
    second: str
    rates: Floats
    value: Floats
    pointwise_low: Floats
    pointwise_high: Floats
    simultaneous_low: Floats
    simultaneous_high: Floats
    simultaneous_method: Literal["bootstrap", "dkw", "none"]
    confidence_level: float
    supremum: float
    supremum_rate: float
    mean_absolute: float
    inter_group: Outline
    reason: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Which gap it is, and between whom."""
        return gap_title(f"roc_gap({self.on})", None, self.first, self.second)


@dataclass(frozen=True, eq=False)
class CertifiedThresholds:
    """Scores between which every cut of the first group has a certified rate."""

    on: ClassName
    first: str
    second: str
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class ClassCertificate:
    """On which rates |Δ| ≤ tolerance is certified in a class, for all pairs of groups at once.

    See `evenscore.inference.Certificate`; `words` says it, or why it is not certified, and
    `lacking` whether it is for lack of data or of evenness. Ties are broken at random.
    """

    on: ClassName
    method: Literal["dkw", "simultaneous"]
    certified: bool
    low: float
    high: float
    tolerance: float
    confidence_level: float
    reach: float
    needed: int
    thresholds: tuple[CertifiedThresholds, ...]
    words: str
    warnings: tuple[str, ...] = ()
    lacking: Lacking = ""

    @property
    def width(self) -> float:
        """Width of the range of rates that is certified; 0 if none is."""
        return self.high - self.low if self.certified else 0.0

    @classmethod
    def of(cls, on: ClassName, found: Certificate) -> ClassCertificate:
        """The certificate of one class as plain data."""
        return cls(
            on,
            found.method,
            found.certified,
            found.low,
            found.high,
            found.tolerance,
            found.confidence_level,
            found.reach,
            found.needed,
            tuple(
                CertifiedThresholds(name, first, second, low, high)
                for (name, first, second), (low, high) in found.thresholds.items()
            ),
            found.words,
            found.warnings,
            found.lacking,
        )

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, eq=False)
class FairCuts:
    """Thresholds at which a rate differs by at most `tolerance` between all groups.

    Interval i is low[i] ≤ t < high[i]; cut there, the score selects from selected_low[i] to
    selected_high[i] of everyone. Only the longest are kept, `left_out` says how many are not; they
    hold `left_out_share` of everyone's scores. `evaluated` is the number of thresholds looked at:
    all scores, if `exact`. Point estimates, without an interval: a rate near the tolerance may be
    on either side.
    """

    rate: RateName
    tolerance: float
    low: Floats
    high: Floats
    selected_low: Floats
    selected_high: Floats
    left_out: int
    left_out_share: float
    evaluated: int
    exact: bool
    words: str
    reason: str = ""


@dataclass(frozen=True, eq=False)
class DetectableGap:
    """The smallest gap that a sample like this one shows with the given power."""

    name: str
    first: str
    second: str
    on: ClassName | None
    rate: float | None
    value: float
    power: float

    @property
    def key(self) -> GapKey:
        """That of its `Estimate`."""
        return self.name, self.on, self.rate, self.first, self.second

    @property
    def title(self) -> str:
        """Which gap it is, at which rate and between whom."""
        return gap_title(self.name, self.rate, self.first, self.second)


@dataclass(frozen=True, eq=False)
class Finding:
    """One sentence of what was found.

    `kind` is "gap" (beyond the tolerance, with the audit's confidence that no gap is said to be so
    that is not), "unclear" (what cannot be told for lack of data),
    "even" (shown to be within the tolerance) or "context".
    """

    kind: Literal["gap", "unclear", "even", "context"]
    text: str

    def __str__(self) -> str:
        return self.text
