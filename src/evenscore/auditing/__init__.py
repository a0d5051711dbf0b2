"""Auditing: a score in, everything that can be said of its fairness out."""

from evenscore.auditing.comparison import ComparisonResult
from evenscore.auditing.parts import Finding, GapCurve
from evenscore.auditing.result import AuditResult

__all__ = ["AuditResult", "ComparisonResult", "Finding", "GapCurve"]
