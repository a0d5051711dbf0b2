"""What became of the gaps: measured after a fit, judged by their tolerance, and if missed, why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from evenscore.gaps.family import family_estimates
from evenscore.inference.decisions import decide
from evenscore.inference.estimate import Estimate
from evenscore.learning.multipliers import excess
from evenscore.learning.task import SLACK, History, Task
from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Floats
from evenscore.scores.sources import counted

if TYPE_CHECKING:
    from evenscore.learning.base import FairScorer

_EXPECTED = "expected on new rows"

State = Literal["reached", "reached in training", "cannot tell", "not reached"]

_DENSE = 50_000_000  # entries of a sparse matrix that are looked at all at once
_STILL = 5e-3  # a penalised AUC that rises by less over a tenth of the updates has settled

# ---------------------------------------------------------------------- one gap


@final
@dataclass(frozen=True, repr=False)
class GapOutcome:
    """What became of one gap.

    "not reached": it is beyond the tolerance in training, and by more than chance explains (a
    standard error of the gap), or by its verdict on rows not trained on (`new`); the reason tells
    what a score of this kind cannot reach, as far as trying can tell, from what training has not
    reached yet. Otherwise those rows decide: "reached" if the verdict is "within", "cannot tell" if
    it is neither. Without such rows: "reached in training", which new rows may contradict. `value`
    is the gap that decided and `where` it was seen; `reason` is empty if the gap is reached.

    "reached", and "not reached" by rows not trained on, are statements with 95 % confidence over
    all gaps of the fit (`inference.decisions`): after a correction by cross-fitting, of people
    looked at twice. "not reached" by the training gap (`where` says which) is not a statistical
    statement: training did not do what it was asked to, and the gap of the population may well be
    within the tolerance. "reached in training" is none either.
    """

    name: str
    tolerance: float
    training: Estimate
    new: Estimate | None
    state: State
    value: float
    where: str
    reason: str = ""

    @property
    def beyond(self) -> float:
        """How far the gap that decided is beyond its tolerance."""
        return max(0.0, abs(self.value) - self.tolerance)

    def __str__(self) -> str:
        value = self.training.value
        seen = "no value" if np.isnan(value) else f"{value:+.3f}"
        text = f"{self.name}: {self.state}, {seen} in training"
        if self.where == _EXPECTED:
            text += f", {self.value:+.3f} {_EXPECTED}"
        if self.new is not None:
            new = self.new
            low, high = new.ends("within")
            text += f", {new.value:+.3f} ({low:+.3f} to {high:+.3f}) on rows not trained on"
        text += f", tolerance {self.tolerance:g}"
        return f"{text}; {self.reason}." if self.reason else f"{text}."

    def __repr__(self) -> str:
        return f"<GapOutcome {self}>"


def judge(
    name: str,
    tolerance: float,
    training: Estimate,
    new: Estimate | None,
    expected: float,
    smallest: tuple[str, float],
    *,
    allowed: float = 0.0,
    conflict: str | None = None,
    clusters: int | None = None,
) -> GapOutcome:
    """The outcome of one gap.

    `expected` is the training gap, as it is known to be on new rows; `smallest` names the smallest
    cell that the gap looks at, and its size, and `clusters` is how many clusters that is in, if
    there are any; `allowed` is what chance lets the gap be, and `conflict` why it was not reached,
    if that was looked into. A gap `new` that was not decided on among others is decided on by
    itself.

    >>> fine = Estimate("gap", 0.01, -0.01, 0.03, 0.95, "normal")
    >>> print(judge("gap", 0.02, fine, fine, 0.01, ("positives of b", 100)))
    gap: cannot tell, +0.010 in training, +0.010 (-0.007 to +0.027) on rows not trained on, \
tolerance 0.02; 100 positives of b are too few to tell, about 280 might do.
    """
    cell, size = smallest
    few = cell if clusters is None else f"{cell} in {counted(clusters, 'cluster')}"
    if new is not None and new.verdict is None:
        [new] = decide([new], tolerance, new.confidence_level)
    moved = bool(np.isfinite(expected)) and expected != training.value
    trained = expected, _EXPECTED if moved else "on the training data"

    def outcome(state: State, decided: tuple[float, str], reason: str = "") -> GapOutcome:
        return GapOutcome(name, tolerance, training, new, state, *decided, reason)

    if not np.isfinite(expected):
        known = training.warnings or (f"{size:g} {cell} are too few",)
        return outcome("cannot tell", trained, known[0])
    over = abs(expected) - tolerance
    closed = over <= SLACK
    beyond_new = new is not None and new.verdict == "beyond"  # which chance does not explain
    by_chance = not closed and not beyond_new and abs(expected) <= allowed + SLACK
    why = "the scorer fits its training rows too closely: regularise it, or train on more rows"
    if by_chance:
        why = (
            f"{size:g} {few} are so few that chance makes a gap of {allowed:.3f}, and to train for "
            "less would be to fit noise"
        )
    elif not closed and moved and abs(training.value) <= tolerance + SLACK:
        why = "what returns on new rows is more than training could make up for"
    elif not closed and conflict:
        why = conflict
    elif not closed and over <= 2.0 / size:
        why = f"there are only {size:g} {cell}, one of which moves it by {1.0 / size:.3f}"
    elif not closed:
        why = "it was still closing, or the scorer is not flexible enough: train longer"
    missed: State = "cannot tell" if by_chance else "not reached"
    if new is None:
        state: State = "reached in training" if closed else missed
        return outcome(state, trained, "" if closed else why)
    fresh = new.value, "on rows not trained on"
    if new.verdict == "beyond":
        return outcome("not reached", fresh, why)
    if not closed:
        return outcome(missed, trained, why)
    if new.verdict == "undefined":
        return outcome("cannot tell", fresh, f"{size:g} {few} are too few for an interval")
    if new.verdict == "within":
        return outcome("reached", fresh)
    if tolerance == 0.0:
        return outcome("cannot tell", fresh, "no number of rows proves a gap of exactly zero")
    return outcome("cannot tell", fresh, _too_few(new, tolerance, few, size))


def _too_few(new: Estimate, tolerance: float, cell: str, size: float) -> str:
    """How many rows, clustered like these, would settle it, the gap being what it seems to be."""
    low, high = new.ends("beyond" if abs(new.value) > tolerance else "within")
    half = 0.5 * (high - low)
    room = max(abs(tolerance - abs(new.value)), 0.1 * tolerance)
    needed = float(f"{size * (half / room) ** 2:.2g}")
    if abs(new.value) > tolerance:
        return (
            f"it seems to be beyond, but {size:g} {cell} are too few to be sure; about "
            f"{needed:,.0f} would settle it"
        )
    return f"{size:g} {cell} are too few to tell, about {needed:,.0f} might do"


def worst(outcomes: Sequence[GapOutcome]) -> GapOutcome | None:
    """Of those not reached, the one furthest beyond."""
    missed = [outcome for outcome in outcomes if outcome.state == "not reached"]
    return max(missed, key=lambda outcome: outcome.beyond, default=None)


# ---------------------------------------------------------------------- all gaps of a fit


def diagnose(
    scorer: FairScorer,
    task: Task,
    history: History,
    train: TrainingSet,
    training_scores: Floats,
    expected_scores: Floats | None,
    held_out: TrainingSet | None,
    crossed: list[Estimate] | None,
) -> tuple[dict[str, list[Estimate]], list[GapOutcome], bool, str | None]:
    """Measure the gaps of a scorer that has learned; `crossed` are those by cross-fitting.

    `expected_scores` are those of the training rows as they would be on new rows, if the learner
    knows. Gives `gaps_`, `verdicts_`, `converged_`, and what the user has to be warned of.
    """
    training = family_estimates(train.grouped(training_scores), task.constraints)
    gaps = {"train": training}
    if expected_scores is not None:
        gaps["expected"] = family_estimates(train.grouped(expected_scores), task.constraints)
    if held_out is not None:
        scores = held_out.grouped(scorer.raw_score(held_out.X))
        gaps["validation"] = family_estimates(scores, task.constraints)
    if crossed is not None:
        gaps["cross_fit"] = crossed
    name = type(scorer).__name__
    if task.strength is not None and not task.constraints:
        return gaps, [], True, None
    if task.strength is not None:  # a penalty promises no gap
        settled, warning = history.settled, None
        if settled is None:
            settled = _has_settled(history, task.strengths(task.objective(train)))
            if not settled:
                warning = (
                    f"{name} stopped while AUC − strength · |gaps| was still rising, or too soon "
                    "to tell: train longer."
                )
        return gaps, [], settled, warning
    objective = task.objective(train)
    tolerance = task.tolerances(objective)
    allowed = np.maximum(tolerance, task.chances(objective))
    expected = np.array([gap.value for gap in gaps.get("expected", training)]) + task.optimism
    beyond = np.abs(excess(expected, allowed))
    new = gaps.get("cross_fit", gaps.get("validation"))
    if new:
        new[:] = decide(new, tolerance, new[0].confidence_level)
    sizes = train.cell_sizes.astype(np.float64)
    by_cell, _, _ = train.separable(train.cell, len(sizes))
    outcomes = []
    far = np.where(beyond > SLACK, np.abs(expected) - tolerance, 0.0)
    furthest = int(np.argmax(far)) if np.any(far > 0.0) else None
    for k, gap in enumerate(training):
        conflict = None  # the gap furthest beyond its tolerance, and not by chance, is looked into
        if k == furthest:
            conflict = _conflict(task, history, train, k)
        elif furthest is not None:
            conflict = f"see {training[furthest].title}, the gap furthest beyond its tolerance"
        cells = np.flatnonzero(objective.terms.cells[k])
        small = int(cells[np.argmin(sizes[cells])])
        outcomes.append(
            judge(
                gap.title,
                float(tolerance[k]),
                gap,
                None if new is None else new[k],
                float(expected[k]),
                (train.cell_name(small), float(sizes[small])),
                allowed=float(allowed[k]),
                conflict=conflict,
                clusters=None if train.cluster is None else int(by_cell[small]),
            )
        )
    missed, warning = worst(outcomes), None
    if missed is not None:
        warning = (
            f"{name} did not reach {missed.name}: the gap is {missed.value:+.3f} {missed.where}, "
            f"{missed.beyond:.3f} beyond the tolerance of {missed.tolerance:g}; {missed.reason}."
        )
    return gaps, outcomes, bool(np.all(beyond <= SLACK)), warning


# ---------------------------------------------------------------------- why a gap is not reached


def _conflict(task: Task, history: History, train: TrainingSet, number: int) -> str | None:
    """What stands in the way of the worst gap, by what was tried.

    Other ways were tried if the history has restarts. If none came near, a score of this kind
    cannot do it, as far as they can tell; what it could do is the smallest largest gap of them. If
    the gap was still falling when training ended, training is what has to go on.
    """
    if history.beaten:
        return (
            "on rows not trained on, a score that closes it in training is beaten by one without "
            "the constraints, which ranks better at smaller gaps"
        )
    if history.obstacle:
        return history.obstacle
    reached = _reached(history, task.allowances(task.objective(train)))
    if reached is not None:
        return (
            f"a score that reaches every tolerance was found, but its AUC is {reached:.3f}: a "
            "larger tolerance, or a strength, says what is wanted"
        )
    tolerance = float(task.tolerances(task.objective(train))[number])
    ways = history.entries("learning", "restart")
    if not history.entries("restart"):
        return None
    if _still_falling(history, ways):
        return "it was still closing when training ended: train longer"
    lead = "no score of this kind that was tried reaches it"
    sizes = [abs(history.gaps[k][number]) for k in ways if history.auc[k] >= 0.5]
    if any(size <= tolerance for size in sizes):
        lead += " together with the others"
    useful = [point for point in history.frontier("learning", "restart") if point[0] >= 0.5]
    if not useful:
        return lead
    auc, gap = useful[-1]
    return f"{lead}; the least that the largest gap came to is {gap:.3f}, at AUC {auc:.3f}"


def _reached(history: History, allowed: Floats) -> float | None:
    """The largest AUC of an entry above chance with every gap within what is allowed, if any."""
    aucs = [
        history.auc[k]
        for k in range(len(history))
        if history.auc[k] >= 0.5 and np.all(np.abs(excess(history.gaps[k], allowed)) <= SLACK)
    ]
    return max(aucs, default=None)


def _still_falling(history: History, ways: list[int]) -> bool:
    """Whether the largest gap was at its smallest at the end, and fell by a tenth before it."""
    sizes = np.array([np.max(np.nan_to_num(np.abs(history.gaps[k])), initial=0.0) for k in ways])
    quarter = max(2, len(sizes) // 4)
    if len(sizes) < 2 * quarter:
        return False
    last, before = sizes[-quarter:], sizes[-2 * quarter : -quarter]
    return bool(last[-1] <= sizes.min() + 1e-9 and last.mean() < 0.9 * before.mean())


def _has_settled(history: History, strengths: Floats | None) -> bool:
    """Whether AUC − Σ strength · |gap| has stopped rising."""
    learning = history.entries("learning")
    tenth = len(learning) // 10
    if not tenth or strengths is None:
        return False
    gaps = np.array(history.gaps).reshape(len(history), -1)[learning]
    merit = np.array(history.auc)[learning] - np.abs(gaps) @ strengths
    return bool(merit[-tenth:].mean() <= merit[-2 * tenth : -tenth].mean() + _STILL)
