"""Rows and the same rows grouped by bins, as a data engine would group them."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from evenscore.scores import GroupedScores
from evenscore.scores.bins import Bins, Ranges


@dataclass(frozen=True)
class BinnedRows:
    """Rows of people, with the bins that they are grouped by."""

    positive: np.ndarray
    score: np.ndarray
    group: np.ndarray
    weight: np.ndarray | None
    bins: Bins

    def _people(self):
        n_groups = int(self.group.max()) + 1
        weights = {} if self.weight is None else {"weight": self.weight}
        return (self.positive, self.group, tuple("abcdef"[:n_groups])), weights

    @property
    def exact(self):
        people, weights = self._people()
        return GroupedScores.from_codes(self.score, *people, **weights)

    @property
    def binned(self):
        people, weights = self._people()
        key = self.bins.key(self.score)
        return GroupedScores.from_bins(self.bins, key, self.score, self.score, *people, **weights)


def bins_of(score, levels, seed=0, apart=()):
    """A grid over the scores, some of whose bins are divided if there are two levels."""
    finer = ()
    if len(levels) == 2:
        rng = np.random.default_rng(seed)
        some = np.flatnonzero(rng.random(2 ** levels[0]) < 0.4)
        finer = (Ranges.of(some if len(some) else np.array([0])),)
    low, high = float(score.min()), float(score.max())
    return Bins.between(low, high, levels, finer, tuple(apart))


@st.composite
def binned_rows(draw, largest=60, ties=True):
    """A few people with ties, weights, two or three groups, and any bins; cells may be empty."""
    n = draw(st.integers(6, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_groups = draw(st.integers(2, 3))
    group = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, n - n_groups)])
    positive = rng.random(n) < draw(st.sampled_from([0.2, 0.5, 0.8]))
    score = rng.normal(size=n) + positive * rng.normal() + group * rng.normal()
    if ties and draw(st.booleans()):
        score = np.round(score * draw(st.sampled_from([2.0, 5.0])))
    weight = None
    kind = draw(st.sampled_from(["none", "integer", "real"]))
    if kind != "none":
        weight = (
            rng.integers(1, 5, n).astype(float) if kind == "integer" else rng.gamma(2.0, size=n)
        )
    level = draw(st.integers(0, 5))
    levels = draw(st.sampled_from([(level,), (level, level + 1), (level, level + 3)]))
    apart = rng.choice(score, draw(st.integers(0, 2))).tolist()
    bins = bins_of(score, levels, draw(st.integers(0, 99)), apart)
    return BinnedRows(positive, score, group, weight, bins)


def drawn_rows(seed=0, n=4000, level=5, n_groups=2, shift=0.3):
    """Many people with every cell filled, without ties."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % n_groups
    positive = rng.random(n) < 0.5
    score = rng.normal(size=n) + 1.2 * positive + shift * group
    return BinnedRows(positive, score, group, None, bins_of(score, (level,)))
