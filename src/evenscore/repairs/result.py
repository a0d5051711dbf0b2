"""A repair: the maps of the groups, how they are applied, kept and shown."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore.columns import check_lengths, counted, to_numbers
from evenscore.inference.certificates import Certificate, certify
from evenscore.inference.estimate import Estimate
from evenscore.labels import label_text
from evenscore.repairs import record
from evenscore.repairs.lookup import Unseen, check_unseen, map_positions
from evenscore.repairs.maps import IncreasingMap, apply_by_group
from evenscore.scores import GroupedScores, OneOrBoth

__all__ = ["Repair"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Repair:
    """One increasing map per group; made by `repair`, or read with `from_dict` or `from_json`.

    `maps` follows `groups`. `gaps["before"]` and `gaps["after"]` are the gaps of the constraints on
    the sample, with intervals. `shortfall` is a sentence about the worst gap left beyond its
    tolerance, with the reason; None if there is none. `conflicts` names the rates that could not
    all be met because the groups have the cuts of negatives and positives in different orders.
    `columns` are the names of the columns that make the groups, if they had names.

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
    columns: tuple[str, ...] | None = None
    shortfall: str | None = None

    def __post_init__(self) -> None:
        check_unseen(self.unseen)
        if len(self.groups) != len(self.maps) or not self.groups:
            raise ValueError(
                f"A repair has one map a group, not {len(self.maps)} for {len(self.groups)}."
            )
        if len(set(self.groups)) < len(self.groups):
            raise ValueError(f"The repair names a group twice: {list(self.groups)!r}.")
        known_by = {len(group) if isinstance(group, tuple) else 1 for group in self.groups}
        if self.columns is not None:
            known_by.add(len(self.columns))
        if len(known_by) > 1:
            raise ValueError(
                "All groups of a repair are known by the same columns, but here by "
                f"{' or '.join(map(str, sorted(known_by)))} of them."
            )
        if self.gaps is None:
            object.__setattr__(self, "gaps", {"before": (), "after": ()})

    def __repr__(self) -> str:
        named = ", ".join(label_text(group) for group in self.groups[:6])
        more = ", …" if len(self.groups) > 6 else ""
        asked = f" of {', '.join(self.constraints)}" if self.constraints else ""
        knots = counted(max(map(len, self.maps)), "knot")
        return f"<Repair{asked}: groups {named}{more}, at most {knots} a map>"

    # ------------------------------------------------------------------ scoring

    def transform(self, y_score: Any, *, sensitive_features: Any) -> Floats:
        """The repaired scores; within a group the ranking and the ties are those of `y_score`.

        A group that the repair has not seen, or a missing one, is refused; with `unseen="pooled"`
        the score is then left as it is (at every rate asked for, the common cut is the one that
        everybody together had, so that somebody like the average meets the cuts unchanged).
        Columns of a data frame or mapping are found by their names if they had names in the fit;
        others are taken in the order of the fit.
        """
        score = to_numbers(y_score, "y_score")
        codes = map_positions(sensitive_features, self.groups, self.columns, self.unseen)
        check_lengths({"y_score": score, "sensitive_features": codes})
        return apply_by_group(score, codes, self.maps)

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
            "format": record.FORMAT,
            "version": record.VERSION,
            "constraints": list(self.constraints),
            "unseen": self.unseen,
            "columns": None if self.columns is None else list(self.columns),
            "maps": [
                {
                    "group": record.plain_group(group),
                    "x": mapping.x.tolist(),
                    "y": mapping.y.tolist(),
                }
                for group, mapping in zip(self.groups, self.maps, strict=True)
            ],
            "conflicts": list(self.conflicts),
            "shortfall": self.shortfall,
            "gaps": {
                when: [record.estimate_to_dict(gap) for gap in gaps]
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
        return cls(**record.read(content))

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
