"""Two tables of cuts as one, in the order of their thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenscore.inference.cuts import CutTable, ImpactRatio, Shares

__all__ = ["merged_cuts"]


def merged_cuts(asked: CutTable, others: CutTable) -> CutTable:
    """The rows of both; of two with the same threshold, the one asked for."""
    thresholds = np.concatenate([asked.thresholds, others.thresholds])
    _, order = np.unique(thresholds, return_index=True)

    def rows(name: str) -> Any:
        parts = [getattr(table, name) for table in (asked, others)]
        return _merged(parts, order)

    return CutTable(
        thresholds[order],
        rows("labels"),
        asked.groups,
        asked.confidence_level,
        rows("selected"),
        rows("selected_share"),
        rows("selection_rate"),
        rows("fpr"),
        rows("fnr"),
        rows("precision"),
        rows("impact_ratio"),
        asked.remark,
    )


def _merged(parts: list[Any], order: Any) -> Any:
    first = parts[0]
    if isinstance(first, Shares | ImpactRatio):
        names = first.__dataclass_fields__
        return type(first)(
            **{name: _merged([getattr(part, name) for part in parts], order) for name in names}
        )
    if isinstance(first, tuple):
        both = [text for part in parts for text in part]
        return tuple(both[k] for k in order.tolist())
    return np.concatenate(parts)[order]
