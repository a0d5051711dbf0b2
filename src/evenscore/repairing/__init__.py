"""Repair: one increasing map per group that makes a given score fair where it matters."""

from evenscore.repairing.fitting import repair
from evenscore.repairing.maps import IncreasingMap
from evenscore.repairing.result import Repair

__all__ = ["IncreasingMap", "Repair", "repair"]
