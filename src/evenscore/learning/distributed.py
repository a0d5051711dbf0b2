"""Scorers that learn where the data are: on the workers of Dask or Spark, each with its rows.

Every worker runs the learner of one machine on its part of the rows, and meets the others in the
sums that the learner asks for (`exchange`); trees are grown by XGBoost, which adds up its
histograms the same way. What comes out is the scorer of one machine, which needs no cluster to
score.
"""

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, fields, replace
from numbers import Integral
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from evenscore.extras import require
from evenscore.gaps import ConstraintLike, as_constraints
from evenscore.learning.base import FairScorer
from evenscore.learning.boosted import BoostedScorer
from evenscore.learning.checkpoints import Journal, read_checkpoint
from evenscore.learning.engines import Engine, engine_of
from evenscore.learning.engines.base import Parts
from evenscore.learning.exchange import Exchange
from evenscore.learning.frame_reading import FrameReading
from evenscore.learning.frame_summary import LearningColumns
from evenscore.learning.linear import LinearScorer
from evenscore.learning.parameters import check_count, check_number, described, seed_of
from evenscore.learning.training_set import TrainingSet, require_cells
from evenscore.scores.arrays import Floats

_REPORTED = (
    "classes_",
    "encoding_",
    "groups_",
    "gap_names_",
    "gaps_",
    "verdicts_",
    "price_",
    "converged_",
    "history_",
    "n_iter_",
)


@final
@dataclass(frozen=True)
class Outcome:
    """What the first worker comes back with."""

    scorer: Any
    told: list[tuple[str, type[Warning]]]
    workers: int
    calls: int
    bytes: int


@final
@dataclass(frozen=True)
class Training:
    """What every worker does: read its rows, and learn from them together with the others."""

    scorer: Any
    reading: FrameReading
    parameters: str = ""
    checkpoint: str | None = None
    every: int = 20
    content: dict[str, Any] | None = None
    keeps_blocks: bool = True

    def __call__(self, parts: Parts, exchange: Exchange, threads: int) -> Outcome:
        """As one of several workers, or the only one."""
        rows = self.reading.rows(parts, exchange)
        scorer = copy(self.scorer)
        if hasattr(scorer, "n_jobs"):
            scorer.n_jobs = threads or None
        task = scorer.task()
        if task.constraints:
            require_cells(rows, task.constraints)
        if self.checkpoint is not None:
            task = replace(task, journal=self._journal(rows))
        told = scorer.learn_from(rows, task)
        if hasattr(scorer, "n_jobs"):
            scorer.n_jobs = None
        sent = getattr(exchange, "calls", 0), getattr(exchange, "bytes", 0)
        return Outcome(scorer, told, exchange.size, *sent)

    def _journal(self, rows: TrainingSet) -> Journal:
        about = {
            "parameters": self.parameters,
            "features": list(self.reading.columns.features),
            **_about(rows),
        }
        if self.scorer.validation_fraction and not self.keeps_blocks:
            about["number of workers"] = rows.exchange.size  # decides who is held out
        return Journal.of(
            self.checkpoint or "",
            self.every,
            about,
            self.scorer.random_state,
            self.content,
            writes=rows.exchange.rank == 0,
        )


def _about(rows: TrainingSet) -> dict[str, Any]:
    """What tells rows from others, whoever holds which of them."""
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    sums = [
        weight[own] @ np.nan_to_num(rows.X[own])
        for own in (rows.cell == cell for cell in range(len(rows.cell_sizes)))
    ]
    return {
        "sizes of classes and groups": rows.cell_sizes.tolist(),
        "sums of the columns": rows.exchange.sum(np.concatenate(sums)).tolist(),
    }


@dataclass(eq=False, repr=False)
class DistributedScorer(BaseEstimator):  # type: ignore[misc]
    """Base of the scorers that learn on frames of a cluster; a subclass says what it learns.

    Its parameters are those of the scorer of one machine that it learns, and these:

    Parameters
    ----------
    n_workers : int, optional
        Workers that learn together: of Dask by default all of the cluster, of Spark as many as it
        has slots. A frame of one process has one by default, and threads in place of more.
    timeout : float, default 600
        Seconds after which a worker that does not answer is taken to be lost.

    Attributes
    ----------
    scorer_ : FairScorer
        The scorer of one machine, which `to_scorer` returns.
    workers_ : int
        How many workers have learned together.
    exchange_ : dict
        How many calls the first worker has made to add up sums with the others, and how many bytes
        it has put in, beside what XGBoost exchanges.
    """

    constraints: ConstraintLike = ()
    _: KW_ONLY
    tolerance: float | None = None
    strength: float | Sequence[float] | None = None
    guards: bool = True
    validation_fraction: float = 0.0
    random_state: Any = None
    n_workers: int | None = None
    timeout: float = 600.0

    of: ClassVar[type[FairScorer]]
    """The scorer of one machine."""
    own_parameters: ClassVar[frozenset[str]] = frozenset(
        {"n_workers", "timeout", "checkpoint", "checkpoint_every"}
    )
    """Parameters that the scorer of one machine does not have."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__doc__:
            base = DistributedScorer.__doc__ if "DistributedScorer" in globals() else ""
            cls.__doc__ = described(cls.__doc__, base or "")
            cls.__doc__ = described(cls.__doc__, cls.of.__doc__ or "")

    @abstractmethod
    def _local(self) -> FairScorer:
        """The scorer of one machine, with these parameters and not fitted."""

    def _common(self) -> dict[str, Any]:
        names = (one.name for one in fields(self) if one.name not in self.own_parameters)
        return {name: getattr(self, name) for name in names if name != "_"}

    def _check(self) -> None:
        check_count(self, "n_workers", optional=True)
        check_number(self, "timeout", 1.0)

    # ------------------------------------------------------------------ fitting

    def fit(
        self,
        frame: Any,
        *,
        label: str,
        group: str | Sequence[str] | None = None,
        weight: str | None = None,
        features: Sequence[str] | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn a score that ranks the second of the two labels above the first.

        Parameters
        ----------
        frame : data frame of Dask or Spark
            The rows, wherever they are; one of pandas, polars or pyarrow is learned from in this
            process. It is gone through twice: persist or cache it if it is costly to compute.
        label : str
            The column with two different labels.
        group : str or list of str, optional
            The columns that people are grouped by; of several their intersections are the groups.
            Needed to fit with constraints, never to score, and not a feature.
        weight : str, optional
            The column with weights: a row with a weight of two counts as two rows.
        features : list of str, optional
            The columns that the score may look at: by default all others.
        resume : bool, default False
            Go on from the checkpoint, if there is one, to the same model. If rows are then shared
            out otherwise, trees that were not grown yet cut continuous columns a little elsewhere.

        Returns
        -------
        self

        Raises
        ------
        ClusterError
            If workers were lost; nothing is fitted then.
        """
        require(type(self).__name__, "xgboost")
        self._check()
        engine = engine_of(frame)
        columns = LearningColumns.of(engine.names, label, group, weight, features)
        scorer = self._local()
        scorer.check_parameters()
        constraints = as_constraints(self.constraints)
        if columns.group and not constraints:
            raise ValueError(
                "group is given, but nothing is to be equal between groups: pass constraints, such "
                "as RateConstraint('fnr', cuts=Cuts(between=(0.1, 0.4))), or leave group out."
            )
        if constraints and not columns.group:
            raise ValueError(f"{constraints[0].name} compares groups: pass group to fit.")
        content = self._content(resume)
        native, missing = bool(scorer.accepts_codes), bool(scorer.accepts_missing)
        summaries = engine.summarised(columns, native=native)
        reading = FrameReading.of(summaries, columns, native=native, missing=missing)
        if constraints and len(reading.groups) < 2:
            raise ValueError(
                f"{constraints[0].name} compares groups, but there is only one: "
                f"{reading.groups[0]!r}."
            )
        _know(scorer, reading)
        scorer.random_state = self._seed(content)
        outcome = engine.trained(
            self._training(scorer, reading, content, engine),
            columns,
            n_workers=self.n_workers,
            timeout=self.timeout,
            advice=self._advice(),
        )
        self.scorer_, self.workers_ = outcome.scorer, outcome.workers
        self.exchange_ = {"calls": outcome.calls, "bytes": outcome.bytes}
        for name in _REPORTED:
            setattr(self, name, getattr(outcome.scorer, name))
        self.feature_names_in_ = outcome.scorer.feature_names_in_
        self.n_features_in_ = outcome.scorer.n_features_in_
        for text, category in outcome.told:  # about the scorer of one machine, as it calls itself
            own = text.replace(self.of.__name__, type(self).__name__, 1)
            warnings.warn(own, category, stacklevel=2)
        return self

    def _content(self, resume: bool) -> dict[str, Any] | None:
        """What is known from a checkpoint."""
        if resume:
            raise ValueError(f"{type(self).__name__} has no checkpoints: fit without resume.")
        return None

    def _seed(self, content: dict[str, Any] | None) -> int:
        """The same for all workers, and that of the checkpoint if nobody asks for one."""
        given = seed_of(self.random_state)
        if given is None and content is not None:
            return int(content["seed"])
        whole = isinstance(given, Integral)
        return int(given) if whole else int(np.random.default_rng(given).integers(2**31 - 1))

    def _training(
        self,
        scorer: FairScorer,
        reading: FrameReading,
        content: dict[str, Any] | None,
        engine: Engine,
    ) -> Training:
        return Training(scorer, reading)

    def _advice(self) -> str:
        """What to do about a worker that was lost."""
        return "Nothing was fitted: fit again."

    # ------------------------------------------------------------------ scoring

    def to_scorer(self) -> FairScorer:
        """The scorer of one machine: to score, to save, to audit.

        Returns
        -------
        FairScorer
            With gaps, price, verdicts and history as this one has them.
        """
        check_is_fitted(self, "scorer_")
        scorer: FairScorer = self.scorer_
        return scorer

    def score_frame(self, frame: Any, *, name: str = "score") -> Any:
        """A frame with the scores in one more column.

        Parameters
        ----------
        frame : data frame of Dask, Spark, pandas, polars or pyarrow
            With the features that were learned from.
        name : str, default "score"
            Of the new column.

        Returns
        -------
        data frame
            Of the same kind. Of Dask and Spark scores are computed when they are asked for, on the
            workers.
        """
        check_is_fitted(self, "scorer_")
        engine = engine_of(frame)
        lacking = [one for one in self.feature_names_in_ if one not in engine.names]
        if lacking:
            raise ValueError(f"The frame has no column {lacking[0]!r}, which was learned from.")
        return engine.scored(Scoring(self.scorer_), name)

    def decision_function(self, X: Any) -> Floats:
        """The scores of rows of this process, as `to_scorer().decision_function` gives them.

        Parameters
        ----------
        X : array or data frame
            The features, in the order of `feature_names_in_`; of a data frame, other columns are
            left alone.

        Returns
        -------
        array of shape (n,)
        """
        scorer = self.to_scorer()
        names = getattr(X, "columns", getattr(X, "column_names", None))
        if names is not None and all(name in list(names) for name in self.feature_names_in_):
            return Scoring(scorer)(X)
        return np.asarray(scorer.decision_function(X))


@final
@dataclass(frozen=True)
class Scoring:
    """The scores of a data frame of pandas, by a scorer that a worker was sent."""

    scorer: Any

    def __call__(self, part: Any) -> Floats:
        """Of its features, whatever else it holds."""
        import narwhals as nw

        names = list(self.scorer.feature_names_in_)
        if not len(part):
            return np.zeros(0)
        chosen = nw.from_native(part, eager_only=True).select(names).to_native()
        return np.asarray(self.scorer.decision_function(chosen), dtype=np.float64)


def _know(scorer: FairScorer, reading: FrameReading) -> None:
    """What reading rows tells a scorer of one machine."""
    scorer.classes_ = np.array(reading.classes)
    scorer.groups_, scorer.group_feature_ = reading.groups, None
    scorer.encoding_ = reading.encoding
    scorer.n_features_in_ = reading.n_features
    scorer.feature_names_in_ = np.array(reading.columns.features, dtype=object)


@dataclass(eq=False, repr=False, kw_only=True)
class DistributedBoostedScorer(DistributedScorer):
    """A fair score that is a sum of trees, learned on the workers of Dask or Spark.

    It is what `BoostedScorer` learns, with the trees of XGBoost: the same constraints, tolerances
    and guards; the same history, price and verdicts. Gaps are exact but for bins so fine that
    `Estimate.bracket` is below 0.001 as a rule. XGBoost cuts continuous columns at quantiles that
    depend a little on who holds which rows, so that scores differ a little between numbers of
    workers; with columns of fewer than `max_bin` values they do not, from 6,400 rows on (with fewer
    rows a tree looks at rows drawn at random, unless `subsample` is 1).

    `score_frame` scores frames; for everything else (to predict, to save, to audit) there is the
    `BoostedScorer` that `to_scorer` returns. XGBoost tells in the logs of the workers which rank
    each has been given.

    Parameters
    ----------
    constraints
    tolerance
    strength
    margin
    guards
    linear_start
    n_estimators
    learning_rate
    num_leaves
    min_child_samples
    reg_lambda
    colsample_bytree
    colsample_bynode
    subsample
    categorical_features
    monotone_constraints
    max_bin
    bandwidth
    validation_fraction
    random_state : int, optional
        Which rows are kept aside, and which features and rows a tree looks at.
    n_workers
    timeout
    checkpoint : path, optional
        A file that is written every few rounds, from which `fit(…, resume=True)` goes on after a
        fault: a path that all machines share. It holds trees and multipliers, and no rows.
    checkpoint_every : int, default 20
        Rounds between two checkpoints.

    Attributes
    ----------
    scorer_
    workers_
    exchange_
    n_iter_
    classes_
    encoding_
    groups_
    gap_names_
    gaps_
    verdicts_
    price_
    converged_
    history_

    Examples
    --------
    >>> import pandas as pd
    >>> from evenscore import Cuts, RateConstraint
    >>> from evenscore.datasets import load_german
    >>> data = load_german()
    >>> frame = pd.DataFrame(data.X).rename(columns=str).assign(good=data.y, sex=data.groups)
    >>> fair = RateConstraint("fnr", cuts=Cuts(between=(0.5, 0.8)), tolerance=0.05)
    >>> scorer = DistributedBoostedScorer(fair, random_state=0)
    >>> scorer = scorer.fit(frame, label="good", group="sex")  # or a frame of Dask or Spark
    >>> scorer.converged_, scorer.to_scorer().booster
    (True, 'xgboost')
    >>> scorer.score_frame(frame).columns[-1]
    'score'
    """

    margin: float = 0.02
    linear_start: bool = True
    n_estimators: int = 200
    learning_rate: float = 0.15
    num_leaves: int | None = None
    min_child_samples: int | None = None
    reg_lambda: float = 20.0
    colsample_bytree: float = 1.0
    colsample_bynode: float | None = None
    subsample: float | None = None
    categorical_features: Sequence[int | str] | None = None
    monotone_constraints: Sequence[int] | Mapping[int | str, int] | None = None
    max_bin: int = 255
    bandwidth: float = 0.3
    checkpoint: str | PathLike[str] | None = None
    checkpoint_every: int = 20

    of: ClassVar[type[FairScorer]] = BoostedScorer

    def _local(self) -> BoostedScorer:
        return BoostedScorer(**self._common(), booster="xgboost")

    def _check(self) -> None:
        super()._check()
        check_count(self, "checkpoint_every")
        if self.checkpoint is not None and not Path(self.checkpoint).parent.is_dir():
            raise ValueError(f"There is no folder {Path(self.checkpoint).parent} for checkpoints.")

    def _content(self, resume: bool) -> dict[str, Any] | None:
        if not resume:
            return None
        if self.checkpoint is None:
            raise ValueError("There is nothing to resume from: pass checkpoint to the scorer.")
        if Path(self.checkpoint).exists():
            return read_checkpoint(self.checkpoint)
        warnings.warn(
            f"There is no {Path(self.checkpoint).name} yet: training starts from the beginning.",
            UserWarning,
            stacklevel=3,
        )
        return None

    def _training(
        self,
        scorer: FairScorer,
        reading: FrameReading,
        content: dict[str, Any] | None,
        engine: Engine,
    ) -> Training:
        path = None if self.checkpoint is None else fspath(Path(self.checkpoint).absolute())
        given = {name: value for name, value in self._common().items() if name != "random_state"}
        drawn = not isinstance(self.random_state, Integral)
        given["random_state"] = None if drawn else int(self.random_state)
        parameters = ", ".join(f"{name}={given[name]!r}" for name in sorted(given))
        return Training(
            scorer, reading, parameters, path, self.checkpoint_every, content, engine.keeps_blocks
        )

    def _advice(self) -> str:
        if self.checkpoint is None:
            return "Nothing was fitted: fit again, with a checkpoint to be able to resume."
        return "Nothing was fitted: fit with resume=True to go on from the last checkpoint."


@dataclass(eq=False, repr=False, kw_only=True)
class DistributedLinearScorer(DistributedScorer):
    """A fair score that is linear in the features, learned on the workers of Dask or Spark.

    It is what `LinearScorer` learns: L-BFGS runs alike on every worker, and what has to be added up
    are scores on a grid and the gradient by the weights.

    Parameters
    ----------
    constraints
    tolerance
    strength
    margin
    guards
    l2
    compress
    bandwidth
    max_iter
    max_inner_iter
    validation_fraction
    random_state : int, optional
        Which rows are kept aside.
    n_workers
    timeout

    Attributes
    ----------
    scorer_
    workers_
    exchange_
    n_iter_
    classes_
    encoding_
    groups_
    gap_names_
    gaps_
    verdicts_
    price_
    converged_
    history_

    Examples
    --------
    >>> import pandas as pd
    >>> from evenscore.datasets import load_german
    >>> data = load_german()
    >>> frame = pd.DataFrame(data.X).rename(columns=str).assign(good=data.y)
    >>> scorer = DistributedLinearScorer().fit(frame, label="good")
    >>> scorer.to_scorer().coef_.shape == (data.X.shape[1],)
    True
    """

    margin: float = 0.01
    l2: float | None = None
    compress: bool = True
    bandwidth: float = 0.2
    max_iter: int = 20
    max_inner_iter: int = 40

    of: ClassVar[type[FairScorer]] = LinearScorer

    def _local(self) -> LinearScorer:
        return LinearScorer(**self._common())
