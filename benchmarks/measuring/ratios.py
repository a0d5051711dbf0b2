"""A ratio of CPU times, and how a benchmark hands it over to whoever runs it.

A script calls `record` for each of its ratios. If the environment variable `EVENSCORE_RATIOS` names
a file, the ratio is added to it as a line of JSON; `run_all.py` sets it and reads the file.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any

VARIABLE = "EVENSCORE_RATIOS"


@dataclass(frozen=True)
class Ratio:
    """What something costs in units of something else, measured by turns: larger is slower.

    Parameters
    ----------
    script : str
        The benchmark that measured it.
    name : str
        What was measured, and at which size.
    against : str
        What it is compared with.
    values : tuple of float
        The ratio in each repeat.
    seconds, against_seconds : float
        The median of the seconds of both, which depend on the machine: for information.
    """

    script: str
    name: str
    against: str
    values: tuple[float, ...]
    seconds: float
    against_seconds: float

    def __post_init__(self) -> None:
        for field in ("script", "name", "against"):
            if not isinstance(getattr(self, field), str):
                raise ValueError(f"the {field} of a ratio is not a text")
        values = tuple(self.values)
        numbers = (*values, self.seconds, self.against_seconds)
        if not values or not all(_is_positive(number) for number in numbers):
            raise ValueError(f"{self.key!r} has no numbers, or one that is not above zero")
        object.__setattr__(self, "values", values)

    @property
    def key(self) -> str:
        """What is the same ratio in another run."""
        return f"{self.script}: {self.name} / {self.against}"

    @property
    def value(self) -> float:
        """The median of the repeats."""
        return median(self.values)

    @property
    def low(self) -> float:
        """The least of the repeats."""
        return min(self.values)

    @property
    def high(self) -> float:
        """The largest of the repeats."""
        return max(self.values)


def _is_positive(number: object) -> bool:
    return (
        isinstance(number, int | float)
        and not isinstance(number, bool)
        and isfinite(number)
        and number > 0
    )


def record(name: str, against: str, ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """The ratio of two lists of seconds, taken by turns; written down if somebody wants it."""
    made = Ratio(
        script=Path(sys.argv[0]).stem,
        name=name,
        against=against,
        values=tuple(own / other for own, other in zip(ours, theirs, strict=True)),
        seconds=median(ours),
        against_seconds=median(theirs),
    )
    if path := os.environ.get(VARIABLE):
        with Path(path).open("a", encoding="utf-8") as file:
            print(json.dumps(asdict(made)), file=file)
    return made


def from_plain(entries: Iterable[Mapping[str, Any]]) -> tuple[Ratio, ...]:
    """Ratios as they were read from JSON; refuses two of the same name."""
    found: dict[str, Ratio] = {}
    for entry in entries:
        ratio = Ratio(**entry)
        if ratio.key in found:
            raise ValueError(f"{ratio.key!r} is there twice")
        found[ratio.key] = ratio
    return tuple(found.values())


def recorded(path: Path) -> tuple[Ratio, ...]:
    """What scripts have written down in a file."""
    if not path.exists():
        return ()
    return from_plain(map(json.loads, path.read_text(encoding="utf-8").splitlines()))
