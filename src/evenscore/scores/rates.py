"""Rates of a group at a cut: a catalogue, one entry each.

A cut parts each class of a group into those it selects and those it does not: four weights. Every
rate is the share of some of the four among some of the four, so that an entry is two tables of
zeros and ones. With S_c the selected share of class c and W_c its weight, a rate is

    r = Σ_c W_c [n_c1 S_c + n_c0 (1 − S_c)] / Σ_c W_c [d_c1 S_c + d_c0 (1 − S_c)],

n and d being what is counted and among whom, and ∂r/∂S_c = W_c [(n_c1 − n_c0) − r (d_c1 − d_c0)]
over the denominator. A *standardised* rate is that of a group whose positives are as frequent as in
the whole population: its W are the shares of the classes there, whatever the group's own are.

To add a rate, add an entry at the end of `RATES` and a row to `EXPECTED` in tests/naive_cuts.py.
"""

from dataclasses import dataclass

import numpy as np

from evenscore.scores.arrays import Floats, ratio
from evenscore.scores.table import CLASSES, ClassName

_ALL = ((1, 1), (1, 1))
_SELECTED = ((0, 1), (0, 1))


@dataclass(frozen=True)
class Rate:
    """A rate: what is counted, among whom; tables are (class, selected), negatives first.

    Parameters
    ----------
    name, title : str
        Short, and in words.
    counted, among : tables of zeros and ones
        The shares of a class below the cut, then above it, of the negatives, then the positives.
    on : "negatives", "positives" or None
        The class it is a rate of; None if it is about everybody or those selected.
    selects : −1, 0 or 1
        Whether a higher rate means that more people are selected (1) or fewer (−1); 0 if neither.
    standardised : bool
        Whether the classes count as in the whole population, not as in the group.
    scarce : bool
        Whether it rests on those beyond the cut alone, who may be few.
    heading : str
        Who is counted, and among whom, as a heading, with names for words.
    phrase : str
        A gap in words: who of the first group, and of the second, with names for words and shares.
    remark : str
        What a reader has to know about a gap of it.
    """

    name: str
    title: str
    counted: tuple[tuple[int, int], tuple[int, int]]
    among: tuple[tuple[int, int], tuple[int, int]]
    on: ClassName | None = None
    selects: int = 0
    standardised: bool = False
    scarce: bool = False
    heading: str = ""
    phrase: str = ""
    remark: str = ""

    def __post_init__(self) -> None:
        given = [np.asarray(table) for table in (self.counted, self.among)]
        if any(one.shape != (2, 2) or not np.isin(one, (0, 1)).all() for one in given):
            raise ValueError(
                f"The rate {self.name!r} needs two tables of zeros and ones, counted and among, "
                "each with a row for the negatives and one for the positives: below the cut, above."
            )
        if np.any(given[0] > given[1]):
            raise ValueError(f"The rate {self.name!r} counts people who are not among its whole.")

    @property
    def classes(self) -> tuple[int, ...]:
        """Which classes have to have somebody: 0 for negatives, 1 for positives."""
        return tuple(c for c in range(2) if any(self.among[c]))

    @property
    def needs_outcomes(self) -> bool:
        """Whether positives have to be known from negatives to count it."""
        differs = any(one != other for one, other in (self.counted, self.among))
        return differs or self.standardised

    @property
    def spans(self) -> bool:
        """Whether it goes from 0 to 1, or back, in every group as a cut selects more and more.

        One that ends elsewhere, where the group's own share of positives has it, has no common
        level that a repair could bring the groups to.
        """
        ways = {self.counted[c] for c in self.classes if self.among[c] == (1, 1)}
        return ways in ({(0, 1)}, {(1, 0)}) and all(self.among[c] == (1, 1) for c in self.classes)

    @property
    def whom(self) -> str:
        """On which side of the cut the people are who can be too few, if it is `scarce`."""
        return "selected" if any(row[1] for row in self.among) else "not selected"

    def cell_weights(self, totals: Floats) -> Floats:
        """The weights W of the cells, (2, groups): as they are, or those of the population."""
        if not self.standardised:
            return totals
        classes = totals.sum(axis=1, keepdims=True) / totals.sum()
        return np.where(totals > 0.0, classes, 0.0)

    def of_shares(self, shares: Floats, totals: Floats) -> tuple[Floats, Floats]:
        """The rate and its slopes where shares S, (…, 2, groups), of the cells are selected.

        The slopes, (…, 2, groups), are ∂r/∂S_c of the group's own classes.
        """
        weights = self.cell_weights(totals)
        counted, among = (
            np.array(table, dtype=np.float64)[:, :, None] for table in (self.counted, self.among)
        )
        part = np.sum(weights * (counted[:, 1] * shares + counted[:, 0] * (1.0 - shares)), axis=-2)
        whole = np.sum(weights * (among[:, 1] * shares + among[:, 0] * (1.0 - shares)), axis=-2)
        value = ratio(part, whole)
        moved = (counted[:, 1] - counted[:, 0]) - value[..., None, :] * (among[:, 1] - among[:, 0])
        slopes = weights * moved / np.where(whole > 0.0, whole, np.nan)[..., None, :]
        return value, slopes

    def values(self, selected: Floats, totals: Floats) -> Floats:
        """The rate of each group, (…, groups), of the weights selected, (…, 2, groups).

        >>> CATALOGUE["fpr"].values(np.array([[1.0], [3.0]]), np.array([[4.0], [4.0]]))
        array([0.25])
        """
        inside, outside = self.sides(selected, totals - selected)
        if self.standardised:
            return self.of_shares(ratio(selected, totals), totals)[0]
        return ratio(inside, inside + outside)

    def influence(self, shares: Floats, totals: Floats) -> Floats:
        """What a unit of weight adds to the rate of its group: (…, 2, sides, groups).

        The sides are those not selected, then those selected. Of a standardised rate a class counts
        by its selected share alone, however many it has.
        """
        value, slopes = self.of_shares(shares, totals)
        if self.standardised:
            by_weight = slopes / np.where(totals > 0.0, totals, np.nan)
            return np.stack([-by_weight * shares, by_weight * (1.0 - shares)], axis=-2)
        counted, among = (
            np.array(table, dtype=np.float64)[:, :, None] for table in (self.counted, self.among)
        )
        inside, outside = (
            np.sum(
                totals[:, None] * table * np.stack([1.0 - shares, shares], axis=-2), axis=(-3, -2)
            )
            for table in (among * counted, among * (1.0 - counted))
        )
        whole = (inside + outside)[..., None, None, :]
        moved = counted - value[..., None, None, :] * among
        return moved / np.where(whole > 0.0, whole, np.nan)

    def sides(self, selected: Floats, rest: Floats) -> tuple[Floats, Floats]:
        """Sums over whom the rate counts and whom it does not, (…, groups).

        `selected` and `rest`, (…, 2, groups), are sums over the cells above and below the cut.
        """
        inside = np.zeros(selected.shape[:-2] + selected.shape[-1:])
        outside = np.zeros_like(inside)
        for c in range(2):
            for side, sums in enumerate((rest, selected)):
                if self.counted[c][side]:
                    inside = inside + sums[..., c, :]
                elif self.among[c][side]:
                    outside = outside + sums[..., c, :]
        return inside, outside


_BASE_RATES = (
    "It differs between groups that the score treats alike, if one has more {positives} than the "
    "other."
)
_OF = "{one} of {first} but {two} of {second}"  # a gap of no size says "and" instead of "but"

RATES: tuple[Rate, ...] = (
    Rate(
        "selection",
        "selection rate",
        _SELECTED,
        _ALL,
        selects=1,
        heading="{selected}",
        phrase=f"{_OF} would be {{selected}}",
        remark=_BASE_RATES,
    ),
    Rate(
        "fpr",
        "false positive rate",
        ((0, 1), (0, 0)),
        ((1, 1), (0, 0)),
        on="negatives",
        selects=1,
        heading="{selected} among {negatives}",
        phrase=f"among {{negatives}}, {_OF} would be {{selected}}",
    ),
    Rate(
        "fnr",
        "false negative rate",
        ((0, 0), (1, 0)),
        ((0, 0), (1, 1)),
        on="positives",
        selects=-1,
        heading="{not_selected} among {positives}",
        phrase=f"among {{positives}}, {_OF} {{would_not}}",
    ),
    Rate(
        "error",
        "error rate",
        ((0, 1), (1, 0)),
        _ALL,
        heading="misjudged",
        phrase=(
            f"{_OF} would be misjudged: {{negatives}} {{selected}}, or {{positives}} "
            "{not_selected}"
        ),
        remark=_BASE_RATES,
    ),
    Rate(
        "precision",
        "precision",
        ((0, 0), (0, 1)),
        _SELECTED,
        scarce=True,
        heading="{positives} among those {selected}",
        phrase=f"among those {{selected}}, {_OF} are {{positives}}",
        remark=_BASE_RATES,
    ),
    Rate(
        "standardised_precision",
        "precision at a common share of positives",
        ((0, 0), (0, 1)),
        _SELECTED,
        standardised=True,
        scarce=True,
        heading="{positives} among those {selected}, were they equally frequent",
        phrase=(
            "were {positives} equally frequent in all groups, among those {selected} "
            f"{_OF} would be {{positives}}"
        ),
    ),
    Rate(
        "false_omission",
        "false omission rate",
        ((0, 0), (1, 0)),
        ((1, 0), (1, 0)),
        scarce=True,
        heading="{positives} among those {not_selected}",
        phrase=f"among those {{not_selected}}, {_OF} are {{positives}}",
        remark=_BASE_RATES,
    ),
)

CATALOGUE: dict[str, Rate] = {rate.name: rate for rate in RATES}
assert len(CATALOGUE) == len(RATES), "Two rates have one name."
assert all(rate.on in (None, *CLASSES) for rate in RATES)


def rate_named(name: str) -> Rate:
    """The entry of a rate; one sentence if there is none.

    >>> rate_named("fnr").title
    'false negative rate'
    """
    if not isinstance(name, str) or name not in CATALOGUE:
        raise ValueError(f"There is no rate {name!r}; there are {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def rate_names() -> tuple[str, ...]:
    """The rates at a cut that can be compared between groups.

    >>> rate_names()[:3]
    ('selection', 'fpr', 'fnr')
    """
    return tuple(CATALOGUE)
