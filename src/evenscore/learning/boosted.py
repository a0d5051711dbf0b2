"""The boosted scorer: trees grown along the gradient of the score-space objective."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from evenscore.extras import require
from evenscore.learning.base import FairScorer
from evenscore.learning.boosters import Booster, TreeSettings, booster_class, tree_threads
from evenscore.learning.boosting import HeldOut, LinearStart, constant
from evenscore.learning.growth import Growth
from evenscore.learning.objective import standardise
from evenscore.learning.parameters import check_count, check_number, seed_of
from evenscore.learning.progress import progress
from evenscore.learning.task import Choice, History, Stage, Task, TrainingScores
from evenscore.learning.training_set import TrainingSet
from evenscore.learning.wholeness import part_of
from evenscore.scores.arrays import Floats

_FEW_ROWS, _LEAST_OF_CELL = 8000, 10  # rows below which folds check what trees have learned


def _silent(text: str) -> None:
    """No bar is moved."""


_NO_ORDER = (
    "monotone_constraints cannot hold for a feature of categorical_features: codes of categories "
    "have no order."
)


@dataclass(eq=False, repr=False, kw_only=True)
class BoostedScorer(FairScorer):
    """A fair score that is a sum of trees, grown by LightGBM or another library.

    Trees are added to a logistic regression. The first maximise the likelihood; the others follow
    the gradient of the AUC and of the gaps, while the multipliers follow the strict gaps, those an
    audit computes. All pairs count. Missing values (NaN) and sparse features are taken as LightGBM
    takes them; to the regression a missing value is the feature's mean.

    Parameters
    ----------
    constraints
    tolerance
    strength
    margin : float, default 0.02
        The part of the tolerance left to new data: training aims at tolerance − margin, or at zero
        if that is less. Trees fit their training rows closely: a gap closed in training is often
        not quite closed on new rows.
    guards
    use_groups
    linear_start : bool, default True
        Start from a logistic regression on the features without monotone constraint, categories
        being a column per level (if no more than 100); few data gain most. Without, from a
        constant.
    n_estimators : int, default 200
        Rounds, one tree each.
    learning_rate : float, default 0.15
        Learning rate of the first rounds; after those of the likelihood it falls like a cosine.
    num_leaves : int, optional
        Leaves of a tree; by default √n/10 for n rows, between 4 and 15.
    min_child_samples : int, optional
        Least number of rows in a leaf; by default n/25, between 20 and 50.
    reg_lambda : float, default 20
        Added to the curvature of a leaf, that of a row being about one.
    colsample_bytree : float, default 1
        Share of the features that a tree looks at.
    colsample_bynode : float, optional
        Share of them that a split chooses from; by default √n/80, between 0.3 and 1, but no
        less than eight features.
    subsample : float, optional
        Share of the rows that a tree looks at; by default √n/80, between 0.7 and 1.
    categorical_features : list of column numbers or names, optional
        Features whose values are codes 0, 1, 2, … of categories; texts and categories of a data
        frame need not be named.
    monotone_constraints : list with one entry per feature, or dict by column number or name
        1: the score must not fall as the feature grows; −1: it must not grow; 0: free.
    max_bin : int, default 255
        Values of a feature that are told apart.
    bandwidth : float, default 0.3
        Width of the logistic function that replaces the step, in standard deviations of the score.
    validation_fraction : float, default 0
        Share of the rows kept aside, on which `gaps_["validation"]` is measured. They choose the
        number of trees kept; without them the training rows do.
    cross_fit
    random_state : int, optional
        Which rows are kept aside, and which features and rows a tree looks at. Where all the
        shares are 1, as by default from 6,400 rows on, the same data give the same score.
    n_jobs : int, optional
        Threads; by default one, and from 100,000 rows on as many as OpenMP allows. The score does
        not depend on it.
    booster : "lightgbm" or a subclass of `evenscore.learning.Booster`
        The library that grows the trees, by default LightGBM.
    verbose

    Attributes
    ----------
    model_ : str
        The trees, in the text format of the library that grew them.
    n_iter_ : int
        Trees kept.
    linear_ : LinearStart or None
        What the trees are added to.
    classes_
    encoding_
    groups_
    group_feature_
    gap_names_
    gaps_
    verdicts_
    price_
    calibration_
    converged_
    history_

    Examples
    --------
    >>> from evenscore import Cuts, RateConstraint
    >>> from evenscore.datasets import load_german
    >>> data = load_german()
    >>> fair = RateConstraint("fnr", cuts=Cuts(between=(0.5, 0.8)), tolerance=0.05)
    >>> scorer = BoostedScorer(fair, random_state=0)
    >>> scorer = scorer.fit(data.X, data.y, sensitive_features=data.groups)
    >>> scorer.converged_, abs(scorer.gaps_["train"][0].value) <= 0.05
    (True, True)
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
    n_jobs: int | None = None
    booster: str | type[Booster] = "lightgbm"

    @property
    def accepts_sparse(self) -> bool:
        """If the trees take sparse features."""
        return booster_class(self.booster).takes_sparse

    @property
    def accepts_missing(self) -> bool:
        """If the trees take missing values."""
        return booster_class(self.booster).takes_missing

    @property
    def accepts_codes(self) -> bool:
        """If the trees take categories."""
        return booster_class(self.booster).takes_categories

    def check_parameters(self) -> None:
        """Refuse bad parameters."""
        super().check_parameters()
        check_number(self, "margin", 0.0, 1.0)
        for name in ("bandwidth", "learning_rate"):
            check_number(self, name, 0.0, above=True)
        check_number(self, "reg_lambda", 0.0)
        check_number(self, "colsample_bytree", 0.0, 1.0, above=True)
        for name in ("colsample_bynode", "subsample"):
            check_number(self, name, 0.0, 1.0, above=True, optional=True)
        check_count(self, "n_estimators")
        check_count(self, "num_leaves", 2, optional=True)
        check_count(self, "min_child_samples", optional=True)
        check_count(self, "max_bin", 2)
        if self.n_jobs is not None and (not isinstance(self.n_jobs, Integral) or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be a whole number other than 0, not {self.n_jobs!r}.")
        library = booster_class(self.booster)
        require(type(self).__name__, *library.packages)
        for name, taken in (
            ("categorical_features", library.takes_categories),
            ("monotone_constraints", library.takes_monotone),
        ):
            if getattr(self, name) is not None and not taken:
                raise ValueError(f"{library.__name__} does not take {name}: leave them out.")

    # ------------------------------------------------------------------ learning

    def learn(self, train: TrainingSet, held_out: TrainingSet | None, task: Task) -> History:
        """Grow trees, the multipliers following the strict gaps; keep the best of all attempts.

        The first trees maximise the likelihood. From there go the score without constraints, the
        same with Kamiran and Calders' weights, and the constrained one; if that fails, another with
        a tolerance that is tightened round by round.
        """
        library = booster_class(self.booster)
        settings = self._settings(train)
        varied = not constant(train.X)
        self.linear_ = None
        if self.linear_start and varied:
            left_out = np.flatnonzero(settings.monotone).tolist()
            self.linear_ = LinearStart.fit(train, left_out, settings.categorical)
        offset = self._offset(train)
        beaten: tuple[Stage, ...] = ()
        if varied and task.constraints and held_out is None:
            beaten = self._beaten(train, task, settings, offset)
        checked = None
        if held_out is not None:
            threads, new = tree_threads(self.n_jobs, len(held_out)), self._offset(held_out)
            checked = HeldOut(held_out, held_out.objective(task.constraints), threads, new)
        rounds = int(self.n_estimators) if varied else 0
        with progress("BoostedScorer", rounds, verbose=self.verbose) as advance:
            growth = Growth(
                task,
                train,
                task.objective(train, bandwidth=self.bandwidth, guards=self.guards),
                settings,
                rounds,
                self.margin,
                checked,
                advance,
            )
            choice = growth.run(library.begin(train.X, offset, settings), beaten)
        assert choice.raw is not None
        assert choice.booster is not None
        if choice.raw.min() == choice.raw.max():
            text = (
                "BoostedScorer gives every row the same score: no split of the "
                f"{len(train)} rows leaves min_child_samples={settings.min_rows} on both sides "
                "and helps."
            )
            choice.history.notes.append((text, UserWarning))
        self.n_iter_ = choice.n_trees
        self.model_ = choice.booster.to_text(choice.n_trees)
        choice.history.beaten = bool(beaten)
        if growth.free is not None:
            choice.history.scores = TrainingScores(growth.free, choice.raw, choice.expected)
        return choice.history

    def _beaten(
        self, train: TrainingSet, task: Task, settings: TreeSettings, offset: Floats
    ) -> tuple[Stage, ...]:
        """The constrained stages, if rows not trained on show that a simpler score beats them.

        Of few rows, trees fit their own so closely that these cannot tell: the score without
        constraints, the reweighed and the constrained one are learned in two folds, and looked at
        on the rows left out. The linear start has seen all rows.
        """
        if len(train) >= _FEW_ROWS or train.cell_sizes.min() < 2 * _LEAST_OF_CELL:
            return ()
        fold = train.folds(2, np.random.default_rng(settings.seed))
        scores: dict[Stage, Floats] = {}
        for k in range(2):
            rows, left = train.rows(fold != k), train.rows(fold == k)
            objective = task.objective(rows, bandwidth=self.bandwidth, guards=self.guards)
            growth = Growth(
                task, rows, objective, settings, int(self.n_estimators), self.margin, None, _silent
            )
            booster = booster_class(self.booster).begin(rows.X, offset[fold != k], settings)
            best = growth.stages(booster)
            if not best:
                return ()
            for stage, (trees, n_trees, raw) in best.items():
                new = offset[fold == k] + trees.predict(left.X, last=n_trees)
                standard = standardise(raw, rows.share)
                score = scores.setdefault(stage, np.empty(len(train)))
                score[fold == k] = (new - standard.mean) / standard.scale
        objective = task.objective(train)
        choice = Choice(task.allowances(objective), task.strengths(objective))
        looks = {stage: objective.strict(score) for stage, score in scores.items()}
        own = looks.pop("learning")
        cost = choice.cost_of(own)
        if any(look.auc > own.auc and choice.cost_of(look) < cost for look in looks.values()):
            return ("learning", "restart")
        return ()

    def _offset(self, rows: TrainingSet) -> Floats:
        """The scores that trees are added to."""
        return np.zeros(len(rows)) if self.linear_ is None else self.linear_.score(rows.X)

    def _settings(self, train: TrainingSet) -> TreeSettings:
        """How trees are grown on n rows: the fewer there are, the simpler and more random."""
        n, root = len(train), float(np.sqrt(len(train)))
        categorical, signs = self._categorical(train.X), self._signs(train.X.shape[1])
        if any(signs[k] for k in categorical):
            raise ValueError(_NO_ORDER)

        def or_else(given: float | None, default: float, least: float, most: float) -> float:
            return min(max(default, least), most) if given is None else given

        features = max(0.3, 8.0 / train.X.shape[1])
        return TreeSettings(
            learning_rate=float(self.learning_rate),
            max_leaves=int(or_else(self.num_leaves, round(root / 10.0), 4, 15)),
            min_rows=int(or_else(self.min_child_samples, n // 25, 20, 50)),
            l2=float(self.reg_lambda),
            features_per_tree=float(self.colsample_bytree),
            features_per_split=float(or_else(self.colsample_bynode, root / 80.0, features, 1.0)),
            rows_per_tree=float(or_else(self.subsample, root / 80.0, 0.7, 1.0)),
            max_bins=int(self.max_bin),
            categorical=tuple(categorical),
            monotone=tuple(signs) if any(signs) else (),
            seed=int(np.random.default_rng(seed_of(self.random_state)).integers(2**31 - 1)),
            threads=tree_threads(self.n_jobs, n),
        )

    def _column(self, name: int | str, parameter: str) -> int:
        """The number of a column given by number or name."""
        if isinstance(name, str):
            names = list(getattr(self, "feature_names_in_", ()))
            if name in names:
                return names.index(name)
            raise ValueError(f"{parameter} names {name!r}, which is not a feature of X.")
        if isinstance(name, bool) or not isinstance(name, Integral):
            raise ValueError(f"{parameter} takes column numbers and names, not {name!r}.")
        if not 0 <= name < self.n_features_in_:
            raise ValueError(
                f"{parameter} names column {name}, but X has {self.n_features_in_} features."
            )
        return int(name)

    def _categorical(self, X: Any) -> list[int]:
        """Numbers of the categorical columns, whose values have been looked at."""
        given = () if self.categorical_features is None else self.categorical_features
        if isinstance(given, str) or not isinstance(given, (Sequence, np.ndarray)):
            raise ValueError(
                f"categorical_features must be a list of column numbers or names, not {given!r}."
            )
        columns = sorted({self._column(name, "categorical_features") for name in given})
        for k in columns:
            values = X[:, [k]].data if sparse.issparse(X) else X[:, k]
            values = values[~np.isnan(values)]
            if np.any((values < 0.0) | (values != np.floor(values)) | (values >= 2**31)):
                raise ValueError(
                    f"Column {k} is in categorical_features but holds values other than the codes "
                    "0, 1, 2, … of categories."
                )
        encoded = () if self.encoding_ is None else self.encoding_.categorical
        group = (X.shape[1] - 1,) if self.use_groups and self.accepts_codes else ()
        return sorted({*columns, *encoded, *group})

    def _signs(self, width: int) -> list[int]:
        """A sign for every column of a matrix of features."""
        given, d = self.monotone_constraints, self.n_features_in_
        if given is None:
            return [0] * width
        if isinstance(given, Mapping):
            signs: list[Any] = [0] * d
            for name, sign in given.items():
                signs[self._column(name, "monotone_constraints")] = sign
        elif isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str):
            signs = list(given)
        else:
            raise ValueError(f"monotone_constraints must be a list or dictionary, not {given!r}.")
        if len(signs) != d:
            raise ValueError(
                f"monotone_constraints has {len(signs)} entries but X has {d} features."
            )
        for sign in signs:
            if not isinstance(sign, Real) or sign not in (-1, 0, 1):
                raise ValueError(f"monotone_constraints holds -1, 0 and 1, not {sign!r}.")
        if self.encoding_ is not None:
            levels = self.encoding_.levels
            if any(sign for sign, known in zip(signs, levels, strict=True) if known is not None):
                raise ValueError(_NO_ORDER)
            signs = [signs[k] for k in self.encoding_.sources]
        group = [0] * (width - len(signs))
        return [*map(int, signs), *group]

    # ------------------------------------------------------------------ scoring

    def check_learned(self, n_features: int) -> None:
        """Trees, and perhaps a linear score, of so many features."""
        jobs = part_of(self, "n_jobs", int, optional=True)
        if jobs == 0:
            raise ValueError("BoostedScorer.n_jobs must not be 0.")
        booster_class(self.booster).check_text(part_of(self, "model_", str), n_features)
        linear = part_of(self, "linear_", LinearStart, optional=True)
        if linear is not None:
            linear.check_whole(n_features)

    def raw_score(self, X: Any) -> Floats:
        """The linear score, and what the trees add to it."""
        trees = booster_class(self.booster).from_text(self.model_)
        added = trees.predict(X, threads=tree_threads(self.n_jobs, X.shape[0]))
        return added if self.linear_ is None else added + self.linear_.score(X)
