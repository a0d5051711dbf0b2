"""Names what got slower from one run of `make bench` to another, beyond noise.

    python benchmarks/compare.py old.json new.json
    python benchmarks/compare.py old.json new.json --threshold 0.2      # by more than 20 %

The exit code is 1 if something got slower, 0 if not, 2 if there is nothing to compare. What counts
as slower: every repeat of the new run is above every repeat of the old one, and the medians differ
by more than the threshold.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from measuring.comparing import THRESHOLD, Comparison, compared, shown
from measuring.stored import NotABenchError, read


def told(comparison: Comparison) -> list[str]:
    """The comparison in lines of text: what got slower first."""
    lines = [comparison.answer]
    for verdict in ("slower", "faster", "too few repeats"):
        changes = comparison.called(verdict)
        if changes:
            lines += ["", f"{verdict.capitalize()}:", *(f"  {change.words}" for change in changes)]
    for name, ratios in (("old", comparison.only_old), ("new", comparison.only_new)):
        if ratios:
            lines += ["", f"Only in the {name} file:", *(f"  {ratio.key}" for ratio in ratios)]
    if comparison.cautions:
        lines += ["", *comparison.cautions]
    lines += ["", "New over old, every ratio:"]
    for change in comparison.changes:
        old, new = shown(change.old.value), shown(change.new.value)
        lines.append(f"  {change.size:5.2f}  {change.new.key}: {old} → {new}, {change.verdict}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="what `make bench` wrote before")
    parser.add_argument("new", type=Path, help="what it wrote now")
    parser.add_argument(
        "--threshold", type=float, default=THRESHOLD, help="least change told (default 0.1: 10 %%)"
    )
    asked = parser.parse_args()
    if not asked.threshold >= 0:
        parser.error(f"--threshold must be at least 0, not {asked.threshold}.")
    try:
        comparison = compared(read(asked.old), read(asked.new), asked.threshold)
        if not comparison.changes:
            raise NotABenchError(f"{asked.old} and {asked.new} have no ratio in common.")
    except NotABenchError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(told(comparison)))
    return 1 if comparison.called("slower") else 0


if __name__ == "__main__":
    sys.exit(main())
