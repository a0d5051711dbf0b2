"""How often a certified choice is wrong, beside a choice by estimated gaps; laws of known truth.

Candidates are fitted on fresh training samples: LinearScorer at several tolerances, or repairs of
a logistic score that go several shares of the way. All of them score a finite population once, and
who is held out is drawn from it with replacement: the population's own gaps are the exact truth.
Tolerances and shares are dense where true gaps lie just above the tolerance of 0.05, which is where
a choice can go wrong. For each sample held out:

    certified   `choose`, the function behind `certified_choice`: in order, until the first failure,
                then the largest AUC among those that passed
    naive       the largest AUC among all candidates whose gaps, estimated on the same people, are
                within the tolerance

A choice is *wrong* if the true gap of the candidate chosen is larger than the tolerance: of the
certified ones no more than 5 % may be, up to two standard errors of the simulation. *Power* is the
share of samples in which anything is certified, and the *loss* is the true AUC of the best of those
candidates that are truly fair minus that of the chosen one, on average over samples with a choice.
Results are kept as lines of JSON: a run goes on where it stopped, and prints the table of all.

    python benchmarks/certified.py                        # 20 fits x 50 samples, about 20 minutes
    python benchmarks/certified.py --samples 1000         # 20 x 1,000, for a night
    python benchmarks/certified.py --cases linear-bnsp --sizes 1000 20000
    python benchmarks/certified.py --table                # print what is known
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

import evenscore as es
from evenscore.choosing.candidates import Given, Turn
from evenscore.choosing.certifying import Asked, choose
from evenscore.gaps import GapFamily
from evenscore.gaps.family import family_values
from evenscore.learning.training_set import TrainingSet
from evenscore.scores.aucs import auc_matrix

TOLERANCE, LEVEL = 0.05, 0.95
SIZES = (1_000, 5_000, 20_000)
CUTS = es.Cuts(between=(0.1, 0.4))
GROUPS = ("a", "b")
FNR, BNSP = es.RateConstraint("fnr", cuts=CUTS), es.AucConstraint.named("bnsp")
# What is fitted, to which tolerances or by which shares, the fairest first, and what is certified.
CASES = {
    "linear-fnr": ("linear", (0.005, 0.015, 0.025, 0.035, 0.05), FNR),
    "linear-bnsp": ("linear", (0.01, 0.03, 0.04, 0.045, 0.05, 0.055, 0.06, 0.09), BNSP),
    "repair-fnr": ("repair", (1.0, 0.95, 0.9, 0.85, 0.8, 0.6, 0.0), FNR),
    "repair-bnsp": ("repair", (1.0, 0.6, 0.5, 0.45, 0.4, 0.35, 0.3, 0.0), BNSP),
}


class People(NamedTuple):
    """A sample of the law."""

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray


def draw(n: int, rng: np.random.Generator) -> People:
    """Four features: one tells much and favours b, one tells something, one little, one nothing."""
    group, y = (rng.random(n) < 0.5).astype(int), (rng.random(n) < 0.45).astype(int)
    X = rng.normal(size=(n, 4))
    X[:, 0] += 1.3 * y + 0.6 * group
    X[:, 1] += 0.7 * y
    X[:, 2] += 0.3 * y - 0.1 * group
    return People(X, y, group)


class Candidates(NamedTuple):
    """Scores of the population by every candidate, in the order of testing, and their truth."""

    names: list[str]
    scores: np.ndarray
    gap: np.ndarray
    auc: np.ndarray


def candidates(
    kind: str, grid: tuple[float, ...], family: GapFamily, train: People, people: People
) -> Candidates:
    """Fitted on a training sample; from the one expected to be the fairest."""
    names, scores = [], []
    labels = np.array(GROUPS)[train.group]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "linear":
            for tolerance in grid:
                scorer = es.LinearScorer([family], tolerance=tolerance, random_state=0)
                scorer.fit(train.X, train.y, sensitive_features=labels)
                names.append(f"tolerance={tolerance:g}")
                scores.append(scorer.decision_function(people.X))
        else:
            half = len(train.y) // 2  # one half for the score, the other for its repair
            model = LogisticRegression().fit(train.X[:half], train.y[:half])
            base = model.decision_function(train.X[half:])
            for share in grid:
                fair = es.repair(
                    train.y[half:], base, sensitive_features=labels[half:],
                    constraints=[family], share=share,
                )  # fmt: skip
                names.append(f"share={share:g}")
                scores.append(
                    fair.transform(
                        model.decision_function(people.X),
                        sensitive_features=np.array(GROUPS)[people.group],
                    )
                )
    gap, auc = np.zeros(len(names)), np.zeros(len(names))
    for k, score in enumerate(scores):
        table = table_of(score, people)
        gap[k] = np.abs(family_values(table, [family])).max()
        auc[k] = auc_matrix(table).overall
    return Candidates(names, np.array(scores), gap, auc)


def table_of(score: np.ndarray, people: People) -> es.GroupedScores:
    return es.GroupedScores.from_codes(score, people.y == 1, people.group, GROUPS)


class Column:
    """A scorer that is told positions in the population and knows their scores."""

    def __init__(self, scores: np.ndarray) -> None:
        self.scores = scores

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return self.scores[X]


def one_sample(
    found: Candidates, family: GapFamily, people: People, index: np.ndarray
) -> tuple[int | None, int | None, int]:
    """Which candidate is certified, which is chosen naively, and how many were tested."""
    held_out = People(people.X[:0], people.y[index], people.group[index])
    data = TrainingSet(np.arange(len(index)), held_out.y == 1, held_out.group, GROUPS, weight=None)
    rows = Given(index, held_out.y, held_out.group)
    turns = [Turn(name, lambda k=k: Column(found.scores[k])) for k, name in enumerate(found.names)]
    choice = choose(turns, rows, data, Asked([family], TOLERANCE, LEVEL, brief=True))
    seen, best = -np.inf, None
    for k, score in enumerate(found.scores):
        table = table_of(score[index], held_out)
        fair = np.abs(family_values(table, [family])).max() <= TOLERANCE
        if fair and auc_matrix(table).overall > seen:
            seen, best = auc_matrix(table).overall, k
    tested = sum(test.outcome != "not tested" for test in choice.tests)
    return choice.chosen, best, tested


def run(case: str, fit: int, sizes: list[int], samples: int, n_train: int, n_people: int) -> dict:
    """One training sample: the truth of its candidates, and what was chosen how often."""
    kind, grid, family = CASES[case]
    people = draw(n_people, np.random.default_rng(12345))
    rng = np.random.default_rng([fit, sum(map(ord, case))])
    found = candidates(kind, grid, family, draw(n_train, rng), people)
    counts = {}
    for n in sizes:
        draws = [
            one_sample(found, family, people, rng.integers(0, n_people, n)) for _ in range(samples)
        ]
        counts[str(n)] = [[-1 if k is None else k for k in some] for some in draws]
    return {
        "case": case, "fit": fit, "n_train": n_train, "gap": found.gap.tolist(),
        "auc": found.auc.tolist(), "draws": counts,
    }  # fmt: skip


def table(records: list[dict]) -> str:
    """What is known, case by case and size by size."""
    lines = [
        f"{'case':12} {'held out':>8} {'fits':>4} {'samples':>7} | {'power':>6} {'wrong':>6} "
        f"{'± 2 se':>6} {'loss':>7} | {'naive wrong':>11} {'loss':>8}"
    ]
    for case in dict.fromkeys(record["case"] for record in records):
        own = [record for record in records if record["case"] == case]
        for n in sorted({int(n) for record in own for n in record["draws"]}):
            rows, of_fit = [], []
            for record in own:
                gap, auc = np.array(record["gap"]), np.array(record["auc"])
                fair = gap <= TOLERANCE
                best = auc[fair].max() if fair.any() else np.nan
                for one, other, _ in record["draws"].get(str(n), []):
                    of_fit.append(record["fit"])
                    rows.append([v for k in (one, other) for v in _judged(k, gap, auc, best)])
            made, fits = np.array(rows), np.array(of_fit)
            wrong, naive = made[:, 1].mean(), made[:, 4].mean()
            # Samples of one fit share its candidates: it is fits that are independent.
            by_fit = np.array([made[fits == fit, 1].mean() for fit in np.unique(fits)])
            error = 2.0 * by_fit.std(ddof=1) / np.sqrt(len(by_fit)) if len(by_fit) > 1 else np.nan
            lines.append(
                f"{case:12} {n:8,} {len(own):4} {len(made):7,} | {made[:, 0].mean():6.1%} "
                f"{wrong:6.2%} {error:6.2%} {_mean(made[:, 2]):+7.4f} | {naive:11.1%} "
                f"{_mean(made[:, 5]):+8.4f}"
            )
    return "\n".join(lines)


def _judged(k: int, gap: np.ndarray, auc: np.ndarray, best: float) -> tuple[float, float, float]:
    """Whether there is a choice, whether it is wrong, and what it loses in AUC."""
    if k < 0:
        return 0.0, 0.0, np.nan
    return 1.0, float(gap[k] > TOLERANCE), float(best - auc[k])


def _mean(values: np.ndarray) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else np.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--samples", type=int, default=50, help="held out, for each fit and size")
    parser.add_argument("--train", type=int, default=4_000)
    parser.add_argument("--people", type=int, default=200_000, help="of the population")
    parser.add_argument("--keep", type=Path, default=Path("results/certified.jsonl"))
    parser.add_argument("--table", action="store_true", help="print what is known")
    args = parser.parse_args()
    records = []
    if args.keep.exists():
        records = [json.loads(line) for line in args.keep.read_text().splitlines()]
    known = {(record["case"], record["fit"]) for record in records}
    start = time.perf_counter()
    for fit in range(0 if args.table else args.fits):
        for case in args.cases:
            if (case, fit) in known:
                continue
            record = run(case, fit, args.sizes, args.samples, args.train, args.people)
            records.append(record)
            args.keep.parent.mkdir(parents=True, exist_ok=True)
            with args.keep.open("a") as file:
                file.write(json.dumps(record) + "\n")
            gaps = " ".join(f"{gap:.3f}" for gap in record["gap"])
            print(
                f"{time.perf_counter() - start:6.0f} s  {case} {fit}: true gaps {gaps}", flush=True
            )
    print(table(records))


if __name__ == "__main__":
    main()
