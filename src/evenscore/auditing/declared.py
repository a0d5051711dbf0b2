"""Declared facts: what only a person can say about an audit, and no computation confirms.

They are given as a mapping, or as a TOML file:

    purpose = "Decide who is granted a consumer loan"
    responsible = "Credit risk department"
    tolerance = 0.03
    tolerance_reason = "Agreed with the regulator in 2025"
    outcomes_of_selected_only = true
    positives = "people who repaid"
    selected_is = "good"

    [other]
    "model card" = "cards/2026-03.pdf"

Some are settings too: what is declared is used where nothing else was given, and where both were
given they must agree. Everything else is kept, and shown as declared.
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date, time
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from evenscore.files.ordinary import read_whole
from evenscore.gaps.words import DEFAULT_WORDS, SelectedIs, Words

DEFAULT_TOLERANCE = 0.05
"""The largest gap that counts as even, unless somebody says otherwise."""

_KINDS: dict[str, tuple[type, ...]] = {  # of facts that are not texts
    "tolerance": (float, int),
    "trained_on": (bool,),
    "outcomes_of_selected_only": (bool,),
}
_TEXTS = {str: "a text that is not empty", float: "a finite number", bool: "true or false"}

Value = TypeVar("Value")


@dataclass(frozen=True)
class Declared:
    """Facts that somebody declared about an audit; None where nothing was said.

    Parameters
    ----------
    purpose, decision : str, optional
        What the score is used for; what is decided by it, by whom, and what that means for people.
    responsible : str, optional
        Who answers for it.
    population, period : str, optional
        Whom the rows stand for, and when they were collected.
    data, model : str, optional
        Where the rows come from; which score it is, and who made it.
    tolerance, tolerance_reason : float and str, optional
        The largest gap that counts as even, and why it is that.
    trained_on : bool, optional
        Whether the score was trained on these rows.
    outcomes_of_selected_only : bool, optional
        Whether outcomes are known only for people who were selected in the past.
    people, positives, negatives, selected, selected_is, refused : str, optional
        The words of `Words`.
    groups : mapping, optional
        What to call the groups, as in `Words`.
    other : mapping, optional
        Any other facts by name: texts, numbers, true or false.

    Examples
    --------
    >>> Declared.of({"purpose": "consumer loans", "tolerance": 0.03}).facts
    {'purpose': 'consumer loans', 'tolerance': 0.03}
    >>> Declared.of({"purpos": "consumer loans"})
    Traceback (most recent call last):
    ...
    ValueError: declared has no fact 'purpos' (did you mean 'purpose'?); free ones go under 'other'.
    """

    purpose: str | None = None
    decision: str | None = None
    responsible: str | None = None
    population: str | None = None
    period: str | None = None
    data: str | None = None
    model: str | None = None
    tolerance: float | None = None
    tolerance_reason: str | None = None
    trained_on: bool | None = None
    outcomes_of_selected_only: bool | None = None
    people: str | None = None
    positives: str | None = None
    negatives: str | None = None
    selected: str | None = None
    selected_is: SelectedIs | None = None
    refused: str | None = None
    groups: Mapping[str, Any] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.other, Mapping):
            raise ValueError(f"declared 'other' must hold facts by name, not {self.other!r}.")
        if not isinstance(self.groups, Mapping):
            raise ValueError(f"declared 'groups' must name groups, not {self.groups!r}.")
        for label, called in self.groups.items():
            _check(f"groups: {label}", called, (str,))
        for name, value in self._named.items():
            _check(name, value, _KINDS.get(name, (str,)))
        for name, value in self.other.items():
            if name in self._names():
                raise ValueError(
                    f"declared {name!r} has a meaning of its own: declare it outside 'other'."
                )
            _check(name, value, (str, bool, int, float))
        if self.selected_is not in (None, *get_args(SelectedIs)):
            raise ValueError(
                f"declared 'selected_is' must be 'good' or 'bad' (for a person), not "
                f"{self.selected_is!r}."
            )

    @classmethod
    def of(cls, facts: "Mapping[str, Any] | Declared | None") -> "Declared":
        """The facts of a mapping; what is not known or of another type is refused by its name."""
        if isinstance(facts, Declared):
            return facts
        if facts is not None and not isinstance(facts, Mapping):
            kind = type(facts).__name__
            raise TypeError(f"declared must be a mapping of facts by name, not {kind}.")
        known = cls._names()
        for name, value in (facts or {}).items():
            if name not in known:
                near = get_close_matches(str(name), known, n=1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise ValueError(
                    f"declared has no fact {name!r}{hint}; free ones go under 'other'."
                )
            if value is None:
                raise ValueError(f"declared {name!r} is None: leave it out.")
        return cls(**(facts or {}))

    @classmethod
    def from_toml(cls, path: Path) -> "Declared":
        """The facts of a TOML file; one sentence that names the file if they cannot be read."""
        content = read_whole(path)
        try:
            return cls.of(tomllib.loads(content.decode("utf-8-sig")))
        except UnicodeDecodeError:
            raise ValueError(f"{path.name} is not UTF-8 text: save it as UTF-8.") from None
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path.name} is not TOML: {error}.") from None
        except ValueError as error:
            raise ValueError(f"{path.name}: {error}") from None

    @classmethod
    def _names(cls) -> list[str]:
        return [one.name for one in fields(cls)]

    @property
    def _named(self) -> dict[str, Any]:
        free = ("other", "groups")
        facts = {name: getattr(self, name) for name in self._names() if name not in free}
        return {name: fact for name, fact in facts.items() if fact is not None}

    @property
    def facts(self) -> dict[str, Any]:
        """What was declared, by name; the free facts last."""
        groups = {f"group {label}": called for label, called in self.groups.items()}
        return {**self._named, **groups, **self.other}

    def settle(
        self, words: Words, tolerance: float | None, trained_on: bool | None
    ) -> tuple[Words, float, bool | None]:
        """The settings that hold, declared or given; two that differ are refused.

        A word that is the default one counts as not given.
        """
        for one in fields(words):
            default, given = getattr(DEFAULT_WORDS, one.name), getattr(words, one.name)
            declared = getattr(self, one.name)
            if one.name == "groups":
                declared = Words(groups=declared).groups or None
            value = _agreed(one.name, None if given == default else given, declared)
            words = words if value is None else replace(words, **{one.name: value})
        tolerance = _agreed("tolerance", tolerance, self.tolerance)
        trained_on = _agreed("trained_on", trained_on, self.trained_on)
        return words, DEFAULT_TOLERANCE if tolerance is None else tolerance, trained_on

    def warnings(self, *, outcomes_known: bool) -> tuple[str, ...]:
        """What the audit cannot say, given what was declared."""
        if not self.outcomes_of_selected_only or not outcomes_known:
            return ()
        return (
            "It was declared that outcomes are known only for people who were selected in the "
            "past: error rates, AUCs and calibration are about such people alone, and the audit "
            "cannot say how people who were turned down would have fared, nor whether the score "
            "is fair to them.",
        )


def _check(name: Any, value: Any, kinds: tuple[type, ...]) -> None:
    """Refuse a fact that is none of some kinds, empty or not finite."""
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"declared facts have names that are texts, not {name!r}.")
    fits = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
    if fits and isinstance(value, str):
        fits = bool(value.strip())
    elif fits:
        fits = math.isfinite(value)
    if not fits:
        wanted = [text for kind, text in _TEXTS.items() if kind in kinds]
        raise ValueError(f"declared {name!r} must be {' or '.join(wanted)}, not {_shown(value)}.")


def _shown(value: Any) -> str:
    if isinstance(value, date | time):
        return f"a date: put it in quotes, {str(value)!r}"
    return repr(value)


def _agreed(name: str, given: Value | None, declared: Value | None) -> Value | None:
    """The one that is there; if both are, they must be equal."""
    if given is not None and declared is not None and given != declared:
        raise ValueError(
            f"{name} is given as {given!r} and declared as {declared!r}: leave one of them out."
        )
    return declared if given is None else given
