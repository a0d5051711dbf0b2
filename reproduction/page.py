"""From finished parts to tables, figures and one page that shows them beside the published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenscore import __version__
from evenscore.files.atomic import write_atomically
from evenscore.showing.plots.saving import save
from reproduction import figures, tables
from reproduction.parts import Outcome, Part, Store
from reproduction.plan import EXPERIMENTS, Plan, Scale, Target
from reproduction.published import DataName, Kind
from reproduction.real import Selection
from reproduction.synthetic import Experiment, Runs
from reproduction.tables import Picture, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The paper's number, ours, what it shows, of which data, and whether training rows are there too.
_PANELS: tuple[tuple[int, str, str, tuple[DataName, ...], bool], ...] = (
    (3, "roc_compas_adult", "Compas and Adult, test rows", ("compas", "adult"), False),
    (11, "roc_bank_german", "Bank and German", ("bank", "german"), True),
    (12, "roc_compas_adult_train", "Compas and Adult", ("compas", "adult"), True),
    (13, "roc_compas_two_years", "Compas (two years)", ("compas_two_years",), True),
)
# The paper's numbers of the figures of an experiment: solutions, scores, curves. Of Example 2 with
# Algorithm 1 it shows the solutions alone, on the left of Figure 8.
_NUMBERS = {
    Experiment("square", "auc"): ("Figure 5: ", "Figure 6: ", "Figure 7: "),
    Experiment("rings", "auc"): ("Figure 8, left: ", "", ""),
    Experiment("rings", "roc"): ("Figure 8, right: ", "Figure 9: ", "Figure 10: "),
}


def assemble(plan: Plan, store: Store, folder: Path, left_out: Iterable[str]) -> list[str]:
    """Write all tables and figures whose parts are finished, and `index.md` with all of them.

    Returns what the experiments that are not finished are about.
    """
    assembly = _Assembly(plan, store, folder)
    assembly.without_training()
    missing = []
    for target, description in EXPERIMENTS.items():
        if plan.parts(target) and assembly.finished(target):
            getattr(assembly, target)()
        else:
            missing.append(description)
    remarks = [*left_out, *(f"Not done yet: {description}." for description in missing)]
    summary = _Summary.of(assembly.entries, plan.scale)
    write_atomically(folder / "index.md", _markdown(assembly.entries, remarks, summary))
    return missing


class _Assembly:
    """What was written so far; a method for every experiment."""

    def __init__(self, plan: Plan, store: Store, folder: Path) -> None:
        self.plan, self.store, self.folder = plan, store, folder
        self.entries: list[Table | Picture] = []

    def add(self, table: Table) -> None:
        """Write a table with nothing rounded."""
        write_atomically(self.folder / "tables" / f"{table.name}.csv", table.to_csv())
        self.entries.append(table)

    def draw(self, drawing: Figure, caption: str, name: str = "", **facts: str) -> None:
        """Write a figure."""
        picture = Picture.captioned(caption, name, **facts)
        save(drawing, self.folder / "figures" / f"{picture.name}.png")
        self.entries.append(picture)

    def finished(self, target: Target) -> bool:
        return all(self.store.path(part).exists() for part in self.plan.parts(target))

    def _outcome(self, part: Part) -> Outcome:
        outcome = self.store.get(part)
        if outcome is None:
            raise OSError(f"{self.store.path(part)} cannot be read.")
        return outcome

    def _outcomes(self, parts: Mapping[Any, Part]) -> dict[Any, Outcome]:
        return {key: self._outcome(part) for key, part in parts.items()}

    def _runs(self, parts: Mapping[Experiment, list[Part]]) -> dict[Experiment, Runs]:
        return {one: Runs.of(map(self._outcome, some)) for one, some in parts.items()}

    def without_training(self) -> None:
        self.draw(figures.credit(), "figure_1_credit")
        self.add(tables.gamma())
        self.add(tables.dimensions(self.plan.data))
        self.add(tables.laws())
        self.add(tables.thresholds())
        self.draw(figures.square_tradeoff(), "example_1_tradeoff")

    def synthetic(self) -> None:
        runs = self._runs(self.plan.synthetic)
        self.add(tables.synthetic(runs))
        for experiment, own in runs.items():
            algorithm = "Algorithm 2" if experiment.kind == "roc" else "Algorithm 1"
            title = f"{tables.EXAMPLES[experiment.example]}, {algorithm}"
            kinds = (
                ("solutions", figures.solutions),
                ("scores", figures.score_maps),
                ("curves", figures.median_curves),
            )
            for (caption, drawing), number in zip(kinds, _NUMBERS[experiment], strict=True):
                name = f"{experiment.example}_{experiment.kind}_{caption}"
                self.draw(drawing(experiment, own), caption, name, figure=number, experiment=title)

    def real(self) -> None:
        outcomes = self._outcomes(self.plan.real)
        self.add(tables.results(outcomes))
        for number, name, title, data, train in _PANELS:
            available = [one for one in data if one in self.plan.data]
            if available:
                drawing = figures.roc_panels(available, outcomes, train=train)
                dashed = " Dashed: training rows." if train else ""
                facts = {"figure": f"Figure {number}", "title": title, "dashed": dashed}
                self.draw(drawing, "roc_panels", name, **facts)

    def grid(self) -> None:
        outcomes = self._outcomes(self.plan.grid)
        strengths, l2s = self.plan.scale.strengths, self.plan.scale.l2s
        selections: dict[tuple[DataName, Kind], Selection] = {
            pair: Selection.of(strengths, l2s, [outcomes[*pair, one] for one in strengths])
            for pair in dict.fromkeys((name, kind) for name, kind, _ in outcomes)
        }
        self.add(tables.parameters(selections))
        self.add(tables.grid(selections))
        name: DataName = "adult" if "adult" in self.plan.published else self.plan.published[0]
        drawing = figures.strength_path(name, selections[name, "roc"])
        self.draw(drawing, "strength_path", data=name.capitalize())

    def splits(self) -> None:
        for scorer in self.plan.scale.scorers:
            outcomes = {
                name: [self._outcome(part) for part in self.plan.splits[name, scorer]]
                for name in self.plan.published
            }
            self.add(tables.splits(scorer, outcomes))

    def readings(self) -> None:
        if self.finished("real"):
            usual = self._outcomes(self.plan.real)
            self.add(tables.readings(self._outcomes(self.plan.readings), usual))
        self.add(tables.synthetic(self._runs(self.plan.area), "area"))


@dataclass(frozen=True)
class _Summary:
    """How much was done, and how many published results are met.

    At less than the full scale no result is called met.
    """

    scale: Scale
    n_compared: int
    n_beyond: int

    @classmethod
    def of(cls, entries: list[Table | Picture], scale: Scale) -> _Summary:
        compared = [
            number
            for entry in entries
            if isinstance(entry, Table) and entry.name in ("synthetic", "results")
            for number in entry.numbers
            if number.published is not None
        ]
        n_beyond = sum(number.verdict == "beyond noise" for number in compared)
        return cls(scale, len(compared), n_beyond)

    @property
    def words(self) -> str:
        """In one sentence, or nothing if nothing was compared."""
        scale = self.scale
        if not scale.full:
            return (
                f"A quick look, not a reproduction: {scale.runs} runs of "
                f"{scale.synthetic_iterations:,} iterations on synthetic data, "
                f"{scale.iterations:,} iterations on real data. The numbers show that everything "
                "works and nothing else."
            )
        if not self.n_compared:
            return ""
        verb = "is" if self.n_beyond == 1 else "are"
        return (
            f"Of {self.n_compared} published results, {self.n_compared - self.n_beyond} are met "
            f"within noise, {self.n_beyond} {verb} not. {scale.runs} synthetic runs; {scale.seeds} "
            "seeds on real data."
        )


def _markdown(entries: list[Table | Picture], remarks: list[str], summary: _Summary) -> str:
    """For a repository or a site; published numbers are in brackets."""
    parts = [
        "# Learning Fair Scoring Functions, reproduced",
        "Tables and figures of Vogel, Bellet and Clémençon, *Learning Fair Scoring Functions* "
        f"(AISTATS 2021), made again by `make reproduce`, version {__version__}. In brackets "
        "stands the published number; bold: beyond noise, that is more than its rounding (0.005) "
        "and twice the standard deviation that chance gives the difference.",
        f"**{summary.words}**" if summary.words else "",
        *remarks,
    ]
    sections: dict[str, list[Table | Picture]] = {}
    for entry in entries:
        sections.setdefault(entry.section, []).append(entry)
    for section, some in sections.items():
        parts.append(f"## {section}")
        for entry in some:
            if isinstance(entry, Table):
                parts.append(entry.to_markdown().rstrip())
            else:
                picture = f"![{entry.title}](figures/{entry.name}.png)"
                parts += [f"### {entry.title}", picture, entry.note]
    return "\n\n".join(part for part in parts if part) + "\n"
