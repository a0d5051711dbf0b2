"""What the paper leaves unsaid or gets wrong, tried: the same program with the other reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from scipy.special import ndtr

from evenscore.paper.parts import Part
from evenscore.paper.published import RATES, STRENGTH, DataName
from evenscore.paper.real import fit_published
from evenscore.paper.real_data import fingerprint
from evenscore.paper.synthetic import Experiment, synthetic_parts

__all__ = ["READINGS", "area_parts", "reading_parts", "threshold_after"]

READINGS = {
    "printed threshold step": "Δt = 0.001, as printed",
    "averaged terms": "ROC terms averaged over the rates of a class, as printed",
}
"""Readings of Algorithm 2, beside ours: Δt = 0.01 and the plain sum."""


def reading_parts(
    names: Sequence[DataName], *, seeds: int = 2, n_iter: int = 20_000
) -> dict[tuple[str, DataName], Part]:
    """Algorithm 2 at the published parameters, by the printed readings."""
    changed = {
        "printed threshold step": lambda name: {"threshold_step": 0.001},
        # The mean of two terms is their sum with half the strength.
        "averaged terms": lambda name: {"strength": STRENGTH[name, "roc"] / len(RATES)},
    }
    return {
        (reading, name): Part(
            f"evidence-{reading.replace(' ', '-')}-{name}",
            fit_published,
            {
                "name": name,
                "kind": "roc",
                "data": fingerprint(name),
                "seeds": list(range(seeds)),
                "n_iter": n_iter,
                **changed[reading](name),
            },
        )
        for reading in READINGS
        for name in names
    }


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


def area_parts(*, runs: int = 20, n_iter: int = 10_000) -> dict[Experiment, list[Part]]:
    """Example 2 as printed: uniform in area, where the published numbers fit uniform radii."""
    parts = synthetic_parts(runs=runs, n_iter=n_iter, uniform="area")
    return {experiment: made for experiment, made in parts.items() if experiment.example == "rings"}
