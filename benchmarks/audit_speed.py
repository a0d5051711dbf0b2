"""What a whole audit costs: CPU seconds by number of people, and the share of each of its parts.

Three groups, a continuous score, one thread. The targets are 1 CPU-second at 10⁴ rows, 2 at 10⁵ and
6 at 10⁶. The ratio is to a sort of a million numbers, by turns. Run it with

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/audit_speed.py
    python benchmarks/audit_speed.py --most 100000       # people
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from measuring.ratios import record
from measuring.timing import a_sort, cpu_seconds

import evenscore as es
from evenscore.auditing import audit as module
from evenscore.auditing.blocks import BLOCKS

SIZES = {10_000: 1.0, 100_000: 2.0, 1_000_000: 6.0}
REPEATS = 5


def people(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, scores and groups."""
    rng = np.random.default_rng(0)
    group = rng.choice(np.array(["a", "b", "c"]), n, p=[0.5, 0.3, 0.2])
    y = (rng.random(n) < 0.3).astype(int)
    return y, rng.normal(size=n) + y + 0.1 * (group == "b"), group


@contextmanager
def timed(spent: dict[str, float]) -> Iterator[None]:
    """Count the CPU seconds of every block, and of the gaps."""
    kept = {name: block.compute for name, block in BLOCKS.items()}
    gaps = module.audited_gaps

    def counted(name, function):
        def run(*arguments, **options):
            start = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                spent[name] += time.process_time() - start

        return run

    for name, block in BLOCKS.items():
        block.compute = counted(name, kept[name])
    module.audited_gaps = counted("gaps", gaps)
    try:
        yield
    finally:
        module.audited_gaps = gaps
        for name, block in BLOCKS.items():
            del block.compute
            block.compute = kept[name]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=max(SIZES), help="the most people")
    largest = parser.parse_args().most
    es.audit(*people(500)[:2], sensitive_features=people(500)[2])  # imports
    a_sort()  # makes the numbers
    for n, most in SIZES.items():
        if n > largest:
            continue
        y, score, group = people(n)
        best, parts, omitted = np.inf, {}, ()
        totals, sorts = [], []
        for _ in range(REPEATS):
            spent: dict[str, float] = defaultdict(float)
            with timed(spent):
                total, result = cpu_seconds(es.audit, y, score, sensitive_features=group)
            totals.append(total)
            sorts.append(cpu_seconds(a_sort)[0])
            if total < best:
                best, parts, omitted = total, dict(spent), result.omitted
        sort = record(f"audit, {n:,} people", "a sort of 10^6 numbers", totals, sorts)
        print(
            f"{n:>9,} people: {best:.2f} CPU-seconds (at most {most:g}), {sort.value:.1f} sorts "
            "of 10^6 numbers"
        )
        for name, seconds in sorted(parts.items(), key=lambda item: -item[1]):
            print(f"{'':>11}{name:<16}{seconds:6.2f}{seconds / best:7.0%}")
        for sentence in omitted:
            print(f"{'':>11}! {sentence}")


if __name__ == "__main__":
    main()
