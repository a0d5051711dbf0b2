"""Permutation tests of equal distributions, where they are affordable."""

from __future__ import annotations

from dataclasses import dataclass

from evenscore.inference.tests import PermutationTest, permutation_tests
from evenscore.outlines import coarsened
from evenscore.results import Settings
from evenscore.scores import GroupedScores

__all__ = ["permutation_section"]


@dataclass(frozen=True, eq=False)
class TestSection:
    """Permutation tests, and why there are none."""

    tests: tuple[PermutationTest, ...]
    omitted: tuple[str, ...] = ()


def permutation_section(scores: GroupedScores, settings: Settings) -> TestSection:
    """Tests of equal distributions in each class, where they are affordable."""
    if scores.n_groups < 2:
        return TestSection(())
    if len(scores.pairs()) > 10:
        told = f"Permutation tests are left out: {scores.n_groups} groups make too many pairs."
        return TestSection((), (told,))
    weighted = any(cell.is_weighted for cell in scores.cell_distributions)
    if weighted and scores.cell_counts.sum() > 20_000:
        told = "Permutation tests are left out: with weights they take at most 20,000 people here."
        return TestSection((), (told,))
    # Cut into classes, the level of the test stays exact; weighted people are exchanged one by one.
    classes = 500 if scores.cell_counts.sum() < 200_000 else 100
    table = scores if weighted else coarsened(scores, classes)
    return TestSection(tuple(permutation_tests(table, random_state=settings.random_state)))
