import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from conftest import draw
from fairlearn.metrics import MetricFrame
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate

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


@pytest.mark.parametrize("metric", COLUMN_METRICS, ids=lambda m: m.__name__)
def test_signatures_are_alike(metric):
    parameters = inspect.signature(metric).parameters
    assert list(parameters)[:2] == ["y_true", "y_score"]
    for name in ("sensitive_features", "pos_label", "sample_weight", "group_order"):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    assert pickle.loads(pickle.dumps(metric)) is metric


def test_arguments_that_do_not_fit_are_named():
    args, kwargs = arguments()
    with pytest.raises(TypeError, match=r"auc_gap\(\) missing .*'sensitive_features'"):
        metrics.auc_gap(*args)
    with pytest.raises(TypeError, match=r"auc_gap\(\) got an unexpected .*'rate'"):
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
    with pytest.raises(ValueError, match="give group_order"):
        metrics.auc_gap(*args, **kwargs, signed=True)
    with pytest.raises(ValueError, match="give group_order"):
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


def test_roc_gap_over_an_interval():
    args, kwargs = arguments(3, n=400)
    grid = np.linspace(0.1, 0.4, 2001)
    at = [metrics.roc_gap(*args, **kwargs, on="positives", rate=float(a)) for a in grid]
    interval = dict(on="positives", interval=(0.1, 0.4))
    top = metrics.roc_gap(*args, **kwargs, **interval)
    assert abs(top) == pytest.approx(np.abs(at).max(), abs=2e-3)
    assert abs(top) >= np.abs(at).max() - 1e-12
    order = dict(signed=True, group_order=[0, 1])
    paper = [metrics.roc_gap(*args, **kwargs, **order, on="positives", rate=float(a)) for a in grid]
    mean = metrics.roc_gap(*args, **kwargs, **order, **interval, summary="mean_absolute")
    assert mean == pytest.approx(np.mean(np.abs(paper)), abs=2e-3)
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
    with pytest.raises(ValueError, match="two groups, but there are 3"):
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
    with pytest.raises(TypeError, match="roc_gap measures ROC constraints"):
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
