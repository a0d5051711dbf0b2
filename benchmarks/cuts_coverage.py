"""How often what is said of gaps at cuts is right, on laws whose truth is known.

`coverage`: the share of samples in which the nominal 95 % interval of a gap holds the true gap: the
largest over a range of cuts that select 10 % to 40 % of everyone; that at the cut which selects
25 % of the population (a share); and that at the cut printed (a number). `certificates`: the share
of samples in which a certificate is given although the largest true gap is 1.0005 times the
tolerance, at one end of a named range, at a single named cut, or, nearly, all over the range.
`power`: how often a score without gaps is certified, and what `needed` says it takes.

A person's score is normal in each cell; "levels" rounds it, "atom" puts a tenth of the people on
one score, "by score" weighs the upper half of each cell four times, on top of random weights, and
"clusters" are five rows that are alike (correlation 0.3). The standard error of 95 % over 1,000
samples is 0.7 %.

What was seen (200 to 1,000 samples a setting; the least of 28 entries is low by chance): at single
cuts intervals hold in 92.0 to 98 %, over a range in 93.0 to 99.7 %. Drawn again with another seed,
"15 levels" and "no ties, small" (fnr, 4,000 samples), "clusters" (800) and "equal groups" (1,000)
hold in 94.5 % and more at single cuts, equal groups in 93.9 to 94.7 % over the range, the lowest
of all ranges; "atom" (92.7 % of 300 at the least) was not. At a single named cut, where the test is
exact, 3.1 to 6.2 % of intersection-union certificates are false over 1,000 samples, 4.6 to 5.4 % in
the three settings drawn 8,000 times; over a range 0 to 0.9 %. Of those by a band 2.4 % are at most,
and none of those for any law. With 3,300 people in the smallest cell a score without gaps is
certified in 99 % of 200 samples, with 2,500 in 86 %, with five groups and 3,300 in 85 %; `needed`
says 2,560 and 3,360 for 90 %.

    python benchmarks/cuts_coverage.py                      # 1,000 samples each, half an hour
    python benchmarks/cuts_coverage.py --parts power --samples 200
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from evenscore import Cuts, GroupedScores, RateConstraint, rate_names
from evenscore.inference import certify_rates
from evenscore.scores.rates import CATALOGUE

GRID = np.linspace(-4.0, 6.0, 100_001)
HEAVY, TOGETHER, CORRELATION = 4.0, 5, 0.3
RANGE, POINT = (0.1, 0.4), 0.25
SPIKE = 0.7  # of the second group's negatives, where the gap of a spike is largest


@dataclass(frozen=True)
class Law:
    """Normal scores: means, spreads and shares of the cells, (2, groups)."""

    means: np.ndarray
    spreads: np.ndarray
    shares: np.ndarray
    levels: int | None = None
    atom: bool = False
    weights: str = "none"
    clusters: bool = False
    spike: float = 0.0

    @classmethod
    def make(cls, shift=0.0, groups=2, prevalence=0.4, spread=1.0, **more) -> Law:
        """The second group's scores are `shift` higher and `spread` times as spread out."""
        means = np.repeat([[0.0], [1.2]], groups, axis=1)
        means[:, 1] += shift
        spreads = np.ones((2, groups))
        spreads[:, 1] *= spread
        sizes = np.where(np.arange(groups) == 1, 0.7, 1.0)
        shares = np.outer([1.0 - prevalence, prevalence], sizes / sizes.sum())
        return cls(means, spreads, shares, **more)

    def thresholds(self) -> np.ndarray:
        """The cuts that the score has."""
        if self.levels is not None:
            return np.linspace(-2.0, 3.2, self.levels)
        return GRID[~self._in_atom(GRID)] if self.atom else GRID

    @staticmethod
    def _in_atom(score):
        return (score >= 1.0) & (score < 1.25)

    def above(self, cuts) -> np.ndarray:
        """The true share of each cell above each cut, (cuts, 2, groups), by weight."""
        cdf = ndtr((np.asarray(cuts)[:, None, None] - self.means) / self.spreads)
        if self.spike:  # nobody just below, twice as many just above
            near = np.abs(cdf[:, 0, 1] - SPIKE) < self.spike
            moved = SPIKE - self.spike + 2.0 * np.maximum(cdf[:, 0, 1] - SPIKE, 0.0)
            cdf[:, 0, 1] = np.where(near, moved, cdf[:, 0, 1])
        if self.weights == "by score":
            cdf = (np.minimum(cdf, 0.5) + HEAVY * np.maximum(cdf - 0.5, 0.0)) / (0.5 + 0.5 * HEAVY)
        return 1.0 - cdf

    def rates(self, name: str, cuts) -> np.ndarray:
        """The true rate of each group at each cut."""
        above = self.above(cuts)
        negatives, positives = np.moveaxis(above * self.shares, 1, 0)
        n, p = self.shares
        prevalence = p.sum()
        common = prevalence * above[:, 1], (1.0 - prevalence) * above[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            return {
                "selection": (negatives + positives) / (n + p),
                "fpr": above[:, 0],
                "fnr": 1.0 - above[:, 1],
                "error": (negatives + p - positives) / (n + p),
                "precision": positives / (positives + negatives),
                "standardised_precision": common[0] / (common[0] + common[1]),
                "false_omission": (p - positives) / (p - positives + n - negatives),
            }[name]

    def share(self, cuts, of: str = "everyone") -> np.ndarray:
        """The share of everyone, or of all of one class, above each cut."""
        pool = self.shares.copy()
        if of != "everyone":
            pool[1 - ("negatives", "positives").index(of)] = 0.0
        return np.sum(self.above(cuts) * pool / pool.sum(), axis=(1, 2))

    def cut(self, share: float) -> float:
        """The loosest cut that selects at most so many."""
        cuts = self.thresholds()
        return float(cuts[np.argmax(self.share(cuts) <= share)])

    def cuts_between(self, low: float, high: float, of: str = "everyone") -> np.ndarray:
        """All cuts of a range, and those at its ends."""
        cuts = self.thresholds()
        share = self.share(cuts, of)
        last, first = (int(np.argmax(share <= end)) for end in (low, high))
        return cuts[first : last + 1]

    def gap(self, name: str, cuts, first=0, second=1) -> np.ndarray:
        rates = self.rates(name, cuts)
        return rates[:, first] - rates[:, second]

    def draw(self, smallest: int, rng: np.random.Generator) -> GroupedScores:
        """People, so many that the smallest cell is expected to have its size."""
        n = round(smallest / self.shares.min())
        groups = self.shares.shape[1]
        cluster = None
        if self.clusters:
            n_clusters = -(-n // TOGETHER)
            cluster = np.repeat(np.arange(n_clusters), TOGETHER)
            n = len(cluster)
            by_group = self.shares.sum(axis=0)
            group = rng.choice(groups, size=n_clusters, p=by_group / by_group.sum())[cluster]
            y = (rng.random(n) < (self.shares[1] / by_group)[group]).astype(int)
            common = rng.normal(size=n_clusters)[cluster]
            normal = np.sqrt(CORRELATION) * common
            normal += np.sqrt(1.0 - CORRELATION) * rng.normal(size=n)
        else:
            cell = rng.choice(2 * groups, size=n, p=self.shares.ravel())
            y, group = np.divmod(cell, groups)
            normal = rng.normal(size=n)
        if self.spike:
            rank = ndtr(normal)
            near = (y == 0) & (group == 1) & (np.abs(rank - SPIKE) < self.spike)
            normal = np.where(near, ndtri(SPIKE + (rank - SPIKE + self.spike) / 2.0), normal)
        score = self.means[y, group] + self.spreads[y, group] * normal
        weight = None
        if self.weights == "by score":
            weight = rng.gamma(2.0, size=n) * np.where(normal > 0.0, HEAVY, 1.0)
        if self.levels is not None:
            levels = np.append(self.thresholds(), np.inf)
            score = np.append(self.thresholds(), 9.0)[np.searchsorted(levels, score)]
        if self.atom:
            score = np.where(self._in_atom(score), 1.25, score)
        return GroupedScores.from_arrays(
            y, score, sensitive_features=group, sample_weight=weight, cluster=cluster
        )


SETTINGS = {
    "no ties": (Law.make(0.3), 400),
    "no ties, small": (Law.make(0.3), 100),
    "equal groups": (Law.make(), 400),
    "15 levels": (Law.make(0.3, levels=15), 400),
    "atom": (Law.make(0.3, atom=True), 400),
    "weights by score": (Law.make(0.3, weights="by score"), 400),
    "prevalence 2 %": (Law.make(0.3, prevalence=0.02), 150),
    "five groups": (Law.make(0.3, groups=5), 300),
    "clusters": (Law.make(0.3, clusters=True), 400),
}


# ---------------------------------------------------------------------- coverage


def coverage(setting: str, samples: int, seed: int = 0) -> dict[tuple[str, str], float]:
    """Shares of samples whose interval holds the truth, by kind of statement and rate."""
    law, smallest = SETTINGS[setting]
    names = rate_names()
    kinds = {
        "range": Cuts(between=RANGE),
        "share": Cuts(at=(POINT,)),
        "number": Cuts(thresholds=(law.cut(POINT),)),
    }
    cuts = law.cuts_between(*RANGE)
    truth = {
        "range": {name: float(np.abs(law.gap(name, cuts)).max()) for name in names},
        "share": {name: float(law.gap(name, [law.cut(POINT)])[0]) for name in names},
    }
    truth["number"] = truth["share"]
    held: dict[tuple[str, str], list[bool]] = {}
    rng = np.random.default_rng(seed)
    for _ in range(samples):
        scores = law.draw(smallest, rng)
        for kind, where in kinds.items():
            for gap in RateConstraint(*names, cuts=where).estimates(scores):
                if (gap.first, gap.second) != ("0", "1"):
                    continue
                name = gap.name.removesuffix("_gap")
                low, high, true = gap.low, gap.high, truth[kind][name]
                if np.isnan(gap.value):
                    continue
                if kind == "range":
                    low, high = max(low, -high, 0.0), max(abs(low), abs(high))
                held.setdefault((kind, name), []).append(low - 1e-9 <= true <= high + 1e-9)
                if kind == "share":  # the cut that is printed, whatever it selects elsewhere
                    true = float(law.gap(name, [gap.threshold])[0])
                    held.setdefault(("printed", name), []).append(low <= true <= high)
    return {key: float(np.mean(right)) for key, right in held.items() if len(right) > 0.5 * samples}


# ---------------------------------------------------------------------- certificates

RATES = ("fpr", "fnr")
BOUNDARY = 1.0005


@dataclass(frozen=True)
class Boundary:
    """A law, the cuts and the rates, and so many people in the smallest cell."""

    law: Law
    cuts: Cuts
    rates: tuple[str, ...] = RATES
    smallest: int = 1_000
    methods: tuple[str, ...] = ("intersection_union",)

    def true_cuts(self) -> np.ndarray:
        if self.cuts.between is None:
            return np.array(self.cuts.thresholds)
        return self.law.cuts_between(*self.cuts.between, self.cuts.of)

    def true_gaps(self, cuts) -> np.ndarray:
        """The largest of all rates and pairs at each cut."""
        found = np.zeros(len(cuts))
        for name in self.rates:
            rates = self.law.rates(name, cuts)
            found = np.maximum(found, rates.max(axis=1) - rates.min(axis=1))
        return found

    def certificate(self, scores: GroupedScores, tolerance: float, method: str):
        ladder = self.cuts.ladder(scores)
        found = certify_rates(
            ladder,
            [CATALOGUE[name] for name in self.rates],
            self.cuts.steps(ladder),
            tolerance=tolerance,
            method=method,
            share_range=self.cuts.between,
            shares=self.cuts.at,
        )
        return found, ladder

    def is_wrong(self, scores: GroupedScores, tolerance: float, method: str) -> bool:
        found, ladder = self.certificate(scores, tolerance, method)
        if not found.certified or method != "band":
            return found.certified
        steps = [ladder.last_up_to(found.low), ladder.last_up_to(found.high)]
        high, low = (ladder.threshold(step, inclusive=False) for step in steps)
        cuts = self.law.thresholds()
        cuts = np.append(cuts[(cuts >= low) & (cuts <= high)], (low, high))
        return bool(np.any(self.true_gaps(cuts) > tolerance))


SPREAD = Law.make(spread=1.25)  # even in the middle: the gap grows towards one end
SPIKED = Law.make(spike=0.06)
AT_SPIKE = float(SPIKED.share([ndtri(SPIKE)], "negatives")[0]) + 1e-6
UPPER = Cuts(between=(0.1, 0.5), of="negatives")
ONE = Cuts(thresholds=(1.0,))
ALL = ("intersection_union", "band", "finite_sample")
BOUNDARIES = {
    "in a range": Boundary(SPREAD, UPPER, ("fpr",), methods=ALL),
    "one cut": Boundary(Law.make(0.2), ONE, ("fpr",), methods=ALL),
    "one cut, rare": Boundary(Law.make(0.4), Cuts(thresholds=(2.2,)), ("fpr",), 300),
    "end, a spike there": Boundary(SPIKED, Cuts(between=(AT_SPIKE, 0.6), of="negatives"), ("fpr",)),
    "one cut, weights": Boundary(Law.make(0.2, weights="by score"), ONE, ("fpr",)),
    "one cut, clusters": Boundary(Law.make(0.2, clusters=True), ONE, ("fpr",)),
    "one cut, precision": Boundary(Law.make(0.3), ONE, ("precision",)),
    "range, 15 levels": Boundary(replace(SPREAD, levels=15), UPPER, ("fpr",), 150, ALL),
    "range, atom": Boundary(replace(SPREAD, atom=True), Cuts(between=(0.05, 0.5)), ("fpr",), 150),
    "range, weights": Boundary(replace(SPREAD, weights="by score"), UPPER, ("fpr",)),
    "range, prevalence 2 %": Boundary(
        Law.make(0.3, prevalence=0.02), Cuts(between=RANGE), ("fnr",), 100
    ),
    "range, five groups": Boundary(Law.make(0.2, groups=5), Cuts(between=RANGE), ("fnr",), 400),
    "band, gap all over": Boundary(
        Law.make(0.12), Cuts(between=(0.3, 0.6), of="negatives"), ("fpr",), 1_000, ("band",)
    ),
}


def certificates(setting: str, samples: int, seed: int = 0) -> dict[str, float]:
    """Shares of samples with a false certificate, by method."""
    boundary = BOUNDARIES[setting]
    tolerance = float(boundary.true_gaps(boundary.true_cuts()).max()) / BOUNDARY
    rng = np.random.default_rng(seed)
    wrong = dict.fromkeys(boundary.methods, 0)
    for _ in range(samples):
        scores = boundary.law.draw(boundary.smallest, rng)
        for method in boundary.methods:
            wrong[method] += boundary.is_wrong(scores, tolerance, method)
    return {"tolerance": tolerance} | {method: count / samples for method, count in wrong.items()}


# ---------------------------------------------------------------------- power


def power(groups: int, smallest: int, samples: int, seed: int = 0) -> tuple[float, float]:
    """How often a score without gaps is certified within 0.05, and what `needed` is on average."""
    task = Boundary(Law.make(groups=groups), Cuts(between=RANGE))
    rng = np.random.default_rng(seed)
    given, needed = 0, 0.0
    for _ in range(samples):
        found, _ = task.certificate(task.law.draw(smallest, rng), 0.05, "intersection_union")
        given += found.certified
        needed += found.needed
    return given / samples, needed / samples


POWERS = ((2, 2_500), (2, 3_300), (5, 3_300))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ["coverage", "certificates", "power"]
    parser.add_argument("--parts", nargs="*", default=parts, choices=parts)
    parser.add_argument("--samples", type=int, default=1_000)
    parser.add_argument("--settings", nargs="*", help="of these alone")
    arguments = parser.parse_args()
    samples, start = arguments.samples, time.process_time()
    print(f"{samples:,} samples a setting")
    if "coverage" in arguments.parts:
        print("\nCoverage of nominal 95 % intervals")
        print(f"{'setting':20s} {'cuts':8s} " + " ".join(f"{n[:12]:>12s}" for n in rate_names()))
        for setting in arguments.settings or SETTINGS:
            found = coverage(setting, samples)
            for kind in ("range", "share", "number", "printed"):
                entries = [found.get((kind, name), np.nan) for name in rate_names()]
                line = " ".join(f"{entry:12.1%}" for entry in entries)
                print(f"{setting:20s} {kind:8s} {line}", flush=True)
    if "certificates" in arguments.parts:
        print("\nFalse certificates, where the largest gap is 1.0005 times the tolerance")
        columns = "tolerance", "intersection_union", "band", "finite_sample"
        print(f"{'setting':22s} " + " ".join(f"{name:>18s}" for name in columns))
        for setting in arguments.settings or BOUNDARIES:
            found = certificates(setting, samples)
            line = " ".join(f"{found.get(name, np.nan):18.4f}" for name in columns)
            print(f"{setting:22s} {line}", flush=True)
    if "power" in arguments.parts:
        print("\nA score without gaps certified within 0.05 (intersection-union)")
        for groups, smallest in POWERS:
            given, needed = power(groups, smallest, samples)
            print(
                f"{groups} groups, {smallest:,} in the smallest cell: {given:.1%}; needed for 90 % "
                f"{needed:,.0f}",
                flush=True,
            )
    print(f"\n{time.process_time() - start:,.0f} CPU-seconds")


if __name__ == "__main__":
    main()
