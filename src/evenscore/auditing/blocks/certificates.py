"""On which rates the score is certified to be fair, by class and method."""

from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from evenscore.auditing.blocks.base import AuditInput, Block, register
from evenscore.auditing.blocks.curves import LARGE_CELL, MANY_ROWS, curve_marks
from evenscore.inference.certificates import METHODS, Certificate, certify
from evenscore.scores import CLASSES, ClassName, GroupedScores

BOOTSTRAPPED = 3  # groups up to which certificates are made by the bootstrap as well


@register
@final
@dataclass(frozen=True, eq=False)
class Certificates(Block):
    """Where ROC gaps are certified to be within the tolerance, by class and method; if asked for.

    DKW's certificate always; the bootstrap's, which is tighter, where it is affordable and better:
    with up to three groups and cells that are not large. If both classes are asked for, they are
    told together: each has half of the error probability.
    """

    certificates: tuple[Certificate, ...]
    omitted: tuple[str, ...] = ()

    name: ClassVar[str] = "certificates"
    title: ClassVar[str] = "What is certified of ROC gaps"
    meaning: ClassVar[str] = (
        "Over which rates the ROC curves between groups are shown to be close. Rates of this "
        "kind are not the cuts in use: a certificate here does not cover those."
    )

    @classmethod
    def compute(cls, audit: AuditInput) -> Self:
        """One or two certificates for each class."""
        scores, settings = audit.groups.without_small(audit.scores), audit.settings
        certificates: list[Certificate] = []
        asked = curve_marks(audit)
        if not asked:
            return cls(())
        level = 1.0 - (1.0 - settings.confidence_level) / len(asked)
        tolerance, large = settings.tolerance, False
        for on in asked:
            sizes = scores.effective_sizes[CLASSES.index(on)]
            reason = ""
            if scores.n_groups < 2:
                reason = "gaps need two groups, and there is one only"
            elif (sizes == 0).any():
                cell = CLASSES.index(on) * scores.n_groups + int(np.argmin(sizes))
                reason = f"there are no {scores.cell_name(cell)}"
            if reason:
                certificates.append(_refused(on, tolerance, level, reason))
                continue
            table = _filled(scores, on)
            apart = scores.independent_sizes[CLASSES.index(on)]
            small = scores.n_groups <= BOOTSTRAPPED and (
                apart.min() < LARGE_CELL and sizes.min() < MANY_ROWS
            )
            large |= not small
            for method in METHODS if small else METHODS[:1]:
                certificate = certify(
                    table,
                    tolerance,
                    on=on,
                    confidence_level=level,
                    method=method,
                    n_rates=None if method == "dkw" else 201,
                    random_state=settings.random_state,
                )
                certificates.append(certificate)
        omitted: tuple[str, ...] = ()
        if audit.groups.reference_name is not None:
            omitted = (
                "Certificates of ROC gaps are about all pairs of the groups that are compared, "
                "whatever the reference group.",
            )
        if scores.n_groups > BOOTSTRAPPED:
            omitted = (
                *omitted,
                "Certificates are made by the DKW inequality alone: with more than "
                f"{BOOTSTRAPPED} groups the tighter ones of the bootstrap are left out.",
            )
        elif large:
            omitted = (
                *omitted,
                "Certificates of ROC gaps are made by the DKW inequality alone: with cells worth "
                f"{LARGE_CELL:,} observations or more the tighter ones of the bootstrap are left "
                "out.",
            )
        return cls(tuple(certificates), omitted)


def _refused(on: ClassName, tolerance: float, level: float, reason: str) -> Certificate:
    words = f"Not certified: {reason}."
    nan = float("nan")
    return Certificate(
        on, tolerance, level, "dkw", False, nan, nan, (), nan, 0, words, lacking="data"
    )


def _filled(scores: GroupedScores, on: ClassName) -> GroupedScores:
    """The table with somebody in every cell, for a question about the class `on` alone.

    Empty cells of the other class do not matter to it: they are filled out of sight.
    """
    other = 1 - CLASSES.index(on)
    empty = np.flatnonzero(scores.cell_weights[other] == 0)
    if not len(empty):
        return scores
    positive = np.full(len(empty), bool(other))
    added = GroupedScores.from_codes(np.zeros(len(empty)), positive, empty, scores.groups)
    members = scores.clusters
    if members is None:
        return scores.merge(added)
    # Whoever is added is a cluster of their own.
    own = np.divmod(scores.cell[members.row].astype(np.intp), scores.n_groups)
    joined = [
        np.concatenate(pair)
        for pair in (
            (scores.score[members.row], added.score),
            (own[0] == 1, positive),
            (own[1], empty),
            (members.weight, np.ones(len(empty))),
            (members.cluster, members.n + np.arange(len(empty))),
        )
    ]
    score, positive, codes, weight, cluster = joined
    return GroupedScores.from_codes(
        score, positive, codes, scores.groups, weight=weight, cluster=cluster
    )
