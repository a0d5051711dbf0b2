"""Which cuts will be used: the regime in which a score has to be fair.

A score is cut where its users cut it: "we will lend to between 10 % and 40 % of the applicants".
Cuts are given as shares selected, of everyone, of all negatives (the overall false positive rate)
or of all positives (the overall recall), or as thresholds.

A cut is real: whoever has exactly the threshold is on one side, in every group. The cut at a share
a is the loosest that selects at most that share of the pool, t_a = F⁻¹(1 − a). A range [a, b] means
every cut that selects a share in it, and the cuts at a and b. Where the score is so coarse that no
cut selects a share in the range, nothing is said of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, get_args

import numpy as np

from evenscore.gaps.words import DEFAULT_WORDS, Words
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.distribution import to_floats
from evenscore.scores.selection import POOLS, Ladder, Pool, Side

TRAINED = 8  # cuts of a range that a scorer is trained at, both ends among them
# Beyond the ends of a range, times the share selected, counted from the nearer end of the scale:
# a prototype trained at cuts from 0.6 of the lower to 1.15 of the upper end.
_BELOW, _ABOVE = (0.6, 0.8), (1.15,)
_AROUND = (0.6, 0.8, 1.15, 1.3)  # of single cuts
_NEAR = 0.05  # a guard nearer than this share of a cut to it is left out


@dataclass(frozen=True)
class Cuts:
    """The cuts at which a score will be used: a range, some shares, or some thresholds.

    Parameters
    ----------
    between : two shares, optional
        Every cut that selects a share in this range.
    at : shares, optional
        The cuts that select these shares, or just less.
    thresholds : numbers, optional
        The cuts at these scores. They cannot be learned: a learned score has a scale of its own.
    of : "everyone", "negatives" or "positives"
        Of whom the shares are.
    selected : "high" or "low"
        Which scores are selected: low ones, for instance, of a probability of default.
    inclusive : bool
        Whether the threshold itself is selected, as at many credit cut-offs.

    Examples
    --------
    >>> Cuts(between=(0.1, 0.4)).text()
    'at cuts that select 10% to 40% of everyone'
    >>> Cuts(thresholds=600, inclusive=True).text()
    'at the cut 600 or more'
    """

    between: tuple[float, float] | None = None
    at: tuple[float, ...] = ()
    thresholds: tuple[float, ...] = ()
    of: Pool = "everyone"
    selected: Side = "high"
    inclusive: bool = False

    def __post_init__(self) -> None:
        given = [
            name
            for name, value in (
                ("between", self.between),
                ("at", self.at),
                ("thresholds", self.thresholds),
            )
            if value is not None and not (isinstance(value, Sequence) and len(value) == 0)
        ]
        if len(given) != 1:
            text = " and ".join(given) or "none of them"
            raise ValueError(f"Cuts takes one of between, at and thresholds, not {text}.")
        for name, value, known in (
            ("of", self.of, get_args(Pool)),
            ("selected", self.selected, get_args(Side)),
        ):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}.")
        if not isinstance(self.inclusive, bool | np.bool_):
            raise ValueError(f"inclusive must be True or False, not {self.inclusive!r}.")
        object.__setattr__(self, "inclusive", bool(self.inclusive))
        if self.between is not None:
            ends = to_floats(self.between, "between")
            if ends.shape == (2,) and np.all((ends > 0.0) & (ends <= 100.0)) and ends[1] > 1.0:
                raise ValueError(
                    f"between must be shares, not percentages: {ends[0] / 100:g} and "
                    f"{ends[1] / 100:g}, not {ends[0]:g} and {ends[1]:g}."
                )
            if ends.shape != (2,) or not 0.0 < ends[0] < ends[1] < 1.0:
                raise ValueError(
                    "between must be two shares strictly between 0 and 1, the smaller first, not "
                    f"{self.between!r}."
                )
            object.__setattr__(self, "between", tuple(ends.tolist()))
        else:
            object.__setattr__(self, given[0], _numbers(getattr(self, given[0]), given[0]))

    @classmethod
    def parse(cls, text: str, *, selected: Side = "high", inclusive: bool = False) -> Self:
        """Cuts as the command line writes them.

        >>> Cuts.parse("everyone=0.1:0.4") == Cuts(between=(0.1, 0.4))
        True
        >>> Cuts.parse("negatives=0.05,0.1").at, Cuts.parse("thresholds=600").thresholds
        ((0.05, 0.1), (600.0,))
        """
        of, _, where = text.rpartition("=")
        of = of.strip() or "everyone"
        try:
            if of not in (*POOLS, "thresholds"):
                raise ValueError
            more: dict[str, Any] = {"selected": selected, "inclusive": inclusive, "of": of}
            if of == "thresholds":
                del more["of"]
                return cls(thresholds=tuple(float(part) for part in where.split(",")), **more)
            if ":" in where:
                low, high = (float(part) for part in where.split(":"))
                return cls(between=(low, high), **more)
            return cls(at=tuple(float(part) for part in where.split(",")), **more)
        except ValueError as error:
            if str(error).startswith(("between", "at ", "thresholds")):
                raise
            raise ValueError(
                "Cuts are written as everyone=0.1:0.4 (a range of shares), negatives=0.05,0.1 "
                f"(some shares) or thresholds=600,650, not as {text!r}."
            ) from None

    # ------------------------------------------------------------------ in words

    @property
    def is_range(self) -> bool:
        """Whether they are all cuts of a range."""
        return self.between is not None

    @property
    def points(self) -> tuple[float, ...]:
        """The single cuts: shares or thresholds; empty of a range."""
        return self.at or self.thresholds

    def texts(self, words: Words = DEFAULT_WORDS) -> tuple[str, ...]:
        """Where each gap is measured: the range, or each of the points."""
        whom, own = self.whom(words), words.selected != DEFAULT_WORDS.selected
        if self.between is not None:
            low, high = (percent(share) for share in self.between)
            if own:
                return (f"at cuts where {low} to {high} of {whom} are {words.selected}",)
            return (f"at cuts that select {low} to {high} of {whom}",)
        if self.at:
            # Of a coarse score it may select much less.
            return tuple(
                f"at the cut where at most {percent(share)} of {whom} are {words.selected}"
                if own
                else f"at the cut that selects at most {percent(share)} of {whom}"
                for share in self.at
            )
        more = {"high": "more", "low": "less"}[self.selected]
        side = {"high": "above", "low": "below"}[self.selected]
        return tuple(
            f"at the cut {value:.10g} or {more}"
            if self.inclusive
            else f"{side} the cut {value:.10g}"
            for value in self.thresholds
        )

    def whom(self, words: Words = DEFAULT_WORDS) -> str:
        """Of whom the shares are, in words."""
        if self.of == "everyone" and words.people == DEFAULT_WORDS.people:
            return "everyone"
        return f"all {words.of(None if self.of == 'everyone' else self.of)}"

    def written(self) -> str:
        """The same as `parse` reads them.

        >>> Cuts(between=(0.1, 0.4)).written(), Cuts(thresholds=600).written()
        ('everyone=0.1:0.4', 'thresholds=600')
        """
        if self.between is not None:
            return f"{self.of}={self.between[0]:.10g}:{self.between[1]:.10g}"
        points = ",".join(f"{point:.10g}" for point in self.points)
        return f"{self.of if self.at else 'thresholds'}={points}"

    def text(self, words: Words = DEFAULT_WORDS) -> str:
        """All of them in words."""
        texts = self.texts(words)
        return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"

    # ------------------------------------------------------------------ in a sample

    def ladder(self, scores: GroupedScores) -> Ladder:
        """The cuts of a sample, from the strictest."""
        return Ladder.make(scores, self.of, self.selected)

    def steps(self, ladder: Ladder) -> list[tuple[int, int]]:
        """The first and the last step of the range, or of each point; (1, 0) if there is none."""
        if self.between is not None:
            low, high = self.between
            inside = ladder.first_from(low), ladder.last_up_to(high)
            if inside[0] > inside[1] or inside[1] < 1 or inside[0] >= ladder.n_steps:
                return [(1, 0)]
            first, last = ladder.last_up_to(low), ladder.last_up_to(high)
            return [(max(first, 1), min(last, ladder.n_steps - 1))]
        if self.at:
            found = [ladder.last_up_to(share) for share in self.at]
        else:
            found = [ladder.step_at(t, inclusive=self.inclusive) for t in self.thresholds]
        return [(k, k) if 0 < k < ladder.n_steps else (1, 0) for k in found]

    def spans(self, scores: GroupedScores) -> list[tuple[float, float]]:
        """The lowest and the highest score between which the cuts of a sample lie, and one beyond.

        >>> scores = GroupedScores.from_arrays(
        ...     [0, 1] * 5, range(10), sensitive_features=list("aabb") * 2 + ["a", "b"])
        >>> Cuts(between=(0.2, 0.4)).spans(scores)
        [(4.0, 8.0)]
        """
        ladder = self.ladder(scores)
        if self.thresholds:
            steps = [(ladder.step_at(t, inclusive=self.inclusive),) * 2 for t in self.thresholds]
        else:
            ranges = [self.between] if self.between else [(share, share) for share in self.at]
            steps = [(ladder.last_up_to(low), ladder.first_from(high)) for low, high in ranges]
        spans = []
        for first, last in steps:
            ends = ladder.levels[[max(first - 1, 0), min(last + 1, ladder.n_steps - 1)]]
            spans.append((float(ends.min()), float(ends.max())))
        return spans

    def levels(self, ladder: Ladder) -> list[tuple[int, int]]:
        """The levels within which the cuts of the range, or each point, may lie, if they are open.

        A table of bins does not tell a cut within a bin from those at its ends. The loosest cut
        that selects at most a share lies in the level after the step that the table knows; a
        threshold lies in the bin that it parts, and in none, (1, 0), if it is between two.
        """
        if self.between is not None:
            low, high = self.between
            return [(ladder.last_up_to(low), ladder.last_up_to(high))]
        if self.at:
            found = [ladder.last_up_to(share) for share in self.at]
            return [(k, k) for k in found]
        parted = [ladder.level_at(t, inclusive=self.inclusive) for t in self.thresholds]
        return [(1, 0) if k is None else (k, k) for k in parted]

    def why_none(self, ladder: Ladder, number: int = 0) -> str:
        """Why there is no cut in the range, or at a point, in one sentence."""
        whom = "everyone" if self.of == "everyone" else f"all {self.of}"
        if self.thresholds:
            return f"the cut {self.thresholds[number]:.10g} selects nobody or everybody"
        if ladder.n_steps < 2:
            return "all scores are equal, so that no cut parts people"
        if self.at:
            least = percent(float(ladder.share[1]))
            return f"the strictest cut of this score selects {least} of {whom} already"
        assert self.between is not None
        low, high = self.between
        around = ladder.share[
            [ladder.last_up_to(low), min(ladder.first_from(high), ladder.n_steps)]
        ]
        texts = " and ".join(percent(float(share)) for share in around)
        return (
            f"no cut of this score selects {percent(low)} to {percent(high)} of {whom}; the "
            f"nearest select {texts}"
        )

    # ------------------------------------------------------------------ in training

    def trained(self) -> "Cuts":
        """The cuts that a scorer is trained at: those of a range evenly spaced, both ends in."""
        if self.thresholds:
            raise ValueError(
                "Cuts at thresholds cannot be learned, since a learned score has a scale of its "
                "own: give the shares that will be selected, with between or at. An audit and a "
                "repair take thresholds."
            )
        if self.between is None:
            return self
        shares = np.linspace(*self.between, TRAINED).round(15).tolist()
        return Cuts(at=tuple(shares), of=self.of, selected=self.selected)

    def guards(self) -> "Cuts | None":
        """The cuts just outside, at which the groups should not drift apart either."""
        if self.between is not None:
            low, high = self.between
            shares = [_beyond(low, f) for f in _BELOW] + [_beyond(high, f) for f in _ABOVE]
        else:
            shares = []
            for share in self.at:
                for guard in (_beyond(share, factor) for factor in _AROUND):
                    near = _NEAR * min(guard, 1.0 - guard)
                    if all(abs(guard - other) > near for other in (*self.at, *shares)):
                        shares.append(guard)
        if not shares:
            return None
        return Cuts(at=tuple(sorted(shares)), of=self.of, selected=self.selected)


def _beyond(share: float, factor: float) -> float:
    """A share times a factor, if it is above one half on the scale that counts from one."""
    if share <= 0.5:
        return min(share * factor, 0.5 + 0.5 * share)
    return 1.0 - (1.0 - share) * (2.0 - factor)


def _numbers(value: Any, name: str) -> tuple[float, ...]:
    """One or several numbers, all different, in the order given."""
    numbers: Floats = np.atleast_1d(to_floats(value, name))
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be one or several finite numbers, not {value!r}.")
    if name == "at" and not np.all((numbers > 0.0) & (numbers < 1.0)):
        raise ValueError(f"at must be shares strictly between 0 and 1, not {value!r}.")
    if len(set(numbers.tolist())) < len(numbers):
        raise ValueError(f"{name} must differ, but {value!r} repeats one.")
    return tuple(numbers.tolist())


def percent(share: float) -> str:
    """A share in words.

    >>> percent(0.125), percent(0.1)
    ('12.5%', '10%')
    """
    return f"{100.0 * share:.4g}%"


def check_cuts(cuts: Any) -> Cuts:
    """Refuse what is not a `Cuts`."""
    if not isinstance(cuts, Cuts):
        kind = type(cuts).__name__
        raise TypeError(f"cuts must be a Cuts, for instance Cuts(between=(0.1, 0.4)), not {kind}.")
    return cuts


DEFAULT_CUTS = Cuts(between=(0.05, 0.5))
"""Where a score is looked at unless its users say where they will cut it."""
