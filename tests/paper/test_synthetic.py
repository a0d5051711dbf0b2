import numpy as np
import pytest
from evenscore.paper.synthetic import CURVES, RATES, Experiment, Runs
from support.reference import auc, roc

from evenscore.paper import synthetic
from evenscore.paper.laws import RingsLaw, SquareLaw
from evenscore.scores import GroupedScores


class Law:
    """A score that is known."""

    def __init__(self, law, shift):
        self.law, self.shift = law, shift

    def decision_function(self, X):
        return 3.0 * self.law.score(X) + self.shift


@pytest.mark.parametrize("c", [0.0, 0.15, 0.5, 1.0])
@pytest.mark.parametrize(("example", "law"), [("square", SquareLaw), ("rings", RingsLaw)])
def test_c_is_read_off_a_linear_score(example, law, c):
    assert synthetic.coefficient(example, Law(law(c), 7.0)) == pytest.approx(c, abs=1e-12)


def test_a_score_that_falls_everywhere_has_no_c():
    class Falling:
        def decision_function(self, X):
            return -X.sum(axis=1)

    assert np.isnan(synthetic.coefficient("square", Falling()))


@pytest.mark.slow
def test_curves_are_shares_above_the_cut():
    data = synthetic.draw("rings", 400, np.random.default_rng(0))
    score = RingsLaw(0.3).score(data.X)
    scores = GroupedScores.from_arrays(data.y, score, sensitive_features=data.groups)
    curves = synthetic._curves(scores)
    assert curves.shape == (len(CURVES), len(RATES))
    masks = {
        "H": data.y == 0,
        "G": data.y == 1,
        **{
            f"{c}{z}": (data.y == k) & (data.groups == z)
            for k, c in enumerate("HG")
            for z in (0, 1)
        },
    }
    for name, curve in zip(CURVES, curves, strict=True):
        reference, target = (score[masks[part]] for part in name.split(","))
        for rate, value in zip(RATES[::10], curve[::10], strict=True):
            assert value == pytest.approx(roc(reference.tolist(), target.tolist(), rate))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_runs_are_the_same_however_many_there_are():
    known = {"n_iter": 60, "uniform": "radius"}
    together = synthetic.learn("square", "auc", [0, 1], **known)
    alone = synthetic.learn("square", "auc", [1], **known)
    for name in Runs.__annotations__:
        np.testing.assert_array_equal(together[name][1:], alone[name])
    runs = Runs.of([alone, together])
    assert runs.auc.shape == (3, 2)
    assert runs.curves.shape == (3, 2, len(CURVES), len(RATES))


def test_the_measures_of_a_run_are_those_of_its_scores():
    test = synthetic.draw("square", 300, np.random.default_rng(1))
    scorer = Law(SquareLaw(0.2), 0.0)
    found = synthetic._judge("square", scorer, test)
    score = scorer.decision_function(test.X)
    negatives, positives = score[test.y == 0], score[test.y == 1]
    assert found["auc"] == pytest.approx(auc(negatives, positives))
    within = [
        auc(score[(test.y == 0) & (test.groups == z)], score[(test.y == 1) & (test.groups == z)])
        for z in (0, 1)
    ]
    assert found["auc_gap"] == pytest.approx(within[0] - within[1])


def test_an_experiment_knows_its_constraint():
    assert Experiment("square", "auc").constraint.name == "intra_group"
    assert Experiment("rings", "roc").constraint.rates == (0.75,)
