"""Whether what EvenScorer says of itself is true of new people.

A fit tells gaps and a price, of rows that neither its classifiers nor its bars have seen; here they
are read beside those of test rows. Asked for: equal FPR and FNR at every cut that has 10 % to 40 %
of everyone above it. By split: told less test, of the signed gap of each rate at four cuts, of the
largest gap told, and of the price in AUC; and what share of the test rows is ahead of the positions
.95, .9, .8 and .6. In the tables stand means over splits with their standard errors, and on how
many splits told and test are within two standard errors of each other, by their own intervals.
Rows of a synthetic problem are drawn anew for every split; splits of Adult share people.

    python benchmarks/told.py                    # five minutes
    python benchmarks/told.py --data adult --splits 5
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from cutting.problems import PROBLEMS
from threadpoolctl import threadpool_limits

import evenscore as es
from evenscore.inference.paired import PairedScores, paired_auc
from evenscore.scores.aucs import overall_auc
from evenscore.scores.reading import Rows

AT = (0.1, 0.2, 0.3, 0.4)
RATES = ("fpr", "fnr")
ASKED = es.RateConstraint(*RATES, cuts=es.Cuts(between=(AT[0], AT[-1])), tolerance=0.02)
LOOKED_AT = es.RateConstraint(*RATES, cuts=es.Cuts(at=AT))
POSITIONS = (0.95, 0.9, 0.8, 0.6)


def one_split(name: str, split: int) -> dict[str, np.ndarray]:
    """Differences told − test, and whether they are within two standard errors."""
    train, test = PROBLEMS[name](split)
    scorer = es.EvenScorer(ASKED, random_state=split)
    scorer.fit(train.X, train.y, sensitive_features=train.groups)
    place, plain = (one.decision_function(test.X) for one in (scorer, scorer.under(())))
    told = scorer.left_out_.table
    fair, free = (
        es.GroupedScores.from_arrays(test.y, score, sensitive_features=test.groups)
        for score in (place, plain)
    )
    own, new = (LOOKED_AT.estimates(table) for table in (told, fair))
    gap = np.array([one.value - other.value for one, other in zip(own, new, strict=True)])
    errors = [
        np.hypot(*((each.high - each.low) / 3.92 for each in pair))
        for pair in zip(own, new, strict=True)
    ]
    lost = overall_auc(free) - overall_auc(fair)
    people = Rows(test.y == 1, test.groups, tuple(range(test.groups.max() + 1)), None, None, None)
    new_price = paired_auc(PairedScores(people, (plain, place))).difference
    known = scorer.price_.difference
    price_error = np.hypot(known.standard_error, new_price.standard_error)
    worst = [np.max(np.abs(ASKED.values(table))) for table in (told, fair)]
    return {
        "gap": gap,
        "close": np.abs(gap) <= 2.0 * np.array(errors),
        "largest": np.array([worst[0] - worst[1]]),
        "price": np.array([known.value - lost]),
        "price_close": np.array([abs(known.value - lost) <= 2.0 * price_error]),
        "ahead": np.array([np.mean(place > cut) for cut in POSITIONS]),
        "n": np.array([len(place)]),
    }


def mean(values: np.ndarray, digits: int = 4) -> str:
    return f"{values.mean():+.{digits}f} ± {values.std(ddof=1) / np.sqrt(len(values)):.{digits}f}"


def report(name: str, found: list[dict[str, np.ndarray]]) -> str:
    rows = {key: np.array([one[key] for one in found]) for key in found[0]}
    lines = [f"### {name}, {len(found)} splits", "", "| told − test | mean | within two |"]
    lines.append("|---|---:|---:|")
    titles = [f"{rate} gap, {cut:.0%} above" for rate in RATES for cut in AT]
    for title, column, close in zip(titles, rows["gap"].T, rows["close"].T, strict=True):
        lines.append(f"| {title} | {mean(column)} | {close.sum()} |")
    lines.append(f"| largest gap | {mean(rows['largest'][:, 0])} | |")
    close = rows["price_close"].sum()
    lines.append(f"| price in AUC | {mean(rows['price'][:, 0])} | {close} |")
    lines += ["", "| ahead of | share of test rows, mean | of one split by chance |"]
    lines.append("|---|---:|---:|")
    for cut, column in zip(POSITIONS, rows["ahead"].T, strict=True):
        chance = np.sqrt(cut * (1.0 - cut) / rows["n"].mean())
        lines.append(f"| {cut:g} | {mean(column)[1:]} | ± {chance:.4f} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = ["unequal base rates", "groups well known", "adult"]
    parser.add_argument("--data", nargs="*", default=default, help="problems with two groups")
    parser.add_argument("--splits", type=int, default=20)
    arguments = parser.parse_args()
    for name in arguments.data:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [one_split(name, split) for split in range(arguments.splits)]
        print(report(name, found), flush=True)


if __name__ == "__main__":
    main()
