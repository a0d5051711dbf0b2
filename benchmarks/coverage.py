"""How often intervals, bands and tests are right, on laws whose truth is known.

For each law (continuous, ten levels), weights (none, random) and cell size: the share of samples in
which a nominal 95 % interval holds the true value, and the share in which a 5 % permutation test
rejects equal distributions. The standard error of a share near 95 % over 2,000 samples is 0.5 %.

    python benchmarks/coverage.py    # 2,000 samples each, about an hour
    python benchmarks/coverage.py --samples 300
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from evenscore import GroupedScores, RocConstraint, constraint_names
from evenscore.datasets import credit_law
from evenscore.inference import (
    auc_estimates,
    gap_estimates,
    permutation_tests,
    placement_moments,
    roc_gap_band,
    roc_gap_estimates,
)

RATES = (0.03, 0.125, 0.25, 0.5)
GRID = np.linspace(0.05, 0.5, 46)
KINDS = (
    "AUCs",
    "gaps, cells drawn",
    "gaps, people drawn",
    "ROC gap at a rate",
    "ROC gap, warned",
    "simultaneous band",
    "dkw band",
    "test rejects",
)
LAWS = {
    "continuous": credit_law(),
    "ten levels": credit_law().discretised(10),
}


def draw(law, cell_size: int, weighted: bool, rng: np.random.Generator) -> GroupedScores:
    """So many observations of every cell, whatever the proportions of the law."""
    n_cells = 2 * law.n_groups
    scores = [law.mixture_quantile(c, 1.0 - rng.random(cell_size)) for c in np.eye(n_cells)]
    y, group = np.divmod(np.repeat(np.arange(n_cells), cell_size), law.n_groups)
    weight = rng.gamma(2.0, size=len(y)) if weighted else None
    return GroupedScores.from_arrays(
        y, np.concatenate(scores), sensitive_features=group, sample_weight=weight
    )


def equal_groups(law, cell_size: int, weighted: bool, rng: np.random.Generator) -> GroupedScores:
    """Negatives alike in both groups, for the level of tests."""
    score = law.mixture_quantile(law.negatives(0), 1.0 - rng.random(2 * cell_size))
    weight = rng.gamma(2.0, size=len(score)) if weighted else None
    return GroupedScores.from_arrays(
        np.zeros(len(score), int),
        score,
        sensitive_features=np.repeat([0, 1], cell_size),
        sample_weight=weight,
    )


def truths(law, cell_size: int):
    """True AUC matrix, gaps (at equal cell sizes), ROC gaps at rates and on the grid."""
    from evenscore import AucConstraint

    weights = np.full((2, law.n_groups), float(cell_size))
    matrix = law.auc_matrix()
    gaps = {
        name: float(np.sum(AucConstraint.named(name).coefficients(weights, 0, 1) * matrix))
        for name in constraint_names()
    }
    overall = float(matrix[: law.n_groups, law.n_groups :].mean())
    roc = {on: law.roc_gap(on, np.asarray(RATES)) for on in ("negatives", "positives")}
    grid = {on: law.roc_gap(on, GRID) for on in ("negatives", "positives")}
    return matrix, gaps, overall, roc, grid


def one_setting(task) -> dict[str, tuple[float, float]]:
    """Least and largest coverage among the quantities of each kind."""
    kind, weighted, cell_size, samples, band_samples, seed = task
    law = LAWS[kind]
    rng = np.random.default_rng(seed)
    matrix, gaps, overall, roc, grid = truths(law, cell_size)
    people_gaps = {name: law.auc_gap(name) for name in constraint_names()}
    hits: dict[str, dict[object, list[bool]]] = {}

    def note(name: str, which: object, low, truth, high) -> None:
        inside = np.all((np.asarray(low) <= truth + 1e-9) & (truth - 1e-9 <= np.asarray(high)))
        hits.setdefault(name, {}).setdefault(which, []).append(bool(inside))

    for number in range(samples):
        scores = draw(law, cell_size, weighted, rng)
        moments = placement_moments(scores)
        total, table = auc_estimates(scores, moments=moments, sampling="cells")
        note("AUCs", "overall", total.low, overall, total.high)
        for i, j in ((0, 2), (1, 3), (0, 3), (0, 1)):
            note("AUCs", (i, j), table[i][j].low, matrix[i, j], table[i][j].high)
        for gap in gap_estimates(scores, constraint_names(), moments=moments, sampling="cells"):
            note("gaps, cells drawn", gap.name, gap.low, gaps[gap.name], gap.high)
        for gap in roc_gap_estimates(scores, RocConstraint(on="both", rates=RATES)):
            truth = roc[gap.on][RATES.index(gap.rate)]
            name = "ROC gap, warned" if gap.warnings else "ROC gap at a rate"
            note(name, (gap.on, gap.rate), gap.low, truth, gap.high)
        score, y, group = law.sample(round(cell_size / law.cell_weights.min()), rng)
        weight = rng.gamma(2.0, size=len(y)) if weighted else None
        people = GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)
        for gap in gap_estimates(people, constraint_names()):
            note("gaps, people drawn", gap.name, gap.low, people_gaps[gap.name], gap.high)
        if number < band_samples:
            for on in ("negatives", "positives"):
                for band_kind in ("simultaneous", "dkw"):
                    band = roc_gap_band(
                        scores, on, GRID, kind=band_kind, n_resamples=300, random_state=rng
                    )
                    note(f"{band_kind} band", on, band.low, grid[on], band.high)
        same = equal_groups(law, cell_size, weighted, rng)
        for statistic in ("auc", "supremum"):
            [test] = permutation_tests(
                same, on="negatives", statistic=statistic, n_permutations=99, random_state=rng
            )
            hits.setdefault("test rejects", {}).setdefault(statistic, []).append(
                test.p_value <= 0.05
            )
    return {
        name: (min(map(np.mean, found.values())), max(map(np.mean, found.values())))
        for name, found in hits.items()
    }


def run(samples: int, sizes, laws, band_samples: int | None, workers: int):
    tasks = [
        (kind, weighted, size, samples, band_samples or samples, 1000 * number)
        for number, (kind, weighted, size) in enumerate(
            (kind, weighted, size) for size in sizes for kind in laws for weighted in (False, True)
        )
    ]
    with ProcessPoolExecutor(workers) as pool:
        yield from zip(tasks, pool.map(one_setting, tasks), strict=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--sizes", type=int, nargs="*", default=[50, 200, 2000])
    parser.add_argument("--laws", nargs="*", default=list(LAWS), choices=list(LAWS))
    parser.add_argument("--band-samples", type=int, help="samples with bands, if fewer")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    print(
        f"{arguments.samples} samples a setting; nominal 95 % and 5 %.\nEach entry: the least and "
        "the largest share among the quantities of its kind. 'warned': the estimate says that its "
        "interval is wide."
    )
    header = None
    for task, found in run(
        arguments.samples,
        arguments.sizes,
        arguments.laws,
        arguments.band_samples,
        arguments.workers,
    ):
        if header is None:
            header = KINDS
            titles = "  ".join(f"{name:>18s}" for name in header)
            print(f"{'law':11s} {'weights':7s} {'cell':>5s}  {titles}")
        kind, weighted, size, *_ = task
        row = "  ".join(
            f"{found[name][0]:>8.1%} – {found[name][1]:>6.1%} " if name in found else f"{'–':>18s}"
            for name in header
        )
        print(f"{kind:11s} {'random' if weighted else 'none':7s} {size:5d}  {row}", flush=True)


if __name__ == "__main__":
    main()
