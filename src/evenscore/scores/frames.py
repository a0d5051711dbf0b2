"""Tables from frames of any engine: pandas, polars, pyarrow, DuckDB, Spark, Dask, Ibis.

Everything an audit reports is a function of one GROUP BY, which the engine computes where the data
are: one narwhals expression for all of them. A first pass looks at what there is (`survey`). If
there are few rows they are grouped by their scores; otherwise by ordered bins, which are made finer
where that is needed from what the last ones showed (`refining`), in four more passes at most. If in
the end no bin holds two scores, the table is exact; otherwise it says what it does not know
(`Binned`).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenscore.scores.arrays import Bools, Floats, Ints
from evenscore.scores.bins import Bins
from evenscore.scores.brackets import auc_bracket
from evenscore.scores.distribution import check_weights
from evenscore.scores.labels import is_missing
from evenscore.scores.reading import group_positions, positive_rows
from evenscore.scores.refining import BinShares, crowded, refined
from evenscore.scores.sources import to_array
from evenscore.scores.survey import (
    GOOD,
    LABEL,
    SCORE,
    WEIGHT,
    FrameColumns,
    Survey,
    check_told,
    collected,
    group_name,
    prepared,
    state,
    survey,
)
from evenscore.scores.table import GroupedScores

FEW_ROWS = 100_000
"""Rows that are grouped by their scores: as many rows would come back from any bins."""

_ROWS = 85_000  # that bins are planned to take: the number is guessed, and should not pass 100,000
_LEVEL = 14  # of the first grid: 16,384 bins
_PASSES = 4  # at most, after the first look
_HEAVY = 0.005  # of a cell in a bin makes it part of the core
_CORE = 16  # a core is at most 2^-16 of the range: less is reached by dividing bins
_APART = 32  # scores that very many people have: each costs two comparisons per row
_COMMON = 0.001  # of the people of a cell have a score that is set apart
_CELLS = 6  # of three groups; more cells may take more rows
_RATE = 10.0  # a rate at a cut may be off by so many times what an AUC may be
_SHARES = 1.2  # a gap at a cut may be off by the larger share of its cells in a bin; some to spare


class CutsInUse(Protocol):
    """Where a score will be cut."""

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The cuts that are scores."""

    def spans(self, scores: GroupedScores) -> list[tuple[float, float]]:
        """The lowest and the highest score between which cuts lie."""


@dataclass(frozen=True, eq=False)
class FrameReading:
    """A table, and what there is to say about how it was read.

    `passes` is how often the frame was gone through, `positive` the positive label as the frame has
    it and `negative` the other one.
    """

    scores: GroupedScores
    survey: Survey
    passes: int
    positive: Any = None
    negative: Any = None


@dataclass(frozen=True, eq=False)
class _Answer:
    """What one pass gave: a row per bin (or score) and cell, decoded."""

    key: Floats
    lowest: Floats
    highest: Floats
    positive: Bools
    codes: Ints
    groups: tuple[Hashable, ...]
    sums: dict[str, Floats]

    def table(self, bins: Bins | None) -> GroupedScores:
        if bins is None:
            return GroupedScores.from_codes(
                self.highest, self.positive, self.codes, self.groups, **self.sums
            )
        key = np.asarray(self.key, dtype=np.int64)
        return GroupedScores.from_bins(
            bins, key, self.lowest, self.highest, self.positive, self.codes, self.groups,
            **self.sums,
        )  # fmt: skip

    def shares(self, scores: GroupedScores, cuts: CutsInUse | None) -> BinShares:
        """What each bin of its table holds."""
        assert scores.binned is not None
        level, place = np.unique(scores.score, return_inverse=True)
        place = place.reshape(-1)
        totals = scores.cell_weights.reshape(-1)
        share = np.zeros((len(level), scores.n_cells))
        share[place, scores.cell] = scores.weight / totals[scores.cell]
        used = np.zeros(len(level), dtype=bool)
        for low, high in [] if cuts is None else cuts.spans(scores):
            used |= (level >= low) & (level <= high)
        is_open = scores.binned.is_open(level)
        count = np.asarray(np.bincount(place, scores.count, len(level)), dtype=np.float64)
        return BinShares(level, is_open, share, count, used)


def read_frame(
    frame: Any,
    *,
    score: str,
    label: str | None,
    group: str | Sequence[str],
    weight: str | None = None,
    pos_label: Any = None,
    group_order: Sequence[Hashable] | None = None,
    accuracy: float = 1e-4,
    cuts: CutsInUse | None = None,
    bins: Bins | None = None,
    drop_missing: bool = False,
    few_rows: int | None = None,
) -> FrameReading:
    """The table of a frame, and what was seen on the way; see `GroupedScores.from_frame`.

    Up to `few_rows` rows (by default `FEW_ROWS`) are grouped by their scores.
    """
    columns = FrameColumns(score, label, _names(group), weight)
    if not isinstance(accuracy, int | float) or not 0.0 <= accuracy < 0.5:
        raise ValueError(f"accuracy must be at least 0 and below 0.5, not {accuracy!r}.")
    if bins is not None and not isinstance(bins, Bins):
        raise TypeError(f"bins must be those of a table, not {type(bins).__name__}.")
    lazy = prepared(frame, columns)
    found = survey(lazy, columns, drop_missing=drop_missing)
    reader = _Reader(lazy, columns, found, pos_label, group_order)
    if bins is not None:
        return reader.reading(reader.ask(bins).table(bins), 2)
    if (
        accuracy == 0.0
        or found.n <= (FEW_ROWS if few_rows is None else few_rows)
        or found.low == found.high
    ):
        return reader.reading(reader.ask(None).table(None), 2)
    thresholds = () if cuts is None else cuts.thresholds
    bins = Bins.between(found.low, found.high, (_LEVEL,), apart=thresholds)
    scores, passes = _planned(reader, bins, accuracy, cuts)
    assert scores.binned is not None
    if not scores.binned.n_open:
        scores = replace(scores, binned=None)
    return reader.reading(scores, passes)


def _planned(
    reader: "_Reader", bins: Bins, accuracy: float, cuts: CutsInUse | None
) -> tuple[GroupedScores, int]:
    """A table of bins as fine as it takes, and how often the frame was gone through for it."""
    rate, wide, passes = _RATE / _SHARES * accuracy, 1.0, 1
    asked = False
    while True:
        answer = reader.ask(bins)
        scores = answer.table(bins)
        passes += 1
        shares = answer.shares(scores, cuts)
        if auc_bracket(scores) <= accuracy * wide and shares.rate_bracket <= rate * wide:
            return scores, passes
        if passes > _PASSES:
            return scores, passes
        core = _core(scores, shares, accuracy, rate)
        if core is not None and passes < _PASSES:
            bins = Bins.between(*core, (_LEVEL,), apart=bins.apart)
            continue
        heavy = crowded(bins, shares, accuracy, rate)
        if heavy.any() and not asked and passes < _PASSES:
            asked, passes = True, passes + 1
            values = reader.common(bins, bins.key(shares.highest[heavy]), scores.groups)
            bins, shares = _set_apart(bins, shares, scores, values)
        rows = round(_ROWS * max(1.0, scores.n_cells / _CELLS))
        bins, wide = refined(bins, shares, accuracy, rate, rows)


def _core(
    scores: GroupedScores, shares: BinShares, accuracy: float, rate: float
) -> tuple[float, float] | None:
    """Where nearly everybody is, if that is a very small part of where anybody is.

    A few scores far out, or one that stands for something else, would take all bins: whoever is
    beyond the core has a bin on each side.
    """
    assert scores.binned is not None
    heavy = np.flatnonzero(shares.is_open & (shares.share.max(axis=1) > _HEAVY))
    if not len(heavy):
        return None
    first, last = int(heavy[0]), int(heavy[-1])
    low = float(scores.binned.lowest[first])
    high = float(scores.binned.highest[last])
    width = scores.binned.highest[-1] / 2.0 - scores.binned.lowest[0] / 2.0
    outside = np.stack([shares.share[:first].sum(axis=0), shares.share[last + 1 :].sum(axis=0)])
    products = outside.T @ outside
    np.fill_diagonal(products, 0.0)
    used = [*shares.used[:first], *shares.used[last + 1 :]]
    seen = bool(np.any(used)) and float(outside.max()) > rate
    small = (high / 2.0 - low / 2.0) < width * 2.0**-_CORE
    return (low, high) if small and not seen and products.max() <= accuracy else None


def _set_apart(
    bins: Bins, shares: BinShares, scores: GroupedScores, values: _Answer
) -> tuple[Bins, BinShares]:
    """The same with the scores that most people have in bins of their own."""
    level, place = np.unique(values.highest, return_inverse=True)
    place = place.reshape(-1)
    cell = values.codes + values.positive * len(values.groups)
    share, count = np.zeros((len(level), scores.n_cells)), np.zeros(len(level))
    weight = values.sums.get("weight", values.sums["count"])
    np.add.at(share, (place, cell), weight / scores.cell_weights.reshape(-1)[cell])
    np.add.at(count, place, values.sums["count"])
    most = np.argsort(-share.max(axis=1, initial=0.0), kind="stable")[:_APART]
    level, share, count = level[most], share[most], count[most]
    here = np.searchsorted(shares.highest, level)  # the bins they come from
    rest, people = shares.share.copy(), shares.count.copy()
    np.subtract.at(rest, here, share)
    np.subtract.at(people, here, count)
    left = BinShares(
        np.append(shares.highest, level),
        np.append(shares.is_open, np.zeros(len(level), dtype=bool)),
        np.concatenate([np.maximum(rest, 0.0), share]),
        np.append(np.maximum(people, 1.0), count),
        np.append(shares.used, shares.used[here]),
    )
    return replace(bins, apart=tuple(sorted({*bins.apart, *level.tolist()}))), left


def _names(group: str | Sequence[str]) -> tuple[str, ...]:
    if not isinstance(group, str | Sequence):
        kind = type(group).__name__
        raise TypeError(f"group must be the name of a column, or a list of names, not {kind}.")
    names = (group,) if isinstance(group, str) else tuple(group)
    if not names:
        raise ValueError("group must name at least one column.")
    if len(set(names)) < len(names):
        raise ValueError(f"group names a column twice: {list(names)!r}.")
    return names


@dataclass(frozen=True, eq=False)
class _Reader:
    """A prepared frame, ready to be asked."""

    lazy: Any
    columns: FrameColumns
    survey: Survey
    pos_label: Any
    group_order: Sequence[Hashable] | None

    def common(self, bins: Bins, keys: Ints, groups: Sequence[Hashable]) -> _Answer:
        """The scores in some bins that many people have; groups are those of the table."""
        import narwhals as nw

        inside = bins.expression(nw.col(SCORE)).is_in([float(key) for key in keys])
        least = max(20.0, _COMMON * float(self.survey.count.min()))
        return replace(self, group_order=groups).ask(None, kept=inside, least=least)

    def ask(self, bins: Bins | None, *, kept: Any = None, least: float = 0.0) -> _Answer:
        """One pass: the GROUP BY of bins, or of the scores themselves, label and groups.

        Of the rows `kept` only, and only what `least` rows have in common.
        """
        import narwhals as nw

        lazy, columns = self.lazy, self.columns
        if not self.survey.is_clean:
            whole = [~nw.col(key).is_null() for key in columns.keys]
            lazy = lazy.filter(state(columns) == GOOD, *whole)
        if kept is not None:
            lazy = lazy.filter(kept)
        score = nw.col(SCORE)
        chosen = {"es_key": score if bins is None else bins.expression(score)}
        sums = [nw.len().alias("n")]
        if bins is not None:
            chosen[SCORE] = score
            sums += [score.min().alias("low"), score.max().alias("high")]
        if columns.weight is not None:
            # pyarrow does not square within a sum.
            weight = nw.col(WEIGHT)
            chosen |= {WEIGHT: weight, "es_square": weight * weight}
            sums += [weight.sum().alias("w"), nw.col("es_square").sum().alias("w2")]
        keys = [*columns.keys]
        chosen |= {key: nw.col(key) for key in keys}
        grouped = lazy.select(**chosen).group_by("es_key", *keys).agg(*sums)
        if least:
            grouped = grouped.filter(nw.col("n") >= least).head(FEW_ROWS)
        return self._decoded(collected(grouped), exact=bins is None)

    def _decoded(self, answer: dict[str, list[Any]], *, exact: bool) -> _Answer:
        columns = self.columns
        names = [group_name(k) for k in range(len(columns.group))]
        asked = [answer[name] for name in columns.keys]
        if any(is_missing(value) for values in asked for value in set(values)):  # NaN is no NULL
            kept = [k for k, row in enumerate(zip(*asked, strict=True))
                    if not any(map(is_missing, row))]  # fmt: skip
            answer = {name: [values[k] for k in kept] for name, values in answer.items()}
        groups = {
            f"column {name!r}": _objects(answer[key])
            for key, name in zip(names, columns.group, strict=True)
        }
        codes, labels = group_positions(groups, self.group_order)
        numbers = {
            name: np.array(answer[name], dtype=np.float64)
            for name in ("es_key", "n", "low", "high", "w", "w2")
            if name in answer
        }
        positive = np.zeros(len(codes), dtype=bool)
        if columns.label is not None:
            values = to_array(answer[LABEL], f"column {columns.label!r}")
            positive = positive_rows(values, self.pos_label, f"column {columns.label!r}")
        for name in ("es_key", "low", "high"):
            check_told(numbers.get(name, 0.0), columns.score)
        sums = {"count": numbers["n"]}
        if "w" in numbers:
            sums |= {"weight": numbers["w"], "weight_squared": numbers["w2"]}
            check_told(numbers["w"], str(columns.weight))
            check_weights(numbers["w"], f"column {columns.weight!r}")
        key = numbers["es_key"]
        lowest, highest = (key, key) if exact else (numbers["low"], numbers["high"])
        return _Answer(key, lowest, highest, positive, codes, labels, sums)

    def reading(self, scores: GroupedScores, passes: int) -> FrameReading:
        """The table, with the labels as the frame has them."""
        if self.columns.label is None:
            return FrameReading(scores, self.survey, passes)
        found = list(dict.fromkeys(cell[0] for cell in self.survey.cells))
        labels = to_array(found, f"column {self.columns.label!r}")
        positive = positive_rows(labels, self.pos_label, f"column {self.columns.label!r}")
        names = [next((v for v, p in zip(found, positive.tolist(), strict=True) if p is side), "")
                 for side in (True, False)]  # fmt: skip
        return FrameReading(scores, self.survey, passes, *names)


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
