"""Parts equal the whole: every seam of learning, threads standing in for workers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parts import together

from evenscore.gaps import AucConstraint, Cuts, RateConstraint, RocConstraint
from evenscore.gaps.family import family_estimates, family_values
from evenscore.gaps.smooth import smooth_cells
from evenscore.learning.boosting import (
    Gradient,
    Likelihood,
    LinearStart,
    OwnPull,
    constant,
)
from evenscore.learning.diagnosis import along_features
from evenscore.learning.encoding import SpreadCodes
from evenscore.learning.exchange import ALONE
from evenscore.learning.features import FeatureScaling
from evenscore.learning.linear import LinearScorer
from evenscore.learning.linear_solving import Problem
from evenscore.learning.multipliers import AugmentedLagrangian
from evenscore.learning.objective import Objective, standardise
from evenscore.learning.task import Task
from evenscore.learning.training_set import TrainingSet, cut_at_prevalence
from evenscore.scores import arrays
from evenscore.scores.aucs import overall_auc
from evenscore.scores.brackets import auc_bracket

FAMILIES = (
    RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.2, 0.5), of="negatives")),
    AucConstraint.named("bnsp"),
    RocConstraint(on="both", rates=(0.25,)),
)


def rows(seed, n=160, n_groups=2, *, weighted=False, missing=False):
    """Rows with every cell, and a feature that says something about class and group."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.tile(np.arange(n_groups), 2), rng.integers(0, n_groups, n)])
    positive = np.concatenate([np.repeat([False, True], n_groups), rng.random(n) < 0.4])
    X = rng.normal(size=(len(codes), 3)) + np.column_stack([positive, codes, 0 * codes])
    X[:, 2] = rng.integers(0, 3, len(codes))
    if missing:
        X[rng.random(len(codes)) < 0.2, 0] = np.nan
    weight = rng.gamma(2.0, size=len(codes)) if weighted else None
    block = np.sort(rng.integers(0, 5, len(codes)))  # in the order of the rows
    names = tuple(f"group {k}" for k in range(n_groups))
    return TrainingSet(X, positive, codes, names, weight, block=block)


@st.composite
def parted(draw, **options):
    """Rows, and who holds which block: some workers may hold none, or lack a whole cell."""
    data = rows(
        draw(st.integers(0, 10**6)),
        n_groups=draw(st.sampled_from([2, 3])),
        weighted=draw(st.booleans()),
        **options,
    )
    size = draw(st.integers(2, 4))
    holder = np.array(draw(st.lists(st.integers(0, size - 1), min_size=5, max_size=5)))
    return data, [np.flatnonzero(holder[data.block] == k) for k in range(size)]


def held(data, index, exchange):
    """One worker's rows."""
    from dataclasses import replace

    return replace(data.rows(index), exchange=exchange)


def on_parts(function, data, parts):
    """What `function(training set, row numbers)` gives for every part."""
    return together(lambda index, exchange: function(held(data, index, exchange), index), parts)


def joined(pieces, parts):
    """Rows in their first order again."""
    whole = np.empty((sum(map(len, parts)), *pieces[0].shape[1:]))
    for piece, index in zip(pieces, parts, strict=True):
        whole[index] = piece
    return whole


def same(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_alone_an_exchange_is_the_identity():
    values = np.array([3.0, 1.0])
    assert ALONE.sum(values) is values
    assert ALONE.max(values) is values
    assert ALONE.alone
    assert ALONE.ends(values) == (1.0, 3.0)
    assert ALONE.total(2.0) == 2.0


@settings(max_examples=30)
@given(parted())
def test_what_is_counted_is_of_all(case):
    data, parts = case
    alone = data
    found = on_parts(
        lambda part, _: (
            part.cell_sizes,
            part.prevalence,
            part.n_observations,
            part.n_rows,
            part.share,
            part.reweighed().weight,
        ),
        data,
        parts,
    )
    for sizes, prevalence, observations, n, _, _ in found:
        np.testing.assert_array_equal(sizes, np.bincount(data.cell, minlength=len(sizes)))
        same(prevalence, alone.share[alone.positive].sum())
        same(observations, alone.n_observations)
        assert n == len(data)
    same(joined([one[4] for one in found], parts), alone.share)
    same(joined([one[5] for one in found], parts), alone.reweighed().weight)


@settings(max_examples=30)
@given(parted())
def test_standardised_scores_and_the_way_back(case):
    data, parts = case
    rng = np.random.default_rng(0)
    raw, gradient = 3.0 * rng.normal(size=len(data)) + 7.0, rng.normal(size=len(data))
    whole = standardise(raw, data.share)

    def work(part, index):
        one = standardise(raw[index], part.share, part.exchange)
        return one.score, one.pull_back(gradient[index]), one.mean, one.scale

    found = on_parts(work, data, parts)
    same(joined([one[0] for one in found], parts), whole.score)
    same(joined([one[1] for one in found], parts), whole.pull_back(gradient))
    assert len({one[2:] for one in found}) == 1  # everybody has the same numbers
    same(found[0][2:], (whole.mean, whole.scale))


@settings(max_examples=30)
@given(parted())
def test_smooth_cells(case):
    data, parts = case
    score = np.random.default_rng(1).normal(size=len(data))
    totals = np.bincount(data.cell, data.weight, 2 * len(data.groups)).astype(float)
    share = (1.0 if data.weight is None else data.weight) / totals[data.cell]
    weights = totals.reshape(2, -1)
    whole = smooth_cells(score, data.cell, share, weights, 0.3)
    found = on_parts(
        lambda part, index: smooth_cells(
            score[index], part.cell, share[index], weights, 0.3, part.exchange
        ),
        data,
        parts,
    )
    for one in found:
        assert one.grid == whole.grid
        same(one.mass, whole.mass)
        same(one.below, whole.below, 1e-11)
        same(one.auc, whole.auc, 1e-11)


@settings(max_examples=25, deadline=None)
@given(parted(), st.sampled_from(FAMILIES))
def test_the_objective_and_its_gradient(case, family):
    data, parts = case
    score = np.random.default_rng(2).normal(size=len(data))

    def respond(gaps):
        return float(np.sum(gaps**2)), 2.0 * gaps

    whole = data.objective([family], guards=True)
    expected = whole.evaluate(score, respond)

    def work(part, index):
        objective = part.objective([family], guards=True)
        return objective.evaluate(score[index], respond), objective.standard_errors()

    found = on_parts(work, data, parts)
    same(joined([one.gradient for one, _ in found], parts), expected.gradient, 1e-11)
    for one, errors in found:
        same(one.gaps, expected.gaps, 1e-11)
        same((one.auc, one.value), (expected.auc, expected.value), 1e-11)
        same(errors, whole.standard_errors())


@settings(max_examples=25, deadline=None)
@given(parted(), st.sampled_from(FAMILIES))
def test_strict_gaps_by_bins_are_those_of_the_scores(case, family):
    """So few scores all have bins of their own, nearly: gaps are exact but for a tie or two."""
    data, parts = case
    score = np.random.default_rng(3).normal(size=len(data))
    exact = data.objective([family]).strict(score)

    def work(part, index):
        objective = part.objective([family])
        return objective.strict(score[index]), objective.auc(score[index]), part.grouped(
            score[index]
        )  # fmt: skip

    found = on_parts(work, data, parts)
    for strict, auc, table in found:
        assert abs(overall_auc(table) - exact.auc) <= auc_bracket(table) + 1e-12
        assert abs(auc - exact.auc) < 5e-4
        assert strict.auc == auc
        np.testing.assert_allclose(strict.gaps, exact.gaps, atol=0.03)
        np.testing.assert_array_equal(strict.gaps, found[0][0].gaps)
        same(table.cell_weights.sum(), data.n_observations if data.weight is None
             else data.weight.sum())  # fmt: skip
        same(
            table.weight_squared.sum(),
            len(data) if data.weight is None else np.square(data.weight).sum(),
        )


@pytest.mark.slow
def test_strict_gaps_of_many_rows_are_within_the_bins():
    data = rows(5, n=60_000)
    score = data.X[:, 0] + 0.3 * data.X[:, 1]
    exact = data.objective(FAMILIES).strict(score)
    parts = np.array_split(np.arange(len(data)), 3)
    found = on_parts(lambda part, i: part.objective(FAMILIES).strict(score[i]), data, parts)
    np.testing.assert_allclose(found[0].gaps, exact.gaps, atol=6e-4)
    assert abs(found[0].auc - exact.auc) < 1e-6
    # What is reported knows how far off it may be, and is not.
    tables = on_parts(lambda part, i: part.grouped(score[i]), data, parts)
    estimates = family_estimates(tables[0], FAMILIES)
    values = family_values(data.grouped(score), FAMILIES)
    for estimate, value in zip(estimates, values, strict=True):
        assert abs(estimate.value - value) <= estimate.bracket + 1e-12
        assert estimate.bracket < 1e-3
        assert estimate.low < value < estimate.high


@settings(max_examples=25)
@given(parted(missing=True), st.integers(5, 400))
def test_a_sample_is_the_same_whoever_holds_what(case, size):
    data, parts = case
    expected = data.sampled(size)
    for found in on_parts(lambda part, _: part.sampled(size), data, parts):
        np.testing.assert_array_equal(found.X, expected.X)
        np.testing.assert_array_equal(found.cell, expected.cell)
        assert found.exchange is ALONE
        if expected.weight is None:
            assert found.weight is None
        else:
            same(found.weight, expected.weight)


@settings(max_examples=25)
@given(parted())
def test_rows_held_out_are_the_same_whoever_holds_what(case):
    data, parts = case
    if sum(map(bool, map(len, parts))) < 2:
        return
    asides = []
    for some in (parts, [np.concatenate(parts), np.zeros(0, dtype=int)]):

        def work(part, index):
            aside = part.hold_out(0.3, np.random.default_rng(4))[1]
            return np.zeros((0, 3)) if aside is None else aside.X

        asides.append(np.sort(np.concatenate(on_parts(work, data, some)), axis=0))
    np.testing.assert_array_equal(*asides)
    found = on_parts(
        lambda part, _: part.hold_out(0.3, np.random.default_rng(4))[0].cell_sizes, data, parts
    )
    assert np.all(found[0] > 0)  # no cell is emptied


@settings(max_examples=20)
@given(parted())
def test_likelihood_and_gradient_of_a_round(case):
    data, parts = case
    raw = data.X[:, 0] + 0.1 * np.arange(len(data)) / len(data)
    whole = Likelihood(data, 10)(raw)
    found = on_parts(lambda part, index: Likelihood(part, 10)(raw[index]), data, parts)
    for k in range(2):
        same(joined([one[k] for one in found], parts), whole[k], 1e-11)
    task = Task((FAMILIES[1],), 0.02)
    leaves = np.array([-0.2, 0.1, 0.4])
    moved = raw + leaves[np.arange(len(data)) % 3]

    def work(part, index):
        objective = task.objective(part)
        own = OwnPull(0.1, 20.0, 1.5, np.zeros(len(part)), part.exchange)
        slopes = Gradient(
            part, objective, AugmentedLagrangian(), task.aims(objective, 0.0), 20, own, round=1
        )
        first = slopes(raw[index])
        own.note(moved[index], leaves)
        return *first, own.total

    expected = work(data, np.arange(len(data)))
    found = on_parts(work, data, parts)
    for k in range(3):
        same(joined([one[k] for one in found], parts), expected[k], 1e-9)


@settings(max_examples=15, deadline=None)
@given(parted(missing=True))
def test_the_linear_start(case):
    data, parts = case
    whole = LinearStart.fit(data, (), (2,))
    for one in on_parts(lambda part, _: LinearStart.fit(part, (), (2,)), data, parts):
        assert one.columns == whole.columns
        same(one.coefficients, whole.coefficients, 1e-9)
        same(one.score(data.X), whole.score(data.X), 1e-9)


@settings(max_examples=25)
@given(parted(), st.booleans())
def test_features_and_what_varies(case, compress):
    data, parts = case
    data.X[:, 2] = (data.X[:, 2] > 1.0) * 4.0  # zero and one other value
    whole = FeatureScaling.fit(data.X, data.share, compress=compress)
    gradient = np.random.default_rng(0).normal(size=len(data))

    def work(part, index):
        scaling = FeatureScaling.fit(part.X, part.share, compress=compress, exchange=part.exchange)
        return (
            scaling,
            constant(part.X, part.exchange),
            constant(part.X[:, :0], part.exchange),
            SpreadCodes.of(part.X, (0,), (2,), part.exchange),
            along_features(part.X, gradient[index], part.exchange),
        )

    for scaling, still, nothing, codes, along in on_parts(work, data, parts):
        for name in ("centre", "spread", "scale", "mean"):
            same(getattr(scaling, name), getattr(whole, name))
        np.testing.assert_array_equal(scaling.tailed, whole.tailed)
        assert (still, nothing) == (False, True)
        assert codes == SpreadCodes.of(data.X, (0,), (2,))
        same(along, along_features(data.X, gradient), 1e-9)


def test_constant_columns():
    alike = np.array([[1.0, np.nan]] * 4)
    assert constant(alike)
    assert not constant(np.array([[1.0], [np.nan]]))
    for odd in ([[2.0, np.nan]], [[1.0, 3.0]]):  # which the other part does not have
        found = together(lambda X, exchange: constant(X, exchange), [alike, np.array(odd)])
        assert found == [False, False]
    assert together(lambda X, exchange: constant(X, exchange), [alike, alike[:0]]) == [True, True]


@settings(max_examples=8, deadline=None)
@given(parted())
def test_weights_of_a_linear_score(case):
    data, parts = case

    def work(part, index):
        problem = Problem(part.X, part.share, part.objective(()), 0.05)
        return problem.minimise(np.ones(3), lambda gaps: (0.0, gaps), 30)

    expected = work(data, None)
    for found in on_parts(work, data, parts):
        same(found, expected, 1e-7)


@settings(max_examples=20)
@given(parted())
def test_the_cut_at_the_prevalence(case):
    data, parts = case
    raw = data.X[:, 0]
    for found in on_parts(lambda part, i: cut_at_prevalence(raw[i], part), data, parts):
        above = data.share[raw > found].sum()
        assert abs(above - data.prevalence) <= 2.0 * data.share.max() + 1e-12


@pytest.mark.slow
def test_a_linear_scorer_learns_the_same_on_any_parts():
    """Strict gaps come from bins there: alone a little different, on parts all the same."""
    data = rows(11, n=5000)
    fair = RateConstraint("fnr", cuts=Cuts(between=(0.1, 0.4)), tolerance=0.02)

    def work(part, _):
        scorer = LinearScorer(fair, max_iter=5, validation_fraction=0.2, random_state=0)
        scorer.groups_, scorer.encoding_, scorer.group_feature_ = part.groups, None, None
        scorer.classes_, scorer.n_features_in_ = np.array([0, 1]), 3
        warnings = scorer.learn_from(part)
        return scorer, warnings

    alone = work(data, None)[0]
    results = [
        on_parts(work, data, [np.flatnonzero(np.isin(data.block, some)) for some in split])
        for split in (([0, 1], [2, 3, 4]), ([0], [1, 3], [2, 4], []))
    ]
    first = results[0][0][0]
    for scorer, _ in [one for result in results for one in result]:
        same(scorer.coef_, first.coef_, 1e-6)
        assert scorer.price_.auc == pytest.approx(first.price_.auc, abs=1e-6)
        assert str(scorer.verdicts_[0]) == str(first.verdicts_[0])
    assert first.price_.auc == pytest.approx(alone.price_.auc, abs=2e-3)
    assert first.price_.free == pytest.approx(alone.price_.free, abs=2e-3)
    # Who is held out is drawn row by row in parts.
    assert set(first.gaps_) == set(alone.gaps_) == {"train", "validation"}


@pytest.mark.parametrize("chunk", [7, 64])
def test_pieces_of_any_size_add_up(monkeypatch, chunk):
    """Rows are gone through in pieces: their size changes nothing but the last digits."""
    data = rows(3, n=500, weighted=True)
    raw = data.X[:, 0] + 0.5 * data.X[:, 1]
    gradient = np.random.default_rng(0).normal(size=len(data))

    def numbers():
        standard = standardise(raw, data.share)
        objective = Objective(data.positive, data.codes, 2, [FAMILIES[0]], weight=data.weight)
        evaluation = objective.evaluate(
            standard.score, lambda gaps: (gaps.sum(), np.ones_like(gaps))
        )
        own = OwnPull(0.1, 20.0, 1.0, np.zeros(len(data)))
        own.before = raw, gradient, np.abs(gradient)
        own.note(raw + np.where(raw > 0.0, 0.1, -0.3), np.array([0.1, -0.3]))
        return [
            standard.score,
            standard.pull_back(gradient),
            evaluation.gaps,
            evaluation.gradient,
            own.total,
            *Likelihood(data, 10)(raw),
        ]

    whole = numbers()
    monkeypatch.setattr(arrays, "CHUNK", chunk)
    for found, expected in zip(numbers(), whole, strict=True):
        same(found, expected)
