"""Gaps at cuts inside the search are those of the definition, ties and weights included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.making import draw

from evenscore import GroupedScores, RocConstraint
from evenscore.repairing.cuts import largest_gaps, wanted_cuts, worst_excess
from evenscore.repairing.fitting import repaired_scores
from evenscore.repairing.maps import IncreasingMap

RATES = (0.125, 0.25, 0.6)


def table(y, score, group, weight=None):
    return GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)


def wanted_of(scores, constraint, tolerance=0.0):
    targets = [(cut, tolerance) for cut in constraint.targets(scores.n_groups, guards=False).cuts]
    return wanted_cuts(scores, targets, min_beyond=0.0, sizes=scores.effective_sizes)


def some_map(rng, kind):
    """Whole numbers meet in several groups; other knots leave the scores of a group alone."""
    x = np.arange(-3.0, 4.0)
    if kind == "whole":
        return IncreasingMap(x, np.cumsum(rng.integers(1, 3, len(x))) - 5.0)
    if kind == "squeezed":  # neighbouring doubles become equal
        return IncreasingMap(x, 1e8 + 1e-7 * np.cumsum(rng.uniform(1.0, 3.0, len(x))))
    return IncreasingMap(x, np.cumsum(rng.uniform(0.1, 2.0, len(x))) - 5.0)


@given(
    seed=st.integers(0, 10**6),
    n_groups=st.sampled_from([2, 3, 5]),
    levels=st.sampled_from([None, 1, 10, 40]),
    weights=st.sampled_from([None, "integer", "real"]),
    kind=st.sampled_from(["whole", "real", "squeezed"]),
)
def test_by_the_definition(seed, n_groups, levels, weights, kind):
    y, score, group, weight = draw(seed, 60, n_groups, levels, weights)
    scores = table(y, score, group, weight)
    rng = np.random.default_rng(seed)
    maps = tuple(some_map(rng, kind) for _ in range(n_groups))
    repaired = repaired_scores(scores, maps)
    excess = []
    for on in ("negatives", "positives"):
        constraint = RocConstraint(on=on, rates=RATES)
        values = np.abs(constraint.values(repaired)).reshape(-1, len(RATES)).max(axis=0)
        found = largest_gaps(wanted_of(scores, constraint), maps)
        np.testing.assert_allclose(found, values, rtol=0, atol=1e-12)
        excess.append(values.max())
    both = wanted_of(scores, RocConstraint(on="both", rates=RATES), tolerance=0.1)
    assert worst_excess(both, maps) == pytest.approx(max(excess) - 0.1, abs=1e-11)
