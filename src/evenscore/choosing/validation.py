"""Cross-validation of constrained scorers: folds, fits, and one audit of the scores left out."""

import math
import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples
from threadpoolctl import threadpool_limits

from evenscore.choosing.path import (
    Parameter,
    TradeoffPath,
    TradeoffPoint,
    at_point,
    cluster_for,
    fit_to,
    groups_for,
    has_path,
)
from evenscore.gaps import EstimateSettings, GapFamily, as_constraints
from evenscore.gaps.family import family_estimates
from evenscore.inference.aucs import auc_estimates
from evenscore.inference.estimate import check_count, check_level
from evenscore.learning.objective import standardise
from evenscore.learning.parameters import seed_of
from evenscore.learning.price import PriceWarning
from evenscore.learning.progress import progress
from evenscore.learning.repaired import RepairedScorer
from evenscore.learning.task import TOLERANCES
from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Bools, Floats, Ints
from evenscore.scores.labels import label_text
from evenscore.scores.reading import read_rows
from evenscore.scores.sources import to_array

STRENGTHS = (0.0, 0.25, 0.5, 1.0, 5.0, 10.0)  # the paper's


def tradeoff_path(
    scorer: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    tolerances: Sequence[float] | None = None,
    strengths: Sequence[float] | None = None,
    sample_weight: ArrayLike | None = None,
    cluster: Any = None,
    cv: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    confidence_level: float = 0.95,
    verbose: bool | int = False,
) -> TradeoffPath:
    """AUC against the gaps of a scorer's constraints, over tolerances or strengths.

    `EvenScorer` is fitted once, and its bars are found anew for every tolerance: AUC and gaps are
    those of the rows left out by its own folds. Any other scorer is fitted anew for every point and
    fold, as follows.

    Folds are drawn within every class and group, and keep clusters whole. The scores of the rows
    left out are standardised fold by fold (mean 0, standard deviation 1, every fold weighted to the
    same mix of cells) and pooled; AUC, gaps and intervals are those of an audit of the pool. Gaps
    computed fold by fold and averaged would rest on cells of n/cv rows: with some thirty of them, a
    ROC gap between equal groups is 0.01 to 0.02 on average, as much as is to be found. Everyone in
    a fold is standardised alike: groups whose scores have the same law in every fold have the same
    in the pool. Intervals account for who was tested on, not for who was trained on, and scorers
    trained on a share 1 − 1/cv of the rows stand for those that `select` fits on all. Nor do they
    account for a choice among the points: audit a chosen score on other rows.

    Parameters
    ----------
    scorer : scorer
        One with constraints; it is not fitted itself.
    X : table
        Features, as the scorer takes them.
    y : column
        Labels of two classes.
    sensitive_features : column, or several
        The groups; of several columns their intersections.
    tolerances : list of numbers, optional
        By default 0.2, 0.1, 0.05, 0.02, 0.01 and 0.005; the scorer without constraints comes first.
    strengths : list of numbers, optional
        Penalties to be varied instead; for a scorer that has a strength, by default the paper's 0,
        0.25, 0.5, 1, 5 and 10.
    sample_weight : column of numbers, optional
        Weights of at least 0.
    cluster : column, or several, optional
        Who or what each row is about, where there are several rows per person, household or branch;
        of several columns their combinations. Folds keep clusters whole, as even over classes and
        groups as that allows, and intervals go by clusters. The scorer is told, if its `fit` takes
        clusters.
    cv : int, optional
        The number of folds; by default 5, or those that the scorer has of its own.
    random_state : int, optional
        Draws the folds, and the seed of a scorer that has none.
    n_jobs : int, optional
        Fits at a time; the path does not depend on it.
    confidence_level : float, default 0.95
        Of the intervals.
    verbose : bool, default False
        Show a progress bar, on a terminal or in a notebook.

    Returns
    -------
    TradeoffPath
        The points, from the least to the most constrained.

    Examples
    --------
    >>> from evenscore import LinearScorer
    >>> from evenscore.datasets import make_square
    >>> data = make_square(2000, random_state=0)
    >>> path = tradeoff_path(
    ...     LinearScorer("intra_group"), data.X, data.y, sensitive_features=data.groups,
    ...     tolerances=[0.1, 0.02], random_state=0,
    ... )
    >>> path
    <TradeoffPath of LinearScorer: no constraints, tolerance=0.1, tolerance=0.02>
    >>> [point.worst_gap < 0.15 for point in path.points]
    [False, True, True]
    >>> path.select(tolerance=0.05).tolerance
    0.02
    """
    constraints = constraints_of(scorer)
    parameter, values = grid_of(scorer, constraints, tolerances, strengths)
    check_level(confidence_level)
    rng, estimated = (
        np.random.default_rng(seed_of(random_state)),
        EstimateSettings(confidence_level),
    )
    rows = (X, y, sensitive_features, sample_weight, cluster)
    scorer, data = seeded(scorer, rng), read_rows_of(*rows)

    def path(tables: Sequence[Any], fine: Sequence[bool], fitted: tuple[Any, ...]) -> TradeoffPath:
        points = []
        for value, table, converged in zip(values, tables, fine, strict=True):
            auc, _ = auc_estimates(table, confidence_level=confidence_level)
            gaps = tuple(family_estimates(table, constraints, estimated))
            points.append(TradeoffPoint(parameter, value, auc, gaps, converged))
        return TradeoffPath(scorer, tuple(points), *rows[:4], _smallest_cell(data), cluster, fitted)

    if has_path(scorer):
        scorers = fitted_once(scorer, cv, *rows).path(values)
        tables = [one.left_out_.table for one in scorers]
        return path(tables, [one.converged_ for one in scorers], tuple(scorers))
    cv = check_count(5 if cv is None else cv, "cv", 2)
    folds = draw_folds(data, cv, rng)
    # Some scorers are fitted together, if they say so; all others one by one.
    together = parameter in getattr(scorer, "varied_together", ())
    parts = [list(values)] if together else [[value] for value in values]
    tasks = [(part, fold) for part in parts for fold in range(cv)]
    scores = {value: np.empty(len(data)) for value in values}
    converged = dict.fromkeys(values, True)
    with progress("tradeoff_path", len(tasks), verbose=verbose) as advance:
        results = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(_fit_and_score)(scorer, parameter, part, data, folds == fold)
            for part, fold in tasks
        )
        for (part, fold), result in zip(tasks, results, strict=True):
            for value, (score, fine) in zip(part, result, strict=True):
                share = balanced(data, folds == fold)
                scores[value][folds == fold] = standardise(score, share).score
                converged[value] &= fine
            advance(f"{parameter} {part[-1]:g}, fold {fold + 1}")
    tables = [data.grouped(scores[value]) for value in values]
    return path(tables, [converged[value] for value in values], ())


def fitted_once(scorer: Any, folds: int | None, *rows: Any) -> Any:
    """A scorer with a path of its own, fitted on all rows, given as for `fit_to`."""
    own = clone(scorer)
    if folds is not None:
        own.set_params(folds=folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", PriceWarning)  # prices are what a path shows
        return fit_to(own, *rows)


def constraints_of(scorer: Any) -> list[GapFamily]:
    """The constraints of a scorer; one that has none, or cannot have any, is refused."""
    if isinstance(scorer, RepairedScorer):
        raise TypeError(
            "tradeoff_path scores people without their groups, which RepairedScorer needs: fit it "
            "at several tolerances and compare gaps_ instead."
        )
    known = scorer.get_params() if hasattr(scorer, "get_params") else {}
    for name in ("constraints",) if has_path(scorer) else ("constraints", "strength"):
        if name not in known:
            kind = type(scorer).__name__
            raise TypeError(f"tradeoff_path varies constrained scorers: {kind} has no {name}.")
    constraints = as_constraints(scorer.constraints)
    if not constraints:
        raise ValueError("The scorer has no constraints: there is no gap to trade the AUC against.")
    return constraints


def grid_of(
    scorer: Any,
    constraints: Sequence[GapFamily],
    tolerances: Sequence[float] | None = None,
    strengths: Sequence[float] | None = None,
) -> tuple[Parameter, list[float]]:
    """What is varied, and its values from the least to the most constrained."""
    if tolerances is not None and strengths is not None:
        raise ValueError("Give tolerances or strengths, not both.")
    takes_tolerance = has_path(scorer) or "tolerance" in scorer.get_params()
    if has_path(scorer) and strengths is not None:
        raise ValueError(f"{type(scorer).__name__} takes tolerances, not strengths.")
    if tolerances is not None and not takes_tolerance:
        raise ValueError(f"{type(scorer).__name__} takes a strength, not a tolerance.")
    by_strength = tolerances is None and (
        strengths is not None
        or getattr(scorer, "strength", None) is not None
        or not takes_tolerance
    )
    given = strengths if by_strength else tolerances
    name, default = ("strengths", STRENGTHS) if by_strength else ("tolerances", TOLERANCES)
    given = default if given is None else given
    if isinstance(given, str) or not np.iterable(given) or not len(given):
        raise ValueError(f"{name} must be a list of numbers, not {given!r}.")
    for value in given:
        if not isinstance(value, Real) or not 0.0 <= float(value) < math.inf:
            raise ValueError(f"{name} must be finite numbers of at least 0, not {value!r}.")
        if not by_strength and float(value) > 1.0:
            raise ValueError(f"{name} are differences of shares, such as 0.05, not {value!r}.")
    values = sorted({float(value) for value in given})
    if by_strength:
        return "strength", values
    for constraint in constraints:
        if constraint.tolerance is not None and not has_path(scorer):
            raise ValueError(
                f"{constraint.name} has a tolerance of its own, {constraint.tolerance:g}, which "
                "tolerances cannot vary: leave it out."
            )
    return "tolerance", [math.inf, *reversed(values)]


def read_rows_of(
    X: Any, y: Any, sensitive_features: Any, sample_weight: Any, cluster: Any = None
) -> TrainingSet:
    """The rows of positive weight."""
    labels = to_array(y, "y")
    classes = np.unique(labels)
    if len(classes) != 2:
        raise ValueError(f"y must have two classes, but it has {len(classes)}.")
    rows = read_rows(
        labels == classes[1],
        sensitive_features,
        sample_weight=sample_weight,
        cluster=cluster,
        label_name="y",
        beside={"X": range(_num_samples(X))},
    )
    if len(rows.groups) < 2:
        only = label_text(rows.groups[0])
        raise ValueError(f"A gap needs two groups, but sensitive_features holds only {only}.")
    kept = np.flatnonzero(np.ones(len(rows)) if rows.weight is None else rows.weight)
    rows = rows.take(kept)
    codes = rows.codes.astype(np.intp, copy=False)
    decoded = (rows.positive, codes, rows.groups, rows.weight, rows.cluster)
    return TrainingSet(_safe_indexing(X, kept), *decoded)


def _smallest_cell(data: TrainingSet) -> tuple[str, int]:
    """The class and group with the fewest rows, and how many they are."""
    sizes = np.bincount(data.cell, minlength=2 * len(data.groups))
    smallest = int(np.argmin(sizes))
    return data.cell_name(smallest), int(sizes[smallest])


def draw_folds(data: TrainingSet, cv: int, rng: np.random.Generator) -> Ints:
    """The fold of every row: in all of them the same share of every class and group.

    Or as much so as clusters that stay whole allow.
    """
    counts, unit, having = data.separable(data.cell, 2 * len(data.groups))
    if counts.min() < cv:
        name = data.cell_name(int(np.argmin(counts)))
        raise ValueError(
            f"{cv} folds need {cv} {unit} of every class and group, but there are {counts.min()} "
            f"{having}{name}: lower cv or join groups."
        )
    return data.folds(cv, rng)


def balanced(data: TrainingSet, tested: Bools) -> Floats:
    """Weights of the rows of a fold that give every cell its share of all the data.

    Where clusters stay whole a fold may lack a cell: then it is the others that have theirs.
    """
    cell, n_cells = data.cell, 2 * len(data.groups)
    total = np.bincount(cell, data.share, n_cells)
    inside = np.bincount(cell[tested], data.share[tested], n_cells)
    ratio = np.divide(total, inside, out=np.zeros(n_cells), where=inside > 0.0)
    return np.asarray(data.share[tested] * ratio[cell[tested]])


def _fit_and_score(
    scorer: Any,
    parameter: Parameter,
    values: list[float],
    data: TrainingSet,
    tested: Bools,
) -> list[tuple[Floats, bool]]:
    """Fit on the rows of the other folds; the scores of this fold, and whether fits converged."""
    held_out = _safe_indexing(data.X, np.flatnonzero(tested))
    scorer = silent(scorer)
    if len(values) == 1:
        scorer = at_point(scorer, parameter, values[0])
    X, y, columns = training_rows(scorer, data, ~tested)
    # One thread of BLAS: sums are then made in the same order whatever n_jobs is.
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", PriceWarning)  # prices are what a path shows
        if len(values) > 1:
            fitted = scorer.fit_many(X, y, [{parameter: value} for value in values], **columns)
        else:
            fitted = [scorer.fit(X, y, **columns)]
        told = groups_to_score(scorer, data, tested)
        return [(one.decision_function(held_out, **told), bool(one.converged_)) for one in fitted]


def groups_to_score(scorer: Any, data: TrainingSet, tested: Bools) -> dict[str, Any]:
    """The groups of the rows to score, for a scorer whose features they are."""
    used = getattr(scorer, "use_groups", False)
    return {"sensitive_features": data.codes[tested]} if used else {}


def training_rows(scorer: Any, data: TrainingSet, trained: Bools) -> tuple[Any, Ints, Any]:
    """Features, labels and the other columns that a scorer is fitted on."""
    train = np.flatnonzero(trained)
    columns = groups_for(scorer, data.codes[train])
    if data.weight is not None:
        columns["sample_weight"] = data.weight[train]
    if data.cluster is not None:
        columns |= cluster_for(scorer, data.cluster[train])
    return _safe_indexing(data.X, train), data.positive[train].astype(np.intp), columns


def seeded(scorer: Any, rng: np.random.Generator) -> Any:
    """The same scorer, not fitted, with a seed if it needs one."""
    scorer = clone(scorer)
    if scorer.get_params().get("random_state", 0) is None:
        scorer.set_params(random_state=int(rng.integers(2**31)))
    return scorer


def silent(scorer: Any) -> Any:
    """The same scorer, not fitted, without a progress bar."""
    scorer = clone(scorer)
    return scorer.set_params(verbose=False) if "verbose" in scorer.get_params() else scorer
