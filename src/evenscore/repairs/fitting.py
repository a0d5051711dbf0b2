"""`repair`: from columns to the maps that make a score fair, and how well they hold."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from evenscore.columns import column_names, counted
from evenscore.constraints import AucConstraint, Constraint, RocConstraint, as_constraints
from evenscore.inference.estimate import check_level
from evenscore.repairs.estimates import estimates, merged_values, repaired_scores
from evenscore.repairs.lookup import Unseen, check_unseen
from evenscore.repairs.result import Repair
from evenscore.repairs.search import Search
from evenscore.repairs.shortfall import shortfall
from evenscore.repairs.softening import softened
from evenscore.scores import GroupedScores

__all__ = ["repair"]

_DEFAULT = RocConstraint(on="both", rates=(1 / 8, 1 / 4))


def repair(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    constraints: str | Constraint | Iterable[str | Constraint] = _DEFAULT,
    tolerance: float | None = None,
    strength: float | None = None,
    guards: bool = True,
    pos_label: Any = None,
    sample_weight: Any = None,
    group_order: Sequence[Hashable] | None = None,
    unseen: Unseen = "error",
    min_beyond: float = 5.0,
    soften: float = 0.0,
    confidence_level: float = 0.95,
) -> Repair:
    """Find one increasing map per group after which a score meets fairness constraints.

    For a ROC constraint the maps send, at every rate asked for, the groups' own cuts to a common
    one: on the sample every gap is then below one observation, unless cuts of negatives and
    positives conflict or scores are tied. The common cut is the one that everybody together had, so
    thresholds in use keep their overall meaning. `guards` does the same at rates around those asked
    for, so that the gap does not return on new data (without, the groups are merged for AUC right
    up to the cut, and it does). Wherever nothing is constrained the groups are merged in the order
    that ranks best. For an AUC constraint they are merged by the log-odds of being positive plus an
    offset of each group; for `inter_group`, `bnsp` and `bpsn` no other order has a larger AUC at
    the same gap, as far as the log-odds are known. `intra_group` is refused: an increasing map of a
    group does not change how the group is ranked. `pair_error`, which rests mostly on that, moves
    little; what cannot be reached is told in `Repair.shortfall` and a warning, with the reason.

    `tolerance` is the gap that may be left (a constraint's own comes first): the maps go no further
    than that. `strength` goes a share of the way, from 0 (the score as it is) to 1 (everything);
    say one of the two, by default everything. `unseen` says what happens to groups without a map:
    an "error", or "pooled" to leave their scores as they are. A rate needs `min_beyond`
    observations of every group beyond its cut; guards without that are left out.

    `soften` trades exactness on the sample for less error on new data where cells are small: in a
    cell of n the labels count n / (n + soften) or more, and for the rest everybody in the group
    counts with the chance that the score gives; the less, the clearer it is that a score does not
    mean the same in all groups. 400 is the default of `RepairedScorer`.

    The intervals of `gaps["after"]` are about the score as repaired, on new data. They account for
    the sampling error of the maps: the maps have few parameters, so that the difference between a
    gap on the sample and in the population is, for the maps found, about what it would be for maps
    known beforehand (measured in benchmarks/repair.py). For a proof on people who were not looked
    at, see `Repair.certify`.

    The repaired score needs the group of whoever is scored, and applies another map to another
    group. **That may be unlawful** where decisions about individuals must not depend on group
    membership, whatever the aim. The scorers that need no group when scoring (`LinearScorer`,
    `BoostedScorer`, `NeuralScorer`) are for that case.

    >>> rng = np.random.default_rng(0)
    >>> y, group = rng.integers(0, 2, 4000), rng.choice(["a", "b"], 4000)
    >>> score = rng.normal(size=4000) + y + (group == "b")
    >>> fair = repair(y, score, sensitive_features=group)
    >>> [round(gap.value, 2) for gap in fair.gaps["before"]]
    [0.23, 0.29, 0.36, 0.41]
    >>> max(abs(gap.value) for gap in fair.gaps["after"]) < 0.002
    True
    >>> fair.transform([1.0, 1.0], sensitive_features=["a", "b"]).round(1)
    array([1.4, 0.4])
    """
    found = as_constraints(constraints)
    if not found:
        raise ValueError("There is nothing to repair: constraints is empty.")
    check_unseen(unseen)
    check_level(confidence_level)
    if tolerance is not None and strength is not None:
        raise ValueError("Say tolerance (the gap that may be left) or strength, not both.")
    if tolerance is not None and not _number(tolerance, 0.0, 1.0):
        raise ValueError(f"tolerance must be a number between 0 and 1, not {tolerance!r}.")
    if strength is not None and not _number(strength, 0.0, 1.0):
        raise ValueError(f"strength must be a number between 0 and 1, not {strength!r}.")
    if not _number(soften, 0.0, 1e12):
        raise ValueError(f"soften must be a number of at least 0, not {soften!r}.")
    if not _number(min_beyond, 1.0, math.inf):
        raise ValueError(f"min_beyond must be a number of at least 1, not {min_beyond!r}.")
    scores = GroupedScores.from_arrays(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        pos_label=pos_label,
        sample_weight=sample_weight,
        group_order=group_order,
    )
    scores.require_cells()
    _check_constraints(found, scores)
    _check_cells(scores, found, min_beyond)
    search = Search(
        softened(scores, float(soften)) if soften else scores,
        [one for one in found if isinstance(one, RocConstraint)],
        [one for one in found if isinstance(one, AucConstraint)],
        0.0 if tolerance is None else float(tolerance),
        None if strength is None else float(strength),
        bool(guards),
        float(min_beyond),
        scores.effective_sizes,
    )
    result = search.run()
    after = before = estimates(scores, found, confidence_level)
    if not all(mapping.is_identity for mapping in result.maps):
        repaired = repaired_scores(scores, result.maps)
        after = estimates(repaired, found, confidence_level)
        _warn_of_merged(merged_values(scores, repaired))
    short = None
    if strength is None:
        short = shortfall(scores, found, tolerance or 0.0, result, after, soft=bool(soften))
    if short is not None:
        warnings.warn(short, UserWarning, stacklevel=2)
    return Repair(
        scores.groups,
        result.maps,
        tuple(one.name for one in found),
        {"before": before, "after": after},
        result.conflicts,
        unseen,
        column_names(sensitive_features),
        short,
    )


# ---------------------------------------------------------------------- what is checked


def _number(value: Any, low: float, high: float) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and low <= float(value) <= high


def _check_constraints(constraints: Sequence[Constraint], scores: GroupedScores) -> None:
    """Refuse AUC constraints that compare people of the same group only, whatever the data.

    Coefficients depend on the sizes of the cells and may vanish by chance: sizes that are no
    multiples of each other tell what the notion itself compares.
    """
    group = np.arange(scores.n_cells) % scores.n_groups
    across = group[:, None] != group[None, :]
    sizes = np.sqrt(np.arange(2.0, 2.0 + scores.n_cells)).reshape(2, scores.n_groups)
    for constraint in constraints:
        if not isinstance(constraint, AucConstraint):
            continue
        forms = [constraint.coefficients(sizes, *pair) for pair in scores.pairs()]
        if max(float(np.abs((form - form.T)[across]).max()) for form in forms) < 1e-9:
            raise ValueError(
                f"{constraint.name} compares people within groups, and increasing maps of groups "
                "do not change how a group is ranked: no repair can meet it, but a learned score "
                "can (LinearScorer, BoostedScorer, NeuralScorer)."
            )


def _check_cells(
    scores: GroupedScores, constraints: Sequence[Constraint], min_beyond: float
) -> None:
    if not any(isinstance(constraint, AucConstraint) for constraint in constraints):
        return
    sizes = scores.effective_sizes
    if sizes.min() < 2.0 * min_beyond:
        cell = int(np.argmin(sizes))
        raise ValueError(
            f"The {scores.cell_name(cell)} are worth {counted(sizes.min(), 'observation')}, and a "
            f"repair of AUC gaps needs {2.0 * min_beyond:g} in every cell (twice min_beyond): join "
            "groups or find more data."
        )


def _warn_of_merged(count: int) -> None:
    if count:
        told = "1 score" if count == 1 else f"{count:,} scores"
        warnings.warn(
            f"The maps make {told} equal to others of the group, from which they differed by "
            "little more than the precision of doubles; if the score is a probability near 1, "
            "repair its log-odds instead.",
            UserWarning,
            stacklevel=3,
        )
