"""To add a rate, a notion, a family, a block or a learner is one entry or one file: the recipes.

The things tested here are those of docs/contributing/recipes.md, read from the page.
"""

import io
from dataclasses import dataclass, replace
from typing import ClassVar
from unittest.mock import patch

import numpy as np
import pages
import pytest
from rich.console import Console
from support import reference
from support.making import draw

import evenscore as es
from evenscore.auditing.blocks import BLOCKS, register
from evenscore.gaps.family import GapFamily, labels_of_pairs
from evenscore.inference.estimate import GapKey
from evenscore.learning.objective import Objective
from evenscore.scores.rates import CATALOGUE

PAGE = pages.DOCS / "contributing" / "recipes.md"
CODE = [
    block.code
    for block in pages.blocks(PAGE.read_text(encoding="utf-8"))
    if block.language == "python"
]


def definitions():
    """What the page defines: its blocks that neither load data nor print anything."""
    names = {"__name__": "recipes", "np": np, "es": es}
    for code in CODE:
        if "print(" not in code and "load_" not in code:
            exec(compile(code, PAGE.name, "exec"), names)
    return names


RECIPES = definitions()
Exposure, Medians, WaveScorer = (RECIPES[name] for name in ("Exposure", "Medians", "WaveScorer"))


def test_recipes_are_short():
    most = {
        "rate = Rate(": 15,
        "read_notions(": 12,
        "(GapFamily)": 65,
        "(Block)": 40,
        "(FairScorer)": 45,
    }
    for start, lines in most.items():
        [code] = [code for code in CODE if start in code]
        assert len(code.splitlines()) <= lines


# ---------------------------------------------------------------------- a rate, a notion


def test_a_rate_is_that_of_people_counted_one_by_one(people):
    y, score, groups = people
    rate = RECIPES["rate"]
    threshold = np.quantile(score, 0.7)
    selected = {}
    for group in ("men", "women"):
        of_class = [np.mean(score[(groups == group) & (y == c)] > threshold) for c in (0, 1)]
        selected[group] = of_class[1] * y.mean() + of_class[0] * (1.0 - y.mean())
    with patch.dict(CATALOGUE, {rate.name: rate}):
        cuts = es.Cuts(thresholds=(threshold,))
        fair = es.RateConstraint(rate.name, cuts=cuts)
        result = es.audit(y, score, sensitive_features=groups, constraints=fair)
        assert result.gaps[0].value == pytest.approx(selected["men"] - selected["women"])
        assert fair.needs_outcomes
    assert rate.name not in es.rate_names()


def test_a_rate_that_no_cut_brings_to_a_common_level_is_not_repaired(people):
    """False positives among everybody: a group with few negatives never has as many as another."""
    y, score, groups = people
    rate = replace(RECIPES["rate"], name="wrong", counted=((0, 1), (0, 0)), standardised=False)
    with patch.dict(CATALOGUE, {rate.name: rate}):
        fair = es.RateConstraint("wrong", cuts=es.Cuts(between=(0.2, 0.5)))
        with pytest.raises(ValueError, match=r"wrong .*selection, fpr, fnr"):
            es.repair(y, score, sensitive_features=groups, constraints=fair)


@pytest.mark.parametrize("weights", [None, "real"])
def test_a_notion_is_that_of_pairs_counted_one_by_one(weights):
    y, score, group, weight = draw(4, n=60, n_groups=3, weights=weights)
    notion = RECIPES["notion"]
    scores = es.GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)
    rows = reference.Rows(y, score, group, weight)
    aucs = [rows.auc((None,), (1, own)) for own in range(3)]
    expected = [aucs[i] - aucs[j] for i, j in scores.pairs()]
    found = es.AucConstraint(notion.name, notion).values(scores)
    np.testing.assert_allclose(found, expected, atol=1e-12)


# ---------------------------------------------------------------------- a family


@dataclass(frozen=True)
class OnlyAudited(GapFamily):
    """The difference of mean scores: neither learned nor repaired."""

    tolerance: float | None = None

    name: ClassVar[str] = "mean_score"
    family: ClassVar[str] = "means"
    heading: ClassVar[str] = "Gaps of mean scores"

    def keys(self, groups, pairs=None):
        return tuple(GapKey("mean_score", *names) for names in labels_of_pairs(groups, pairs))

    def values(self, scores, pairs=None):
        codes = scores.cell % scores.n_groups
        sums, weights = (
            np.bincount(codes, weights=column, minlength=scores.n_groups)
            for column in (scores.weight * scores.score, scores.weight)
        )
        mean = sums / weights
        return np.array([mean[i] - mean[j] for i, j in (pairs or scores.pairs())])


@pytest.fixture(scope="module")
def people():
    y, score, group, _ = draw(5, n=500, levels=None, shift=1.6)
    return y, score, np.array(["women", "men"])[group]


@pytest.mark.slow
def test_a_family_is_audited_reported_compared_and_stored(people, tmp_path):
    y, score, groups = people
    result = es.audit(y, score, sensitive_features=groups, constraints=["bnsp", Exposure()])
    gap = result.gaps[1]
    assert gap.family == "exposure"
    got = {"men": [], "women": []}
    for own, group in zip(score, groups, strict=True):
        ahead = np.sum(score > own) + 0.5 * np.sum(score == own)
        got[group].append(0.5 ** (10.0 * ahead / len(score)))
    assert gap.value == pytest.approx(np.mean(got["men"]) - np.mean(got["women"]))
    assert 0.0 < gap.low < gap.value < gap.high
    assert gap.verdict == "beyond"
    assert result.n_gaps == 2
    result.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Gaps of exposure" in page
    assert f"{gap.value:+.3f}" in page
    console = Console(record=True, width=120, file=io.StringIO())
    console.print(result)
    for told in (console.export_text(), result._repr_html_()):
        assert "Gaps of exposure" in told
    assert result.to_frame("pandas")["family"].tolist()[-1] == "exposure"
    result.to_json(tmp_path / "audit.json")
    read = es.AuditResult.from_json(tmp_path / "audit.json")
    assert read.gaps == result.gaps
    assert "exposure_gap" in read.meanings
    other = es.audit(
        y,
        score + 0.4 * (groups == "women"),
        sensitive_features=groups,
        constraints=["bnsp", Exposure()],
    )
    difference = result.compare(other, n_resamples=50).gaps[1]
    assert difference.difference.value == pytest.approx(gap.value - other.gaps[1].value)
    assert difference.change == "larger gap"


def test_a_family_is_learned(people):
    y, score, groups = people
    rng = np.random.default_rng(0)
    X = np.column_stack([score, groups == "women", rng.normal(size=len(y))])
    fitted = es.LinearScorer(Exposure(), tolerance=0.03, folds=0)
    fitted.fit(X, y, sensitive_features=groups)
    [gap] = fitted.gaps_
    free = es.LinearScorer(folds=0).fit(X, y)
    table = es.GroupedScores.from_arrays(y, free.decision_function(X), sensitive_features=groups)
    assert abs(Exposure().values(table)[0]) > 0.05
    assert abs(gap.value) <= 0.035
    assert gap.title == "exposure_gap, men and women"
    with pytest.raises(TypeError, match=r"exposure.*EvenScorer"):  # it is about no cuts
        es.EvenScorer(Exposure()).fit(X, y, sensitive_features=groups)


@pytest.mark.slow
def test_a_family_is_repaired_and_traded_off(people):
    y, score, groups = people
    repair = es.repair(y, score, sensitive_features=groups, constraints=Exposure())
    assert abs(repair.gaps["before"][0].value) > 0.15
    assert abs(repair.gaps["after"][0].value) < 0.02
    path = es.tradeoff_path(
        es.LinearScorer(Exposure()),
        np.column_stack([score, groups == "women"]),
        y,
        sensitive_features=groups,
        tolerances=[0.02],
        cv=2,
        random_state=0,
    )
    assert path.points[1].worst_gap < path.points[0].worst_gap
    asked = {"sensitive_features": groups, "constraints": Exposure(), "tolerance": 0.1}
    choice = es.certified_choice([repair], score, y, **asked)
    [certificate] = choice.test.certificates
    assert (certificate.method, certificate.constraint) == ("equivalence", "exposure")
    assert choice.certified == (certificate.reach <= 0.1)


def test_what_a_family_cannot_do_is_refused_in_a_sentence(people):
    y, score, groups = people
    result = es.audit(y, score, sensitive_features=groups, constraints=OnlyAudited())
    assert result.gaps[0].value == pytest.approx(
        score[groups == "men"].mean() - score[groups == "women"].mean()
    )
    with pytest.raises(TypeError, match="mean_score"):
        es.LinearScorer(OnlyAudited()).fit(score[:, None], y, sensitive_features=groups)
    with pytest.raises(ValueError, match="mean_score"):
        es.repair(y, score, sensitive_features=groups, constraints=OnlyAudited())
    with pytest.raises(TypeError, match="constraint"):
        es.audit(y, score, sensitive_features=groups, constraints=[3])


@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_slopes_of_a_family_are_finite_differences(n_groups):
    y, score, group, weight = draw(9, n=60, n_groups=n_groups, levels=None, weights="real")
    score = (score - score.mean()) / score.std()
    objective = Objective(y == 1, group, n_groups, [Exposure()], weight=weight)
    every = np.arange(len(objective.terms))
    found = objective.linearised(score, every)
    slopes = found.placed @ found.slopes.T
    for k in range(0, len(score), 7):
        step = np.zeros(len(score))
        step[k] = 1e-4
        high, low = (objective.linearised(score + s * step, every[:0]).gaps for s in (1, -1))
        np.testing.assert_allclose(slopes[k, 1:], (high - low) / 2e-4, atol=2e-5)


def test_a_family_has_ties_weights_and_signs_in_order():
    y, score, group, weight = draw(2, n=80, levels=5, weights="integer")
    asked = {"sensitive_features": group, "sample_weight": weight}
    once = es.GroupedScores.from_arrays(y, score, **asked)
    times = weight.astype(int)
    rows = (np.repeat(column, times) for column in (y, score, group))
    y2, score2, group2 = rows
    apart = es.GroupedScores.from_arrays(y2, score2, sensitive_features=group2)
    turned = es.GroupedScores.from_arrays(y, score, group_order=(1, 0), **asked)
    [gap] = Exposure().values(once)
    assert Exposure().values(apart)[0] == pytest.approx(gap)
    assert Exposure().values(turned)[0] == pytest.approx(-gap)
    flat = es.GroupedScores.from_arrays(y, np.zeros(len(y)), **asked)
    assert Exposure().values(flat)[0] == pytest.approx(0.0)


# ---------------------------------------------------------------------- a block


@pytest.fixture
def with_medians():
    with patch.dict(BLOCKS):
        register(Medians)
        yield


def test_a_block_is_computed_shown_and_stored(people, with_medians, tmp_path):
    y, score, groups = people
    result = es.audit(y, score, sensitive_features=groups, constraints="bnsp")
    block = result.block(Medians)
    own = np.sort(score[groups == "men"])
    assert block.median[0] == own[(len(own) - 1) // 2]
    assert np.mean(own < block.low[0]) == pytest.approx(0.5 - 0.98 / len(own) ** 0.5, abs=0.01)
    assert np.mean(own <= block.high[0]) == pytest.approx(0.5 + 0.98 / len(own) ** 0.5, abs=0.01)
    page = result.to_html(tmp_path / "report.html").read_text()
    assert '<h2 id="medians-title">Median scores</h2>' in page
    assert f"{block.median[1]:.2f} ({block.low[1]:.2f} to {block.high[1]:.2f})" in page
    console = Console(record=True, width=120, file=io.StringIO())
    console.print(result)
    assert "more tables" in console.export_text()  # where the terminal has no room for it
    assert "Median scores" in result.to_markdown()
    data = result.to_dict()
    assert es.AuditResult.from_dict(data).block(Medians).median == block.median
    del BLOCKS[Medians.name]
    assert Medians.name not in es.AuditResult.from_dict(data).blocks


# ---------------------------------------------------------------------- a learner


@pytest.mark.slow
def test_a_learner_closes_gaps_and_is_refused_bad_parameters(people):
    y, score, groups = people
    rng = np.random.default_rng(0)
    X = np.column_stack([score, groups == "women", rng.normal(size=len(y))])
    asked = {"random_state": 0, "n_waves": 60, "folds": 0}
    free = WaveScorer(**asked).fit(X, y)
    table = es.GroupedScores.from_arrays(y, free.decision_function(X), sensitive_features=groups)
    assert abs(Exposure().values(table)[0]) > 0.05
    fair = WaveScorer(Exposure(), tolerance=0.03, **asked)
    scores = fair.fit(X, y, sensitive_features=groups).decision_function(X)
    assert abs(fair.gaps_[0].value) <= 0.035
    again = WaveScorer(Exposure(), tolerance=0.03, **asked).fit(X, y, sensitive_features=groups)
    np.testing.assert_array_equal(again.decision_function(X), scores)
    with pytest.raises(ValueError, match="n_waves"):
        WaveScorer("bnsp", n_waves=0).fit(X, y, sensitive_features=groups)
