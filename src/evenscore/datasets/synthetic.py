"""Synthetic samples from laws whose AUCs, ROC curves and gaps are known exactly.

`make_square` and `make_rings` are the paper's Examples 1 and 2, where a linear score is to be
learned; `make_credit` is the score of its Figure 1. The law comes with the sample, so that what is
estimated can be compared with the truth.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar, final

from numpy.typing import NDArray

from evenscore.paper.laws import PiecewiseLinearLaw, RingsLaw, SquareLaw, credit_law
from evenscore.paper.laws.base import RandomState
from evenscore.paper.laws.rings import Uniform
from evenscore.scores.arrays import Floats, Ints

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

    X: Floats
    y: Ints
    groups: NDArray[Any]
    feature_names: tuple[str, ...]
    law: LawT

    @property
    def scores(self) -> Floats:
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
    """Example 1: uniform on the unit square, eta_0(x) = x1, eta_1(x) = x2.

    Parameters
    ----------
    n : int, default 10,000
        The number of rows.
    q1 : float, default 17/20
        P(group 1).
    random_state : int or Generator, optional
        The seed.

    Returns
    -------
    SyntheticSample
        Two features; `law(c)` is the law of the score c x1 + (1 − c) x2.

    Examples
    --------
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

    Parameters
    ----------
    n : int, default 10,000
        The number of rows.
    q1 : float, default 1/2
        P(group 1).
    random_state : int or Generator, optional
        The seed.
    uniform : "area" or "radius", default "area"
        What is uniform: the paper prints the area, its results agree with uniform radii.

    Returns
    -------
    SyntheticSample
        Two features; `law(c)` is the law of the score −c x1 + (1 − c) x2.

    Examples
    --------
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

    Parameters
    ----------
    n : int, default 10,000
        The number of rows.
    random_state : int or Generator, optional
        The seed.

    Returns
    -------
    SyntheticSample
        One feature, the score; `law` is its law.

    Examples
    --------
    >>> data = make_credit(random_state=0)
    >>> data.scores.shape, data.law.groups
    ((10000,), (0, 1))
    """
    law = credit_law()
    scores, y, groups = law.sample(n, random_state)
    return SyntheticSample(scores[:, None], y, groups, ("score",), law)
