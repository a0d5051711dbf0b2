"""What a fair score costs: its AUC beside that of the same scorer without constraints.

A price is told with every fit, of rows that neither of the two scores has been learned from: both
are of the same rows, so that their difference is known much better than either.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from evenscore.inference.estimate import Estimate

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
    free, auc : Estimate
        AUC of the same scorer without constraints, and of the fair score.
    difference : Estimate
        The first less the second, paired by person.
    free_gap, gap : Estimate
        Their largest gaps.

    Examples
    --------
    >>> free, auc = (Estimate("AUC", v, v - 0.02, v + 0.02, 0.95, "made") for v in (0.722, 0.605))
    >>> lost = Estimate("AUC", 0.117, 0.1, 0.134, 0.95, "made")
    >>> gaps = (Estimate("gap", v, v - 0.02, v + 0.02, 0.95, "made") for v in (0.31, -0.04))
    >>> price = Price(free, auc, lost, *gaps)
    >>> price.drop
    0.117
    >>> print(price)
    AUC 0.722 → 0.605 on rows not trained on, a price of 0.117 (0.100 to 0.134), and a largest gap \
of 0.310 → 0.040.
    """

    free: Estimate
    auc: Estimate
    difference: Estimate
    free_gap: Estimate
    gap: Estimate

    @property
    def drop(self) -> float:
        """By how much the AUC is lower than without constraints."""
        return self.difference.value

    @property
    def warning(self) -> str | None:
        """What a user has to be told, if anything: a large price, or a ranking below chance."""
        if self.auc.value < _CHANCE:
            return f"ranks below chance. {self}"
        return f"pays for fairness with its ranking. {self}" if self.drop > LARGE else None

    def __str__(self) -> str:
        lost = self.difference
        text = f"AUC {self.free.value:.3f} → {self.auc.value:.3f} on rows not trained on, "
        text += f"a price of {lost.value:.3f}" if round(lost.value, 3) > 0.0 else "at no price"
        if lost.has_interval and lost.low < lost.high:
            text += f" ({lost.low:.3f} to {lost.high:.3f})"
        sizes = abs(self.free_gap.value), abs(self.gap.value)
        if not np.isnan(sum(sizes)):
            text += f", and a largest gap of {sizes[0]:.3f} → {sizes[1]:.3f}"
        return f"{text}."
