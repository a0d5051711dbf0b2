"""What findings say of results made by hand: who, how much, at which cut, with which verdict."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from support.making import draw

import evenscore as es
from evenscore.auditing.blocks import Certificates, Curves, CutsInUse, Ranking
from evenscore.auditing.findings import findings_of
from evenscore.inference.certificates import Certificate
from evenscore.inference.estimate import GapTest

NAMES = np.array(["men", "women", "others"])
WORDS = es.Words(
    positives="payers", negatives="defaulters", selected="granted a loan", selected_is="good"
)
CUTS = es.Cuts(at=(0.2,))
ASKED = [
    es.RateConstraint("fpr", "fnr", cuts=CUTS),
    *("bnsp", "inter_group", "intra_group", "bpsn", "pair_error"),
    es.RocConstraint(on="negatives", rates=(0.25,)),
]


@pytest.fixture(scope="module")
def three():
    """Three groups, of which the first two are the main ones."""
    y, score, group, _ = draw(3, n=300, n_groups=3)
    result = es.audit(y, score, sensitive_features=NAMES[group], constraints=ASKED, words=WORDS)
    sample = replace(result.sample, main_groups=("men", "women"))
    return replace(result, sample=sample)


@pytest.fixture(scope="module")
def two():
    y, score, group, _ = draw(4, n=200)
    return es.audit(y, score, sensitive_features=NAMES[group], constraints=ASKED, words=WORDS)


def decided(gap, value, verdict="within", half=0.02):
    """The gap with another value, known up to 2 points, or 3 in tests among many."""
    wide = GapTest(0.01, value - 1.5 * half, value + 1.5 * half, 0.95)
    return replace(
        gap, value=value, low=value - half, high=value + half, verdict=verdict,
        degrees_of_freedom=math.inf, beyond_test=wide, within_test=wide, warnings=(),
        words=f"<{gap.name} {gap.first}/{gap.second}>",
    )  # fmt: skip


def made(result, changes=None, value=0.001, verdict="within"):
    """The result with all gaps alike but some: by name and pair, or name alone, their verdict."""
    changes = changes or {}

    def one(gap):
        known = changes.get((gap.name, gap.first, gap.second), changes.get(gap.name))
        return decided(gap, *(known or (value, verdict)))

    return replace(result, gaps=tuple(map(one, result.gaps)))


def with_block(result, kind, **changes):
    block = replace(result.block(kind), **changes)
    return replace(result, blocks={**result.blocks, kind.name: block})


def uncertified(result):
    certificate = replace(result.certificate, certified=False, lacking="evenness")
    return with_block(result, CutsInUse, certificate=certificate)


def told(result, about=None, higher=None):
    """Kinds and texts of the findings, those about the cuts or all others."""
    found = findings_of(result, higher or {})
    return [(f.kind, f.text) for f in found if about is None or f.about == about]


def holds(texts, *parts):
    """The one text that holds all of these."""
    [found] = [text for _, text in texts if all(part in text for part in parts)]
    return found


# ---------------------------------------------------------------------- their order


def test_the_cuts_come_first_then_gaps_then_the_rest(three):
    result = uncertified(
        made(three, {"fpr_gap": (0.2, "beyond"), "bnsp": (0.3, "beyond"), "bpsn": (0.1, "unclear")})
    )
    found = findings_of(result, {})
    places = [finding.about == "cuts" for finding in found]
    assert places == sorted(places, reverse=True)
    assert [f.kind for f in found if f.about == "cuts"] == ["gap", "context"]
    kinds = [finding.kind for finding in found if finding.about != "cuts"]
    assert kinds[0] == "gap"
    assert "gap" not in kinds[kinds.count("gap") :]
    assert {"unclear", "even", "context"} <= {*kinds}


def test_one_group_equal_scores_and_no_outcomes(three):
    alone = replace(three, sample=replace(three.sample, compared_groups=("men",)))
    (kind, text), (other, ranking) = told(alone)
    assert (kind, other) == ("unclear", "context")
    assert "men" in text
    assert f"{three.auc.value:.3f} ({three.auc.confidence_level:.0%}" in ranking
    equal = replace(three, sample=replace(three.sample, distinct_scores=1))
    assert [kind for kind, _ in told(equal)] == ["unclear", "context"]
    assert "equal" in told(equal)[0][1]
    unknown = replace(made(three), sample=replace(three.sample, outcomes_known=False))
    texts = told(unknown, "")
    assert texts[0][0] == "unclear"
    assert "outcomes" in texts[0][1]
    assert not any("AUC" in text for _, text in texts)
    assert holds(texts, "main groups")


# ---------------------------------------------------------------------- at the cuts in use


def test_a_gap_beyond_at_the_cuts_is_that_of_main_groups_with_its_least_size(three):
    result = made(
        three,
        {
            ("fpr_gap", "men", "women"): (-0.2, "beyond"),
            ("fpr_gap", "men", "others"): (0.4, "beyond"),
            ("fnr_gap", "others", "women"): (0.3, "beyond"),
        },
    )
    [(kind, first), (_, second)] = told(uncertified(result), "cuts")
    assert kind == "gap"
    assert first.startswith("<fpr_gap men/women>")
    assert "20 percentage points" in first
    assert f"all {result.n_gaps:,} gaps" in first
    assert "at least 17." in first  # the end nearest to zero, among all gaps
    assert "tolerance is 5." in first
    assert second.startswith("<fnr_gap others/women>")
    context = with_block(result, CutsInUse, asked=False, gaps=result.cut_gaps)
    assert "all gaps at these cuts" in told(uncertified(context), "cuts")[0][1]
    single = replace(result, gaps=result.gaps[:1], corrected_for=1)
    assert "allowing" not in told(uncertified(single), "cuts")[0][1]


@pytest.mark.parametrize("selected", ["high", "low"])
def test_whom_a_gap_at_the_cuts_favours(three, selected):
    result = uncertified(made(three, {("fpr_gap", "men", "women"): (0.2, "beyond")}))
    settings = replace(result.settings, cuts=es.Cuts(at=(0.2,), selected=selected))
    key = next(gap.key for gap in result.gaps if gap.verdict == "beyond")
    text = told(replace(result, settings=settings), "cuts", {key: ("women", "men")})[0][1]
    order = ["women", "men"] if selected == "high" else ["men", "women"]
    assert re.findall(r"group (\w+)", text.split("favours")[1]) == order


def test_what_cannot_be_told_at_the_cuts(three):
    result = uncertified(
        made(three, {"fpr_gap": (0.04, "unclear"), ("fpr_gap", "men", "others"): (0.0, "within")})
    )
    (kind, text), (other, even) = told(result, "cuts")
    assert (kind, other) == ("unclear", "context")  # even at one rate of two alone
    assert "granted a loan among defaulters" in text
    assert "payers" not in text
    assert "more than 5 percentage points" in text
    assert "4 percentage points" in text
    assert "<fpr_gap men/women>" in text
    assert "at most 7." in text  # the far end, among all gaps
    assert "payers" in even
    assert "at the cut that selects" not in even
    assert "20%" in even
    needs = replace(
        result.certificate, lacking="data", needed=1234, smallest=("positives of women", 99)
    )
    lacking = told(with_block(result, CutsInUse, certificate=needs), "cuts")[0][1]
    assert "1,234 payers in group women" in lacking
    assert lacking.endswith("99.")
    for none in (None, replace(needs, needed=0), replace(needs, lacking="evenness")):
        assert "1,234" not in told(with_block(result, CutsInUse, certificate=none), "cuts")[0][1]


def test_what_is_even_at_the_cuts(three):
    result = made(three, {("fnr_gap", "men", "women"): (-0.03, "within")})
    [(kind, text)] = told(uncertified(result), "cuts")
    assert kind == "even"
    assert "at most 5 percentage points" in text
    assert "between all groups" in text
    assert "95%" in text
    assert "3 percentage points" in text
    assert "<fnr_gap men/women>" in text
    settings = replace(result.settings, reference_group="men")
    [(_, against)] = told(replace(uncertified(result), settings=settings), "cuts")
    assert "men and every other" in against
    settings = replace(result.settings, reference_group=es.ALL_OTHERS)
    [(_, others)] = told(replace(uncertified(result), settings=settings), "cuts")
    assert "all others together" in others


def test_a_certificate_is_one_statement_about_all_gaps_at_the_cuts(three):
    unclear = made(three, {"fpr_gap": (0.04, "unclear"), "fnr_gap": (0.04, "unclear")})
    certificate = replace(three.certificate, certified=True, lacking="")
    certified = with_block(unclear, CutsInUse, certificate=certificate)
    [(kind, text)] = told(certified, "cuts")
    assert kind == "even"
    assert "4 percentage points" in text
    assert not any("Cannot tell for" in text for _, text in told(certified))
    assert "Cannot tell for 6 of" in holds(told(uncertified(unclear)), "Cannot tell for")
    beyond = made(three, {"fpr_gap": (0.04, "unclear"), "fnr_gap": (0.2, "beyond")})
    kinds = [k for k, _ in told(with_block(beyond, CutsInUse, certificate=certificate), "cuts")]
    assert kinds == ["gap", "unclear"]


def test_what_has_no_value_at_the_cuts_has_its_reason(three):
    result = uncertified(made(three, {"fnr_gap": (math.nan, "undefined")}))
    gaps = tuple(
        replace(
            g, warnings=("fnr_gap has no value: nobody is left",) if g.second == "women" else ()
        )
        if g.name == "fnr_gap"
        else g
        for g in result.gaps
    )
    texts = told(replace(result, gaps=gaps), "cuts")
    assert [kind for kind, _ in texts] == ["unclear", "unclear", "context"]
    assert holds(texts, "payers: nobody is left.")
    assert holds(texts, "payers: there is no interval.")
    assert not any(
        "no value or no interval" in text for _, text in told(replace(result, gaps=gaps))
    )
    [(kind, text)] = told(with_block(three, CutsInUse, reason="no cut at all"), "cuts")
    assert (kind, "no cut at all" in text) == ("unclear", True)


# ---------------------------------------------------------------------- other gaps


def test_gaps_elsewhere_are_told_by_family_at_most_three_of_a_name_each(three):
    beyond = {
        ("intra_group", "men", "women"): (0.4, "beyond"),
        ("intra_group", "men", "others"): (0.9, "beyond"),  # larger, but not of main groups
        ("inter_group", "men", "women"): (0.1, "beyond"),  # told first
        ("bnsp", "men", "women"): (-0.3, "beyond"),
        ("bpsn", "men", "women"): (0.2, "beyond"),  # the fourth name
        ("roc_gap(negatives)", "men", "women"): (0.15, "beyond"),
    }
    result = uncertified(made(three, beyond))
    texts = [text for kind, text in told(result, "") if kind == "gap"]
    names = [re.match(r"<(\S+) (\w+)/(\w+)>", text) for text in texts]
    assert [m.groups() for m in names if m] == [
        ("inter_group", "men", "women"),
        ("intra_group", "men", "women"),
        ("bnsp", "men", "women"),
        ("roc_gap(negatives)", "men", "women"),
    ]
    for part in ("-0.300", "95%", "-0.330 to -0.270"):
        assert part in texts[2]
    assert "0.05." in texts[2]
    assert texts[-1].startswith(f"2 more of the {len(result.gaps)} gaps lie beyond 0.05.")
    assert f"the {result.n_gaps:,} gaps" in texts[-1]
    # Those at the cuts were told already, once for each rate.
    more = made(three, {"fpr_gap": (0.2, "beyond"), ("bnsp", "men", "women"): (0.3, "beyond")})
    texts = [text for kind, text in told(uncertified(more), "") if kind == "gap"]
    assert [text[:5] for text in texts] == ["<bnsp", "2 mor"]
    alone = made(three, {("fpr_gap", "men", "women"): (0.2, "beyond")})
    assert [kind for kind, _ in told(uncertified(alone), "")].count("gap") == 0


def test_whom_a_gap_elsewhere_favours(three):
    result = uncertified(made(three, {("bnsp", "men", "women"): (0.3, "beyond")}))
    key = next(gap.key for gap in result.gaps if gap.verdict == "beyond")
    text = holds(told(result, "", {key: ("women", "men")}), "<bnsp ")
    assert re.findall(r"group (\w+)", text.split("favours")[1]) == ["women", "men"]
    assert "favours" not in holds(told(result, ""), "<bnsp ")


def test_where_no_gap_is_beyond_the_largest_seen_is_told(three, two):
    changes = {
        ("bnsp", "men", "women"): (-0.02, "within"),
        ("bpsn", "men", "others"): (0.04, "within"),
        "fpr_gap": (0.045, "within"),  # of the cuts: told there
    }
    text = holds(told(made(three, changes), ""), "largest seen")
    assert "main groups is -0.020 (bnsp, men" in text
    assert "No other gap" in text
    assert "0.05" in text
    single = made(two, {"bnsp": (-0.02, "within")})
    assert "main groups" not in holds(told(single, ""), "-0.020 (bnsp")
    apart = replace(made(three), gaps=tuple(g for g in made(three).gaps if "others" in g.key))
    assert "main groups" not in holds(told(apart, ""), "largest seen")
    one = replace(made(three), gaps=tuple(g for g in made(three).gaps if g.name == "bnsp"))
    assert "main groups" in holds(told(one, ""), "largest seen")
    some = made(two, {"bnsp": (0.2, "beyond")})
    assert not any("largest seen" in text for _, text in told(some, ""))
    elsewhere = [gap for gap in single.gaps if gap.family != "rate"]
    context = with_block(single, CutsInUse, asked=False, gaps=single.cut_gaps)
    assert holds(told(replace(context, gaps=tuple(elsewhere)), ""), "No gap is")
    at_cuts = [gap for gap in single.gaps if gap.family == "rate"]
    assert not any("beyond the" in t for _, t in told(replace(single, gaps=tuple(at_cuts)), ""))
    nothing = made(two, value=math.nan, verdict="undefined")
    assert "largest" not in holds(told(nothing, ""), "No other gap")


def curve_of(result, on, value, half=0.02):
    """The curve of a class with these values at 0 %, 10 %, … and a band of ±2 points."""
    curve = next(curve for curve in result.roc_gaps if curve.on == on)
    value = np.array(value)
    return replace(
        curve, rates=np.linspace(0.0, 1.0, len(value)), value=value,
        simultaneous_low=value - half, simultaneous_high=value + half,
    )  # fmt: skip


def test_stretches_at_which_a_band_leaves_the_tolerance(two, three):
    value = [0.0, 0.08, 0.09, 0.06, 0.10, 0.0, 0.0, -0.08, -0.2, 0.0, 0.0]
    result = with_block(made(two), Curves, roc_gaps=(curve_of(two, "negatives", value),))
    up, down = [(k, t) for k, t in told(result, "") if t.startswith("Elsewhere")]
    assert up[0] == down[0] == "context"
    assert "defaulters in group women are" in up[1]
    assert "10% to 20% and 40% to 40%" in up[1]
    assert "defaulters in group men, the" in up[1]
    assert "+0.100 at 40%" in up[1]
    assert re.findall(r"group (\w+)", up[1].split("favours")[1]) == ["women", "men"]
    assert "defaulters in group men are" in down[1]
    assert "70% to 80%" in down[1]
    assert "-0.200 at 80%" in down[1]
    assert re.findall(r"group (\w+)", down[1].split("favours")[1]) == ["men", "women"]
    under = curve_of(two, "negatives", [-0.125] * 11, half=0.0625)
    settings = replace(two.settings, tolerance=0.0625)  # the band ends where it begins
    edge = replace(with_block(result, Curves, roc_gaps=(under,)), settings=settings)
    assert not any("Elsewhere" in text for _, text in told(edge))
    even = with_block(result, Curves, roc_gaps=(curve_of(two, "negatives", [0.07] * 11),))
    assert not any("Elsewhere" in text for _, text in told(even))  # 5 points: not beyond 5
    many = with_block(made(three), Curves, roc_gaps=(curve_of(three, "negatives", value),))
    assert not any("Elsewhere" in text for _, text in told(many))


# ---------------------------------------------------------------------- even, unclear


def certificates(result, *made):
    return with_block(result, Certificates, certificates=made)


def certificate(method="dkw", low=0.2, high=0.6, **changes):
    kept = dict(on="negatives", tolerance=0.05, confidence_level=0.95, method=method)
    shown = dict(certified=True, low=low, high=high, thresholds=(), reach=0.04, needed=9)
    return Certificate(**{**kept, **shown, "words": f"From {low} to {high}.", **changes})


def test_certificates_of_curves(two):
    result = made(two)
    for high, kind, only in ((0.6, "even", False), (0.1, "even", False), (0.09, "context", True)):
        texts = told(certificates(result, certificate(low=0.0, high=high)))
        [found] = [one for one in texts if "from 0.0" in one[1]]
        assert found[0] == kind
        assert found[1].startswith(f"Defaulters: from 0.0 to {high}, ")
        assert (f"width {high:.3g} only" in found[1]) == only
        assert "DKW" in found[1]
        assert "both classes" not in found[1]
    both = certificate(confidence_level=0.975)
    assert "95% for both classes" in holds(told(certificates(result, both)), "from 0.2")
    # Of several methods the last one, in each class.
    some = certificate("dkw"), certificate("simultaneous", high=0.8)
    assert "bootstrap" in holds(told(certificates(result, *some)), "from 0.2")
    for lacking, kind in (("data", "unclear"), ("evenness", "context")):
        refused = certificate(certified=False, lacking=lacking)
        texts = told(certificates(result, refused))
        text = holds(texts, "Defaulters: from 0.2 to 0.6.")
        assert (kind, text) in texts


def test_how_many_gaps_are_within(two):
    n = len(two.gaps)
    some = made(two, {"bnsp": (0.2, "beyond"), "bpsn": (0.04, "unclear")})
    assert f"{n - 2} of the {n} gaps lie within 0.05, with 95%" in holds(told(some), "lie within")
    one = made(two, {"bnsp": (0.0, "within")}, verdict="unclear")
    assert f"1 of the {n} gaps lies within" in holds(told(one), "lies within")
    assert not any("lie within" in text for _, text in told(made(two, verdict="unclear")))
    every = made(two)
    for k, start in ((1, "The gap lies"), (2, "Both gaps lie"), (n, f"All {n} gaps lie")):
        families = tuple(
            replace(family, n_gaps=k if not place else 0)
            for place, family in enumerate(every.families)
        )
        found = told(replace(every, gaps=every.gaps[:k], families=families))
        assert ("even", holds(found, start, "0.05", "95%")) in found


def test_what_cannot_be_told_and_the_smallest_cell(three):
    sizes = np.array([[90.0, 40.0, 31.4], [80.0, 0.0, 70.0]])
    sample = replace(three.sample, effective_sizes=sizes)
    changes = {
        ("bnsp", "men", "women"): (-0.08, "unclear"),  # alone beyond: −0.10 to −0.06
        ("bpsn", "men", "women"): (0.04, "unclear"),
        ("bpsn", "men", "others"): (0.045, "unclear"),
    }
    result = uncertified(replace(made(three, changes), sample=sample))
    n = len(result.gaps)
    text = holds(told(result), "Cannot tell for")
    assert f"3 of {n} gaps" in text
    assert "up to 0.110" in text
    assert "tolerance of 0.05" in text
    assert "1 of them would be" in text
    assert "on its own" in text
    assert f"among {result.n_gaps:,} gaps" in text
    whom = result.groups[int(np.argmin([90.0, 40.0, 31.4]))]
    assert f"defaulters in group {whom} (effective size 31)" in text
    positive = made(three, {("bnsp", "men", "women"): (0.04, "unclear")})
    assert "up to 0.070" in holds(told(uncertified(positive)), "Cannot tell for 1 of")
    assert "own" not in holds(told(uncertified(positive)), "Cannot tell for 1 of")
    several = dict.fromkeys(("bnsp", "bpsn"), (0.09, "unclear"))
    assert "6 of them" in holds(told(uncertified(made(three, several))), "on their own")
    # A group that is not compared has no smallest cell.
    few = replace(sample, compared_groups=tuple(g for g in three.groups if g != whom))
    assert "(effective size 40)" in holds(told(replace(result, sample=few)), "Cannot tell for")


def test_gaps_without_a_value(two):
    one = made(two, {"bnsp": (math.nan, "undefined")})
    n = len(two.gaps)
    assert "(no interval)" in holds(told(one), f"1 of the {n} gaps has")
    gaps = tuple(
        replace(g, verdict="undefined", warnings=(f"too few for {g.name}", "more"))
        if g.name in ("bnsp", "bpsn")
        else g
        for g in one.gaps
    )
    assert "(too few for bnsp)" in holds(told(replace(one, gaps=gaps)), f"2 of the {n} gaps have")


# ---------------------------------------------------------------------- for context


def test_the_auc_within_main_groups(three):
    def aucs(*values):
        some = [
            replace(auc, value=v, low=v - 0.05, high=v + 0.05, first=name)
            for auc, v, name in zip(three.auc_by_group, values, ("men", "women", "others"),
                                    strict=True)
        ]  # fmt: skip
        return with_block(made(three), Ranking, by_group=tuple(some))

    text = holds(told(aucs(0.8, 0.7, 0.1)), "AUC ranges")
    assert "0.700 in group women (95% interval 0.650 to 0.750)" in text
    assert "0.800 in group men (95% interval 0.750 to 0.850)" in text
    assert "main group" in text
    assert "the same: 0.700" in holds(told(aucs(0.7, 0.7, 0.1)), "Within each main group")
    assert not any("Within a" in text for _, text in told(aucs(0.8, math.nan, 0.1), ""))
    assert not any("Within e" in text for _, text in told(aucs(0.8, math.nan, 0.1), ""))
    all_main = replace(three.sample, main_groups=three.sample.groups)
    text = holds(told(replace(aucs(0.8, 0.7, 0.1), sample=all_main)), "AUC ranges")
    assert "0.100 in group others" in text
    assert "main" not in text
    unsure = replace(three.auc, low=math.nan, high=math.nan, warnings=("too few people",))
    assert holds(told(with_block(made(three), Ranking, auc=unsure)), "Overall", "(too few people)")


def test_ratios_of_selection_and_main_groups(three):
    share = three.thresholds.selected_share[0]
    ratio = with_block(made(three), CutsInUse, headline="group men twice as often")
    text = holds(told(ratio), "twice as often")
    assert f"{share:.1%}" in text
    assert f"{three.thresholds.thresholds[0]:.4g}" in text
    assert not any(
        "At the cut " in t for _, t in told(with_block(three, CutsInUse, headline=""), "")
    )
    held = three.sample.group_share[np.isin(three.groups, ["men", "women"])].sum()
    assert f"{held:.1%}" in holds(told(made(three)), "men and women:", "all 3 groups")
    everybody = replace(three.sample, main_groups=three.compared_groups)
    assert not any("main" in text for _, text in told(replace(made(three), sample=everybody), ""))
    names = tuple(f"g{k}" for k in range(9))
    six = replace(three.sample, compared_groups=names, main_groups=names[:6])
    text = holds(told(replace(made(three), sample=six, gaps=())), "main groups")
    assert "g0, g1, g2, g3, g4 and g5:" in text
    many = replace(three.sample, compared_groups=names, main_groups=names[:8])
    text = holds(told(replace(made(three), sample=many, gaps=())), "main groups")
    assert "g0, g1, g2, g3, g4, g5 and 2 more groups" in text
