import json
import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from support.making import often

import evenscore as es
from evenscore.choosing.assumed_law import AssumedLaw, expected_table
from evenscore.gaps import EstimateSettings
from evenscore.inference import certify_rates
from evenscore.scores.rates import CATALOGUE

ONE_CUT = es.Cuts(at=0.25, of="negatives")
RANGE = es.Cuts(between=(0.1, 0.4))
MADE = {}  # plans that several tests look at


def at_one_cut(**more):
    """A plan that is quick to make: false positives where a quarter of all negatives are above."""
    asked = {"constraints": "fpr", "cuts": ONE_CUT, "prevalence": 0.5, **more}
    if repr(asked) not in MADE:
        MADE[repr(asked)] = es.plan(**asked)
    return MADE[repr(asked)]


# ---------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("power", [0.5, 0.9])
@pytest.mark.parametrize(("shares", "prevalence"), [((0.5, 0.5), 0.5), ((0.8, 0.2), 0.3)])
def test_one_cut_without_gaps(shares, prevalence, power):
    """|W| + 1.645σ ≤ ε has probability 2Φ(ε/σ − 1.645) − 1, and σ² is that of two shares.

    The tolerance is so small that Newcombe's margin, which is larger of few people, is not.
    """
    asked = {"group_shares": shares, "prevalence": prevalence, "power": power}
    plan = at_one_cut(**asked, tolerance=0.02)
    errors = norm.isf(0.05) + norm.isf((1 - power) / 2)
    per_person = 0.25 * 0.75 / (1 - prevalence) * sum(1 / share for share in shares)
    assert plan.needed == pytest.approx(per_person * (errors / 0.02) ** 2, rel=0.04)
    assert plan.people == plan.needed
    assert plan.chance == pytest.approx(power, abs=0.02)
    assert plan.smallest_tolerance == pytest.approx(0.02, rel=0.02)


def test_one_cut_with_a_gap():
    """Far from zero one tail is all there is: ε − g has to be 1.645 and 1.282 errors."""
    plan = at_one_cut(group_shares=(0.6, 0.4), gap=0.03)
    high = 0.25 + 0.6 * 0.03  # of the smaller group, a quarter of both being above
    variance = sum(f * (1 - f) / (share * 0.5) for f, share in ((high - 0.03, 0.6), (high, 0.4)))
    expected = variance * ((norm.isf(0.05) + norm.isf(0.1)) / 0.02) ** 2
    assert plan.gap == pytest.approx(0.03, abs=1e-4)
    assert plan.needed == pytest.approx(expected, rel=0.06)


def test_auc_within_groups():
    """DeLong's variance of a binormal AUC: that of a placement, by the bivariate normal law."""
    auc, share, prevalence = 0.8, np.array([0.7, 0.3]), 0.2
    plan = es.plan(
        constraints="intra_group", auc=auc, group_shares=tuple(share), prevalence=prevalence
    )
    d = norm.ppf(auc)
    both = multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]]).cdf([d, d])
    per_person = (both - auc**2) * np.sum(1 / (share * prevalence) + 1 / (share * (1 - prevalence)))
    errors = norm.isf(0.05) + norm.isf(0.05)
    assert plan.needed == pytest.approx(per_person * (errors / 0.05) ** 2, rel=0.04)


def test_the_law_and_its_table():
    law = AssumedLaw.without_gaps(np.array([0.6, 0.4]), np.array([0.3, 0.5]), 0.8)
    family = es.RateConstraint("fpr", "fnr", cuts=ONE_CUT)
    table = expected_table(law.masses([family]), 5_000)
    assert table.cell_counts == pytest.approx(np.array([[2100, 1000], [900, 1000]]))
    aucs = es.AucConstraint.named("intra_group")._statistics(table, None)
    assert aucs == pytest.approx(0.8, abs=1e-5)
    ladder = ONE_CUT.ladder(table)
    [(step, _)] = ONE_CUT.steps(ladder)
    assert ladder.share[step] == pytest.approx(0.25, abs=1e-9)
    fnr = CATALOGUE["fnr"].values(ladder.selected(np.array([step])).weight, table.cell_weights)
    cut = norm.isf(0.25)
    assert fnr == pytest.approx(norm.cdf(cut - math.sqrt(2) * norm.ppf(0.8)), abs=1e-9)
    for names, size in (("bnsp", 0.03), ("intra_group", 0.02), ("bpsn", 0.05)):
        moved = law.moved([es.AucConstraint.named(names)], size)
        assert moved.largest_gap([es.AucConstraint.named(names)]) == pytest.approx(size, abs=1e-4)


# ---------------------------------------------------------------------- properties


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["fpr", "bnsp"])
def test_it_takes_more_people_for_more(constraint):
    cuts = es.Cuts(at=0.3) if constraint != "bnsp" else None
    asked = {"constraints": constraint, "cuts": cuts, "prevalence": 0.3}
    plan = es.plan(**asked)
    table = plan.to_frame("pandas").pivot(index="tolerance", columns="power", values="people")
    assert (table.diff().dropna() < 0).all(axis=None)
    assert (table.diff(axis=1).iloc[:, 1:] > 0).all(axis=None)
    assert table.loc[0.05, 0.9] == plan.needed
    by_gap = [es.plan(**asked, gap=gap).needed for gap in (0.0, 0.01, 0.03)]
    assert by_gap == sorted(by_gap)
    assert by_gap[2] > 1.5 * by_gap[0]
    by_level = [es.plan(**asked, confidence_level=level).needed for level in (0.8, 0.99)]
    assert by_level[0] < plan.needed < by_level[1]
    assert es.plan(**asked, group_shares=(0.9, 0.1)).needed > plan.needed


@pytest.mark.slow
@pytest.mark.parametrize(("n_groups", "constraint"), [(2, "bpsn"), (3, "fnr")])
def test_names_and_order_of_groups_mean_nothing(n_groups, constraint):
    shares = np.linspace(1.0, 2.0, n_groups) / np.linspace(1.0, 2.0, n_groups).sum()
    prevalence = np.linspace(0.5, 0.2, n_groups)
    asked = {"constraints": constraint, "gap": 0.01}
    asked |= {"cuts": ONE_CUT} if constraint == "fnr" else {}
    plan = es.plan(group_shares=tuple(shares), prevalence=tuple(prevalence), **asked)
    names = [f"g{k}" for k in range(n_groups)][::-1]
    turned = es.plan(
        group_shares=dict(zip(names, shares[::-1], strict=True)),
        prevalence=dict(zip(names[::-1], prevalence, strict=True)),
        **asked,
    )
    assert (turned.needed, turned.chance, turned.table) == (plan.needed, plan.chance, plan.table)
    assert sorted((g.negatives, g.positives) for g in turned.groups) == sorted(
        (g.negatives, g.positives) for g in plan.groups
    )
    assert turned.smallest[0].split()[0] == plan.smallest[0].split()[0]


@pytest.mark.slow
def test_given_people():
    needed = at_one_cut()
    plan = at_one_cut(n=needed.needed // 2)
    assert plan.needed == needed.needed
    assert plan.table == needed.table
    assert 0.2 < plan.chance < 0.8
    assert plan.smallest_tolerance == pytest.approx(0.05 * math.sqrt(2), rel=0.03)
    again = at_one_cut(tolerance=plan.smallest_tolerance)
    assert again.needed == pytest.approx(plan.people, rel=0.03)
    assert at_one_cut(n=20).chance == 0.0
    warning, few = at_one_cut(n=40).warnings
    assert "group 1 would be only 10" in warning
    assert "30 negatives, about 5" in few
    assert at_one_cut(n=20_000).chance == 1.0


def test_equal_groups_of_unequal_prevalence_may_differ():
    cuts = es.Cuts(at=0.3)
    plan = es.plan(constraints="selection", cuts=cuts, prevalence=(0.3, 0.35), tolerance=0.1)
    assert 0.0 < plan.gap < 0.05
    assert "whose largest gap is" in str(plan)
    with pytest.raises(ValueError, match="differ by"):
        es.plan(constraints="selection", cuts=cuts, prevalence=(0.1, 0.7), tolerance=0.1)


def test_tolerances_below_the_gap_have_no_number():
    plan = at_one_cut(gap=0.025)
    lost = {row.tolerance for row in plan.table if row.people is None}
    assert lost == {0.02}
    assert "–: no number of people" in plan.to_markdown()
    assert at_one_cut(tolerance=0.04).table[0].tolerance == 0.02
    assert 0.04 in {row.tolerance for row in at_one_cut(tolerance=0.04).table}


# ---------------------------------------------------------------------- out


def test_words_and_numbers():
    plan = at_one_cut(group_shares={"women": 0.3, "men": 0.7}, prevalence=0.2, n=5_000)
    for told in ("5,000 people", "90% of samples", "negatives of women, about 1,200"):
        assert told in str(plan)
    assert repr(plan) == f"<Plan: {plan}>"
    content = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
    assert content["format"] == "evenscore.plan"
    assert content["words"] == str(plan)
    assert content["groups"][0] == {
        "name": "women", "share": 0.3, "prevalence": 0.2, "negatives": 1200, "positives": 300,
    }  # fmt: skip
    assert len(plan.to_frame("pandas")) == 16 == len(plan.table)


def test_names_of_groups_that_read_alike_or_are_empty():
    plan = at_one_cut(group_shares={"": 0.3, "b": 0.7})
    assert "negatives of '', about" in str(plan)
    shares, prevalence = {1: 0.3, "1": 0.7}, {"1": 0.4, 1: 0.5}
    plan = at_one_cut(group_shares=shares, prevalence=prevalence)
    assert [group.name for group in plan.groups] == ["1", "'1'"]
    assert [group.prevalence for group in plan.groups] == [0.5, 0.4]


def test_cuts_that_select_hardly_anybody():
    [warning] = es.plan(constraints="fpr", cuts=es.Cuts(at=0.0001), prevalence=0.5).warnings
    assert "30 people, about 0.0" in warning
    assert at_one_cut().warnings == ()


# ---------------------------------------------------------------------- against simulation


SIMULATED = {
    "range": ({"cuts": RANGE, "tolerance": 0.15}, (0.6, 0.4), (0.4, 0.4)),
    "range, three groups, gap": (
        {"cuts": RANGE, "tolerance": 0.2, "gap": 0.05}, (0.4, 0.3, 0.3), (0.5, 0.4, 0.5),
    ),
    "cut, five groups": (
        {"cuts": es.Cuts(at=0.3), "tolerance": 0.15}, (0.2,) * 5, (0.5,) * 5,
    ),
    "auc": ({"constraints": "bnsp", "tolerance": 0.08}, (0.7, 0.3), (0.3, 0.3)),
}  # fmt: skip


def certified(family, table, tolerance):
    if family.rates_at_cuts is None:
        [low], [high] = family.intervals(table, EstimateSettings())(np.array([norm.isf(0.05)]))
        return -tolerance <= low and high <= tolerance
    rates, cuts = family.rates_at_cuts
    ladder = cuts.ladder(table)
    return certify_rates(
        ladder, rates, cuts.steps(ladder), tolerance=tolerance, share_range=cuts.between,
        shares=cuts.at,
    ).certified  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "range",
        "auc",
        pytest.param("range, three groups, gap", marks=pytest.mark.soak),
        pytest.param("cut, five groups", marks=pytest.mark.soak),
    ],
)
def test_as_many_samples_are_certified_as_planned(name):
    more, shares, prevalence = SIMULATED[name]
    plan = es.plan(group_shares=shares, prevalence=prevalence, power=0.8, **more)
    family = es.RateConstraint("fpr", "fnr", cuts=more.get("cuts", RANGE))
    if "constraints" in more:
        family = es.AucConstraint.named(more["constraints"])
    law = AssumedLaw.without_gaps(np.array(shares), np.array(prevalence), 0.8)
    law = law.moved([family], more.get("gap", 0.0))
    rng, samples, within = np.random.default_rng(0), often(40), 0
    for _ in range(samples):
        cell = rng.choice(law.shares.size, plan.needed, p=law.shares.ravel())
        positive, group = np.divmod(cell, len(shares))
        score = rng.normal(law.means.ravel()[cell])
        table = es.GroupedScores.from_arrays(positive, score, sensitive_features=group)
        within += certified(family, table, plan.tolerance)
    error = math.sqrt(0.8 * 0.2 / samples)
    assert within / samples == pytest.approx(0.8, abs=3.0 * error + 0.03)


# ---------------------------------------------------------------------- bad input


BAD = [
    ({"tolerance": 0.0}, "tolerance"),
    ({"power": 1.0}, "power"),
    ({"power": 0.9999}, "power .*0.9999"),
    ({"confidence_level": 95}, "confidence_level"),
    ({"prevalence": 0.0}, "prevalence"),
    ({"prevalence": "0.2"}, "prevalence .*'0.2'"),
    ({"prevalence": [0.2, "0.3"]}, "prevalence .*text"),
    ({"prevalence": (0.1, 0.2, 0.3)}, "2 groups"),
    ({"prevalence": {"a": 0.2, "b": 0.1}}, "named"),
    ({"group_shares": (0.7, 0.2)}, "0.9"),
    ({"group_shares": (1.0, 0.0)}, "group 2 is 0"),
    ({"group_shares": {"a": 1.2, "b": -0.2}}, "b is -0.2"),
    ({"random_state": -1}, "random_state"),
    ({"random_state": "one"}, "random_state"),
    ({"group_shares": (1.0,)}, "two groups"),
    ({"auc": 0.4}, "auc .*0.5"),
    ({"auc": True}, "auc"),
    ({"gap": -0.1}, "gap"),
    ({"gap": 0.05}, "0.05 is not fair"),
    ({"n": 3}, "16"),
    ({"constraints": []}, "constraint"),
    ({"constraints": "ppv"}, "'ppv'.*selection"),
    ({"constraints": "no such", "cuts": None}, "intra_group"),
    ({"constraints": "bnsp"}, "cuts"),
    ({"cuts": es.Cuts(thresholds=600)}, "thresholds"),
    ({"cuts": es.Cuts(thresholds=600), "gap": 0.01}, "thresholds"),
    ({"cuts": None, "constraints": es.RocConstraint(rates=(0.25,))}, "cannot be planned"),
]


def test_bad_input():
    for asked, told in BAD:
        with pytest.raises(ValueError, match=told):
            at_one_cut(**asked)
    two = [es.AucConstraint.named(name, tolerance=t) for name, t in (("bnsp", 0.1), ("bpsn", 0.2))]
    with pytest.raises(ValueError, match=r"0.1 and 0.2"):
        at_one_cut(cuts=None, constraints=two)


def test_wrong_types():
    with pytest.raises(TypeError, match="cuts must be a Cuts"):
        at_one_cut(cuts=0.3)
    with pytest.raises(TypeError, match="constraint"):
        es.plan(constraints=[3], prevalence=0.5)
