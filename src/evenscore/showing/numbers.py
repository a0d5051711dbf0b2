"""Numbers as text, the same way on the terminal, in a notebook and in the report."""

import math
from collections.abc import Iterable
from typing import Literal

from evenscore.auditing.blocks import base
from evenscore.auditing.cut_findings import points as in_points
from evenscore.inference.estimate import Estimate

Kind = Literal["plain", "signed", "share"]

NONE = base.NONE
"""What stands where there is no number; the reason is beside it."""

NO_INTERVAL = "no interval"
"""What stands where there is no interval."""


def _told(value: float, form: str) -> str:
    return NONE if math.isnan(value) else f"{value:{form}}"


def plain(value: float) -> str:
    """Three decimals.

    >>> plain(0.90412), plain(float("nan"))
    ('0.904', '–')
    """
    return _told(value, ".3f")


def signed(value: float) -> str:
    """Three decimals with a sign: a gap.

    >>> signed(0.16812)
    '+0.168'
    """
    return _told(value, "+.3f")


def share(value: float) -> str:
    """A share as a percentage.

    >>> share(0.30449), share(float("nan"))
    ('30.4%', '–')
    """
    return _told(value, ".1%")


def count(value: float) -> str:
    """A number of people, or a weight.

    >>> count(16281.0)
    '16,281'
    """
    return _told(value, ",.0f")


def p_value(value: float) -> str:
    """A p-value; very small ones are told as such.

    >>> p_value(0.01234), p_value(3e-18)
    ('0.012', '< 0.0001')
    """
    return "< 0.0001" if value < 1e-4 else _told(value, ".2g")


def interval(low: float, high: float, kind: Kind = "plain") -> str:
    """The two ends of an interval; of a share, in percent without the sign.

    >>> interval(0.1, 0.2), interval(-0.1, 0.2, "signed"), interval(0.28, 0.331, "share")
    ('0.100 to 0.200', '-0.100 to +0.200', '28.0 to 33.1')
    >>> interval(float("nan"), 1)
    'no interval'
    """
    if math.isnan(low) or math.isnan(high):
        return NO_INTERVAL
    if kind == "share":
        return f"{100 * low:.1f} to {100 * high:.1f}"
    told = signed if kind == "signed" else plain
    return f"{told(low)} to {told(high)}"


def points(value: float) -> str:
    """A difference of two shares in points.

    >>> points(0.127), points(-0.01)
    ('12.7 percentage points', '1 percentage point')
    """
    return NONE if math.isnan(value) else in_points(value)


def verdict(value: str | None) -> str:
    """A verdict as people read it.

    >>> verdict("unclear"), verdict("beyond")
    ('cannot tell', 'beyond')
    """
    return {"unclear": "cannot tell", None: "undefined"}.get(value, value or "")


def ratio(value: float) -> str:
    """Two decimals: a ratio of selection rates, whose interval is in the note on it.

    >>> ratio(0.304), ratio(float("nan"))
    ('0.30', '–')
    """
    return _told(value, ".2f")


def exact(value: float) -> str:
    """The number itself, for machines that read the page.

    >>> exact(0.1), exact(float("nan"))
    ('0.1', '')
    """
    return "" if math.isnan(value) else repr(float(value))


def why_none(estimate: Estimate) -> str:
    """Why an estimate has no value or no interval, and what else to know of it."""
    return "; ".join(estimate.warnings)


def reasons(estimates: Iterable[Estimate]) -> list[str]:
    """What is to know of several estimates, each sentence once.

    >>> one = Estimate("gap", 0.1, math.nan, math.nan, 0.95, "t", warnings=("a cell is empty",))
    >>> reasons([one, one])
    ['a cell is empty']
    """
    return list(dict.fromkeys(told for estimate in estimates for told in estimate.warnings))
