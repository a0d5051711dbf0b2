"""Displays in scikit-learn's manner: data in, `plot(ax)`, artists kept; light and dark."""

from evenscore.plots.auc_matrix import AucMatrixDisplay
from evenscore.plots.group_roc import GroupRocCurve, GroupRocDisplay
from evenscore.plots.history import HistoryDisplay
from evenscore.plots.inter_group_curves import InterGroupCurve
from evenscore.plots.inter_group_roc import InterGroupRocDisplay
from evenscore.plots.paper_roc import PaperRocDisplay
from evenscore.plots.roc_gap import GapSeries, RocGapDisplay
from evenscore.plots.saving import figure_bytes, save
from evenscore.plots.score_distribution import ScoreDistributionDisplay
from evenscore.plots.style import figure, theme
from evenscore.plots.tradeoff import TradeoffDisplay

__all__ = [
    "AucMatrixDisplay",
    "GapSeries",
    "GroupRocCurve",
    "GroupRocDisplay",
    "HistoryDisplay",
    "InterGroupCurve",
    "InterGroupRocDisplay",
    "PaperRocDisplay",
    "RocGapDisplay",
    "ScoreDistributionDisplay",
    "TradeoffDisplay",
    "figure",
    "figure_bytes",
    "save",
    "theme",
]
