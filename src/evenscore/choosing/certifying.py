"""Choosing with a guarantee: fixed-sequence testing on people that no candidate has learned from.

Candidates are tested one after the other, in an order fixed before the held-out people are looked
at: each passes if every constraint is certified at level δ (`GapFamily.certify`: one statement
about all cuts, rates and pairs of groups), and the first that does not ends the testing. If some
candidate is less fair than the tolerance allows, let the first of these be the k-th: none at all is
wrongly passed unless that one is, because nothing after it is tested otherwise, and that has a
probability of δ at most. So *all* that passed are fair with probability 1 − δ, and the one of
largest AUC may be taken, whatever their number. (Fixed-sequence testing; the order used by "learn
then test". A choice by estimated gaps gives no such guarantee: benchmarks/certified.py has both.)

The order decides the power, never the guarantee: the candidate expected to be fairest comes first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenscore.choosing.candidates import (
    Given,
    Turn,
    all_fitted,
    as_fitted,
    check_groups,
    families_of,
    itself,
    listed,
    names_of,
    positive_of,
    scores_of,
)
from evenscore.choosing.certified import CandidateTest, CertifiedChoice, Outcome, in_words
from evenscore.choosing.path import TradeoffPath
from evenscore.choosing.validation import grid_of, seeded
from evenscore.gaps import ConstraintLike, EstimateSettings, GapFamily, as_constraints
from evenscore.gaps.family import family_estimates
from evenscore.inference.aucs import auc_estimates
from evenscore.inference.estimate import Estimate, check_between, check_level
from evenscore.learning.parameters import seed_of
from evenscore.learning.progress import progress
from evenscore.learning.training_set import TrainingSet
from evenscore.repairing import Repair
from evenscore.scores import GroupedScores
from evenscore.scores.sources import to_array


def certified_choice(
    candidates: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    constraints: ConstraintLike | None = None,
    tolerance: float = 0.05,
    confidence_level: float = 0.95,
    names: Sequence[str] | None = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    hold_out: float = 0.5,
    random_state: Any = 0,
    verbose: bool | int = False,
) -> CertifiedChoice:
    """The best candidate that is fair with a stated confidence, or by how much there is none.

    The candidates are tested **in the order given**, on rows that none of them has learned from,
    until the first that fails; of those that passed, the one of largest AUC is chosen. Put the one
    that you expect to be the fairest first, and the one you would like best last: whatever comes
    after a failure is not tested, and the order must not be chosen by looking at these rows.

    Fitted candidates are tested on all rows: these must be *held out*, not those that the
    candidates, or their order, come from. Candidates that are not fitted are fitted here, one by
    one, on a part of the rows, and tested on the rest, and `cost` says what that split costs. One
    scorer with constraints that is not fitted stands for itself at the tolerances of
    `tradeoff_path`, the smallest first.

    Parameters
    ----------
    candidates : list of scorers or of repairs, or one scorer
        Anything with `decision_function` or `predict_proba`; those whose score needs the group
        (`RepairedScorer`, `use_groups`) are told the groups. Or `Repair` objects.
    X : table
        Features, as the scorers take them; for repairs the column of scores to be repaired.
    y : column
        Labels of two classes.
    sensitive_features : column, or several
        The groups; of several columns their intersections.
    constraints : name, constraint or list of them, optional
        What is to be certified; by default what scorers were asked for. Repairs need it said.
    tolerance : float, default 0.05
        The largest gap that may be, of constraints that have no tolerance of their own.
    confidence_level : float, default 0.95
        The probability that whatever is certified is as fair as it says.
    names : list of texts, optional
        What to call the candidates.
    pos_label : label, optional
        The positive label, for repairs; a scorer knows its own.
    sample_weight : column of numbers, optional
        Weights of at least 0.
    cluster : column, or several, optional
        Who or what each row is about, where there are several rows per person, household or branch.
    hold_out : float, default 0.5
        The share of the rows to test on, if candidates are fitted here: the same of every class and
        group, clusters staying whole.
    random_state : int, default 0
        Draws the split, and the seed of a scorer that has none.
    verbose : bool, default False
        Show a progress bar, on a terminal or in a notebook.

    Returns
    -------
    CertifiedChoice
        The scorer, or None; every test with its certificate; and the result in words.

    Examples
    --------
    >>> from evenscore import LinearScorer
    >>> from evenscore.datasets import make_square
    >>> data = make_square(20_000, random_state=0)
    >>> choice = certified_choice(
    ...     LinearScorer("intra_group"), data.X, data.y, sensitive_features=data.groups)
    >>> choice
    <CertifiedChoice: tolerance=0.02; 3 of 7 candidates passed>
    >>> choice.scorer.tolerance, choice.n_fitted, choice.n_held_out
    (0.02, 10000, 10000)
    """
    given, alone = listed(candidates)
    families = families_of(given, constraints)
    asked = Asked(families, tolerance, confidence_level, verbose)
    repairs = [isinstance(one, Repair) for one in given]
    if any(repairs) and not all(repairs):
        raise TypeError("The candidates are scorers or repairs, not both: X is features or scores.")
    rows = Given(X, y, sensitive_features, sample_weight, cluster)
    data = rows.read(positive_of(y, pos_label, given, repaired=all(repairs)))
    if all_fitted(given):
        for one in given:
            check_groups(getattr(one, "groups", getattr(one, "groups_", ())), data)
        called = names_of(given, names)
        return choose(
            [Turn(n, itself(one)) for n, one in zip(called, given, strict=True)], rows, data, asked
        )
    rng = np.random.default_rng(seed_of(random_state))
    if alone:
        parameter, values = grid_of(given[0], as_constraints(given[0].constraints))
        values, scorer = values[::-1], seeded(given[0], rng)
        if names is not None:
            names = names_of([scorer] * len(values), names)

        def make(learned: Given) -> list[Turn]:
            turns = learned.turns(scorer, parameter, values)
            called = names or [turn.name for turn in turns]
            return [turn._replace(name=name) for turn, name in zip(turns, called, strict=True)]

        return choose_by_splitting(make, rows, data, asked, hold_out, rng)
    called = names_of(given, names)
    scorers = [(name, seeded(one, rng)) for name, one in zip(called, given, strict=True)]
    return choose_by_splitting(
        lambda learned: [Turn(name, learned.fitting(scorer)) for name, scorer in scorers],
        rows,
        data,
        asked,
        hold_out,
        rng,
    )


def certify_path(
    path: TradeoffPath,
    held_out: "Given | None",
    *,
    tolerance: float,
    confidence_level: float,
    hold_out: float,
    random_state: Any,
    verbose: bool | int,
) -> CertifiedChoice:
    """The best point of a path that is certified: see `TradeoffPath.certify`."""
    families = as_constraints(path.scorer.constraints)
    asked = Asked(families, tolerance, confidence_level, verbose)
    own = Given(path.X, path.y, path.sensitive_features, path.sample_weight, path.cluster)
    classes = np.unique(to_array(path.y, "y"))
    if held_out is None:
        # The path has seen all rows: the order is that of the parameter, not of any estimate.
        values = [point.value for point in reversed(path.points)]
        data = own.read(to_array(path.y, "y") == classes[1])
        rng = np.random.default_rng(seed_of(random_state))
        return choose_by_splitting(
            lambda learned: learned.turns(path.scorer, path.points[0].parameter, values),
            own,
            data,
            asked,
            hold_out,
            rng,
        )
    if held_out.same_rows(path.X):
        raise ValueError(
            "X holds the rows that the path was made from: a certificate needs people that no "
            "candidate has learned from. Leave X out, and a part of the path's rows is held out."
        )
    data = held_out.read(as_fitted(to_array(held_out.y, "y"), classes, "the path"))
    check_groups(own.read(to_array(path.y, "y") == classes[1]).groups, data)
    front = [path.points[k] for k in reversed(path.pareto)]  # of equals the more constrained
    front.sort(key=lambda point: np.nan_to_num(point.worst_gap, nan=np.inf))
    values = [point.value for point in front]
    if path.fitted:
        fitted = [path.fitted[path.points.index(point)] for point in front]
        turns = [Turn(str(p), itself(one)) for p, one in zip(front, fitted, strict=True)]
    else:
        turns = own.turns(path.scorer, path.points[0].parameter, values)
    return choose(turns, held_out, data, asked)


# ---------------------------------------------------------------------- the tests


@dataclass(frozen=True)
class Asked:
    """What is to be certified, and how sure it has to be; if `brief`, only what decides is told."""

    families: Sequence[GapFamily]
    tolerance: float
    level: float
    verbose: bool | int = False
    brief: bool = False

    def __post_init__(self) -> None:
        check_between(self.tolerance, "tolerance")
        check_level(self.level)
        if not self.families:
            raise ValueError("Say what is to be certified: pass constraints.")

    def test(self, name: str, scores: GroupedScores) -> CandidateTest:
        """A candidate's test, given its score of the people held out."""
        certificates = tuple(
            family.certify(
                scores,
                tolerance=self.tolerance,
                confidence_level=self.level,
                foresee=not self.brief,
            )
            for family in self.families
        )
        outcome: Outcome = "passed" if all(one.certified for one in certificates) else "failed"
        auc, _ = auc_estimates(scores, confidence_level=self.level)
        gaps: list[Estimate] = []
        if not self.brief:
            gaps = family_estimates(scores, self.families, EstimateSettings(self.level))
        return CandidateTest(name, outcome, auc, tuple(gaps), certificates)


def choose(turns: Sequence[Turn], rows: Given, data: TrainingSet, asked: Asked) -> CertifiedChoice:
    """Test candidates on the rows at the positions `data.X` until the first that fails."""
    best, chosen, tests = None, None, list[CandidateTest]()
    with progress("certified_choice", len(turns), verbose=asked.verbose) as advance:
        for k, (name, fitted) in enumerate(turns):
            candidate = fitted()
            score = scores_of(candidate, rows.X, rows.sensitive_features, name)
            tests.append(asked.test(name, data.grouped(score[data.X])))
            advance(name)
            if tests[k].outcome == "failed":
                break
            if chosen is None or _auc(tests[k]) > _auc(tests[chosen]):
                best, chosen = candidate, k
    tests += [CandidateTest(turn.name, "not tested") for turn in turns[len(tests) :]]
    return CertifiedChoice(
        best,
        chosen,
        tuple(tests),
        tuple(family.name for family in asked.families),
        float(asked.tolerance),
        float(asked.level),
        len(data),
        None,
        *in_words(tests, chosen, asked.level, len(data)),
    )


def _auc(test: CandidateTest) -> float:
    return np.nan if test.auc is None else test.auc.value


def choose_by_splitting(
    make: Callable[[Given], list[Turn]],
    rows: Given,
    data: TrainingSet,
    asked: Asked,
    share: float,
    rng: np.random.Generator,
) -> CertifiedChoice:
    """Fit candidates on a part of the rows, one by one, and test them on the rest."""
    train, test = data.hold_out(check_between(share, "hold_out"), rng)
    if test is None:
        raise ValueError(
            "The rows cannot be split into some to learn from and some to test on, all classes and "
            "groups being in both: there are too few of them, or too few clusters."
        )
    turns, held_out = make(rows.take(train.X)), rows.take(test.X)
    choice = choose(turns, held_out, replace(test, X=np.arange(len(test))), asked)
    return replace(choice, n_fitted=len(train), cost=cost_of_splitting(choice, len(train)))


def cost_of_splitting(choice: CertifiedChoice, n_fitted: int) -> str:
    """What it costs to test on a part of the rows, in words."""
    n = choice.n_held_out + n_fitted
    text = (
        f"The rows were split: the candidates learned from {n_fitted:,} of them and were tested on "
        f"the other {choice.n_held_out:,}."
    )
    decisive = choice.test.decisive
    if decisive is not None and not np.isnan(decisive.reach):
        text += (
            f" About the candidate {choice.test.name} a gap of at most {decisive.reach:.3f} could "
            f"be certified; with {n:,} people to test on it would be about "
            f"{decisive.reach_with(n / choice.n_held_out):.3f}."
        )
    if choice.certified:
        text += (
            " Fitted again on all rows it would be another score, about which nothing is certified."
        )
    return text
