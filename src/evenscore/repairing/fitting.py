"""`repair`: from columns to the maps that make a score fair, and how well they hold."""

import math
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from evenscore.gaps import ConstraintLike, GapFamily, RateConstraint, as_constraints
from evenscore.gaps.family import EstimateSettings, family_estimates
from evenscore.inference.estimate import check_level
from evenscore.repairing.maps import IncreasingMap, Unseen, apply_by_group, check_unseen
from evenscore.repairing.result import Repair
from evenscore.repairing.search import Search, Solution
from evenscore.repairing.shortfall import shortfall
from evenscore.repairing.softening import softened
from evenscore.repairing.ways import Goal
from evenscore.scores import GroupedScores
from evenscore.scores.reading import Rows, read_rows
from evenscore.scores.sources import column_names, counted, to_array

_DEFAULT = RateConstraint("fpr", "fnr")


def repair(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    constraints: ConstraintLike = _DEFAULT,
    tolerance: float | None = None,
    share: float | None = None,
    guards: bool = True,
    pos_label: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    group_order: Sequence[Hashable] | None = None,
    unseen: Unseen = "error",
    min_beyond: float = 5.0,
    soften: float = 0.0,
    confidence_level: float = 0.95,
) -> Repair:
    """Find one increasing map per group after which a score meets fairness constraints.

    At the cuts of a rate constraint the maps send the groups' own cuts, where the rate is the same
    in all groups, to a common one. One rate (fpr, fnr or selection) is made equal; of several, all
    of which move together with the cut of a group, the worst gap is made as small as it can be, and
    what is left is the difference between the groups' own ROC curves. The common cut selects the
    share that it did before, and thresholds stay where they are. A range of cuts is aligned at
    several of them, smoothly in between: a map that followed every person of the sample would
    follow chance, and leave larger gaps on new data. For a ROC constraint the groups' own cuts at
    every rate are made one. Wherever nothing is constrained the groups are merged in the order that
    ranks best.

    For an AUC constraint they are merged by the log-odds of being positive plus an offset of each
    group; for `inter_group`, `bnsp` and `bpsn` no other order has a larger AUC at the same gap, as
    far as the log-odds are known. `intra_group` is refused: an increasing map of a group does not
    change how the group is ranked; so are rates such as precision, which need not rise or fall with
    the cut. `pair_error`, which rests mostly on the ranking within groups, moves little.

    Where not everything asked for can be had, several ways are tried: all cuts aligned as well as
    they can be, a compromise between the rates, the cuts of some of the constraints, the score as
    it is. Taken is the one that leaves the least beyond the tolerances, the worst gap and the mean
    of all counting the same, and of those about as good the one with the largest AUC; the worst gap
    does not become worse. What then exceeds its tolerance by more than chance explains (two
    standard errors; one, if that is more than 0.05) is told in `Repair.shortfall` and a warning,
    with the gaps before and after and the reason.

    The intervals of `gaps["after"]` are about the score as repaired, on new data. They account for
    the sampling error of the maps: the maps have few parameters, so that the difference between a
    gap on the sample and in the population is, for the maps found, about what it would be for maps
    known beforehand (measured in benchmarks/repair.py). For a proof on people who were not looked
    at, see `Repair.certify`.

    The repaired score needs the group of whoever is scored, and applies another map to another
    group. **That may be unlawful** where decisions about individuals must not depend on group
    membership, whatever the aim. The scorers that need no group when scoring (`LinearScorer`,
    `EvenScorer`) are for that case.

    Parameters
    ----------
    y_true : column of labels
        Two different ones at most.
    y_score : column of numbers
        The score to be repaired.
    sensitive_features : column, or several
        The groups; of several columns their intersections.
    constraints : name, constraint or list of them
        What should be equal between groups; by default fpr and fnr at every cut that selects 5 % to
        50 % of everyone.
    tolerance : float, optional
        The gap that may be left (a constraint's own comes first): the maps go no further than
        that. By default they go all the way.
    share : float, optional
        Instead of a tolerance: go a share of the way, from 0 (the score as it is) to 1
        (everything). What is then left is no shortfall.
    guards : bool, default True
        Align the cuts around those asked for as well, so that the gap does not return on new data
        (without, the groups are merged for AUC right up to the cut, and it does).
    pos_label : label, optional
        The positive label; may be left out for labels 0/1, −1/1 and False/True.
    sample_weight : column of numbers, optional
        Weights of at least 0.
    cluster : column, or several, optional
        Who or what a row is about, where there are several rows per person, household or branch:
        the intervals of the gaps allow for it. The maps are the same.
    group_order : list of groups, optional
        The order of the groups; by default they are sorted.
    unseen : "error" or "unchanged"
        What happens to people of groups without a map: they are refused, or their scores are left
        as they are.
    min_beyond : float, default 5
        How many observations of every group a rate needs beyond its cut; guards without that are
        left out.
    soften : float, default 0
        Trades exactness on the sample for less error on new data where cells are small: in a cell
        of n the labels count n / (n + soften) or more, and for the rest everybody in the group
        counts with the chance that the score gives; the less, the clearer it is that a score does
        not mean the same in all groups. 400 is the default of `RepairedScorer`.
    confidence_level : float, default 0.95
        Of the intervals.

    Returns
    -------
    Repair
        The maps, and the gaps before and after.

    Examples
    --------
    >>> from evenscore import Cuts
    >>> rng = np.random.default_rng(0)
    >>> y, group = rng.integers(0, 2, 4000), rng.choice(["a", "b"], 4000)
    >>> score = rng.normal(size=4000) + y + (group == "b")
    >>> equal = RateConstraint("fnr", cuts=Cuts(between=(0.1, 0.4)))
    >>> fair = repair(y, score, sensitive_features=group, constraints=equal)
    >>> [round(gap.value, 2) for gaps in fair.gaps.values() for gap in gaps]
    [0.42, -0.01]
    >>> fair.transform([1.0, 1.0], sensitive_features=["a", "b"]).round(1)
    array([1.6, 0.4])
    """
    families = as_constraints(constraints)
    settings = RepairSettings(
        tolerance, share, guards, unseen, min_beyond, soften, confidence_level
    )
    rows = read_rows(
        y_true,
        sensitive_features,
        y_score=to_array(y_score, "y_score"),
        pos_label=pos_label,
        sample_weight=sample_weight,
        cluster=cluster,
        group_order=group_order,
    )
    return repair_rows(rows, families, settings, column_names(sensitive_features))


@dataclass(frozen=True)
class RepairSettings:
    """How far a repair goes, and what it takes for granted: the parameters of `repair`, checked.

    `averaged` says whether the repaired scores of several models will be averaged.
    """

    tolerance: float | None = None
    share: float | None = None
    guards: bool = True
    unseen: Unseen = "error"
    min_beyond: float = 5.0
    soften: float = 0.0
    confidence_level: float = 0.95
    averaged: bool = False

    def __post_init__(self) -> None:
        check_unseen(self.unseen)
        check_level(self.confidence_level)
        if self.tolerance is not None and self.share is not None:
            raise ValueError("Say tolerance (the gap that may be left) or share, not both.")
        for name in ("tolerance", "share"):
            value = getattr(self, name)
            if value is not None and not _number(value, 0.0, 1.0):
                raise ValueError(f"{name} must be a number between 0 and 1, not {value!r}.")
        if not _number(self.soften, 0.0, 1e12):
            raise ValueError(f"soften must be a number of at least 0, not {self.soften!r}.")
        if not _number(self.min_beyond, 1.0, math.inf):
            raise ValueError(f"min_beyond must be a number of at least 1, not {self.min_beyond!r}.")

    def goal(self, family: GapFamily, n_groups: int) -> Goal:
        """What is asked for of a family; one that cannot be repaired says why not."""
        own = family.tolerance if family.tolerance is not None else self.tolerance
        alignment = family.targets(n_groups, guards=bool(self.guards))
        return Goal(family, alignment, 0.0 if own is None else float(own))


def _number(value: Any, low: float, high: float) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and low <= float(value) <= high


def repair_rows(
    rows: Rows,
    families: Sequence[GapFamily],
    settings: RepairSettings,
    columns: tuple[str, ...] | None = None,
) -> Repair:
    """The repair of decoded rows; `columns` are the names of those that make the groups.

    Warnings are those of whoever called the caller.
    """
    if not families:
        raise ValueError("There is nothing to repair: constraints is empty.")
    scores = rows.grouped()
    goals, solution = find_maps(scores, families, settings)
    estimated = EstimateSettings(confidence_level=settings.confidence_level)
    after = before = tuple(family_estimates(scores, families, estimated))
    if not all(mapping.is_identity for mapping in solution.maps):
        repaired = repaired_scores(scores, solution.maps)
        after = tuple(family_estimates(repaired, families, estimated))
        n_merged = _n_distinct(scores) - _n_distinct(repaired)
        if n_merged:
            text = "1 score" if n_merged == 1 else f"{n_merged:,} scores"
            warnings.warn(
                f"The maps make {text} equal to others of the group, from which they differed by "
                "little more than the precision of doubles; if the score is a probability near 1, "
                "repair its log-odds instead.",
                UserWarning,
                stacklevel=3,
            )
    short = None
    if settings.share is None:
        short = shortfall(scores, goals, solution, before, after, soft=bool(settings.soften))
    if short is not None:
        warnings.warn(short, UserWarning, stacklevel=3)
    return Repair(
        scores.groups,
        solution.maps,
        tuple(family.name for family in families),
        {"before": before, "after": after},
        solution.conflicts,
        settings.unseen,
        columns,
        short,
    )


def find_maps(
    scores: GroupedScores, families: Sequence[GapFamily], settings: RepairSettings
) -> tuple[list[Goal], Solution]:
    """The maps alone, without estimates of what they leave: goals and solution."""
    scores.require_cells()
    goals = [settings.goal(family, scores.n_groups) for family in families]
    _check_cells(scores, goals, settings.min_beyond)
    search = Search(
        softened(scores, float(settings.soften)) if settings.soften else scores,
        goals,
        None if settings.share is None else float(settings.share),
        float(settings.min_beyond),
        scores.effective_sizes,
        settings.averaged,
    )
    return goals, search.run()


def _check_cells(scores: GroupedScores, goals: Sequence[Goal], min_beyond: float) -> None:
    """Shifts compare all people of a group with all of another: every cell must have some."""
    sizes = scores.effective_sizes
    shifted = [goal.family.name for goal in goals if goal.alignment.by_shifts]
    if shifted and sizes.min() < 2.0 * min_beyond:
        cell = int(np.argmin(sizes))
        raise ValueError(
            f"The {scores.cell_name(cell)} are worth {counted(sizes.min(), 'observation')}, and a "
            f"repair of {shifted[0]} needs {2.0 * min_beyond:g} in every cell (twice min_beyond): "
            "join groups or find more data."
        )


def repaired_scores(scores: GroupedScores, maps: tuple[IncreasingMap, ...]) -> GroupedScores:
    """The table of scores after the maps."""
    positive, codes = np.divmod(scores.cell.astype(np.intp), scores.n_groups)
    columns = {}
    if scores.weight.strides != (0,):  # some row stands for several observations
        columns = {
            "weight": scores.weight,
            "count": scores.count,
            "weight_squared": scores.weight_squared,
        }
    mapped = apply_by_group(scores.score, codes, maps)
    members = scores.clusters
    if members is not None:  # row by row, for those of a cluster may come apart
        at = members.row
        return GroupedScores.from_codes(
            mapped[at],
            positive[at] == 1,
            codes[at],
            scores.groups,
            weight=members.weight,
            cluster=members.cluster,
        )
    return GroupedScores.from_codes(mapped, positive == 1, codes, scores.groups, **columns)


def _n_distinct(scores: GroupedScores) -> int:
    """Number of distinct pairs of a score and a group.

    A map makes it smaller in floating point only, where it squeezes scores together that differ by
    little more than the precision of doubles, as saturated probabilities do.
    """
    tied = np.flatnonzero(scores.score[1:] == scores.score[:-1])
    rows = np.union1d(tied, tied + 1)  # the others are alone with their score
    level = np.cumsum(np.diff(scores.score[rows], prepend=np.nan) != 0.0)
    group = scores.cell[rows].astype(np.intp) % scores.n_groups
    return len(scores) - len(rows) + len(np.unique(level * scores.n_groups + group))
