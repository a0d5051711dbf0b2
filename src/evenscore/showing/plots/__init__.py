"""Displays in scikit-learn's manner: data in, `plot(ax)`, artists kept; light and dark."""

from evenscore.showing.plots.cut_rates import CutRatesDisplay
from evenscore.showing.plots.group_roc import GroupRocDisplay
from evenscore.showing.plots.saving import save
from evenscore.showing.plots.score_distribution import ScoreDistributionDisplay
from evenscore.showing.plots.style import figure
from evenscore.showing.plots.tradeoff import TradeoffDisplay

__all__ = [
    "CutRatesDisplay",
    "GroupRocDisplay",
    "ScoreDistributionDisplay",
    "TradeoffDisplay",
    "figure",
    "save",
]
