"""Scorers: scikit-learn estimators of fair scores; only the repaired one needs groups to score."""

from evenscore.scorers.boosted import BoostedScorer
from evenscore.scorers.linear import LinearScorer
from evenscore.scorers.neural import NeuralScorer
from evenscore.scorers.repaired import RepairedScorer

__all__ = ["BoostedScorer", "LinearScorer", "NeuralScorer", "RepairedScorer"]
