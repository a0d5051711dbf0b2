"""The report: an audit as one self-contained HTML file. Nothing is computed here, only shown."""

import os
from pathlib import Path

from evenscore.auditing import AuditResult, ComparisonResult
from evenscore.files.atomic import write_atomically
from evenscore.showing.report.page import page

__all__ = ["render", "render_comparison", "write", "write_comparison"]


def render(result: AuditResult, title: str | None = None) -> str:
    """The report of an audit as HTML; the same audit gives the same text.

    The page needs no network and no script library, and can be read with JavaScript turned off.

    >>> import evenscore as es
    >>> y, groups = [0, 1, 0, 1] * 25, ["a", "a", "<i>", "<i>"] * 25
    >>> result = es.audit(y, range(100), sensitive_features=groups)
    >>> html = render(result, title="Who is ranked <above> whom")
    >>> "<h1>Who is ranked &lt;above&gt; whom</h1>" in html, "<i>" in html
    (True, False)
    """
    return page(_checked(result, "result"), title)


def render_comparison(
    before: AuditResult,
    after: AuditResult,
    comparison: ComparisonResult,
    title: str | None = None,
) -> str:
    """The report of the second of two scores of the same people, opening with what it changed.

    `comparison` is `after.compare(before)`: differences are after minus before.
    """
    _checked(before, "before")
    _checked(after, "after")
    if not isinstance(comparison, ComparisonResult):
        raise TypeError(
            f"comparison must be a ComparisonResult, not {type(comparison).__name__}: "
            "it is after.compare(before)."
        )
    sides = comparison.auc.other.value, comparison.auc.one.value
    if sides != (before.auc.value, after.auc.value):
        raise ValueError(
            "The comparison is not of these two audits in this order: it must be "
            "after.compare(before)."
        )
    return page(after, title, before, comparison)


def write(result: AuditResult, path: str | os.PathLike[str], title: str | None = None) -> Path:
    """Write the report of an audit to a file, whole or not at all; give its path."""
    return write_atomically(path, render(result, title))


def write_comparison(
    comparison: ComparisonResult, path: str | os.PathLike[str], title: str | None = None
) -> Path:
    """Write the report of the first of the two scores compared, opening with what changed."""
    sides = comparison.audits
    if sides is None:
        raise ValueError("This comparison does not hold its two audits: make it with compare.")
    after, before = sides
    return write_atomically(path, render_comparison(before, after, comparison, title))


def _checked(result: AuditResult, name: str) -> AuditResult:
    if not isinstance(result, AuditResult):
        raise TypeError(f"{name} must be an AuditResult, not {type(result).__name__}.")
    return result
