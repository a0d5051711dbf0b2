"""What a fair score costs: its AUC beside that of the same scorer without constraints.

A price is told with every fit. The unconstrained score is learned on the same rows by the same
scorer, and both are measured on the same rows: the difference is what the constraints cost. Beside
them stands that unconstrained score *repaired*: one increasing map per group, which needs the group
of whoever is scored. Where it ranks much better than the fair score at gaps no larger, the features
hide the group, and it is blindness that costs.
"""

import math
from dataclasses import dataclass
from typing import final

LARGE = 0.02
"""A price in AUC above which a fit warns."""
_CHANCE = 0.5


class PriceWarning(UserWarning):
    """A fair score ranks much worse than one without constraints, or no better than chance."""


@final
@dataclass(frozen=True)
class Price:
    """What the constraints cost, in AUC, and what they mended.

    Attributes
    ----------
    free : float
        AUC of the same scorer without constraints.
    auc : float
        AUC of the fair score.
    free_gap, gap : float
        Sizes of their largest gaps.
    repaired, repaired_gap : float or None
        AUC and largest gap of the score without constraints, repaired: what a score can reach that
        is told the group of whoever it scores. None where no repair is known.
    where : str
        The rows on which all of them were measured.

    Examples
    --------
    >>> price = Price(0.722, 0.605, 0.31, 0.138, 0.719, 0.02, "on the training rows")
    >>> round(price.drop, 3), round(price.of_blindness, 3)
    (0.117, 0.114)
    >>> print(price)
    AUC 0.722 → 0.605 on the training rows, a price of 0.117, and a largest gap of 0.310 → 0.138. \
If groups were known when scoring: AUC 0.719 with a largest gap of 0.020.
    """

    free: float
    auc: float
    free_gap: float
    gap: float
    repaired: float | None
    repaired_gap: float | None
    where: str

    @property
    def drop(self) -> float:
        """By how much the AUC is lower than without constraints."""
        return self.free - self.auc

    @property
    def of_blindness(self) -> float | None:
        """By how much the AUC is lower than that of the repaired score, which knows the group."""
        return None if self.repaired is None else self.repaired - self.auc

    @property
    def warning(self) -> str | None:
        """What a user has to be told, if anything: a large price, or a ranking below chance."""
        if self.auc < _CHANCE:
            return f"ranks below chance. {self}"
        return f"pays for fairness with its ranking. {self}" if self.drop > LARGE else None

    def __str__(self) -> str:
        change = f"a price of {self.drop:.3f}" if round(self.drop, 3) > 0.0 else "at no price"
        text = f"AUC {self.free:.3f} → {self.auc:.3f} {self.where}, {change}"
        if not math.isnan(self.free_gap + self.gap):
            text += f", and a largest gap of {self.free_gap:.3f} → {self.gap:.3f}"
        text += "."
        if self.repaired is None:
            return text
        return (
            f"{text} If groups were known when scoring: AUC {self.repaired:.3f} with a largest gap "
            f"of {self.repaired_gap:.3f}."
        )
