"""The boosted scorer: trees of LightGBM grown along the gradient of the score-space objective."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenscore.constraints import Constraint
from evenscore.learning.multipliers import AugmentedLagrangian
from evenscore.scorers import boosting
from evenscore.scorers.base import ConstraintLike, FairScorer, seed_of
from evenscore.scorers.linear_start import LinearStart
from evenscore.scorers.progress import progress
from evenscore.scorers.threads import tree_threads
from evenscore.scorers.training_set import TrainingSet

__all__ = ["BoostedScorer"]

Floats = NDArray[np.float64]

_PENALTY = 16.0  # of the augmented Lagrangian
_GAIN, _MOST = 0.25, 0.5  # of an update, were there 200 rounds; with fewer it is larger
_HOLD = 0.97  # a multiplier waits while its gap falls by 3 % and more an update
_SHARES = ("bagging_fraction", "feature_fraction", "feature_fraction_bynode")


class BoostedScorer(FairScorer):
    """A fair score that is a sum of trees, grown by LightGBM.

    Trees are added to a logistic regression. The first maximise the likelihood; the others follow
    the gradient of the AUC and of the gaps, while the multipliers follow the strict gaps, those an
    audit computes. All pairs count. Missing values (NaN) and sparse features are taken as LightGBM
    takes them; to the regression a missing value is the feature's mean.

    Parameters
    ----------
    constraints : name, constraint or list of them
        What should be equal between groups; none by default.
    tolerance : float, default 0.02
        The gap each constraint may leave, unless it has a tolerance of its own.
    strength : float
        Instead of a tolerance: the penalty λ of the objective AUC − λ Σ |gap|.
    margin : float, default 0.02
        The part of the tolerance left to new data: training aims at tolerance − margin, or at zero
        if that is less. Trees
        fit their training rows closely; a gap closed in training is often not quite closed.
    guards : bool, default True
        With a tolerance, constrain the rates around those of a ROC constraint too, so that gaps do
        not return on new data; two standard errors more than the tolerance are left there.
    linear_start : bool, default True
        Start from a logistic regression on the features without monotone constraint that are not
        categorical; few data gain most. Without, from a constant.
    n_estimators : int, default 200
        Rounds, one tree each.
    learning_rate : float, default 0.15
        Of the first rounds; after the likelihood's it falls to zero like a cosine.
    num_leaves : int, optional
        Of a tree; by default √n/10 for n rows, between 4 and 15.
    min_child_samples : int, optional
        Rows of a leaf, at least; by default n/25, between 20 and 50.
    reg_lambda : float, default 20
        Added to the curvature of a leaf, that of a row being about one.
    colsample_bytree : float, default 1
        Share of the features that a tree looks at.
    colsample_bynode : float, optional
        Share of them that a split chooses from; by default √n/80, between 0.3 and 1, but no
        less than eight features.
    subsample : float, optional
        Share of the rows that a tree looks at; by default √n/80, between 0.7 and 1.
    categorical_features : list of column numbers or names
        Features whose values are codes 0, 1, 2, … of categories.
    monotone_constraints : list with an entry a feature, or a dictionary by column number or name
        1: the score must not fall as the feature grows; −1: it must not grow; 0: free.
    max_bin : int, default 255
        Values that LightGBM tells apart in a feature.
    bandwidth : float, default 0.3
        Of the logistic function that replaces the step, in standard deviations of the score.
    validation_fraction : float, default 0
        Share of the rows kept aside, on which `gaps_["validation"]` is measured. They choose the
        number of trees kept; without them the training rows do.
    cross_fit : int, default 0
        Folds, at least 2, to look at rows that were not trained on: `gaps_["cross_fit"]`. Where an
        interval lies beyond the tolerance, what training closed in appearance only is allowed for.
        Takes as many more fits; twice as many where something had to be allowed for.
    random_state : int, optional
        Which rows are kept aside, and which features and rows a tree looks at. Where all the
        shares are 1, as by default from 6,400 rows on, the same data give the same score.
    n_jobs : int, optional
        Threads; by default one, and from 100,000 rows on as many as OpenMP allows. The score does
        not depend on it.
    verbose : bool, default False
        Show a progress bar on a terminal.

    Attributes
    ----------
    model_ : str
        The trees, in LightGBM's text format.
    n_iter_ : int
        Trees kept.
    linear_
        What the trees are added to, or None.

    Examples
    --------
    >>> from evenscore.datasets import load_german
    >>> data = load_german()
    >>> scorer = BoostedScorer(constraints="inter_group", tolerance=0.02, random_state=0)
    >>> scorer = scorer.fit(data.X, data.y, sensitive_features=data.groups)
    >>> scorer.converged_, abs(scorer.gaps_["train"][0].value) <= 0.02
    (True, True)
    """

    _accept_sparse: ClassVar[bool] = True
    _allow_nan: ClassVar[bool] = True

    def __init__(
        self,
        constraints: ConstraintLike = (),
        *,
        tolerance: float | None = None,
        strength: float | None = None,
        margin: float = 0.02,
        guards: bool = True,
        linear_start: bool = True,
        n_estimators: int = 200,
        learning_rate: float = 0.15,
        num_leaves: int | None = None,
        min_child_samples: int | None = None,
        reg_lambda: float = 20.0,
        colsample_bytree: float = 1.0,
        colsample_bynode: float | None = None,
        subsample: float | None = None,
        categorical_features: Sequence[int | str] | None = None,
        monotone_constraints: Sequence[int] | Mapping[int | str, int] | None = None,
        max_bin: int = 255,
        bandwidth: float = 0.3,
        validation_fraction: float = 0.0,
        cross_fit: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.constraints = constraints
        self.tolerance = tolerance
        self.strength = strength
        self.margin = margin
        self.guards = guards
        self.linear_start = linear_start
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.reg_lambda = reg_lambda
        self.colsample_bytree = colsample_bytree
        self.colsample_bynode = colsample_bynode
        self.subsample = subsample
        self.categorical_features = categorical_features
        self.monotone_constraints = monotone_constraints
        self.max_bin = max_bin
        self.bandwidth = bandwidth
        self.validation_fraction = validation_fraction
        self.cross_fit = cross_fit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_number("margin", 0.0, 1.0)
        for name in ("bandwidth", "learning_rate"):
            self._check_number(name, 0.0, above=True)
        self._check_number("reg_lambda", 0.0)
        self._check_number("colsample_bytree", 0.0, 1.0, above=True)
        for name in ("colsample_bynode", "subsample"):
            self._check_number(name, 0.0, 1.0, above=True, optional=True)
        self._check_count("n_estimators")
        self._check_count("num_leaves", 2, optional=True)
        self._check_count("min_child_samples", optional=True)
        self._check_count("max_bin", 2)
        if self.n_jobs is not None and (not isinstance(self.n_jobs, Integral) or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be a whole number other than 0, not {self.n_jobs!r}.")

    # ------------------------------------------------------------------ learning

    def _learn(
        self, train: TrainingSet, held_out: TrainingSet | None, constraints: tuple[Constraint, ...]
    ) -> None:
        import lightgbm

        categorical = self._categorical(train.X)
        options = self._options(len(train), categorical)
        varied = not boosting.constant(train.X)
        self.linear_ = None
        if self.linear_start and varied:
            left_out = {*categorical, *np.flatnonzero(self._signs()).tolist()}
            self.linear_ = LinearStart.fit(train, sorted(left_out))
        start = np.zeros(len(train)) if self.linear_ is None else self.linear_.score(train.X)
        rows = lightgbm.Dataset(
            boosting.matrix(train.X),
            categorical_feature=categorical,
            params=options,
            init_score=start,
            free_raw_data=True,
        )
        booster = lightgbm.Booster(options, rows)
        guards = self.guards and self.strength is None
        objective = train.objective(
            constraints, bandwidth=self.bandwidth, guards=guards, optimism=self._optimism
        )
        rule = AugmentedLagrangian(
            strength=np.inf if self.strength is None else self.strength,
            penalty=self._shared(_PENALTY),
            growth=1.0,
            gain=min(_MOST, _GAIN * max(1.0, 200.0 / self.n_estimators)),
            hold=_HOLD,
        )
        gradient = boosting.Gradient(
            train, objective, rule, self._aims(objective, self.margin), int(self.n_estimators)
        )
        choice = self._choice(train, held_out, constraints)
        with progress("BoostedScorer", int(self.n_estimators), verbose=self.verbose) as advance:
            told = ""
            chance = any(options[name] < 1.0 for name in _SHARES)
            while varied and gradient.round < self.n_estimators:
                n_trees = booster.current_iteration()
                finished = booster.update(fobj=gradient)
                if gradient.seen is not None:  # of the trees before this one
                    told = choice(booster, n_trees, gradient.seen)
                advance(told)
                if finished and not chance:
                    break
        gradient.look(boosting.training_scores(booster) if varied else start)
        assert gradient.seen is not None
        choice(booster, booster.current_iteration(), gradient.seen)
        if gradient.seen.constant:
            warnings.warn(
                f"BoostedScorer gives every row the same score: no split of the {len(train)} rows "
                f"leaves min_child_samples={options['min_data_in_leaf']} on both sides and helps.",
                UserWarning,
                stacklevel=3,
            )
        self.n_iter_ = choice.n_trees
        self.model_ = booster.model_to_string(num_iteration=max(choice.n_trees, 1))

    def _choice(
        self, train: TrainingSet, held_out: TrainingSet | None, constraints: tuple[Constraint, ...]
    ) -> boosting.Choice:
        """What is asked when the strict gaps have been looked at: are these trees the best?"""
        tolerance = self._tolerances(train.objective(constraints))
        share = boosting.START
        if held_out is None:
            share += (1.0 - boosting.START) * boosting.SETTLED
        return boosting.Choice(
            tolerance,
            self.strength,
            share * self.n_estimators,
            lambda seen: self.history_.add(seen.evaluation.value, *seen.asked(len(tolerance))),
            None if held_out is None else self._held_out(held_out, constraints),
        )

    def _held_out(self, rows: TrainingSet, constraints: tuple[Constraint, ...]) -> boosting.HeldOut:
        start = np.zeros(len(rows)) if self.linear_ is None else self.linear_.score(rows.X)
        return boosting.HeldOut(
            rows, rows.objective(constraints), tree_threads(self.n_jobs, len(rows)), start
        )

    def _options(self, n: int, categorical: list[int]) -> dict[str, Any]:
        """Parameters of LightGBM for n rows: the fewer there are, the simpler and more random."""

        def share(told: float | None, least: float) -> float:
            return float(min(max(np.sqrt(n) / 80.0, least), 1.0) if told is None else told)

        leaves, rows = self.num_leaves, self.min_child_samples
        seed = int(np.random.default_rng(seed_of(self.random_state)).integers(2**31 - 1))
        options: dict[str, Any] = {
            "objective": "none",
            "learning_rate": float(self.learning_rate),
            "num_leaves": int(
                min(max(round(np.sqrt(n) / 10), 4), 15) if leaves is None else leaves
            ),
            "min_data_in_leaf": int(min(max(n // 25, 20), 50) if rows is None else rows),
            "min_sum_hessian_in_leaf": 0.0,
            "min_data_in_bin": 1,
            "feature_pre_filter": False,
            "lambda_l2": float(self.reg_lambda),
            "feature_fraction": float(self.colsample_bytree),
            "feature_fraction_bynode": share(
                self.colsample_bynode, max(0.3, 8.0 / self.n_features_in_)
            ),
            "bagging_fraction": share(self.subsample, 0.7),
            "bagging_freq": 1,
            "max_bin": int(self.max_bin),
            "seed": seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": tree_threads(self.n_jobs, n),
            "verbosity": -1,
        }
        signs = self._signs()
        if any(signs):
            if any(signs[k] for k in categorical):
                raise ValueError(
                    "monotone_constraints cannot hold for a feature of categorical_features: "
                    "codes of categories have no order."
                )
            options["monotone_constraints"] = signs
        return options

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
        asked = self.categorical_features
        if asked is None:
            return []
        if isinstance(asked, str) or not isinstance(asked, (Sequence, np.ndarray)):
            raise ValueError(
                f"categorical_features must be a list of column numbers or names, not {asked!r}."
            )
        columns = sorted({self._column(name, "categorical_features") for name in asked})
        for k in columns:
            values = X[:, [k]].data if sparse.issparse(X) else X[:, k]
            values = values[~np.isnan(values)]
            if np.any((values < 0.0) | (values != np.floor(values)) | (values >= 2**31)):
                raise ValueError(
                    f"Column {k} is in categorical_features but holds values other than the codes "
                    "0, 1, 2, … of categories."
                )
        return columns

    def _signs(self) -> list[int]:
        """A sign for every feature."""
        asked, d = self.monotone_constraints, self.n_features_in_
        if asked is None:
            return [0] * d
        if isinstance(asked, Mapping):
            signs: list[Any] = [0] * d
            for name, sign in asked.items():
                signs[self._column(name, "monotone_constraints")] = sign
        elif isinstance(asked, (Sequence, np.ndarray)) and not isinstance(asked, str):
            signs = list(asked)
        else:
            raise ValueError(f"monotone_constraints must be a list or dictionary, not {asked!r}.")
        if len(signs) != d:
            raise ValueError(
                f"monotone_constraints has {len(signs)} entries but X has {d} features."
            )
        for sign in signs:
            if not isinstance(sign, Real) or sign not in (-1, 0, 1):
                raise ValueError(f"monotone_constraints holds -1, 0 and 1, not {sign!r}.")
        return [int(sign) for sign in signs]

    # ------------------------------------------------------------------ scoring

    def _raw_score(self, X: Any) -> Floats:
        trees = boosting.predict(
            boosting.load(self.model_), X, tree_threads(self.n_jobs, X.shape[0])
        )
        return trees if self.linear_ is None else trees + self.linear_.score(X)
