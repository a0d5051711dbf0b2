"""What an audit is asked, checked before any work is done."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenscore.auditing.declared import Declared
from evenscore.auditing.gaps import cuts_of, families_of
from evenscore.auditing.parts import Settings
from evenscore.gaps import ConstraintLike, Cuts, GapFamily
from evenscore.gaps.cuts import check_cuts
from evenscore.gaps.words import DEFAULT_WORDS, Words
from evenscore.inference.estimate import check_between, check_count, check_level


@dataclass(frozen=True, eq=False)
class AuditRequest:
    """What an audit was asked, checked before any work is done."""

    settings: Settings
    families: list[GapFamily]
    cuts: Cuts
    title: str
    outcomes_known: bool
    declared: Declared
    reference_group: Any = None
    min_group_size: int | None = None

    def comparing(self, reference_group: Any, min_group_size: int | None) -> "AuditRequest":
        """The same about the groups that are compared."""
        if min_group_size is not None:
            check_count(min_group_size, "min_group_size", 1)
        return replace(self, reference_group=reference_group, min_group_size=min_group_size)

    def named(self, label: str | None, positive: Any, negative: Any) -> "AuditRequest":
        """The same, where classes without words are called after the column of labels."""
        words = self.settings.words.filled(label, positive, negative)
        return replace(self, settings=replace(self.settings, words=words))

    @classmethod
    def of(
        cls,
        cuts: Cuts | None,
        constraints: ConstraintLike | None,
        words: Words | None,
        tolerance: float | None,
        confidence_level: float,
        random_state: int,
        title: str | None,
        trained_on: bool | None,
        declared: Mapping[str, Any] | Declared | None,
        *,
        outcomes_known: bool,
    ) -> "AuditRequest":
        """Refuse in one sentence what cannot be asked; what was declared fills in what was not."""
        from evenscore import __version__

        words = DEFAULT_WORDS if words is None else words
        if not isinstance(words, Words):
            raise TypeError(f"words must be a Words, not {type(words).__name__}.")
        if trained_on is not None and not isinstance(trained_on, bool | np.bool_):
            raise ValueError(f"trained_on must be True, False or None, not {trained_on!r}.")
        facts = Declared.of(declared)
        words, tolerance, trained_on = facts.settle(words, tolerance, trained_on)
        if cuts is not None:
            check_cuts(cuts)
        families = families_of(constraints, cuts, outcomes_known=outcomes_known)
        in_use = cuts_of(cuts, families, outcomes_known=outcomes_known)
        settings = Settings(
            check_between(tolerance, "tolerance", 0.5),
            check_level(confidence_level),
            check_count(random_state, "random_state", 0),
            __version__,
            words,
            trained_on=None if trained_on is None else bool(trained_on),
            cuts=in_use,
        )
        if settings.confidence_level < 0.5:
            raise ValueError(
                "confidence_level of an audit must be at least 0.5: verdicts are to be right more "
                f"often than not, and it is {settings.confidence_level:g}."
            )
        if title is not None and not isinstance(title, str):
            raise ValueError(f"title must be text, not {title!r}.")
        return cls(settings, families, in_use, title or "", outcomes_known, facts)
