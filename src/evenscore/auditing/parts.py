"""The parts of an audit: frozen, labelled, plain data."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Literal

from evenscore.gaps.cuts import Cuts
from evenscore.gaps.words import Words
from evenscore.inference.estimate import GapKey
from evenscore.scores import ClassName
from evenscore.scores.arrays import Floats


@dataclass(frozen=True, eq=False)
class Settings:
    """What the audit was asked. `random_state` seeds the resampling of bands.

    `words` are what people and outcomes are called, and whether being selected is good for them.
    `min_group_size` is how many observations each class of a compared group is worth at least, if
    groups were left out for that; `reference_group` whom the groups are compared with, if not with
    each other.
    `trained_on` says whether the score was trained on these rows; None if nobody said. `cuts` are
    those in use.
    """

    tolerance: float
    confidence_level: float
    random_state: int
    evenscore_version: str
    words: Words
    min_group_size: int | None = None
    reference_group: str | None = None
    trained_on: bool | None = None
    cuts: Cuts | None = None


@dataclass(frozen=True, eq=False)
class GapKind:
    """One kind of gap, what it compares whoever the groups are, and its plain name."""

    label: str
    meaning: str
    title: str = ""


@dataclass(frozen=True, eq=False)
class FamilyRecord:
    """A family as it was when it was audited: a stored audit never changes its mind.

    `n_gaps` is how many of its gaps were looked at, those left out included.
    """

    name: str
    family: str
    heading: str
    kinds: tuple[GapKind, ...]
    n_gaps: int


@dataclass(frozen=True, eq=False)
class Sample:
    """Who was audited. Arrays by cell are (class, group): negatives, then positives.

    `effective_sizes` is (Σw)²/Σw² of a cell; with clusters that of the weights of clusters, which
    the cell is worth at the least. `tied_share` is the share of people whose score somebody else
    has too. `compared_groups` are those large enough to be compared, `main_groups` the largest of
    them, which hold most people. `clusters` is how many there are;
    None if all rows are taken to be independent. Unless `outcomes_known`, everybody is
    counted in the first row of the arrays, and there is no prevalence.
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
    compared_groups: tuple[str, ...] = ()
    main_groups: tuple[str, ...] = ()
    clusters: int | None = None
    outcomes_known: bool = True


@dataclass(frozen=True)
class BinnedScores:
    """That the scores were grouped into bins within which nobody's order is known.

    `bins` is how many there are and `open` how many of them hold several scores. `auc` and `gap`
    are by how much an AUC, and the size of a gap at the cuts in use, may be off at the most; NaN if
    there is none.
    """

    bins: int
    open: int
    auc: float
    gap: float

    def __str__(self) -> str:
        parts = (("an AUC", self.auc), ("a gap at the cuts in use", self.gap))
        known = [(what, f"by at most {rounded_up(most)}") for what, most in parts if most == most]
        leaves = ""
        if known:
            (what, most), *rest = known
            more = "".join(f" and {other} {by}" for other, by in rest)
            leaves = f", which leaves {what} uncertain {most}{more}"
        return (
            f"The scores were grouped into {self.bins:,} bins; the order within {self.open:,} of "
            f"them is not known{leaves}. Intervals, verdicts and certificates include that; "
            "calibration and cuts found to be even take everybody to have the highest score of "
            "their bin."
        )


def rounded_up(number: float) -> str:
    """A bound with two digits, never less than it is.

    >>> rounded_up(0.01234), rounded_up(0.0004), rounded_up(0.0)
    ('0.013', '0.0004', '0')
    """
    if number == 0.0:
        return "0"
    exact = Decimal(repr(number))
    digit = Decimal((0, (1,), exact.adjusted() - 1))
    return f"{exact.quantize(digit, rounding=ROUND_CEILING).normalize():f}"


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
    `marks` are the rates asked for, each with its gap and pointwise interval: (rates, 4). `reason`
    says why there is no curve.
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
    marks: Floats
    reason: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Which gap it is, and between whom."""
        return GapKey(f"roc_gap({self.on})", self.first, self.second).title


@dataclass(frozen=True, eq=False)
class FairCuts:
    """Thresholds at which a rate differs by at most `tolerance` between all groups.

    Interval i is low[i] ≤ t < high[i]; cut there, the score selects from selected_low[i] to
    selected_high[i] of everyone. Only the longest are kept, `left_out` says how many are not; they
    hold `left_out_share` of everyone's scores. `evaluated` is the number of thresholds looked at:
    all scores, if `exact`. Point estimates, without an interval: a rate near the tolerance may be
    on either side.
    """

    rate: str
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


Fairness = Literal["gap", "unclear", "even"]


@dataclass(frozen=True, eq=False)
class Answer:
    """Whether the score is fair where it will be used, in one sentence, and what can be done.

    `verdict` is "gap" if some gap at the cuts in use is beyond the tolerance, "even" if all are
    shown to be within it, and "unclear" if the data cannot tell.
    """

    verdict: Fairness
    text: str
    remedies: tuple[str, ...]

    @property
    def short(self) -> str:
        """The answer in a word or two."""
        return {"gap": "No", "unclear": "Cannot tell", "even": "Yes"}[self.verdict]

    def __str__(self) -> str:
        return f"{self.short}. {self.text}"


NO_ANSWER = Answer("unclear", "", ())
"""That of an audit that has not been answered yet."""


@dataclass(frozen=True, eq=False)
class Finding:
    """One sentence of what was found.

    `kind` is "gap" (beyond the tolerance, with the audit's confidence that no gap is said to be so
    that is not), "unclear" (what cannot be told for lack of data),
    "even" (shown to be within the tolerance) or "context". `about` is "cuts" if it says what
    happens at the cuts in use.
    """

    kind: Literal["gap", "unclear", "even", "context"]
    text: str
    about: Literal["cuts", ""] = ""

    def __str__(self) -> str:
        return self.text
