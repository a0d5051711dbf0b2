"""From chances to positions among everyone, and bars as people read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from evenscore.auditing.showable import renderer
from evenscore.placement.problem import Problem
from evenscore.scores.arrays import Floats, Ints

_CERTAIN, _SURE = 1e-9, 1e-3  # chances of a positive and of a group are not taken to be beyond
_MARKS = 257


def log_odds(chance: Floats, end: float) -> Floats:
    """Log p/(1 − p), of chances that are not beyond an end."""
    chance = np.clip(chance, end, 1.0 - end)
    return np.asarray(np.log(chance / (1.0 - chance)))


def coordinates(cells: Floats, n_groups: int) -> tuple[Floats, Floats]:
    """η, the log-odds of a positive, and λ, those of each group in each class, (n, dimensions).

    Of two groups the second's say all.
    """
    columns = []
    for kind in (0, 1):
        own = cells[:, kind * n_groups : (kind + 1) * n_groups]
        share = own / np.maximum(own.sum(axis=1, keepdims=True), 1e-12)
        first = 1 if n_groups == 2 else 0
        columns += [log_odds(share[:, k], _SURE) for k in range(first, n_groups)]
    return log_odds(cells[:, n_groups:].sum(axis=1), _CERTAIN), np.column_stack(columns)


@final
@dataclass(frozen=True, eq=False)
class PositionMap:
    """An increasing map from where bars are crossed to the share of everyone that is below.

    New people have the mean of all models' chances, which spread less than those of the one model
    that has not seen a row. The shares below are corrected by rows kept from all models: by how
    many more of them are below a mark by the mean than by one fold's models alone. The same people
    are counted twice, which varies much less than either share; a polynomial smooths it.
    """

    marks: Floats
    shares: Floats

    @classmethod
    def fit(cls, raw: Floats, weight: Floats, kept: Ints, alone: Sequence[Floats]) -> Self:
        """The map of everyone's crossings, `kept` being rows whose own are by all models.

        `alone` are the crossings of these rows by one fold's models, for each of the folds.
        """
        order = np.argsort(raw, kind="stable")
        sums = np.cumsum(weight[order])
        below = (sums - weight[order] / 2.0) / sums[-1]
        levels = np.linspace(0.0, 1.0, _MARKS)[1:-1]
        marks, where = np.unique(np.interp(levels, below, raw[order]), return_index=True)
        shares = levels[where]
        if len(kept) and alone:
            own = weight[kept] / weight[kept].sum()
            mean = _below(raw[kept], own, marks)
            single = np.mean([_below(one, own, marks) for one in alone], axis=0)
            basis = shares * (1.0 - shares) * (shares[None] - 0.5) ** np.arange(4)[:, None]
            size = np.linalg.lstsq(basis.T, mean - single, rcond=None)[0]
            shares = np.maximum.accumulate(np.clip(shares + size @ basis, 0.0, 1.0))
        rising = np.linspace(0.0, 1.0, len(shares) + 2)[1:-1]
        shares = (1.0 - 1e-6) * shares + 1e-6 * rising
        return cls(marks, shares)

    def __call__(self, raw: Floats, cuts: int) -> Floats:
        """Positions, of crossings between 0 and the number of cuts plus one."""
        marks = np.concatenate([[0.0], self.marks, [cuts + 1.0]])
        return np.asarray(np.interp(raw, marks, np.concatenate([[0.0], self.shares, [1.0]])))


def _below(values: Floats, part: Floats, marks: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(part[order])])
    return np.asarray(sums[np.searchsorted(values[order], marks, side="right")])


_LEVELS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
_REACH = 0.35  # log-odds of a group, around a level, over which bars are averaged
_LEAST = 20  # people that a bar is said of


def _short(odds: float) -> str:
    """Two digits, however large.

    >>> _short(0.123), _short(1234.0)
    ('0.12', '1,234')
    """
    return f"{odds:.2g}" if odds < 99.5 else f"{odds:,.0f}"


@final
@dataclass(frozen=True, eq=False, repr=False)
class Bars:
    """The odds of a positive that people need to be above a cut.

    Attributes
    ----------
    cuts : tuple of str
        Where something was asked, from the strictest: "20% of everyone".
    groups : tuple of str
    likely : array of shape (levels,)
        How likely a person is in a group, given all features; the first and the last level stand
        for all beyond.
    odds : array of shape (cuts, groups, levels)
        The odds that such people need, on average; NaN where there are hardly any.
    """

    cuts: tuple[str, ...]
    groups: tuple[str, ...]
    likely: Floats
    odds: Floats

    @classmethod
    def of(
        cls,
        problem: Problem,
        weight: Floats,
        own: Floats,
        cells: Floats,
        groups: tuple[str, ...],
        order: Ints,
    ) -> Self:
        """Averages of people's own bars, (n, J); `order` are the groups' places for the user."""
        asked = np.flatnonzero(problem.asked)
        chances = cells.reshape(len(cells), 2, -1).sum(axis=1)
        likely, odds = np.array(_LEVELS), np.full((len(asked), len(groups), len(_LEVELS)), np.nan)
        chances = np.clip(chances, _LEVELS[0], _LEVELS[-1])  # those beyond are at the ends
        logs = np.log(chances / (1.0 - chances))
        for place, k in enumerate(order.tolist()):
            for level, at in enumerate(np.log(likely / (1.0 - likely)).tolist()):
                near = np.maximum(0.0, 1.0 - ((logs[:, k] - at) / _REACH) ** 2)
                if np.count_nonzero(near) >= _LEAST:
                    mean = np.average(own[:, asked], axis=0, weights=near * weight)
                    odds[:, place, level] = np.exp(mean)
        texts = tuple(problem.texts[j] for j in asked)
        return cls(texts, tuple(groups[k] for k in order.tolist()), likely, odds)

    @property
    def are_common(self) -> bool:
        """Whether everyone needs the same odds: the constraints were met without doing anything."""
        flat = self.odds.reshape(len(self.cuts), -1)
        return bool(np.all(np.nanmax(flat, axis=1) - np.nanmin(flat, axis=1) < 1e-9))

    def said(self, cut: int, group: int) -> str:
        """What people need at a cut, who are likely and who are not likely in a group."""
        known = np.flatnonzero(~np.isnan(self.odds[cut, group]))
        if not len(known):
            return ""
        ends = [known[np.argmin(np.abs(self.likely[known] - share))] for share in (0.8, 0.2)]
        high, low = (self.odds[cut, group, level] for level in ends)
        text = (
            f"At the cut with {self.cuts[cut]} above it, a person who is "
            f"{self.likely[ends[0]]:.0%} likely {self.groups[group]} needs odds of {_short(high)}"
        )
        if ends[0] == ends[1]:
            return f"{text}."
        return f"{text}, one who is {self.likely[ends[1]]:.0%} likely {_short(low)}."

    def __str__(self) -> str:
        if self.are_common:
            needed = ", ".join(
                f"{_short(np.nanmean(odds))} ({cut})"
                for cut, odds in zip(self.cuts, self.odds, strict=True)
            )
            return f"Everyone needs the same odds: {needed}."
        groups = range(1) if len(self.groups) == 2 else range(len(self.groups))
        some = sorted({0, len(self.cuts) // 2, len(self.cuts) - 1})
        lines = [self.said(cut, group) for cut in some for group in groups]
        return "\n".join(line for line in lines if line)

    def plot(self, *, group: str | None = None, ax: Any = None) -> Any:
        """Draw the odds needed at each cut against how likely a group is; the axes.

        Parameters
        ----------
        group : str, optional
            By default the first.
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        name = self.groups[0] if group is None else group
        if name not in self.groups:
            raise ValueError(f"There is no group {name!r}; there are {', '.join(self.groups)}.")
        return renderer("bars", "plot")(self, self.groups.index(name), ax)
