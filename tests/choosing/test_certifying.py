import io
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from support.making import often

import evenscore as es
from evenscore import AucConstraint, Cuts, LinearScorer, RateConstraint, certified_choice
from evenscore.choosing import CertifiedChoice
from evenscore.choosing.certified import FORMAT

FNR = RateConstraint("fnr", cuts=Cuts(between=(0.2, 0.5)))


class Column:
    """A fitted scorer of which nothing is known but its scores: a column of X."""

    def __init__(self, k, asked=None):
        self.k, self.asked = k, asked

    def decision_function(self, X):
        if self.asked is not None:
            self.asked.append(self.k)
        return X[:, self.k]


def people(n=4000, seed=0, n_groups=2, shifts=(0.0, 0.05, 0.3, 1.0), better=0.25):
    """A matrix of scores, each better and less fair than the one before."""
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, n_groups, n)
    noise = rng.normal(size=n)
    X = np.column_stack(
        [(1 + better * k) * y + noise + shift * group for k, shift in enumerate(shifts)]
    )
    return X, y, np.array(list("abcd"))[group]


def choose(X, y, groups, columns=(0, 1, 2, 3), **options):
    options = dict(constraints="bnsp", tolerance=0.05) | options
    return certified_choice(
        [Column(k) for k in columns], X, y, sensitive_features=groups, **options
    )


# ---------------------------------------------------------------------- one after the other


def test_candidates_are_tested_in_order_until_the_first_that_fails():
    X, y, groups = people()
    asked = []
    choice = certified_choice(
        [Column(k, asked) for k in (0, 3, 1)], X, y, sensitive_features=groups, constraints="bnsp"
    )
    assert asked == [0, 3]  # the last one has not even been asked for scores
    assert [test.outcome for test in choice.tests] == ["passed", "failed", "not tested"]
    assert choice.chosen == 0
    assert choice.scorer.k == 0
    assert choice.n_held_out == len(y)
    assert choice.n_fitted is None
    assert choice.cost == ""
    assert choice.tests[2].auc is None
    assert choice.tests[2].certificates == ()


def test_of_those_that_passed_the_largest_auc_is_taken():
    X, y, groups = people()
    choice = choose(X, y, groups, (1, 0, 3))
    assert choice.chosen == 0  # the second passed, too, and ranks worse
    assert choice.test.auc.value == pytest.approx(roc_auc_score(y, X[:, 1]))
    assert "2 candidates" in choice.ended
    assert choose(X, y, groups, (0, 0)).chosen == 0  # of equals the one tested first


def test_if_the_first_fails_none_is_certified():
    X, y, groups = people()
    choice = choose(X, y, groups, (3, 0))
    assert choice.scorer is None
    assert choice.chosen is None
    assert not choice.certified
    assert "1. Column" in choice.words
    few = choose(X[:300], y[:300], groups[:300], (1, 0), tolerance=0.08)
    assert "more held-out people" in few.words
    missed = few.test.certificates[0].reach - 0.08
    assert few.test.missed_by == pytest.approx(missed)
    assert f"0.08, by {missed:.3f}" in few.words


def test_the_tests_are_those_of_the_families():
    X, y, groups = people(8000)
    families = [AucConstraint.named("bnsp"), FNR]
    choice = choose(X, y, groups, (0, 1, 2, 3), constraints=families, confidence_level=0.9)
    for test, column in zip(choice.tests, X.T, strict=True):
        table = es.GroupedScores.from_arrays(y, column, sensitive_features=groups)
        expected = [one.certify(table, tolerance=0.05, confidence_level=0.9) for one in families]
        if test.outcome != "not tested":
            assert list(test.certificates) == expected
            assert (test.outcome == "passed") == all(one.certified for one in expected)
    assert {test.outcome for test in choice.tests} == {"passed", "failed", "not tested"}


def test_a_constraints_own_tolerance_comes_first():
    X, y, groups = people()
    strict = replace(AucConstraint.named("bnsp"), tolerance=0.001)
    assert choose(X, y, groups, (0,)).certified
    choice = choose(X, y, groups, (0,), constraints=strict)
    assert not choice.certified
    assert choice.test.certificates[0].tolerance == 0.001


# ---------------------------------------------------------------------- what does not matter


def same(one, other):
    keep = ("certified", "reach", "gap", "times")
    for a, b in zip(one.tests, other.tests, strict=True):
        assert a.outcome == b.outcome
        for first, second in zip(a.certificates, b.certificates, strict=True):
            for name in keep:
                assert getattr(first, name) == pytest.approx(
                    getattr(second, name), abs=1e-9, nan_ok=True
                )
    assert one.chosen == other.chosen


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["bnsp", FNR], ids=["bnsp", "fnr"])
def test_invariances(constraint):
    X, y, groups = people(3000, n_groups=3, shifts=(0.0, 0.05, 0.6))
    asked = dict(columns=(0, 1, 2), constraints=constraint, tolerance=0.12)
    base = choose(X, y, groups, **asked)
    assert base.certified
    assert not all(test.outcome == "passed" for test in base.tests)
    order = np.random.default_rng(0).permutation(len(y))
    same(base, choose(X[order], y[order], groups[order], **asked))
    same(base, choose(np.exp(X / 2) - 7, y, groups, **asked))  # increasing maps
    renamed = np.array([{"a": "z", "b": "y", "c": "x"}[group] for group in groups])
    same(base, choose(X, y, renamed, **asked))  # which also turns the order round
    same(base, choose(X, np.where(y == 1, "yes", "no"), groups, **asked))
    same(base, choose(X, y, {"sex": groups}, **asked))
    same(base, choose(X, y, groups, sample_weight=np.full(len(y), 2.5), **asked))
    zero = np.concatenate([np.ones(len(y)), np.zeros(50)])
    more = np.concatenate([X, X[:50] * 100]), np.append(y, y[:50]), np.append(groups, groups[:50])
    same(base, choose(*more, sample_weight=zero, **asked))  # rows that weigh nothing


# ---------------------------------------------------------------------- bad input


def test_bad_input_is_refused():
    X, y, groups = people(300)
    ask = dict(sensitive_features=groups, constraints="bnsp")
    asked = dict(sensitive_features=groups)
    fitted, not_fitted = LogisticRegression().fit(X, y), LogisticRegression()
    repair = es.repair(y, X[:, 0], sensitive_features=groups)
    spoiled = X.copy()
    spoiled[3, 0] = np.nan
    different = [LinearScorer("bnsp"), LinearScorer("bpsn")]
    refusals = [
        (lambda: certified_choice([], X, y, **ask), "empty"),
        (lambda: certified_choice([fitted, not_fitted], X, y, **ask), "fitted"),
        (lambda: certified_choice(iter([fitted]), X, y, **ask), "iterator"),
        (lambda: choose(spoiled, y, groups), r"1\. Column .*row 3"),
        (lambda: choose(X, y, groups, tolerance=0.0), "tolerance"),
        (lambda: choose(X, y, groups, tolerance=1.5), "tolerance"),
        (lambda: choose(X, y, groups, confidence_level=1.0), "confidence_level"),
        (lambda: choose(X, y, groups, names=["a"]), "names .* 4"),
        (lambda: choose(X, y, groups, names=["a"] * 4), "differ"),
        (lambda: choose(X, y, groups, names="abcd"), "names"),
        (lambda: choose(X, y, groups, constraints=None), "should be equal"),
        (lambda: choose(X, y, groups, constraints=[]), "certified"),
        (lambda: choose(X, np.ones(300), groups), "two classes"),
        (lambda: choose(X, y, np.full(300, "a")), "only a"),
        (lambda: choose(X, y[:-1], groups), "300.*299|299.*300"),
        (lambda: choose(X, y, groups, pos_label=1), "pos_label"),
        (lambda: certified_choice([fitted], X, y + 5, **ask), "label 5.*LogisticRegression"),
        (lambda: certified_choice([fitted, repair], X, y, **ask), "scorers or repairs"),
        (lambda: certified_choice([object()], X, y, **ask), "decision_function"),
        (lambda: certified_choice(not_fitted, X, y, **asked), "should be equal"),
        (lambda: certified_choice(different[:1], X, y, **asked, hold_out=1.0), "hold_out"),
        (lambda: certified_choice(different, X, y, **asked), "different constraints"),
    ]
    for refused, told in refusals:
        with pytest.raises((ValueError, TypeError), match=told):
            refused()


def test_an_empty_cell_is_told():
    X, y, groups = people(600)
    kept = ~((groups == "b") & (y == 1))
    for constraint in ("bnsp", FNR):
        choice = choose(X[kept], y[kept], groups[kept], (0, 1), constraints=constraint)
        assert not choice.certified
        assert "there are no positives of b" in choice.words
        assert math.isnan(choice.test.missed_by)
        assert json.loads(choice.to_json())["tests"][0]["certificates"][0]["reach"] is None


# ---------------------------------------------------------------------- splitting


def test_candidates_that_are_not_fitted_are_fitted_one_by_one_on_a_part():
    X, y, groups = people(2000, shifts=(0.0, 1.0))
    fits = []

    class Counted(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            fits.append(len(y))
            return super().fit(X, y, sample_weight)

    made = [Counted(C=c) for c in (1e-9, 1.0, 2.0)]
    choice = certified_choice(
        made, X, y, sensitive_features=groups, constraints="bnsp", tolerance=0.03, hold_out=0.4
    )
    tested = [test for test in choice.tests if test.outcome != "not tested"]
    assert fits == [choice.n_fitted] * len(tested)  # whoever's turn did not come is not fitted
    assert len(tested) < 3
    assert choice.n_fitted + choice.n_held_out == 2000
    assert abs(choice.n_held_out - 800) <= 2
    assert f"learned from {choice.n_fitted:,} of them" in choice.cost
    reach = choice.test.decisive.reach
    assert f"{reach:.3f}" in choice.cost
    assert "2,000 people" in choice.cost
    assert not hasattr(made[0], "coef_")  # what was passed stays as it was
    again = certified_choice(
        made, X, y, sensitive_features=groups, constraints="bnsp", tolerance=0.03, hold_out=0.4
    )
    assert again.to_dict() == choice.to_dict()


@pytest.mark.slow
def test_one_scorer_stands_for_its_tolerances():
    """Seconds: a path is many fits."""
    X, y, groups = people(3000, shifts=(0.0, 0.5, 1.0))
    frame, columns = pd.DataFrame(X, columns=list("xyz")), pd.DataFrame({"sex": groups})
    cluster = np.arange(3000) // 2
    choice = certified_choice(
        LinearScorer("bnsp"), frame, y, sensitive_features=columns, cluster=cluster, tolerance=0.08
    )
    names = [test.name for test in choice.tests]
    assert names[:2] == ["tolerance=0.005", "tolerance=0.01"]
    assert names[-1] == "no constraints"
    assert choice.certified
    assert choice.scorer.tolerance is not None
    assert choice.scorer.feature_names_in_.tolist() == list("xyz")
    assert "nothing is certified" in choice.cost


def test_rows_that_cannot_be_split():
    X, y, groups = people(400)
    with pytest.raises(ValueError, match="too few clusters"):
        certified_choice(
            [LinearScorer("bnsp")], X, y, sensitive_features=groups, cluster=np.zeros(400)
        )


# ---------------------------------------------------------------------- paths


@pytest.fixture(scope="module")
def path():
    X, y, groups = people(800, seed=3, shifts=(0.0, 0.5, 1.0))
    made = es.tradeoff_path(
        LinearScorer("bnsp"), X, y, sensitive_features=groups, tolerances=[0.1, 0.02], cv=2,
        random_state=0,
    )  # fmt: skip
    return made


@pytest.mark.slow
def test_the_points_of_a_path_on_people_held_out(path):
    """Seconds: a path is many fits."""
    X, y, groups = people(4000, seed=4, shifts=(0.0, 0.5, 1.0))
    choice = path.certify(X, y, sensitive_features=groups, tolerance=0.08)
    front = sorted((path.points[k] for k in path.pareto), key=lambda point: point.worst_gap)
    assert [test.name for test in choice.tests] == [str(point) for point in front]
    assert choice.certified
    assert choice.n_fitted is None
    [chosen] = [point for point in front if str(point) == choice.test.name]
    expected = path.scorer_at(chosen).fit(
        path.X, path.y, sensitive_features=path.sensitive_features
    )
    np.testing.assert_array_equal(choice.scorer.decision_function(X), expected.decision_function(X))


def test_a_path_refuses_its_own_rows(path):
    ask = dict(sensitive_features=path.sensitive_features)
    for X in (path.X, path.X.copy()):
        with pytest.raises(ValueError, match="rows"):
            path.certify(X, path.y, **ask)
    X, y, groups = people(300, seed=9, shifts=(0.0, 0.5, 1.0))
    with pytest.raises(ValueError, match="sensitive_features is missing"):
        path.certify(X, y)
    with pytest.raises(ValueError, match="X is missing"):
        path.certify(y=y)
    with pytest.raises(ValueError, match="sample_weight and cluster"):
        path.certify(cluster=groups)
    with pytest.raises(ValueError, match=r"label 7.*0 and 1"):
        path.certify(X, y + 7, sensitive_features=groups)


# ---------------------------------------------------------------------- shown and stored


@pytest.fixture(scope="module")
def choice():
    X, y, groups = people()
    groups = np.where(groups == "a", "<b>", "[red]")
    return choose(X, y, groups, names=["<i>first</i>", "second", "third", "fourth"])


def test_stored_and_read_again(choice, tmp_path):
    text = choice.to_json(tmp_path / "choice.json")
    read = CertifiedChoice.from_json(tmp_path / "choice.json")
    assert read.to_json() == text
    assert read.scorer is None
    assert str(read) == str(choice)
    content = json.loads(text)
    assert content["format"] == FORMAT
    assert content["version"] == "1.0"
    for spoiled, sentence in (
        ({"format": "evenscore.audit"}, "not a certified choice"),
        ({**content, "version": "9.0"}, "version 9.0"),
        ({**content, "chosen": 17}, "the place of a test"),
        ({key: content[key] for key in content if key != "tests"}, "lacks 'tests'"),
    ):
        with pytest.raises(ValueError, match=sentence):
            CertifiedChoice.from_dict(spoiled)


def test_shown(choice, tmp_path):
    console = Console(file=io.StringIO(), width=120)
    console.print(choice)
    shown = console.file.getvalue()
    assert "passed, chosen" in shown
    assert "not tested" in shown
    assert "[red]" in shown
    assert shown.startswith("Certified with 95% confidence: ")
    html = choice.to_html(tmp_path / "choice.html").read_text()
    for page in (html, choice._repr_html_()):
        assert "&lt;i&gt;first" in page
        assert "<i>first" not in page
        assert "passed, chosen" in page
    assert html.index("Certified with 95% confidence") < html.index("<table")
    assert "\\<i\\>first" in choice.to_markdown()
    assert repr(choice).startswith("<CertifiedChoice: ")
    frame = choice.to_frame("polars")
    assert frame["outcome"].to_list() == [test.outcome for test in choice.tests]
    assert frame["chosen"].sum() == 1


# ---------------------------------------------------------------------- the guarantee


@pytest.mark.parametrize(
    "constraint",
    ["bnsp", pytest.param(RateConstraint("fnr", cuts=Cuts(at=(0.3,))), marks=pytest.mark.soak)],
    ids=["bnsp", "fnr"],
)
def test_a_candidate_just_beyond_the_tolerance_is_seldom_certified(constraint):
    """A fair one first, then better ones whose true gaps are just above the tolerance."""
    X, y, groups = people(100_000, seed=1, shifts=(0.0, 0.3, 0.33, 0.36, 0.6), better=0.02)
    code = (groups == "b").astype(int)
    family = es.gaps.as_constraints(constraint)[0]

    def table(k, index):
        return es.GroupedScores.from_codes(X[index, k], y[index] == 1, code[index], ("a", "b"))

    truth = [np.abs(family.values(table(k, slice(None)))).max() for k in range(5)]
    tolerance = 0.999 * truth[1]
    assert truth[0] < 0.3 * tolerance
    assert min(truth[1:]) > tolerance
    rng, n = np.random.default_rng(0), often(80)
    wrong = certified = naive = 0
    for _ in range(n):
        index = rng.integers(0, len(y), 4000)
        choice = choose(
            X[index], y[index], groups[index], range(5), constraints=family, tolerance=tolerance
        )
        certified += choice.certified
        wrong += choice.certified and truth[choice.chosen] > tolerance
        seen = [np.abs(family.values(table(k, index))).max() for k in range(5)]
        naive += max(k for k in range(5) if seen[k] <= tolerance or k == 0) > 0
    assert certified > 0.9 * n
    assert wrong <= 0.05 * n + 3.0 * math.sqrt(0.05 * 0.95 * n)
    assert naive > 0.4 * n  # which is why a choice by estimates proves nothing
