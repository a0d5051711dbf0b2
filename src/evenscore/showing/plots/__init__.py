"""Displays in scikit-learn's manner: data in, `plot(ax)`, artists kept; light and dark."""

from evenscore.showing.at_cuts import GroupRate, LargestGap
from evenscore.showing.plots.auc_matrix import AucMatrixDisplay
from evenscore.showing.plots.cut_rates import CutRatesDisplay
from evenscore.showing.plots.group_roc import GroupRocCurve, GroupRocDisplay
from evenscore.showing.plots.history import HistoryDisplay
from evenscore.showing.plots.inter_group_roc import InterGroupCurve, InterGroupRocDisplay
from evenscore.showing.plots.roc_gap import GapSeries, RocGapDisplay
from evenscore.showing.plots.saving import figure_bytes, save
from evenscore.showing.plots.score_distribution import ScoreDistributionDisplay
from evenscore.showing.plots.style import figure, theme
from evenscore.showing.plots.tradeoff import TradeoffDisplay

__all__ = [
    "AucMatrixDisplay",
    "CutRatesDisplay",
    "GapSeries",
    "GroupRate",
    "GroupRocCurve",
    "GroupRocDisplay",
    "HistoryDisplay",
    "InterGroupCurve",
    "InterGroupRocDisplay",
    "LargestGap",
    "RocGapDisplay",
    "ScoreDistributionDisplay",
    "TradeoffDisplay",
    "figure",
    "figure_bytes",
    "save",
    "theme",
]
