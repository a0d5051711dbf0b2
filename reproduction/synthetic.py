"""Examples 1 and 2 of the paper: linear scores learned again and again on new samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenscore.datasets import SyntheticSample, make_rings, make_square
from evenscore.gaps import AucConstraint, RocConstraint
from evenscore.paper import PaperScorer
from evenscore.scores import CLASSES, GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.aucs import auc_matrix, inter_group_curve
from evenscore.scores.curve import RocCurve
from reproduction.parts import Outcome
from reproduction.published import Example, Kind

RATE = 3 / 4  # of the ROC constraint
RATES = np.linspace(0.0, 1.0, 101)  # at which curves are kept
CURVES = ("H,G", "H0,G0", "H1,G1", "H0,H1", "G0,G1")
_N_TRAIN, _N_TEST = 10_000, 20_000
_L2 = 0.01


@dataclass(frozen=True)
class Experiment:
    """One example with one algorithm, trained at λ = 0 and at λ = 1."""

    example: Example
    kind: Kind

    @property
    def constraint(self) -> AucConstraint | RocConstraint:
        """The intra-group one, or equal false positive rates at 3/4."""
        if self.kind == "roc":
            return RocConstraint(on="negatives", rates=(RATE,))
        return AucConstraint.named("intra_group")


LEARNED = (Experiment("square", "auc"), Experiment("rings", "auc"), Experiment("rings", "roc"))
STRENGTHS = (0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Runs:
    """All runs of an experiment; the second axis is λ = 0, 1.

    `c`, `auc`, `auc_gap` (intra-group) and `roc_gap` (negatives at 3/4), signed, have shape
    (runs, 2); `curves` has (runs, 2, `CURVES`, `RATES`).
    """

    c: Floats
    auc: Floats
    auc_gap: Floats
    roc_gap: Floats
    curves: Floats

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Runs:
        """Put the parts of an experiment together."""
        parts = list(outcomes)
        return cls(*(np.concatenate([o[name] for o in parts]) for name in cls.__annotations__))


def draw(
    example: Example, n: int, random_state: np.random.Generator, uniform: Any = "radius"
) -> SyntheticSample[Any]:
    """A sample of an example."""
    if example == "square":
        return make_square(n, random_state=random_state)
    return make_rings(n, random_state=random_state, uniform=uniform)


def learn(example: Example, kind: Kind, runs: Sequence[int], n_iter: int, uniform: str) -> Outcome:
    """Learn at λ = 0 and 1 on every run's own sample, and judge on another."""
    experiment = Experiment(example, kind)
    judged = []
    for run in runs:
        rng = np.random.default_rng([run, 2021])  # the same samples for every algorithm
        train = draw(example, _N_TRAIN, rng, uniform)
        test = draw(example, _N_TEST, rng, uniform)
        scorer = PaperScorer(
            experiment.constraint, strength=1.0, hidden=(), l2=_L2, n_iter=n_iter, random_state=run
        )
        grid = [{"strength": strength} for strength in STRENGTHS]
        fits = scorer.fit_many(train.X, train.y, grid, sensitive_features=train.groups)
        judged.append([_judge(example, fit, test) for fit in fits])
    names = Runs.__annotations__
    return {name: np.array([[one[name] for one in run] for run in judged]) for name in names}


def _judge(example: Example, scorer: PaperScorer, test: SyntheticSample[Any]) -> dict[str, Any]:
    scores = GroupedScores.from_arrays(
        test.y, scorer.decision_function(test.X), sensitive_features=test.groups
    )
    matrix = auc_matrix(scores)
    return {
        "c": coefficient(example, scorer),
        "auc": matrix.overall,
        "auc_gap": float(AucConstraint.named("intra_group").values(scores)[0]),
        "roc_gap": float(inter_group_curve(scores, "negatives").evaluate(RATE)) - RATE,
        "curves": _curves(scores),
    }


def coefficient(example: Example, scorer: Any) -> float:
    """The c of s_c = c x₁ + (1−c) x₂ (Example 1) or −c x₁ + (1−c) x₂ (Example 2).

    It may lie outside [0, 1]; a score that falls with both features has none, and gives NaN.
    """
    origin, *ends = scorer.decision_function(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    first, second = (float(end - origin) for end in ends)
    if example == "rings":
        first = -first
    return first / (first + second) if first + second > 0 else np.nan


def _curves(scores: GroupedScores) -> Floats:
    """The curves named by `CURVES`, at `RATES`."""
    within = AucConstraint.named("intra_group").curves(scores)
    pooled = RocCurve(*(scores.pooled(on) for on in CLASSES))
    between = (inter_group_curve(scores, on) for on in CLASSES)
    return np.array([curve.evaluate(RATES) for curve in (pooled, *within, *between)])
