"""A repair: the maps of the groups, how they are applied, kept and shown.

The file of a repair is JSON: format "evenscore.repair", version "2.0". A minor version adds entries
and a reader skips those it does not know.
"""

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from evenscore.auditing.plain import from_plain, to_plain
from evenscore.auditing.stored import from_file
from evenscore.files.atomic import write_atomically
from evenscore.inference.certificates import Certificate, certify
from evenscore.inference.estimate import Estimate
from evenscore.repairing.maps import (
    IncreasingMap,
    Unseen,
    apply_by_group,
    check_unseen,
    map_positions,
)
from evenscore.scores import GroupedScores, OneOrBoth
from evenscore.scores.arrays import Floats
from evenscore.scores.labels import label_text
from evenscore.scores.sources import check_lengths, counted, to_numbers
from evenscore.scores.stored import plain_group, restored_group

FORMAT, VERSION = "evenscore.repair", "2.0"
_FIELDS: dict[str, Any] = {
    "constraints": tuple[str, ...],
    "unseen": Unseen,
    "columns": tuple[str, ...] | None,
    "conflicts": tuple[str, ...],
    "shortfall": str | None,
}
"""What a file of a repair holds beside the maps and the gaps."""


@dataclass(frozen=True, eq=False)
class Repair:
    """One increasing map per group; made by `repair`, or read with `from_dict` or `from_json`.

    A map is applied to the score of a person *with that person's group*. Where the law forbids
    treating people differently by group (in the United States, for credit and hiring; in the
    European Union, for sex in insurance), that may be unlawful even if the aim is to be fair: ask
    before you use it. `EvenScorer` and `LinearScorer` need no group to score.

    Parameters
    ----------
    groups : tuple
        The groups that have a map; an intersection of several columns is a tuple.
    maps : tuple of IncreasingMap
        Their maps, in the same order.
    constraints : tuple of str
        The names of what was asked for.
    gaps : dict
        "before" and "after": the gaps of the constraints on the sample, with intervals, as tuples
        of `Estimate`.
    conflicts : tuple of str
        The rates that could not all be met because the groups have the cuts of negatives and
        positives in different orders.
    unseen : "error" or "unchanged"
        What `transform` does with people of other groups: refuse them, or leave their scores.
    columns : tuple of str, optional
        The names of the columns that make the groups, if they had names.
    shortfall : str, optional
        A sentence about the gaps left beyond their tolerances by more than chance explains: what
        they were, what they are, and the reason.

    Examples
    --------
    >>> halved = IncreasingMap([0, 2], [0, 1])
    >>> fair = Repair(("a", "b"), (IncreasingMap([0], [0]), halved), unseen="unchanged")
    >>> fair.transform([1.0, 1.0, 1.0], sensitive_features=["a", "b", "c"])
    array([1. , 0.5, 1. ])
    """

    groups: tuple[Hashable, ...]
    maps: tuple[IncreasingMap, ...]
    constraints: tuple[str, ...] = ()
    gaps: Mapping[str, tuple[Estimate, ...]] = field(
        default_factory=lambda: {"before": (), "after": ()}
    )
    conflicts: tuple[str, ...] = ()
    unseen: Unseen = "error"
    columns: tuple[str, ...] | None = None
    shortfall: str | None = None

    def __post_init__(self) -> None:
        check_unseen(self.unseen)
        if len(self.groups) != len(self.maps) or not self.groups:
            raise ValueError(
                f"A repair has one map per group, not {len(self.maps)} for {len(self.groups)}."
            )
        if len(set(self.groups)) < len(self.groups):
            raise ValueError(f"The repair names a group twice: {list(self.groups)!r:.80}.")
        known_by = {len(group) if isinstance(group, tuple) else 1 for group in self.groups}
        if self.columns is not None:
            known_by.add(len(self.columns))
        if len(known_by) > 1:
            raise ValueError(
                "All groups of a repair are known by the same columns, but here by "
                f"{' or '.join(map(str, sorted(known_by)))} of them."
            )

    def __repr__(self) -> str:
        named = ", ".join(label_text(group) for group in self.groups[:6])
        more = ", …" if len(self.groups) > 6 else ""
        asked = f" of {', '.join(self.constraints)}" if self.constraints else ""
        knots = counted(max(map(len, self.maps)), "knot")
        return f"<Repair{asked}: groups {named}{more}, at most {knots} per map>"

    # ------------------------------------------------------------------ scoring

    def transform(self, y_score: Any, *, sensitive_features: Any) -> Floats:
        """The repaired scores; within a group the ranking and the ties are those of `y_score`.

        Parameters
        ----------
        y_score : column of numbers
            Scores of any people.
        sensitive_features : column, or several
            Their groups. One that the repair has not seen, or a missing one, is refused; with
            `unseen="unchanged"` the score is then left as it is (at every rate asked for, the
            common cut is the one that everybody together had, so that somebody like the average
            meets the cuts unchanged). Columns of a data frame or mapping are found by their names
            if they had names in the fit; others are taken in the order of the fit.

        Returns
        -------
        array
            As many scores.
        """
        score = to_numbers(y_score, "y_score")
        codes = map_positions(sensitive_features, self.groups, self.columns, self.unseen)
        check_lengths({"y_score": score, "sensitive_features": codes})
        repaired = apply_by_group(score, codes, self.maps)
        if not np.all(np.isfinite(repaired)):
            row = int(np.argmin(np.isfinite(repaired)))
            raise ValueError(
                f"y_score is {score[row]:g} at row {row}, which its map takes beyond double "
                "precision: rescale the scores."
            )
        return repaired

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

        Rates are the paper's, of each class by itself, whatever the repair was asked for. Rates at
        the cuts in use are certified by `certified_choice([repair], …, constraints=…)`. The rows
        must not be those that the repair was made from: a certificate speaks of a score that did
        not look at them.

        Parameters
        ----------
        y_true, sensitive_features, pos_label, sample_weight
            As in `repair`.
        y_score : column of numbers
            The score before the repair.
        tolerance : float
            The gap that is still fair.
        on : "negatives", "positives" or "both"
            The class whose gaps are to be within the tolerance.
        **options
            Those of `inference.certify`.

        Returns
        -------
        Certificate
            With the rates, or with how far the proof falls short.
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
        with a table of knots and a line of arithmetic, in any language. A NaN is None, and
        infinities are the texts "Infinity" and "-Infinity".
        """
        return {
            "format": FORMAT,
            "version": VERSION,
            **{name: to_plain(getattr(self, name)) for name in _FIELDS},
            "maps": [
                {"group": plain_group(group), **to_plain(mapping)}
                for group, mapping in zip(self.groups, self.maps, strict=True)
            ],
            "gaps": to_plain(self.gaps),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """The same as JSON text; written to `path` if given, whole or not at all."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_atomically(path, text)
        return text

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The repair that `to_dict` wrote; `maps` alone will do.

        >>> fair = Repair.from_dict({"format": "evenscore.repair", "version": "2.0", "maps": [
        ...     {"group": "a", "x": [0, 1], "y": [0, 1]},
        ...     {"group": "b", "x": [0, 2], "y": [0, 1]}]})
        >>> fair.transform([1.0, 1.0], sensitive_features=["a", "b"])
        array([1. , 0.5])
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ValueError(f"This is not a repair: it lacks 'format': {FORMAT!r}.")
        version = data.get("version")
        if not isinstance(version, str) or version.split(".")[0] != VERSION.split(".")[0]:
            raise ValueError(
                f"The repair is of version {version!r:.80}; this evenscore reads {VERSION}."
            )
        maps, gaps = data.get("maps"), data.get("gaps", {})
        if not isinstance(maps, list) or not all(
            isinstance(one, Mapping) and {"group", "x", "y"} <= set(one) for one in maps
        ):
            raise ValueError("The maps of a repair must be a list of group, x and y.")
        if not isinstance(gaps, Mapping):
            raise ValueError(f"repair.gaps must be an object, not {gaps!r:.80}.")
        return cls(
            groups=tuple(restored_group(one["group"], "repair.maps") for one in maps),
            maps=tuple(IncreasingMap(one["x"], one["y"]) for one in maps),
            gaps={
                when: from_plain(tuple[Estimate, ...], gaps.get(when, ()), f"repair.gaps.{when}")
                for when in ("before", "after")
            },
            **{
                name: from_plain(kind, data[name], f"repair.{name}")
                for name, kind in _FIELDS.items()
                if name in data
            },
        )

    @classmethod
    def from_json(cls, path: str | Path) -> Self:
        """Read the file that `to_json` wrote."""
        return from_file(path, cls.from_dict)

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
