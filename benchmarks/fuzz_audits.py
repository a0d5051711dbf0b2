"""Made-up tables, questions and columns: an answer that naive references confirm, or one sentence.

Audits: tables of 1 to 300 people with ties, empty cells, odd names, weights and clusters, by
`audit`, `audit_scores`, `audit_frame` (pandas, polars, pyarrow), bins of the same people and the
command on CSV and Parquet files. Calls: metrics, readers and tables with columns of every container
and type. Each ends in numbers that agree with a naive reference, verdicts that agree with their
intervals and a stored audit that reads back the same, or in one ValueError or TypeError of one
sentence; warnings are errors. The first failures are printed with what to run again, and the script
ends with 1.

    python benchmarks/fuzz_audits.py                                    # some minutes
    python benchmarks/fuzz_audits.py --audits 10000 --calls 100000 --seed 1
    python benchmarks/fuzz_audits.py --seed 1 --audit 4711              # one of them again
"""

from __future__ import annotations

import argparse
import math
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from fuzzing import audits, calls
from fuzzing.drawing import Case, smaller

SHOWN = 20  # failures


def attempt(run: Callable[[Any], str], case: Any) -> tuple[str, str]:
    """What came of a case, and what failed, if anything did."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return run(case), ""
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            return "FAILED", f"{type(error).__name__} in {frame.name}: {str(error)[:1500]}"


def kind_of(failure: str) -> str:
    """Failures that begin alike are of one kind."""
    return failure[:50]


def fuzz(
    name: str,
    draw: Callable[..., Any],
    run: Callable[[Any], str],
    seed: int,
    numbers: Any,
    seconds: float = math.inf,
) -> tuple[Counter[str], dict[str, str]]:
    """How often each outcome came, and what failed, with a small case of each kind."""
    outcomes: Counter[str] = Counter()
    failures: dict[str, str] = {}
    until = time.perf_counter() + seconds
    for number in numbers:
        if time.perf_counter() > until:
            break
        case = draw(np.random.default_rng([seed, number]))
        outcome, failure = attempt(run, case)
        outcomes[outcome] += 1
        kind = kind_of(failure)
        if failure and kind not in failures and len(failures) < SHOWN:
            if isinstance(case, Case):
                case = smaller(case, lambda one, kind=kind: kind_of(attempt(run, one)[1]) == kind)
                failure = attempt(run, case)[1] or failure
            again = f"--seed {seed} --{name} {number}"
            failures[kind] = f"{again}\n    {failure}\n    {str(case)[:3000]}"
            print(f"FAILED: {failures[kind]}\n", flush=True)
    return outcomes, failures


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--audits", type=int, default=300, help="how many audits")
    parser.add_argument("--calls", type=int, default=5000, help="how many calls")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop either part then")
    parser.add_argument("--audit", type=int, help="only this audit")
    parser.add_argument("--call", type=int, help="only this call")
    asked = parser.parse_args(arguments)
    parts = [
        ("audit", audits.drawn_case, audits.run_case, asked.audits, asked.audit),
        ("call", calls.drawn_call, calls.run_call, asked.calls, asked.call),
    ]
    failed = 0
    alone = asked.audit is not None or asked.call is not None
    for name, draw, run, count, only in parts:
        if alone and only is None:
            continue
        began = time.perf_counter()
        numbers = range(count) if only is None else [only]
        outcomes, _ = fuzz(name, draw, run, asked.seed, numbers, 60 * asked.minutes)
        failed += outcomes["FAILED"]
        print(f"{outcomes.total():,} {name}s in {time.perf_counter() - began:.0f} s")
        for outcome, times in sorted(outcomes.items()):
            print(f"  {times:8,}  {outcome}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
