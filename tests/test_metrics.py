import inspect
import pickle
from itertools import cycle

import numpy as np
import pandas as pd
import pytest
import sklearn
from fairlearn.metrics import MetricFrame
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate
from support.making import draw

import evenscore as es
from evenscore import metrics
from evenscore.scores.aucs import auc_matrix

COLUMN_METRICS = [
    metrics.auc_matrix,
    metrics.auc_gap,
    metrics.elementary_gaps,
    metrics.gap_estimates,
    metrics.paired_differences,
    metrics.roc_gap,
    metrics.rate_gap,
    metrics.precision_recall_curve,
    metrics.average_precision,
    metrics.average_precision_gap,
    metrics.average_precision_estimates,
    metrics.area_between_curves,
    metrics.abroca,
]


def arguments(seed=0, **kwargs):
    y, score, group, weight = draw(seed, **kwargs)
    return (y, score), dict(sensitive_features=group, sample_weight=weight)


def test_auc_of_two_samples_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    for levels in (None, 10):
        y, score, _, weight = draw(rng, levels=levels, weights="real")
        found = metrics.auc(
            score[y == 0],
            score[y == 1],
            reference_weight=weight[y == 0],
            target_weight=weight[y == 1],
        )
        assert found == pytest.approx(roc_auc_score(y, score, sample_weight=weight), abs=1e-12)


def test_signatures_are_alike():
    for metric in COLUMN_METRICS:
        parameters = inspect.signature(metric).parameters
        assert list(parameters)[:2] == ["y_true", "y_score"]
        for name in ("sensitive_features", "pos_label", "sample_weight", "group_order"):
            assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert pickle.loads(pickle.dumps(metric)) is metric


def test_arguments_that_do_not_fit_are_named():
    args, kwargs = arguments()
    with pytest.raises(TypeError, match="'sensitive_features'"):
        metrics.auc_gap(*args)
    with pytest.raises(TypeError, match="'rate'"):
        metrics.auc_gap(*args, **kwargs, rate=0.5)


def test_gaps_are_sizes_and_signed_ones_flip_with_the_order():
    args, kwargs = arguments(weights="real")
    for name in es.constraint_names():
        if name == "reference_group":  # its reference is the first group: not antisymmetric
            continue
        asked = dict(constraint=name, signed=True)
        one = metrics.auc_gap(*args, **kwargs, **asked, group_order=[0, 1])
        two = metrics.auc_gap(*args, **kwargs, **asked, group_order=[1, 0])
        assert type(one) is float
        assert one == pytest.approx(-two)
        assert metrics.auc_gap(*args, **kwargs, constraint=name) == abs(one)
    with pytest.raises(ValueError, match="group_order"):
        metrics.auc_gap(*args, **kwargs, signed=True)
    with pytest.raises(ValueError, match="group_order"):
        metrics.roc_gap(*args, **kwargs, rate=0.5, signed=True)


def test_the_worst_pair_of_many_groups():
    args, kwargs = arguments(n_groups=4, n=300)
    scores = es.GroupedScores.from_arrays(*args, **kwargs)
    gaps = es.AucConstraint.named("bpsn").values(scores)
    assert metrics.auc_gap(*args, **kwargs, constraint="bpsn") == np.abs(gaps).max()
    roc = es.RocConstraint(on="both", rates=(0.3,)).values(scores)
    assert metrics.roc_gap(*args, **kwargs, on="both", rate=0.3) == np.abs(roc).max()


def test_supremum_includes_the_upper_end():
    score = np.r_[np.repeat(np.arange(1, 11), 10), np.repeat([9, 10], [90, 10]), 1, 1]
    y, group = np.r_[np.zeros(200, int), 1, 1], np.r_[np.repeat(["a", "b"], 100), ["a", "b"]]
    at = metrics.roc_gap(y, score, sensitive_features=group, rate=0.2)
    over = metrics.roc_gap(y, score, sensitive_features=group, interval=(0.05, 0.2))
    assert at == over == pytest.approx(0.8)


@pytest.mark.slow
def test_roc_gap_over_an_interval():
    args, kwargs = arguments(3, n=400)
    grid = np.linspace(0.1, 0.4, 601)
    at = [metrics.roc_gap(*args, **kwargs, on="positives", rate=float(a)) for a in grid]
    interval = dict(on="positives", interval=(0.1, 0.4))
    top = metrics.roc_gap(*args, **kwargs, **interval)
    assert abs(top) == pytest.approx(np.abs(at).max(), abs=2e-3)
    assert abs(top) >= np.abs(at).max() - 1e-12
    order = dict(signed=True, group_order=[0, 1])
    paper = [metrics.roc_gap(*args, **kwargs, **order, on="positives", rate=float(a)) for a in grid]
    mean = metrics.roc_gap(*args, **kwargs, **order, **interval, summary="mean_absolute")
    assert mean == pytest.approx(np.mean(np.abs(paper)), abs=4e-3)
    with pytest.raises(ValueError, match="either rate or interval"):
        metrics.roc_gap(*args, **kwargs)
    with pytest.raises(ValueError, match="one rate"):
        metrics.roc_gap(*args, **kwargs, rate=[0.1, 0.2])
    with pytest.raises(ValueError, match="summary must be"):
        metrics.roc_gap(*args, **kwargs, **interval, summary="max")


def test_auc_matrix_is_the_measure():
    args, kwargs = arguments(weights="real")
    expected = auc_matrix(es.GroupedScores.from_arrays(*args, **kwargs))
    np.testing.assert_array_equal(metrics.auc_matrix(*args, **kwargs).values, expected.values)


def test_elementary_gaps_need_two_groups():
    args, kwargs = arguments(n_groups=3)
    with pytest.raises(ValueError, match="there are 3"):
        metrics.elementary_gaps(*args, **kwargs)


def test_estimates_of_both_kinds_of_constraint():
    args, kwargs = arguments(n=400, weights="real")
    constraints = ["bnsp", es.RocConstraint(on="both", rates=(0.25,)), "inter_group"]
    found = metrics.gap_estimates(*args, **kwargs, constraints=constraints, confidence_level=0.9)
    assert [e.name for e in found] == [
        "bnsp",
        "roc_gap(negatives)",
        "roc_gap(positives)",
        "inter_group",
    ]
    expected = metrics.auc_gap(*args, **kwargs, constraint="bnsp")
    assert abs(found[0].value) == pytest.approx(expected, abs=1e-12)
    assert abs(found[1].value) == pytest.approx(metrics.roc_gap(*args, **kwargs, rate=0.25))
    assert all(e.low < e.value < e.high and e.confidence_level == 0.9 for e in found)


def test_constraint_of_the_wrong_kind():
    args, kwargs = arguments()
    with pytest.raises(TypeError, match="roc_gap"):
        metrics.auc_gap(*args, **kwargs, constraint=es.RocConstraint(rates=(0.5,)))


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 600)
    X = rng.normal(size=(600, 3)) + (group == "b")[:, None]
    y = (X[:, 0] + rng.normal(size=600) > 0.5).astype(int)
    return X, y, group


def test_as_a_scikit_learn_scorer_with_metadata_routing(people):
    X, y, group = people
    with sklearn.config_context(enable_metadata_routing=True):
        scorers = {
            "gap": make_scorer(
                metrics.auc_gap,
                response_method="decision_function",
                greater_is_better=False,
                constraint="inter_group",
            ).set_score_request(sensitive_features=True),
            "roc": make_scorer(
                metrics.roc_gap,
                response_method=("decision_function", "predict_proba"),
                greater_is_better=False,
                rate=0.25,
            ).set_score_request(sensitive_features=True, sample_weight=True),
        }
        params = dict(sensitive_features=group, sample_weight=np.ones(len(y)))
        model = LogisticRegression().set_fit_request(sample_weight=True)
        found = cross_validate(model, X, y, params=params, scoring=scorers, return_estimator=True)
        assert np.all(found["test_gap"] < 0)
        search = GridSearchCV(model, {"C": [0.1, 1]}, scoring=scorers, refit="gap")
        search.fit(X, y, **params)
        assert search.best_score_ <= 0
    best = search.best_estimator_.decision_function(X)
    assert metrics.auc_gap(y, best, sensitive_features=group) > 0


@pytest.mark.parametrize(
    ("rate", "of"), [*zip(es.rate_names(), cycle(["everyone", "negatives", "positives"]))]
)
def test_rate_gap_is_the_worst_of_all_pairs_at_all_cuts(rate, of):
    """By trying every cut that selects a share in the range, person by person."""
    y, score, group, weight = draw(11, n=1500, n_groups=3, levels=40, weights="real")
    pool = {"everyone": y >= 0, "negatives": y == 0, "positives": y == 1}[of]
    prevalence = weight[y == 1].sum() / weight.sum()

    def by_hand(chosen, own):
        w = [[weight[own & (y == c) & (chosen == s)].sum() for s in (0, 1)] for c in (0, 1)]
        (tn, fp), (fn, tp) = w
        standard = prevalence * tp / (tp + fn)
        return {
            "selection": (tp + fp) / (tp + fp + tn + fn),
            "fpr": fp / (fp + tn),
            "fnr": fn / (fn + tp),
            "error": (fp + fn) / (tp + fp + tn + fn),
            "precision": tp / (tp + fp),
            "standardised_precision": standard / (standard + (1 - prevalence) * fp / (fp + tn)),
            "false_omission": fn / (fn + tn),
        }[rate]

    def share(cut):
        return weight[pool & (score > cut)].sum() / weight[pool].sum()

    # All that select a share in the range, and the cut at its lower end: at most 20 %, just less.
    cuts = [cut for cut in np.unique(score) if 0.2 <= share(cut) <= 0.6]
    cuts += [min(cut for cut in np.unique(score) if share(cut) <= 0.2)]
    worst = 0.0
    for cut in cuts:
        values = [by_hand(score > cut, group == k) for k in range(3)]
        worst = max(worst, max(values) - min(values))
    found = metrics.rate_gap(
        y,
        score,
        sensitive_features=group,
        sample_weight=weight,
        rate=rate,
        cuts=es.Cuts(between=(0.2, 0.6), of=of),
    )
    assert found == pytest.approx(worst, abs=1e-9)


def test_rate_gap_has_a_sign_for_an_order_and_says_what_is_missing():
    args, kwargs = arguments(3, n=300)
    cuts = es.Cuts(at=0.4)
    size = metrics.rate_gap(*args, **kwargs, rate="fnr", cuts=cuts)
    signed = [
        metrics.rate_gap(*args, **kwargs, rate="fnr", cuts=cuts, signed=True, group_order=order)
        for order in ([0, 1], [1, 0])
    ]
    assert signed[0] == -signed[1]
    assert size == abs(signed[0]) > 0.0
    with pytest.raises(ValueError, match="order"):
        metrics.rate_gap(*args, **kwargs, rate="fnr", signed=True)
    with pytest.raises(ValueError, match="'tpr'"):
        metrics.rate_gap(*args, **kwargs, rate="tpr")
    (y, score), group = args, kwargs["sensitive_features"]
    keep = ~((y == 1) & (group == 1))
    with pytest.raises(ValueError, match=r"fnr_gap .*positives of 1"):
        metrics.rate_gap(y[keep], score[keep], sensitive_features=group[keep], rate="fnr")
    found = metrics.rate_gap(y[keep], score[keep], sensitive_features=group[keep], rate="fpr")
    assert found > 0.0
    with pytest.raises(ValueError, match="equal"):
        metrics.rate_gap(y, np.ones(len(y)), sensitive_features=group, rate="fpr")


def test_the_fairness_scorer_is_the_papers_criterion(people):
    X, y, group = people
    fair = es.RateConstraint("fpr", "fnr", cuts=es.Cuts(at=(0.3, 0.5)), tolerance=0.05)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = metrics.fairness_scorer(constraints=[fair, "bnsp"], strength=1.5, tolerance=0.02)
        scorer = pickle.loads(pickle.dumps(scorer))
        model = LogisticRegression().fit(X, y)
        found = scorer(model, X, y, sensitive_features=group)
        score = model.decision_function(X)
        table = es.GroupedScores.from_arrays(y, score, sensitive_features=group)
        bnsp = metrics.auc_gap(y, score, sensitive_features=group, constraint="bnsp")
        excess = sum(max(abs(gap) - 0.05, 0.0) for gap in fair.values(table)) + max(bnsp - 0.02, 0)
        assert excess > 0.1
        assert found == pytest.approx(roc_auc_score(y, score) - 1.5 * excess, abs=1e-12)
        search = GridSearchCV(LogisticRegression(), {"C": [1e-4, 1.0]}, scoring=scorer, refit=True)
        search.fit(X, y, sensitive_features=group)
        assert search.best_score_ == max(search.cv_results_["mean_test_score"])
        labels = np.where(y == 1, "yes", "no")
        named = metrics.fairness_scorer(constraints=[fair, "bnsp"], strength=0.0, pos_label="yes")
        model = LogisticRegression().fit(X, labels)
        found = named(model, X, labels, sensitive_features=group)
        assert found == pytest.approx(roc_auc_score(y, score), abs=1e-9)
        for bad in (-1.0, "x", np.inf, None, [], [1.0, 2.0], [-1.0], ["1"], "1"):
            with pytest.raises(ValueError, match=r"^strength "):
                metrics.fairness_scorer(constraints="bnsp", strength=bad)
        with pytest.raises(ValueError, match=r"^tolerance .*-1"):
            metrics.fairness_scorer(constraints="bnsp", tolerance=-1)
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        metrics.fairness_scorer(constraints="bnsp")


@pytest.mark.parametrize("make", [list, np.array])
def test_a_strength_for_every_constraint(people, make):
    X, y, group = people
    model = LogisticRegression().fit(X, y)
    with sklearn.config_context(enable_metadata_routing=True):

        def value(constraints, strength):
            scorer = metrics.fairness_scorer(constraints=constraints, strength=strength)
            return scorer(model, X, y, sensitive_features=group)

        fpr, asked = es.RateConstraint("fpr", cuts=es.Cuts(at=0.3)), ["bnsp", "intra_group"]
        free = value("bnsp", 0.0)
        alone = [free - value(one, 1.0) for one in (*asked, fpr)]
        assert min(alone) > 0.0
        found = value([*asked, fpr], make([2.0, 0.0, 0.5]))
        assert found == pytest.approx(free - 2.0 * alone[0] - 0.5 * alone[2], abs=1e-12)
        assert value("bnsp", make([3.0])) == value("bnsp", 3.0)
        assert value([*asked, fpr], 2.0) == value([*asked, fpr], make([2.0, 2.0, 2.0]))


SIZES = {
    "auc_gap": (metrics.auc_gap, {}),
    "auc_gap of bnsp": (metrics.auc_gap, {"constraint": "bnsp"}),
    "roc_gap": (metrics.roc_gap, {"rate": 0.25}),
    "roc_gap over an interval": (metrics.roc_gap, {"interval": (0.1, 0.5), "on": "both"}),
    "roc_gap, mean": (metrics.roc_gap, {"interval": (0.1, 0.5), "summary": "mean_absolute"}),
    "rate_gap": (metrics.rate_gap, {"rate": "fpr", "cuts": es.Cuts(between=(0.2, 0.5))}),
    "abroca": (metrics.abroca, {}),
    "area_between_curves": (metrics.area_between_curves, {"constraint": "inter_group"}),
    "average_precision_gap": (metrics.average_precision_gap, {}),
}
"""Every metric that gives a number and may be a scorer."""


def test_every_metric_that_may_be_a_scorer_is_looked_at():
    # `auc` takes two samples, `fairness_scorer` makes scorers, and the others give no number.
    results = ("auc", "roc_curve", "auc_matrix", "rates_at", "fair_thresholds", "gap_estimates",
               "fairness_scorer", "paired_differences", "elementary_gaps", "average_precision",
               "precision_recall_curve", "average_precision_estimates")  # fmt: skip
    assert {metric.__name__ for metric, _ in SIZES.values()} == {*metrics.__all__} - {*results}


NAMES = {
    "letters": ("a", "b", "c"),
    "the other way round": ("c", "b", "a"),
    "numbers": (2, 1, 3),
    "words": ("Überall", "30 to 39", "<30"),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_do_not_depend_on_what_groups_are_called(name):
    metric, options = SIZES[name]
    y, score, code, weight = draw(7, n=200, n_groups=3, levels=40, weights="real")
    found = set()
    for names in NAMES.values():
        groups = np.array(names, dtype=object)[code]
        for order in (None, list(names), list(reversed(names))):
            given = dict(sensitive_features=groups, sample_weight=weight, group_order=order)
            found.add(round(metric(y, score, **given, **options), 12))
    [size] = found
    assert size > 0.0


@pytest.fixture
def unfair():
    """A feature that is fair; another that tells more, but less and too much of one group."""
    rng = np.random.default_rng(3)
    code = rng.integers(0, 3, 900)
    y = (rng.random(900) < 0.5).astype(int)
    X = rng.normal(size=(900, 2))
    X[:, 0] += 0.8 * y
    X[:, 1] += np.where(code == 1, 3.0 + 1.5 * y, 3.0 * y)
    return X, y, code


class OneFeature(LogisticRegression):
    """The score is one of the features."""

    def __init__(self, feature=0):
        super().__init__()
        self.feature = feature

    def decision_function(self, X):
        return X[:, self.feature]


@pytest.mark.parametrize(("name", "names"), [*zip([*SIZES, "fairness_scorer"], cycle(NAMES))])
def test_grid_search_takes_the_fairest_whatever_groups_are_called(unfair, name, names):
    X, y, code = unfair
    groups = np.array(NAMES[names], dtype=object)[code]
    with sklearn.config_context(enable_metadata_routing=True):
        if name == "fairness_scorer":
            scorer = metrics.fairness_scorer(
                constraints=["inter_group", es.RateConstraint("fpr", cuts=es.Cuts(at=0.3))],
                strength=[1.0, 0.5],
                tolerance=0.02,
            )
        else:
            metric, options = SIZES[name]
            scorer = make_scorer(
                metric, response_method="decision_function", greater_is_better=False, **options
            ).set_score_request(sensitive_features=True)
        search = GridSearchCV(
            OneFeature(), {"feature": [1, 0]}, scoring=scorer, cv=3, error_score="raise"
        )
        search.fit(X, y, sensitive_features=groups)
    assert search.best_params_ == {"feature": 0}
    assert roc_auc_score(y, X[:, 1]) > roc_auc_score(y, X[:, 0])


def test_inside_a_metric_frame(people):
    """The gap between groups, by region: sensitive features travel as a sample parameter."""
    X, y, group = people
    region = np.where(np.arange(len(y)) % 3, "north", "south")
    frame = MetricFrame(
        metrics=metrics.abroca,
        y_true=y,
        y_pred=X[:, 0],
        sensitive_features=pd.Series(region, name="region"),
        sample_params={"sensitive_features": group},
    )
    for name in ("north", "south"):
        part = region == name
        expected = metrics.abroca(y[part], X[part, 0], sensitive_features=group[part])
        assert frame.by_group[name] == expected
