"""Training fair scores: surrogates, pairwise sums, one objective in score space, multipliers."""

from evenscore.learning.multipliers import (
    AugmentedLagrangian,
    DualAscent,
    MultiplierRule,
    MultiplierState,
    SignRule,
)
from evenscore.learning.objective import Evaluation, Objective
from evenscore.learning.pairs import incomplete_auc, smooth_cells
from evenscore.learning.terms import Terms, guard_rates

__all__ = [
    "AugmentedLagrangian",
    "DualAscent",
    "Evaluation",
    "MultiplierRule",
    "MultiplierState",
    "Objective",
    "SignRule",
    "Terms",
    "guard_rates",
    "incomplete_auc",
    "smooth_cells",
]
