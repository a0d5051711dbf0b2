"""Naive versions, written differently on purpose: loops over pairs, definitions taken literally."""

import math
from fractions import Fraction


def auc(reference, target, reference_weight=None, target_weight=None):
    """P(T > R) + ½ P(T = R) by comparing every pair, in exact fractions."""
    rw = [1] * len(reference) if reference_weight is None else reference_weight
    tw = [1] * len(target) if target_weight is None else target_weight
    won = total = Fraction(0)
    for r, a in zip(reference, rw, strict=True):
        for t, b in zip(target, tw, strict=True):
            pair = Fraction(a) * Fraction(b)
            total += pair
            if t > r:
                won += pair
            elif t == r:
                won += pair / 2
    return float(won / total) if total else math.nan


def cdf(sample, weights, t):
    """P(S <= t) as a fraction."""
    return Fraction(
        sum(Fraction(w) for s, w in zip(sample, weights, strict=True) if s <= t)
    ) / Fraction(sum(Fraction(w) for w in weights))


def roc(reference, target, rate, reference_weight=None, target_weight=None):
    """1 − g(h⁻¹(1 − rate)), h⁻¹(u) = inf{t : h(t) >= u}; `rate` may be a Fraction."""
    rw = [1] * len(reference) if reference_weight is None else reference_weight
    tw = [1] * len(target) if target_weight is None else target_weight
    need = 1 - Fraction(rate)
    if need <= 0:
        return 1.0  # the infimum is −∞
    for t in sorted(set(reference)):
        if cdf(reference, rw, t) >= need:
            return float(1 - cdf(target, tw, t))
    raise AssertionError("a distribution function reaches one")


class Rows:
    """Observations as plain lists, with the cells picked out by comprehension."""

    def __init__(self, y, score, group, weight=None):
        self.y, self.score, self.group = list(y), list(score), list(group)
        self.weight = [1] * len(self.y) if weight is None else list(weight)

    def pick(self, label=None, group=None):
        kept = [
            (s, w)
            for y, s, g, w in zip(self.y, self.score, self.group, self.weight, strict=True)
            if (label is None or y == label) and (group is None or g == group)
        ]
        return [s for s, _ in kept], [w for _, w in kept]

    def auc(self, reference, target):
        (r, rw), (t, tw) = self.pick(*reference), self.pick(*target)
        return auc(r, t, rw, tw)

    def mass(self, label=None, group=None):
        return math.fsum(self.pick(label, group)[1])

    def pair_accuracy(self, group):
        """A(z) by listing the pairs: labels differ, one person fixed in group z."""
        won = total = Fraction(0)
        people = list(zip(self.y, self.score, self.group, self.weight, strict=True))
        for y1, s1, g1, w1 in people:
            if g1 != group:
                continue
            for y2, s2, _, w2 in people:
                if y1 == y2:
                    continue
                pair = Fraction(w1) * Fraction(w2)
                total += pair
                if (s1 - s2) * (y1 - y2) > 0:
                    won += pair
                elif s1 == s2:
                    won += pair / 2
        return float(won / total) if total else math.nan

    def gap(self, name, a, b, reference_group):
        """The named gap between the groups a and b, from the formulas of the paper."""
        neg, pos = 0, 1
        if name == "intra_group":
            return self.auc((neg, a), (pos, a)) - self.auc((neg, b), (pos, b))
        if name == "bnsp":
            return self.auc((neg,), (pos, a)) - self.auc((neg,), (pos, b))
        if name == "bpsn":
            return self.auc((neg, a), (pos,)) - self.auc((neg, b), (pos,))
        if name == "inter_group":
            return self.auc((neg, a), (pos, b)) - self.auc((neg, b), (pos, a))
        if name == "zero_aeg":
            return self.auc((pos,), (pos, a)) - self.auc((pos,), (pos, b))
        if name == "zero_aeg_negatives":
            return self.auc((neg,), (neg, a)) - self.auc((neg,), (neg, b))
        if name == "reference_group":
            everyone = (None, reference_group)
            return self.auc(everyone, (pos, a)) - self.auc(everyone, (pos, b))
        if name == "pair_error":
            return self.pair_accuracy(a) - self.pair_accuracy(b)
        raise KeyError(name)

    def rates(self, threshold, group):
        """fpr, fnr, selection rate and error rate of the cut s > threshold."""
        counts = {(label, sel): 0.0 for label in (0, 1) for sel in (False, True)}
        for y, s, g, w in zip(self.y, self.score, self.group, self.weight, strict=True):
            if g == group:
                counts[y, s > threshold] += w
        negatives = counts[0, False] + counts[0, True]
        positives = counts[1, False] + counts[1, True]
        return {
            "fpr": counts[0, True] / negatives,
            "fnr": counts[1, False] / positives,
            "selection": (counts[0, True] + counts[1, True]) / (negatives + positives),
            "error": (counts[0, True] + counts[1, False]) / (negatives + positives),
        }


def split_roc(reference, target, rate, reference_weight=None, target_weight=None):
    """Height at `rate` of the ROC with ties broken in proportion: `roc` where nothing is tied."""
    w1 = [1.0] * len(reference) if reference_weight is None else list(reference_weight)
    w2 = [1.0] * len(target) if target_weight is None else list(target_weight)
    total, other = sum(w1), sum(w2)
    above = 0.0
    for cut in sorted(set(reference), reverse=True):
        tied = sum(w for s, w in zip(reference, w1, strict=True) if s == cut)
        if above + tied > rate * total + 1e-9:
            part = max(0.0, rate * total - above) / tied
            higher = sum(w for s, w in zip(target, w2, strict=True) if s > cut)
            equal = sum(w for s, w in zip(target, w2, strict=True) if s == cut)
            return (higher + part * equal) / other
        above += tied
    return 1.0


def signed_area(difference):
    """∫ d(a) da of a difference of curves, piece by piece."""
    edges = difference.edges.tolist()
    pieces = zip(edges[:-1], edges[1:], difference.start, difference.end, strict=True)
    return sum((right - left) * (one + two) / 2.0 for left, right, one, two in pieces)
