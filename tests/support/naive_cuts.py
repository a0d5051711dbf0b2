"""Rates at cuts by loops over people, written differently from the library on purpose."""

import math

# What is counted, among whom: true and false positives and negatives.
EXPECTED = {
    "selection": ("tp fp", "tp fp fn tn"),
    "fpr": ("fp", "fp tn"),
    "fnr": ("fn", "fn tp"),
    "error": ("fp fn", "tp fp fn tn"),
    "precision": ("tp", "tp fp"),
    "standardised_precision": ("tp", "tp fp"),
    "false_omission": ("fn", "fn tn"),
}
NAMES = tuple(EXPECTED)


def confusion(people):
    """Weights of true and false positives and negatives, of (y, chosen, weight)."""
    sums = {"tp": 0.0, "fp": 0.0, "fn": 0.0, "tn": 0.0}
    for y, chosen, weight in people:
        key = ("t" if bool(y) == bool(chosen) else "f") + ("p" if chosen else "n")
        sums[key] += weight
    return sums


def divided(a, b):
    return a / b if b > 0 else math.nan


def rate(name, people, prevalence):
    """A rate of one group, of (y, chosen, weight); `prevalence` is that of everybody."""
    c = confusion(people)
    if name.startswith("standardised"):  # as if positives were as frequent as among everybody
        classes = {"tp fn": prevalence, "fp tn": 1 - prevalence}
        for keys, share in classes.items():
            size = sum(c[key] for key in keys.split())
            c |= {key: divided(share * c[key], size) for key in keys.split()}
    counted, among = (sum(c[key] for key in keys.split()) for keys in EXPECTED[name])
    return divided(counted, among)


def can_tell(name, people):
    """Whether enough people are on the side of the cut that the rate is a share of."""
    among = set(EXPECTED[name][1].split())
    sides = {True: {"tp", "fp"}, False: {"fn", "tn"}}
    for side, keys in sides.items():
        if among == keys:
            labels = [y for y, chosen, _ in people if chosen == side]
            return len(labels) >= 30 and min(labels.count(0), labels.count(1)) >= 5
    return True


class Sample:
    """Rows, and everything that can be cut from them."""

    def __init__(self, y, score, group, weight=None):
        weight = [1.0] * len(y) if weight is None else weight
        rows = zip(y, score, group, weight, strict=True)
        self.rows = [
            (int(a), float(b), c, float(d)) for a, b, c, d in rows if d > 0
        ]  # who weighs nothing is not there

    def choices(self, selected="high"):
        """All ways to cut, the strictest first, as functions of the score; not nobody or all."""
        levels = sorted({score for _, score, _, _ in self.rows}, reverse=selected == "high")
        for last in levels[:-1]:
            if selected == "high":
                yield lambda score, last=last: score >= last
            else:
                yield lambda score, last=last: score <= last

    def share(self, chosen, of="everyone"):
        """The share of a pool that a cut selects."""
        pool = [
            (chosen(score), weight)
            for y, score, _, weight in self.rows
            if of == "everyone" or y == (of == "positives")
        ]
        whole = sum(weight for _, weight in pool)
        return divided(sum(weight for picked, weight in pool if picked), whole)

    def gap(self, name, chosen, first, second):
        """The first group's rate minus the second's at a cut, NaN if it cannot be told."""
        whole = sum(weight for *_, weight in self.rows)
        prevalence = sum(weight for y, *_, weight in self.rows if y) / whole
        values = []
        for group in (first, second):
            people = [(y, chosen(s), w) for y, s, g, w in self.rows if g == group]
            told = can_tell(name, people)
            values.append(rate(name, people, prevalence) if told else math.nan)
        return values[0] - values[1]

    def between(self, low, high, of="everyone", selected="high"):
        """The cuts of a range: those inside, and the loosest below either end."""
        cuts = [(self.share(chosen, of), chosen) for chosen in self.choices(selected)]
        if not any(low - 1e-12 <= share <= high + 1e-12 for share, _ in cuts):
            return []
        below = [chosen for share, chosen in cuts if share <= low + 1e-12]
        inside = [chosen for share, chosen in cuts if low + 1e-12 < share <= high + 1e-12]
        return below[-1:] + inside

    def at(self, share, of="everyone", selected="high"):
        """The loosest cut that selects at most so many, or none."""
        cuts = [c for c in self.choices(selected) if self.share(c, of) <= share + 1e-12]
        return cuts[-1:]

    def largest(self, name, cuts, first, second):
        """The gap of largest size over some cuts."""
        gaps = [self.gap(name, chosen, first, second) for chosen in cuts]
        gaps = [gap for gap in gaps if not math.isnan(gap)]
        return max(gaps, key=abs) if gaps else math.nan
