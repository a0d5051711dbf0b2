"""Permutation tests of equal distributions, where they are affordable."""

from dataclasses import dataclass
from typing import ClassVar, Self, final

from evenscore.auditing.blocks.base import AuditInput, Block, register
from evenscore.inference.permutation import (
    CROSSING,
    PermutationTest,
    corrected,
    permutation_tests,
)
from evenscore.scores import CLASSES
from evenscore.scores.thinning import coarsened

MAX_PAIRS = 10  # of groups: tests of more pairs take seconds
MAX_WEIGHTED = 20_000  # people who are exchanged one by one, as weighted ones must be
FEW_PEOPLE = 5_000  # up to so many, scores are cut into FINE classes, and else into COARSE ones:
FINE, COARSE = 500, 100  # the error rate of the test stays exact, and it is five times as fast
MAX_CLUSTERED = 200_000  # rows that are exchanged with their cluster


@register
@final
@dataclass(frozen=True, eq=False)
class Permutations(Block):
    """Tests of equal distributions in each class, or why there are none."""

    tests: tuple[PermutationTest, ...]
    omitted: tuple[str, ...] = ()

    name: ClassVar[str] = "permutations"
    title: ClassVar[str] = "Are the groups' scores distributed alike?"
    meaning: ClassVar[str] = (
        "Whether the scores of two groups could have come from one distribution. A small "
        "p-value says that they differ, not that the difference matters."
    )

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """Tests by the largest distance of two distribution functions."""
        scores, n_pairs = audit.coarse, audit.groups.n_pairs
        if n_pairs == 0:
            return cls(())
        if n_pairs > MAX_PAIRS:
            reason = f"{len(audit.groups.compared)} groups make too many pairs"
            return cls((), (f"Permutation tests are left out: {reason}.",))
        people = scores.cell_counts.sum()
        clustered = any(cell.is_clustered for cell in scores.cell_distributions)
        weighted = any(cell.is_weighted for cell in scores.cell_distributions) and not clustered
        if clustered and people > MAX_CLUSTERED:
            reason = f"with clusters they take at most {MAX_CLUSTERED:,} rows here"
            return cls((), (f"Permutation tests are left out: {reason}.",))
        if weighted and people > MAX_WEIGHTED:
            reason = f"with weights they take at most {MAX_WEIGHTED:,} people here"
            return cls((), (f"Permutation tests are left out: {reason}.",))
        # Weighted people are exchanged one by one.
        levels = FINE if people <= FEW_PEOPLE else COARSE
        made: tuple[str, ...] = ()
        if not weighted and people > FEW_PEOPLE and audit.n_levels > COARSE:
            made = (
                f"Permutation tests look at the scores in {COARSE} classes, with more than "
                f"{FEW_PEOPLE:,} people: their error rate stays what it is said to be.",
            )
        tests = [
            test
            for table in audit.coarse_compared
            for test in permutation_tests(
                table.table if weighted else coarsened(table.table, levels),
                pairs=table.asked,
                random_state=audit.settings.random_state,
            )
        ]
        tests.sort(key=lambda test: CLASSES.index(test.on))  # stable: the pairs in their order
        tests = corrected(tests)
        crossing = [test for test in tests if test.reason == CROSSING]
        if not crossing:
            return cls(tuple(tests), made)
        some = "" if len(crossing) == len(tests) else f" for {len(crossing)} of {len(tests)} pairs"
        left_out = f"Permutation tests are left out{some}: {CROSSING}."
        return cls(tuple(tests), (left_out, *made))
