"""One rule for all verdicts: false ones are rare, and nothing in a row contradicts the rest."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student_t
from support.making import draw, often, table_of

import evenscore as es
from evenscore.gaps import EstimateSettings, as_constraints
from evenscore.gaps.family import family_estimates, family_intervals
from evenscore.inference.decisions import adjust, decide, holm_steps, scaled
from evenscore.inference.estimate import Estimate
from evenscore.inference.paired import Paired, size_changes

FAMILIES = as_constraints([*es.constraint_names(), es.RocConstraint(rates=(0.125, 0.25))])


def gap_of(value, half=0.1, **more):
    ends = value - half, value + half
    return Estimate("gap", value, *ends, 0.95, "z", standard_error=half / 1.96, **more)


def table(seed, n=300, n_groups=2, levels=None, weighted=False, shift=0.5):
    weights = "real" if weighted else None
    return table_of(*draw(seed, n, n_groups, levels, weights, shift=shift))


def verdicts(scores, tolerance, level=0.95):
    estimates = family_estimates(scores, FAMILIES, EstimateSettings(level))
    intervals = family_intervals(scores, FAMILIES, EstimateSettings(level))
    return decide(estimates, tolerance, level, intervals=intervals)


def test_holm_in_steps_by_hand():
    p = np.array([0.001, 0.2, 0.012, 0.02])
    steps = holm_steps(p, 4, 0.05)
    assert steps.adjusted == pytest.approx([0.004, 0.2, 0.036, 0.04])
    assert steps.level == pytest.approx([0.05 / 4, 0.05, 0.05 / 3, 0.05 / 2])
    more = holm_steps(p, 40, 0.05)  # the others count as if their p-value were one
    assert more.adjusted == pytest.approx([0.04, 1.0, 0.468, 0.76])
    assert more.level == pytest.approx([0.05 / 40, *[0.05 / 39] * 3])


def test_one_gap_alone():
    for low, high, expected in (
        (0.06, 0.2, "beyond"),
        (-0.2, -0.06, "beyond"),
        (-0.05, 0.05, "within"),
        (0.04, 0.06, "unclear"),
        (-0.2, 0.01, "unclear"),
        (-0.2, 0.2, "unclear"),
        (math.nan, math.nan, "undefined"),
    ):
        gap = Estimate("gap", (low + high) / 2.0, low, high, 0.95, "t")
        [decided] = decide([gap], 0.05, 0.95)
        assert decided.verdict == expected
        assert decided.ends("beyond") == pytest.approx((low, high), abs=1e-5, nan_ok=True)
        assert gap.lies_beyond(0.05) == (expected == "beyond")
        assert gap.lies_within(0.05) == (expected == "within")


def test_one_gap_counts_by_its_interval_and_many_by_holm():
    def found(*gaps, total):
        return [gap.verdict for gap in decide(gaps, 0.05, 0.95, total=total)]

    assert found(gap_of(0.151), total=1) == ["beyond"]
    assert found(gap_of(0.149), total=1) == ["unclear"]
    nothing = replace(gap_of(0.9), low=math.nan)
    three = gap_of(0.155), gap_of(-0.4), nothing
    assert found(*three, total=3) == ["unclear", "beyond", "undefined"]
    [certain] = decide([replace(gap_of(0.2), low=0.2, high=0.2)], 0.05, 0.95)
    assert certain.beyond_test.p_value == pytest.approx(0.0, abs=1e-30)
    [few] = decide([gap_of(0.151, degrees_of_freedom=3.0)], 0.05, 0.95)
    expected = 2 * student_t.sf(student_t.isf(0.025, 3) * 1.01, 3)
    assert few.beyond_test.p_value == pytest.approx(expected, rel=1e-2)


def test_within_is_one_statement_of_all_or_holm_s_of_each():
    z = norm.isf(0.05)
    just = gap_of(0.0, half=1.96 * 0.05 / z * 0.999)  # the 90 % interval ends within 0.05
    all_within = decide([just] * 12, 0.05, 0.95)
    assert {gap.verdict for gap in all_within} == {"within"}
    assert {round(gap.within_test.level, 12) for gap in all_within} == {0.9}
    one_is_not = decide([*[just] * 11, gap_of(0.05)], 0.05, 0.95)
    assert {gap.verdict for gap in one_is_not} == {"unclear"}
    small = gap_of(0.0, half=0.03)
    single = decide([*[small] * 11, gap_of(0.05)], 0.05, 0.95)
    assert [gap.verdict for gap in single] == ["within"] * 11 + ["unclear"]
    # Of gaps that are not here nothing is known: all cannot be within.
    assert {gap.verdict for gap in decide([just] * 12, 0.05, 0.95, total=13)} == {"unclear"}


def test_one_tolerance_per_gap():
    gaps = decide([gap_of(0.2), gap_of(0.2)], [0.05, 0.4], 0.95)
    assert [gap.verdict for gap in gaps] == ["beyond", "within"]


def check_rows(gaps, tolerance, level):
    """Verdict, interval and p-value of every row agree, and what is told of one is told of all."""
    alpha = 1.0 - level
    for gap in gaps:
        if gap.verdict == "undefined":
            assert gap.beyond_test is None or gap.within_test is None
            continue
        beyond, within = gap.beyond_test, gap.within_test
        lies_beyond = beyond.low > tolerance or beyond.high < -tolerance
        lies_within = within.low >= -tolerance and within.high <= tolerance
        assert (gap.verdict == "beyond") == lies_beyond == (beyond.p_value <= alpha)
        assert (gap.verdict == "within") == lies_within == (within.p_value <= alpha)
        assert (gap.p_value <= alpha) == gap.differs_from_zero or math.isnan(gap.p_value)
        assert gap.verdict != "beyond" or gap.lies_beyond(tolerance)
        # Nested: the interval over all gaps holds the gap's own.
        assert beyond.low <= gap.low + 1e-9
        assert gap.high - 1e-9 <= beyond.high
        assert beyond.level >= level - 1e-12
        assert within.level >= 1.0 - 2.0 * alpha - 1e-12


@pytest.mark.slow
@settings(max_examples=often(8))
@given(
    st.integers(0, 10_000),
    st.integers(2, 3),
    st.sampled_from([None, 4]),
    st.booleans(),
    st.sampled_from([0.002, 0.05, 0.15]),
    st.sampled_from([0.8, 0.95]),
)
def test_verdict_interval_and_p_value_agree(seed, n_groups, levels, weighted, tolerance, level):
    rng = np.random.default_rng(seed)
    scores = table(
        seed, int(rng.integers(30, 400)), n_groups, levels, weighted, shift=rng.uniform(0, 1.5)
    )
    check_rows(verdicts(scores, tolerance, level), tolerance, level)


@settings(max_examples=often(60))
@given(
    st.lists(
        st.tuples(st.floats(-0.3, 0.3), st.floats(0.0, 0.2), st.floats(0.0, 0.2), st.floats(1, 50)),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from([0.0, 0.05, 0.1]),
    st.integers(0, 20),
)
def test_any_intervals_agree(drawn, tolerance, left_out):
    gaps = [
        Estimate("gap", v, v - a, v + b, 0.95, "t", degrees_of_freedom=f, p_value=math.nan)
        for v, a, b, f in drawn
    ]
    check_rows(decide(gaps, tolerance, 0.95, total=len(gaps) + left_out), tolerance, 0.95)


@pytest.mark.parametrize(("gaps", "correlation"), [(1, 0.0), (12, 0.6), (12, 0.0)])
def test_few_audits_call_a_gap_at_the_boundary_beyond_or_within(gaps, correlation):
    """All true gaps are at the tolerance: the hardest case for both."""
    rng, samples = np.random.default_rng(gaps), often(200)
    beyond = within = 0
    for _ in range(samples):
        noise = math.sqrt(1.0 - correlation) * rng.normal(size=gaps)
        noise += math.sqrt(correlation) * rng.normal()
        found = decide([gap_of(0.05 + 0.01 * v, 1.96 * 0.01) for v in noise], 0.05, 0.95)
        beyond += any(gap.verdict == "beyond" for gap in found)
        within += any(gap.verdict == "within" for gap in found)
    error = 2.0 * math.sqrt(0.05 * 0.95 / samples)
    assert beyond / samples <= 0.05 + error
    assert within / samples <= 0.05 + error
    if gaps == 1:
        assert within / samples >= 0.05 - error  # a single test is exact


@pytest.mark.parametrize(("at", "correlation"), [(1, 0.0), (2, -0.9), (6, 0.9)])
def test_few_audits_call_all_gaps_within_if_some_are_not(at, correlation):
    """Most gaps are zero for certain: what is left is one statement about those at the boundary."""
    rng, samples = np.random.default_rng(at), often(250)
    wrong = whole = 0
    for _ in range(samples):
        common = math.sqrt(abs(correlation)) * rng.normal()
        noise = math.sqrt(1.0 - abs(correlation)) * rng.normal(size=at) + common
        signs = np.where(np.arange(at) % 2, np.sign(correlation) or 1.0, 1.0)
        gaps = [gap_of(0.05 + 0.01 * v * s, 1.96 * 0.01) for v, s in zip(noise, signs, strict=True)]
        found = decide([*gaps, *[gap_of(0.0, 0.01)] * (12 - at)], 0.05, 0.95)
        wrong += any(gap.verdict == "within" for gap in found[:at])
        whole += all(gap.verdict == "within" for gap in found)
        assert all(gap.verdict == "within" for gap in found[at:])
    error = 2.0 * math.sqrt(0.05 * 0.95 / samples)
    assert wrong / samples <= 0.05 + error
    assert whole / samples <= 0.05 + error
    if at == 1:
        assert whole / samples >= 0.05 - error


def test_adjusted_p_values_are_holm_s():
    p = np.array([0.03, 0.001, np.nan, 0.02])
    assert adjust(p) == pytest.approx([0.04, 0.003, np.nan, 0.04], nan_ok=True)


def test_changes_agree_with_their_intervals_and_are_corrected():
    rng = np.random.default_rng(3)
    wrong = 0
    runs = often(120)
    for _ in range(runs):
        noise = 0.01 * rng.normal(size=(13, 2))
        pairs = [
            Paired(gap_of(float(d), 0.0196), gap_of(0.3 + float(t), 0.0196)) for d, t in noise[1:]
        ]
        auc, gaps = size_changes(gap_of(float(noise[0, 0]), 0.0196), pairs, 0.95)
        for test in (auc, *gaps):
            assert (test.p_value <= 0.05) == (test.low > 0.0 or test.high < 0.0)
        wrong += any(test.p_value <= 0.05 for test in (auc, *gaps))
    assert wrong / runs <= 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / runs)
    nothing = replace(gap_of(0.3), low=math.nan, high=math.nan)
    half_known = [Paired(gap_of(0.1), nothing), Paired(nothing, gap_of(0.1))]
    assert size_changes(gap_of(0.1), half_known, 0.95)[1] == [None, None]


def test_scaled_intervals_are_the_estimates_own_at_their_level():
    gaps = [gap_of(0.1, degrees_of_freedom=5.0), replace(gap_of(0.2), low=0.15, high=0.6)]
    low, high = scaled(gaps)(np.full(2, norm.isf(0.025)))
    assert low == pytest.approx([gap.low for gap in gaps])
    assert high == pytest.approx([gap.high for gap in gaps])


def test_all_places_count_the_same(tmp_path):
    """Findings, table, frame, JSON and page go by one list of verdicts."""
    y, score, group, _ = draw(9, n=1500, levels=None, shift=0.8)
    result = es.audit(y, score, sensitive_features=group, tolerance=0.08)
    counts = Counter(gap.verdict for gap in result.gaps)
    assert counts["beyond"] == len(result.beyond) > 0
    frame = result.to_frame("pandas")
    assert (frame["verdict"] == "beyond").sum() == counts["beyond"]
    assert (frame["beyond_p_value"] <= 0.05).sum() == counts["beyond"]
    assert (frame["within_p_value"] <= 0.05).sum() == counts["within"]
    assert any(finding.kind == "gap" for finding in result.findings)
    read = es.AuditResult.from_dict(result.to_dict())
    assert [gap.beyond_test for gap in read.gaps] == [gap.beyond_test for gap in result.gaps]
    result.to_html(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    for verdict in ("beyond", "within"):
        assert f"{verdict} the tolerance</dt><dd>{counts[verdict]}</dd>" in text
