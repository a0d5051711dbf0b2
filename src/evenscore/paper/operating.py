"""Where a score will be cut at the lowest: the paper's α_max (Section 3.3, after Proposition 1).

A ROC constraint is wanted on [0, α_max], α_max being the largest true positive rate at which a bank
will operate. It is read from a score that was learned without a constraint, if the bank limits its
false positive rate or wants to earn as much as possible.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any, final

import numpy as np

from evenscore.scores import CLASSES, GroupedScores
from evenscore.scores.distribution import to_floats


@final
@dataclass(frozen=True)
class OperatingPoint:
    """A cut, s > threshold, and what it selects.

    The largest rate of a ROC constraint is `tpr` for the positives and `fpr` for the negatives.
    """

    threshold: float
    fpr: float
    tpr: float


def operating_point(
    y_true: Any,
    y_score: Any,
    *,
    max_fpr: float | None = None,
    earnings: tuple[float, float] | None = None,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> OperatingPoint:
    """The lowest cut that will be used, by a limit of false positives or by what it earns.

    Parameters
    ----------
    y_true, y_score
        Labels, and the scores of a score that was learned without a constraint.
    max_fpr : float, optional
        The largest false positive rate that is acceptable: the cut selects as many as it allows.
    earnings : two numbers, optional
        What a positive who is selected brings in, and what a negative who is selected costs: the
        cut earns most, and of several such cuts it is the one that selects the fewest.
    pos_label, sample_weight
        As for `evenscore.audit`.

    Returns
    -------
    OperatingPoint

    Examples
    --------
    >>> point = operating_point([0, 0, 0, 0, 1, 1, 1], [1, 2, 3, 4, 3.5, 2.5, 5], max_fpr=0.25)
    >>> point.threshold, point.fpr, round(point.tpr, 3)
    (3.0, 0.25, 0.667)
    >>> from evenscore import RocConstraint
    >>> RocConstraint(on="positives", interval=(0, point.tpr), n_rates=2).rates
    (0.333333333333333, 0.666666666666667)
    """
    if (max_fpr is None) == (earnings is None):
        raise ValueError(
            "Say either max_fpr, the largest false positive rate, or earnings, what a positive who "
            "is selected brings in and what a negative costs."
        )
    everyone = np.zeros(np.shape(np.asarray(y_score))[:1], dtype=np.intp)
    scores = GroupedScores.from_arrays(
        y_true,
        y_score,
        sensitive_features=everyone,
        pos_label=pos_label,
        sample_weight=sample_weight,
    )
    negatives, positives = (scores.pooled(on) for on in CLASSES)
    for name, sample in zip(CLASSES, (negatives, positives), strict=True):
        if sample.total == 0.0:
            raise ValueError(f"There are no {name}: a cut needs people of both classes.")
    if max_fpr is not None:
        if not isinstance(max_fpr, Real) or not 0.0 < max_fpr < 1.0:
            raise ValueError(f"max_fpr must lie strictly between 0 and 1, not {max_fpr!r}.")
        threshold = float(negatives.threshold(max_fpr))
    else:
        amounts = to_floats(earnings, "earnings")
        if amounts.shape != (2,) or not np.all(np.isfinite(amounts)) or not np.all(amounts > 0.0):
            raise ValueError(
                "earnings must be two positive numbers, what a positive brings in and what a "
                f"negative costs, not {earnings!r}."
            )
        cuts = np.concatenate([np.unique(scores.score)[::-1], [-np.inf]])
        earned = amounts[0] * positives.total * positives.survival(cuts)
        earned -= amounts[1] * negatives.total * negatives.survival(cuts)
        threshold = float(cuts[np.argmax(earned)])
    fpr, tpr = (float(one.survival(threshold)) for one in (negatives, positives))
    if tpr == 0.0:
        limit = f"max_fpr={max_fpr:g}" if max_fpr is not None else f"earnings={earnings!r}"
        raise ValueError(f"With {limit} no positive would be selected at all.")
    return OperatingPoint(threshold, fpr, tpr)
