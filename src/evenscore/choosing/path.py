"""The points of a trade-off between AUC and gaps: the front, a choice, a frame, a plot."""

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from evenscore.auditing.frames import Backend, data_frame
from evenscore.auditing.plain import to_plain
from evenscore.auditing.showable import Showable, renderer
from evenscore.gaps import as_constraints
from evenscore.gaps.family import with_tolerance
from evenscore.inference.estimate import Estimate, percent

if TYPE_CHECKING:
    from evenscore.choosing.certified import CertifiedChoice

Parameter = Literal["tolerance", "strength"]

FORMAT, VERSION = "evenscore.tradeoff", "2.2"

CHOSEN_HERE = (
    "The rows that report a point also choose it: the AUC and gaps of a chosen point look a little "
    "better than they are. Audit the chosen score on other rows."
)
"""What has to be said wherever a chosen point is shown."""


@final
@dataclass(frozen=True)
class TradeoffPoint:
    """One parameter and what came of it on rows not trained on.

    Parameters
    ----------
    parameter : "tolerance" or "strength"
        What was varied.
    value : float
        A tolerance of infinity is the scorer without constraints.
    auc : Estimate
        Of everybody.
    gaps : tuple of Estimate
        Those of the scorer's constraints.
    converged : bool
        Whether the fits of all folds did what they were asked to.
    """

    parameter: Parameter
    value: float
    auc: Estimate
    gaps: tuple[Estimate, ...]
    converged: bool

    @property
    def worst(self) -> Estimate:
        """The gap of largest magnitude; one that could not be computed is the worst of all."""
        return max(self.gaps, key=lambda gap: np.nan_to_num(abs(gap.value), nan=np.inf))

    @property
    def worst_gap(self) -> float:
        """Its magnitude."""
        return abs(self.worst.value)

    @property
    def worst_interval(self) -> tuple[float, float]:
        """The interval of its magnitude."""
        low, high = self.worst.low, self.worst.high
        return max(0.0, low, -high), max(-low, high)

    def trained_to(self, tolerance: float) -> bool:
        """Whether training was asked for that tolerance or a smaller one."""
        return self.parameter == "tolerance" and self.value <= tolerance

    def meets(self, tolerance: float) -> bool:
        """Whether it can be taken to be fair up to a tolerance: see `TradeoffPath.chosen`.

        It is judged by itself, whatever other points there are.
        """
        if self.trained_to(tolerance) and self.converged:
            return all(gap.low <= tolerance and gap.high >= -tolerance for gap in self.gaps)
        return all(gap.lies_within(tolerance) for gap in self.gaps)

    def __str__(self) -> str:
        return point_name(self.parameter, self.value)


@final
@dataclass(frozen=True, eq=False, repr=False)
class TradeoffPath(Showable):
    """The points of a path, from the least to the most constrained; made by `tradeoff_path`.

    The rows that report a point also choose it: the AUC and gaps of a chosen point look a little
    better than they are, and no interval accounts for the choice. Audit the chosen score on other
    rows, or let these choose: `certify` tests the points on people held out, with a guarantee.

    Parameters
    ----------
    scorer : scorer
        The one that was varied, not fitted.
    points : tuple of TradeoffPoint
        Parameter, AUC and gaps, cross-validated.
    X, y, sensitive_features, sample_weight
        The data, on which `select` fits.
    smallest_cell : name and number of rows
        The class and group with the fewest.
    cluster : column, or several, optional
        Which rows belong together, if that was said.
    fitted : tuple of scorers, optional
        Those of the points, fitted on all rows, if the path needed them.

    Examples
    --------
    >>> from evenscore import LinearScorer
    >>> auc = Estimate("AUC", 0.8, 0.78, 0.82, 0.95, "made")
    >>> gap = Estimate("bnsp", 0.03, 0.01, 0.05, 0.95, "made", first="a", second="b")
    >>> point = TradeoffPoint("tolerance", 0.02, auc, (gap,), converged=True)
    >>> path = TradeoffPath(
    ...     LinearScorer("bnsp"), (point,), None, None, None, None, ("positives of b", 90))
    >>> path.pareto, str(path.chosen(0.02))
    ((0,), 'tolerance=0.02')
    """

    scorer: Any
    points: tuple[TradeoffPoint, ...]
    X: Any
    y: Any
    sensitive_features: Any
    sample_weight: Any
    smallest_cell: tuple[str, int]
    cluster: Any = None
    fitted: tuple[Any, ...] = ()

    shown_as: ClassVar[str] = "tradeoff"

    def __repr__(self) -> str:
        name = type(self.scorer).__name__
        return f"<TradeoffPath of {name}: {', '.join(map(str, self.points))}>"

    @cached_property
    def pareto(self) -> tuple[int, ...]:
        """Positions of the points that no other beats: none has a larger AUC and as small a gap.

        Nor a smaller gap and as large an AUC. Estimates are compared, not their intervals.
        """
        pairs = [(point.auc.value, -point.worst_gap) for point in self.points]
        return tuple(
            k
            for k, (auc, fair) in enumerate(pairs)
            if not any(a >= auc and f >= fair and (a, f) != (auc, fair) for a, f in pairs)
        )

    def select(self, *, tolerance: float) -> Any:
        """The scorer of the largest AUC that meets a tolerance, fitted on all the data.

        It is that of the point `chosen(tolerance)`; if there is none, a ValueError says what stood
        in the way. The same rows chose the point, report it and are fitted on: audit the scorer on
        other rows. It is told the clusters, if there are any.
        """
        chosen = self.chosen(tolerance)
        if self.fitted:
            return self.fitted[self.points.index(chosen)]
        scorer = self.scorer_at(chosen)
        columns = self.sensitive_features, self.sample_weight, self.cluster
        return fit_to(scorer, self.X, self.y, *columns)

    def scorer_at(self, point: TradeoffPoint) -> Any:
        """The scorer of a point, not fitted."""
        return at_point(clone(self.scorer), point.parameter, point.value)

    def certify(
        self,
        X: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        tolerance: float = 0.05,
        confidence_level: float = 0.95,
        sample_weight: Any = None,
        cluster: Any = None,
        hold_out: float = 0.5,
        random_state: Any = 0,
        verbose: bool | int = False,
    ) -> "CertifiedChoice":
        """The scorer of largest AUC that is fair with a stated confidence, if there is one.

        With people *held out*, whom the path has not seen: the points of the Pareto front are
        fitted on the path's rows and tested on these people one by one, the one with the smallest
        cross-validated gap first, until the first that fails. Without: the path's own rows are
        split, points are fitted on one part and tested on the other, from the most constrained to
        the least, and `cost` says what that costs. See `certified_choice` for what is proved.

        Parameters
        ----------
        X, y, sensitive_features : optional
            Features, labels and groups of the people held out, as in `tradeoff_path`.
        tolerance : float, default 0.05
            The largest gap that may be, of constraints that have no tolerance of their own.
        confidence_level : float, default 0.95
            The probability that whatever is certified is as fair as it says.
        sample_weight, cluster : optional
            Those of the people held out.
        hold_out : float, default 0.5
            The share of the path's rows to test on, if nobody is held out.
        random_state : int, default 0
            Draws that split.
        verbose : bool, default False
            Show a progress bar, on a terminal or in a notebook.

        Returns
        -------
        CertifiedChoice
            The scorer, or None; every test with its certificate; and the result in words.
        """
        from evenscore.choosing.candidates import Given  # these fit the points of a path
        from evenscore.choosing.certifying import certify_path

        own = {"y": y, "sensitive_features": sensitive_features}
        for name, column in own.items():
            if (column is None) != (X is None):
                missing = name if column is None else "X"
                raise ValueError(
                    f"People held out have X, y and sensitive_features: {missing} is missing."
                )
        if X is None and (sample_weight is not None or cluster is not None):
            raise ValueError("sample_weight and cluster are of people held out: pass X and y, too.")
        held_out = None if X is None else Given(X, y, sensitive_features, sample_weight, cluster)
        return certify_path(
            self,
            held_out,
            tolerance=tolerance,
            confidence_level=confidence_level,
            hold_out=hold_out,
            random_state=random_state,
            verbose=verbose,
        )

    def chosen(self, tolerance: float) -> TradeoffPoint:
        """The point of the largest AUC among those that meet a tolerance.

        A point trained to that tolerance or a smaller one (and converged) is taken unless the data
        contradict it: unless the interval of a gap lies wholly beyond ±tolerance. Any other point,
        with a looser tolerance, a strength or no constraints, needs proof, lest chance be mistaken
        for fairness: the interval of every gap must lie wholly within ±tolerance. If there is no
        such point, a ValueError says what stood in the way.

        Each point is judged by itself, with each gap's own interval: a point whose gap is exactly
        at the tolerance passes as proved with a probability of (1 − level)/2 at most, and one of m
        such points with up to m times that. The point of the largest AUC is then taken: its AUC and
        gaps look a little better than they are. Audit the chosen score on other rows.
        """
        if not isinstance(tolerance, Real) or not 0.0 <= float(tolerance) < math.inf:
            raise ValueError(f"tolerance must be a number of at least 0, not {tolerance!r}.")
        fair = [point for point in self.points if point.meets(tolerance)]
        if not fair:
            raise ValueError(self._refusal(tolerance))
        return max(fair, key=lambda point: (point.auc.value, -point.worst_gap))

    def _refusal(self, tolerance: float) -> str:
        trained = [point for point in self.points if point.trained_to(tolerance)]
        candidates = trained or self.points
        nearest = min(candidates, key=lambda point: np.nan_to_num(point.worst_gap, nan=np.inf))
        gap, (name, count) = nearest.worst, self.smallest_cell
        few = f"too few observations (the smallest cell has {count} {name})"
        beyond = gap.low > tolerance or gap.high < -tolerance
        if trained and not nearest.converged:
            reason = "a conflict between constraints, or with what the features can tell"
            if count * tolerance < 1.0:  # one of them is more than the gap that may be left
                reason += f", or {few} for so small a gap"
        elif trained:
            reason = f"{few} or too flexible a scorer: closed in training, the gap returns"
        elif not beyond and gap.high - gap.low > 2.0 * tolerance:
            reason = f"{few} to prove it: the interval is wider than the tolerance"
        else:
            loose = {"strength": "strengths are too small", "tolerance": "tolerances are larger"}
            reason = f"that the path's {loose[nearest.parameter]}"
        return (
            f"No point of the path meets a tolerance of {tolerance:g}: the nearest ({nearest}) "
            f"leaves a gap of {gap.value:+.3f} ({percent(gap.confidence_level)} interval "
            f"{gap.low:+.3f} to {gap.high:+.3f}) in {gap.title}; the likely reason is "
            f"{reason}."
        )

    # ------------------------------------------------------------------ out

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row per point: AUC, worst gap and every gap, each with its interval.

        `backend` is "pandas", "polars" or "pyarrow"; None takes the first that is installed.
        """
        points = self.points
        columns: dict[str, list[Any]] = {
            "parameter": [point.parameter for point in points],
            "value": [point.value for point in points],
            "auc": [point.auc.value for point in points],
            "auc_low": [point.auc.low for point in points],
            "auc_high": [point.auc.high for point in points],
            "worst_gap": [point.worst_gap for point in points],
            "worst_gap_low": [point.worst_interval[0] for point in points],
            "worst_gap_high": [point.worst_interval[1] for point in points],
            "worst_gap_name": [point.worst.title for point in points],
            "converged": [point.converged for point in points],
            "pareto": [k in self.pareto for k in range(len(points))],
        }
        for k, gap in enumerate(points[0].gaps):
            for part, end in (("value", ""), ("low", " (low)"), ("high", " (high)")):
                column = [float(getattr(point.gaps[k], part)) for point in points]
                columns[gap.title + end] = column
        return data_frame(columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON: what the points are, not the rows behind them.

        `choice` says in a sentence what is to be kept in mind of a point chosen among them.

        The `value` of the point without constraints is None. Other numbers are written as in an
        audit: NaN is None, and infinities are the texts "Infinity" and "-Infinity".
        """
        points = []
        for point in self.points:
            low, high = point.worst_interval
            worst = {"title": point.worst.title, "value": point.worst_gap, "low": low, "high": high}
            special = {
                "value": None if math.isinf(point.value) else point.value,
                "gaps": [{"title": gap.title, **to_plain(gap)} for gap in point.gaps],
                "worst_gap": to_plain(worst),
            }
            points.append({**to_plain(point), **special})
        return {
            "format": FORMAT,
            "version": VERSION,
            "scorer": type(self.scorer).__name__,
            "pareto": list(self.pareto),
            "choice": CHOSEN_HERE,
            "points": points,
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw AUC against the worst gap with error bars, the Pareto front marked; give the axes.

        Hollow points did not converge. Better is up and to the left. For the artists, a choice and
        dark grounds see `plots.TradeoffDisplay`.
        """
        return renderer("tradeoff", "plot")(self, ax)


def cluster_for(scorer: Any, cluster: Any) -> dict[str, Any]:
    """The clusters as a parameter of `fit`, if there are any and the scorer takes them."""
    taken = cluster is not None and has_fit_parameter(scorer, "cluster")
    return {"cluster": cluster} if taken else {}


def groups_for(scorer: Any, sensitive_features: Any) -> dict[str, Any]:
    """The groups as a parameter of `fit`, if the scorer has a use for them; else it refuses."""
    asked = as_constraints(getattr(scorer, "constraints", ()))
    used = bool(asked) or getattr(scorer, "use_groups", False)
    return {"sensitive_features": sensitive_features} if used else {}


def fit_to(
    scorer: Any, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, cluster: Any
) -> Any:
    """A scorer, fitted; it is told the groups and the clusters if it has a use for them."""
    columns = {} if sample_weight is None else {"sample_weight": sample_weight}
    columns |= groups_for(scorer, sensitive_features) | cluster_for(scorer, cluster)
    return scorer.fit(X, y, **columns)


def point_name(parameter: Parameter, value: float) -> str:
    """What a point is called."""
    return "no constraints" if math.isinf(value) else f"{parameter}={value:g}"


def at_point(scorer: Any, parameter: Parameter, value: float) -> Any:
    """A scorer with the parameters of a point."""
    free = dict.fromkeys({"tolerance", "strength"} & set(scorer.get_params()))
    if math.isinf(value):
        return scorer.set_params(**free, constraints=())
    if parameter not in free:  # tolerances are those of its constraints
        asked = as_constraints(scorer.constraints)
        return scorer.set_params(constraints=[with_tolerance(one, value) for one in asked])
    return scorer.set_params(**{**free, parameter: value})


def has_path(scorer: Any) -> bool:
    """Whether a scorer, once fitted, gives those at other tolerances with hardly more work."""
    return hasattr(scorer, "path") and hasattr(scorer, "under")
