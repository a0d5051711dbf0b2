"""Numbers as text, the same way everywhere on the page."""

from __future__ import annotations

import math

from evenscore.inference.estimate import Estimate

__all__ = ["NONE", "count", "exact", "interval", "p_value", "plain", "share", "signed", "why_none"]

NONE = "none"
"""What stands where there is no number; the reason is beside it."""


def plain(value: float) -> str:
    """Three decimals.

    >>> plain(0.90412), plain(float("nan"))
    ('0.904', 'none')
    """
    return NONE if math.isnan(value) else f"{value:.3f}"


def signed(value: float) -> str:
    """Three decimals with a sign: a gap.

    >>> signed(0.16812)
    '+0.168'
    """
    return NONE if math.isnan(value) else f"{value:+.3f}"


def share(value: float) -> str:
    """A share as a percentage.

    >>> share(0.30449), share(float("nan"))
    ('30.4%', 'none')
    """
    return NONE if math.isnan(value) else f"{value:.1%}"


def count(value: float) -> str:
    """A number of people, or a weight.

    >>> count(16281.0)
    '16,281'
    """
    return NONE if math.isnan(value) else f"{value:,.0f}"


def p_value(value: float) -> str:
    """A p-value; very small ones are told as such.

    >>> p_value(0.01234), p_value(3e-18)
    ('0.012', '< 0.0001')
    """
    if math.isnan(value):
        return NONE
    return "< 0.0001" if value < 1e-4 else f"{value:.2g}"


def interval(low: float, high: float, kind: str = "plain") -> str:
    """The two ends of an interval.

    >>> interval(0.1, 0.2), interval(-0.1, 0.2, "signed"), interval(float("nan"), 1)
    ('0.100 to 0.200', '-0.100 to +0.200', 'no interval')
    """
    if math.isnan(low) or math.isnan(high):
        return "no interval"
    if kind == "share":
        return f"{100 * low:.1f} to {100 * high:.1f}"
    told = signed if kind == "signed" else plain
    return f"{told(low)} to {told(high)}"


def exact(value: float) -> str:
    """The number itself, for machines that read the page.

    >>> exact(0.1), exact(float("nan"))
    ('0.1', '')
    """
    return "" if math.isnan(value) else repr(float(value))


def why_none(estimate: Estimate) -> str:
    """Why an estimate has no value or no interval, and what else to know of it."""
    return "; ".join(estimate.warnings)
