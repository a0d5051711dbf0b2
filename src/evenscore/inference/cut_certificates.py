"""Certificates: at every cut in use the groups' rates differ by at most a tolerance ε.

Three ways to be sure, of all cuts, rates and pairs of groups at once:

*Intersection-union*, for cuts named before the data were seen: |D̂| + zσ ≤ ε at every one of them, z
the one-sided quantile, σ that of Newcombe's interval where that is larger (few people counted).
If some gap is larger than ε, then at that very cut this has the probability of one normal tail,
whatever else is looked at: nothing is to be corrected for. A range of shares is widened by 2.576
standard errors at both ends, since the scores that it means are not known exactly; at a single cut
named by a share σ holds what that adds.

*Band*, for a range found in the data: |D̂| + qσ ≤ ε, q the quantile of the largest |D̂ − D|/σ over
all cuts of the range, rates and pairs, by Gaussian bridges. Then the longest stretch of cuts within
ε may be picked.

*Finite sample*, for any law and any number of people: shares lie within a band at all cuts at once
(`exact_rates`), and no approximation is involved. Equal weights and independent people only.

Of a table of bins, what gaps may be at cuts within the bins (`scores.brackets`) adds to each bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from evenscore.inference.bridges import Bridges, band_quantile, grid_steps
from evenscore.inference.cut_bounds import (
    Bounds,
    Chances,
    ExactBounds,
    NormalBounds,
    Pair,
    ShareBounds,
)
from evenscore.inference.cut_gaps import LEAST_AMONG, RateErrors, widened_range
from evenscore.inference.estimate import check_between, check_level, percent
from evenscore.inference.exact_rates import ExactRates
from evenscore.inference.intervals import normal_quantile
from evenscore.scores.arrays import Bools, Floats, Ints
from evenscore.scores.brackets import gap_brackets, open_levels
from evenscore.scores.rates import Rate
from evenscore.scores.selection import Ladder

CutMethod = Literal["intersection_union", "band", "finite_sample"]
Lacking = Literal["", "data", "evenness"]

_ROUNDING = 1e-12


@dataclass(frozen=True)
class CutCertificate:
    """That the rates of the groups differ by at most a tolerance at the cuts in use, or why not.

    If `certified`, then with the stated confidence they do at *all* cuts that select between `low`
    and `high` of the pool (NaN if there are none), for all rates and all pairs of groups asked for
    at once. `reach` is the smallest tolerance that would have been certified: at all these cuts or,
    by a band, at one of them at least. `smallest` is the smallest cell and the number of its
    people, and `needed` how many it would have to have, all others growing in proportion, for a
    score without gaps to be certified nine times out of ten. `lacking` is "data" if there are fewer
    than that and no gap is beyond the tolerance for certain, "evenness" if the gaps are too large.
    """

    method: CutMethod
    tolerance: float
    confidence_level: float
    certified: bool
    low: float
    high: float
    reach: float
    needed: int
    smallest: tuple[str, int]
    lacking: Lacking
    words: str
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.words


def certify_rates(
    ladder: Ladder,
    rates: Sequence[Rate],
    inside: list[tuple[int, int]],
    *,
    tolerance: float,
    confidence_level: float = 0.95,
    pairs: Sequence[Pair] | None = None,
    method: CutMethod = "intersection_union",
    share_range: tuple[float, float] | None = None,
    shares: Sequence[float] = (),
    levels: Sequence[tuple[int, int]] = (),
    whom: str = "between groups",
    random_state: int = 0,
    foresee: bool = True,
) -> CutCertificate:
    """Whether the groups' rates differ by at most a tolerance at all the cuts in use.

    Parameters
    ----------
    ladder
        The cuts of a table.
    rates
        What should be equal.
    inside
        The first and the last step of the range, or of each single cut; (1, 0) where there is none.
    tolerance
        The largest gap that may be.
    confidence_level
        Of the whole statement.
    pairs
        Positions of groups to compare; all pairs by default.
    method
        "intersection_union" and "finite_sample" certify all these cuts or nothing; "band" the
        longest stretch of a range.
    share_range
        The shares of the pool that were named, if the range was named by shares: it is then
        widened, so that the statement is about the cuts that select these shares of *all* people.
    shares
        The shares that were named, if single cuts were named by shares: then their errors count
        too. Without either the statement is about these very thresholds.
    levels
        Of a table of bins, the levels within which the cuts of each of `inside` may lie, (1, 0) if
        they are at ends of bins; by default all are.
    whom
        Who is compared, in words: the pairs, if they are not all.
    random_state
        For the Gaussian bridges.
    foresee
        Whether to find out how many people it would take (`needed`), and what is lacking; that is
        most of the work. A band is made of bridges anyway.

    Returns
    -------
    CutCertificate
        The certificate, or why there is none.

    Examples
    --------
    >>> from evenscore import GroupedScores
    >>> from evenscore.scores.rates import CATALOGUE
    >>> y, groups = [0, 1] * 20_000, ["a"] * 20_000 + ["b"] * 20_000
    >>> table = GroupedScores.from_arrays(y, list(range(20_000)) * 2, sensitive_features=groups)
    >>> ladder = Ladder.make(table, "everyone", "high")
    >>> rates = [CATALOGUE["fpr"], CATALOGUE["fnr"]]
    >>> print(certify_rates(
    ...     ladder, rates, [(2_000, 8_000)], tolerance=0.05, share_range=(0.1, 0.4)))
    Certified with 95% confidence: at all cuts that select 10% to 40% of everyone the false
    positive rate and the false negative rate differ by at most 0.05 between groups.
    """
    tolerance = check_between(tolerance, "tolerance")
    level = check_level(confidence_level)
    if method not in get_args(CutMethod):
        raise ValueError(f"method must be one of {', '.join(get_args(CutMethod))}, not {method!r}.")
    if not rates or not inside:
        raise ValueError("A certificate needs a rate and a range of cuts or a cut.")
    compared = list(ladder.scores.pairs() if pairs is None else pairs)
    if not compared:
        raise ValueError("A certificate compares groups, but there are not two of them.")
    if method == "band" and (len(inside) > 1):
        raise ValueError(
            "A band certifies a stretch of one range of cuts, not several cuts: certify these with "
            "method='intersection_union'."
        )
    foresee = foresee or method == "band"
    made = _Made(
        ladder, tuple(rates), compared, tolerance, level, method, whom, tuple(shares), foresee
    )
    if any(first > last for first, last in inside):
        return made.without_cuts(share_range)
    return made.certificate(inside, list(levels), share_range, random_state)


# ---------------------------------------------------------------------- in the making


@dataclass(frozen=True, eq=False)
class _Worst:
    """The largest |D̂| + margin at every step of a range, and which gap it is of.

    `bracket` is how much of the bounds, at the most, is due to bins.
    """

    first: int
    bound: Floats
    size: Floats
    gap: Ints
    bracket: float

    @property
    def step(self) -> int:
        """Where it is largest."""
        return self.first + int(np.argmax(self.bound))


@dataclass(frozen=True, eq=False)
class _Made:
    """A certificate in the making."""

    ladder: Ladder
    rates: tuple[Rate, ...]
    pairs: list[Pair]
    tolerance: float
    level: float
    method: CutMethod
    whom: str
    shares: tuple[float, ...]
    foresee: bool

    @property
    def _gaps(self) -> list[tuple[Rate, Pair]]:
        return [(rate, pair) for rate in self.rates for pair in self.pairs]

    def certificate(
        self,
        inside: list[tuple[int, int]],
        levels: list[tuple[int, int]],
        named: tuple[float, float] | None,
        random_state: int,
    ) -> CutCertificate:
        ladder = self.ladder
        errors, z, places = RateErrors(ladder), normal_quantile(self.level), inside
        exact = None
        if self.method == "finite_sample":
            groups = sorted({g for pair in self.pairs for g in pair})
            exact = ExactRates(ladder, self.rates, groups, 1.0 - self.level)
            if named is not None:
                places = [exact.widened(*named)]
            elif self.shares:
                places = [exact.widened(share, share) for share in self.shares]
        elif self.method == "intersection_union" and named is not None:
            places = [widened_range(ladder, *named)]
        if places is not inside:  # before the first step that selects somebody there may be cuts
            levels = [(first - (first == 1), last) for first, last in places]
        # Of a range, and for any law, the cuts that may be meant are all looked at instead.
        normal = ShareBounds if self.shares and exact is None else NormalBounds
        chances, q = None, z
        if self.foresee:
            steps = np.unique(np.concatenate([grid_steps(ladder, *place) for place in places]))
            bridges = Bridges(ladder, steps, random_state)
            continuous = self.method == "band"
            chances = Chances(
                normal(errors, 1.0), self.rates, self.pairs, bridges, continuous=continuous
            )
            q = band_quantile(chances.maxima, normal_quantile(0.5 + self.level / 2.0))
        bounds: Bounds = normal(errors, q if self.method == "band" else z)
        if exact is not None:
            bounds = ExactBounds(exact)
        levels = levels or [(1, 0)] * len(places)
        worst = [self._worst(bounds, *both) for both in zip(places, levels, strict=True)]
        largest = max(worst, key=lambda place: float(place.bound.max()))
        reach = float(largest.bound.max())
        low, high = (float(f(ladder.share[np.ravel(inside)])) for f in (np.min, np.max))
        low, high = (low, high) if named is None or self.method == "band" else named
        certified = reach <= self.tolerance + _ROUNDING
        if self.method == "band":
            [place] = worst
            reach = float(place.bound.min())
            first, last = _longest(
                place.bound <= self.tolerance + _ROUNDING,
                ladder.share[place.first : place.first + len(place.bound)],
            )
            certified = first <= last
            if certified:
                low, high = (float(ladder.share[place.first + k]) for k in (first, last))
        smallest = self._smallest()
        needed = 0
        lacking: Lacking = "" if certified else "evenness"
        # No number of people makes the bins of a table finer.
        left = self.tolerance - max(place.bracket for place in worst)
        if chances is not None and left > 0.0:
            times = chances.times_needed(bounds, left)
            # Of an empty cell nothing is known: shares of one half, and two errors at the most.
            at_worst = 0.5 * ((z + 2.0) / self.tolerance) ** 2
            needed = int(np.ceil(times * smallest[1] if smallest[1] else at_worst))
        if chances is not None and not certified:
            few = not np.isfinite(largest.bound.max()) or smallest[1] < needed
            lacking = "data" if few and not chances.beyond(self.tolerance, q) else "evenness"
        text = self._where(inside, named if self.method != "band" else None, low, high)
        outside = not any(first <= largest.step <= last for first, last in inside)
        words = self._words(certified, lacking, text, largest, outside, needed, smallest)
        warnings: tuple[str, ...] = ()
        if self.method != "finite_sample" and 0 < smallest[1] < LEAST_AMONG:
            warnings = (f"the {smallest[0]} are only {smallest[1]}: take it with care",)
        return CutCertificate(
            self.method,
            self.tolerance,
            self.level,
            certified,
            low if certified else np.nan,
            high if certified else np.nan,
            min(reach, 1.0),
            needed,
            smallest,
            lacking,
            words,
            warnings,
        )

    def without_cuts(self, named: tuple[float, float] | None) -> CutCertificate:
        """Nothing is said where the score has no cut."""
        where = "one of the cuts in use selects nobody or everybody"
        if named is not None:
            low, high = (f"{100.0 * share:.4g}%" for share in named)
            where = f"no cut of this score selects {low} to {high} of {self._pool}"
        return CutCertificate(
            self.method,
            self.tolerance,
            self.level,
            False,
            np.nan,
            np.nan,
            1.0,
            0,
            self._smallest(),
            "",
            f"Not certified: {where}.",
        )

    def _worst(self, bounds: Bounds, steps: tuple[int, int], levels: tuple[int, int]) -> _Worst:
        """Of all rates and pairs: infinite where some gap cannot be told."""
        first, last = steps
        n = last - first + 1
        parted = open_levels(self.ladder, *levels)
        seen_at = np.clip(parted, first, last)
        pairs, largest = np.array(self.pairs, dtype=np.intp), 0.0
        bound, size, which = np.full(n, -1.0), np.zeros(n), np.zeros(n, dtype=np.intp)
        start = 0
        for selected in self.ladder.runs(first, last):
            here = slice(start, start + len(selected.step))
            start = here.stop
            for r, rate in enumerate(self.rates):
                at = bounds.at(rate, selected)
                within = np.zeros((len(selected.step), len(pairs)))
                few = slice(*np.searchsorted(seen_at, selected.step[[0, -1]] + [0, 1]))
                for some, apart in gap_brackets(
                    self.ladder, rate, parted[few], seen_at[few], pairs
                ):
                    place = seen_at[few][some] - selected.step[0]
                    np.maximum.at(within, place, np.nan_to_num(apart))
                for p, pair in enumerate(self.pairs):
                    own, margin, known = at.gap(pair)
                    largest = max(largest, float(within[known, p].max(initial=0.0)))
                    most = np.where(known, own + margin + within[:, p], np.inf)
                    larger = most > bound[here]
                    bound[here] = np.where(larger, most, bound[here])
                    size[here] = np.where(larger, own, size[here])
                    which[here] = np.where(larger, r * len(self.pairs) + p, which[here])
        return _Worst(first, bound, size, which, largest)

    def _smallest(self) -> tuple[str, int]:
        """The smallest of the cells, or of the groups where a rate is of both classes."""
        scores = self.ladder.scores
        counts = scores.cell_counts
        sizes: dict[str, float] = {}
        for rate in self.rates:
            for g in {g for pair in self.pairs for g in pair}:
                if rate.on is None and not rate.standardised:
                    sizes[f"people of {scores.names[g]}"] = counts[:, g].sum()
                    continue
                for c in rate.classes:
                    sizes[scores.cell_name(c * scores.n_groups + g)] = counts[c, g]
        name = min(sizes, key=lambda cell: (sizes[cell], cell))
        return name, round(sizes[name])

    # ------------------------------------------------------------------ in words

    @property
    def _pool(self) -> str:
        return "everyone" if self.ladder.of == "everyone" else f"all {self.ladder.of}"

    def _where(
        self,
        inside: list[tuple[int, int]],
        named: tuple[float, float] | None,
        low: float,
        high: float,
    ) -> str:
        single = named is None and all(first == last for first, last in inside)
        places = list(dict.fromkeys(inside))  # a coarse score has one cut for several shares
        if single and len(places) > 1:
            shares = [f"{self.ladder.share[step]:.1%}" for step, _ in places]
            return f"at the cuts that select {', '.join(shares[:-1])} and {shares[-1]} of {{pool}}"
        if low == high:
            return f"at the cut that selects {low:.1%} of {{pool}}"
        ends = [f"{100.0 * share:.{4 if named else 3}g}%" for share in (low, high)]
        return f"at all cuts that select {ends[0]} to {ends[1]} of {{pool}}"

    def _words(
        self,
        certified: bool,
        lacking: Lacking,
        where: str,
        largest: _Worst,
        outside: bool,
        needed: int,
        smallest: tuple[str, int],
    ) -> str:
        where = where.format(pool=self._pool)
        titles = [f"the {rate.title}" for rate in self.rates]
        rates = titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"
        if certified:
            verb = "differs" if len(titles) == 1 else "differ"
            return (
                f"Certified with {percent(self.level)} confidence: {where} {rates} {verb} by at "
                f"most {self.tolerance:g} {self.whom}."
            )
        k = largest.step - largest.first
        rate, (i, j) = self._gaps[int(largest.gap[k])]
        names = self.ladder.scores.names
        share = f"{self.ladder.share[largest.step]:.1%} of {self._pool}"
        if outside:
            what = "the cut" if self.shares else "the range"
            share += f" (just outside {what}, which is known only up to chance)"
        unknown = not np.isfinite(largest.bound[k])
        if unknown:
            text = (
                f"at the cut that selects {share} the {rate.title} of {names[i]} or {names[j]} "
                "rests on too few people to tell"
            )
        else:
            text = (
                f"at the cut that selects {share} the {rate.title} differs by {largest.size[k]:.3f}"
                f" between {names[i]} and {names[j]}, and perhaps by "
                f"{min(float(largest.bound[k]), 1.0):.3f}"
            )
        if lacking == "data":
            more = (
                f" For a score without gaps to be certified within {self.tolerance:g} it takes "
                f"about {needed:,} {smallest[0]}; there are {smallest[1]:,}."
            )
            return f"Not certified: {text}.{more}"
        if unknown:
            return (
                f"Not certified: {text}, and another gap is more than {self.tolerance:g} with "
                f"{percent(self.level)} confidence."
            )
        return f"Not certified: {text}, more than {self.tolerance:g}."


def _longest(fair: Bools, share: Floats) -> tuple[int, int]:
    """The first and the last of the run of fair steps that spans most of the pool; (1, 0) if none.

    >>> _longest(np.array([True, False, True, True]), np.array([0.1, 0.2, 0.3, 0.4]))
    (2, 3)
    """
    change = np.flatnonzero(np.diff(np.concatenate(([False], fair, [False])).astype(np.int8)))
    starts, stops = change[::2], change[1::2] - 1
    if not len(starts):
        return 1, 0
    k = int(np.argmax(share[stops] - share[starts]))
    return int(starts[k]), int(stops[k])
