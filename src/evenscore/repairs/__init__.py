"""Repair: one increasing map per group that makes a given score fair where it matters."""

from evenscore.repairs.fitting import repair
from evenscore.repairs.maps import IncreasingMap
from evenscore.repairs.result import Repair

__all__ = ["IncreasingMap", "Repair", "repair"]
