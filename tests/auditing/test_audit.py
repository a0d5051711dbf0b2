"""The audit: every number against a naive reference, and every kind of bad input."""

import json
import re
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from audit_schema import audit_schema
from hypothesis import given, settings
from hypothesis import strategies as st
from support.making import draw, every_family, table_of
from support.reference import Rows, split_roc

import evenscore as es
from evenscore import datasets
from evenscore.auditing.audit import MAX_GROUPS, audit_scores
from evenscore.auditing.blocks import CutsInUse
from evenscore.gaps.catalogue import CATALOGUE

RATES = (0.125, 0.25)
CASES = {
    "two groups": dict(seed=1, n=150, levels=None),
    "three groups, weights, ties": dict(seed=4, n=150, n_groups=3, levels=6, weights="real"),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    y, score, group, weight = draw(**CASES[request.param])
    result = es.audit(
        y, score, sensitive_features=group, sample_weight=weight, constraints=every_family()
    )
    return Rows(y, score.tolist(), group, weight), result


def cell(name):
    """'positives of 1' as (label, group)."""
    kind, group = name.split(" of ")
    return int(kind == "positives"), int(group)


@pytest.mark.slow
def test_aucs_and_matrix(case):
    rows, result = case
    assert result.auc.value == pytest.approx(rows.auc((0,), (1,)), abs=1e-12)
    for estimate in result.auc_by_group:
        own = int(estimate.first)
        assert estimate.value == pytest.approx(rows.auc((0, own), (1, own)), abs=1e-12)
        assert estimate.low < estimate.value < estimate.high
    matrix = result.auc_matrix
    for i, one in enumerate(matrix.cells):
        for j, two in enumerate(matrix.cells):
            if i != j:
                naive = rows.auc(cell(one), cell(two))
                assert matrix.values[i, j] == pytest.approx(naive, abs=1e-12)
                assert matrix.low[i, j] <= matrix.values[i, j] <= matrix.high[i, j]
    k = len(result.groups)
    block = matrix.values[:k, k:] * matrix.pair_weights
    assert block.sum() == pytest.approx(result.auc.value, abs=1e-12)


@pytest.mark.slow
def test_every_named_gap_of_every_pair(case):
    rows, result = case
    pairs = len(result.groups) * (len(result.groups) - 1) // 2
    named = result.headings["AUC gaps"]
    assert len(named) == len(CATALOGUE) * pairs
    for gap in named:
        naive = rows.gap(gap.name, int(gap.first), int(gap.second), 0)
        assert gap.value == pytest.approx(naive, abs=1e-12)
        assert gap.low < gap.value < gap.high


def test_holm_runs_over_all_gaps(case):
    result = case[1]
    ordered = sorted(result.gaps, key=lambda gap: gap.p_value)
    assert len(ordered) == result.n_gaps
    running = 0.0
    for position, gap in enumerate(ordered):
        running = max(running, min(1.0, gap.p_value * (len(ordered) - position)))
        assert gap.adjusted_p_value == pytest.approx(running, rel=1e-12)
        assert result.detectable(gap) > result.settings.tolerance


def test_roc_gaps_at_rates_and_curves(case):
    rows, result = case
    pairs = len(result.groups) * (len(result.groups) - 1) // 2
    at_rates = result.headings["ROC gaps at a cut"]
    assert len(at_rates) == 2 * pairs * len(RATES)

    def naive(on, first, second, rate):
        label = int(on == "positives")
        (one, w1), (two, w2) = rows.pick(label, int(first)), rows.pick(label, int(second))
        return split_roc(one, two, rate, w1, w2) - rate

    for gap in at_rates:
        one = naive(gap.on, gap.first, gap.second, gap.rate)
        two = -naive(gap.on, gap.second, gap.first, gap.rate)
        assert gap.value == pytest.approx(max((one, two), key=abs), abs=1e-9)
        assert gap.value == pytest.approx(gap.second_value - gap.first_value, abs=1e-12)
    assert len(result.roc_gaps) == 2 * pairs
    for curve in result.roc_gaps:
        for k in range(5, len(curve.rates) - 1, 17):
            expected = naive(curve.on, curve.first, curve.second, curve.rates[k])
            assert curve.value[k] == pytest.approx(expected, abs=1e-9)
        for low, high in (
            (curve.pointwise_low, curve.pointwise_high),
            (curve.simultaneous_low, curve.simultaneous_high),
        ):
            assert np.all(low <= curve.value + 1e-12)
            assert np.all(curve.value <= high + 1e-12)
        assert np.abs(curve.value).max() <= abs(curve.supremum) + 1e-12
        assert 0.0 <= curve.mean_absolute <= abs(curve.supremum)
        for rate, value, low, high in curve.marks:
            expected = naive(curve.on, curve.first, curve.second, rate)
            assert value == pytest.approx(expected, abs=1e-9)
            assert low <= value <= high


def test_calibration_bins(case):
    rows, result = case
    found = result.calibration
    for b in range(len(found)):
        low, high = found.edges[b], found.edges[b + 1]
        for k, group in enumerate(found.groups):
            inside = [
                (y, s, w)
                for y, s, g, w in zip(rows.y, rows.score, rows.group, rows.weight, strict=True)
                if g == int(group) and (low < s <= high or (b == 0 and s == low))
            ]
            total = sum(w for *_, w in inside)
            assert found.weight[b, k] == pytest.approx(total, abs=1e-9)
            if total:
                share = sum(w for y, _, w in inside if y) / total
                assert found.positives.value[b, k] == pytest.approx(share, abs=1e-12)
                mean = sum(s * w for _, s, w in inside) / total
                assert found.mean_score[b, k] == pytest.approx(mean, abs=1e-9)
    assert found.weight.sum() == pytest.approx(rows.mass())
    assert not found.probabilities
    assert np.isnan(found.excess.value).all()


def test_score_distributions(case):
    rows, result = case
    found = result.distributions
    np.testing.assert_allclose(found.share.sum(axis=1), 1.0)
    for c, name in enumerate(found.cells):
        scores, weights = rows.pick(*cell(name))
        for e in range(1, len(found.edges), 7):
            below = sum(w for s, w in zip(scores, weights, strict=True) if s <= found.edges[e])
            assert found.cumulative[c, e] == pytest.approx(below / sum(weights), abs=1e-9)


def test_fair_cuts_are_fair(case):
    rows, result = case
    for fair in result.fair_cuts:
        for low, high in zip(fair.low, fair.high, strict=True):
            for cut in (low, (low + high) / 2):
                rates = [rows.rates(cut, int(group))[fair.rate] for group in result.groups]
                assert max(rates) - min(rates) <= fair.tolerance + 1e-9
        assert np.all(fair.selected_low < fair.selected_high)
        assert fair.exact


def test_probabilities_are_compared_with_what_happened():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=4000)
    y, group = rng.uniform(size=4000) < p, rng.integers(0, 2, 4000)
    found = es.audit(y, p, sensitive_features=group).calibration
    assert found.probabilities
    inside = (found.excess.low <= 0) & (
        found.excess.value == found.positives.value - found.mean_score
    )
    assert np.mean(inside & (found.excess.high >= 0)) > 0.85


# ---------------------------------------------------------------------- golden values


def test_compas_rates_are_those_published(compas_folder):
    # ProPublica (2016): at deciles above 4, false positives 44.85 % and 23.45 %, false negatives
    # 27.99 % and 47.72 %, of African-American and Caucasian defendants.
    data = datasets.load_compas(compas_folder, version="two-years-all")
    result = es.audit(
        data.y,
        data.raw["decile_score"],
        sensitive_features=data.groups,
        cuts=es.Cuts(thresholds=4),
    )
    order = [result.groups.index(group) for group in ("African-American", "Caucasian")]
    fpr, fnr = (getattr(result.thresholds, name).value[0, order] for name in ("fpr", "fnr"))
    np.testing.assert_array_equal(np.round(100 * fpr, 2), [44.85, 23.45])
    np.testing.assert_array_equal(np.round(100 * fnr, 2), [27.99, 47.72])
    first, second, third = result.findings[:3]
    assert {first.kind, second.kind, third.kind} == {"gap"}
    assert "44.8% of group African-American" in first.text
    assert "47.7% of group Caucasian" in second.text
    # A high score is no favour here: the words say who is ranked too low, not who is worse off.
    assert third.text.index("Caucasian") < third.text.index("African-American")


# ---------------------------------------------------------------------- ways in


@pytest.mark.slow
def test_same_input_same_bytes_and_random_state():
    y, score, group, _ = draw(6, n=200, levels=None)
    asked = dict(sensitive_features=group, constraints=["bnsp", es.RocConstraint(rates=RATES)])
    one, two, three = (es.audit(y, score, **asked, random_state=seed) for seed in (0, 0, 1))
    assert one.to_json() == two.to_json()
    first, third = one.roc_gaps[0], three.roc_gaps[0]
    assert not np.array_equal(first.simultaneous_low, third.simultaneous_low)
    assert one.gaps[0] == three.gaps[0]
    # People are kept for comparisons, but not shown.
    assert replace(one, _rows=None).to_json() == one.to_json()


def test_an_increasing_map_changes_no_gap():
    y, score, group, _ = draw(7, n=200, levels=None)
    one = es.audit(y, score, sensitive_features=group)
    two = es.audit(y, np.exp(score), sensitive_features=group)
    bare = [[replace(gap, threshold=0.0, words="") for gap in result.gaps] for result in (one, two)]
    assert bare[0] == bare[1]
    for gap, other in zip(one.gaps[:2], two.gaps[:2], strict=True):
        assert other.threshold == np.exp(gap.threshold)


# ---------------------------------------------------------------------- awkward data


def test_one_group_has_an_auc_and_a_sentence():
    y, score, *_ = draw(11, n=100, levels=None)
    result = es.audit(y, score, sensitive_features=["all"] * len(y), constraints=every_family())
    assert result.auc.low < result.auc.value < result.auc.high
    assert result.gaps == result.roc_gaps == ()
    assert not any(certificate.certified for certificate in result.roc_certificates)
    assert all(fair.reason for fair in result.fair_cuts)
    assert np.isnan(result.thresholds.impact_ratio.value).all()
    json.loads(result.to_json())


def test_an_empty_cell_is_said_and_the_rest_computed():
    y, score, group, _ = draw(12, n=100, n_groups=3, levels=None)  # too few to leave any out
    keep = ~((y == 1) & (group == 2))
    result = es.audit(
        y[keep], score[keep], sensitive_features=group[keep], constraints=every_family()
    )
    assert "no positives of 2" in result.warnings[0]
    assert any("–" in row for row in result.block(CutsInUse).tables()[0].rows)
    for gap in result.gaps:
        undefined = gap.name in ("intra_group", "bnsp", "inter_group") and "2" in gap.second
        assert np.isnan(gap.value) == np.isnan(gap.low)
        if undefined:
            assert np.isnan(gap.value)
            assert "no positives of 2" in gap.warnings[0]
            assert gap.verdict == "undefined"
    by_class = {c.on: c for c in result.roc_certificates if c.method == "dkw"}
    assert "no positives of 2" in by_class["positives"].words
    assert "no positives" not in by_class["negatives"].words
    assert any(curve.reason for curve in result.roc_gaps)
    assert es.AuditResult.from_dict(result.to_dict()).to_json() == result.to_json()


def test_constant_scores():
    y, _, group, _ = draw(13, n=100)
    score = np.full(len(y), 1e300)
    result = es.audit(y, score, sensitive_features=group, constraints=every_family())
    assert not any(finding.kind in ("gap", "even") for finding in result.findings)
    assert result.auc.value == 0.5
    assert all(gap.value == 0.0 for gap in result.gaps if gap.family in ("auc", "roc"))
    rates = result.cut_gaps
    assert all(np.isnan(gap.value) and "scores are equal" in gap.warnings[0] for gap in rates)
    assert "scores are equal" in result.block(CutsInUse).reason
    json.loads(result.to_json())


def test_zero_weights_count_for_nothing():
    y, score, group, _ = draw(14, n=100, levels=None)
    weight = np.ones(len(y))
    weight[4:14] = 0.0
    result = es.audit(y, score, sensitive_features=group, sample_weight=weight)
    some = weight > 0
    kept = es.audit(y[some], score[some], sensitive_features=group[some])
    assert "10 rows" in " ".join(result.warnings)
    assert [g.value for g in result.gaps] == pytest.approx([g.value for g in kept.gaps])
    assert result.sample.n == len(y) - 10


@pytest.mark.slow
def test_many_groups_keep_the_worst_pairs_and_say_so():
    y, score, group, _ = draw(15, n=1200, n_groups=12, levels=None)
    result = es.audit(y, score, sensitive_features=group, constraints=every_family())
    kinds = 2 + len(CATALOGUE) + 2 * len(RATES)
    assert (len(result.gaps), result.n_gaps) == (10 * kinds, 66 * kinds)
    assert "56 of 66 pairs" in result.omitted[0]
    rows = Rows(y, score.tolist(), group)
    main = [int(name) for name in result.main_groups]
    assert len(main) == 10
    within = [rows.auc((0, k), (1, k)) for k in range(12)]
    sizes = sorted((abs(within[a] - within[b]) for a in main for b in main if a < b), reverse=True)
    kept = sorted((abs(g.value) for g in result.gaps if g.name == "intra_group"), reverse=True)
    assert kept == pytest.approx(sizes[:10], abs=1e-12)
    # Holm as if the gaps left out had p-values of one.
    smallest = min(result.gaps, key=lambda gap: gap.p_value)
    expected = min(1.0, result.n_gaps * smallest.p_value)
    assert smallest.adjusted_p_value == pytest.approx(expected)
    assert len(result.roc_gaps) == 12


def test_an_identifier_is_no_group():
    n = MAX_GROUPS + 1
    with pytest.raises(ValueError, match=rf"at most {MAX_GROUPS}.*identifier"):
        es.audit(np.arange(n) % 2, np.arange(n), sensitive_features=np.arange(n))


def test_large_cells_take_dkw_bands_and_coarse_cuts():
    rng = np.random.default_rng(0)
    n = 120_000
    y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
    score = rng.normal(size=n) + y + 0.02 * group
    result = es.audit(y, score, sensitive_features=group, constraints=every_family())
    assert any("10,000 of the 120,000 scores" in text for text in result.omitted)
    assert {curve.simultaneous_method for curve in result.roc_gaps} == {"dkw"}
    assert not result.fair_cuts[0].exact
    assert result.fair_cuts[0].evaluated <= 10_000
    assert [c.certified for c in result.roc_certificates] == [True, True]
    assert [finding.kind for finding in result.findings].count("even") >= 2
    # Rates at the coarse cuts are exact all the same.
    fair = result.fair_cuts[0]
    rates = es.rates_at(y, score, fair.low, sensitive_features=group).fpr
    assert np.all(np.ptp(rates, axis=1) <= fair.tolerance + 1e-12)


BAD = {
    "y_score .* row 1": dict(y_score=[0.1, np.nan, 0.3, 0.8, 0.4, 0.5]),
    "nobody": dict(sample_weight=[0] * 6),
    "no positives": dict(y_true=[0] * 6),
    "there is no y_true": dict(y_true=None, pos_label=1),
    "bnsp needs": dict(y_true=None, constraints="bnsp"),
    "negatives need": dict(y_true=None, cuts=es.Cuts(at=(0.5,), of="negatives")),
    "low scores": dict(
        cuts=es.Cuts(at=(0.5,), selected="low"),
        constraints=es.RateConstraint("fpr", cuts=es.Cuts(at=(0.5,))),
    ),
    "^tolerance .* 0.7": dict(tolerance=0.7),
    "^confidence_level .* 95": dict(confidence_level=95),
    "^random_state": dict(random_state=None),
    "^title": dict(title=3),
    # Another look at the same gap would cost all the others power, and two of a name confuse.
    "one name, bnsp": dict(constraints=["bnsp", "bnsp"]),
    "one name, mine": dict(
        constraints=[
            es.AucConstraint.from_gap_weights(w, name="mine") for w in ([1, 0, 0, 0, 0], [1] * 5)
        ]
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_gets_one_sentence(message):
    arguments = {"y_true": [0, 1] * 3, "y_score": range(6), "sensitive_features": list("aabbab")}
    arguments |= BAD[message]
    with pytest.raises(ValueError, match=message) as caught:
        es.audit(arguments.pop("y_true"), arguments.pop("y_score"), **arguments)
    assert "\n" not in str(caught.value)


PERSON = st.tuples(
    st.integers(0, 1),
    st.sampled_from([0.0, -1.5, 2.0, 1e12, 1e-12]),
    st.sampled_from(["a", "b", "{group}", "<i>"]),
    st.sampled_from([0.0, 1.0, 1.0, 2.5]),
)
LOW = es.Cuts(thresholds=(1.0, -1.5), selected="low", inclusive=True)


@pytest.mark.slow
@settings(max_examples=12)
@given(st.lists(PERSON, max_size=24), st.booleans(), st.booleans(), st.sampled_from([None, LOW]))
def test_any_people_give_a_valid_audit_or_one_sentence(people, weighted, known, cuts):
    y, score, group, weight = ([person[k] for person in people] for k in range(4))
    asked = dict(sample_weight=weight if weighted else None, cuts=cuts)
    try:
        result = es.audit(y if known else None, score, sensitive_features=group, **asked)
    except ValueError as error:
        told = str(error)
        if "nobody to audit" in told or (known and "at all" in told):
            return
        raise
    jsonschema.Draft202012Validator(audit_schema()).validate(json.loads(result.to_json()))
    assert es.AuditResult.from_dict(result.to_dict()).to_json() == result.to_json()
    assert not re.search(r"\bnan\b", str(result))
    assert "<i>" not in result._repr_html_()
    ranked = (result.auc, *result.auc_by_group) if known else ()
    for estimate in (*ranked, *result.gaps):
        assert not np.isnan(estimate.low) or estimate.warnings


def test_notes_about_a_table_come_first_among_the_warnings():
    result = audit_scores(table_of(*draw(5)), constraints="bnsp", notes=["3 rows were left out."])
    assert result.warnings[0] == "3 rows were left out."
    assert es.AuditResult.from_dict(result.to_dict()).warnings == result.warnings


# ---------------------------------------------------------------------- ties


@pytest.mark.slow
def test_an_even_score_with_ties_has_no_gap():
    rng = np.random.default_rng(1)
    y, group = np.tile([0, 1], 1000), np.repeat(["a", "b"], 1000)
    score = (rng.uniform(size=len(y)) < 0.2 + 0.4 * y).astype(float)
    result = es.audit(y, score, sensitive_features=group, constraints=every_family())
    assert result.beyond == result.beyond_alone == ()
    assert "gap" not in [finding.kind for finding in result.findings]
    assert all(abs(gap.value) < 0.08 for gap in result.gaps if not np.isnan(gap.value))
    assert all(abs(curve.supremum) < 0.08 for curve in result.roc_gaps)
    assert not any(c.lacking == "evenness" for c in result.roc_certificates)
    gap = result.headings["ROC gaps at a cut"][1]
    assert "ties" in gap.words
    assert "ties" in gap.method


@pytest.mark.slow
def test_exchanging_groups_never_favours_the_other():
    rng = np.random.default_rng(2)
    y, group = rng.integers(0, 2, 1500), rng.integers(0, 2, 1500)
    score = np.clip(np.round(rng.normal(size=1500) + y + 0.8 * group), -1, 3)
    for order in ((0, 1), (1, 0)):
        result = es.audit(
            y, score, sensitive_features=group, group_order=order, constraints=every_family()
        )
        gaps = [gap for gap in result.beyond if gap.family == "roc"]
        assert {gap.second if gap.value > 0 else gap.first for gap in gaps} == {"1"}
        for gap in result.cut_gaps:
            more = gap.value if gap.name == "fpr_gap" else -gap.value
            assert (gap.first if more > 0 else gap.second) == "1"


# ---------------------------------------------------------------------- groups and findings


def test_groups_whose_names_contain_and_are_kept_apart():
    y, score, group, _ = draw(17, n=400, n_groups=4, levels=None)
    names = np.array(["a", "a and b", "b and c", "c"])[group]
    result = es.audit(y, score, sensitive_features=names)
    titles = [gap.title for gap in result.gaps]
    assert len(set(titles)) < len(titles)  # "a, and b and c" reads like "a and b, and c"
    assert len({gap.key for gap in result.gaps}) == len(result.gaps)


@pytest.mark.slow
def test_two_people_of_a_third_group_do_not_silence_an_audit():
    rng = np.random.default_rng(0)
    y, group = np.tile([0, 0, 1, 1], 500), np.tile(["men", "women"], 1000)
    score = rng.normal(size=2000) + y - 1.0 * (group == "women")
    alone = es.audit(y, score, sensitive_features=group)
    groups = [*group, "others", "others"]
    more = es.audit([*y, 0, 1], [*score, 0.5, 0.5], sensitive_features=groups)
    known = {gap.key: gap for gap in more.gaps}
    for gap in alone.headings["AUC gaps"]:
        other = known[gap.key]
        assert (other.low, other.high) == pytest.approx((gap.low, gap.high), abs=0.003), gap.title
        assert gap.verdict != "beyond" or other.verdict == "beyond"
    for gap in more.gaps:
        if gap.second == "others" and gap.name in ("intra_group", "inter_group"):
            assert np.isnan(gap.low)
            assert "two observations" in gap.warnings[0]


def test_a_score_the_wrong_way_round_and_groups_that_look_alike_are_pointed_out():
    y, score, group, _ = draw(3, n=400, levels=None)
    low = es.Cuts(between=(0.1, 0.4), selected="low")  # as of a probability of default

    def warnings(score, names=group, cuts=None):
        asked = dict(constraints="bnsp", cuts=cuts)
        return es.audit(y, score, sensitive_features=names, **asked).warnings

    wrong, alike = warnings(-score, np.array(["Men", "men "])[group])
    assert "positives below" in wrong
    assert "'Men' and 'men '" in alike
    assert warnings(score) == warnings(-score, cuts=low) == ()
    assert "positives above" in warnings(score, cuts=low)[0]


def test_who_ranks_higher_follows_from_who_is_compared():
    """By brute force: shift one group up and see which way each statistic goes."""
    y, group = np.tile([0, 0, 1, 1], 100), np.tile(["a", "b"], 200)
    score = np.random.default_rng(0).normal(size=400) + y
    shifted = es.audit(y, score + 0.5 * (group == "a"), sensitive_features=group)
    for notion in CATALOGUE.values():
        if notion.name in ("intra_group", "pair_error"):
            assert notion.ranks_higher == 0
        else:
            assert notion.ranks_higher == np.sign(shifted.worst(notion.name).value)
    with pytest.raises(ValueError, match="'nothing'"):
        shifted.worst("nothing")
