"""What Algorithms 1 and 2 of the paper cost on Adult, beside the products of matrices they need.

A network of d = 107 features has two hidden layers of as many units. An iteration multiplies a
batch of 100 rows by its weights, forwards and backwards, and a look, after every 50, all validation
rows forwards. No program that does the same can cost less than these products, which are timed by
turns with the fits, in single precision on one thread. Run it with

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/paper_networks.py
    python benchmarks/paper_networks.py --iterations 2000 --repeats 3
"""

import argparse
from functools import partial

import numpy as np
from measuring.ratios import record
from measuring.timing import cpu_seconds
from paper_numbers import columns, load, paper_scorer, published_split


def products(n_iter: int, d: int, held_out: int) -> None:
    """The products of matrices of a fit, and nothing else."""
    rng = np.random.default_rng(0)
    batch, weights, rows = (
        rng.normal(size=(n, d)).astype(np.float32) for n in (100, d, min(held_out, 2048))
    )
    for _ in range(n_iter):
        for _ in range(2):
            batch @ weights  # forwards
            batch.T @ batch  # the slope along the weights
        batch @ weights.T  # the slope along the hidden layer
    for _ in range(round(n_iter / 50 * held_out / len(rows))):
        for _ in range(2):
            rows @ weights


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    rows = load("adult")
    train, _ = published_split(rows)
    held_out, d = round(0.4 * len(train)), rows.X.shape[1]
    for kind, name in (("auc", "Algorithm 1"), ("roc", "Algorithm 2")):
        scorer = paper_scorer("adult", kind, n_iter=given.iterations, random_state=0)
        fit = partial(scorer.fit, **columns(rows, train, kind))
        fits, floors = [], []
        for _ in range(given.repeats):
            fits.append(cpu_seconds(fit)[0])
            floors.append(cpu_seconds(products, given.iterations, d, held_out)[0])
        label = f"{name}, {given.iterations:,} iterations on Adult"
        ratio = record(label, "its products of matrices", fits, floors)
        print(
            f"{label}: {np.median(fits):.1f} CPU-seconds, {ratio.value:.2f} times its products of "
            f"matrices ({np.median(floors):.1f})"
        )


if __name__ == "__main__":
    main()
