"""Levelling down: whether groups become equal only by ranking some people worse on purpose.

Where the AUC is a mean of statistics of the groups ("bnsp", "bpsn"), a constrained score maximises
Σ v_k A_k, with weights v_k of the groups that add up to one. As long as none is negative, it is the
best score of a population in which the groups count so, and nobody is ranked badly but for the sake
of others. A negative weight means that the score is rewarded for ranking the people of that group
badly. The best score without negative weights shows what can be had otherwise, and what gap it
leaves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from evenscore.inference.estimate import Estimate, percent


@final
@dataclass(frozen=True)
class LevellingDown:
    """Whether a tolerance takes ranking somebody worse on purpose, and at what price.

    Attributes
    ----------
    needed : bool or None
        None: the data cannot tell whether the gap left otherwise is beyond the tolerance.
    tolerance : float
        The gap that may be left.
    groups : tuple of str
        Their names.
    weights : tuple of float
        What each group counts for in the fair score.
    fair, otherwise : tuple of float
        The statistic of each group, of the fair score and of the best one without negative weights.
    auc, auc_otherwise : float
        Their AUCs.
    left : Estimate
        The largest gap that the latter leaves.
    words : str
        All that in a sentence or two.
    """

    needed: bool | None
    tolerance: float
    groups: tuple[str, ...]
    weights: tuple[float, ...]
    fair: tuple[float, ...]
    otherwise: tuple[float, ...]
    auc: float
    auc_otherwise: float
    left: Estimate
    words: str

    def __str__(self) -> str:
        return self.words


_NONE = -0.005  # a weight below is negative: multipliers are not found more exactly than that


def levelling_down(
    notion: str,
    whom: str,
    tolerance: float,
    groups: Sequence[str],
    weights: Sequence[float],
    fair: tuple[float, Sequence[float]],
    otherwise: tuple[float, Sequence[float]],
    left: Estimate,
) -> LevellingDown:
    """The finding, from AUC and statistics of the two scores, and what the second one leaves.

    `notion` is the constraint's name, and `whom` are the positives or the negatives, of which the
    groups have a weight; a gap `left` whose interval holds the tolerance cannot tell.

    >>> left = Estimate("bnsp", 0.08, 0.05, 0.11, 0.95, "made", first="a", second="b")
    >>> print(levelling_down(
    ...     "bnsp", "positives", 0.02, "ab", (-0.3, 1.3), (0.78, (0.79, 0.77)),
    ...     (0.82, (0.86, 0.78)), left))
    Levelling down: a bnsp gap of 0.02 takes ranking positives of a worse on purpose (0.790 instead
    of 0.860), and nobody gains by it (b has 0.770 instead of 0.780). Without that the gap is 0.080
    (95% interval 0.050 to 0.110), at an AUC of 0.820 instead of 0.780.
    """
    lowered = [k for k, weight in enumerate(weights) if weight < _NONE]
    if abs(left.value) <= tolerance:  # it is reached without
        lowered = []
    needed: bool | None = bool(lowered)
    interval = f"{percent(left.confidence_level)} interval {left.low:.3f} to {left.high:.3f}"
    if left.value < 0.0:
        interval = f"{percent(left.confidence_level)} interval {-left.high:.3f} to {-left.low:.3f}"
    seen = f"{abs(left.value):.3f}" + (f" ({interval})" if left.has_interval else "")
    if not lowered:
        shares = ", ".join(
            f"{group} {100.0 * weight:.0f}%" for group, weight in zip(groups, weights, strict=True)
        )
        words = (
            f"No levelling down: the fair score is the best one where, of all {whom}, the groups "
            f"count for {shares}, and it ranks nobody worse on purpose."
        )
    else:
        worse = " and ".join(
            f"{whom} of {groups[k]} worse on purpose ({fair[1][k]:.3f} instead of "
            f"{otherwise[1][k]:.3f})"
            for k in lowered
        )
        others = [k for k in range(len(groups)) if k not in lowered]
        gains = [k for k in others if fair[1][k] > otherwise[1][k] + 5e-4]
        shown = ", ".join(
            f"{groups[k]} has {fair[1][k]:.3f} instead of {otherwise[1][k]:.3f}"
            for k in gains or others
        )
        for_whom = "so that others gain" if gains else "and nobody gains by it"
        words = (
            f"Levelling down: a {notion} gap of {tolerance:g} takes ranking {worse}, {for_whom} "
            f"({shown}). Without that the gap is {seen}, at an AUC of {otherwise[0]:.3f} instead "
            f"of {fair[0]:.3f}."
        )
        if not left.lies_beyond(tolerance):
            needed = None
            words += (
                f" Whether that gap is beyond {tolerance:g} in the population these people cannot "
                "tell, so neither can they tell whether levelling down is needed."
            )
    return LevellingDown(
        needed,
        tolerance,
        tuple(groups),
        tuple(map(float, weights)),
        tuple(map(float, fair[1])),
        tuple(map(float, otherwise[1])),
        fair[0],
        otherwise[0],
        left,
        words,
    )
