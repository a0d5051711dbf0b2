"""What got slower from one run to another, beyond noise.

A ratio is called slower if every repeat of the new run is above every one of the old, and the
medians differ by more than a threshold. If nothing has changed, and repeats are exchangeable, n of
the one and m of the other come apart like this by chance once in (n + m)! / (n! m!): with five of
each, once in 252. With so few repeats that this is more often than once in 100, nothing is said.

Repeats of one run are alike in more than the code: what other work slows down for minutes on end is
in all of them. On a busy machine two runs of the same code may be told apart, so run again before
you believe it; whether a machine was busy is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from measuring.ratios import Ratio
from measuring.stored import Bench, busy

THRESHOLD = 0.10
RARE = 100
"""How rarely chance alone must put two ranges apart: once in so many."""


@dataclass(frozen=True)
class Change:
    """One ratio in two runs."""

    old: Ratio
    new: Ratio
    threshold: float = THRESHOLD

    @property
    def size(self) -> float:
        """The new median over the old one."""
        return self.new.value / self.old.value

    @property
    def verdict(self) -> str:
        """One of slower, faster, no change, too few repeats."""
        slower = self.new.low > self.old.high and self.size > 1 + self.threshold
        faster = self.new.high < self.old.low and 1 / self.size > 1 + self.threshold
        if not (slower or faster):
            return "no change"
        n, m = len(self.old.values), len(self.new.values)
        if comb(n + m, n) < RARE:
            return "too few repeats"
        return "slower" if slower else "faster"

    @property
    def words(self) -> str:
        """A sentence."""
        old, new = self.old, self.new
        moved = f"{abs(self.size - 1):.0%} {'more' if self.size >= 1 else 'less'}"
        return (
            f"{new.script}: {new.name} now takes {shown(new.value)} times {new.against} "
            f"({shown(new.low)} to {shown(new.high)}), {shown(old.value)} before "
            f"({shown(old.low)} to {shown(old.high)}): {moved}."
        )


def shown(value: float) -> str:
    """A ratio with three digits.

    >>> shown(0.01234), shown(1.5), shown(1234.5)
    ('0.0123', '1.50', '1234')
    """
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side."""

    changes: tuple[Change, ...]
    only_old: tuple[Ratio, ...]
    only_new: tuple[Ratio, ...]
    cautions: tuple[str, ...]

    def called(self, verdict: str) -> list[Change]:
        """Changes of one verdict, the largest first."""
        found = [change for change in self.changes if change.verdict == verdict]
        return sorted(found, key=lambda change: max(change.size, 1 / change.size), reverse=True)

    @property
    def answer(self) -> str:
        """The whole in one sentence."""
        slower, n = len(self.called("slower")), len(self.changes)
        return (
            f"Of {n} ratio{'s' * (n != 1)} in both files, {slower or 'none'} got slower and "
            f"{len(self.called('faster')) or 'none'} got faster, beyond noise and the threshold."
        )


def compared(old: Bench, new: Bench, threshold: float = THRESHOLD) -> Comparison:
    """Every ratio that both runs have, what only one has, and what else differs between them."""
    before, after = ({ratio.key: ratio for ratio in run.ratios} for run in (old, new))
    return Comparison(
        tuple(Change(before[key], after[key], threshold) for key in after if key in before),
        tuple(ratio for key, ratio in before.items() if key not in after),
        tuple(ratio for key, ratio in after.items() if key not in before),
        tuple(_cautions(old, new)),
    )


def _cautions(old: Bench, new: Bench) -> list[str]:
    told = []
    for name in ("processor", "cores", "system", "Python"):
        one, two = (run.facts.get(name, "unknown") for run in (old, new))
        if one != two:
            told.append(f"The runs differ in {name}: {one} and {two}.")
    moved = [
        f"{name} {old.packages.get(name, 'missing')} → {new.packages.get(name, 'missing')}"
        for name in sorted(old.packages.keys() | new.packages.keys())
        if old.packages.get(name) != new.packages.get(name) and name != "evenscore"
    ]
    if moved:
        told.append(
            f"Other versions of packages: {', '.join(moved)}. "
            "A ratio may have changed because what it is compared with did."
        )
    for when, run in (("old", old), ("new", new)):
        if caution := busy(run.facts):
            told.append(f"In the {when} run: {caution}")
        told += [f"In the {when} run {each.name} failed: {each.failure}" for each in run.failures]
    return told
