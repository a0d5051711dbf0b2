"""What a fit says of every gap, in a sentence: within, beyond, or that it cannot be told."""

import re

import numpy as np
import pytest

from evenscore import Cuts, RateConstraint
from evenscore.gaps import as_constraints
from evenscore.inference.decisions import decide
from evenscore.inference.estimate import Estimate
from evenscore.learning.left_out import LeftOut, largest_of, said
from evenscore.learning.training_set import TrainingSet

FNR = RateConstraint("fnr", cuts=Cuts(at=0.3))


def sentence(value, half, tolerance=0.05, size=200):
    gap = Estimate(
        "fnr_gap", value, value - half, value + half, 0.95, "made", first="a", second="b"
    )
    return said(decide([gap], tolerance, 0.95)[0], tolerance, size, "positives of b")


def left_out(n=4000, shift=0.0, spoiled=0.0, seed=0, cluster=None):
    """Scores without constraints, and those with a group moved less and noise added."""
    rng = np.random.default_rng(seed)
    y, group = rng.random(n) < 0.4, (rng.random(n) < 0.4).astype(np.intp)
    free = rng.normal(size=n) + y + 0.8 * group
    fair = free - (0.8 - shift) * group + spoiled * rng.normal(size=n)
    rows = TrainingSet(np.zeros((n, 0)), y, group, ("a", "b"), None, cluster)
    return LeftOut(rows, free, fair)


@pytest.mark.parametrize(
    ("value", "half", "lead", "needed"),
    [
        (0.01, 0.02, "within 0.05", False),
        (0.2, 0.02, "beyond 0.05", False),
        (-0.2, 0.02, "beyond 0.05", False),
        (0.01, 0.08, "cannot tell", True),
        (0.08, 0.06, "cannot tell", True),
    ],
)
def test_the_three_words_of_a_verdict(value, half, lead, needed):
    told = sentence(value, half)
    assert told.startswith("fnr_gap, a and b: ")
    assert told.endswith(".")
    assert lead in told
    assert f"{value:+.3f}" in told
    assert ("200 positives of b" in told) == needed


def test_how_many_more_would_do():
    """The half width shrinks with the root of their number, and has to fit into the room left."""
    told = re.search(r"about ([\d,]+) might", sentence(0.01, 0.08))
    half = [float(end) for end in re.search(r"\((\S+) to (\S+)\)", sentence(0.01, 0.08)).groups()]
    needed = 200 * ((half[1] - half[0]) / 2.0 / 0.04) ** 2
    assert float(told[1].replace(",", "")) == pytest.approx(needed, rel=0.06)
    assert "settle" in sentence(0.08, 0.06)
    assert "zero" in sentence(0.01, 0.08, tolerance=0.0)


def test_gaps_without_a_value_or_an_interval():
    nothing = Estimate("fnr_gap", np.nan, np.nan, np.nan, 0.95, "made", first="a", second="b")
    told = said(decide([nothing], 0.05, 0.95)[0], 0.05, 3, "positives of b")
    assert "no value" in told
    bare = Estimate("fnr_gap", 0.01, np.nan, np.nan, 0.95, "made", first="a", second="b")
    told = said(decide([bare], 0.05, 0.95)[0], 0.05, 3, "positives of b")
    assert "cannot tell" in told
    assert "3 positives of b" in told
    values = [0.1, -0.3, np.nan, 0.2]
    gaps = [Estimate("gap", value, 0.0, 1.0, 0.95, "made") for value in values]
    assert largest_of(gaps) is gaps[1]


def test_gaps_verdicts_and_the_price_are_of_the_same_rows():
    told, families = left_out(), as_constraints([FNR, "bnsp"])
    gaps = told.gaps(families, [0.08, 0.2])
    assert [gap.verdict for gap in gaps] == ["within", "within"]
    assert all(gap.verdict is None for gap in told.gaps(families))
    sentences = told.verdicts(families, [0.08, 0.2], gaps)
    assert [text.split(": ")[1].split(",")[0] for text in sentences] == [
        "within 0.08",
        "within 0.2",
    ]
    price = told.price(families, gaps)
    assert abs(price.free_gap.value) > 0.2
    assert price.gap is largest_of(gaps)
    assert price.difference.value == pytest.approx(price.free.value - price.auc.value)


def test_distance_of_the_folds_makes_intervals_wider():
    told, families = left_out(shift=0.3), as_constraints([FNR, "bnsp"])
    plain = told.gaps(families, [0.02, 0.02])
    wider = told.gaps(families, [0.02, 0.02], off=np.array([[4e-4, 0.0], [4e-4, np.nan]]))
    for k, rel in enumerate((True, False)):
        assert wider[k].value == plain[k].value
        assert (wider[k].high - wider[k].low > plain[k].high - plain[k].low + 1e-3) == rel
    assert "folds" in wider[0].method


def test_of_many_gaps_the_verdicts_hold_together():
    """Groups alike, at a tolerance that half a standard error reaches: hardly ever "beyond"."""
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y, group = rng.random(1500) < 0.5, rng.integers(0, 4, 1500)
        score = rng.normal(size=1500) + y
        rows = TrainingSet(np.zeros((1500, 0)), y, group, (0, 1, 2, 3), None)
        gaps = LeftOut(rows, score, score).gaps([FNR], [0.0])
        wrong += any(gap.verdict == "beyond" for gap in gaps)
    assert wrong <= 6  # 5% of 40 are 2


def test_clusters_count_once():
    n = 500
    few = left_out(n)
    cluster = np.repeat(np.arange(n), 6)
    rows = few.rows.rows(np.repeat(np.arange(n), 6))
    many = LeftOut(
        TrainingSet(rows.X, rows.positive, rows.codes, rows.groups, None, cluster),
        np.repeat(few.free, 6), np.repeat(few.fair, 6),
    )  # fmt: skip
    widths = [gap.high - gap.low for gap in (few.gaps([FNR])[0], many.gaps([FNR])[0])]
    assert widths[1] == pytest.approx(widths[0], rel=0.15)
