"""Curve constraints: two ROC curves that should be equal point by point, not in area alone.

An AUC notion compares the areas under two curves. That the curves agree at every rate is more, and
says something of cuts (the paper's Proposition 2):

- bnsp, ROC_{H,G⁰}(a) = ROC_{H,G¹}(a): at the cut that selects a share a of all negatives, the same
  share of the positives is selected in both groups. These are rates at common cuts, fnr where the
  cuts are shares of all negatives; bpsn is fpr at shares of all positives, and the average equality
  gaps are fnr at shares of all positives and fpr at shares of all negatives.
- intra_group, ROC_{H⁰,G⁰}(a) = ROC_{H¹,G¹}(a): each group is cut at a threshold of its own, where
  it selects a share a of its own negatives. No common cut is meant, and the thresholds are part of
  the answer.

The gap is ROC_{H⁰,G⁰}(a) − ROC_{H¹,G¹}(a), the share of the positives selected in the first group
minus that in the second; over a range of rates the one of largest size, exactly. Ties are split, as
in ROC gaps: two groups of one law have no gap, however coarse the score.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from evenscore.gaps.cuts import Cuts, percent
from evenscore.gaps.family import (
    Alignment,
    EstimateSettings,
    GapFamily,
    Pairs,
    check_tolerance,
    labels_of_pairs,
)
from evenscore.gaps.rates import RateConstraint
from evenscore.gaps.roc import around
from evenscore.gaps.smooth import SmoothCells, Surrogate
from evenscore.gaps.words import DEFAULT_WORDS, Words
from evenscore.inference.aucs import small_cells
from evenscore.inference.curve_gaps import CurveGap, point_curve_gaps, range_curve_gaps
from evenscore.inference.decisions import holm
from evenscore.inference.estimate import Estimate, GapKey, check_level
from evenscore.inference.intervals import Intervals, invert, normal_quantile
from evenscore.scores import GroupedScores, check_scores
from evenscore.scores.arrays import Floats
from evenscore.scores.brackets import curve_bracket
from evenscore.scores.curve import RocCurve
from evenscore.scores.selection import Pool

# The rate that has to be equal, and of whom the cuts are shares.
_AT_COMMON_CUTS: dict[str, tuple[str, Pool]] = {
    "bnsp": ("fnr", "negatives"),
    "bpsn": ("fpr", "positives"),
    "zero_aeg": ("fnr", "positives"),
    "zero_aeg_negatives": ("fpr", "negatives"),
}


@final
@dataclass(frozen=True)
class CurveConstraint(GapFamily):
    """The groups' own ROC curves should be equal at some rates, or over a range of them.

    Each group is cut where the rate is the share selected of its own negatives. `named` gives the
    families of other pairs of curves.

    Parameters
    ----------
    between : two rates, optional
        Every rate in this range.
    at : rates, optional
        These rates alone.
    tolerance : float, optional
        The gap that a scorer may leave.

    Examples
    --------
    >>> fair = CurveConstraint(between=(0.1, 0.4))
    >>> [key.title for key in fair.keys(["a", "b"])]
    ["own_roc_gap where 10% to 40% of each group's own negatives are selected, a and b"]
    """

    between: tuple[float, float] | None = None
    at: tuple[float, ...] = ()
    tolerance: float | None = None

    family: ClassVar[str] = "curve"
    heading: ClassVar[str] = "The groups' own ROC curves"

    def __post_init__(self) -> None:
        check_tolerance(self.tolerance)
        if (self.between is None) == (isinstance(self.at, Sequence) and len(self.at) == 0):
            raise ValueError(
                "A curve constraint takes either between, for instance (0.1, 0.4), or at, for "
                "instance (0.1, 0.2)."
            )
        cuts = self._cuts  # checks them
        object.__setattr__(self, "between", cuts.between)
        object.__setattr__(self, "at", cuts.at)

    @classmethod
    def named(
        cls,
        name: str,
        *,
        between: tuple[float, float] | None = None,
        at: Any = (),
        tolerance: float | None = None,
    ) -> GapFamily:
        """The family that asks for the two curves of an AUC notion to be equal, point by point.

        >>> CurveConstraint.named("bnsp", between=(0.05, 0.35)).name
        'fnr at cuts that select 5% to 35% of all negatives'
        """
        if name == "intra_group":
            return cls(between, at, tolerance)
        if name not in _AT_COMMON_CUTS:
            known = ", ".join(("intra_group", *_AT_COMMON_CUTS))
            raise ValueError(
                f"The curves that can be made equal are those of {known}, not {name!r}."
            )
        rate, of = _AT_COMMON_CUTS[name]
        cuts = Cuts(between, at, of=of)
        return RateConstraint(rate, cuts=cuts, tolerance=tolerance)

    @property
    def _cuts(self) -> Cuts:
        """The rates, as shares of a group's own negatives."""
        return Cuts(self.between, self.at, of="negatives")

    @property
    def name(self) -> str:  # type: ignore[override]
        """For instance "own_roc_gap where 10% to 40% of each group's own negatives are …"."""
        texts = self._texts()
        return f"own_roc_gap {' and '.join(texts)}"

    def _texts(self, words: Words = DEFAULT_WORDS) -> list[str]:
        """Where each gap is measured."""
        where = "where {} of each group's own {} are " + words.selected
        if self.between is not None:
            low, high = (percent(rate) for rate in self.between)
            return [where.format(f"{low} to {high}", words.negatives)]
        return [where.format(percent(rate), words.negatives) for rate in self.at]

    # ------------------------------------------------------------------ gaps

    def keys(self, groups: Sequence[object], pairs: Pairs | None = None) -> tuple[GapKey, ...]:
        """One gap for every pair of groups, over the range or at each rate."""
        rates = self.at or (None,)
        return tuple(
            GapKey("own_roc_gap", *names, text, "positives", rate)
            for names in labels_of_pairs(groups, pairs)
            for text, rate in zip(self._texts(), rates, strict=True)
        )

    def values(self, scores: GroupedScores, pairs: Pairs | None = None) -> Floats:
        """The first group's curve minus the second's, where that is largest in size."""
        compared = scores.pairs() if pairs is None else list(pairs)
        curves = _own_curves(scores)
        if self.between is not None:
            return np.array(
                [
                    curves[i].difference(curves[j]).restrict(*self.between).supremum[0]
                    for i, j in compared
                ],
                dtype=np.float64,
            )
        heights = [curve.evaluate(self.at) for curve in curves]
        return np.concatenate([np.zeros(0), *(heights[i] - heights[j] for i, j in compared)])

    def _measured(self, scores: GroupedScores, settings: EstimateSettings) -> list[CurveGap]:
        """The gaps with what their intervals are made of."""
        pairs = scores.pairs() if settings.pairs is None else list(settings.pairs)
        curves = _own_curves(scores)
        if self.between is None:
            return point_curve_gaps(curves, np.array(self.at), pairs)
        return range_curve_gaps(curves, self.between, pairs, random_state=settings.random_state)

    def intervals(self, scores: GroupedScores, settings: EstimateSettings) -> Intervals:
        """Of a rate, those of a difference of two curves; of a range, those of the largest."""
        return _intervals(self._measured(scores, settings))

    def _estimated(self, scores: GroupedScores, settings: EstimateSettings) -> list[Estimate]:
        """The gaps with their intervals, and each group's own threshold."""
        level = check_level(settings.confidence_level)
        gaps = self._measured(scores, settings)
        ends = _intervals(gaps)
        z = normal_quantile(0.5 + level / 2.0)
        low, high = ends(np.full(len(gaps), z))
        p_values = invert(ends, len(gaps))
        pairs = scores.pairs() if settings.pairs is None else list(settings.pairs)
        negatives = scores.of_class("negatives")
        method = "largest over the rates" if self.between else "Newcombe, both curves"
        estimates = []
        for k, (key, gap) in enumerate(
            zip(self.keys(scores.groups, settings.pairs), gaps, strict=True)
        ):
            pair = pairs[k // (len(self.at) or 1)]
            known = not np.isnan(gap.value)
            one, two = (float(negatives[g].threshold(gap.rate)) if known else np.nan for g in pair)
            cells = [c * scores.n_groups + g for c in range(2) for g in pair]
            estimates.append(
                replace(
                    Estimate.of_key(key, float(gap.value), method=method, family=self.family),
                    low=float(low[k]),
                    high=float(high[k]),
                    p_value=float(p_values[k]),
                    confidence_level=level,
                    standard_error=float(high[k] - low[k]) / (2.0 * z),
                    first_value=gap.first,
                    second_value=gap.second,
                    threshold=one,
                    second_threshold=two,
                    selected_share=gap.rate,
                    warnings=tuple(small_cells(cells, scores)) if known else (),
                )
            )
        return holm(self._with_reasons(estimates, scores, settings.pairs))

    def brackets(self, scores: GroupedScores, pairs: Pairs | None = None) -> Floats:
        """The shares of the positives in the bins where the negatives are cut, of both groups.

        At a rate, the largest over the cuts that the interval looks at.
        """
        ranges = [self.between] if self.between is not None else [(rate, rate) for rate in self.at]
        compared = scores.pairs() if pairs is None else list(pairs)
        by_group = np.array(
            [
                [curve_bracket(scores, one, two, *around(one, *ends)) for ends in ranges]
                for one, two in zip(
                    scores.of_class("negatives"), scores.of_class("positives"), strict=True
                )
            ]
        )
        return np.concatenate([np.zeros(0), *(by_group[i] + by_group[j] for i, j in compared)])

    # ------------------------------------------------------------------ in words

    def say(self, estimate: Estimate, words: Words = DEFAULT_WORDS) -> str:
        """Who is selected in either group, each cut at a threshold of its own."""
        one, two = f"{estimate.first_value:.1%}", f"{estimate.second_value:.1%}"
        share = percent(round(estimate.selected_share, 4))
        return (
            f"among {words.positives}, {one} of {words.whom(estimate.first)} "
            f"{'and' if one == two else 'but'} {two} of {words.whom(estimate.second)} would be "
            f"{words.selected} where {share} of each group's own {words.negatives} are: above "
            f"{estimate.threshold:.5g} {words.among(estimate.first)} and above "
            f"{estimate.second_threshold:.5g} {words.among(estimate.second)}"
        )

    def title(self, key: GapKey, words: Words = DEFAULT_WORDS) -> str:
        """Who is selected, each group at a threshold of its own."""
        text = f"{words.selected} among {words.positives}, each group at a cut of its own"
        return text[:1].upper() + text[1:]

    def meaning(self, key: GapKey, words: Words = DEFAULT_WORDS) -> str:
        """What is compared, and where."""
        largest = "the largest difference " if self.between is not None else "the difference "
        texts = dict(zip(self._texts(), self._texts(words), strict=True))
        return (
            f"How well the score tells {words.positives} from {words.negatives} within a group: "
            f"{largest}of the shares of {words.positives} {words.selected} {texts[key.at]}, each "
            "group at a threshold of its own."
        )

    # ------------------------------------------------------------------ learning and repair

    def trained(self) -> GapFamily:
        """The same at each of several rates, each with a multiplier of its own."""
        return self if self.at else replace(self, between=None, at=self._cuts.trained().at)

    def guards(self) -> "CurveConstraint | None":
        """The rates just outside."""
        cuts = self._cuts.guards()
        return None if cuts is None else replace(self, between=None, at=cuts.at)

    def noise(self, sizes: Floats) -> Floats:
        """Of a share of one half, at the most, at a cut known as well as a score without use is."""
        n_groups = len(sizes) // 2
        inverse = 1.0 / np.where(sizes > 0.0, sizes, np.nan)
        by_class = inverse.reshape(2, n_groups)[:, self.compared(n_groups)].sum(axis=2)
        rates = np.tile(self.at or (0.5,), by_class.shape[1] // (len(self.at) or 1))
        return np.asarray(np.sqrt(rates * (1.0 - rates) * by_class[0] + 0.25 * by_class[1]))

    def surrogate(self, cells: SmoothCells) -> Surrogate:
        """The gaps where the smoothed negatives of each group have the shares asked for.

        With h and g the densities of a group's negatives and positives at its threshold t, which
        moves with the scores, a score of its positives moves its curve by k(s − t), one of its
        negatives by −k(s − t) g/h.
        """
        if not self.at:
            raise TypeError(f"{self.name} is trained at rates of its own: see `trained`.")
        n, m = cells.n_groups, len(self.at)
        negatives = np.repeat(np.arange(n), m)
        at = cells.thresholds(np.eye(n, 2 * n), np.asarray(self.at)).reshape(-1)
        below, density = cells.read_at(n + negatives, at)
        ratio = density / np.maximum(cells.read_at(negatives, at)[1], 1e-12)
        heights = (1.0 - below).reshape(n, m)
        i, j = self.compared(n)[::m].T

        def slopes(multipliers: Floats) -> Floats:
            by_group = np.zeros((n, m))
            own = multipliers.reshape(-1, m)
            np.add.at(by_group, i, own)
            np.add.at(by_group, j, -own)
            flat = by_group.reshape(-1)
            active = np.flatnonzero(flat)
            if not len(active):
                return np.zeros_like(cells.density)
            pull = np.zeros((2 * n, len(active)))
            column = np.arange(len(active))
            pull[n + negatives[active], column] = flat[active]
            pull[negatives[active], column] = -ratio[active] * flat[active]
            return cells.pulled(pull, at[active])

        return Surrogate((heights[i] - heights[j]).reshape(-1), slopes)

    def targets(self, n_groups: int, *, guards: bool = True) -> Alignment:
        """None: no map of a whole group changes how its own people are ranked."""
        raise ValueError(
            f"{self.name} cannot be repaired, since one increasing map per group does not change a "
            "group's own ROC curve; a learned score can meet it (LinearScorer)."
        )


def _own_curves(scores: GroupedScores) -> list[RocCurve]:
    """The ROC curve of each group's positives against its negatives, ties split."""
    check_scores(scores)
    return [
        RocCurve(negatives, positives).with_ties_split()
        for negatives, positives in zip(
            scores.of_class("negatives"), scores.of_class("positives"), strict=True
        )
    ]


def _intervals(gaps: Sequence[CurveGap]) -> Intervals:
    """The intervals of some gaps at any level."""

    def ends(z: Floats) -> tuple[Floats, Floats]:
        found = [
            (np.nan, np.nan) if np.isnan(at) else gap.interval(at)
            for gap, at in zip(gaps, z.tolist(), strict=True)
        ]
        low, high = np.array(found).reshape(-1, 2).T
        return low, high

    return ends
