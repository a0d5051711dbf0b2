"""Where two stored audits differ: every number, text and verdict, by its place in the JSON."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

CLOSE = 1e-9
"""Numbers as near as this, relative to their size, are close; so are those that small both."""

Place = tuple[str | int, ...]


class _Nothing:
    """What is at a place that only one of the two has."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING = _Nothing()


class Value(NamedTuple):
    """What two audits have at one place."""

    place: Place
    stored: Any
    again: Any

    @property
    def equal(self) -> bool:
        """Whether they are equal; 1 and 1.0 are, NaN is equal to nothing."""
        if self._numbers:
            return bool(self.stored == self.again)
        return type(self.stored) is type(self.again) and bool(self.stored == self.again)

    @property
    def close(self) -> bool:
        """Whether they are equal, or numbers that differ in the last digits only."""
        if self.equal or not self._numbers:
            return self.equal
        try:
            return math.isclose(self.stored, self.again, rel_tol=CLOSE, abs_tol=CLOSE**2)
        except OverflowError:  # an integer that no double holds
            return False

    @property
    def _numbers(self) -> bool:
        both = (self.stored, self.again)
        return all(isinstance(x, int | float) and not isinstance(x, bool) for x in both)

    @property
    def texts(self) -> tuple[str, str]:
        """Both in one line each, shortened."""
        one, other = (x if isinstance(x, str) else repr(x) for x in (self.stored, self.again))
        return _short(one), _short(other)


def values(stored: Any, again: Any, place: Place = ()) -> Iterator[Value]:
    """Everything that is in one audit or the other, as plain data.

    >>> [value.texts for value in values({"a": [1, 2]}, {"a": [1, 3], "b": 0}) if not value.equal]
    [('2', '3'), ('nothing', '0')]
    """
    if isinstance(stored, Mapping) and isinstance(again, Mapping):
        for key in {**stored, **again}:
            yield from values(stored.get(key, NOTHING), again.get(key, NOTHING), (*place, key))
    elif isinstance(stored, list) and isinstance(again, list):
        for k in range(max(len(stored), len(again))):
            one, other = (part[k] if k < len(part) else NOTHING for part in (stored, again))
            yield from values(one, other, (*place, k))
    else:
        yield Value(place, stored, again)


def in_words(place: Place, *audits: Any) -> str:
    """A place in words, with the names of what is there in the first audit that has it.

    >>> in_words(("gaps", 1, "low"), {"gaps": [{}, {"name": "bnsp", "first": "f", "second": "m"}]})
    'gaps, number 2 (bnsp, f and m), low'
    """
    parts = []
    for k, step in enumerate(place):
        if isinstance(step, str):
            parts.append(step.replace("_", " "))
            continue
        known = (_name(_at(audit, place[: k + 1])) for audit in audits)
        name = next(filter(None, known), "")
        parts.append(f"number {step + 1}" + (f" ({name})" if name else ""))
    return ", ".join(parts)


def _at(audit: Any, place: Sequence[str | int]) -> Any:
    """What is at a place, or nothing."""
    for step in place:
        try:
            audit = audit[step]
        except (KeyError, IndexError, TypeError):
            return None
    return audit


def _name(item: Any) -> str:
    """What an item of a list calls itself."""
    if not isinstance(item, Mapping):
        return ""
    own = next((item[key] for key in ("name", "title", "label", "on", "rate") if key in item), "")
    names = [str(own), str(item.get("at") or "")]
    if item.get("first") and item.get("second"):
        names.append(f"{item['first']} and {item['second']}")
    return _short(", ".join(filter(None, names)), 120)


def _short(text: str, most: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
