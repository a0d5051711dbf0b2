"""Learning fair scores: one objective in score space, and the scorers that minimise it.

Whoever writes a learner of their own subclasses `FairScorer`; a tree library for `BoostedScorer`
subclasses `Booster`.
"""

from evenscore.learning.base import FairScorer
from evenscore.learning.boosters import Booster, TreeSettings
from evenscore.learning.diagnosis import GapOutcome
from evenscore.learning.price import Price, PriceWarning
from evenscore.learning.task import History, Task
from evenscore.learning.training_set import TrainingSet

__all__ = [
    "Booster",
    "FairScorer",
    "GapOutcome",
    "History",
    "Price",
    "PriceWarning",
    "Task",
    "TrainingSet",
    "TreeSettings",
]
