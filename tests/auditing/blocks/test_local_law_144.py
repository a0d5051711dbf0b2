"""The table of New York City's Local Law 144."""

import numpy as np
import pytest

import evenscore as es
from evenscore.auditing.blocks import LocalLaw144
from evenscore.auditing.blocks.local_law_144 import is_unknown


def block_of(score, group, **options):
    return es.audit(None, score, sensitive_features=group, **options).block(LocalLaw144)


def test_by_hand():
    """Ten scores, median 5.5: above it are 2 of 5 women and 3 of 5 men. 0.4/0.6 = 2/3."""
    block = block_of(np.arange(1, 11), list("wwwmmwwmmm"))
    # Women 1, 2, 3, 6, 7; men 4, 5, 8, 9, 10.
    assert block.median == 5.5
    [part] = block.tables_by
    assert part.names == ("m", "w")
    assert part.people.tolist() == [5, 5]
    np.testing.assert_allclose(part.scoring_rate.value, [0.6, 0.4])
    np.testing.assert_allclose(part.impact_ratio.value, [1.0, 2 / 3])
    assert part.favoured == "m"
    [table] = block.tables()
    assert table.rows[0][:4] == ("m", "most favoured", "5", "50.0%")
    assert "not legal advice" in table.note
    assert "5.5 (strictly" in table.note


@pytest.mark.parametrize(
    ("n", "weighted", "levels"),
    [(300, True, None), (301, False, 7)],
)
def test_the_median_is_numpys_and_above_is_strict(n, weighted, levels):
    rng = np.random.default_rng(n)
    score = rng.normal(size=n) if levels is None else rng.integers(0, levels, n).astype(float)
    group = rng.choice(list("ab"), n)
    weight = rng.integers(1, 4, n) if weighted else np.ones(n, dtype=int)
    for side, sign in (("high", 1.0), ("low", -1.0)):
        cuts = es.Cuts(between=(0.1, 0.4), selected=side)
        block = block_of(score, group, sample_weight=weight.astype(float), cuts=cuts)
        median = np.median(np.repeat(score, weight))
        assert block.median == pytest.approx(median)
        [part] = block.tables_by
        for k, name in enumerate("ab"):
            own = np.repeat(group, weight) == name
            beyond = sign * np.repeat(score, weight) > sign * median
            assert part.scoring_rate.value[k] == pytest.approx(np.mean(beyond[own]))
        assert ("below the median" in block.tables()[0].columns[4]) == (side == "low")


def test_what_is_unknown():
    for label in ("", " ", "?", "N/A", "na", "None", "UNKNOWN", "Prefer not to say", "not given"):
        assert is_unknown(label), label
    for label in ("Other", "Nauruan", "no", 0, 1.5, "Unknown Pleasures"):
        assert not is_unknown(label), label
    block = block_of(np.arange(300.0), np.array(["", "a", "b"] * 100))
    [part] = block.tables_by
    assert part.unknown == (True, False, False)
    assert "100 people" in block.tables()[0].note


def test_each_column_and_the_intersections():
    rng = np.random.default_rng(3)
    n = 4000
    sex = rng.choice(["f", "m", "unknown"], n, p=[0.5, 0.49, 0.01])
    race = rng.choice(["A", "B", "C"], n, p=[0.6, 0.385, 0.015])
    score = rng.normal(size=n) + 0.3 * (sex == "m")
    block = block_of(score, {"sex": sex, "race": race})
    by_sex, by_race, together = block.tables_by
    assert [part.column for part in block.tables_by] == ["sex", "race", "sex and race"]
    above = score > np.median(score)
    for k, name in enumerate(by_sex.names):
        assert by_sex.scoring_rate.value[k] == pytest.approx(above[sex == name].mean())
    assert by_sex.unknown == (False, False, True)
    assert np.isnan(by_sex.impact_ratio.value[2])
    assert by_sex.favoured == "m"
    assert by_race.small == (False, False, True)  # marked, with its rate and ratio
    assert not np.isnan(by_race.impact_ratio.value[2])
    assert by_race.favoured in ("A", "B")
    assert len(together.names) == 8  # nobody is of unknown sex and C
    assert sum(together.unknown) == 2
    assert together.people.sum() == n
    assert f"{np.sum(sex == 'unknown')} people" in block.tables()[0].note


def test_tiny_categories_and_nobody_above_the_median():
    """Three people who all score high would make every other ratio look bad."""
    score = np.r_[np.arange(400.0), [500.0] * 3]
    [part] = block_of(score, np.array(["a", "b"] * 200 + ["tiny"] * 3)).tables_by
    assert part.scoring_rate.value[2] == 1.0
    assert part.favoured in ("a", "b")
    block = block_of(np.r_[np.zeros(100), np.ones(200)], np.array(["a", "b", "b"] * 100))
    [part] = block.tables_by
    assert part.scoring_rate.value.tolist() == [0.0, 0.0]
    assert np.isnan(part.impact_ratio.value).all()
    assert part.favoured == ""
    assert "nobody" in block.tables()[0].note
