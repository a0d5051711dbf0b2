"""Optimal orders of training rows for any multipliers, and the rankings that are kept of them.

The densities of the cells are estimated once, and any multipliers are a ratio of them. Rows are
ranked by models that have not seen them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from evenscore.gaps import GapFamily
from evenscore.gaps.family import family_values
from evenscore.learning.dual import DualSearch, Order, Spare
from evenscore.learning.posteriors import CellDensities, CellModels, cross_fitted
from evenscore.learning.ratio import RatioForm
from evenscore.learning.training_set import TrainingSet
from evenscore.learning.wrapping import fitted
from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.aucs import overall_auc

Folds = Sequence[tuple[Ints, Ints]]

_SEARCHED_ROWS = 131_072  # on which multipliers are looked for, at most

# ---------------------------------------------------------------------- what is kept


@final
@dataclass(frozen=True, eq=False)
class PosteriorRanking:
    """The optimal ratio of the densities of the cells, for some multipliers."""

    densities: CellDensities
    form: RatioForm
    multipliers: Floats

    def score(self, X: Any) -> Floats:
        """The angle of denominator and numerator, which grows with the ratio."""
        return self.form.score(self.densities.at(X), self.multipliers)


@final
@dataclass(frozen=True, eq=False)
class PlainRanking:
    """The probability of the second class, where nothing is asked of groups."""

    model: Any

    def score(self, X: Any) -> Floats:
        """Its logarithmic odds."""
        second = np.asarray(self.model.predict_proba(X), dtype=np.float64)[:, -1]
        found = np.clip(second, 1e-15, 1.0 - 1e-15)
        return np.asarray(np.log(found) - np.log1p(-found))


Ranking = PosteriorRanking | PlainRanking

# ---------------------------------------------------------------------- on the training rows


def masses_of(data: TrainingSet) -> Floats:
    """The shares of the cells, (2, K)."""
    found = np.bincount(data.cell, data.share, 2 * len(data.groups))
    return np.asarray(found.reshape(2, -1), dtype=np.float64)


@final
class Rankings:
    """The orders of training rows for any multipliers, and the search among them.

    By probabilities of class and group: three fits for each fold, and three of all rows.

    Attributes
    ----------
    families : list of constraints
        Whose gaps the multipliers are of.
    form : RatioForm
        The ratio that is optimal.
    search : DualSearch
        The orders looked at so far.
    spare : Spare or None
        The groups' part in the AUC, where that is a mean over them.
    """

    def __init__(
        self,
        estimator: Any,
        data: TrainingSet,
        families: Sequence[GapFamily],
        folds: Folds,
        labels: NDArray[Any],
        n_jobs: int | None,
    ) -> None:
        self.data, self.families, self.folds = data, list(families), folds
        self.masses = masses_of(data)
        self.form = RatioForm.of(self.families, self.masses)
        self.spare: Spare | None = None
        if self.form.groups is not None and self.form.shares is not None:
            self.spare = Spare(self.form.shares, self.form.of_groups(self.form.gaps))
        # Features are no matter here: multipliers are found on scores alone. Nor is the scale of
        # weights, which may be too large to be multiplied.
        weight = None if data.weight is None else data.weight / data.weight.mean()
        self._rows = replace(data, X=np.zeros((len(data), 0)), weight=weight)
        self._some: Ints | slice = slice(None)
        if len(data) > _SEARCHED_ROWS:
            self._some, self._rows = self._rows.thinned(_SEARCHED_ROWS)
        n_free = int(np.linalg.matrix_rank(self.form.gaps, tol=1e-9))
        self.search = DualSearch(self._look, len(self.form.gaps), n_free=max(n_free, 1))
        self._models, found = cross_fitted(estimator, data, folds, labels, n_jobs)
        whole = CellModels.fit(estimator, data, np.arange(len(data)), labels)
        self._final = CellDensities.fit(whole, found, data, self.masses)
        self._densities = self._corrected(found)
        self._by_fold: list[Floats] | None = None

    def _look(self, multipliers: Floats) -> tuple[float, Floats]:
        table = self._rows.grouped(self.scores(multipliers)[self._some])
        return overall_auc(table), family_values(table, self.families)

    def weights(self, order: Order) -> Floats | None:
        """What each group counts for, where the AUC is a mean over the groups."""
        return None if self.spare is None else self.form.weights(order.multipliers)

    @property
    def weighed(self) -> int:
        """The class whose groups count for so much: 1 for the positives."""
        assert self.form.groups is not None
        return int(np.abs(self.form.groups[:, len(self.data.groups) :]).sum() > 0.0)

    def _corrected(self, found: list[Floats]) -> Floats:
        """Densities of all rows; those of every other fold are corrected by the rows of the rest.

        Whoever has corrected the probabilities must not be judged by them.
        """
        densities = np.empty((len(self.data), self.masses.size))
        halves = [np.sort(np.concatenate([test for _, test in self.folds[k::2]])) for k in (0, 1)]
        for own, other in (halves, halves[::-1]):
            part = replace(self.data, X=np.zeros((len(self.data), 0))).rows(other)
            change = CellDensities.fit(
                self._final.models, [p[other] for p in found], part, self.masses
            )
            densities[own] = change.of([p[own] for p in found])
        return densities

    def scores(self, multipliers: Floats) -> Floats:
        """Of all rows, by models that have not seen them."""
        return self.form.score(self._densities, multipliers)

    def by_fold(self, multipliers: Floats) -> list[Floats]:
        """Of all rows, by the models of each fold; probabilities are asked for once."""
        if self._by_fold is None:
            parts = (replace(self._final, models=models) for models in self._models)
            self._by_fold = [part.at(self.data.X) for part in parts]
        return [self.form.score(densities, multipliers) for densities in self._by_fold]

    def final(self, multipliers: Floats) -> PosteriorRanking:
        """By models of all rows."""
        return PosteriorRanking(self._final, self.form, multipliers)


def free_ranking(estimator: Any, data: TrainingSet, labels: NDArray[Any]) -> PlainRanking:
    """The classifier itself, where nothing is asked of groups."""
    return PlainRanking(fitted(estimator, data, labels, np.arange(len(data))))
