"""The paper's tables: numbers found beside published ones, as Markdown and as CSV."""

import csv
import io
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.special import ndtr, ndtri

from evenscore.gaps import AucConstraint
from evenscore.gaps.catalogue import CATALOGUE
from evenscore.paper.laws import RingsLaw, SquareLaw
from evenscore.scores.arrays import Floats
from reproduction import published
from reproduction.parts import Outcome
from reproduction.published import MEASURES, DataName, Example, Kind
from reproduction.real import DATA, SCORERS, Outcomes, Selection, load, published_split
from reproduction.synthetic import RATE, Experiment, Runs

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


Cell = Number | str


@lru_cache(maxsize=1)
def _captions() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("captions.toml").read_text("utf-8"))


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
        ### Results
        <BLANKLINE>
        | data | AUC |
        |---|---:|
        | Adult | 0.907 ± 0.001 (0.91) |
        <BLANKLINE>
        """
        rule = ["---"] * self.labels + ["---:"] * (len(self.columns) - self.labels)
        lines = [f"### {self.title}", "", _line(self.columns), f"|{'|'.join(rule)}|"]
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


Rows = list[tuple[Cell, ...]]

KINDS: dict[Kind, str] = {"none": "none", "auc": "AUC-based", "roc": "ROC-based"}
EXAMPLES: dict[Example, str] = {"square": "Example 1", "rings": "Example 2"}
_STRENGTHS: dict[Kind, str] = {
    "none": "λ = 0",
    "auc": "AUC-based, λ = 1",
    "roc": "ROC-based, λ_H = 1",
}
_MEAN_NOISE = 0.002  # of a published mean: 100 runs, whose deviations are all said to be below 0.02
_KNOWN_ROWS = ("adult",)  # whose test rows are certainly those of the paper


def _numbers(
    values: Floats, printed: Sequence[float | None], *, runs: int = 1, more: Floats | float = 0.0
) -> list[Number]:
    """Sizes of the means over the first axis, beside published means of so many runs.

    Noise is that of the two means; `more` is variance that the runs do not show.
    """
    n = len(values)
    deviation = np.std(values, axis=0, ddof=1) if n > 1 else np.full(values.shape[1], np.nan)
    noise = np.sqrt(np.nan_to_num(deviation) ** 2 * (1 / n + 1 / runs) + more)
    columns = np.abs(np.mean(values, axis=0)), deviation, printed, noise
    return [Number(float(m), float(d), p, float(e)) for m, d, p, e in zip(*columns, strict=True)]


def _printed(name: DataName, kind: Kind) -> Sequence[float | None]:
    return published.REAL.get((name, kind), (None,) * len(MEASURES))


# ---------------------------------------------------------------------- without training


def gamma(p0: float = 0.11, p1: float = 0.31, q1: float = 0.67) -> Table:
    """Γ of every notion of the catalogue that the paper has, at given proportions.

    The defaults are near those of Adult.
    """
    cells = np.array([[(1 - q1) * (1 - p0), q1 * (1 - p1)], [(1 - q1) * p0, q1 * p1]])
    rows: Rows = []
    for name in CATALOGUE:
        ours = AucConstraint.named(name).gap_weights(cells)
        known = name in published.GAMMA
        printed = published.gamma(name, p0, p1, q1) if known else (None,) * 5
        scaled = ours / ours.sum() if known else ours
        numbers = [Number(float(v), published=one) for v, one in zip(scaled, printed, strict=True)]
        scale = Number(float(ours.sum()) if known else np.nan, digits=2)
        formulas = ", ".join(published.GAMMA.get(name, ("not printed",)))
        rows.append((name, formulas, *numbers, scale))
    return Table.captioned("gamma", rows, p0=p0, p1=p1, q1=q1)


def dimensions(names: Sequence[DataName]) -> Table:
    """Rows and features of every data set."""
    rows: Rows = []
    for name in names:
        data = load(name)
        train, test = published_split(data)
        printed = published.DIMENSIONS.get(name, ("", "", ""))
        counts = (len(train), len(test), data.X.shape[1])
        texts = (f"{n:,}" + (f" ({p})" if p else "") for n, p in zip(counts, printed, strict=True))
        rows.append((DATA[name].title, *texts))
    return Table.captioned("dimensions", rows)


def laws() -> Table:
    """What the optimal scores of the examples have in closed form, beside the published means."""
    rows: Rows = []
    optimal: tuple[tuple[Example, Kind, str, SquareLaw | RingsLaw], ...] = (
        ("square", "none", "largest AUC", SquareLaw.best()),
        ("square", "auc", "fair: c = 1/2", SquareLaw(0.5)),
        ("rings", "auc", "largest AUC, uniform radii", RingsLaw.best(uniform="radius")),
        ("rings", "roc", "fair at 3/4, uniform radii", RingsLaw.roc_fair(uniform="radius")),
        ("rings", "auc", "largest AUC, uniform in area", RingsLaw.best()),
        ("rings", "roc", "fair at 3/4, uniform in area", RingsLaw.roc_fair()),
    )
    for example, kind, description, law in optimal:
        gaps = law.intra_group_gap(), float(law.roc_gap("negatives", RATE))
        both = zip((law.auc(), *map(abs, gaps)), published.SYNTHETIC[example, kind], strict=True)
        numbers = [Number(value, published=one, noise=_MEAN_NOISE) for value, one in both]
        rows.append((EXAMPLES[example], description, f"{law.c:.3f}", *numbers))
    return Table.captioned("laws", rows)


def thresholds(updates: int = 400) -> Table:
    """Where Algorithm 2 moves its thresholds, by what it compares with the rate."""
    rows: Rows = []
    for step in (0.01, 0.001):
        for of in ("rate above", "share below"):
            reached = [threshold_after(updates, step, rate, of=of) for rate in published.RATES]
            rows.append((f"Δt = {step:g}", of, *(Number(t, digits=2) for t in reached)))
    wanted = [Number(float(ndtri(1.0 - rate)), digits=2) for rate in published.RATES]
    rows.append(("the quantile", "", *wanted))
    return Table.captioned("thresholds", rows, updates=updates)


def threshold_after(
    updates: int, step: float, rate: float, *, of: Literal["rate above", "share below"]
) -> float:
    """Where Algorithm 2 moves a threshold on a standard normal score, alike in both groups.

    From t = 0, every update adds step · sgn(Σ), with Σ = 2 (F(t) − rate). F is what the rule needs,
    the rate above t, or what the paper prints, the share below it.

    >>> round(threshold_after(400, 0.01, 1 / 8, of="rate above"), 2)  # the quantile is 1.150
    1.16
    >>> round(threshold_after(400, 0.001, 1 / 8, of="rate above"), 2)
    0.4
    >>> round(threshold_after(400, 0.01, 1 / 8, of="share below"), 2)
    4.0
    """
    threshold = 0.0
    for _ in range(updates):
        share = float(ndtr(-threshold if of == "rate above" else threshold))
        threshold += step if share > rate else -step
    return threshold


# ---------------------------------------------------------------------- synthetic data


def synthetic(runs: Mapping[Experiment, Runs], name: str = "synthetic") -> Table:
    """Means over the runs, beside the published ones; also for Example 2 as printed, `area`."""
    rows: Rows = []
    for (example, kind), printed in published.SYNTHETIC.items():
        experiment = Experiment(example, "auc" if kind == "none" else kind)
        if experiment in runs:
            own, strength = runs[experiment], int(kind != "none")
            values = np.stack([own.auc, own.auc_gap, own.roc_gap], axis=-1)[:, strength]
            numbers = _numbers(values, printed, runs=100)
            rows.append((EXAMPLES[example], _STRENGTHS[kind], *numbers))
    return Table.captioned(name, rows, n=len(next(iter(runs.values())).auc))


# ---------------------------------------------------------------------- real data


def results(outcomes: Outcomes) -> Table:
    """The table of results at the published parameters, beside the published numbers."""
    rows: Rows = [
        (DATA[name].title, KINDS[kind], *_against(name, kind, outcome))
        for (name, kind), outcome in outcomes.items()
    ]
    return Table.captioned("results", rows, seeds=len(next(iter(outcomes.values()))["measures"]))


def _against(name: DataName, kind: Kind, outcome: Outcome) -> list[Number]:
    """Measures (fits, 2, 6) beside one published fit.

    Two independent test sets have a standard error each; with the same rows there is none.
    """
    values, errors = outcome["measures"][:, 0], outcome["measures"][:, 1]
    of_rows = 0.0 if name in _KNOWN_ROWS else 2.0 * np.mean(errors, axis=0) ** 2
    return _numbers(values, _printed(name, kind), more=of_rows)


def parameters(selections: Mapping[tuple[DataName, Kind], Selection]) -> Table:
    """The λ and λ_reg that the validation rows choose, beside the published ones."""
    rows: Rows = []
    for (name, kind), selection in selections.items():
        data, free, chosen = DATA[name], selection.strengths.index(0.0), selection.chosen
        rows.append(
            (
                data.title,
                KINDS[kind],
                f"{selection.strengths[chosen]:g} ({data.strength(kind):g})",
                *(f"{selection.l2[k]:g} ({data.l2:g})" for k in (chosen, free)),
                Number(float(selection.validation_auc[chosen])),
                Number(float(selection.worst_gap[chosen])),
            )
        )
    return Table.captioned("parameters", rows)


def grid(selections: Mapping[tuple[DataName, Kind], Selection]) -> Table:
    """For every λ the fit that the validation rows choose, judged on the test rows."""
    rows: Rows = []
    for (name, kind), selection in selections.items():
        for k, strength in enumerate(selection.strengths):
            numbers = [Number(abs(v), e) for v, e in zip(*selection.measures[k], strict=True)]
            chosen = f"{strength:g}", f"{selection.l2[k]:g}"  # λ and its λ_reg
            rows.append((DATA[name].title, KINDS[kind], *chosen, *numbers))
    return Table.captioned("grid", rows)


def splits(scorer: str, outcomes: Mapping[DataName, Sequence[Outcome]]) -> Table:
    """Means and deviations over splits of one scorer; the published numbers beside the paper's."""
    rows: Rows = []
    for name, by_split in outcomes.items():
        sizes = np.abs([outcome["measures"][:, 0] for outcome in by_split])
        for k, (kind, description) in enumerate(KINDS.items()):
            if np.isnan(sizes[:, k]).all():
                continue  # the scorer cannot be asked for it
            numbers = _numbers(sizes[:, k], _printed(name, kind))
            rows.append((DATA[name].title, description, *numbers))
    bold = "; bold where they differ by more than splits do."
    if scorer != "paper":
        bold = (
            " of the paper's networks; bold where the difference, for better or worse, is more "
            "than splits make."
        )
    n = len(next(iter(outcomes.values())))
    return Table.captioned(
        "splits", rows, name=f"splits_{scorer}", n=n, scorer=SCORERS[scorer], bold=bold
    )


def readings(outcomes: Mapping[tuple[DataName, str], Outcome], usual: Outcomes) -> Table:
    """ROC rows by other readings of the paper, beside the published numbers."""
    rows: Rows = []
    for name in dict.fromkeys(data for data, _ in outcomes):
        both = {"ours: Δt = 0.01, terms summed, both classes": usual[name, "roc"]}
        both |= {reading: outcome for (data, reading), outcome in outcomes.items() if data == name}
        for reading, outcome in both.items():
            rows.append((DATA[name].title, reading, *_against(name, "roc", outcome)))
    return Table.captioned("readings", rows)
