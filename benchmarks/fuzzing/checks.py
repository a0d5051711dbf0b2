"""What must hold of every audit, and naive numbers to hold it against."""

from __future__ import annotations

import dataclasses
import io
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from evenscore import AuditResult, Estimate
from evenscore.gaps.words import ALL_OTHERS

from .drawing import FailureError

NEAR = 1e-9
ERRORS = {"fpr": 0, "fnr": 1}


def require(holds: bool, *what: Any) -> None:
    if not holds:
        raise FailureError("; ".join(map(str, what)))


def close(one: float, other: float, within: float = NEAR) -> bool:
    return (math.isnan(one) and math.isnan(other)) or abs(one - other) <= within


class Naive:
    """People who weigh something, and measures of them by comparing everybody with everybody."""

    def __init__(self, positive: Any, score: Any, group: Any, weight: Any = None) -> None:
        weight = np.ones(len(score)) if weight is None else np.asarray(weight, dtype=float)
        kept = weight > 0.0
        largest = weight.max() if kept.any() else 1.0
        self.weight = weight[kept] / largest
        self.positive = np.asarray(positive, dtype=bool)[kept]
        self.score = np.asarray(score, dtype=float)[kept]
        self.group = np.array([None, *group], dtype=object)[1:][kept]
        # Sums of weights that differ too much are not known to every digit.
        self.even = len(self.weight) == 0 or self.weight.min() > 1e-4

    def where(self, group: Any = None, positive: bool | None = None) -> np.ndarray:
        if group is None:
            picked = np.ones(len(self.score), dtype=bool)
        else:
            picked = np.array([one in group for one in self.group], dtype=bool)
        return picked if positive is None else picked & (self.positive == positive)

    def auc(self, reference: np.ndarray, target: np.ndarray) -> float:
        low, high = self.score[reference][:, None], self.score[target][None, :]
        pairs = self.weight[reference][:, None] * self.weight[target][None, :]
        won = (pairs * ((high > low) + 0.5 * (high == low))).sum()
        return float(won / pairs.sum()) if pairs.sum() > 0 else math.nan

    @property
    def overall(self) -> float:
        return self.auc(self.where(positive=False), self.where(positive=True))

    def notion(self, name: str, one: Any, other: Any) -> float:
        """An AUC gap of the catalogue between two sets of groups; NaN of those not written here."""
        at = self.where
        if name == "intra_group":
            first, second = (self.auc(at(g, False), at(g, True)) for g in (one, other))
        elif name == "bnsp":
            first, second = (self.auc(at(None, False), at(g, True)) for g in (one, other))
        elif name == "bpsn":
            first, second = (self.auc(at(g, False), at(None, True)) for g in (one, other))
        elif name == "inter_group":
            first = self.auc(at(one, False), at(other, True))
            second = self.auc(at(other, False), at(one, True))
        elif name == "zero_aeg":
            first, second = (self.auc(at(None, True), at(g, True)) for g in (one, other))
        elif name == "zero_aeg_negatives":
            first, second = (self.auc(at(None, False), at(g, False)) for g in (one, other))
        else:
            return math.nan
        return first - second

    def rate(self, name: str, group: Any, chosen: np.ndarray) -> float:
        """The share of a group, or of a class of it, that a rate counts."""
        if name not in ("selection", "fpr", "fnr", "error"):
            return math.nan
        people = self.where(group, bool(ERRORS[name]) if name in ERRORS else None)
        counted = {"selection": chosen, "fpr": chosen, "fnr": ~chosen}.get(
            name, chosen != self.positive
        )
        whole = self.weight[people].sum()
        return float(self.weight[people & counted].sum() / whole) if whole > 0 else math.nan

    def chosen(self, cuts: Any, threshold: float) -> np.ndarray:
        if cuts.selected == "high":
            return self.score >= threshold if cuts.inclusive else self.score > threshold
        return self.score <= threshold if cuts.inclusive else self.score < threshold


def check_estimate(estimate: Estimate) -> None:
    """Ends in order, p-values that are ones, and a reason for every NaN."""
    name = f"{estimate.title}: {estimate.value} [{estimate.low}, {estimate.high}]"
    if math.isnan(estimate.value) or not estimate.has_interval:
        require(any(text.strip() for text in estimate.warnings), "NaN without a reason", name)
    if estimate.has_interval and not math.isnan(estimate.value):
        slack = 1e-9
        require(estimate.low <= estimate.value + slack, "low > value", name)
        require(estimate.value <= estimate.high + slack, "value > high", name)
        require(math.isfinite(estimate.low) and math.isfinite(estimate.high), "infinite end", name)
    require(not math.isinf(estimate.value), "infinite value", name)
    for p in (estimate.p_value, estimate.adjusted_p_value):
        require(math.isnan(p) or 0.0 <= p <= 1.0, f"p-value {p}", name)
    for test in (estimate.beyond_test, estimate.within_test):
        if test is not None:
            require(math.isnan(test.p_value) or 0.0 <= test.p_value <= 1.0, "test", test, name)
            require(not test.low > test.high, "ends of a test", test, name)


def check_verdict(gap: Estimate, tolerance: float, alpha: float) -> None:
    """A verdict says no more than the interval it goes by."""
    name = f"{gap.title}: {gap.verdict} at {tolerance}"
    require(gap.verdict in ("beyond", "within", "unclear", "undefined"), "verdict", name)
    undefined = math.isnan(gap.value) or not gap.has_interval
    require((gap.verdict == "undefined") == undefined, "undefined", name, gap)
    if undefined:
        return
    low, high = gap.ends("beyond")
    beyond = low > tolerance or high < -tolerance
    require(gap.verdict != "beyond" or beyond, "beyond, but", low, high, name)
    low, high = gap.ends("within")
    within = low >= -tolerance and high <= tolerance
    require(gap.verdict != "within" or within, "within, but", low, high, name)
    for verdict, test in (("beyond", gap.beyond_test), ("within", gap.within_test)):
        if test is not None and gap.verdict == verdict:
            require(test.p_value <= alpha + NEAR, "p-value of the verdict", test, name)


def estimates_in(part: Any) -> Iterator[Estimate]:
    """Every estimate anywhere in a result."""
    if isinstance(part, Estimate):
        yield part
    elif dataclasses.is_dataclass(part) and not isinstance(part, type):
        for one in dataclasses.fields(part):
            if not one.name.startswith("_"):
                yield from estimates_in(getattr(part, one.name))
    elif isinstance(part, Mapping):
        for value in part.values():
            yield from estimates_in(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from estimates_in(value)


def check_result(result: AuditResult, people: Naive | None) -> None:
    """Everything that holds of an audit, and its numbers where people are known by its names."""
    for estimate in estimates_in(result):
        check_estimate(estimate)
    settings = result.settings
    for audit in (result, *(column.audit for column in result.columns)):
        for gap in audit.gaps:
            check_verdict(gap, settings.tolerance, 1.0 - settings.confidence_level)
    text = str(result.answer)
    require(text.strip() and "\n" not in text and "nan" not in text.lower().split(), "answer", text)
    for told in (*result.warnings, *result.assumptions, *result.omitted):
        require(told.endswith((".", "?")) and "\n" not in told, "a sentence", told)
    if people is None:
        return
    require(result.sample.n == len(people.score), "n", result.sample.n, len(people.score))
    if result.outcomes_known:
        within = NEAR + result.auc.bracket
        require(close(result.auc.value, people.overall, within), "AUC", result.auc, people.overall)
    if set(result.groups) != set(people.group):
        return
    for gap in (*result.gaps, *result.cut_gaps):
        if not math.isnan(gap.value):
            _check_gap(gap, result, people)


def _check_gap(gap: Estimate, result: AuditResult, people: Naive) -> None:
    one, other = {gap.first}, {gap.second}
    if gap.second == ALL_OTHERS and ALL_OTHERS not in result.groups:
        other = set(result.groups) - one
    elif ALL_OTHERS in (gap.first, gap.second):
        return
    within = NEAR + gap.bracket
    naive = people.notion(gap.name, one, other)
    if not math.isnan(naive):
        require(close(gap.value, naive, within), "gap", gap, naive)
    rate, cuts = gap.name.removesuffix("_gap"), result.settings.cuts
    if gap.family == "rate" and cuts is not None and cuts.thresholds and gap.at == cuts.text():
        sizes = []
        for threshold in cuts.thresholds:
            chosen = people.chosen(cuts, threshold)
            sizes.append(people.rate(rate, one, chosen) - people.rate(rate, other, chosen))
        require(
            math.isnan(sum(sizes)) or any(close(gap.value, size, within) for size in sizes),
            "gap at thresholds", gap, sizes,
        )  # fmt: skip
    if gap.family == "rate" and not math.isnan(gap.first_value) and people.even:
        difference = gap.first_value - gap.second_value
        require(close(gap.value, difference), "values of a gap", gap)
        # A cut anywhere between two scores is that cut: one of those on either side has the rates.
        found = [
            [people.rate(rate, group, chosen) for group in (one, other)]
            for chosen in _around(people, gap.threshold, result)
        ]
        told = (gap.first_value, gap.second_value)
        require(
            any(math.isnan(sum(f)) or all(map(close, f, told, (within,) * 2)) for f in found),
            "rates at the cut", gap, told, found,
        )  # fmt: skip


def _around(people: Naive, threshold: float, result: AuditResult) -> list[np.ndarray]:
    if result.settings.cuts is None or result.settings.cuts.selected == "high":
        return [people.score > threshold, people.score >= threshold]
    return [people.score < threshold, people.score <= threshold]


def check_shown(result: AuditResult, folder: Path, width: int, *, html: bool) -> None:
    """Shown in every form, and stored, read and stored again to the same file."""
    out = io.StringIO()
    Console(file=out, width=width).print(result)
    require(out.getvalue().strip(), "nothing is printed")
    require(result.to_markdown().strip(), "no Markdown")
    text = result.to_json()
    json.loads(text, parse_constant=_refused)
    path = folder / "audit.json"
    result.to_json(path)
    again = AuditResult.from_json(path)
    require(again.to_json() == text, "JSON read again differs")
    require(again.to_markdown() == result.to_markdown(), "Markdown of the stored audit differs")
    str(result), repr(result), result.to_frame("polars")
    if html:
        page = folder / "page.html"
        again.to_html(page)
        require("<script>alert(1)" not in page.read_text(encoding="utf-8"), "a name is a script")
        require("<script>alert(1)" not in result._repr_html_(), "a name is a script")


def _refused(constant: str) -> None:
    raise FailureError(f"{constant} in JSON")
