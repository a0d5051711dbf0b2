"""A table of numbers beside published ones, as Markdown, CSV and for the page."""

import csv
import io
import math
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, Self

from evenscore.paper.published import MEASURES

Verdict = Literal["within noise", "beyond noise", ""]

_ROUNDING = 0.005  # published numbers have two decimals


@dataclass(frozen=True)
class Number:
    """A number found, how much it varies, and the published one.

    `deviation` is the standard deviation over runs, seeds or splits; `noise` that of the difference
    between this number and the published one, by all that is known to be random.
    """

    value: float
    deviation: float = math.nan
    published: float | None = None
    noise: float = 0.0
    digits: int = 3

    @property
    def difference(self) -> float:
        """Found less published; NaN if nothing is published."""
        return math.nan if self.published is None else self.value - self.published

    @property
    def verdict(self) -> Verdict:
        """Whether the difference is more than rounding and twice the noise."""
        if self.published is None or math.isnan(self.difference):
            return ""
        beyond = abs(self.difference) > _ROUNDING + 2.0 * self.noise
        return "beyond noise" if beyond else "within noise"

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "–"
        text = f"{self.value:.{self.digits}f}"
        if not math.isnan(self.deviation):
            text += f" ± {self.deviation:.{self.digits}f}"
        return text

    @property
    def comparison(self) -> str:
        """The published number and the difference, or nothing."""
        if self.published is None:
            return ""
        return f"published {self.published:.2f}, {self.difference:+.{self.digits}f}"


Cell = Number | str


@lru_cache(maxsize=1)
def _captions() -> dict[str, Any]:
    return tomllib.loads(files("evenscore.paper").joinpath("captions.toml").read_text("utf-8"))


class Picture(NamedTuple):
    """A figure on the page, by its name."""

    name: str
    section: str
    title: str
    note: str

    @classmethod
    def captioned(cls, caption: str, name: str = "", **facts: Any) -> Self:
        """With the texts of `captions.toml`, in which the facts are filled in."""
        texts = _captions()[caption]
        title, note = (texts.get(part, "").format(**facts) for part in ("title", "note"))
        return cls(name or caption, texts["section"], title, note)


@dataclass(frozen=True)
class Table:
    """Columns and rows under a title; the first `labels` columns say what a row is about."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    labels: int = 1
    note: str = ""
    section: str = ""

    @classmethod
    def captioned(
        cls, caption: str, rows: Sequence[tuple[Cell, ...]], name: str = "", **facts: Any
    ) -> Self:
        """With the texts of `captions.toml`, in which the facts are filled in."""
        texts = _captions()[caption]
        name, section, title, note = Picture.captioned(caption, name, **facts)
        columns = (*texts["labels"], *texts.get("measures", MEASURES))
        return cls(name, title, columns, tuple(rows), len(texts["labels"]), note, section)

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"A row of {self.name} has {len(row)} cells, not {len(self.columns)}."
                )

    @property
    def numbers(self) -> list[Number]:
        """All numbers of the table."""
        return [cell for row in self.rows for cell in row if isinstance(cell, Number)]

    def to_markdown(self) -> str:
        """A table for people: found ± deviation, and the published number in brackets.

        >>> rows = (("Adult", Number(0.907, 0.001, published=0.91)),)
        >>> print(Table("results", "Results", ("data", "AUC"), rows).to_markdown())
        ## Results
        <BLANKLINE>
        | data | AUC |
        |---|---:|
        | Adult | 0.907 ± 0.001 (0.91) |
        <BLANKLINE>
        """
        rule = ["---"] * self.labels + ["---:"] * (len(self.columns) - self.labels)
        lines = [f"## {self.title}", "", _line(self.columns), f"|{'|'.join(rule)}|"]
        lines += [_line(map(_text, row)) for row in self.rows]
        lines += ["", self.note, ""] if self.note else [""]
        return "\n".join(lines)

    def to_csv(self) -> str:
        """One line a number, with nothing rounded; a cell of text has only that text.

        >>> rows = (("Adult", Number(0.907, 0.001, published=0.91)),)
        >>> print(Table("results", "Results", ("data", "AUC"), rows).to_csv())
        data,measure,value,deviation,published,difference,noise,verdict
        Adult,AUC,0.907,0.001,0.91,-0.0030000000000000027,0.0,within noise
        <BLANKLINE>
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        facts = ("value", "deviation", "published", "difference", "noise", "verdict")
        writer.writerow([*self.columns[: self.labels], "measure", *facts])
        for row in self.rows:
            labels = [str(cell) for cell in row[: self.labels]]
            for column, cell in zip(self.columns[self.labels :], row[self.labels :], strict=True):
                writer.writerow([*labels, column, *_facts(cell)])
        return out.getvalue()


def _facts(cell: Cell) -> list[object]:
    if isinstance(cell, str):
        return [cell, "", "", "", "", ""]
    known = (cell.value, cell.deviation, cell.published, cell.difference)
    noise = cell.noise if cell.published is not None else math.nan
    numbers = ["" if x is None or math.isnan(x) else repr(float(x)) for x in (*known, noise)]
    return [*numbers, cell.verdict]


def _text(cell: Cell) -> str:
    if isinstance(cell, str) or cell.published is None:
        return str(cell)
    text = f"{cell} ({cell.published:.2f})"
    return f"**{text}**" if cell.verdict == "beyond noise" else text


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
