"""Many and tiny groups: who is compared, with whom, who comes first, and what is said of others."""

import numpy as np
import pytest
from support.making import draw, table_of
from support.reference import Rows

import evenscore as es
from evenscore import GroupedScores
from evenscore.auditing.groups import ALL_OTHERS, choose_groups
from evenscore.auditing.numeric_groups import numeric_groups
from evenscore.inference.decisions import adjust

SOME = [
    *(es.RateConstraint("fpr"), "bnsp", "intra_group", "inter_group", "reference_group"),
    es.RocConstraint(on="both", rates=(0.25,)),
]
SIZES = {"a": 400, "tiny": 24, "b": 300, "c": 90, "none": 12}


@pytest.fixture(scope="module")
def people():
    """Two large groups, a smaller one, a tiny one and one without positives."""
    rng = np.random.default_rng(5)
    group = np.repeat(list(SIZES), list(SIZES.values()))
    y = rng.integers(0, 2, len(group))
    y[group == "none"] = 0
    shift = np.select([group == "b", group == "c", group == "tiny"], [0.8, 0.3, 2.0], 0.0)
    score = np.round(rng.normal(size=len(group)) + y + shift, 1)
    return y, score, group


@pytest.fixture(scope="module")
def result(people):
    y, score, group = people
    return es.audit(y, score, sensitive_features=group, constraints=SOME)


def pair(gap):
    return gap.first, gap.second


def by_key(result):
    return {gap.key: gap for gap in result.gaps}


# ---------------------------------------------------------------------- small groups


@pytest.mark.slow
def test_small_groups_are_not_compared_but_counted_listed_and_shown_apart(people, result):
    y, score, group = people
    assert result.groups == ("a", "b", "c", "none", "tiny")
    assert result.compared_groups == ("a", "b", "c")
    assert [small.name for small in result.small_groups] == ["none", "tiny"]
    assert result.sample.n == len(y)
    assert result.auc.value == pytest.approx(Rows(y, score.tolist(), group).auc((0,), (1,)))
    everything = [*result.gaps, *result.roc_gaps]
    everything += [at for c in result.roc_certificates for at in c.thresholds]
    assert {pair(part) for part in everything} == {("a", "b"), ("a", "c"), ("b", "c")}
    [sentence] = [text for text in result.warnings if "not compared" in text]
    negatives = int(np.sum(y[group == "tiny"] == 0))
    for part in ("2 groups", "30", "none (12 ", f"tiny ({negatives} ", f"{24 - negatives} pos"):
        assert part in sentence
    assert result.settings.min_group_size == 30
    for cuts in (result.thresholds, result.explorer):
        assert not {"tiny", "none"} & {*cuts.impact_ratio.lowest, *cuts.impact_ratio.highest}


def test_what_is_known_of_a_small_group(people, result):
    y, score, group = people
    none, tiny = result.small_groups
    own = group == "tiny"
    alone = es.audit(y[own], score[own], sensitive_features=group[own])
    assert tiny.auc.value == pytest.approx(alone.auc.value, abs=1e-12)
    assert tiny.auc.low < tiny.auc.value < tiny.auc.high
    assert (tiny.negatives, tiny.positives) == tuple(alone.sample.cell_counts[:, 0])
    assert tiny.share == pytest.approx(24 / len(y))
    cut = result.thresholds.thresholds[0]
    assert tiny.selection_rate == pytest.approx(np.mean(score[own] > cut))
    assert 0.0 <= tiny.low < tiny.selection_rate < tiny.high <= 1.0
    assert np.isnan(none.auc.value)
    assert none.auc.warnings


def test_only_compared_pairs_are_corrected_for(people, result):
    """The gaps are those of an audit of all pairs; the correction is over those compared."""
    y, score, group = people
    table = GroupedScores.from_arrays(y, score, sensitive_features=group)
    kinds = {gap.kind for gap in result.gaps}
    assert result.n_gaps == len(result.gaps) == 3 * len(kinds)
    assert [gap.adjusted_p_value for gap in result.gaps] == pytest.approx(
        adjust([gap.p_value for gap in result.gaps]).tolist()
    )
    for family in result._families:
        full = {estimate.key: estimate for estimate in family.estimates(table)}
        for gap in result.gaps:
            if gap.key in full:
                other = full[gap.key]
                for name in ("value", "low", "high", "p_value"):
                    assert getattr(gap, name) == pytest.approx(getattr(other, name), abs=1e-12)


def test_the_default_never_leaves_fewer_than_two_groups(people):
    y, score, group = people
    few = np.isin(group, ["a", "tiny", "none"])
    result = es.audit(y[few], score[few], sensitive_features=group[few])
    assert result.compared_groups == ("a", "none", "tiny")
    assert result.small_groups == ()
    assert result.settings.min_group_size is None
    assert any("no positives of none" in text for text in result.warnings)
    assert len({pair(gap) for gap in result.gaps}) == 3


def test_a_group_without_people_is_never_compared():
    y, score, group, _ = draw(1, n=40)
    result = es.audit(y, score, sensitive_features=group, group_order=[1, 0, 2])
    assert result.compared_groups == ("1", "0")
    assert "2 (0 negatives" in result.warnings[0]


def test_a_number_of_one_s_own(people):
    y, score, group = people

    def audit(number, **more):
        return es.audit(y, score, sensitive_features=group, min_group_size=number, **more)

    low = audit(5, constraints="bnsp")
    assert low.compared_groups == ("a", "b", "c", "tiny")
    assert any("fewer than 30" in text for text in low.warnings)
    high = audit(100, constraints=es.RocConstraint(rates=(0.25,)))
    assert high.compared_groups == ("a", "b")
    assert high.n_gaps == len(high.gaps)
    assert len(high.roc_gaps[0].rates) == 101  # as with two groups
    with pytest.raises(ValueError, match=r"1,000 .*a \(\d+ neg"):
        audit(1000)
    for bad in (0, 2.5, "30", True):
        with pytest.raises(ValueError, match=r"min_group_size.*1"):
            audit(bad)


def test_weights_count_by_what_they_are_worth(people):
    y, score, group = people
    columns = dict(sensitive_features=group, constraints="bnsp")
    equal = es.audit(y, score, **columns, sample_weight=np.full(len(y), 0.1))
    assert equal.compared_groups == ("a", "b", "c")
    weight = np.ones(len(y))
    weight[np.flatnonzero(group == "c")[:2]] = 1000.0
    result = es.audit(y, score, **columns, sample_weight=weight)
    assert result.compared_groups == ("a", "b")


# ---------------------------------------------------------------------- a reference group


@pytest.mark.slow
def test_every_group_against_one(people, result):
    y, score, group = people
    against = es.audit(y, score, sensitive_features=group, reference_group="b", constraints=SOME)
    assert against.settings.reference_group == "b"
    assert against.n_pairs == 2
    assert {pair(gap) for gap in against.gaps} == {("b", "a"), ("b", "c")}
    assert {pair(curve) for curve in against.roc_gaps} == {("b", "a"), ("b", "c")}
    assert against.n_gaps == len(against.gaps) == 2 * result.n_gaps // 3
    known = by_key(result)
    for gap in against.gaps:
        if gap.name == "reference_group":  # beside b here, beside a there
            assert gap.reference == "b"
            assert "group b as the reference" in gap.words
            continue
        same, other = gap.key, gap.key._replace(first=gap.second, second=gap.first)
        sign = 1.0 if same in known else -1.0
        twin = known.get(same) or known[other]
        assert gap.value == pytest.approx(sign * twin.value, abs=1e-12)
        near = 0.01 if gap.family == "rate" else 1e-12  # noise is drawn by the order of groups
        assert sorted([sign * gap.low, sign * gap.high]) == pytest.approx(
            [twin.low, twin.high], abs=near
        )


@pytest.mark.slow
def test_all_others_are_recoded_columns(people):
    y, score, group = people
    weight = np.random.default_rng(0).gamma(9.0, size=len(y))
    roc = es.RocConstraint(on="negatives", rates=(0.25,))
    asked = dict(
        sample_weight=weight,
        constraints=[es.RateConstraint("fpr"), "bnsp", "reference_group", roc],
    )
    against = es.audit(y, score, sensitive_features=group, reference_group=ALL_OTHERS, **asked)
    assert against.n_pairs == 3
    assert against.n_gaps == len(against.gaps) == 12
    known = by_key(against)
    for name in against.compared_groups:
        recoded = np.where(group == name, name, ALL_OTHERS)
        order = [ALL_OTHERS, name]
        alone = es.audit(y, score, sensitive_features=recoded, group_order=order, **asked)
        assert len(alone.gaps) == 4
        for gap in alone.gaps:
            twin = known[gap.key]
            for part in ("value", "low", "high", "p_value", "first_value", "second_value"):
                assert getattr(twin, part) == pytest.approx(getattr(gap, part), abs=1e-12)
            assert twin.words == gap.words
    # One list, one correction; curves of the same pairs.
    assert [gap.adjusted_p_value for gap in against.gaps] == pytest.approx(
        adjust([gap.p_value for gap in against.gaps]).tolist()
    )
    pairs = {(ALL_OTHERS, name) for name in against.compared_groups}
    assert {pair(curve) for curve in against.roc_gaps} == pairs


def test_reference_groups_that_cannot_be(people):
    y, score, group = people
    same, named = np.full(len(y), "a"), np.where(group == "c", ALL_OTHERS, group)

    def audit(reference, groups=group, **more):
        return es.audit(y, score, sensitive_features=groups, reference_group=reference,
                        constraints="bnsp", **more)  # fmt: skip

    for reference, groups, message in (
        ("d", group, r"'d'.* a, b, c, none"),
        ("tiny", group, r"tiny.* 30"),
        ({"a"}, group, r"no group \{'a'\}"),
        ("b", same, r"'b'.* are a"),
        (ALL_OTHERS, named, "'all others'"),
    ):
        with pytest.raises(ValueError, match=message):
            audit(reference, groups)
    assert audit("tiny", min_group_size=5).settings.reference_group == "tiny"
    assert audit("a", same).gaps == ()
    assert ALL_OTHERS in audit(None, named).groups


@pytest.mark.parametrize("reference", ["b", ALL_OTHERS])
def test_names_and_their_order_change_nothing_they_must_not(people, reference):
    y, score, group = people
    asked = dict(constraints=["bnsp", "inter_group"], reference_group=reference)
    result = es.audit(y, score, sensitive_features=group, **asked)
    new = {"a": "<script>", "b": "b", "c": "None", "tiny": "日本 \u202e", "none": "{0} & 'x'"}
    renamed = es.audit(
        y,
        score,
        sensitive_features=np.array([new[name] for name in group], dtype=object),
        group_order=[new[name] for name in ("none", "b", "tiny", "c", "a")],
        **asked,
    )
    assert set(renamed.main_groups) == {new[name] for name in result.main_groups}
    assert {small.name for small in renamed.small_groups} == {"日本 �", "{0} & 'x'"}
    known = by_key(renamed)
    for gap in result.gaps:
        first, second = new.get(gap.first, gap.first), new.get(gap.second, gap.second)
        key = gap.key._replace(first=first, second=second)
        sign = 1.0
        if key not in known:
            key, sign = key._replace(first=second, second=first), -1.0
        assert known[key].value == pytest.approx(sign * gap.value, abs=1e-12)
        assert known[key].verdict == gap.verdict


@pytest.mark.slow
def test_references_by_label_or_by_name():
    y, score, group, _ = draw(8, n=900, n_groups=3)
    asked = dict(constraints="bnsp")
    by_label, by_name = (
        es.audit(y, score, sensitive_features=group, reference_group=one, **asked)
        for one in (1, "1")
    )
    assert by_label.to_json() == by_name.to_json()
    columns = {"g": group, "h": np.arange(len(y)) % 2}
    crossed = es.audit(y, score, sensitive_features=columns, reference_group=(2, 0), **asked)
    assert crossed.settings.reference_group == "2 × 0"
    assert crossed.n_pairs == 5


# ---------------------------------------------------------------------- who comes first


def test_main_groups_are_the_fewest_that_hold_four_fifths(people, result):
    assert result.main_groups == ("a", "b")  # 700 of 826
    scores = GroupedScores.from_arrays(
        np.arange(1000) % 2, np.arange(1000), sensitive_features=np.arange(1000) // 2 % 5
    )
    choice = choose_groups(scores, scores.groups)
    assert choice.main == (0, 1, 2, 3)  # exactly 80 %
    two = choose_groups(scores.regrouped([0, 0, 0, 0, 1], ("x", "y")), ("x", "y"))
    assert two.main == (0, 1)  # two at least, although one holds 80 %


@pytest.mark.slow
def test_curves_of_main_groups_are_kept_first():
    y, score, group, _ = draw(4, n=800, n_groups=5, levels=None)
    weight = np.where(np.isin(group, [1, 3]), 9.0, 1.0)
    roc = es.RocConstraint(rates=(0.25,))
    result = es.audit(y, score, sensitive_features=group, sample_weight=weight, constraints=roc)
    assert result.main_groups == ("1", "3")
    assert len(result.roc_gaps) == 12
    kept = [curve.on for curve in result.roc_gaps if pair(curve) == ("1", "3")]
    assert kept == ["negatives", "positives"]
    assert any("main groups" in text for text in result.omitted)


# ---------------------------------------------------------------------- compared


@pytest.mark.slow
def test_comparisons_are_of_the_gaps_compared(people):
    y, score, group = people
    asked = dict(sensitive_features=group, reference_group=ALL_OTHERS, constraints="bnsp")
    one = es.audit(y, score, **asked)
    two = es.audit(y, score + 0.3 * (group == "a"), **asked)
    found = one.compare(two, n_resamples=20)
    assert [gap.difference.key for gap in found.gaps] == [gap.key for gap in one.gaps]
    for row in found.gaps:
        expected = row.one.value - row.other.value
        assert row.difference.value == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="min_group_size"):
        one.compare(es.audit(y, score, **asked, min_group_size=100))


def test_regrouped_tables():
    y, score, group, weight = draw(9, n=300, n_groups=4, levels=5, weights="real")
    table = table_of(y, score, group, weight)
    recoded = np.array(["all others", "2"])[(group == 2).astype(int)]
    naive = table_of(y, score, recoded, weight, group_order=("all others", "2"))
    seen = table.regrouped([0, 0, 1, 0], ("all others", "2"))
    for name in ("score", "cell", "weight", "count", "weight_squared"):
        np.testing.assert_allclose(getattr(seen, name), getattr(naive, name), rtol=1e-12)
    part = table.regrouped([-1, 1, -1, 0], (3, 1))
    assert part.cell_counts.sum() == np.isin(group, [1, 3]).sum()
    assert part.cell_counts[1, 0] == np.sum((group == 3) & (y == 1))


# ---------------------------------------------------------------------- numbers as groups


@pytest.mark.slow
def test_a_quantity_is_pointed_out_with_bands():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 34, 800)
    y, score = np.arange(800) % 2, rng.normal(size=800)
    result = es.audit(y, score, sensitive_features=age, constraints="bnsp")
    [told] = [text for text in result.warnings if "18 to 33" in text]
    assert "16 different numbers" in told
    assert "22 to 25" in told
    ages, counts = np.unique(rng.integers(18, 58, 5000), return_counts=True)
    for column in (ages, ages.astype(float), ages.astype(str)):
        found = numeric_groups([str(k) for k in column], counts.astype(float))
        assert [found.bands().count(edge) for edge in ("under 25", "35 to 44")] == [1, 1]
    for labels in (range(12), [f"group {k}" for k in range(20)], [*range(20), "nan"]):
        assert numeric_groups([str(label) for label in labels], np.ones(len(labels))) is None
    with pytest.raises(ValueError, match=r"under 10,000, 10,000"):
        es.audit(y, score, sensitive_features=rng.integers(1, 200, 800) * 250)
    with pytest.raises(ValueError, match="merge groups"):
        es.audit(y, score, sensitive_features=[f"p{k}" for k in range(800)])


def test_bands_cover_everybody_once_and_are_about_equal():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        scale = 10.0 ** rng.integers(-3, 6)
        values = np.unique(np.round(rng.gamma(2.0, scale, 400), 4))
        counts = rng.integers(1, 9, len(values)).astype(float)
        edges = numeric_groups([repr(float(v)) for v in values], counts)._edges()
        assert 1 <= len(edges) <= 3
        assert edges == sorted(set(edges))
        assert values[0] < edges[0]
        assert edges[-1] <= values[-1]
        shares = np.diff([0.0, *(counts[values < edge].sum() for edge in edges), counts.sum()])
        assert len(edges) < 3 or shares.min() > 0.05 * counts.sum()
