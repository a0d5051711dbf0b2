"""The cut that the reader picks: what the slider shows, as data that the script only looks up.

Numbers are rounded here, once: rates are sent as whole tenths of a percent, so that the script
shows the very digits that a table of the same audit shows.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from evenscore.auditing import AuditResult
from evenscore.auditing.blocks import AtThresholds
from evenscore.gaps.rates import rate_heading
from evenscore.inference.cuts import CutTable, ImpactRatio, Shares
from evenscore.showing import numbers
from evenscore.showing.page.charts import Chart

RATES = {"selection_rate": "selection", "fnr": "fnr", "fpr": "fpr", "precision": "precision"}
"""The rates of the table, by their names in a `CutTable` and in the catalogue."""


@dataclass(frozen=True)
class Picker:
    """The table at the cut that the reader picks.

    `cuts` are all cuts of the slider, `asked` the positions of those asked for: it opens with the
    middle one. `columns` are the rates shown, with their headings, and `data` is what the script
    reads.
    """

    cuts: CutTable
    asked: tuple[int, ...]
    columns: tuple[tuple[str, str, str], ...]
    data: str

    @property
    def at(self) -> int:
        """The cut that it opens with."""
        return self.asked[len(self.asked) // 2] if self.asked else 0


def picker(result: AuditResult, charts: Sequence[Chart], roc: Chart | None) -> Picker | None:
    """The picker of an audit; none without a cut."""
    asked = result.thresholds
    cuts = asked
    if AtThresholds.name in result.blocks:
        cuts = merged_cuts(asked, result.explorer)
    if not len(cuts.thresholds):
        return None
    places = tuple(dict.fromkeys(np.searchsorted(cuts.thresholds, asked.thresholds).tolist()))
    if cuts is asked:
        places = tuple(range(len(asked.thresholds)))
    words = result.settings.words
    names = list(RATES) if result.outcomes_known else ["selection_rate"]
    columns = tuple((name, rate_heading(RATES[name], words), _CODES[name]) for name in names)
    return Picker(cuts, places, columns, json_block(_data(result, cuts, names, charts, roc)))


_CODES = {"selection_rate": "selection rate", "fpr": "FPR", "fnr": "FNR", "precision": "precision"}


def merged_cuts(asked: CutTable, others: CutTable) -> CutTable:
    """The rows of both, by threshold; of two with the same threshold, the one asked for."""
    both = np.concatenate([asked.thresholds, others.thresholds])
    order = np.unique(both, return_index=True)[1].tolist()
    names = ("thresholds", "labels", "selected", "selected_share", *RATES, "impact_ratio")
    return replace(asked, **_merged(asked, others, names, order))


def _merged(one: Any, other: Any, names: Iterable[str], order: list[int]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for name in names:
        first, second = getattr(one, name), getattr(other, name)
        if isinstance(first, Shares | ImpactRatio):
            parts = [part.name for part in fields(first)]
            merged[name] = type(first)(**_merged(first, second, parts, order))
        elif isinstance(first, tuple):
            merged[name] = tuple((*first, *second)[k] for k in order)
        else:
            # One without rows has lost its other dimensions, if it was stored in between.
            filled = [part for part in (first, second) if len(part)] or [first]
            merged[name] = np.concatenate(filled)[order]
    return merged


def _data(
    result: AuditResult,
    cuts: CutTable,
    names: list[str],
    charts: Sequence[Chart],
    roc: Chart | None,
) -> dict[str, Any]:
    ratio = cuts.impact_ratio
    # A cut is drawn in the pictures whose axis is the share of everyone that it selects.
    on_axis = result.cuts.is_range and result.cuts.of == "everyone" and len(charts) > 0
    low, high = charts[0].x if on_axis else (1.0, 0.0)
    frame = None
    if roc is not None:
        frame = [roc.at_x(0.0), roc.at_x(1.0), roc.at_y(0.0), roc.at_y(1.0)]
    return {
        "thresholds": [f"{t:.4g}" for t in cuts.thresholds.tolist()],
        "share": [_tenths(share) for share in cuts.selected_share.tolist()],
        "x": [
            charts[0].at_x(share) if low <= share <= high else None
            for share in cuts.selected_share.tolist()
        ],
        "frame": frame,
        "selected": [[f"{n:,.0f}" for n in row] for row in cuts.selected.tolist()],
        "rates": {name: _triples(getattr(cuts, name)) for name in names},
        "ratio": [numbers.ratio(value) for value in ratio.value.tolist()],
        "notes": [note[:1].upper() + note[1:] for note in ratio.notes],
        "none": numbers.NONE,
        "no_interval": numbers.NO_INTERVAL,
    }


def _triples(shares: Shares) -> list[list[list[int | None]]]:
    """(value, low, high) by threshold and group."""
    parts = np.stack([shares.value, shares.low, shares.high], axis=-1)
    return [[[_tenths(x) for x in cell] for cell in row] for row in parts.tolist()]


def _tenths(share: float) -> int | None:
    """Tenths of a percent, rounded as the tables round: 0.12345 is 123."""
    return None if math.isnan(share) else int(f"{share:.1%}"[:-1].replace(".", ""))


def json_block(data: Any) -> str:
    r"""JSON that can stand in a script element: no text in it can end the element or start markup.

    >>> json_block("</script>&")
    '"\\u003c/script\\u003e\\u0026"'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
