"""Which groups an audit compares, with whom, and which of them come first.

With many groups, the pairs that hold a handful of people have the largest gaps seen and the least
certain ones: they would fill every table and every picture, and the correction for the number of
gaps would hide what is certain about the others. Three choices are therefore made once, here, and
passed on to every part of an audit:

- *compared* are the groups with enough people in both classes; the others stay people of the
  population (pooled populations, the overall AUC and cuts are of everyone) and are shown apart;
- the *pairs* are all those of compared groups, or those with one reference group, or each group
  and all the others together;
- *main* are the few largest groups that hold most people: headlines and pictures are about them.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from evenscore.gaps.words import ALL_OTHERS, DEFAULT_WORDS, Words
from evenscore.inference.estimate import SMALL_CELL
from evenscore.scores import CLASSES, GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.labels import default_order
from evenscore.scores.reading import Rows

Pair = tuple[int, int]

MIN_GROUP_SIZE = SMALL_CELL
"""The default: below 30 observations in a class an interval carries a warning, and says little."""

# A headline is about a few groups. The largest that hold four people of five are few in practice
# (two of the six races of COMPAS, two of the five of Adult), and what is true of them is true of
# most people; a higher share would let in groups of a few percent again.
MAIN_SHARE = 0.8
_LISTED = 6  # groups named in a sentence
# What small groups are called where they count as one; that end sets it apart from other names.
_POOLED = "the small groups together\N{ZERO WIDTH SPACE}"


class ComparedTable(NamedTuple):
    """A table and the pairs of its groups that are compared; `main` are those of main groups."""

    table: GroupedScores
    pairs: tuple[Pair, ...]
    main: frozenset[Pair]

    @property
    def asked(self) -> tuple[Pair, ...] | None:
        """The pairs as estimates take them: None for all pairs of the table."""
        return None if list(self.pairs) == self.table.pairs() else self.pairs


class View(NamedTuple):
    """The groups seen otherwise: new positions and names, and the pairs compared there."""

    positions: tuple[int, ...]
    groups: tuple[str, ...]
    pairs: tuple[Pair, ...]
    main: frozenset[Pair]


@dataclass(frozen=True)
class GroupColumn:
    """One of several columns of groups: its values, and the position of each group's among them.

    >>> [GroupColumn.of([("f", "old"), ("m", "old")], ("sex", "age"))[k].values for k in (0, 1)]
    [('f', 'm'), ('old',)]
    """

    name: str
    values: tuple[Hashable, ...]
    positions: tuple[int, ...]

    @classmethod
    def of(
        cls,
        labels: Sequence[Hashable],
        names: Sequence[str],
        in_order: Callable[[Iterable[Any]], list[Any]] = default_order,
    ) -> "tuple[GroupColumn, ...]":
        """The columns of which groups are intersections; none if there are not several.

        Texts of a file have an order of their own, which `in_order` gives.
        """
        parts = [label for label in labels if isinstance(label, tuple)]
        if len(parts) < len(labels) or {len(part) for part in parts} != {len(names)}:
            return ()
        columns = []
        for k, name in enumerate(names):
            values = in_order({part[k] for part in parts})
            columns.append(cls(name, tuple(values), tuple(values.index(p[k]) for p in parts)))
        return tuple(columns)

    @property
    def is_compared(self) -> bool:
        """Whether there are two values to compare."""
        return len(self.values) > 1

    def table(self, scores: GroupedScores) -> GroupedScores:
        """The same people, grouped by this column alone."""
        return scores.regrouped(self.positions, self.values)


@dataclass(frozen=True)
class GroupChoice:
    """The groups that are compared, by their positions among `names`; made by `choose_groups`.

    `least` is how many observations each class of a compared group is worth at least (None: no
    group was left out for its size). `reference` is the group that all others are compared with;
    `others` says that each group is compared with all the others together.
    """

    names: tuple[str, ...]
    compared: tuple[int, ...]
    main: tuple[int, ...]
    least: int | None = None
    reference: int | None = None
    others: bool = False

    @property
    def small(self) -> tuple[int, ...]:
        """The groups that are not compared."""
        return tuple(k for k in range(len(self.names)) if k not in self.compared)

    @property
    def reference_name(self) -> str | None:
        """What the groups are compared with; None if with each other."""
        if self.others:
            return ALL_OTHERS
        return None if self.reference is None else self.names[self.reference]

    @property
    def whom(self) -> str:
        """Between whom gaps are measured, in words."""
        return between_whom(self.names, self.named(self.compared), self.reference_name)

    def named(self, positions: Sequence[int]) -> tuple[str, ...]:
        """The names of some groups."""
        return tuple(self.names[k] for k in positions)

    def views(self, *, pooled: bool = False) -> tuple[View, ...]:
        """The groups as they are compared: once, or once for each group and all its others.

        The reference group comes first (if there is none, a group that is compared), since AUCs
        may be measured beside it; the small groups are one group if `pooled`.
        """
        if self.others:
            return tuple(
                View(
                    tuple(int(k == own) for k in range(len(self.names))),
                    (ALL_OTHERS, self.names[own]),
                    ((0, 1),),
                    frozenset([(0, 1)] if own in self.main else []),
                )
                for own in self.compared
            )
        first = [] if self.reference is None else [self.reference]
        large = [*first, *(k for k in self.compared if k not in first)]
        order = [*large, *self.small]
        if not first and large[:1] == [0] and not pooled:
            order = list(range(len(self.names)))  # the table itself will do
        positions = [order.index(k) for k in range(len(self.names))]
        groups = self.named(order)
        if pooled and len(self.small) > 1:
            positions = [min(k, len(large)) for k in positions]
            groups = (*groups[: len(large)], _POOLED)
        places = [positions[k] for k in large]
        pairs = [pair for pair in combinations(places, 2) if not first or pair[0] == places[0]]
        told = {positions[k] for k in (*self.main, *first)}
        main = frozenset(pair for pair in pairs if told.issuperset(pair))
        return (View(tuple(positions), groups, tuple(pairs), main),)

    def tables(self, scores: GroupedScores) -> tuple[ComparedTable, ...]:
        """The tables in which pairs are compared, for the table of the audit or a coarser one."""
        return tuple(
            ComparedTable(
                scores
                if view.groups == self.names
                else scores.regrouped(view.positions, view.groups),
                view.pairs,
                view.main,
            )
            for view in self.views()
        )

    def rows(self, rows: Rows) -> tuple[Rows, ...]:
        """The rows under the groups of the views; small groups are pooled, which fills classes."""
        return tuple(
            rows if view.groups == self.names else rows.regrouped(view.positions, view.groups)
            for view in self.views(pooled=True)
        )

    def only(self, scores: GroupedScores, positions: Sequence[int]) -> GroupedScores:
        """The table of the people of some groups alone."""
        if len(positions) == len(self.names):
            return scores
        new = [positions.index(k) if k in positions else -1 for k in range(len(self.names))]
        return scores.regrouped(new, self.named(positions))

    def without_small(self, scores: GroupedScores) -> GroupedScores:
        """The table of the people of compared groups alone."""
        return self.only(scores, self.compared)

    @cached_property
    def n_pairs(self) -> int:
        """How many pairs are compared."""
        return sum(len(view.pairs) for view in self.views())

    def warnings(self, scores: GroupedScores, words: Words = DEFAULT_WORDS) -> tuple[str, ...]:
        """One sentence about the groups that are not compared, if there are any."""
        if not self.small:
            return ()
        n = len(self.small)
        told = [f"{self.names[k]} ({_sizes(scores, k, words)})" for k in self.small[:_LISTED]]
        more = f" and {n - _LISTED} more" if n > _LISTED else ""
        noun, verb, they = ("group", "is", "it is") if n == 1 else ("groups", "are", "they are")
        few = f"fewer than {self.least} people{' in a class' if _has_classes(scores) else ''}"
        if self.least is None:
            few = "nobody in it" if n == 1 else "nobody in them"
        elif _weighted(scores):
            some = "a class" if _has_classes(scores) else "people"
            few = f"{some} worth fewer than {self.least} people"
        return (
            f"{n} {noun} with {few} {verb} not compared: {', '.join(told)}{more}; {they} shown "
            "apart.",
        )


def choose_groups(
    scores: GroupedScores,
    labels: Sequence[Hashable],
    *,
    min_group_size: int | None = None,
    reference_group: Any = None,
    outcomes_known: bool = True,
) -> GroupChoice:
    """Decide which groups are compared; a choice that cannot be is refused in one sentence.

    `labels` are the groups as the user wrote them, in the order of the table's groups.

    >>> scores = GroupedScores.from_arrays(
    ...     [0, 1] * 80, range(160), sensitive_features=list("aabb" * 34 + "c" * 24))
    >>> choice = choose_groups(scores, scores.groups)
    >>> choice.named(choice.compared), choice.named(choice.small), choice.n_pairs
    (('a', 'b'), ('c',), 1)
    """
    names, n_groups = scores.names, scores.n_groups
    sizes = scores.independent_sizes[: 2 if outcomes_known else 1].min(axis=0)
    present = np.flatnonzero(scores.cell_weights.sum(axis=0) > 0.0).tolist()
    least: int | None = MIN_GROUP_SIZE if min_group_size is None else min_group_size
    assert least is not None
    compared = np.flatnonzero(sizes >= least * (1.0 - 1e-9)).tolist()  # rounded sums of weights
    if len(compared) < 2:
        if min_group_size is not None and len(present) > 1:
            largest = sorted(present, key=lambda k: -float(sizes[k]))[:3]
            told = ", ".join(f"{names[k]} ({_sizes(scores, k)})" for k in largest)
            raise ValueError(
                f"A minimum of {min_group_size:,} people{_in_each(scores)} leaves fewer than two "
                f"groups to compare: the largest are {told}."
            )
        compared, least = present, None
    if len(compared) == n_groups:
        least = None
    main = _main(scores.group_share, compared)
    choice = GroupChoice(names, tuple(compared), main, least)
    if reference_group is None:
        return choice
    if isinstance(reference_group, str) and reference_group == ALL_OTHERS:
        if ALL_OTHERS in names:
            raise ValueError(
                f"A group is called {ALL_OTHERS!r}, which as a reference group means all other "
                "groups together: rename the group."
            )
        # Of two groups, all others are the other one, whose name says more.
        return choice if len(present) <= 2 else replace(choice, others=True)
    reference = _position(labels, names, reference_group)
    if reference not in compared:
        if reference not in present:
            raise ValueError(
                f"The reference group {names[reference]} has nobody in it: take another group."
            )
        raise ValueError(
            f"The reference group {names[reference]} has {_sizes(scores, reference)}, and "
            f"{least}{_in_each(scores)} are needed: take a larger group, or a smaller minimum size "
            "of groups."
        )
    return replace(choice, reference=reference)


def between_whom(
    groups: Sequence[str], compared: Sequence[str], reference: str | None = None
) -> str:
    """Who is compared, in words, so that no sentence says more than was looked at.

    >>> between_whom("abc", "abc"), between_whom("abc", "abc", "a")
    ('between groups', 'between a and every other group')
    >>> between_whom("abc", "ab"), between_whom("abc", "ab", "a")
    ('between the groups that are compared', 'between a and b')
    """
    all_of_them = len(compared) == len(groups)
    if reference is None:
        return "between groups" if all_of_them else "between the groups that are compared"
    which = "" if all_of_them else " that is compared"
    if reference == ALL_OTHERS:
        return f"between each group{which} and all others together"
    others = [name for name in compared if name != reference]
    other = others[0] if len(others) == 1 else f"every other group{which}"
    return f"between {reference} and {other}"


def _main(shares: Floats, compared: Sequence[int]) -> tuple[int, ...]:
    """The fewest largest groups that hold `MAIN_SHARE` of everyone, two at least."""
    order = sorted(compared, key=lambda k: (-float(shares[k]), k))
    held = np.cumsum(shares[order])
    n = max(2, int(np.searchsorted(held, MAIN_SHARE - 1e-12)) + 1)
    return tuple(sorted(order[:n]))


def _position(labels: Sequence[Hashable], names: Sequence[str], wanted: Any) -> int:
    """The position of a group by its label, or else by its name."""
    label = tuple(wanted) if isinstance(wanted, list) else wanted
    for known in (labels, names):
        if isinstance(label, Hashable) and label in known:
            return known.index(label)
    listed = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
    raise ValueError(f"There is no group {wanted!r} to be the reference; the groups are {listed}.")


def _sizes(scores: GroupedScores, k: int, words: Words = DEFAULT_WORDS) -> str:
    """How many people are in the classes of a group; with weights, what they are worth."""
    both = [
        f"{count:,.0f} {name[:-1] if count == 1 and words.of(name) == name else words.of(name)}"
        for name, count in zip(CLASSES, scores.cell_counts[:, k].tolist(), strict=True)
    ]
    told = " and ".join(both)
    if not _has_classes(scores):
        told = f"{scores.cell_counts[0, k]:,.0f} people"
    if not _weighted(scores):
        return told
    # Rounded down: 29.6 of 30 are not 30.
    worth = np.floor(scores.independent_sizes[:, k] + 1e-9)
    if not _has_classes(scores):
        return f"{told}, worth {worth[0]:,.0f}"
    return f"{told}, worth {worth[0]:,.0f} and {worth[1]:,.0f}"


def _has_classes(scores: GroupedScores) -> bool:
    """Whether there are positives: not where outcomes are unknown."""
    return bool(scores.cell_weights[1].sum() > 0.0)


def _in_each(scores: GroupedScores) -> str:
    return " in each class" if _has_classes(scores) else ""


def _weighted(scores: GroupedScores) -> bool:
    return not np.allclose(scores.independent_sizes, scores.cell_counts, rtol=1e-9)
