"""The ladder of all cuts of a table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.making import draw, table_of
from support.naive_cuts import Sample

from evenscore.scores.selection import Ladder


@pytest.mark.parametrize(
    ("levels", "weights", "of", "side"),
    [
        (None, None, "everyone", "high"),
        (10, "real", "negatives", "high"),
        (10, "integer", "positives", "low"),
        (None, "real", "everyone", "low"),
    ],
)
def test_every_step_selects_whom_a_loop_selects(levels, weights, of, side):
    rows = draw(3, n=60, n_groups=3, levels=levels, weights=weights)
    y, score, group, weight = rows
    ladder = Ladder.make(table_of(*rows), of, side)
    sample = Sample(*rows)
    choices = list(sample.choices(side))
    assert ladder.n_steps == len(choices) + 1
    weight = np.ones(len(y)) if weight is None else weight
    chunks = list(ladder.runs(0, ladder.n_steps))
    found = np.concatenate([chunk.weight for chunk in chunks])
    assert not found[0].any()
    np.testing.assert_allclose(found[-1], ladder.scores.cell_weights)
    assert ladder.share[0] == 0.0
    assert ladder.share[-1] == pytest.approx(1.0)
    for step, chosen in enumerate(choices, 1):
        assert ladder.share[step] == pytest.approx(sample.share(chosen, of))
        picked = np.array([chosen(s) for s in score])
        at = ladder.selected(np.array([step]))
        for c in range(2):
            for g in range(3):
                own = weight[picked & (y == c) & (group == g)]
                expected = own.sum(), np.square(own).sum(), len(own)
                for part, number in zip((at.weight, at.square, at.count), expected, strict=True):
                    assert part[0, c, g] == pytest.approx(number, abs=1e-9)
        np.testing.assert_allclose(found[step], at.weight[0], atol=1e-9)


@pytest.mark.parametrize("side", ["high", "low"])
@given(seed=st.integers(0, 10**6), inclusive=st.booleans())
def test_a_threshold_makes_the_step_it_is_the_threshold_of(side, seed, inclusive):
    rows = draw(seed, n=30, levels=6)
    ladder = Ladder.make(table_of(*rows), "everyone", side)
    for step in range(ladder.n_steps + 1):
        threshold = ladder.threshold(step, inclusive=inclusive)
        assert ladder.step_at(threshold, inclusive=inclusive) == step
        if side == "high":
            picked = rows[1] >= threshold if inclusive else rows[1] > threshold
        else:
            picked = rows[1] <= threshold if inclusive else rows[1] < threshold
        assert picked.mean() == pytest.approx(ladder.share[step])


@given(seed=st.integers(0, 10**6), share=st.floats(0.0, 1.0))
def test_steps_of_shares(seed, share):
    ladder = Ladder.make(table_of(*draw(seed, n=40, levels=8, weights="real")), "everyone", "high")
    last, first = ladder.last_up_to(share), ladder.first_from(share)
    assert ladder.share[last] <= share + 1e-9
    assert last == ladder.n_steps or ladder.share[last + 1] > share - 1e-9
    assert first > ladder.n_steps or ladder.share[first] >= share - 1e-9
    assert first == 0 or ladder.share[first - 1] < share + 1e-9


def test_shares_that_are_met_exactly_are_met_whatever_rounding_says():
    ladder = Ladder.make(table_of([0, 1] * 5, range(10), ["a", "b"] * 5), "everyone", "high")
    for k in range(11):
        assert ladder.last_up_to(k / 10) == ladder.first_from(k / 10) == k


def test_constant_scores_and_empty_pools():
    ladder = Ladder.make(table_of([0, 1, 0, 1], [2.0] * 4, list("aabb")), "everyone", "high")
    assert ladder.n_steps == 1
    assert ladder.share.tolist() == [0.0, 1.0]
    nobody = Ladder.make(table_of([0, 0, 0], [1, 2, 3], list("aab")), "positives", "high")
    assert np.isnan(nobody.share).all()


def test_how_many_people_a_pool_is_worth():
    y, score, group, weight = draw(0, weights="real")
    ladder = Ladder.make(table_of(y, score, group, weight), "everyone", "high")
    assert ladder.pool_size == pytest.approx(weight.sum() ** 2 / np.square(weight).sum())
    ladder = Ladder.make(table_of(y, score, group), "positives", "high")
    assert ladder.pool_size == pytest.approx(y.sum())


def test_runs_are_whole_whatever_their_size(monkeypatch):
    scores = table_of(*draw(1, n=3_000, levels=None))
    ladder = Ladder.make(scores, "everyone", "high")
    whole = ladder.selected(np.arange(5, 2_900)).weight
    monkeypatch.setattr("evenscore.scores.selection._ENTRIES", 1)
    parts = list(ladder.runs(5, 2_899))
    assert len(parts) == 3
    np.testing.assert_array_equal(np.concatenate([part.weight for part in parts]), whole)
