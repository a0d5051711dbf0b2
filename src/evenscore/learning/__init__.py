"""Learning fair scores: any classifier's chances and bars on them, or one objective in score space.

Whoever writes a learner of their own subclasses `FairScorer`.
"""

from evenscore.learning.base import FairScorer
from evenscore.learning.left_out import LeftOut
from evenscore.learning.price import Price, PriceWarning
from evenscore.learning.task import History, Task
from evenscore.learning.training_set import TrainingSet

__all__ = [
    "FairScorer",
    "History",
    "LeftOut",
    "Price",
    "PriceWarning",
    "Task",
    "TrainingSet",
]
