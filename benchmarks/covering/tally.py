"""Shares of samples in which something was right."""

from __future__ import annotations

import numpy as np


class Tally:
    """Right or wrong, sample by sample, for the quantities of each kind."""

    def __init__(self) -> None:
        self.noted: dict[str, dict[object, list[float]]] = {}

    def note(self, kind: str, which: object, right: bool) -> None:
        self.measure(kind, which, bool(right))

    def measure(self, kind: str, which: object, number: float) -> None:
        """A number of which the mean is of interest."""
        self.noted.setdefault(kind, {}).setdefault(which, []).append(number)

    def inside(self, kind: str, which: object, low, truth, high) -> None:
        """Whether an interval, or a whole band, holds the truth."""
        held = (np.asarray(low) <= truth + 1e-9) & (truth - 1e-9 <= np.asarray(high))
        self.note(kind, which, bool(np.all(held)))

    def ranges(self, samples: int) -> dict[str, tuple[float, float]]:
        """Least and largest share among the quantities of each kind.

        Quantities that came up in less than a tenth of the samples are left out: too few to tell.
        """
        found = {}
        for kind, quantities in self.noted.items():
            shares = [np.mean(r) for r in quantities.values() if len(r) >= 0.1 * samples]
            if shares:
                found[kind] = float(min(shares)), float(max(shares))
        return found
