import json
import warnings
from dataclasses import FrozenInstanceError, replace

import matplotlib
import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import evenscore as es
from evenscore import LinearScorer, RocConstraint, metrics, tradeoff_path
from evenscore.auditing.plain import from_plain
from evenscore.choosing import TradeoffPath, TradeoffPoint
from evenscore.choosing.path import CHOSEN_HERE
from evenscore.datasets import load_german, make_square
from evenscore.inference import Estimate
from evenscore.paper.laws import SquareLaw

matplotlib.use("Agg")


def rows(n=400, n_groups=2, seed=0):
    """Three features: one useful and biased, one useful, one noise."""
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, n_groups, n)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.2 * y + 0.5 * group
    X[:, 1] += 0.8 * y
    return X, y, np.array(list("abcdef"))[group]


def path_of(X, y, groups, scorer=None, **options):
    options = dict(tolerances=[0.1, 0.02], cv=3, random_state=0) | options
    scorer = LinearScorer("inter_group") if scorer is None else scorer
    return tradeoff_path(scorer, X, y, sensitive_features=groups, **options)


@pytest.fixture(scope="module")
def square():
    """Example 1, on which the best AUC at every gap is known."""
    data = make_square(4000, random_state=0)
    scorer = LinearScorer("intra_group", compress=False, l2=0.0, folds=0)
    return data, path_of(data.X, data.y, data.groups, scorer, tolerances=None)


@pytest.fixture(scope="module")
def german():
    data = load_german()
    constraints = ["inter_group", RocConstraint(on="negatives", rates=(0.25,))]
    scorer = LinearScorer(constraints, folds=0)
    return data, path_of(data.X, data.y, data.groups, scorer, tolerances=[0.1, 0.02])


# ---------------------------------------------------------------------- what is estimated


def best_auc(gap):
    """The largest AUC of a linear score of the square whose gap is within ±gap, by the law."""
    laws = [SquareLaw(c) for c in np.linspace(0.0, 1.0, 401)]
    return max(law.auc() for law in laws if abs(law.intra_group_gap()) <= gap + 1e-3)


@pytest.mark.slow
def test_the_path_of_example_1(square):
    """Seconds: a path is many fits, and the paper's optimum shows only with many rows."""
    _, path = square
    assert [point.value for point in path.points] == [np.inf, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005]
    assert all(point.converged for point in path.points)
    for point in path.points:
        reached = min(point.value, abs(SquareLaw.best().intra_group_gap()))
        [gap] = point.gaps
        assert point.auc.low <= best_auc(reached) <= point.auc.high
        assert gap.low <= -reached <= gap.high
        assert gap.low < gap.value < gap.high
    aucs, gaps = zip(*((p.auc.value, p.worst_gap) for p in path.points), strict=True)
    assert np.all(np.diff(aucs) < 3e-3)
    assert np.all(np.diff(gaps) < 0.01)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [True])
def test_the_pool_of_the_scores_left_out(weighted):
    """Every number again, from the folds on, in plain steps."""
    from evenscore.choosing import validation

    X, y, groups = rows(300)
    weight = np.random.default_rng(3).uniform(0.2, 3.0, 300) if weighted else None
    path = path_of(X, y, groups, sample_weight=weight, tolerances=[0.05])
    rng = np.random.default_rng(0)
    rng.integers(2**31)  # the seed of the scorer
    folds = validation.draw_folds(validation.read_rows_of(X, y, groups, weight), 3, rng)
    w = np.ones(300) if weight is None else weight
    pool, aucs = np.empty(300), []
    for fold in range(3):
        train, test = folds != fold, folds == fold
        scorer = LinearScorer("inter_group", tolerance=0.05)
        kept = None if weight is None else weight[train]
        scorer.fit(X[train], y[train], sensitive_features=groups[train], sample_weight=kept)
        score = scorer.decision_function(X[test])
        share = np.empty(len(score))
        for k, row in enumerate(np.flatnonzero(test)):
            cell = (y == y[row]) & (groups == groups[row])
            share[k] = w[row] / w[cell & test].sum() * w[cell].sum() / w.sum()
        mean = np.average(score, weights=share)
        pool[test] = (score - mean) / np.sqrt(np.average((score - mean) ** 2, weights=share))
        aucs.append(roc_auc_score(y[test], score, sample_weight=w[test]))
    point = path.points[1]
    assert point.auc.value == pytest.approx(roc_auc_score(y, pool, sample_weight=w), abs=1e-5)
    gap = metrics.auc_gap(y, pool, sensitive_features=groups, sample_weight=weight)
    assert point.gaps[0].value == pytest.approx(gap, abs=1e-5)
    # The pool does not lose AUC to the differences between folds.
    assert point.auc.value == pytest.approx(np.mean(aucs), abs=0.01)


@pytest.mark.parametrize(("cv", "n_groups"), [(2, 2), (5, 2), (4, 3)])
def test_folds_keep_the_share_of_every_cell(cv, n_groups):
    from evenscore.choosing import validation

    X, y, groups = rows(203, n_groups)
    data = validation.read_rows_of(X, y, groups, None)
    folds = validation.draw_folds(data, cv, np.random.default_rng(0))
    for label in (0, 1):
        for group in np.unique(groups):
            sizes = np.bincount(folds[(y == label) & (groups == group)], minlength=cv)
            assert sizes.max() - sizes.min() <= 1
            assert sizes.min() > 0
    sizes = np.bincount(folds)
    assert sizes.max() - sizes.min() <= 1
    share = validation.balanced(data, folds == 0)
    assert share.sum() == pytest.approx(1.0)
    tested = y[folds == 0]
    assert share @ tested == pytest.approx(y.mean())


# ---------------------------------------------------------------------- the front


def made(pairs, gap_error=0.01, **options):
    """A path with given AUCs and gaps."""
    points = []
    for k, (auc, gap) in enumerate(pairs):
        auc = Estimate("AUC", auc, auc - 0.01, auc + 0.01, 0.95, "made")
        ends = gap - 2 * gap_error, gap + 2 * gap_error
        gap = Estimate("made", gap, *ends, 0.95, "made", first="a", second="b")
        fields = dict(parameter="tolerance", value=0.1 / (k + 1), converged=True) | options
        points.append(TradeoffPoint(auc=auc, gaps=(gap,), **fields))
    X, y, groups = rows()
    cell = ("positives of b", 7)
    return TradeoffPath(LinearScorer("inter_group"), tuple(points), X, y, groups, None, cell)


@pytest.mark.parametrize("seed", range(5))
def test_pareto_front_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    pairs = [(a / 10, g / 10) for a, g in rng.integers(-6, 7, (12, 2))]  # with ties, and signs
    expected = []
    for k, (auc, gap) in enumerate(pairs):
        beaten = False
        for other_auc, other_gap in pairs:
            as_good = other_auc >= auc and abs(other_gap) <= abs(gap)
            better = other_auc > auc or abs(other_gap) < abs(gap)
            beaten |= as_good and better
        if not beaten:
            expected.append(k)
    assert list(made(pairs).pareto) == expected


# ---------------------------------------------------------------------- selection


def test_the_rule_of_selection():
    """Trained to it: not contradicted. Otherwise: proven."""
    [point] = made([(0.8, 0.03)], gap_error=0.01, value=0.02).points
    assert point.meets(0.02)  # from 0.01 to 0.05: it may be
    assert not replace(point, converged=False).meets(0.02)
    assert not replace(point, value=0.05).meets(0.02)
    assert not replace(point, value=0.05).meets(0.049)
    assert replace(point, value=0.1).meets(0.051)
    assert replace(point, value=np.inf).meets(0.051)
    strength = replace(point, parameter="strength", value=0.0)
    assert not strength.meets(0.04)
    assert strength.meets(0.06)
    [beyond] = made([(0.8, -0.05)], gap_error=0.01, value=0.02).points
    assert not beyond.meets(0.02)
    unknown = replace(point.gaps[0], low=np.nan, high=np.nan)
    assert not replace(point, gaps=(unknown,)).meets(0.5)


@pytest.mark.parametrize(
    ("options", "tolerance", "reason"),
    [
        (dict(value=0.02), 0.02, "7 positives of b"),
        (dict(value=0.02, converged=False), 0.02, "conflict"),
        (dict(value=0.05), 0.02, "tolerances are larger"),
        (dict(parameter="strength", value=1.0), 0.02, "strengths are too small"),
        (dict(parameter="strength", value=1.0, gap_error=0.1), 0.02, "to prove it"),
    ],
)
def test_select_refuses_in_one_sentence(options, tolerance, reason):
    path = made([(0.8, 0.2), (0.7, -0.15)], **options)
    with pytest.raises(ValueError, match=reason) as refused:
        path.select(tolerance=tolerance)
    told = str(refused.value)
    for part in ("tolerance of 0.02", "-0.150", "made, a and b"):
        assert part in told


@pytest.mark.parametrize("tolerance", [-0.1, "x", np.nan, np.inf, None])
def test_select_checks_the_tolerance(tolerance):
    with pytest.raises(ValueError, match="tolerance"):
        made([(0.8, 0.1)]).select(tolerance=tolerance)


# ---------------------------------------------------------------------- kinds of data


@pytest.mark.slow
def test_german(german):
    """Seconds: a path is many fits."""
    data, path = german
    assert isinstance(path, es.TradeoffPath)
    assert len(path.points[0].gaps) == 2
    free, _, fair = path.points
    assert fair.worst_gap < free.worst_gap
    assert fair.worst is max(fair.gaps, key=lambda gap: abs(gap.value))
    scorer = path.select(tolerance=0.1)
    assert scorer.decision_function(data.X).shape == (1000,)
    with pytest.raises(FrozenInstanceError):
        path.points = ()
    with pytest.raises(FrozenInstanceError):
        fair.value = 1.0
    assert "LinearScorer: no constraints, tolerance=0.1, tolerance=0.02" in repr(path)


@pytest.mark.slow
def test_convergence_is_told_not_shown(capsys):
    """Seconds: a path is many fits."""
    X, y, groups = rows(400)
    X = X[:, :1] + 2.0 * (groups == "b")[:, None]  # a gap that no score of one feature closes
    constraints = ["inter_group", "intra_group", RocConstraint(on="both", rates=(0.25, 0.5))]
    scorer = LinearScorer(constraints, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = path_of(X, y, groups, scorer, tolerances=[0.0], verbose=True)
    assert [point.converged for point in path.points] == [True, False]
    assert capsys.readouterr() == ("", "")  # no terminal, no bar


# ---------------------------------------------------------------------- frame and plot


def test_plain_data(german):
    _, path = german
    content = path.to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert (content["format"], content["version"]) == ("evenscore.tradeoff", "2.2")
    assert content["choice"] == CHOSEN_HERE
    assert (content["scorer"], content["pareto"]) == ("LinearScorer", list(path.pareto))
    assert [point["value"] for point in content["points"]] == [None, 0.1, 0.02]
    for point, plain in zip(path.points, content["points"], strict=True):
        assert plain["converged"] is point.converged
        assert from_plain(Estimate, plain["auc"]).value == point.auc.value
        assert plain["worst_gap"]["title"] == point.worst.title
        assert plain["worst_gap"]["value"] == point.worst_gap
        for gap, content_of_gap in zip(point.gaps, plain["gaps"], strict=True):
            assert content_of_gap["title"] == gap.title
            back = from_plain(Estimate, content_of_gap)
            assert (back.key, back.value, back.low) == (gap.key, gap.value, gap.low)


@pytest.mark.parametrize(("backend", "kind"), [("polars", pl.DataFrame)])
def test_frame(german, backend, kind):
    _, path = german
    frame = path.to_frame(backend)
    assert isinstance(frame, kind)
    assert len(frame) == len(path.points)
    assert list(frame["value"]) == [np.inf, 0.1, 0.02]
    assert list(frame["auc"]) == [point.auc.value for point in path.points]
    assert list(frame["worst_gap"]) == [point.worst_gap for point in path.points]
    assert list(frame["pareto"]) == [k in path.pareto for k in range(3)]
    for point, name in zip(path.points, frame["worst_gap_name"], strict=True):
        row = path.points.index(point)
        assert abs(frame[name][row]) == point.worst_gap
        assert frame[name + " (low)"][row] == point.worst.low
        assert frame["worst_gap_low"][row] <= point.worst_gap <= frame["worst_gap_high"][row]


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (dict(strengths=[1.0]), "tolerances or strengths"),
        (dict(tolerances=[]), "tolerances"),
        (dict(tolerances=0.1), "tolerances .* 0.1"),
        (dict(tolerances=[0.1, -1]), "tolerances .* -1"),
        (dict(tolerances=None, strengths=["x"]), "strengths"),
        (dict(cv=1), "cv .* 1"),
        (dict(confidence_level=2), "confidence_level"),
        (dict(sample_weight=[1.0]), "sample_weight has 1 row"),
        (dict(sample_weight=np.r_[-1.0, np.ones(399)]), "sample_weight .*row 0"),
        (dict(scorer=LinearScorer()), "no constraints"),
        (dict(scorer=LinearScorer(RocConstraint(rates=(0.25,), tolerance=0.1))), "0.1, .*toleran"),
        (dict(cv=150), "150 folds"),
    ],
)
def test_bad_input(options, told):
    with pytest.raises(ValueError, match=told):
        path_of(*rows(), **options)


def test_bad_columns():
    X, y, groups = rows()
    with pytest.raises(TypeError, match="RepairedScorer"):
        path_of(X, y, groups, es.RepairedScorer(constraints="bnsp"))
    with pytest.raises(TypeError, match="LogisticRegression"):
        path_of(X, y, groups, LogisticRegression())
    with pytest.raises(ValueError, match=r"two classes, .* 3"):
        path_of(X, np.arange(400) % 3, groups)
    with pytest.raises(ValueError, match="only a"):
        path_of(X, y, ["a"] * 400)
    with pytest.raises(ValueError, match=r"X has 400 rows.*sensitive_features has"):
        path_of(X, y, groups[:7])
    with pytest.raises(ValueError, match=r"3 folds .* 0 negatives of b"):
        path_of(X, np.where(groups == "b", 1, y), groups)
