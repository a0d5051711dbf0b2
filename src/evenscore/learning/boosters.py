"""The tree libraries that `BoostedScorer` can grow its trees with.

A `Booster` is the little that is asked of such a library: to add one tree at a time along a
gradient that the caller gives, and to score. LightGBM comes with the extra `boosted`; another one
is a subclass, passed as `BoostedScorer(booster=...)` or entered in `BOOSTERS` under a name.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self, final

import numpy as np
from joblib import cpu_count, effective_n_jobs
from scipy import sparse

from evenscore.extras import require
from evenscore.learning.tree_text import joined, parts_of, understood
from evenscore.scores.arrays import Floats

Slopes = Callable[[Floats], tuple[Floats, Floats]]
"""From the scores of the training rows to the gradient and the curvature at each of them."""

FEW = 2000  # rows, below which more folds and slower learning pay
_MANY = 100_000  # rows, from which on more threads pay


@final
@dataclass(frozen=True)
class TreeSettings:
    """How trees are grown.

    Attributes
    ----------
    learning_rate : float
        What a leaf is multiplied by.
    max_leaves : int
        Of a tree.
    min_rows : int
        Of a leaf.
    l2 : float
        Added to the curvature of a leaf.
    features_per_tree, features_per_split, rows_per_tree : float
        Shares, drawn at random.
    max_bins : int
        Values that are told apart in a feature.
    categorical : tuple of int
        Columns that hold codes of categories.
    monotone : tuple of int
        A sign for every feature, 0 for none; empty if there is none at all.
    seed : int
    threads : int
        0 for as many as OpenMP allows.
    """

    learning_rate: float
    max_leaves: int
    min_rows: int
    l2: float
    features_per_tree: float
    features_per_split: float
    rows_per_tree: float
    max_bins: int
    categorical: tuple[int, ...]
    monotone: tuple[int, ...]
    seed: int
    threads: int

    @property
    def random(self) -> bool:
        """Whether a tree is left to chance: where one finds no split, the next may."""
        return min(self.features_per_tree, self.features_per_split, self.rows_per_tree) < 1.0


class Booster(ABC):
    """Trees that are added one by one; a subclass for every library.

    What a library cannot do it need not: the flags say what may be asked of it.
    """

    takes_missing: ClassVar[bool] = False
    """Features may be NaN."""
    takes_sparse: ClassVar[bool] = False
    """Features may be a sparse matrix."""
    takes_categories: ClassVar[bool] = False
    """`TreeSettings.categorical` is followed."""
    takes_monotone: ClassVar[bool] = False
    """`TreeSettings.monotone` is followed."""
    packages: ClassVar[tuple[str, ...]] = ()
    """What it needs of the packages in `evenscore.extras`: a fit asks for them first."""

    @classmethod
    @abstractmethod
    def begin(cls, X: Any, offset: Floats, settings: TreeSettings) -> Self:
        """No tree yet.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
            Features of the training rows.
        offset : array of shape (n,)
            The scores that trees are added to.
        settings : TreeSettings
            How trees are grown.
        """

    @abstractmethod
    def grow(self, slopes: Slopes) -> bool:
        """Add a tree.

        Parameters
        ----------
        slopes : function
            Called once, with the scores of the training rows, for gradient and curvature.

        Returns
        -------
        bool
            Whether there was a tree to add.
        """

    @property
    @abstractmethod
    def n_trees(self) -> int:
        """Trees so far."""

    @abstractmethod
    def training_scores(self) -> Floats:
        """The scores of the training rows, offset and trees together."""

    def fork(self) -> Self | None:
        """A booster that goes on from these trees by itself; None if the library cannot.

        Its trees are counted from the first, those before the fork included. Neither this booster
        nor a fork made earlier is to grow afterwards.
        """
        return None

    def last_leaves(self) -> Floats | None:
        """The values of the leaves of the last tree, as added to scores; None if not known."""
        return None

    @abstractmethod
    def predict(
        self, X: Any, *, first: int = 0, last: int | None = None, threads: int = 1
    ) -> Floats:
        """What the trees from number `first` up to before `last` add to the score of each row."""

    @abstractmethod
    def to_text(self, n_trees: int) -> str:
        """The first trees, as text."""

    @classmethod
    @abstractmethod
    def from_text(cls, text: str) -> Self:
        """Trees that can predict; `grow` and `training_scores` need not work."""

    @classmethod
    def check_text(cls, text: str, n_features: int) -> None:
        """Refuse a text that is not one of trees that take so many features.

        Parameters
        ----------
        text : str
            From a file that may have been altered.
        n_features : int
            How many features are going to be scored.

        Raises
        ------
        ValueError
            With one sentence.
        """
        cls.from_text(text)


@final
class LightGBMBooster(Booster):
    """Trees of LightGBM, in its own text format."""

    takes_missing = takes_sparse = takes_categories = takes_monotone = True
    packages = ("lightgbm",)

    def __init__(
        self,
        model: Any,
        rows: Any = None,
        settings: TreeSettings | None = None,
        before: str = "",
    ) -> None:
        self.model, self.rows, self.settings = model, rows, settings
        self.before = before  # the trees it was forked from, as text
        self.n_before = len(parts_of(before)[1]) if before else 0

    @classmethod
    def begin(cls, X: Any, offset: Floats, settings: TreeSettings) -> Self:
        """A `lightgbm.Booster` without objective: its gradients come from outside."""
        import lightgbm

        options = cls._options(settings)
        rows = lightgbm.Dataset(
            _matrix(X),
            categorical_feature=list(settings.categorical),
            params=options,
            init_score=offset,
            free_raw_data=True,
        )
        return cls(lightgbm.Booster(options, rows), rows, settings)

    @staticmethod
    def _options(settings: TreeSettings) -> dict[str, Any]:
        """What LightGBM calls the settings."""
        options: dict[str, Any] = {
            "objective": "none",
            "learning_rate": settings.learning_rate,
            "num_leaves": settings.max_leaves,
            "min_data_in_leaf": settings.min_rows,
            "min_sum_hessian_in_leaf": 1e-3,  # with 0, LightGBM fails on small bags
            "min_data_in_bin": 1,
            "feature_pre_filter": False,
            "lambda_l2": settings.l2,
            "feature_fraction": settings.features_per_tree,
            "feature_fraction_bynode": settings.features_per_split,
            "bagging_fraction": settings.rows_per_tree,
            "bagging_freq": 1,
            "max_bin": settings.max_bins,
            "seed": settings.seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": settings.threads,
            "verbosity": -1,
        }
        if settings.monotone:
            options["monotone_constraints"] = list(settings.monotone)
        return options

    def fork(self) -> Self:
        """Another `lightgbm.Booster` on the same binned rows, starting from the scores so far.

        LightGBM starts over with whatever else is grown on rows whose initial score has changed.
        """
        import lightgbm

        assert self.settings is not None
        self.rows.set_init_score(self.training_scores())
        model = lightgbm.Booster(self._options(self.settings), self.rows)
        before = self.to_text(self.n_trees) if self.n_trees else ""
        return type(self)(model, self.rows, self.settings, before)

    def last_leaves(self) -> Floats:
        """Read off the text of the last tree."""
        last = self.model.current_iteration() - 1
        text = self.model.model_to_string(start_iteration=last, num_iteration=1)
        _, values = text.split("\nleaf_value=", 1)
        return np.array(values[: values.index("\n")].split(), dtype=np.float64)

    def grow(self, slopes: Slopes) -> bool:
        """One round of LightGBM."""
        return not self.model.update(fobj=lambda raw, rows: slopes(raw))

    @property
    def n_trees(self) -> int:
        """Rounds so far."""
        return self.n_before + int(self.model.current_iteration())

    def training_scores(self) -> Floats:
        """The scores that LightGBM keeps, which it hands out to metrics only."""
        scores: list[Floats] = []

        def metric(raw: Floats, rows: Any) -> tuple[str, float, bool]:
            scores.append(np.array(raw, dtype=np.float64))
            return "scores", 0.0, True

        self.model.eval_train(feval=metric)
        return scores[0]

    def predict(
        self, X: Any, *, first: int = 0, last: int | None = None, threads: int = 1
    ) -> Floats:
        """Raw scores of some rounds."""
        last = self.n_trees if last is None else last
        raw = np.zeros(X.shape[0])
        parts = [(self.model, self.n_before, self.n_trees)]
        if first < self.n_before:
            parts.insert(0, (_lightgbm_model(self.before), 0, self.n_before))
        for model, start, end in parts:
            begin, stop = max(first, start), min(last, end)
            if begin < stop or (start == end == 0):
                raw += model.predict(
                    _matrix(X),
                    raw_score=True,
                    start_iteration=begin - start,
                    num_iteration=stop - begin,
                    num_threads=threads,
                )
        return raw

    def to_text(self, n_trees: int) -> str:
        """LightGBM's text format; of no trees at all, too."""
        own = str(self.model.model_to_string(num_iteration=max(n_trees - self.n_before, 1)))
        if not self.before:
            return own if n_trees else joined(own, n_trees=0)
        if n_trees == self.n_before:
            return self.before
        return joined(self.before, own, n_trees=n_trees)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read once and kept: a scorer holds (and saves) nothing but the text."""
        return cls(_lightgbm_model(text))

    @classmethod
    def check_text(cls, text: str, n_features: int) -> None:
        """Every number of the text is looked at: LightGBM itself would crash on some."""
        understood(text, n_features)


@lru_cache(maxsize=8)
def _lightgbm_model(text: str) -> Any:
    require("BoostedScorer", "lightgbm")
    import lightgbm

    return lightgbm.Booster(model_str=understood(text))


def _matrix(X: Any) -> Any:
    """X as LightGBM takes it."""
    return sparse.csr_matrix(X) if sparse.issparse(X) else X


BOOSTERS: dict[str, type[Booster]] = {"lightgbm": LightGBMBooster}
"""The tree libraries by name."""


def booster_class(booster: str | type[Booster]) -> type[Booster]:
    """The class that a name or a class stands for.

    >>> booster_class("lightgbm").__name__
    'LightGBMBooster'
    """
    if isinstance(booster, type) and issubclass(booster, Booster):
        return booster
    if isinstance(booster, str) and booster in BOOSTERS:
        return BOOSTERS[booster]
    raise ValueError(
        f"booster must be {' or '.join(map(repr, BOOSTERS))} or a subclass of Booster, "
        f"not {booster!r:.80}."
    )


def tree_threads(n_jobs: int | None, n_rows: int) -> int:
    """As many as asked for, up to all there are; else one, of many rows what OpenMP allows (0).

    The trees of some ten thousand rows take a moment each. Threads that wait for each other many
    times a second gain little on an idle machine, and on a busy one they cost minutes.
    """
    if n_jobs is not None:
        return min(int(effective_n_jobs(int(n_jobs))), int(cpu_count()))
    return 1 if n_rows < _MANY else 0


def default_trees(n: int, X: Any, seed: int, n_jobs: int | None) -> Any:
    """The classifier that is repaired if none is given: more and larger trees for more rows."""
    require("RepairedScorer without an estimator", "lightgbm")
    from lightgbm import LGBMClassifier

    d = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else 1
    root = float(np.sqrt(n))
    few = n < 20_000
    return LGBMClassifier(
        n_estimators=300 if n < FEW else 200 if few else 400,
        learning_rate=0.03 if few else 0.05,
        num_leaves=int(np.clip(round(root / 10.0), 4, 15)),
        min_child_samples=int(np.clip(n // 50, 10, 50)),
        colsample_bynode=float(np.clip(8.0 / max(d, 1), 0.3, 1.0)),
        subsample=0.7,
        subsample_freq=1,
        reg_lambda=1.0,
        random_state=seed,
        n_jobs=tree_threads(n_jobs, n),
        deterministic=True,
        force_row_wise=True,
        verbosity=-1,
    )
