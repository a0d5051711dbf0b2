"""How many people for which certainty, before there are data.

A score is certified if its *reach*, the largest |D̂| + zσ over all cuts, rates and pairs of groups,
is at most the tolerance ε (`inference.cut_certificates`). The power of n people is the chance of
that in samples of n people from an assumed law (`assumed_law`), P(reach ≤ ε); the number of people
needed is the n at which the p-quantile Q of the reach is ε, p being the power wanted. Reaches are
drawn at n itself (`power`): few people widen a range, and make errors larger than √n tells.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, final

import numpy as np

from evenscore.auditing.frames import Backend, data_frame
from evenscore.auditing.plain import to_plain
from evenscore.auditing.showable import renderer
from evenscore.choosing.assumed_law import AssumedLaw
from evenscore.choosing.power import FEWEST, MOST, PowerCurve
from evenscore.gaps import Cuts, GapFamily, RateConstraint, as_constraints
from evenscore.gaps.catalogue import constraint_names
from evenscore.gaps.cuts import DEFAULT_CUTS, check_cuts
from evenscore.inference.bridges import DRAWS
from evenscore.inference.cut_gaps import LEAST_AMONG
from evenscore.inference.estimate import check_between, check_count, check_level, percent
from evenscore.inference.reaches import ROUNDS
from evenscore.learning.parameters import seed_of
from evenscore.scores.arrays import Floats
from evenscore.scores.distribution import to_floats
from evenscore.scores.labels import distinct_names
from evenscore.scores.rates import rate_names
from evenscore.scores.selection import pool_classes
from evenscore.scores.table import CLASSES

FORMAT, VERSION = "evenscore.plan", "1.0"

TOLERANCES, POWERS = (0.02, 0.03, 0.05, 0.1), (0.5, 0.8, 0.9, 0.95)
"""Of the table of a plan."""

_MOST_POWER = 0.99  # beyond which too few draws lie to tell the number of people


@final
@dataclass(frozen=True)
class PlannedGroup:
    """A group, and how many negatives and positives of it are expected."""

    name: str
    share: float
    prevalence: float
    negatives: int
    positives: int


@final
@dataclass(frozen=True)
class PlannedNumber:
    """How many people it takes to be certified within a tolerance with a power; None if none do."""

    tolerance: float
    power: float
    people: int | None


@final
@dataclass(frozen=True, repr=False)
class Plan:
    """How many people it takes to certify a score, or what so many people can certify.

    Made by `plan`; printed, it is one or two sentences.

    Parameters
    ----------
    constraints : tuple of str
        What should be equal between groups.
    tolerance, power, confidence_level : float
        The largest gap that may be, how often a certificate should be given, and how sure it is.
    auc, gap : float
        What is assumed of the score: how well it ranks, and its largest gap.
    people : int
        How many there are to be: as many as are needed, or as were given.
    needed : int
        How many are needed for the tolerance and the power.
    chance : float
        How often a certificate is given with so many people.
    smallest_tolerance : float
        That which is certified with the power wanted with so many people.
    groups : tuple of PlannedGroup
        Who they are.
    smallest : name and number
        The class of a group with the fewest people, which limits what can be told.
    table : tuple of PlannedNumber
        How many people other tolerances and powers take.
    warnings : tuple of str
        What is to be kept in mind.
    """

    constraints: tuple[str, ...]
    tolerance: float
    power: float
    confidence_level: float
    auc: float
    gap: float
    people: int
    needed: int
    chance: float
    smallest_tolerance: float
    groups: tuple[PlannedGroup, ...]
    smallest: tuple[str, int]
    table: tuple[PlannedNumber, ...]
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Plan: {self}>"

    def __str__(self) -> str:
        score = "without gaps" if self.gap < 5e-5 else f"whose largest gap is {self.gap:.2g}"
        what = ", and in ".join(self.constraints)
        claim = f"no two groups differ by more than {self.tolerance:g} in {what}"
        level, power = percent(self.confidence_level), percent(self.power)
        fewest = f"The fewest are the {self.smallest[0]}, about {self.smallest[1]:,}."
        if self.people == self.needed:
            return (
                f"It takes about {self.people:,} people to certify with {level} confidence that "
                f"{claim}: with so many, a score {score} is certified in {power} of samples. "
                f"{fewest}"
            )
        return (
            f"With {self.people:,} people, a score {score} can be certified up to a tolerance of "
            f"{self.smallest_tolerance:.2g} in {power} of samples, with {level} confidence. That "
            f"{claim} is certified in {self.chance:.0%} of samples; for {power} of samples it "
            f"takes about {self.needed:,} people. {fewest}"
        )

    def to_markdown(self) -> str:
        """The plan in words, and its tables, as Markdown."""
        return str(renderer("plan", "markdown")(self))

    def __rich__(self) -> Any:
        """The same for a terminal, drawn by rich."""
        return renderer("plan", "terminal")(self)

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row per tolerance and power: how many people they take, NaN if no number does.

        `backend` is "pandas", "polars" or "pyarrow"; None takes the first that is installed.
        """
        columns: dict[str, list[Any]] = {
            "tolerance": [row.tolerance for row in self.table],
            "power": [row.power for row in self.table],
            "people": [math.nan if row.people is None else float(row.people) for row in self.table],
        }
        return data_frame(columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON, and the plan in words."""
        plain: dict[str, Any] = to_plain(self)
        return {"format": FORMAT, "version": VERSION, "words": str(self), **plain}


def plan(
    *,
    prevalence: float | Sequence[float] | Mapping[Any, float],
    tolerance: float | None = None,
    cuts: Cuts | None = None,
    constraints: Any = None,
    group_shares: Sequence[float] | Mapping[Any, float] = (0.5, 0.5),
    auc: float = 0.8,
    gap: float = 0.0,
    power: float = 0.9,
    confidence_level: float = 0.95,
    n: int | None = None,
    random_state: Any = 0,
) -> Plan:
    """How many people it takes to certify that a score is fair, before there are data.

    The score is assumed to be normal in each class of each group, alike in all groups but for
    their prevalence; rows are independent people, drawn at random.

    Parameters
    ----------
    prevalence : float, or one per group
        The share of positives.
    tolerance : float, optional
        The largest gap that may be; by default that of the constraints, or 0.05.
    cuts : Cuts, optional
        The cuts that will be used, by shares; by default 5 % to 50 % of everyone.
    constraints : name, constraint, or list of them, optional
        What should be equal: rates by name, which are meant at the cuts, AUC notions by name, or
        constraints. By default fpr and fnr at the cuts.
    group_shares : shares, or a mapping from names of groups to them
        How large the groups are; they add up to one. To a notion with a reference group, the
        largest is that.
    auc : float
        How well the score ranks in each group.
    gap : float
        The largest true gap that the score is assumed to have: one group, that with the smallest
        class, is ranked higher than the others by a constant, or within it less well.
    power : float
        How often a score with that gap should be certified; at most 0.99.
    confidence_level : float
        Of the certificate.
    n : int, optional
        So many people are given: how often is a score certified, and within which tolerance?
    random_state : int, Generator or None, default 0
        Of the draws by which power is computed; None draws anew each time.

    Returns
    -------
    Plan
        The number of people, or what so many can certify.

    Examples
    --------
    >>> from evenscore import Cuts, plan
    >>> cuts = Cuts(at=0.25)
    >>> print(plan(tolerance=0.05, cuts=cuts, group_shares=(0.7, 0.3), prevalence=0.2))
    It takes about 24,700 people to certify with 95% confidence that no two groups differ by more \
than 0.05 in false positive rate and false negative rate at the cut that selects at most 25% of \
everyone: with so many, a score without gaps is certified in 90% of samples. The fewest are the \
positives of group 2, about 1,482.
    """
    families = _families(constraints, cuts)
    tolerance = _tolerance(tolerance, families)
    power = _power(power)
    level = check_level(_double(confidence_level))
    auc, gap = _from(0.5, auc, "auc"), _from(0.0, gap, "gap")
    seed = _seed(random_state)
    if gap >= tolerance:
        raise ValueError(
            f"A score whose largest gap is {gap:g} is not fair within {tolerance:g}: no number of "
            "people certifies it."
        )
    if n is not None:
        check_count(n, "the number of people", int(FEWEST))
    names, shares = _shares(group_shares)
    positive = _prevalences(prevalence, names, group_shares)
    # Numbers must not depend on the order in which groups are given: the largest comes first.
    order = np.lexsort((positive, -shares))
    law = AssumedLaw.without_gaps(shares[order], positive[order], auc)
    if gap > 0.0:  # what cannot be planned is refused before anything is sought for it
        PowerCurve(law.masses(families), families, level, 0.0, 0).reaches(1e4)
        law = law.moved(families, gap)
    largest = law.largest_gap(families)
    if largest >= tolerance:
        raise ValueError(
            f"Groups that the score treats alike differ by {largest:.3g} in "
            f"{', and in '.join(family.name for family in families)} where their prevalence does: "
            f"no number of people certifies {tolerance:g}."
        )
    curve = PowerCurve(law.masses(families), families, level, largest, seed)
    needed = curve.needed(tolerance, power)
    if needed is None:
        raise ValueError(
            f"It takes more than {MOST:.0e} people to certify a tolerance of {tolerance:g}: give "
            "a larger one."
        )
    people = needed if n is None else int(n)
    reaches = curve.reaches(float(people))
    cells = law.shares[:, np.argsort(order)] * people
    smallest = _smallest(cells, names, families)
    warnings = _few_selected(cells, families)
    if smallest[1] < LEAST_AMONG:
        warnings.insert(0, f"the {smallest[0]} would be only {smallest[1]}: take it with care")
    return Plan(
        tuple(map(_said, families)),
        tolerance,
        power,
        level,
        auc,
        largest if largest > 1e-9 else 0.0,
        people,
        needed,
        float(np.mean(reaches <= tolerance)),
        float(min(np.quantile(reaches, power), 1.0)),
        tuple(
            PlannedGroup(name, float(share), float(rate), *(round(size) for size in column))
            for name, share, rate, column in zip(
                names, shares, positive, cells.T.tolist(), strict=True
            )
        ),
        smallest,
        tuple(
            PlannedNumber(one, other, curve.needed(one, other))
            for one in sorted({*TOLERANCES, tolerance})
            for other in sorted({*POWERS, power})
        ),
        tuple(warnings),
    )


def _said(family: GapFamily) -> str:
    """What should be equal, in words: rates by their titles."""
    asked = family.rates_at_cuts
    if asked is None:
        return family.name
    titles = [rate.title for rate in asked.rates]
    last = f" and {titles[-1]}" if len(titles) > 1 else titles[-1]
    low = ", low scores being selected" if asked.cuts.selected == "low" else ""
    return f"{', '.join(titles[:-1])}{last} {asked.cuts.text()}{low}"


def _smallest(
    cells: Floats, names: Sequence[str], families: Sequence[GapFamily]
) -> tuple[str, int]:
    """The smallest of the cells that some gap is about."""
    n_groups = cells.shape[1]
    used = np.any([family.cells(n_groups).any(axis=0) for family in families], axis=0)
    sizes = np.where(used.reshape(2, n_groups), cells, np.inf)
    c, g = np.unravel_index(int(np.argmin(sizes.round(6))), sizes.shape)
    return f"{CLASSES[int(c)]} of {names[int(g)]}", round(float(cells[c, g]))


def _few_selected(cells: Floats, families: Sequence[GapFamily]) -> list[str]:
    """Warnings of cuts that select so few people that a sample hardly has them."""
    found = []
    for family in families:
        asked = family.rates_at_cuts
        if asked is not None:
            strictest = min((*(asked.cuts.between or ()), *asked.cuts.at))
            selected = strictest * float(cells[list(pool_classes(asked.cuts.of))].sum())
            if selected < LEAST_AMONG - 1e-6:
                whom = "people" if asked.cuts.of == "everyone" else asked.cuts.of
                found.append(
                    f"the strictest cut would select fewer than {LEAST_AMONG} {whom}, about "
                    f"{selected:.2g}: take it with care"
                )
    return list(dict.fromkeys(found))


# ---------------------------------------------------------------------- what was asked


def _double(number: Any) -> Any:
    """A number in single precision as the decimal that it is written as.

    >>> _double(np.float32(0.9)), float(np.float32(0.9))
    (0.9, 0.8999999761581421)
    """
    return float(str(number)) if isinstance(number, np.floating) else number


def _from(least: float, number: Any, name: str) -> float:
    """A number of at least `least` and below 1."""
    if isinstance(number, bool) or not (isinstance(number, Real) and least <= float(number) < 1.0):
        raise ValueError(f"{name} must be at least {least:g} and below 1, not {number!r}.")
    return float(_double(number))


def _power(asked: Any) -> float:
    """A power that the draws can tell."""
    power = check_between(_double(asked), "power")
    if power > _MOST_POWER:
        draws = ROUNDS * DRAWS
        raise ValueError(
            f"power must be at most {_MOST_POWER:g}, not {power:g}: it is told from {draws:,} "
            "draws, too few of which lie beyond."
        )
    return power


def _seed(random_state: Any) -> int:
    """A whole number from all that is taken for a source of random numbers."""
    given = seed_of(random_state)
    if given is None or isinstance(given, np.random.Generator):
        return int(np.random.default_rng(given).integers(2**31 - 1))
    if isinstance(given, bool) or not isinstance(given, Integral) or given < 0:
        raise ValueError(
            "random_state must be a whole number of at least 0, a Generator of numpy or None, "
            f"not {random_state!r}."
        )
    return int(given)


def _floats(values: Any, name: str) -> Floats:
    """Numbers, none of which is text."""
    several = [values] if isinstance(values, str | bytes) else np.ravel(np.array(values, object))
    if any(isinstance(value, str | bytes) for value in several):
        raise ValueError(f"{name} must be a number or several, not text: {values!r}.")
    return to_floats(values, name)


def _families(constraints: Any, cuts: Cuts | None) -> list[GapFamily]:
    """The constraints; rates by name are meant at the cuts."""
    if cuts is not None:
        check_cuts(cuts)
    if constraints is None:
        constraints = ["fpr", "fnr"]
    asked = [constraints] if isinstance(constraints, str | GapFamily) else list(constraints)
    if not asked:
        raise ValueError("A plan needs a constraint: what should be equal between groups?")
    rates = [one for one in asked if isinstance(one, str) and one in rate_names()]
    for one in asked:
        if isinstance(one, str) and one not in (*rates, *constraint_names()):
            raise ValueError(
                f"There is no rate and no AUC constraint named {one!r}; there are the rates "
                f"{', '.join(rate_names())}, and the AUC constraints "
                f"{', '.join(constraint_names())}."
            )
    others = as_constraints([one for one in asked if one not in rates])
    if cuts is not None and not rates:
        raise ValueError(
            "cuts are for rates by name, such as 'fnr', and no constraint is one: give the cuts "
            "to the RateConstraint, or leave them out."
        )
    named = [RateConstraint(*rates, cuts=cuts or DEFAULT_CUTS)] if rates else []
    return [*named, *others]


def _tolerance(tolerance: float | None, families: Sequence[GapFamily]) -> float:
    """That given, or that of the constraints, or 0.05."""
    if tolerance is not None:
        return check_between(_double(tolerance), "tolerance")
    own = {family.tolerance for family in families if family.tolerance is not None}
    if len(own) > 1:
        texts = " and ".join(f"{value:g}" for value in sorted(own))
        raise ValueError(
            f"A plan has one tolerance, but the constraints have {texts}: give tolerance, or plan "
            "them one by one."
        )
    return check_between(_double(own.pop()), "tolerance") if own else 0.05


def _shares(group_shares: Any) -> tuple[tuple[str, ...], Floats]:
    """The names of the groups, and their shares."""
    named = isinstance(group_shares, Mapping)
    values = list(group_shares.values()) if named else group_shares
    shares = np.atleast_1d(_floats(values, "group_shares"))
    if shares.ndim != 1 or len(shares) < 2:
        raise ValueError("Gaps need two groups or more: give the share of each of them.")
    names = tuple(f"group {k + 1}" for k in range(len(shares)))
    if named:
        names = distinct_names(group_shares)
    for name, share in zip(names, shares.tolist(), strict=True):
        if not share > 0.0:
            raise ValueError(
                f"The share of each group must be above 0, but that of {name} is {share:g}."
            )
    if not abs(float(shares.sum()) - 1.0) <= 1e-6:
        raise ValueError(f"The shares of the groups must add up to one, not to {shares.sum():g}.")
    return names, shares / shares.sum()


def _prevalences(prevalence: Any, names: tuple[str, ...], group_shares: Any) -> Floats:
    """The share of positives of each group."""
    if isinstance(prevalence, Mapping):
        own = dict(zip(distinct_names(prevalence), prevalence.values(), strict=True))
        named = isinstance(group_shares, Mapping)
        if named and set(prevalence) == set(group_shares):
            own = {name: prevalence[group] for name, group in zip(names, group_shares, strict=True)}
        if not named or set(own) != set(names):
            raise ValueError(
                f"The prevalence is given of {', '.join(own)}, and the groups are "
                f"{', '.join(names)}: both must be named, and alike."
            )
        prevalence = [own[name] for name in names]
    values = _floats(prevalence, "prevalence")
    if values.ndim > 1 or (values.ndim == 1 and len(values) != len(names)):
        raise ValueError(
            f"The prevalence must be one share of positives, or one for each of the {len(names)} "
            f"groups, not {prevalence!r}."
        )
    if not np.all((values > 0.0) & (values < 1.0)):
        raise ValueError(f"The prevalence must lie strictly between 0 and 1, not {prevalence!r}.")
    return np.broadcast_to(values, len(names)).astype(np.float64)
