"""Whether a gap is within its tolerance: in training, on rows not trained on, and if not, why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from evenscore.inference.estimate import Estimate

__all__ = ["State", "Verdict", "judge"]

State = Literal["reached", "reached in training", "cannot tell", "not reached"]

SLACK = 1e-3  # a training gap so little beyond the tolerance is within it


@final
@dataclass(frozen=True, repr=False)
class Verdict:
    """What became of one gap.

    "not reached": it is beyond the tolerance in training, or its whole interval on rows not trained
    on (`new`) is. Otherwise those rows decide: "reached" if the whole interval is within the
    tolerance, "cannot tell" if it is neither within nor beyond. Without such rows: "reached in
    training", which new rows may contradict. `value` is the gap that decided and `where` it was
    seen; `reason` is empty if the gap is reached.
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
        told = f"{self.name}: {self.state}, {self.training.value:+.3f} in training"
        if self.new is not None:
            new = self.new
            told += f", {new.value:+.3f} ({new.low:+.3f} to {new.high:+.3f}) on rows not trained on"
        told += f", tolerance {self.tolerance:g}"
        return f"{told}; {self.reason}." if self.reason else f"{told}."

    def __repr__(self) -> str:
        return f"<Verdict {self}>"


def judge(
    name: str,
    tolerance: float,
    training: Estimate,
    new: Estimate | None,
    expected: float,
    smallest: tuple[str, float],
    *,
    alone: bool | None = None,
) -> Verdict:
    """The verdict on one gap.

    `expected` is the training gap, with what it is known to grow by on new rows; `smallest` names
    the smallest cell that the gap looks at, and its size; `alone` says whether the gap can be
    reached without the other ones, if that was tried.

    >>> fine = Estimate("gap", 0.01, -0.01, 0.03, 0.95, "normal")
    >>> print(judge("gap", 0.02, fine, fine, 0.01, ("positives of b", 100)))
    gap: cannot tell, +0.010 in training, +0.010 (-0.010 to +0.030) on rows not trained on, \
tolerance 0.02; 100 positives of b are too few to tell, about 400 might do.
    """
    cell, size = smallest
    moved = expected != training.value
    trained = expected, "expected on new rows" if moved else "on the training data"

    def verdict(state: State, decided: tuple[float, str], reason: str = "") -> Verdict:
        return Verdict(name, tolerance, training, new, state, *decided, reason)

    if not np.isfinite(expected):
        return verdict("cannot tell", trained, f"{size:g} {cell} are too few")
    over = abs(expected) - tolerance
    closed = over <= SLACK
    why = "the scorer fits its training rows too closely: regularise it, or train on more rows"
    if not closed and moved and abs(training.value) <= tolerance + SLACK:
        why = "what returns on new rows is more than training could make up for"
    elif not closed and alone:
        why = "it conflicts with the other gaps, without which it is reached"
    elif not closed and over <= 2.0 / size:
        why = f"there are only {size:g} {cell}, one of which moves it by {1.0 / size:.3f}"
    elif not closed:
        why = "it was still closing, or the scorer is not flexible enough: train longer"
    if new is None:
        state: State = "reached in training" if closed else "not reached"
        return verdict(state, trained, "" if closed else why)
    seen = new.value, "on rows not trained on"
    if new.low > tolerance or new.high < -tolerance:
        return verdict("not reached", seen, why)
    if not closed:
        return verdict("not reached", trained, why)
    if not np.isfinite(new.low) or not np.isfinite(new.high):
        return verdict("cannot tell", seen, f"{size:g} {cell} are too few for an interval")
    if max(abs(new.low), abs(new.high)) <= tolerance:
        return verdict("reached", seen)
    if tolerance == 0.0:
        return verdict("cannot tell", seen, "no number of rows proves a gap of exactly zero")
    return verdict("cannot tell", seen, _too_few(new, tolerance, cell, size))


def _too_few(new: Estimate, tolerance: float, cell: str, size: float) -> str:
    """How many rows would settle it, the gap being what it seems to be."""
    half = 0.5 * (new.high - new.low)
    room = max(abs(tolerance - abs(new.value)), 0.1 * tolerance)
    needed = float(f"{size * (half / room) ** 2:.2g}")
    if abs(new.value) > tolerance:
        return (
            f"it seems to be beyond, but {size:g} {cell} are too few to be sure; about "
            f"{needed:,.0f} would settle it"
        )
    return f"{size:g} {cell} are too few to tell, about {needed:,.0f} might do"


def worst(verdicts: Sequence[Verdict]) -> Verdict | None:
    """Of those not reached, the one furthest beyond."""
    missed = [verdict for verdict in verdicts if verdict.state == "not reached"]
    return max(missed, key=lambda verdict: verdict.beyond, default=None)
