"""Which numbers of a page's tables are not those of another: yours and the shipped ones.

Seeds and parameters are the same, so that numbers agree to rounding: those printed with three
digits differ by no more than one in the last. Another processor adds in another order, and a
network's training makes more of it: a number that moved by no more than twice what seeds or splits
move it, its printed deviation, is told apart.
"""

import re
from typing import NamedTuple

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_CELLS = re.compile(r"(?<!\\)\|")
_TITLE = re.compile(r"^#+ (.+)$", re.MULTILINE)


class Difference(NamedTuple):
    """A cell that is another, and whether its numbers moved by more than their deviation."""

    where: str
    there: str
    here: str
    beyond: bool

    def __str__(self) -> str:
        moved = "" if self.beyond else " (no further than its deviation)"
        return f"{self.where}: {self.there} there, {self.here} here{moved}"


def differences(shipped: str, found: str) -> tuple[int, list[Difference]]:
    """How many cells of the page found the shipped one has too, and which of them differ."""
    known, compared, differing = _tables(shipped), 0, []
    for labels, cells in _tables(found).items():
        if labels not in known:
            differing.append(Difference(", ".join(labels), "nothing", "a row", True))
            continue
        for column, here in cells.items():
            there = known[labels].get(column, "nothing")
            compared += 1
            if (beyond := _moved(there, here)) is not None:
                where = ", ".join((*labels, column))
                differing.append(Difference(where, there, here, beyond))
    return compared, sorted(differing, key=lambda one: not one.beyond)


def _tables(page: str) -> dict[tuple[str, ...], dict[str, str]]:
    """By the title of a table and the labels of a row: the other cells by their columns."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    title, columns, labels = "", list[str](), 0
    for line in page.splitlines():
        if head := _TITLE.match(line):
            title, columns = head[1], []
        elif line.startswith("|"):
            cells = [cell.strip().strip("*") for cell in _CELLS.split(line)[1:-1]]
            if not columns:
                columns = cells
            elif line.startswith("|---"):
                labels = cells.count("---")
            else:
                row = dict(zip(columns[labels:], cells[labels:], strict=True))
                rows[title, *cells[:labels]] = row
    return rows


def _moved(there: str, here: str) -> bool | None:
    """None where cells agree; otherwise whether a number moved beyond its deviation."""
    if there == here:
        return None
    if _NUMBER.sub("", there) != _NUMBER.sub("", here):
        return True  # another kind of cell
    pairs = list(zip(_NUMBER.findall(there), _NUMBER.findall(here), strict=True))
    off = [abs(_value(one) - _value(two)) > _unit(one, two) for one, two in pairs]
    if not any(off):
        return None
    if "±" not in there:
        return True
    (value, deviation), (other, its) = (
        tuple(map(_value, some)) for some in zip(*pairs[:2], strict=True)
    )
    return abs(value - other) > 2.0 * max(deviation, its) or any(off[2:])


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _unit(*numbers: str) -> float:
    """One in the last digit; nothing, of whole numbers."""
    digits = max(len(number.partition(".")[2]) for number in numbers)
    return 1.001 * 10.0**-digits if digits else 0.0
