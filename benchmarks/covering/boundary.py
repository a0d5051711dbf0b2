"""Gaps exactly at the tolerance, many at once: how often some verdict about them is false.

The curve of an odd group against the others is a + 0.05 for all rates a from 0.04 to 0.3, in both
classes: the ROC gaps at 1/8 and at 1/4 are 0.05, whichever group is cut, and all other gaps less.
That is the tolerance: to call such a gap beyond is false, and so is, but for nothing, to call it
within. "each" is what verdicts by each gap's own interval would do. "at it" is whether four gaps
or more are: with weights by score, or ties (20 levels), only the largest is. With clusters, of five
rows, there are a quarter as many as there are people in the smallest cell otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from covering.family import RATES, true_gaps
from covering.laws import People, discretised, reweighted
from covering.tally import Tally
from evenscore import constraint_names
from evenscore.gaps import RocConstraint, as_constraints
from evenscore.gaps.family import family_intervals, family_values
from evenscore.inference.decisions import decide
from evenscore.inference.estimate import Estimate
from evenscore.inference.intervals import normal_quantile
from evenscore.paper.laws import PiecewiseLinearLaw

TITLE = "Gaps at the boundary: any false verdict (nominal 5 % at most)"
COLUMNS = ("at it", "false beyond", "false within", "each, beyond", "each, within", "all within")
GAP = 0.05


def settings(sizes):
    """Size of the smallest cell, groups, how many of them are odd, levels, weights."""
    return [
        {"cell": size, "groups": groups, "odd": odd, "levels": levels, "weights": weights}
        for size, (groups, odd), (levels, weights) in product(
            sizes or (400, 2500),
            ((2, 1), (5, 1), (5, 2)),
            ((None, "none"), (20, "none"), (None, "by score"), (None, "clusters")),
        )
    ]


def plateau_law(n_groups: int, odd: int) -> PiecewiseLinearLaw:
    """Groups of one size, `odd` of them ranked higher by 0.05 at the rates that matter."""
    bends = np.array([0.0, 0.04, 0.3, 0.5, 1.0])
    lifted = np.array([0.0, 0.04 + GAP, 0.3 + GAP, 0.5, 1.0])
    knots = np.concatenate([np.linspace(0.0, 1.0, 41), bends, np.sqrt(bends)])
    above = np.unique(knots.round(9))[::-1]
    shares = above**2, above  # of the negatives and of the positives of an even group
    rows = [
        1.0 - (np.interp(share, bends, lifted) if k < odd else share)
        for share in shares
        for k in range(n_groups)
    ]
    cells = np.full((2, n_groups), 0.5 / n_groups)
    return PiecewiseLinearLaw(1.0 - above, np.array(rows), cells)


def _estimates(scores, families, intervals) -> list[Estimate]:
    """The gaps with their own intervals; p-values of zero, which take longest, are not asked."""
    keys = [key for family in families for key in family.keys(scores.groups)]
    values = family_values(scores, families)
    low, high = intervals(np.full(len(keys), normal_quantile(0.975)))
    blank = Estimate("", np.nan, np.nan, np.nan, 0.95, "")
    return [
        replace(blank, **key._asdict(), value=value, low=a, high=b)
        for key, value, a, b in zip(keys, values, low.tolist(), high.tolist(), strict=True)
    ]


def run(setting, samples: int, rng: np.random.Generator) -> Tally:
    law = discretised(plateau_law(setting["groups"], setting["odd"]), setting["levels"])
    weights, size = setting["weights"], setting["cell"]
    clustered = weights == "clusters"
    true = true_gaps(law if clustered else reweighted(law, weights))
    largest = max(map(abs, true.values()))
    families = as_constraints([*constraint_names(), RocConstraint(rates=RATES)])
    tally = Tally()
    for _ in range(samples):
        draw = People.clustered(law, size // 4, rng) if clustered else None
        scores = (draw or People.draw(law, size, weights, rng)).scored(law)
        intervals = family_intervals(scores, families)
        gaps = _estimates(scores, families, intervals)
        at = np.array([abs(true[gap.key]) >= largest - 1e-9 for gap in gaps])
        low, high = intervals(np.full(len(gaps), normal_quantile(0.95)))
        found = decide(gaps, largest, 0.95, intervals=intervals)
        alone = {
            "beyond": np.array([gap.lies_beyond(largest) for gap in gaps]),
            "within": (low >= -largest) & (high <= largest),
        }
        for kind, each in alone.items():
            told = np.array([gap.verdict == kind for gap in found])
            # A gap is as good as beyond at the tolerance; none is beyond it.
            wrong = at if kind == "within" else np.ones_like(at)
            tally.note(f"false {kind}", "", bool(np.any(told & wrong)))
            tally.note(f"each, {kind}", "", bool(np.any(each & wrong)))
        tally.note("all within", "", all(gap.verdict == "within" for gap in found))
        tally.note("at it", "", bool(at.sum() >= 4))
    return tally
