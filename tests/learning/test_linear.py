import pickle
import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.making import allowances, often

from evenscore import LinearScorer, RocConstraint, constraint_names, metrics
from evenscore.datasets import load_german, make_rings, make_square
from evenscore.paper.laws import RingsLaw, SquareLaw


@parametrize_with_checks([LinearScorer()])
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # the checks warn about themselves
        check(estimator)


@pytest.fixture(scope="module")
def german():
    return load_german()


def rows(n=300, n_groups=2, seed=0):
    """Three features: one useful and biased, one useful, one noise."""
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, n_groups, n)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.2 * y + 0.5 * group
    X[:, 1] += 0.8 * y
    return X, y, group


def strict(scorer, X, y, group, constraint, weight=None):
    """AUC and worst gap of the fitted score, by the metrics a user would call."""
    score = scorer.decision_function(X)
    common = dict(sensitive_features=group, sample_weight=weight)
    gap = metrics.auc_gap(y, score, constraint=constraint, **common)
    return metrics.auc_matrix(y, score, **common).overall, gap


# ---------------------------------------------------------------------- known optima


def best_c(strength):
    grid = np.linspace(0.0, 1.0, 401)
    return grid[np.argmax([SquareLaw.objective(c, strength) for c in grid])]


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.0, 0.1, 0.2, 1.0, 20.0])
def test_example_1(strength):
    """s_c = c·x1 + (1 − c)·x2 up to scale, so that c = coef[0] / (coef[0] + coef[1])."""
    data = make_square(40_000, random_state=0)
    scorer = LinearScorer("intra_group", strength=strength, compress=False, l2=0.0)
    scorer.fit(data.X, data.y, sensitive_features=data.groups)
    c = scorer.coef_[0] / scorer.coef_.sum()
    assert np.all(scorer.coef_ > 0.0)
    assert c == pytest.approx({0.0: 0.15, 1.0: 0.5, 20.0: 0.5}.get(strength, best_c(strength)),
                              abs=0.02)  # fmt: skip
    # What counts: the value of the paper's objective, under the law and not the sample.
    assert SquareLaw.objective(c, strength) > SquareLaw.objective(best_c(strength), strength) - (
        1e-3 + 0.01 * strength
    )


def test_example_1_with_a_tolerance():
    """Among all c with a gap of 0.1 at most, the AUC is largest at that gap, on the side of 0.15"""
    data = make_square(20_000, random_state=1)
    scorer = LinearScorer("intra_group", tolerance=0.1, margin=0.0, compress=False, l2=0.0)
    scorer.fit(data.X, data.y, sensitive_features=data.groups)
    assert scorer.gaps_["train"][0].value == pytest.approx(-0.1, abs=2e-3)
    grid = np.linspace(0.15, 0.5, 400)
    gaps = [SquareLaw(c).intra_group_gap() for c in grid]
    expected = grid[np.argmin(np.abs(np.array(gaps) + 0.1))]
    assert scorer.coef_[0] / scorer.coef_.sum() == pytest.approx(expected, abs=0.03)


def all_directions(X, y, group, constraint):
    """AUC and gap of 720 directions, each by comparing every pair."""
    found = []
    negative, positive = ([k for k in range(len(y)) if y[k] == c] for c in (0, 1))
    for angle in np.linspace(0.0, 2 * np.pi, 720, endpoint=False):
        s = X @ np.array([np.cos(angle), np.sin(angle)])
        won = s[positive][None, :] > s[negative][:, None]

        def auc(a, b, won=won):
            return won[np.ix_(group[negative] == a, group[positive] == b)].mean()

        gap = auc(0, 1) - auc(1, 0) if constraint == "inter_group" else auc(0, 0) - auc(1, 1)
        found.append((won.mean(), gap))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["inter_group", "intra_group"])
@pytest.mark.parametrize("seed", [0, 2, 3, 7])
def test_a_tiny_problem_by_enumeration(seed, constraint):
    rng = np.random.default_rng(seed)
    n = 60
    group, y = rng.integers(0, 2, n), rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2))
    X += np.column_stack([1.2 * y + 0.8 * group, 0.3 * y - 0.3 * group * (1 - y)])
    table = all_directions(X, y, group, constraint)
    scorer = LinearScorer(constraint, tolerance=0.02, margin=0.0, compress=False, l2=0.0)
    scorer.fit(X, y, sensitive_features=group)
    auc, gap = strict(scorer, X, y, group, constraint)
    best = table[np.abs(table[:, 1]) <= 0.02, 0].max()
    assert best < table[:, 0].max() - 0.001  # the constraint binds
    assert abs(gap) <= 0.021
    assert auc > best - 0.02


@pytest.mark.parametrize("seed", range(3))
def test_without_constraints_the_best_direction(seed):
    X, y, group = rows(80, seed=seed)
    X = X[:, :2]
    scorer = LinearScorer(compress=False, l2=0.0, bandwidth=0.05).fit(X, y)
    best = all_directions(X, y, group, "inter_group")[:, 0].max()
    assert roc_auc_score(y, scorer.decision_function(X)) > best - 0.01


# ---------------------------------------------------------------------- tolerances

ROC = RocConstraint(rates=(0.125, 0.25))


@pytest.mark.parametrize("constraint", [*constraint_names(), ROC], ids=str)
def test_the_tolerance_is_reached_on_german(german, constraint):
    free = LinearScorer().fit(german.X, german.y)
    fair = LinearScorer(constraint).fit(german.X, german.y, sensitive_features=german.groups)
    assert fair.converged_
    gaps = [gap.value for gap in fair.gaps_["train"]]
    assert np.abs(gaps).max() <= 0.021
    found = metrics.gap_estimates(
        german.y,
        fair.decision_function(german.X),
        sensitive_features=german.groups,
        constraints=constraint,
    )
    np.testing.assert_allclose([gap.value for gap in found], gaps, atol=1e-12)
    one, two = (roc_auc_score(german.y, s.decision_function(german.X)) for s in (free, fair))
    assert two > one - 0.02
    assert len(fair.history_) == fair.n_iter_ <= 20


@pytest.mark.slow
def test_several_constraints_and_three_groups():
    X, y, group = rows(1500, n_groups=3)
    scorer = LinearScorer(["inter_group", "bnsp"], tolerance=0.03)
    scorer.fit(X, y, sensitive_features=group)
    assert scorer.converged_
    assert len(scorer.gap_names_) == 6
    allowed = allowances(scorer, X, y, group)  # no less than chance explains
    assert np.all(allowed >= 0.03)
    assert np.all(np.abs([gap.value for gap in scorer.gaps_["train"]]) <= allowed + 0.001)
    for name, most in (("inter_group", allowed[:3].max()), ("bnsp", allowed[3:].max())):
        assert abs(strict(scorer, X, y, group, name)[1]) <= most + 0.001


@pytest.mark.slow
def test_a_stronger_penalty_leaves_a_smaller_gap():
    X, y, group = rows(2000)
    gaps = []
    for strength in (0.0, 0.05, 0.2, 2.0):
        scorer = LinearScorer("inter_group", strength=strength).fit(X, y, sensitive_features=group)
        gaps.append(abs(scorer.gaps_["train"][0].value))
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0.1
    assert gaps[-1] < 5e-3


@pytest.mark.slow
def test_with_a_penalty_the_best_solution_seen_is_kept(german):
    """Strict gaps jump in small samples: what comes last may be far from the best."""
    for strength in (1.0, 100.0):
        scorer = LinearScorer(ROC, strength=strength)
        scorer.fit(german.X, german.y, sensitive_features=german.groups)
        assert scorer.converged_
        history = scorer.history_
        values = np.array(history.auc) - strength * np.abs(history.gaps).sum(axis=1)
        auc = roc_auc_score(german.y, scorer.decision_function(german.X))
        total = sum(abs(gap.value) for gap in scorer.gaps_["train"])
        assert auc - strength * total == pytest.approx(values.max(), abs=1e-9)


@pytest.mark.slow
def test_what_cannot_be_reached_is_named():
    rng = np.random.default_rng(0)
    group = rng.choice(["no", "yes"], 200)
    X, y = (group == "yes").astype(float)[:, None], rng.integers(0, 2, 200)
    scorer = LinearScorer(["intra_group", "zero_aeg"], tolerance=0.01)
    with pytest.warns(ConvergenceWarning, match=r"did not reach zero_aeg, no and yes: .* beyond"):
        scorer.fit(X, y, sensitive_features=group)
    assert not scorer.converged_


@pytest.mark.slow
def test_warnings_point_at_the_call_of_fit():
    X, y, group = rows()
    X = X[:, :1] + group[:, None]  # a gap that no score of one feature closes
    for options, sentence in (
        (dict(strength=0.5, max_iter=1), "while AUC − strength · |gaps| was still rising"),
        (dict(tolerance=0.0), "LinearScorer did not reach inter_group, 0 and 1"),
    ):
        with pytest.warns(ConvergenceWarning, match=re.escape(sentence)) as caught:
            LinearScorer("inter_group", **options).fit(X, y, sensitive_features=group)
        assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.slow
def test_many_rows_start_from_some_of_them():
    data = make_square(17_000, random_state=3)
    scorer = LinearScorer("intra_group", compress=False)
    scorer.fit(data.X, data.y, sensitive_features=data.groups)
    assert scorer.converged_
    assert len(scorer.history_) == scorer.n_iter_


@pytest.mark.slow
@pytest.mark.parametrize("uniform", ["area", "radius"])
def test_example_2(uniform):
    """s_c = −c·x1 + (1 − c)·x2: the best is c = 1/2; no gap at 3/4 is `RingsLaw.roc_fair`'s c."""
    data = make_rings(20_000, random_state=0, uniform=uniform)
    at_rate = RocConstraint(on="negatives", rates=(0.75,))
    fair = RingsLaw.roc_fair(0.75, uniform=uniform)
    options = dict(compress=False, l2=0.0, guards=False, margin=0.0)
    free = LinearScorer(compress=False, l2=0.0).fit(data.X, data.y)
    scorer = LinearScorer(at_rate, tolerance=0.002, **options)
    scorer.fit(data.X, data.y, sensitive_features=data.groups)
    for fitted, c in ((free, 0.5), (scorer, fair.c)):
        assert fitted.coef_[0] < 0.0 < fitted.coef_[1]
        found = fitted.coef_[0] / (fitted.coef_[0] - fitted.coef_[1])
        assert found == pytest.approx(c, abs=0.02)


def test_what_is_within_the_tolerance_is_not_given_up_for_less():
    """Four groups: solutions of high AUC with gaps below the tolerance, though above the aim."""
    rng = np.random.default_rng(0)
    X, group = rng.standard_normal((600, 4)), rng.integers(0, 2, 600)
    X[:, 0] += 0.8 * group
    y = (X[:, 0] + X[:, 1] + rng.standard_normal(600) > 0.8).astype(int)
    scorer = LinearScorer("inter_group", max_iter=60)
    scorer.fit(X, y, sensitive_features=2 * group + np.arange(600) % 2)
    gaps, aucs = np.array(scorer.history_.gaps), np.array(scorer.history_.auc)
    groups = 2 * group + np.arange(600) % 2
    within = np.all(np.abs(gaps) <= allowances(scorer, X, y, groups) + 0.001, axis=1)
    assert scorer.converged_
    assert within.any()
    assert within[scorer.history_.chosen]
    assert roc_auc_score(y, scorer.decision_function(X)) == pytest.approx(aucs[within].max())


def test_a_penalty_without_constraints_is_no_penalty():
    X, y, _ = rows()
    scorer = LinearScorer(strength=1.0).fit(X, y)
    assert scorer.converged_
    np.testing.assert_array_equal(scorer.coef_, LinearScorer().fit(X, y).coef_)


@pytest.mark.slow
def test_a_class_that_no_constraint_looks_at_may_be_missing():
    X, y, group = rows(n_groups=3)
    keep = (group != np.unique(group)[2]) | (y == 1)
    X, y, group = X[keep], y[keep], group[keep]
    constraint = RocConstraint(on="positives", rates=(0.25,), tolerance=0.1)
    LinearScorer(constraint).fit(X, y, sensitive_features=group)
    with pytest.raises(ValueError, match=r"there are no negatives of .* to learn from"):
        LinearScorer("intra_group").fit(X, y, sensitive_features=group)


@pytest.mark.slow
def test_a_score_worse_than_chance_is_not_kept():
    """Where groups differ much and rows are few, the first solution may be a local optimum."""
    for seed in range(often(5)):
        rng = np.random.default_rng(seed)
        y, group = rng.integers(0, 2, (2, 60))
        X = rng.standard_normal((60, 2)) + 0.5 * y[:, None]
        X += 2.0 * group[:, None] * rng.standard_normal(2)
        scorer = LinearScorer("inter_group", l2=0.0).fit(X, y, sensitive_features=group)
        assert roc_auc_score(y, scorer.decision_function(X)) >= 0.5


# ---------------------------------------------------------------------- weights


@pytest.mark.parametrize(
    "options",
    [
        dict(constraints="inter_group", tolerance=0.15),
        dict(constraints="bnsp", strength=0.05),
        dict(constraints=RocConstraint(rates=(0.25,)), tolerance=0.2),
        dict(),
    ],
)
def test_weights_are_repetitions(options):
    X, y, group = rows(150)
    times = np.random.default_rng(0).integers(0, 4, 150)
    groups = {"sensitive_features": group} if options else {}
    repeated = {name: np.repeat(column, times) for name, column in groups.items()}
    one = LinearScorer(**options).fit(X, y, sample_weight=times, **groups)
    two = LinearScorer(**options).fit(
        *(np.repeat(column, times, axis=0) for column in (X, y)), **repeated
    )
    # Restarts are guided by steps, and would make rounding errors large.
    assert "restart" not in one.history_.stage
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-4, atol=1e-5)
    # A cut between the same two scores:
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_rows_of_weight_zero_count_for_nothing():
    X, y, group = rows(200)
    weight = np.ones(200)
    weight[::3] = 0.0
    X[::3] = 1e6
    kept = weight > 0
    one = LinearScorer("bnsp").fit(X, y, sensitive_features=group, sample_weight=weight)
    two = LinearScorer("bnsp").fit(X[kept], y[kept], sensitive_features=group[kept])
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-6)
    assert one.intercept_ == pytest.approx(two.intercept_)


def test_gaps_under_weights_are_weighted():
    X, y, group = rows(400)
    weight = np.where((group == 1) & (X[:, 2] > 0), 5.0, 1.0)
    scorer = LinearScorer("inter_group", tolerance=0.02)
    scorer.fit(X, y, sensitive_features=group, sample_weight=weight)
    assert abs(strict(scorer, X, y, group, "inter_group", weight)[1]) <= 0.021


# ---------------------------------------------------------------------- kinds of input


@pytest.mark.parametrize("compress", [False, True])
def test_sparse_and_dense_give_the_same(german, compress):
    one, two = (
        LinearScorer("inter_group", compress=compress).fit(
            X, german.y, sensitive_features=german.groups
        )
        for X in (german.X, sparse.csr_matrix(german.X))
    )
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(
        one.decision_function(german.X),
        one.decision_function(sparse.csc_array(german.X)),
        atol=1e-10,
    )


@pytest.mark.slow
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library):
    frames = pytest.importorskip(library)
    X, y, group = rows()
    names = ["income", "âge", "x"]
    X_frame = frames.DataFrame({name: X[:, k] for k, name in enumerate(names)})
    groups = frames.Series(np.array(["u", "v"])[group].tolist())
    scorer = LinearScorer("inter_group")
    scorer.fit(X_frame, frames.Series(y), sensitive_features=groups)
    assert scorer.feature_names_in_.tolist() == names
    assert scorer.groups_ == ("u", "v")
    plain = LinearScorer("inter_group").fit(X, y, sensitive_features=group)
    np.testing.assert_allclose(plain.coef_, scorer.coef_, rtol=1e-9)
    np.testing.assert_allclose(
        scorer.decision_function(X_frame), plain.decision_function(X), atol=1e-9
    )
    with pytest.raises(ValueError, match="feature names"):
        scorer.predict(X_frame[names[::-1]])


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [["<script>", "&amp;"], ["None", "nan"], ["日本", "ελλάς"], [True, False], [1, "1"], ["", " "]],
    ids=repr,
)
def test_groups_of_any_name(names):
    X, y, group = rows()
    column = np.empty(len(group), dtype=object)
    column[:] = [names[k] for k in group]
    scorer = LinearScorer("inter_group").fit(X, y, sensitive_features=column)
    assert set(scorer.groups_) == set(names)
    assert abs(scorer.gaps_["train"][0].value) <= 0.021
    for name in names:
        assert str(name) in scorer.gap_names_[0]


@pytest.mark.slow
def test_groups_from_two_columns():
    pd = pytest.importorskip("pandas")
    X, y, group = rows(1200, n_groups=4)
    columns = {"sex": np.array(["f", "m"])[group % 2], "young": group >= 2}
    one = LinearScorer("inter_group", tolerance=0.05)
    one.fit(X, y, sensitive_features=pd.DataFrame(columns))
    assert one.groups_ == (("f", False), ("f", True), ("m", False), ("m", True))
    assert one.gap_names_[0] == "inter_group, f × False and f × True"
    assert one.converged_


@pytest.mark.slow
def test_labels_of_any_kind():
    X, y, group = rows()
    plain = LinearScorer("bnsp").fit(X, y, sensitive_features=group)
    for labels in (np.array(["bad", "good"])[y], 2 * y - 1, y.astype(bool)):
        scorer = LinearScorer("bnsp").fit(X, labels, sensitive_features=group)
        np.testing.assert_array_equal(scorer.coef_, plain.coef_)
        assert set(scorer.predict(X)) == set(labels)


# ---------------------------------------------------------------------- a good estimator


def test_the_score_is_what_the_documentation_says():
    X, y, group = rows()
    for compress in (False, True):
        scorer = LinearScorer("bnsp", compress=compress).fit(X, y, sensitive_features=group)
        Z = scorer.features_.transform(X) if compress else X
        np.testing.assert_allclose(
            scorer.decision_function(X), Z @ scorer.coef_ + scorer.intercept_, atol=1e-12
        )
        assert (scorer.decision_function(X) - scorer.intercept_).std() == pytest.approx(1.0)


@pytest.mark.parametrize("compress", [False, True])
def test_units_of_features_do_not_matter(compress):
    X, y, group = rows()
    scale = np.array([1e-4, 1.0, 1e5])
    one, two = (
        LinearScorer("bnsp", compress=compress).fit(Y, y, sensitive_features=group)
        for Y in (X, X * scale)
    )
    np.testing.assert_allclose(
        one.decision_function(X), two.decision_function(X * scale), atol=1e-6
    )


def test_features_far_from_zero_do_not_spoil_the_others(german):
    rng = np.random.default_rng(0)
    late = 300.0 * german.y + 1000.0 * rng.normal(size=len(german.y))
    aucs = []
    for offset in (0.0, 1.7e9):
        X = np.c_[german.X, offset + late]
        scorer = LinearScorer(compress=False).fit(X, german.y)
        aucs.append(roc_auc_score(german.y, scorer.decision_function(X)))
    assert aucs[0] == pytest.approx(aucs[1], abs=1e-3)


def test_l2_shrinks_towards_what_single_features_say():
    """The score has deviation one, so that ‖w‖ measures how features must cancel out."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    common = rng.normal(size=400)
    X = np.column_stack([common + 0.3 * y, common + 0.1 * rng.normal(size=400)])
    norms = [
        np.linalg.norm(LinearScorer(l2=l2, compress=False).fit(X, y).coef_)
        for l2 in (0.0, 1e-3, 1e-2, 1.0)
    ]
    assert norms == sorted(norms, reverse=True)
    assert norms[0] > 2 * norms[-1]


@pytest.mark.slow
def test_fit_alters_no_parameter_and_gives_the_same_again():
    X, y, group = rows()
    constraints = ["inter_group", RocConstraint(rates=(0.5,))]
    scorer = LinearScorer(constraints, validation_fraction=0.3, random_state=1, tolerance=0.05)
    before = dict(scorer.get_params())
    first = scorer.fit(X, y, sensitive_features=group).coef_
    after = scorer.get_params()
    assert all(after[name] is before[name] for name in before)
    assert constraints == ["inter_group", RocConstraint(rates=(0.5,))]
    np.testing.assert_array_equal(scorer.fit(X, y, sensitive_features=group).coef_, first)
    np.testing.assert_array_equal(clone(scorer).fit(X, y, sensitive_features=group).coef_, first)


def test_data_are_not_altered():
    X, y, group = rows()
    copies = X.copy(), y.copy(), group.copy()
    LinearScorer("bnsp").fit(X, y, sensitive_features=group).predict(X)
    for one, two in zip((X, y, group), copies, strict=True):
        np.testing.assert_array_equal(one, two)


def test_pickle():
    X, y, group = rows()
    scorer = LinearScorer([ROC, "bnsp"], tolerance=0.3).fit(X, y, sensitive_features=group)
    again = pickle.loads(pickle.dumps(scorer))
    np.testing.assert_array_equal(again.decision_function(X), scorer.decision_function(X))
    assert again.constraints == scorer.constraints
    assert again.gaps_["train"][0].value == scorer.gaps_["train"][0].value


@pytest.mark.slow
def test_rows_held_out_are_measured_with_intervals():
    X, y, group = rows(600)
    scorer = LinearScorer(["inter_group", RocConstraint(rates=(0.25,))], tolerance=0.05,
                          validation_fraction=0.4, random_state=0)  # fmt: skip
    scorer.fit(X, y, sensitive_features=group)
    assert list(scorer.gaps_) == ["train", "validation"]
    assert len(scorer.gaps_["validation"]) == len(scorer.gap_names_) == 3
    for gap in scorer.gaps_["validation"]:
        assert gap.low < gap.value < gap.high
    assert list(LinearScorer().fit(X, y).gaps_) == ["train"]


@pytest.mark.parametrize("more", [{}, {"tolerance": 0.1}, {"strength": 1.0}, {"cross_fit": 2}])
def test_groups_without_constraints_are_refused(more):
    X, y, group = rows()
    for constraints in ((), []):
        with pytest.raises(ValueError, match=r"^sensitive_features are given, but nothing is to be "
                                             r"equal between groups: pass constraints, such as .*, "
                                             r"or leave sensitive_features out\.$"):  # fmt: skip
            LinearScorer(constraints, **more).fit(X, y, sensitive_features=group)
    free = LinearScorer().fit(X, y)
    assert free.gaps_ == {"train": []}
    assert free.groups_ == ("all",)
    assert free.converged_


def test_useless_features():
    X, y, group = rows()
    zeros = LinearScorer("inter_group").fit(0.0 * X, y, sensitive_features=group)
    assert np.all(zeros.decision_function(0.0 * X) == 0.0)
    with_constant = LinearScorer("inter_group", tolerance=0.06).fit(
        np.c_[X, np.full(len(X), 7.0)], y, sensitive_features=group
    )
    plain = LinearScorer("inter_group", tolerance=0.06, l2=with_constant_l2(X))
    plain.fit(X, y, sensitive_features=group)
    assert "restart" not in plain.history_.stage  # which would make rounding errors large
    np.testing.assert_allclose(with_constant.coef_[:3], plain.coef_, rtol=1e-3, atol=1e-4)


def with_constant_l2(X):
    return 4.0 * (X.shape[1] + 1) / len(X)


def test_a_progress_bar_is_silent_away_from_a_terminal(capsys):
    X, y, group = rows()
    LinearScorer("bnsp", verbose=True).fit(X, y, sensitive_features=group)
    assert capsys.readouterr().out == ""


# ---------------------------------------------------------------------- scikit-learn's machinery


@pytest.mark.slow
def test_pipeline():
    X, y, group = rows()
    pipeline = make_pipeline(StandardScaler(), LinearScorer("inter_group"))
    pipeline.fit(X, y, linearscorer__sensitive_features=group)
    plain = LinearScorer("inter_group").fit(
        StandardScaler().fit_transform(X), y, sensitive_features=group
    )
    np.testing.assert_array_equal(pipeline[-1].coef_, plain.coef_)


def negative_gap(y, score, sensitive_features=None):
    return -metrics.auc_gap(y, score, sensitive_features=sensitive_features)


@pytest.mark.slow
def test_grid_search_with_routed_groups():
    X, y, group = rows(400)
    with config_context(enable_metadata_routing=True):
        scorer = LinearScorer("inter_group").set_fit_request(
            sensitive_features=True, sample_weight=True
        )
        gap = make_scorer(negative_gap, response_method="decision_function")
        gap.set_score_request(sensitive_features=True)
        auc = get_scorer("roc_auc").set_score_request(sample_weight=True)
        search = GridSearchCV(
            make_pipeline(StandardScaler().set_fit_request(sample_weight=False), scorer),
            {"linearscorer__strength": [0.0, 1.0]},
            scoring={"auc": auc, "gap": gap},
            refit="gap",
            cv=3,
            error_score="raise",
        )
        weight = np.ones(len(y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            search.fit(X, y, sensitive_features=group, sample_weight=weight)
    assert search.best_params_ == {"linearscorer__strength": 1.0}
    auc = search.cv_results_["mean_test_auc"]
    assert auc[0] > auc[1] > 0.6


@pytest.mark.slow
def test_cross_validate_with_groups_as_parameters():
    X, y, group = rows(400)
    scorer = LinearScorer("inter_group", tolerance=0.1)
    with config_context(enable_metadata_routing=True):
        routed = cross_validate(
            clone(scorer).set_fit_request(sensitive_features=True),
            X,
            y,
            params={"sensitive_features": group},
            scoring="roc_auc",
            cv=3,
            error_score="raise",
        )
    plain = cross_validate(
        scorer, X, y, params={"sensitive_features": group}, scoring="roc_auc", cv=3
    )
    np.testing.assert_array_equal(routed["test_score"], plain["test_score"])


# ---------------------------------------------------------------------- refusals


def refused(match, error=ValueError, X=None, y=None, group=(), weight=None, **options):
    default = rows(60)
    X, y = default[0] if X is None else X, default[1] if y is None else y
    if isinstance(group, tuple):
        group = default[2]
    scorer = LinearScorer(**{"constraints": "inter_group", **options})
    with pytest.raises(error, match=match) as caught:
        scorer.fit(X, y, sensitive_features=group, sample_weight=weight)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "bad", "match"),
    [
        *(("tolerance", bad, "tolerance must be") for bad in (-0.1, np.nan, np.inf, "0.1", [0.1])),
        *(("strength", bad, "strength must be") for bad in (-1, np.nan, np.inf, "1")),
        *(("validation_fraction", bad, "validation_fraction must be") for bad in (-0.1, 1, None)),
        *(("margin", bad, "margin must be") for bad in (-0.1, 1.5, np.nan, "a", None)),
        *(("bandwidth", bad, "bandwidth must be") for bad in (0, -1.0, np.nan, np.inf, "a", None)),
        *(("l2", bad, "l2 must be") for bad in (-1.0, np.nan, np.inf, "a")),
        *(("max_iter", bad, "max_iter must be a whole") for bad in (0, -1, 2.5, "a", True, None)),
        *(("max_inner_iter", bad, "max_inner_iter must be a whole") for bad in (0, 2.5, None)),
        ("constraints", "fairness", "no AUC constraint named 'fairness'"),
    ],
)
def test_bad_parameters_are_refused(name, bad, match):
    told = refused(match, **{name: bad})
    assert told.endswith(".")
    assert "\n" not in told


def test_a_bandwidth_too_small_is_refused():
    refused("too many to smooth", bandwidth=1e-8)


def test_bad_rows_are_refused():
    X, y, group = rows(60)
    refused("sensitive_features has 59 rows but X has 60", group=group[:-1])
    refused("inconsistent numbers of samples", y=y[:-1])
    refused("sample_weight", weight=np.ones(5))
    refused("Negative values in data passed to `sample_weight`", weight=-np.ones(60))
    refused("sample_weight contains NaN", weight=np.full(60, np.nan))
    refused("at least one non-zero", weight=np.zeros(60))
    refused("of one class only", weight=y.astype(float))
    for bad in (np.nan, np.inf):
        broken = X.copy()
        broken[3, 1] = bad
        refused("is missing|contains infinity", X=broken)
    missing = np.array(["a", "b"] * 30, dtype=object)
    missing[4] = None
    refused("sensitive_features is missing at row 4", group=missing)
    told = refused("one class only, yes: a score needs two", y=np.full(60, "yes"))
    assert "np." not in told
    refused("Only binary classification", y=np.arange(60) % 3)


def test_groups_that_cannot_be_compared_are_refused():
    _, y, group = rows(60)
    refused("inter_group compares groups: pass sensitive_features to fit", group=None)
    refused("sensitive_features holds only x", group=np.full(60, "x"))
    refused("there are no positives of 1 to learn from", group=np.where(y == 1, 0, group))
    weight = np.where((y == 0) & (group == 1), 0.0, 1.0)
    refused("there are no negatives of 1 to learn from", weight=weight)


def test_scoring_other_features_is_refused():
    X, y, _ = rows(60)
    scorer = LinearScorer().fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        scorer.predict(X[:, :2])
