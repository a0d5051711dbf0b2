"""What an audit gives back: results that can be shown, kept and compared."""

from evenscore.results.audit_result import FORMAT, SCHEMA_VERSION, AuditResult
from evenscore.results.comparison import ComparisonResult
from evenscore.results.parts import (
    CertifiedThresholds,
    ClassCertificate,
    DetectableGap,
    FairCuts,
    Finding,
    GapCurve,
    LabelledMatrix,
    Sample,
    SelectedIs,
    Settings,
    verdict,
)

__all__ = [
    "FORMAT",
    "SCHEMA_VERSION",
    "AuditResult",
    "CertifiedThresholds",
    "ClassCertificate",
    "ComparisonResult",
    "DetectableGap",
    "FairCuts",
    "Finding",
    "GapCurve",
    "LabelledMatrix",
    "Sample",
    "SelectedIs",
    "Settings",
    "verdict",
]
