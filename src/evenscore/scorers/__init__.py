"""Scorers: scikit-learn estimators that learn fair scores and need no group to score."""

from evenscore.scorers.linear import LinearScorer

__all__ = ["LinearScorer"]
