"""The headline of an audit, what happens at the cuts in use, against loops over people."""

import json
import re

import jsonschema
import numpy as np
import pytest
from audit_schema import audit_schema
from hypothesis import given, settings
from hypothesis import strategies as st
from support.making import draw, every_family

import evenscore as es
from evenscore.auditing.blocks import BLOCKS, CutsInUse

CASES = {
    "two groups": dict(seed=1, n=150, levels=None),
    "three groups, weights": dict(seed=3, n=200, n_groups=3, levels=None, weights="real"),
    "ties": dict(seed=2, n=200, levels=6),
    "ties, weights": dict(seed=4, n=200, levels=8, weights="integer"),
}
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


def share(chosen, among, weight):
    """A weighted share by a loop; NaN of nobody."""
    part = sum(w for c, a, w in zip(chosen, among, weight, strict=True) if c and a)
    whole = sum(w for a, w in zip(among, weight, strict=True) if a)
    return part / whole if whole else np.nan


def naive_rates(y, chosen, here, weight):
    """The rates of one group."""
    return {
        "selection": share(chosen, here, weight),
        "fpr": share(chosen, here & (y == 0), weight),
        "fnr": share(~chosen, here & (y == 1), weight),
        "precision": share(y == 1, here & chosen, weight),
    }


def naive_cuts(score, weight, cuts):
    """Thresholds (one for each set of people selected) of a range of shares of everyone."""
    everyone = np.ones(len(score), dtype=bool)
    low, high = cuts.between
    found, below = [], []
    for threshold in np.unique(score):
        at = share(selects(cuts, score, threshold), everyone, weight)
        if at <= low + 1e-12:
            below.append((at, threshold))
        elif at <= high + 1e-12:
            found.append(threshold)
    return [*found, max(below)[1]] if below and max(below)[0] > 0 else found


@pytest.mark.parametrize(
    ("case", "selected", "inclusive"),
    [
        ("two groups", "high", False),
        ("three groups, weights", "low", False),
        ("ties", "high", True),
        ("ties, weights", "low", True),
    ],
)
def test_everything_against_loops_over_people(case, selected, inclusive):
    y, score, group, weight = draw(**CASES[case])
    cuts = es.Cuts(between=(0.15, 0.6), selected=selected, inclusive=inclusive)
    result = es.audit(y, score, sensitive_features=group, sample_weight=weight, cuts=cuts)
    weight = np.ones(len(y)) if weight is None else weight
    assert result.cuts == cuts == result.settings.cuts
    inside = naive_cuts(score, weight, cuts)
    by_cut = [
        {
            name: naive_rates(y, selects(cuts, score, t), group == int(name), weight)
            for name in result.groups
        }
        for t in inside
    ]
    assert {gap.name for gap in result.cut_gaps} == {"fpr_gap", "fnr_gap"}
    for gap in result.cut_gaps:
        rate = gap.name.removesuffix("_gap")
        sizes = [at[gap.first][rate] - at[gap.second][rate] for at in by_cut]
        assert abs(gap.value) == pytest.approx(max(map(abs, sizes)), abs=1e-9)
        # It is there that the rates differ as much as it says.
        chosen = selects(cuts, score, gap.threshold)
        for side, name in (("first_value", gap.first), ("second_value", gap.second)):
            expected = naive_rates(y, chosen, group == int(name), weight)[rate]
            assert getattr(gap, side) == pytest.approx(expected, abs=1e-9)
        everyone = share(chosen, np.ones(len(y), dtype=bool), weight)
        assert gap.selected_share == pytest.approx(everyone, abs=1e-9)
    assert 1 <= len(result.thresholds.thresholds) <= 5
    places = [(result.thresholds, t) for t in range(len(result.thresholds.thresholds))]
    places += [(result.explorer, t) for t in range(0, len(result.explorer.thresholds), 15)]
    for table, t in places:
        threshold = table.thresholds[t]
        chosen = selects(cuts, score, threshold)
        for k, name in enumerate(table.groups):
            expected = naive_rates(y, chosen, group == int(name), weight)
            for rate, shares in (
                ("selection", table.selection_rate),
                ("fpr", table.fpr),
                ("fnr", table.fnr),
                ("precision", table.precision),
            ):
                assert shares.value[t, k] == pytest.approx(expected[rate], abs=1e-9, nan_ok=True)
                if not np.isnan(expected[rate]):
                    assert shares.low[t, k] <= expected[rate] + 1e-9 <= shares.high[t, k] + 2e-9
    curves = result.cut_curves
    assert [curve.rate for curve in curves.rates] == ["fpr", "fnr"]
    for t in range(0, len(curves.thresholds), 9):
        chosen = selects(cuts, score, curves.thresholds[t])
        for curve in curves.rates:
            for k, name in enumerate(curves.groups):
                expected = naive_rates(y, chosen, group == int(name), weight)[curve.rate]
                assert curve.shares.value[t, k] == pytest.approx(expected, abs=1e-9)
                assert 0 <= curve.shares.low[t, k] <= expected + 1e-9
                assert expected <= curve.shares.high[t, k] + 1e-9
    assert np.all(np.diff(curves.selected_share) > 0)
    assert curves.selected_share[-1] <= 0.6 + 1e-9


@pytest.mark.parametrize("inclusive", [False, True])
def test_low_scores_are_the_high_ones_of_the_mirror_image(inclusive):
    y, score, group, weight = draw(5, n=600, n_groups=2, levels=20, weights="real", shift=0.8)
    names = np.array(["men", "women"])[group]

    def told(score, selected):
        cuts = es.Cuts(between=(0.1, 0.5), selected=selected, inclusive=inclusive)
        return es.audit(
            y,
            score,
            sensitive_features=names,
            sample_weight=weight,
            cuts=cuts,
            words=LOAN,
            cluster=np.arange(len(y)) // 2,
            constraints=es.RateConstraint("fpr", "fnr", "precision", cuts=cuts),
        )

    high, low = told(score, "high"), told(-score, "low")
    for one, two in zip(high.gaps, low.gaps, strict=True):
        for part in ("value", "low", "high", "p_value", "verdict", "selected_share"):
            assert getattr(one, part) == pytest.approx(getattr(two, part), abs=1e-9, nan_ok=True)
        assert one.threshold == pytest.approx(-two.threshold, nan_ok=True)
    np.testing.assert_allclose(high.thresholds.thresholds, -low.thresholds.thresholds)
    for name in ("selection_rate", "fpr", "fnr", "precision"):
        for part in ("value", "low", "high"):
            np.testing.assert_allclose(
                getattr(getattr(high.thresholds, name), part),
                getattr(getattr(low.thresholds, name), part),
            )
    first, second = (re.sub(r"\(a score .*?\)", "", r.findings[0].text) for r in (high, low))
    assert first == second
    assert "favours" in first


def test_the_first_finding_in_the_words_of_the_user():
    """A law whose rates are known: of those who repaid, 80 % of women and 60 % of men are high."""
    y = np.repeat([1, 0, 1, 0], 1000)
    group = np.repeat(["women", "women", "men", "men"], 1000)
    score = np.zeros(4000)
    score[:800] = 1.0
    score[2000:2600] = 1.0
    score[1000:1100] = score[3000:3100] = 1.0
    result = es.audit(
        y,
        score,
        sensitive_features=group,
        cuts=es.Cuts(thresholds=1.0, inclusive=True),
        words=LOAN,
        constraints=es.RateConstraint("fnr", cuts=es.Cuts(thresholds=1.0, inclusive=True)),
    )
    [gap] = result.gaps
    assert gap.value == pytest.approx(0.2)
    [first, *_] = result.findings
    assert first.kind == "gap"
    least = 100 * min(abs(end) for end in gap.ends("beyond"))
    for part in (
        "people who repaid", "40.0% of group men", "20.0% of group women", "of at least 1",
        "20 percentage points", f"at least {least:.1f}.", "group women over group men",
    ):  # fmt: skip
        assert part in first.text
    assert 15.0 < least < 20.0


def test_a_score_too_coarse_for_the_range_says_so():
    y, _, group, _ = draw(6, n=400)
    score = (np.arange(len(y)) % 10 == 0).astype(float)
    result = es.audit(y, score, sensitive_features=group, cuts=es.Cuts(between=(0.2, 0.5)))
    assert result.findings[0].kind == "unclear"
    assert "20% to 50%" in result.findings[0].text
    assert "nearest select 10" in result.findings[0].text
    assert all(np.isnan(gap.value) for gap in result.cut_gaps)
    assert {gap.verdict for gap in result.cut_gaps} == {"undefined"}
    assert result.thresholds.labels == ("the nearest cut",)
    assert len(result.cut_curves.thresholds) == 0
    assert es.AuditResult.from_dict(json.loads(result.to_json())).to_json() == result.to_json()


@pytest.mark.parametrize(("selected", "inclusive"), [("high", False), ("low", True)])
def test_shares_without_a_cut_have_no_row(selected, inclusive):
    """Three quarters share the extreme score: the cut at a tenth would select nobody."""
    y, _, group, _ = draw(6, n=400)
    extreme = 1.0 if selected == "high" else -1.0
    score = extreme * (np.arange(len(y)) % 4 > 0)
    more = {"selected": selected, "inclusive": inclusive}
    result = es.audit(y, score, sensitive_features=group, cuts=es.Cuts(at=(0.1, 0.8), **more))
    assert result.thresholds.labels == ("selects at most 80% of everyone",)
    assert result.thresholds.selected_share == pytest.approx(0.75)
    told = [finding.text for finding in result.findings]
    [nothing] = [text for text in told if "nothing can be said" in text]
    assert "10%" in nothing
    assert "75%" in nothing
    for cuts, labels in (
        (es.Cuts(at=0.1, **more), None),
        (es.Cuts(between=(0.1, 0.8), **more), y),
    ):
        equal = es.audit(labels, np.ones(len(y)), sensitive_features=group, cuts=cuts)
        assert len(equal.thresholds.thresholds) == 0
        assert equal.block(CutsInUse).tables() == ()
        assert not any("times as often" in finding.text for finding in equal.findings)
        stored = json.loads(equal.to_json())
        assert es.AuditResult.from_dict(stored).to_json() == equal.to_json()


def test_small_groups_where_there_is_no_cut():
    y, group = np.tile([0, 0, 1, 1], 100), np.array(["a", "b"] * 198 + ["few"] * 4)
    result = es.audit(y, np.ones(400), sensitive_features=group, cuts=es.Cuts(at=0.1))
    [table] = result.blocks["small_groups"].tables()
    assert table.columns[-1] == "selected at no cut (95%)"
    assert table.rows[0][-1] == "–"


def test_other_gaps_alone_leave_the_cuts_as_context(tmp_path):
    y, score, group, _ = draw(7, n=900, levels=None, shift=1.2)
    result = es.audit(y, score, sensitive_features=group, constraints="bnsp")
    assert [gap.name for gap in result.gaps] == ["bnsp"]
    assert result.n_gaps == 1
    block = result.block(CutsInUse)
    assert not block.asked
    assert [gap.name for gap in result.cut_gaps] == ["fpr_gap", "fnr_gap"]
    asked = es.audit(
        y, score, sensitive_features=group, constraints=es.RateConstraint("fpr", "fnr")
    )
    assert result.cut_gaps == asked.gaps
    read = es.AuditResult.from_dict(json.loads(result.to_json()))
    assert read.cut_gaps == result.cut_gaps
    assert result.to_html(tmp_path / "report.html").exists()


def test_the_cuts_of_a_constraint_are_those_in_use_unless_others_are_given():
    y, score, group, _ = draw(8, n=500, levels=None)
    own = es.Cuts(at=(0.2, 0.3), of="negatives")
    fair = es.RateConstraint("selection", "precision", cuts=own)
    result = es.audit(y, score, sensitive_features=group, constraints=["bnsp", fair])
    assert result.cuts == own
    assert len(result.cut_gaps) == 4
    assert [curve.rate for curve in result.cut_curves.rates] == [
        "fpr", "fnr", "selection", "precision",
    ]  # fmt: skip
    assert len(result.thresholds.thresholds) == 2
    other = es.Cuts(between=(0.1, 0.2))
    result = es.audit(y, score, sensitive_features=group, constraints=fair, cuts=other)
    assert result.cuts == other
    assert len(result.gaps) == 4
    assert [gap.kind for gap in result.cut_gaps] == [
        f"{rate}_gap {other.texts()[0]}" for rate in ("fpr", "fnr")
    ]
    with pytest.raises(TypeError, match="cuts must be a Cuts"):
        es.audit(y, score, sensitive_features=group, cuts=(0.1, 0.4))


def test_roc_bands_and_certificates_are_made_only_if_asked_for(monkeypatch):
    from evenscore.auditing.blocks import certificates, curves

    def refuse(*_, **__):
        raise AssertionError("nobody asked for it")

    monkeypatch.setattr(certificates, "certify", refuse)
    monkeypatch.setattr(curves, "roc_band", refuse)
    y, score, group, _ = draw(9, n=300, levels=None)
    result = es.audit(y, score, sensitive_features=group)
    assert result.roc_gaps == result.roc_certificates == ()
    assert len(result.roc_curves) == 3
    with pytest.raises(AssertionError, match="nobody asked"):
        es.audit(y, score, sensitive_features=group, constraints=every_family())
    monkeypatch.undo()
    one = es.RocConstraint(on="negatives", rates=(0.3,))
    result = es.audit(y, score, sensitive_features=group, constraints=one)
    assert [curve.on for curve in result.roc_gaps] == ["negatives"]
    assert result.roc_gaps[0].marks[:, 0].tolist() == [0.3]
    assert {(c.on, c.confidence_level) for c in result.roc_certificates} == {("negatives", 0.95)}
    assert not any("both classes" in finding.text for finding in result.findings)


def test_the_block_comes_first_and_has_one_plain_table():
    assert next(iter(BLOCKS)) == CutsInUse.name
    y, score, group, _ = draw(10, n=900, n_groups=3, levels=None)
    result = es.audit(y, score, sensitive_features=group)
    [table] = result.block(CutsInUse).tables()
    assert table.columns == (
        "cut", "of everyone", "group", "Selected", "Not selected among positives",
        "Selected among negatives", "Positives among those selected",
    )  # fmt: skip
    assert len(table.rows) == 5 * 3
    assert [row[1] for row in table.rows if row[1]] == ["5%", "16.2%", "27.5%", "38.7%", "50%"]
    value = result.thresholds.fnr
    cell = "{:.1f} ({:.1f} to {:.1f})".format(
        *(100 * part[0, 0] for part in (value.value, value.low, value.high))
    )
    assert table.rows[0][4] == cell


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


def test_certificates_of_one_group_of_all_others_and_of_an_empty_cell():
    y, score, group = even_people(3_000, groups=3)
    alone = es.audit(y, score, sensitive_features=np.zeros(len(y)))
    assert alone.certificate is None
    others = es.audit(y, score, sensitive_features=group, reference_group=es.ALL_OTHERS)
    worst = max(
        es.audit(
            y,
            score,
            sensitive_features=np.where(group == k, str(k), es.ALL_OTHERS),
            group_order=[es.ALL_OTHERS, str(k)],
        ).certificate.reach
        for k in range(3)
    )
    assert others.certificate.reach == worst
    one = es.audit(y, score, sensitive_features=group, reference_group=0)
    assert one.certificate.reach <= es.audit(y, score, sensitive_features=group).certificate.reach
    y, score, group = even_people(60)
    empty = es.audit(np.where(group == 1, 0, y), score, sensitive_features=group)
    assert not empty.certificate.certified
    assert not re.search(r"\b(nan|inf)\b", str(empty))


# ---------------------------------------------------------------------- what must not matter


def test_names_order_rows_and_weights():
    y, score, group, _ = draw(11, n=500, n_groups=3, levels=12)
    asked = dict(cuts=es.Cuts(between=(0.1, 0.5)), constraints=es.RateConstraint("fpr", "fnr"))
    result = es.audit(y, score, sensitive_features=group, **asked)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = es.audit(y[order], score[order], sensitive_features=group[order], **asked)
    assert shuffled.to_json() == result.to_json()
    turned = es.audit(y, score, sensitive_features=group, group_order=[2, 1, 0], **asked)
    known = {gap.key: gap for gap in turned.cut_gaps}
    for gap in result.cut_gaps:
        twin = known[gap.key._replace(first=gap.second, second=gap.first)]
        assert twin.value == pytest.approx(-gap.value, abs=1e-12)
        assert twin.verdict == gap.verdict
        assert twin.high == pytest.approx(-gap.low, abs=1e-6)
    times = np.random.default_rng(1).integers(0, 4, len(y))
    repeated = es.audit(
        np.repeat(y, times), np.repeat(score, times), sensitive_features=np.repeat(group, times),
        **asked,
    )  # fmt: skip
    weighted = es.audit(y, score, sensitive_features=group, sample_weight=times, **asked)
    for one, two in zip(repeated.cut_gaps, weighted.cut_gaps, strict=True):
        assert one.value == pytest.approx(two.value, abs=1e-12)
    np.testing.assert_allclose(repeated.thresholds.fpr.value, weighted.thresholds.fpr.value)


# ---------------------------------------------------------------------- without outcomes


def test_without_outcomes_selection_is_audited_alone(tmp_path):
    y, score, group, weight = draw(12, n=900, n_groups=3, levels=30, weights="real", shift=0.7)
    names = np.array(["<a>", "b", "c"])[group]
    asked = dict(sensitive_features=names, sample_weight=weight)
    result = es.audit(None, score, **asked, words=LOAN)
    known = es.audit(y, score, **asked, constraints=es.RateConstraint("selection"), words=LOAN)
    assert not result.outcomes_known
    for one, two in zip(result.gaps, known.gaps, strict=True):
        assert one.key == two.key
        assert one.value == pytest.approx(two.value, abs=1e-12)
        assert one.high == pytest.approx(two.high, abs=0.01)  # other random numbers
        assert one.verdict == two.verdict
    assert result.findings[0].text.startswith(known.findings[0].text.split(":")[0])
    told = " ".join(finding.text for finding in result.findings)
    for word in ("AUC", "repaid", "negatives", "positives", "nan"):
        assert word not in told
    np.testing.assert_allclose(
        result.thresholds.selection_rate.value, known.thresholds.selection_rate.value
    )
    assert np.isnan(result.thresholds.fpr.value).all()
    assert np.isnan(result.sample.prevalence)
    without = {name for name, block in BLOCKS.items() if not block.needs_outcomes}
    assert set(result.blocks) == without >= {"cuts_in_use", "small_groups"}
    assert result.block(CutsInUse).tables()[0].columns == (
        "cut",
        "of everyone",
        "group",
        "Granted a loan",
    )
    jsonschema.Draft202012Validator(audit_schema()).validate(json.loads(result.to_json()))
    read = es.AuditResult.from_dict(json.loads(result.to_json()))
    assert read.to_json() == result.to_json()
    assert not read.outcomes_known
    assert "outcomes unknown" in repr(result)
    assert len(result.to_frame("pandas")) == len(result.gaps)
    page = result.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "outcomes unknown" in page
    assert "&lt;a&gt;" in page
    assert "AUC" not in result._repr_html_()
    with pytest.raises(ValueError, match="'ranking'"):
        result.auc  # noqa: B018
    with pytest.raises(ValueError, match="outcomes are known"):
        result.compare(result)


def test_tables_without_outcomes():
    score, group = np.arange(400) % 37, np.arange(400) % 2
    plain = es.audit(None, score, sensitive_features=group)
    for y in (np.zeros(400, dtype=int), np.ones(400, dtype=int)):
        table = es.GroupedScores.from_arrays(y, score, sensitive_features=group)
        assert es.audit_scores(table, outcomes_known=False).to_json() == plain.to_json()
        with pytest.raises(ValueError, match="at all"):
            es.audit_scores(table)
    both = es.GroupedScores.from_arrays(score % 2, score, sensitive_features=group)
    with pytest.raises(ValueError, match="has positives and negatives"):
        es.audit_scores(both, outcomes_known=False)


def test_small_groups_without_outcomes():
    score, group = np.arange(400.0), np.where(np.arange(400) < 390, np.arange(400) % 2, 2)
    result = es.audit(None, score, sensitive_features=group)
    assert result.compared_groups == ("0", "1")
    [small] = result.small_groups
    assert small.name == "2"
    assert "2 (10 people)" in result.warnings[0]
    with pytest.raises(ValueError, match="minimum of 300"):
        es.audit(None, score, sensitive_features=group, min_group_size=300)


PERSON = st.tuples(
    st.sampled_from([0.0, -1.5, 2.0, 1e12, 1e-12]),
    st.sampled_from(["a", "b", "{group}"]),
    st.sampled_from([0.0, 1.0, 2.5]),
)


@settings(max_examples=15)
@given(
    st.lists(PERSON, max_size=30),
    st.sampled_from([None, es.Cuts(thresholds=(1.0, -1.5), selected="low", inclusive=True)]),
)
def test_anybody_without_outcomes_gives_a_valid_audit_or_one_sentence(people, cuts):
    score, group, weight = ([person[k] for person in people] for k in range(3))
    try:
        result = es.audit(None, score, sensitive_features=group, sample_weight=weight, cuts=cuts)
    except ValueError as error:
        assert "nobody to audit" in str(error)  # noqa: PT017
        return
    jsonschema.Draft202012Validator(audit_schema()).validate(json.loads(result.to_json()))
    assert es.AuditResult.from_dict(result.to_dict()).to_json() == result.to_json()
    assert not re.search(r"\bnan\b", str(result))
    for gap in result.gaps:
        assert not np.isnan(gap.low) or gap.warnings


def test_shares_of_people_are_called_so():
    """Refused among people who repaid; but shares of people who repaid, where these are counted."""
    rng = np.random.default_rng(0)
    y, group = rng.random(400) < 0.4, rng.choice(["a", "b"], 400)
    cuts = es.Cuts(at=(0.3,))
    words = es.Words(positives="people who repaid", selected="granted a loan")
    for rate, said in (
        ("precision", "of people who repaid among those"),
        ("fnr", "among people who repaid"),
    ):
        fair = es.RateConstraint(rate, cuts=cuts)
        score = rng.normal(size=400) + y
        result = es.audit(
            y, score, sensitive_features=group, cuts=cuts, constraints=fair, words=words
        )
        assert any(said in finding.text for finding in result.findings)
