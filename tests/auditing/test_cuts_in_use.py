"""The headline of an audit, what happens at the cuts in use, against loops over people."""

import json
import re
from functools import partial

import jsonschema
import numpy as np
import pytest
from audit_schema import audit_schema
from support.making import draw, table_of
from support.naive_cuts import Sample, rate

import evenscore as es
from evenscore.auditing.blocks import BLOCKS, CutsInUse

LOAN = es.Words(
    people="applicants",
    positives="people who repaid",
    negatives="people who defaulted",
    selected="granted a loan",
    selected_is="good",
)


def selects(cuts, score, threshold):
    """Who is selected, by the words of the cuts."""
    if cuts.selected == "high":
        return score >= threshold if cuts.inclusive else score > threshold
    return score <= threshold if cuts.inclusive else score < threshold


@pytest.mark.parametrize(
    ("drawn", "selected", "inclusive"),
    [
        (dict(seed=1, n=150, levels=None), "high", False),
        (dict(seed=3, n=200, n_groups=3, levels=None, weights="real"), "low", False),
        (dict(seed=4, n=200, levels=8, weights="integer"), "low", True),
    ],
)
def test_everything_against_loops_over_people(drawn, selected, inclusive):
    y, score, group, weight = draw(**drawn)
    cuts = es.Cuts(between=(0.15, 0.6), selected=selected, inclusive=inclusive)
    result = es.audit(y, score, sensitive_features=group, sample_weight=weight, cuts=cuts)
    sample = Sample(y, score, group, weight)

    def naive(chosen, name, what):
        return rate(what, [(a, chosen(s), w) for a, s, g, w in sample.rows if g == int(name)], 0.5)

    assert result.cuts == cuts == result.settings.cuts
    inside = sample.between(0.15, 0.6, selected=selected)
    assert {gap.name for gap in result.cut_gaps} == {"fpr_gap", "fnr_gap"}
    for gap in result.cut_gaps:
        what = gap.name.removesuffix("_gap")
        sizes = [naive(at, gap.first, what) - naive(at, gap.second, what) for at in inside]
        assert abs(gap.value) == pytest.approx(max(map(abs, sizes)), abs=1e-9)
        # It is there that the rates differ as much as it says.
        chosen = partial(selects, cuts, threshold=gap.threshold)
        sides = [naive(chosen, name, what) for name in (gap.first, gap.second)]
        assert [gap.first_value, gap.second_value] == pytest.approx(sides, abs=1e-9)
        assert gap.selected_share == pytest.approx(sample.share(chosen), abs=1e-9)
    assert 1 <= len(result.thresholds.thresholds) <= 5
    curves = result.cut_curves
    assert [curve.rate for curve in curves.rates] == ["fpr", "fnr"]
    names = ("selection", "fpr", "fnr", "precision")
    places = [
        (table, t, dict(zip(names, (table.selection_rate, *shares), strict=True)))
        for table, step in ((result.thresholds, 1), (result.explorer, 15))
        for t in range(0, len(table.thresholds), step)
        for shares in [(table.fpr, table.fnr, table.precision)]
    ]
    shown = {curve.rate: curve.shares for curve in curves.rates}
    places += [(curves, t, shown) for t in range(0, len(curves.thresholds), 9)]
    for table, t, by_rate in places:
        chosen = partial(selects, cuts, threshold=table.thresholds[t])
        for what, shares in by_rate.items():
            for k, name in enumerate(table.groups):
                expected = naive(chosen, name, what)
                assert shares.value[t, k] == pytest.approx(expected, abs=1e-9, nan_ok=True)
                if not np.isnan(expected):
                    assert shares.low[t, k] <= expected + 1e-9 <= shares.high[t, k] + 2e-9
    assert np.all(np.diff(curves.selected_share) > 0)
    assert curves.selected_share[-1] <= 0.6 + 1e-9


def test_low_scores_are_the_high_ones_of_the_mirror_image():
    y, score, group, weight = draw(5, n=600, levels=20, weights="real", shift=0.8)
    names = np.array(["men", "women"])[group]

    def told(score, selected):
        cuts = es.Cuts(between=(0.1, 0.5), selected=selected, inclusive=True)
        fair = es.RateConstraint("fpr", "fnr", "precision", cuts=cuts)
        cluster = np.arange(len(y)) // 2
        columns = dict(sensitive_features=names, sample_weight=weight, cluster=cluster)
        return es.audit(y, score, **columns, constraints=fair, words=LOAN)

    high, low = told(score, "high"), told(-score, "low")
    for one, two in zip(high.gaps, low.gaps, strict=True):
        for part in ("value", "low", "high", "p_value", "verdict", "selected_share"):
            assert getattr(one, part) == pytest.approx(getattr(two, part), abs=1e-9, nan_ok=True)
        assert one.threshold == pytest.approx(-two.threshold, nan_ok=True)
    np.testing.assert_allclose(high.thresholds.thresholds, -low.thresholds.thresholds)
    np.testing.assert_allclose(high.thresholds.fpr.low, low.thresholds.fpr.low)
    first, second = (re.sub(r"\(a score .*?\)", "", r.findings[0].text) for r in (high, low))
    assert first == second
    assert "favours" in first


def test_the_first_finding_in_the_words_of_the_user():
    """A law whose rates are known: of those who repaid, 80 % of women and 60 % of men are high."""
    y = np.repeat([1, 0, 1, 0], 1000)
    group = np.repeat(["women", "women", "men", "men"], 1000)
    score = np.zeros(4000)
    score[:800] = score[2000:2600] = score[1000:1100] = score[3000:3100] = 1.0
    fair = es.RateConstraint("fnr", cuts=es.Cuts(thresholds=1.0, inclusive=True))
    result = es.audit(y, score, sensitive_features=group, constraints=fair, words=LOAN)
    [gap] = result.gaps
    assert gap.value == pytest.approx(0.2)
    [first, *_] = result.findings
    assert first.kind == "gap"
    least = 100 * min(abs(end) for end in gap.ends("beyond"))
    for part in ("people who repaid", "40.0% of group men", f"at least {least:.1f}."):
        assert part in first.text
    assert 15.0 < least < 20.0


# ---------------------------------------------------------------------- where there is no cut


def kept(result):
    return es.AuditResult.from_dict(json.loads(result.to_json())).to_json() == result.to_json()


def test_a_score_too_coarse_for_the_range_says_so():
    y, _, group, _ = draw(6, n=400)
    score = (np.arange(len(y)) % 10 == 0).astype(float)
    result = es.audit(y, score, sensitive_features=group, cuts=es.Cuts(between=(0.2, 0.5)))
    assert result.findings[0].kind == "unclear"
    for part in ("20% to 50%", "select 10"):
        assert part in result.findings[0].text
    assert {gap.verdict for gap in result.cut_gaps} == {"undefined"}
    assert "nearest" in result.thresholds.labels[0]
    assert len(result.cut_curves.thresholds) == 0
    assert kept(result)


def test_shares_without_a_cut_have_no_row():
    """Three quarters share the lowest score: the cut at a tenth would select nobody."""
    y, _, group, _ = draw(6, n=400)
    more = {"selected": "low", "inclusive": True}
    score = -1.0 * (np.arange(len(y)) % 4 > 0)
    result = es.audit(y, score, sensitive_features=group, cuts=es.Cuts(at=(0.1, 0.8), **more))
    assert len(result.thresholds.labels) == 1
    assert result.thresholds.selected_share == pytest.approx(0.75)
    [nothing] = [f.text for f in result.findings if "nothing can be said" in f.text]
    assert "10%" in nothing
    assert "75%" in nothing
    few = np.where(np.arange(len(y)) < 4, 2, group)
    for cuts, labels in ((es.Cuts(at=0.1, **more), None), (es.Cuts(between=(0.1, 0.8)), y)):
        equal = es.audit(labels, np.ones(len(y)), sensitive_features=few, cuts=cuts)
        assert len(equal.thresholds.thresholds) == 0
        assert equal.block(CutsInUse).tables() == ()
        assert equal.blocks["small_groups"].tables()[0].rows[0][-1] == "–"
        assert kept(equal)


# ---------------------------------------------------------------------- what was asked for


def test_other_gaps_alone_leave_the_cuts_as_context():
    y, score, group, _ = draw(7, n=900, levels=None, shift=1.2)
    result = es.audit(y, score, sensitive_features=group, constraints="bnsp")
    assert [gap.name for gap in result.gaps] == ["bnsp"]
    assert result.n_gaps == 1
    assert not result.block(CutsInUse).asked
    fair = es.RateConstraint("fpr", "fnr")
    asked = es.audit(y, score, sensitive_features=group, constraints=fair)
    assert result.cut_gaps == asked.gaps
    assert kept(result)


def test_the_cuts_of_a_constraint_are_those_in_use_unless_others_are_given():
    y, score, group, _ = draw(8, n=500, levels=None)
    own = es.Cuts(at=(0.2, 0.3), of="negatives")
    fair = es.RateConstraint("selection", "precision", cuts=own)
    result = es.audit(y, score, sensitive_features=group, constraints=["bnsp", fair])
    assert result.cuts == own
    assert len(result.cut_gaps) == 4
    rates = [curve.rate for curve in result.cut_curves.rates]
    assert rates == ["fpr", "fnr", "selection", "precision"]
    other = es.Cuts(between=(0.1, 0.2))
    result = es.audit(y, score, sensitive_features=group, constraints=fair, cuts=other)
    assert result.cuts == other
    assert len(result.gaps) == 4
    assert [gap.name for gap in result.cut_gaps] == ["fpr_gap", "fnr_gap"]
    assert all(other.texts()[0] in gap.kind for gap in result.cut_gaps)
    with pytest.raises(TypeError, match="Cuts"):
        es.audit(y, score, sensitive_features=group, cuts=(0.1, 0.4))


def test_roc_bands_and_certificates_are_made_only_if_asked_for():
    y, score, group, _ = draw(9, n=300, levels=None)
    result = es.audit(y, score, sensitive_features=group)
    assert result.roc_gaps == result.roc_certificates == ()
    assert len(result.roc_curves) == 3
    one = es.RocConstraint(on="negatives", rates=(0.3,))
    result = es.audit(y, score, sensitive_features=group, constraints=one)
    assert [curve.on for curve in result.roc_gaps] == ["negatives"]
    assert result.roc_gaps[0].marks[:, 0].tolist() == [0.3]
    assert {(c.on, c.confidence_level) for c in result.roc_certificates} == {("negatives", 0.95)}


def test_the_block_comes_first_and_has_one_plain_table():
    assert next(iter(BLOCKS)) == CutsInUse.name
    y, score, group, _ = draw(10, n=900, n_groups=3, levels=None)
    result = es.audit(y, score, sensitive_features=group)
    [table] = result.block(CutsInUse).tables()
    assert len(table.columns) == 7
    assert len(table.rows) == 5 * 3
    assert [row[1] for row in table.rows if row[1]] == ["5%", "16.2%", "27.5%", "38.7%", "50%"]
    fnr = result.thresholds.fnr
    low, high = 100 * fnr.low[0, 0], 100 * fnr.high[0, 0]
    assert table.rows[0][4] == f"{100 * fnr.value[0, 0]:.1f} ({low:.1f} to {high:.1f})"


# ---------------------------------------------------------------------- the certificate


def even_people(n, seed=0, groups=2):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, groups, n)
    return y, rng.normal(size=n) + y, group


def test_a_certificate_is_one_statement_about_all_rates_and_pairs():
    y, score, group = even_people(24_000)
    cuts = es.Cuts(between=(0.1, 0.4))
    asked = dict(sensitive_features=group, cuts=cuts, constraints=es.RateConstraint("fpr", "fnr"))
    result = es.audit(y, score, **asked)
    certificate = result.certificate
    assert certificate.certified
    assert (certificate.low, certificate.high) == (0.1, 0.4)
    assert max(abs(gap.value) for gap in result.cut_gaps) < certificate.reach <= 0.05
    assert result.findings[0].kind == "even"
    # Nothing smaller than its reach would have been certified, and anything above is.
    for tolerance, certified in ((0.999 * certificate.reach, False), (certificate.reach, True)):
        again = es.audit(y, score, **asked, tolerance=tolerance)
        assert again.certificate.certified == certified
    read = es.AuditResult.from_dict(json.loads(result.to_json()))
    assert read.certificate == certificate


def test_certificates_of_one_group_and_of_all_others():
    y, score, group = even_people(3_000, groups=3)

    def certificate(groups, **asked):
        return es.audit(y, score, sensitive_features=groups, **asked).certificate

    assert certificate(np.zeros(len(y))) is None
    others = certificate(group, reference_group=es.ALL_OTHERS)
    recoded = {str(k): np.where(group == k, str(k), es.ALL_OTHERS) for k in range(3)}
    assert others.reach == max(
        certificate(names, group_order=[es.ALL_OTHERS, k]).reach for k, names in recoded.items()
    )
    assert certificate(group, reference_group=0).reach <= certificate(group).reach


# ---------------------------------------------------------------------- what must not matter


def test_names_order_rows_and_weights():
    y, score, group, _ = draw(11, n=500, n_groups=3, levels=12)
    cuts = es.Cuts(between=(0.1, 0.5))

    def audit(y, score, group, **more):
        return es.audit(y, score, sensitive_features=group, cuts=cuts, **more)

    result = audit(y, score, group)
    order = np.random.default_rng(0).permutation(len(y))
    assert audit(y[order], score[order], group[order]).to_json() == result.to_json()
    turned = audit(y, score, group, group_order=[2, 1, 0])
    known = {gap.key: gap for gap in turned.cut_gaps}
    for gap in result.cut_gaps:
        twin = known[gap.key._replace(first=gap.second, second=gap.first)]
        assert twin.value == pytest.approx(-gap.value, abs=1e-12)
        assert twin.verdict == gap.verdict
        assert twin.high == pytest.approx(-gap.low, abs=1e-6)
    times = np.random.default_rng(1).integers(0, 4, len(y))
    repeated = audit(*(np.repeat(part, times) for part in (y, score, group)))
    weighted = audit(y, score, group, sample_weight=times)
    for one, two in zip(repeated.cut_gaps, weighted.cut_gaps, strict=True):
        assert one.value == pytest.approx(two.value, abs=1e-12)
    np.testing.assert_allclose(repeated.thresholds.fpr.value, weighted.thresholds.fpr.value)


# ---------------------------------------------------------------------- without outcomes


def test_without_outcomes_selection_is_audited_alone(tmp_path):
    y, score, group, weight = draw(12, n=900, n_groups=3, levels=30, weights="real", shift=0.7)
    asked = dict(sensitive_features=np.array(["<a>", "b", "c"])[group], sample_weight=weight)
    result = es.audit(None, score, **asked, words=LOAN)
    known = es.audit(y, score, **asked, constraints=es.RateConstraint("selection"), words=LOAN)
    assert not result.outcomes_known
    for one, two in zip(result.gaps, known.gaps, strict=True):
        assert one.key == two.key
        assert one.value == pytest.approx(two.value, abs=1e-12)
        assert one.high == pytest.approx(two.high, abs=0.01)  # other random numbers
        assert one.verdict == two.verdict
    told = " ".join(finding.text for finding in result.findings)
    for word in ("AUC", "repaid", "negatives", "positives", "nan"):
        assert word not in told
    rates = result.thresholds.selection_rate.value
    np.testing.assert_allclose(rates, known.thresholds.selection_rate.value)
    assert np.isnan(result.thresholds.fpr.value).all()
    assert np.isnan(result.sample.prevalence)
    without = {name for name, block in BLOCKS.items() if not block.needs_outcomes}
    assert set(result.blocks) == without >= {"cuts_in_use", "small_groups"}
    jsonschema.Draft202012Validator(audit_schema()).validate(json.loads(result.to_json()))
    assert kept(result)
    assert len(result.to_frame("pandas")) == len(result.gaps)
    page = result.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    for shown in (page, repr(result)):
        assert "outcomes unknown" in shown
    assert "AUC" not in result._repr_html_()
    with pytest.raises(ValueError, match="'ranking'"):
        result.auc  # noqa: B018
    with pytest.raises(ValueError, match="outcomes are known"):
        result.compare(result)


def test_tables_and_small_groups_without_outcomes():
    score, group = np.arange(400) % 37, np.arange(400) % 2
    plain = es.audit(None, score, sensitive_features=group)
    table = table_of(np.ones(400, dtype=int), score, group)
    assert es.audit_scores(table, outcomes_known=False).to_json() == plain.to_json()
    with pytest.raises(ValueError, match="at all"):
        es.audit_scores(table)
    with pytest.raises(ValueError, match="positives and negatives"):
        es.audit_scores(table_of(score % 2, score, group), outcomes_known=False)
    few = np.where(np.arange(400) < 390, group, 2)
    result = es.audit(None, score, sensitive_features=few)
    assert result.compared_groups == ("0", "1")
    assert [small.name for small in result.small_groups] == ["2"]
    with pytest.raises(ValueError, match="300"):
        es.audit(None, score, sensitive_features=few, min_group_size=300)
