"""Curves as displays draw them: of which pairs of groups, and through which points."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from evenscore.inference.bands import Band, BandKind, roc_band
from evenscore.scores import CLASSES, ClassName, GroupedScores, OneOrBoth, check_scores, class_names
from evenscore.scores.arrays import Floats
from evenscore.scores.aucs import inter_group_curve
from evenscore.scores.curve import RocCurve
from evenscore.scores.thinning import outline
from evenscore.showing.plots.style import SeriesStyle, Theme
from evenscore.showing.plots.text import group_names

Corners = tuple[Floats, Floats]
Pairs = Sequence[tuple[Hashable, Hashable]] | None

BAND_RATES = np.linspace(0.0, 1.0, 201)
"""Where bands are computed: half a per cent is finer than a picture shows."""

_MOST = 2000  # corners; a picture has no more pixels to show


# ---------------------------------------------------------------------- one ROC curve


def step_corners(curve: RocCurve) -> Corners:
    """The step function of Definition 1, on which ROC gaps are read, corner by corner.

    >>> from evenscore.metrics import roc_curve
    >>> x, y = step_corners(roc_curve([1, 2], [2, 3]))
    >>> x.tolist(), y.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0, 1.0])
    """
    gap = curve.gap()
    if np.isnan(gap.start).any():
        return np.zeros(0), np.zeros(0)
    edges, heights = gap.edges, gap.start + gap.edges[:-1]
    if len(edges) > _MOST:
        rates = np.linspace(0.0, 1.0, _MOST // 2 + 1)
        return np.append(0.0, rates), np.append(0.0, curve.evaluate(rates))
    return (
        np.concatenate(([0.0], np.repeat(edges, 2)[1:-1], [1.0])),
        np.concatenate(([0.0], np.repeat(heights, 2), [1.0])),
    )


def polygon_corners(curve: RocCurve) -> Corners:
    """The polygon through the vertices: the area under it is the AUC, ties counting one half."""
    x, y = curve.vertices
    if np.isnan(x).any() or np.isnan(y).any():
        return np.zeros(0), np.zeros(0)
    if len(x) > _MOST:
        thinned = outline(curve, "", _MOST)
        return thinned.x, thinned.y
    return x, y


# ---------------------------------------------------------------------- pairs of groups


@dataclass(frozen=True, eq=False)
class PairCurve:
    """What curves of a pair of groups within a class have in common.

    `first` and `second` are the names of the groups as they are shown. Without a curve, `reason`
    says why.
    """

    on: ClassName
    first: str
    second: str
    reason: str = field(default="", kw_only=True)

    @property
    def names(self) -> tuple[ClassName, str, str]:
        """The class and the two groups."""
        return self.on, self.first, self.second

    @property
    def label(self) -> str:
        """For the legend."""
        label = f"{self.on}: {self.second} against {self.first}"
        return f"{label} ({self.reason})" if self.reason else label


class BandSettings(NamedTuple):
    """How the bands of a display are made."""

    confidence_level: float
    n_resamples: int
    random_state: int

    def around(self, curve: RocCurve, rates: Floats, kind: BandKind) -> Band:
        """The band of a ROC curve."""
        return roc_band(curve, rates, kind=kind, **self._asdict())


def comparisons(
    scores: GroupedScores, on: OneOrBoth, pairs: Pairs
) -> Iterator[tuple[PairCurve, RocCurve]]:
    """The curves to show: of the pairs named, or of the first group with every other.

    Each is the ROC curve of the second group's scores against the first's, within a class.
    """
    check_scores(scores)
    if scores.n_groups < 2:
        groups = f"only {scores.groups[0]!r}" if scores.groups else "none"
        raise ValueError(f"Groups are compared two by two, but there is {groups}.")
    if pairs is None:
        places = [(0, k) for k in range(1, scores.n_groups)]
    else:
        places = [(scores.position(one), scores.position(two)) for one, two in pairs]
    names = group_names(scores.groups)
    for first, second in places:
        if first == second:
            raise ValueError(f"A pair needs two groups, not {scores.groups[first]!r} twice.")
        for name in class_names(on):
            curve = inter_group_curve(scores, name, first, second)
            row = scores.cell_weights[CLASSES.index(name)]
            empty = [names[k] for k in (first, second) if row[k] == 0.0]
            reason = f"undefined, there are no {name} of {' and '.join(empty)}" if empty else ""
            pair = PairCurve(name, names[first], names[second], reason=reason)
            yield pair, curve


class PairStyles:
    """How curves of pairs are told apart.

    One pair of groups: one colour per class. Several: one per pair, and the classes differ in
    whether their markers are filled.
    """

    def __init__(self, curves: Iterable[PairCurve], theme: Theme) -> None:
        self.theme = theme
        self.pairs = list(dict.fromkeys((curve.first, curve.second) for curve in curves))

    @property
    def several(self) -> bool:
        """Whether there is more than one pair."""
        return len(self.pairs) > 1

    @property
    def names(self) -> tuple[str, str]:
        """The first and the second group of all pairs, or words for them."""
        firsts, seconds = ({pair[side] for pair in self.pairs} for side in (0, 1))
        return (
            firsts.pop() if len(firsts) == 1 else "the first group",
            seconds.pop() if len(seconds) == 1 else "the other group",
        )

    def of(self, curve: PairCurve) -> SeriesStyle:
        """The style of a curve."""
        pair = self.pairs.index((curve.first, curve.second))
        return self.theme.series(pair if self.several else int(curve.on == "positives"))
