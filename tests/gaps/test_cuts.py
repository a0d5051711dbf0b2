"""Which cuts will be used: what is asked for, and which cuts of a sample that means."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.making import draw, table_of
from support.naive_cuts import Sample

from evenscore import Cuts
from evenscore.gaps.cuts import check_cuts
from evenscore.scores.selection import POOLS


@given(
    weights=st.sampled_from([None, "real"]),
    of=st.sampled_from(POOLS),
    selected=st.sampled_from(["high", "low"]),
    seed=st.integers(0, 10**6),
    ends=st.tuples(st.floats(0.02, 0.5), st.floats(0.02, 0.45)),
)
def test_a_range_means_the_cuts_that_a_loop_finds(weights, of, selected, seed, ends):
    low, high = ends[0], ends[0] + ends[1]
    rows = draw(seed, n=40, levels=8, weights=weights)
    cuts = Cuts(between=(low, high), of=of, selected=selected)
    ladder = cuts.ladder(table_of(*rows))
    [(first, last)] = cuts.steps(ladder)
    sample = Sample(*rows)
    expected = sample.between(low, high, of, selected)
    assert len(range(first, last + 1)) == len(expected)
    for step, chosen in zip(range(first, last + 1), expected, strict=True):
        assert ladder.share[step] == pytest.approx(sample.share(chosen, of))
    points = Cuts(at=(low, high), of=of, selected=selected).steps(ladder)
    for share, (step, same) in zip((low, high), points, strict=True):
        found = sample.at(share, of, selected)
        assert len(found) == (step == same)
        if found:
            assert ladder.share[step] == pytest.approx(sample.share(found[0], of))


@given(
    selected=st.sampled_from(["high", "low"]),
    inclusive=st.booleans(),
    seed=st.integers(0, 10**6),
    threshold=st.sampled_from([-1.25, -0.5, 0.0, 0.1, 0.5, 99.0]),
)
def test_a_threshold_selects_beyond_it_and_itself_if_inclusive(
    selected, inclusive, seed, threshold
):
    y, score, group, _ = draw(seed, n=40)
    cuts = Cuts(thresholds=threshold, selected=selected, inclusive=inclusive)
    ladder = cuts.ladder(table_of(y, score, group))
    [(step, same)] = cuts.steps(ladder)
    beyond = score > threshold if selected == "high" else score < threshold
    if inclusive:
        beyond |= score == threshold
    if 0 < beyond.sum() < len(score):
        assert step == same
        assert ladder.share[step] == pytest.approx(beyond.mean())
    else:
        assert (step, same) == (1, 0)
        assert "nobody or everybody" in cuts.why_none(ladder)


def test_a_coarse_score_without_a_cut_in_the_range_says_so():
    scores = table_of([0, 1] * 10, [1.0] * 10 + [2.0] * 10, list("ab") * 10)
    cuts = Cuts(between=(0.1, 0.4))
    ladder = cuts.ladder(scores)
    assert cuts.steps(ladder) == [(1, 0)]
    for part in ("10% to 40% of everyone", "0%", "50%"):
        assert part in cuts.why_none(ladder)
    assert Cuts(between=(0.4, 0.6)).steps(ladder) == [(1, 1)]
    assert Cuts(between=(0.6, 1 - 1e-13)).steps(ladder) == [(1, 0)]  # everybody is no cut
    at = Cuts(at=(0.3,))
    assert at.steps(ladder) == [(1, 0)]
    assert "50% of everyone" in at.why_none(ladder)
    constant = cuts.ladder(table_of([0, 1], [1.0, 1.0], list("ab")))
    assert cuts.steps(constant) == [(1, 0)]
    assert "all scores are equal" in cuts.why_none(constant)


def test_spans_reach_one_score_beyond_and_end_with_the_scores():
    scores = table_of([0, 1] * 5, range(10), list("ab") * 5)
    assert Cuts(between=(0.05, 0.4)).spans(scores) == [(4.0, 9.0)]
    assert Cuts(at=0.1).spans(scores) == [(7.0, 9.0)]
    assert Cuts(thresholds=0.5).spans(scores) == [(0.0, 1.0)]
    assert Cuts(at=0.1, selected="low").spans(scores) == [(0.0, 2.0)]


def test_what_is_refused():
    for message, *cases in (
        ("none of them", {}, {"at": ()}),
        ("between and at", {"between": (0.1, 0.4), "at": 0.2}),
        ("between must be", {"between": (0.4, 0.1)}, {"between": (0.2, float("nan"))}),
        ("strictly between", {"between": (0.0, 0.4)}, {"between": (0.2, 1.0)}, {"at": (0.1, 1.5)}),
        ("between must be", {"between": (0.1, 0.2, 0.3)}, {"between": 0.1}),
        ("percentages: 0.1 and 0.4", {"between": (10, 40)}),
        ("repeats one", {"at": (0.1, 0.1)}),
        ("at", {"at": "half"}, {"at": np.array([])}),
        ("finite", {"thresholds": (1.0, float("inf"))}, {"thresholds": np.array([])}),
        ("of must be", {"at": 0.1, "of": "women"}),
        ("selected must be", {"at": 0.1, "selected": "middle"}),
        ("inclusive", {"at": 0.1, "inclusive": 1}),
    ):
        for arguments in cases:
            with pytest.raises(ValueError, match=message):
                Cuts(**arguments)


def test_what_is_no_cuts_is_refused():
    for text in ("women=0.1:0.4", "everyone=0.1:0.2:0.3", "everyone=", "0.1;0.2"):
        with pytest.raises(ValueError, match=r"everyone=0\.1:0\.4"):
            Cuts.parse(text)
    with pytest.raises(TypeError, match="not tuple"):
        check_cuts((0.1, 0.4))


def test_cuts_are_plain_data():
    assert Cuts(at=0.1) == Cuts(at=(0.1,)) == Cuts(at=np.array([0.1]))
    assert Cuts.parse("0.1:0.4") == Cuts(between=(0.1, 0.4))


def test_cuts_in_words():
    text = Cuts(at=(0.1, 0.25), of="positives").text()
    assert "at most 10% of all positives" in text
    assert "25% of all positives" in text
    assert Cuts(thresholds=(600.5,), selected="low").text() == "below the cut 600.5"
    inclusive = Cuts(thresholds=(600,), selected="low", inclusive=True)
    assert inclusive.text() == "at the cut 600 or less"


def test_training_is_at_cuts_of_the_range_with_guards_outside():
    cuts = Cuts(between=(0.1, 0.4), of="negatives", selected="low")
    trained, guards = cuts.trained(), cuts.guards()
    assert trained.at[0] == 0.1
    assert trained.at[-1] == 0.4
    assert len(trained.at) == 8
    assert (trained.of, trained.selected) == (guards.of, guards.selected) == ("negatives", "low")
    assert all(share < 0.1 or share > 0.4 for share in guards.at)
    assert Cuts(at=(0.1, 0.2)).trained() == Cuts(at=(0.1, 0.2))
    with pytest.raises(ValueError, match="cannot be learned"):
        Cuts(thresholds=600).trained()


@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=4, unique=True))
def test_guards_are_shares_apart_from_the_cuts(shares):
    guards = Cuts(at=tuple(shares)).guards()
    for guard in guards.at if guards is not None else ():
        assert 0.0 < guard < 1.0
        assert guard not in shares
    low, high = min(shares), max(shares)
    if low < high:
        guards = Cuts(between=(low, high)).guards()
        assert all(0.0 < share < low or high < share < 1.0 for share in guards.at)
