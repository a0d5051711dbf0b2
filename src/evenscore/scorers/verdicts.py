"""Whether a gap is within its tolerance: in training, on rows not trained on, and if not, why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from evenscore.inference.estimate import Estimate

__all__ = ["State", "Verdict", "judge"]

State = Literal["reached", "cannot tell", "not reached"]

SLACK = 1e-3  # a training gap so little beyond the tolerance is within it


@final
@dataclass(frozen=True)
class Verdict:
    """What became of one gap.

    With rows that were not trained on (`new`), their interval decides: "reached" if all of it is
    within the tolerance, "not reached" if all of it lies beyond, otherwise "cannot tell". Without
    such rows, the training gap decides, and chance is not ruled out. `reason` is empty if the gap
    is reached.
    """

    name: str
    tolerance: float
    training: Estimate
    new: Estimate | None
    state: State
    reason: str = ""

    @property
    def seen(self) -> Estimate:
        """The gap where it is beyond the tolerance: in training if it is so there, or else new."""
        if self.new is None or abs(self.training.value) > self.tolerance + SLACK:
            return self.training
        return self.new

    @property
    def beyond(self) -> float:
        """How far the gap is beyond its tolerance."""
        return max(0.0, abs(self.seen.value) - self.tolerance)

    def __str__(self) -> str:
        told = f"{self.name}: {self.state}, {self.training.value:+.3f} in training"
        if self.new is not None:
            new = self.new
            told += f", {new.value:+.3f} ({new.low:+.3f} to {new.high:+.3f}) on rows not trained on"
        told += f", tolerance {self.tolerance:g}"
        return f"{told}; {self.reason}." if self.reason else f"{told}."


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
    if abs(expected) > tolerance + SLACK:
        if abs(training.value) <= tolerance + SLACK:
            why = (
                f"training could not make up for the {expected - training.value:+.3f} that returns"
            )
        elif alone:
            why = "it conflicts with the other gaps, without which it is reached"
        elif size * tolerance < 2.0:
            why = f"there are only {size:g} {cell}, one of which moves it by {1.0 / size:.3f}"
        else:
            why = "training ended first: train longer, or take a more flexible scorer"
        return Verdict(name, tolerance, training, new, "not reached", why)
    if new is None:
        return Verdict(name, tolerance, training, None, "reached")
    if not np.isfinite(new.low) or not np.isfinite(new.high):
        why = f"{size:g} {cell} are too few for an interval"
        return Verdict(name, tolerance, training, new, "cannot tell", why)
    if max(abs(new.low), abs(new.high)) <= tolerance:
        return Verdict(name, tolerance, training, new, "reached")
    if new.low > tolerance or new.high < -tolerance:
        why = "the scorer fits its training rows too closely: regularise it, or train on more rows"
        return Verdict(name, tolerance, training, new, "not reached", why)
    half = 0.5 * (new.high - new.low)
    room = max(tolerance - abs(new.value), 0.5 * tolerance, 1e-12)
    needed = size * (half / room) ** 2
    why = f"{size:g} {cell} are too few to tell, about {_rounded(needed)} might do"
    return Verdict(name, tolerance, training, new, "cannot tell", why)


def _rounded(count: float) -> str:
    """Two digits are enough."""
    return f"{float(f'{count:.2g}'):,.0f}"


def worst(verdicts: Sequence[Verdict]) -> Verdict | None:
    """Of those not reached, the one furthest beyond."""
    missed = [verdict for verdict in verdicts if verdict.state == "not reached"]
    return max(missed, key=lambda verdict: verdict.beyond, default=None)
