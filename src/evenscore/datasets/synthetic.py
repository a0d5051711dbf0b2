"""Synthetic samples from laws whose AUCs, ROC curves and gaps are known exactly.

`make_square` and `make_rings` are the paper's Examples 1 and 2, where a linear score is to be
learned; `make_credit` is the score of its Figure 1. The law comes with the sample, so that what is
estimated can be compared with the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from evenscore.datasets.laws import (
    ContinuousLaw,
    FloatArray,
    IntArray,
    LawRocCurve,
    RandomState,
    ScoreLaw,
)
from evenscore.datasets.planar import PlanarLaw, SquareLaw
from evenscore.datasets.rings import RingsLaw, Uniform
from evenscore.datasets.tabulated import DiscreteLaw, PiecewiseLinearLaw

__all__ = [
    "ContinuousLaw",
    "DiscreteLaw",
    "LawRocCurve",
    "PiecewiseLinearLaw",
    "PlanarLaw",
    "RingsLaw",
    "ScoreLaw",
    "SquareLaw",
    "SyntheticSample",
    "credit_law",
    "make_credit",
    "make_rings",
    "make_square",
]

LawT = TypeVar("LawT")


@final
@dataclass(frozen=True, eq=False)
class SyntheticSample(Generic[LawT]):
    """A sample and the law behind it.

    `law` is the law of the score where the data are a score, and a function c -> law of s_c where
    they are features that a score s_c is to be learned from.

    >>> data = make_square(1000, random_state=0)
    >>> data.X.shape, data.feature_names
    ((1000, 2), ('x1', 'x2'))
    >>> law = data.law(0.15)
    >>> law.score(data.X).shape, round(law.auc(), 4)
    ((1000,), 0.7876)
    """

    X: FloatArray
    y: IntArray
    groups: NDArray[Any]
    feature_names: tuple[str, ...]
    law: LawT

    @property
    def scores(self) -> FloatArray:
        """The only feature, where that is a score; refused where there are several features."""
        if self.X.shape[1] != 1:
            raise ValueError(
                f"These data have {self.X.shape[1]} features and no score: "
                "choose c and call law(c).score(X)."
            )
        return self.X[:, 0]


def make_square(
    n: int = 10_000, q1: float = 17 / 20, random_state: RandomState = None
) -> SyntheticSample[Callable[[float], SquareLaw]]:
    """Example 1: uniform on the unit square, eta_0(x) = x1, eta_1(x) = x2, P(group 1) = q1.

    >>> data = make_square(random_state=0)
    >>> data.X.shape, round(data.law(0.5).auc(), 4)
    ((10000, 2), 0.7333)
    """
    X, y, groups = SquareLaw(0.5, q1).draw_features(n, random_state)
    return SyntheticSample(X, y, groups, ("x1", "x2"), partial(SquareLaw, q1=q1))


def make_rings(
    n: int = 10_000,
    q1: float = 1 / 2,
    random_state: RandomState = None,
    uniform: Uniform = "area",
) -> SyntheticSample[Callable[[float], RingsLaw]]:
    """Example 2: a quarter disc (group 0) in a quarter ring (group 1), the label by the angle.

    `uniform="radius"` draws uniform radii, with which the paper's results agree.

    >>> data = make_rings(random_state=0)
    >>> radius = (data.X**2).sum(axis=1) ** 0.5
    >>> bool(((radius > 0.5) == (data.groups == 1)).all())
    True
    """
    X, y, groups = RingsLaw(0.5, q1, uniform).draw_features(n, random_state)
    law = partial(RingsLaw, q1=q1, uniform=uniform)
    return SyntheticSample(X, y, groups, ("x1", "x2"), law)


def make_credit(
    n: int = 10_000, random_state: RandomState = None
) -> SyntheticSample[PiecewiseLinearLaw]:
    """Figure 1: a credit score with equal AUCs in both groups and unequal false negative rates.

    >>> data = make_credit(random_state=0)
    >>> data.scores.shape, data.law.groups
    ((10000,), (0, 1))
    """
    law = credit_law()
    scores, y, groups = law.sample(n, random_state)
    return SyntheticSample(scores[:, None], y, groups, ("score",), law)


def credit_law() -> PiecewiseLinearLaw:
    """The credit score of Figure 1: AUC_{H,G0} = AUC_{H,G1}, and FNRs of 30 % and 60 % at 0.85.

    Negatives are alike in both groups, with 25 % above 0.72; there the FNR of both groups is 20 %,
    and nowhere else are the two equal. Positives of group 1 start at 0.5 and are spread almost
    evenly over 0.6..1, those of group 0 are sometimes low and mostly above 0.8. The groups have the
    same size, and 70 % of each are positive.

    >>> law = credit_law()
    >>> law.cdf([0.72, 0.85])[:, 2:].round(12).tolist()  # false negative rates of groups 0 and 1
    [[0.2, 0.2], [0.3, 0.6]]
    >>> abs(law.auc(target=law.positives(0)) - law.auc(target=law.positives(1))) < 1e-15
    True
    """
    knots = [0.0, 0.3, 0.5, 0.6, 0.72, 0.8, 0.85, 1.0]
    negatives = np.array([0.0, 0.36, 0.56, 0.65, 0.75, 0.83, 0.88, 1.0])
    positives_1 = np.array([0.0, 0.0, 0.0, 0.02, 0.2, 0.45, 0.6, 1.0])

    def positives_0(low: float) -> FloatArray:
        # `low` is the c.d.f. at 0.5; it rises linearly up to there, and from there to 0.2 at 0.72.
        at_60 = low + (0.2 - low) * (0.60 - 0.5) / (0.72 - 0.5)
        return np.array([0.0, 0.6 * low, low, at_60, 0.2, 0.25, 0.3, 1.0])

    def auc(positives: FloatArray) -> float:
        return float(np.sum((negatives[1:] + negatives[:-1]) / 2 * np.diff(positives)))

    # The AUC of group 0 is affine in `low`, so one secant step makes the two AUCs equal.
    start, slope = auc(positives_0(0.0)), auc(positives_0(0.2)) - auc(positives_0(0.0))
    low = 0.2 * (auc(positives_1) - start) / slope
    cdf_values = [negatives, negatives, positives_0(low), positives_1]
    return PiecewiseLinearLaw(knots, cdf_values, cell_weights=[[0.15, 0.15], [0.35, 0.35]])
