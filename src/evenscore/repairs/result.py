"""A repair: the maps of the groups, how they are applied, kept and shown."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenscore.columns import check_lengths, to_columns, to_numbers
from evenscore.inference.certificates import Certificate, certify
from evenscore.inference.estimate import Estimate
from evenscore.labels import cross, encode, label_text
from evenscore.repairs.maps import IncreasingMap, apply_by_group
from evenscore.scores import GroupedScores, OneOrBoth

__all__ = ["Repair", "Unseen", "check_unseen"]

Floats = NDArray[np.float64]
Unseen = Literal["error", "pooled"]

FORMAT = "evenscore.repair"
VERSION = 1


@dataclass(frozen=True, eq=False)
class Repair:
    """One increasing map per group; made by `repair`, or read with `from_dict` or `from_json`.

    `maps` follows `groups`. `gaps["before"]` and `gaps["after"]` are the gaps of the constraints on
    the sample, with intervals. `conflicts` names the rates that could not all be met because the
    groups have the cuts of negatives and positives in different orders.

    A map is applied to the score of a person *with that person's group*. Where the law forbids
    treating people differently by group (in the United States, for credit and hiring; in the
    European Union, for sex in insurance), that may be unlawful even if the aim is to be fair: ask
    before you use it. `LinearScorer`, `BoostedScorer` and `NeuralScorer` need no group to score.
    """

    groups: tuple[Hashable, ...]
    maps: tuple[IncreasingMap, ...]
    constraints: tuple[str, ...] = ()
    gaps: Mapping[str, tuple[Estimate, ...]] | None = None
    conflicts: tuple[str, ...] = ()
    unseen: Unseen = "error"

    def __post_init__(self) -> None:
        check_unseen(self.unseen)
        if len(self.groups) != len(self.maps) or not self.groups:
            raise ValueError(
                f"A repair has one map a group, not {len(self.maps)} for {len(self.groups)}."
            )
        if self.gaps is None:
            object.__setattr__(self, "gaps", {"before": (), "after": ()})

    def __repr__(self) -> str:
        named = ", ".join(label_text(group) for group in self.groups[:6])
        more = ", …" if len(self.groups) > 6 else ""
        asked = ", ".join(self.constraints)
        return f"<Repair of {asked}: groups {named}{more}, {max(map(len, self.maps))} knots>"

    # ------------------------------------------------------------------ scoring

    def transform(self, y_score: Any, *, sensitive_features: Any) -> Floats:
        """The repaired scores; within a group the ranking and the ties are those of `y_score`.

        A group that the repair has not seen, or a missing one, is refused; with `unseen="pooled"`
        the score is then left as it is. Several columns are given in the order of the fit. (At
        every rate asked for, the common cut is the one that everybody together had, so that
        somebody like the average meets the cuts unchanged.)
        """
        score = to_numbers(y_score, "y_score")
        codes = self._codes(sensitive_features)
        check_lengths({"y_score": score, "sensitive_features": codes})
        return apply_by_group(score, codes, self.maps)

    def _codes(self, sensitive_features: Any) -> NDArray[np.integer]:
        columns = to_columns(sensitive_features, "sensitive_features")
        check_lengths(columns)
        known_by = len(self.groups[0]) if isinstance(self.groups[0], tuple) else 1
        if len(columns) != known_by:
            raise ValueError(
                f"sensitive_features has {len(columns)} columns, but the repair knows groups by "
                f"{known_by}."
            )
        missing = None
        if self.unseen == "pooled":
            columns, missing = _filled(columns)
        codes, found = cross([encode(column, name) for name, column in columns.items()])
        known = {group: position for position, group in enumerate(self.groups)}
        table = np.array([known.get(label, -1) for label in found], dtype=np.intp)
        if self.unseen == "error" and len(table) and table.min() < 0:
            new = int(np.argmin(table))
            row = int(np.argmax(codes == new))
            named = ", ".join(repr(group) for group in self.groups[:10])
            raise ValueError(
                f"sensitive_features holds the group {found[new]!r} at row {row}, for which the "
                f"repair has no map (it has {named}); unseen='pooled' leaves such scores as they "
                "are."
            )
        if not np.array_equal(table, np.arange(len(table))):
            codes = table[codes]
        if missing is not None:
            codes = np.where(missing, -1, codes)
        return codes

    def certify(
        self,
        y_true: Any,
        y_score: Any,
        *,
        sensitive_features: Any,
        tolerance: float,
        on: OneOrBoth = "both",
        pos_label: Any = None,
        sample_weight: Any = None,
        **options: Any,
    ) -> Certificate:
        """On which rates the repaired score is fair within `tolerance`, by rows *held out*.

        `y_score` is the score before the repair. The rows must not be those that the repair was
        made from: a certificate speaks of a score that did not look at them. Further options are
        those of `inference.certify`.
        """
        repaired = self.transform(y_score, sensitive_features=sensitive_features)
        scores = GroupedScores.from_arrays(
            y_true,
            repaired,
            sensitive_features=sensitive_features,
            pos_label=pos_label,
            sample_weight=sample_weight,
        )
        return certify(scores, tolerance, on=on, **options)

    # ------------------------------------------------------------------ keeping and showing

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and text, as JSON has them; format and version are in it.

        `maps` lists for every group the knots `x` and `y`. A score s of the group with
        x[k] ≤ s < x[k+1] becomes y[k] + (s − x[k]) · (y[k+1] − y[k]) / (x[k+1] − x[k]); below the
        first knot s + y[0] − x[0], at or above the last s + y[last] − x[last]. That is all: a join
        with a table of knots and a line of arithmetic, in any language.
        """
        return {
            "format": FORMAT,
            "version": VERSION,
            "constraints": list(self.constraints),
            "unseen": self.unseen,
            "maps": [
                {"group": _plain(group), "x": mapping.x.tolist(), "y": mapping.y.tolist()}
                for group, mapping in zip(self.groups, self.maps, strict=True)
            ],
            "conflicts": list(self.conflicts),
            "gaps": {
                when: [_estimate_to_dict(gap) for gap in gaps]
                for when, gaps in (self.gaps or {}).items()
            },
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """`to_dict` as JSON text, also written to a file if a path is given."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        if path is not None:
            whole = Path(path)
            part = whole.with_name(f"{whole.name}.part")
            part.write_text(text, encoding="utf-8")
            part.replace(whole)
        return text

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Repair:
        """Read what `to_dict` wrote; `maps` alone will do.

        >>> read = Repair.from_dict({"format": "evenscore.repair", "version": 1, "maps": [
        ...     {"group": "a", "x": [0, 1], "y": [0, 1]},
        ...     {"group": "b", "x": [0, 2], "y": [0, 1]}]})
        >>> read.transform([1.0, 1.0], sensitive_features=["a", "b"])
        array([1. , 0.5])
        """
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            raise ValueError(f"This is not a repair: its format is not {FORMAT!r}.")
        if content.get("version") != VERSION:
            raise ValueError(
                f"The repair is of version {content.get('version')!r}, and only version {VERSION} "
                "can be read."
            )
        maps = content.get("maps")
        if not isinstance(maps, list) or not all(
            isinstance(one, Mapping) and {"group", "x", "y"} <= set(one) for one in maps
        ):
            raise ValueError("The maps of a repair must be a list of group, x and y.")
        try:
            return cls._of_maps(maps, content)
        except (TypeError, AttributeError) as error:
            raise ValueError(f"The repair cannot be read: {error}.") from None

    @classmethod
    def _of_maps(cls, maps: list[Any], content: Mapping[str, Any]) -> Repair:
        groups = [
            tuple(one["group"]) if isinstance(one["group"], list) else one["group"] for one in maps
        ]
        if len(set(groups)) < len(groups):
            raise ValueError(f"The repair names a group twice: {groups!r}.")
        gaps = content.get("gaps", {})
        return cls(
            tuple(groups),
            tuple(IncreasingMap(one["x"], one["y"]) for one in maps),
            tuple(content.get("constraints", ())),
            {
                when: tuple(_estimate_from_dict(gap) for gap in gaps.get(when, ()))
                for when in ("before", "after")
            },
            tuple(content.get("conflicts", ())),
            content.get("unseen", "error"),
        )

    @classmethod
    def from_json(cls, text: str | Path) -> Repair:
        """Read JSON text, or the file at a path (a `Path`)."""
        content = text.read_text(encoding="utf-8") if isinstance(text, Path) else text
        try:
            found = json.loads(content)
        except (json.JSONDecodeError, TypeError) as error:
            raise ValueError(f"The repair is no JSON: {error}.") from None
        return cls.from_dict(found)

    def plot(self, ax: Any = None) -> Any:
        """Draw the map of every group, score before against score after; give the axes."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(layout="constrained")[1]
        low = min(mapping.x[0] for mapping in self.maps)
        high = max(mapping.x[-1] for mapping in self.maps)
        ax.plot([low, high], [low, high], ":", color="0.6", label="no change")
        for group, mapping in zip(self.groups, self.maps, strict=True):
            ax.plot(mapping.x, mapping.y, ".-", markersize=4, label=label_text(group))
        ax.set_xlabel("score before")
        ax.set_ylabel("score after")
        ax.set_title("One increasing map per group")
        ax.legend()
        return ax


def check_unseen(unseen: Any) -> None:
    """Refuse what is neither of the two."""
    if unseen not in ("error", "pooled"):
        raise ValueError(f"unseen must be 'error' or 'pooled', not {unseen!r}.")


def _filled(columns: dict[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], NDArray[np.bool_]]:
    """The columns with missing groups filled with something, and where that is."""
    length = len(next(iter(columns.values())))
    missing = np.zeros(length, dtype=bool)
    found = {}
    for name, column in columns.items():
        gone = np.zeros(length, dtype=bool)
        if column.dtype.kind in "fcmM":
            gone = column != column
        elif column.dtype.kind in "OT":
            column = column.astype(object)
            gone = np.array([_gone(value) for value in column.tolist()], dtype=bool)
        if gone.all() and length:
            column = np.zeros(length, dtype=np.intp)
        elif gone.any():
            column = np.where(gone, column[int(np.argmin(gone))], column)
        found[name] = column
        missing |= gone
    return found, missing


def _gone(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


# ---------------------------------------------------------------------- as JSON has it


def _plain(group: Hashable) -> Any:
    if isinstance(group, tuple):
        return [_plain(part) for part in group]
    if group is None or isinstance(group, str | bool | int | float):
        return group
    raise ValueError(
        f"The group {group!r} is of type {type(group).__name__}, which JSON does not have: "
        "name groups by text or numbers."
    )


def _estimate_to_dict(estimate: Estimate) -> dict[str, Any]:
    """Numbers that JSON does not have (NaN, infinity) become None."""
    found = asdict(estimate)
    for name, value in found.items():
        if isinstance(value, float) and not math.isfinite(value):
            found[name] = None
    return {**found, "warnings": list(estimate.warnings)}


def _estimate_from_dict(content: Mapping[str, Any]) -> Estimate:
    known = {field.name for field in fields(Estimate)}
    found = {name: value for name, value in content.items() if name in known}
    for name in ("value", "low", "high", "standard_error", "p_value", "adjusted_p_value"):
        if found.get(name, 0.0) is None:
            found[name] = math.nan
    if found.get("degrees_of_freedom", 0.0) is None:
        found["degrees_of_freedom"] = math.inf
    found["warnings"] = tuple(found.get("warnings", ()))
    return Estimate(**found)
