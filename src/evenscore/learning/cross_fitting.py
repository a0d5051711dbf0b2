"""Cross-fitting: every row is scored once, by a scorer that has not seen it.

What is asked for is G(f), the gap in the population of the final scorer f, learned on all n rows;
what is estimated is the gap Ĝ of the pooled scores of V scorers f_v, each learned without fold v:

    Ĝ − G(f) = [Ĝ − mean_v G(f_v)] + mean_v δ_v,    δ_v = G(f_v) − G(f).

The bracket is the error of testing: given the scorers, every fold is a sample they have not seen,
and the interval of a gap counts its variance. The second term is that the scorers tested are not
the final one. Were they smooth functions of means over their rows, the δ_v would cancel to first
order, the mean of the f_v being f. They are not quite: a tolerance is active in one fold and idle
in another, a solver stops early, cuts are made at steps. What is left goes along with the error
of testing, for both come from the same rows. It is bounded, (mean_v δ_v)² ≤ mean_v δ_v², and each
δ_v is estimated on common rows, where the noise of the rows themselves cancels: the gap of f_v on
all rows, less that of f. Their mean square is added to the variance; what it is too large by pays
for the correlation. That takes no more fits, and the more folds, the less it is: in the smooth case
1/(V − 1) of the variance of testing.

`benchmarks/coverage.py --parts cross_fit` measures how often such intervals hold.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv

from evenscore.gaps.family import GapFamily
from evenscore.learning.left_out import LeftOut
from evenscore.learning.objective import standardise
from evenscore.learning.task import Task
from evenscore.learning.training_set import TrainingSet
from evenscore.scores import CLASSES, GroupedScores
from evenscore.scores.arrays import Ints

if TYPE_CHECKING:
    from evenscore.learning.base import FairScorer

# ---------------------------------------------------------------------- gaps on new rows


def cross_fit(
    scorer: FairScorer, data: TrainingSet, task: Task, folds: int, rng: np.random.Generator
) -> tuple[LeftOut, list[GroupedScores]]:
    """Cut the rows into folds, and score each by scorers learned on the others.

    With the task's constraints and without, in units of their training scores. And what the
    constrained scorer of each fold makes of all rows, those trained on included. Folds keep
    clusters whole.
    """
    families = task.constraints
    _require_rows(data, folds, families)
    fold = data.folds(folds, rng)
    fair, free, by_fold = np.empty(len(data)), np.empty(len(data)), []
    nothing = replace(task, constraints=(), strength=None)
    for k in range(folds):
        kept = fold != k
        rows = data.rows(kept)
        for score, asked in ((fair, task), (free, nothing)):
            if asked is nothing and not families:
                break
            raw = learn_on(scorer, rows, asked).raw_score(data.X)
            training = standardise(raw[kept], rows.share)
            score[~kept] = (raw[~kept] - training.mean) / training.scale
            if asked is task:
                by_fold.append(data.grouped(raw))
    return LeftOut(data.bare, free if families else fair, fair), by_fold


def _require_rows(data: TrainingSet, folds: int, families: Sequence[GapFamily]) -> None:
    """Refuse folds in which a cell that some gap looks at would be empty, or a whole class."""
    if families:
        compared = np.any([f.cells(len(data.groups)).any(axis=0) for f in families], axis=0)
        kind, which = "every class and group compared", np.flatnonzero(compared)
        counts, unit, having = data.separable(data.cell, 2 * len(data.groups))
        smallest = int(which[np.argmin(counts[which])])
        name = data.cell_name(smallest)
    else:
        kind = "each class"
        counts, unit, having = data.separable(data.positive.astype(np.intp), 2)
        smallest = int(np.argmin(counts))
        name = CLASSES[smallest]
    if counts[smallest] < folds:
        raise ValueError(
            f"folds={folds} needs {folds} {unit} of {kind}, but there are {counts[smallest]} "
            f"{having}{name}."
        )


def learn_on(scorer: FairScorer, rows: TrainingSet, task: Task) -> FairScorer:
    """A scorer with the same parameters, learned on other rows; it gives raw scores, no more."""
    other: FairScorer = clone(scorer)
    other.know(scorer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what matters is said about the scorer itself
        other.learn(rows, task)
    return other


# ---------------------------------------------------------------------- folds


def cross_fitting_folds(
    cv: Any, data: TrainingSet, y: NDArray[Any], seed: int
) -> list[tuple[Ints, Ints]]:
    """For each model, the rows it is fitted on and those it scores.

    A number of folds is drawn within every class and group, clusters being left whole; a splitter
    says for itself.
    """
    if isinstance(cv, bool | str):
        raise ValueError(f"cv must be a number of folds or a splitter, not {cv!r}.")
    if not isinstance(cv, Integral):
        return split_by(cv, data.X, y, data.cluster)
    if cv < 2:
        raise ValueError(f"cv must be at least 2, not {cv!r}.")
    counts, unit, having = data.separable(data.positive.astype(np.intp), 2)
    if counts.min() < cv:
        raise ValueError(
            f"{cv} folds need {cv} {unit} of each class, but there are {counts.min()} {having}"
            f"{CLASSES[int(np.argmin(counts))]}: lower cv."
        )
    number = data.folds(int(cv), np.random.default_rng(seed))
    for name, members in zip(CLASSES, (~data.positive, data.positive), strict=True):
        if len(np.unique(number[members])) < 2:  # which only clusters that stay whole can do
            raise ValueError(
                f"The {name} are in too few clusters: in {cv} folds, one would train without any."
            )
    return [(np.flatnonzero(number != k), np.flatnonzero(number == k)) for k in range(int(cv))]


def split_by(
    cv: Any, X: Any, y: NDArray[Any], cluster: Ints | None = None
) -> list[tuple[Ints, Ints]]:
    """The splitter's own rows to train on and to score, for each of its folds.

    One that splits by groups is given the clusters; one that parts a cluster is refused.

    >>> from sklearn.model_selection import KFold
    >>> folds = split_by(KFold(2), np.zeros((5, 1)), np.arange(5) % 2)
    >>> [(len(train), len(test)) for train, test in folds]
    [(2, 3), (3, 2)]
    """
    splitter = check_cv(cv, y, classifier=True)
    routing = getattr(splitter, "get_metadata_routing", None)
    by_groups = routing is not None and routing().split.requests.get("groups") is True
    if by_groups and cluster is None:
        raise ValueError(
            f"{type(splitter).__name__} splits by groups, which fit does not take except as "
            "cluster: pass that, or give cv the splits themselves, "
            "list(splitter.split(X, y, groups))."
        )
    rows = np.arange(len(y))
    splits = splitter.split(X, y, cluster) if by_groups else splitter.split(X, y)
    folds = [(rows[train], rows[test]) for train, test in splits]
    times = np.zeros(len(y), dtype=np.intp)
    for k, (train, test) in enumerate(folds):
        times[test] += 1
        both = np.intersect1d(train, test)
        if len(both):
            raise ValueError(f"Fold {k} of cv trains on row {both[0]}, which it is to score.")
        parted = test[:0] if cluster is None else test[np.isin(cluster[test], cluster[train])]
        if len(parted):
            raise ValueError(
                f"Fold {k} of cv scores row {parted[0]} and trains on rows of the same "
                "cluster: let cv be a number of folds, or a splitter by groups."
            )
        if len(np.unique(y[train])) < 2:
            raise ValueError(f"Fold {k} of cv trains on one class only.")
    if times.min() != 1 or times.max() != 1:
        row = int(np.argmax(times != 1))
        where = "in no fold" if times[row] == 0 else f"in {times[row]} folds"
        raise ValueError(f"cv leaves row {row} out {where}: every row must be left out once.")
    return folds
