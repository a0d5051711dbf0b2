"""Which of many differences between two scores of the same people are real."""

from collections.abc import Sequence

import numpy as np

from evenscore.inference.decisions import holm_steps, scaled
from evenscore.inference.estimate import Estimate, GapTest
from evenscore.inference.intervals import Intervals, largest_quantile
from evenscore.inference.paired import Paired
from evenscore.scores.arrays import Bools, Floats


def size_changes(
    auc: Estimate, gaps: Sequence[Paired], level: float
) -> tuple[GapTest | None, list[GapTest | None]]:
    """The difference of two AUCs and those of the gaps' sizes, each tested against zero.

    Holm's procedure runs over all of them: with the confidence level none is told to differ that
    does not. The interval of a test is at the level at which the procedure tested it, and leaves
    out zero if, and only if, the adjusted p-value is at most one minus the level. Two scores
    without any difference of a statistic give None where it has no interval.
    """
    from scipy.special import ndtr, ndtri

    differences = scaled([auc, *(gap.difference for gap in gaps)])
    totals = scaled([auc, *(gap.total for gap in gaps)])  # of AUCs the difference alone counts
    n, alpha = len(gaps) + 1, 1.0 - level

    def leaves_out_zero(interval: Intervals, z: Floats) -> Bools:
        low, high = interval(z)
        return np.asarray((low > 0.0) | (high < 0.0))

    z = largest_quantile(lambda z: leaves_out_zero(differences, z) & leaves_out_zero(totals, z), n)
    undefined = np.isnan(differences(np.ones(n))[0]) | np.isnan(totals(np.ones(n))[0])
    steps = holm_steps(np.where(undefined, np.nan, 2.0 * ndtr(-z)), n, alpha)
    at = -ndtri(steps.level / 2.0)
    ends, others = np.transpose(differences(at)), np.transpose(totals(at))
    tests: list[GapTest | None] = []
    for k in range(n):
        if undefined[k]:
            tests.append(None)
            continue
        low, high = ends[k].tolist()
        if k:
            low, high = Paired.size_range((low, high), others[k].tolist())
        if steps.adjusted[k] > alpha:  # both are found to 1e-5
            low, high = min(low, 0.0), max(high, 0.0)
        tests.append(GapTest(float(steps.adjusted[k]), low, high, 1.0 - float(steps.level[k])))
    return tests[0], tests[1:]
