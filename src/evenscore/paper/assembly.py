"""From finished parts to tables, figures and one page that shows them beside the published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenscore.files import write_atomically
from evenscore.paper import figures, tables
from evenscore.paper.evidence import READINGS
from evenscore.paper.page import Entry, page
from evenscore.paper.parts import Outcome, Part, Store
from evenscore.paper.plan import EXPERIMENTS, FULL, Plan, Target
from evenscore.paper.published import DataName, Kind
from evenscore.paper.real import Selection
from evenscore.paper.synthetic import Experiment, Runs
from evenscore.paper.table import Table
from evenscore.plots.saving import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Assembly", "assemble"]


@dataclass
class Assembly:
    """What was written, and the experiments that are not finished."""

    folder: Path
    entries: list[Entry] = field(default_factory=list)
    missing: list[Target] = field(default_factory=list)

    def add_table(self, section: str, table: Table) -> None:
        """Write a table as Markdown and CSV."""
        write_atomically(self.folder / "tables" / f"{table.name}.md", table.to_markdown())
        write_atomically(self.folder / "tables" / f"{table.name}.csv", table.to_csv())
        self.entries.append(Entry(section, table.name, table.title, table=table))

    def add_figure(self, section: str, name: str, title: str, made: Figure, said: str = "") -> None:
        """Write a figure as SVG and PNG."""
        save(made, self.folder / "figures" / f"{name}.svg")
        made.set_layout_engine("none")  # it is laid out: once is enough
        save(made, self.folder / "figures" / f"{name}.png")
        self.entries.append(Entry(section, name, title, note=said))


def assemble(plan: Plan, store: Store, folder: Path, left_out: Iterable[str] = ()) -> Assembly:
    """Write all tables and figures whose parts are finished, and `index.html`."""
    made = Assembly(folder)
    _without_training(made, plan)
    sections: dict[Target, Callable[[Assembly, Plan, Store], None]] = {
        "synthetic": _synthetic,
        "real": _real,
        "grid": _grid,
        "splits": _splits,
        "readings": _readings,
    }
    for target, section in sections.items():
        finished = all(store.path(part).exists() for part in plan.parts(target))
        if finished and plan.parts(target):
            section(made, plan, store)
        else:
            made.missing.append(target)
    told = [f"Not done yet: {EXPERIMENTS[target]}." for target in made.missing]
    write_atomically(
        folder / "index.html", page(made.entries, [*left_out, *told], plan.scale, FULL)
    )
    return made


def _all(store: Store, parts: Mapping[Any, Part]) -> dict[Any, Outcome]:
    return {key: _one(store, part) for key, part in parts.items()}


def _one(store: Store, part: Part) -> Outcome:
    outcome = store.get(part)
    if outcome is None:
        raise OSError(f"{store.path(part)} cannot be read.")
    return outcome


def _runs(store: Store, parts: Mapping[Experiment, list[Part]]) -> dict[Experiment, Runs]:
    return {
        experiment: Runs.of([_one(store, part) for part in made])
        for experiment, made in parts.items()
    }


def _without_training(made: Assembly, plan: Plan) -> None:
    section = "Without training"
    made.add_figure(
        section,
        "figure_1_credit",
        "Figure 1: the credit example",
        figures.credit(),
        "A law with the properties that the text of the paper states; all curves are exact. Bottom "
        "right: the same law with the positives of both groups alike at false positive rates up to "
        "1/4 (shaded), which is what a ROC constraint asks for.",
    )
    made.add_table(section, tables.gamma())
    made.add_table(section, tables.dimensions(plan.data))
    made.add_table(section, tables.laws())
    made.add_table(section, tables.thresholds())
    made.add_figure(
        section,
        "example_1_tradeoff",
        "Example 1: AUCs of s_c",
        figures.square_tradeoff(),
        "In closed form, for q₁ = 17/20.",
    )


def _synthetic(made: Assembly, plan: Plan, store: Store) -> None:
    section = "Synthetic data"
    runs = _runs(store, plan.synthetic)
    made.add_table(section, tables.synthetic(runs))
    for experiment, found in runs.items():
        example = "Example 1" if experiment.example == "square" else "Example 2"
        algorithm = "Algorithm 2" if experiment.kind == "roc" else "Algorithm 1"
        told = f"{example}, {algorithm}"
        name = f"{experiment.example}_{experiment.kind}"
        made.add_figure(
            section,
            f"{name}_solutions",
            f"{told}: solutions",
            figures.solutions(experiment, found),
            "The criterion in closed form, and where the learned scores lie on it.",
        )
        made.add_figure(
            section, f"{name}_scores", f"{told}: scores", figures.score_maps(experiment, found)
        )
        made.add_figure(
            section,
            f"{name}_curves",
            f"{told}: ROC curves",
            figures.median_curves(experiment, found),
            "Median over the runs with pointwise 95 % bands, test sets.",
        )


_PANELS: tuple[tuple[str, str, tuple[DataName, ...], bool], ...] = (
    ("roc_compas_adult", "ROC curves, Compas and Adult, test rows", ("compas", "adult"), False),
    ("roc_bank_german", "ROC curves, Bank and German", ("bank", "german"), True),
    ("roc_compas_adult_train", "ROC curves, Compas and Adult", ("compas", "adult"), True),
    ("roc_compas_two_years", "ROC curves, Compas (two years)", ("compas_two_years",), True),
)


def _real(made: Assembly, plan: Plan, store: Store) -> None:
    section = "Real data"
    outcomes: dict[tuple[DataName, Kind], Outcome] = _all(store, plan.real)
    made.add_table(section, tables.results(outcomes))
    for name, title, data, train in _PANELS:
        there = [one for one in data if one in plan.data]
        if there:
            said = (
                "Black: the overall ROC curve. For every constraint, left: the two curves whose "
                "areas the AUC constraint compares; right: the groups of each class against each "
                "other, on the diagonal where they are alike."
            )
            said += " Dashed: training rows." if train else ""
            made.add_figure(
                section, name, title, figures.roc_panels(there, outcomes, train=train), said
            )


def _selections(plan: Plan, store: Store) -> dict[tuple[DataName, Kind], Selection]:
    outcomes = _all(store, plan.grid)
    strengths, l2s = plan.scale.strengths, plan.scale.l2s
    pairs = dict.fromkeys((name, kind) for name, kind, _ in outcomes)
    return {
        pair: Selection.of(strengths, l2s, [outcomes[*pair, strength] for strength in strengths])
        for pair in pairs
    }


def _grid(made: Assembly, plan: Plan, store: Store) -> None:
    section = "The full grid"
    selections = _selections(plan, store)
    made.add_table(section, tables.parameters(selections))
    made.add_table(section, tables.grid(selections))
    name: DataName = "adult" if "adult" in plan.published else plan.published[0]
    made.add_figure(
        section,
        "strength_path",
        f"Figure 2: {name.capitalize()} against λ",
        figures.strength_path(name, selections[name, "roc"]),
        "Algorithm 2, with the λ_reg that the validation rows select; bars are two standard "
        "errors on the test set.",
    )


def _splits(made: Assembly, plan: Plan, store: Store) -> None:
    for scorer in plan.scale.scorers:
        outcomes = {
            name: [_one(store, part) for part in plan.splits[name, scorer]]
            for name in plan.published
        }
        made.add_table("What one split hid", tables.splits(scorer, outcomes))


def _readings(made: Assembly, plan: Plan, store: Store) -> None:
    section = "What the paper leaves unsaid"
    if all(store.path(part).exists() for part in plan.parts("real")):
        made.add_table(
            section,
            tables.readings(_all(store, plan.readings), _all(store, plan.real), READINGS),
        )
    made.add_table(section, tables.area(_runs(store, plan.area)))
