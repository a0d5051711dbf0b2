"""A repair asks families what to align and what their gaps are, never which family they are."""

from dataclasses import dataclass

import numpy as np
import pytest

from evenscore.gaps.family import Alignment, GapFamily, labels_of_pairs
from evenscore.inference.estimate import GapKey
from evenscore.repairing.fitting import repair
from evenscore.scores.curve import RocCurve
from evenscore.scores.distribution import Distribution


def sample(n=3000, n_groups=3, seed=0):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, n_groups, n)
    return y, rng.normal(size=n) + 1.2 * y + 0.6 * group, group


@dataclass(frozen=True)
class Made(GapFamily):
    """Do all people of one group rank above those of another? The classes do not count."""

    tolerance: float | None = None
    name = "made"
    family = "made"
    heading = "Made gaps"

    def keys(self, groups, pairs=None):
        return tuple(GapKey("made", *names) for names in labels_of_pairs(groups, pairs))

    def values(self, scores, pairs=None):
        groups = scores.cell % scores.n_groups
        laws = [
            Distribution.from_sample(scores.score[groups == g], scores.weight[groups == g])
            for g in range(scores.n_groups)
        ]
        compared = scores.pairs() if pairs is None else pairs
        return np.array([RocCurve(laws[i], laws[j]).area - 0.5 for i, j in compared])


class ByShifts(Made):
    def targets(self, n_groups, *, guards=True):
        return Alignment(by_shifts=True, n_free=n_groups - 1)


@pytest.mark.slow
@pytest.mark.parametrize(("n_groups", "tolerance"), [(2, 0.05), (3, 0.0)])
def test_a_family_that_is_closed_by_shifts(n_groups, tolerance):
    y, score, group = sample(n_groups=n_groups)
    fair = repair(y, score, sensitive_features=group, constraints=ByShifts(tolerance))
    before, after = (max(abs(gap.value) for gap in fair.gaps[when]) for when in ("before", "after"))
    assert before > 0.1
    assert 0.7 * tolerance <= after <= tolerance + 2e-3
    assert fair.constraints == ("made",)
    assert fair.shortfall is None


def test_a_family_that_cannot_be_repaired_says_why():
    y, score, group = sample()
    with pytest.raises(ValueError, match="made cannot be repaired"):
        repair(y, score, sensitive_features=group, constraints=["bnsp", Made()])
