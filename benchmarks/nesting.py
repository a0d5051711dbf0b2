"""What nesting costs: the best true positive rate of every cut alone, and of one score for all.

Forty random distributions of thirty kinds of people in two groups. Equal FPR is asked for on half
of them, equal FNR on the others, exactly, at nineteen cuts of the negatives. A linear program finds
the best set of people above each cut, another one the best sets of which each holds the one before.
The difference of the areas, in AUC, is what no score can help.

    python benchmarks/nesting.py        # ten seconds
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

LAWS, KINDS, CUTS = 40, 30, 19


def cost(seed: int) -> float:
    """The cost on one distribution; NaN where no sets are equal at all cuts."""
    rng = np.random.default_rng(seed)
    cells = rng.dirichlet(np.full(KINDS, 0.5), size=4)  # negatives of both groups, positives
    negatives, positives = rng.dirichlet([2, 2]) @ cells[:2], rng.dirichlet([2, 2]) @ cells[2:]
    differ = cells[2 * (seed % 2)] - cells[2 * (seed % 2) + 1]
    u = np.arange(1, CUTS + 1) / (CUTS + 1)
    equal = np.stack([negatives, differ])
    alone = [linprog(-positives, A_eq=equal, b_eq=[x, 0.0], bounds=(0, 1)) for x in u]
    rising = np.eye(CUTS)[:-1] - np.eye(CUTS)[1:]
    together = linprog(
        -np.repeat(positives, CUTS),
        A_ub=sparse.kron(sparse.identity(KINDS), rising),
        b_ub=np.zeros(KINDS * (CUTS - 1)),
        A_eq=sparse.kron(equal, sparse.identity(CUTS)),
        b_eq=np.concatenate([u, np.zeros(CUTS)]),
        bounds=(0, 1),
    )
    if together.x is None or any(one.x is None for one in alone):
        return float("nan")
    return (together.fun - sum(one.fun for one in alone)) / (CUTS + 1)


def main() -> None:
    found = np.array([cost(seed) for seed in range(LAWS)])
    known = found[~np.isnan(found)]
    most, middle = known.max(), np.median(known)
    print(f"{len(known)} distributions: at most {most:.5f} of AUC, median {middle:.6f}")


if __name__ == "__main__":
    main()
