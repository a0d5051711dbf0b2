"""Scorers: scikit-learn estimators that learn fair scores and need no group to score."""

from evenscore.scorers.boosted import BoostedScorer
from evenscore.scorers.linear import LinearScorer
from evenscore.scorers.neural import NeuralScorer

__all__ = ["BoostedScorer", "LinearScorer", "NeuralScorer"]
