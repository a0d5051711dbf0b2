"""What is said of ranking somebody worse on purpose."""

from dataclasses import replace

from evenscore.inference.estimate import Estimate
from evenscore.learning.levelling import levelling_down

LEFT = Estimate("bpsn", -0.08, -0.11, -0.05, 0.95, "made", first="a", second="b")


def found(weights=(-0.2, 1.2), fair=(0.75, 0.74), otherwise=(0.82, 0.745), left=LEFT, groups="ab"):
    return levelling_down(
        "bpsn", "negatives", 0.02, groups, weights, (0.75, fair), (0.8, otherwise), left
    )


def test_needed():
    told = found()
    assert told.needed is True
    numbers = ("bpsn", "0.02", "negatives of a", "0.750", "0.820", "nobody gains", "0.740", "0.745")
    for part in (*numbers, "0.080 (95% interval 0.050 to 0.110)", "AUC of 0.800"):
        assert part in str(told)


def test_not_needed():
    told = found(weights=(0.3, 0.7))
    assert told.needed is False
    assert "a 30%, b 70%" in str(told)


def test_rounding_is_no_negative_weight():
    assert found(weights=(-0.004, 1.004)).needed is False


def test_a_tolerance_that_is_reached_without_needs_none():
    assert found(left=replace(LEFT, value=0.015, low=0.0, high=0.03)).needed is False


def test_a_gap_without_an_interval_has_none_in_words():
    nothing = replace(LEFT, low=float("nan"), high=float("nan"))
    assert "gap is 0.080, at" in str(found(left=nothing))


def test_too_few_people_cannot_tell():
    told = found(left=replace(LEFT, value=0.03, low=0.01, high=0.05))
    assert told.needed is None
    assert "cannot tell" in str(told)


def test_others_may_gain_where_there_are_three():
    told = found(
        weights=(-0.2, 0.5, 0.7), fair=(0.7, 0.72, 0.71), otherwise=(0.8, 0.7, 0.71), groups="abc"
    )
    assert "others gain (b has 0.720" in str(told)
    assert told.groups == ("a", "b", "c")


def test_numbers_are_there_beside_the_words():
    told = found()
    assert (told.weights, told.fair, told.otherwise) == ((-0.2, 1.2), (0.75, 0.74), (0.82, 0.745))
    assert (told.auc, told.auc_otherwise, told.left) == (0.75, 0.8, LEFT)
