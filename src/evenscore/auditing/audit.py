"""audit: columns in, `AuditResult` out. Only orchestration: every number is computed elsewhere."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore.auditing.blocks import BLOCKS, AuditInput, Ranking
from evenscore.auditing.findings import findings_of
from evenscore.auditing.gaps import audited_gaps, families_of
from evenscore.auditing.groups import choose_groups
from evenscore.auditing.numeric_groups import NumericGroups, numeric_groups
from evenscore.auditing.parts import Settings
from evenscore.auditing.result import AuditResult
from evenscore.auditing.sample import assumptions_of, sample_of, warnings_about
from evenscore.gaps import ConstraintLike, GapFamily, RocConstraint
from evenscore.gaps.words import DEFAULT_WORDS, Words
from evenscore.inference.estimate import check_between, check_count, check_level
from evenscore.scores import GroupedScores, check_scores
from evenscore.scores.arrays import Floats
from evenscore.scores.distribution import to_floats
from evenscore.scores.labels import distinct_names, label_text
from evenscore.scores.reading import read_rows

MAX_GROUPS = 100
"""An audit of more groups is refused: nobody could read it, and pairs grow with the square."""


def audit(
    y_true: Any,
    y_score: Any,
    *,
    sensitive_features: Any,
    pos_label: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    group_order: Sequence[Hashable] | None = None,
    reference_group: Any = None,
    min_group_size: int | None = None,
    constraints: ConstraintLike | None = None,
    rates: Sequence[float] = (0.125, 0.25),
    thresholds: Any = None,
    words: Words | None = None,
    tolerance: float = 0.05,
    confidence_level: float = 0.95,
    random_state: int = 0,
    title: str | None = None,
    trained_on: bool | None = None,
) -> AuditResult:
    """Audit a score: how well it ranks people, and whether it does so evenly across groups.

    Parameters
    ----------
    y_true : column of two labels
        Lists, NumPy arrays, pandas, polars and pyarrow columns will do.
    y_score : column of numbers
        The higher, the more likely the positive label.
    sensitive_features : column, or several
        The groups; of several columns, their intersections.
    pos_label : label, optional
        May be left out for labels 0/1, −1/1 and False/True.
    sample_weight : column, optional
        Weights of at least 0.
    cluster : column, or several, optional
        Who or what a row is about, where there are several rows per person, household or branch:
        rows of one cluster are not taken to be independent, and intervals are as wide as that
        makes them. Of several columns, their combinations.
    group_order : list of groups, optional
        By default groups are sorted.
    reference_group : group, optional
        Compare every group with this one only; `evenscore.ALL_OTHERS` compares each group with all
        the others together. By default all groups are compared with each other.
    min_group_size : int, optional
        A group is compared only if both its classes are worth at least so many (effective)
        observations; smaller ones stay people of the population and are shown apart. By default
        30, which an interval of use needs, unless that leaves fewer than two groups.
    constraints : name, constraint or list of them, optional
        The gaps to audit; by default every named AUC notion, and the ROC gaps of both classes at
        `rates`. Any family of gaps will do.
    rates : numbers between 0 and 1
        Of the default ROC gaps, and of the default thresholds.
    thresholds : numbers, optional
        Cuts to look at (a person is selected if their score is above); by default those that select
        the shares `rates` of all negatives.
    words : Words, optional
        What people and outcomes are called, and whether being selected is good for a person.
    tolerance : float
        A gap up to this is called even.
    confidence_level : float
        Of all intervals, and of the statement that no gap is called beyond that is not.
    random_state : int
        Seed of bands and tests that resample.
    title : str, optional
        Of the report.
    trained_on : bool, optional
        Whether the score was trained on these rows: the result says what that means for it.

    Returns
    -------
    AuditResult
        Rows are kept in memory, so that `result.compare(other)` can pair two scores of the same
        people.

    Examples
    --------
    >>> from evenscore import datasets
    >>> data = datasets.load_german()
    >>> result = audit(data.y, data.X[:, 0], sensitive_features=data.groups)
    >>> result.groups
    ('female', 'male')
    >>> result.gaps[0].title, result.gaps[0].verdict
    ('intra_group, female and male', 'unclear')
    """
    request = _Request.of(
        constraints,
        rates,
        thresholds,
        words,
        tolerance,
        confidence_level,
        random_state,
        title,
        trained_on,
    ).comparing(reference_group, min_group_size)
    rows = read_rows(
        y_true,
        sensitive_features,
        y_score=y_score,
        pos_label=pos_label,
        sample_weight=sample_weight,
        cluster=cluster,
        group_order=group_order,
    )
    _check_groups(rows.groups, rows.codes)
    labels = rows.groups
    # A copy is kept for `compare`: the caller may change the columns afterwards.
    score, weight = (None if c is None else c.copy() for c in (rows.score, rows.weight))
    rows = replace(rows.named(), score=score, weight=weight)
    result = _audit(rows.grouped(), labels, request, pos_label, rows.zero_weights)
    return replace(result, _rows=rows)


def audit_scores(
    scores: GroupedScores,
    *,
    reference_group: Any = None,
    min_group_size: int | None = None,
    constraints: ConstraintLike | None = None,
    rates: Sequence[float] = (0.125, 0.25),
    thresholds: Any = None,
    words: Words | None = None,
    tolerance: float = 0.05,
    confidence_level: float = 0.95,
    random_state: int = 0,
    title: str | None = None,
    trained_on: bool | None = None,
    cluster: Any = None,
    pos_label: Any = None,
    zero_weights: int = 0,
    notes: Sequence[str] = (),
) -> AuditResult:
    """Audit a `GroupedScores`, for instance the table that a data engine's GROUP BY gave.

    Everything an audit reports is a function of that table.

    Parameters
    ----------
    scores : GroupedScores
        The table.
    reference_group, min_group_size, constraints, rates, thresholds, words, tolerance, \
confidence_level, random_state, title
        Those of `audit`.
    trained_on : bool, optional
        That of `audit`.
    cluster
        Refused: a table counts rows and does not say which belong together. One that does was made
        by `GroupedScores.from_arrays(…, cluster=…)`.
    pos_label : label, optional
        Only names the positive class.
    zero_weights : int
        How many rows of weight zero were left out of the table, to be mentioned.
    notes : list of sentences
        What else to keep in mind about the table, first among the result's `warnings`.

    Returns
    -------
    AuditResult
        It cannot `compare`: a table does not say who is who.

    Examples
    --------
    >>> scores = GroupedScores.from_table(
    ...     {"score": [1, 2, 1, 2], "label": [0, 1, 0, 1], "group": list("aabb"), "n": [50] * 4},
    ...     count="n")
    >>> audit_scores(scores, constraints="bnsp").gaps[0].value
    0.0
    """
    if cluster is not None:
        raise ValueError(
            "Clusters need rows: a table of counts does not say which rows belong together, so "
            "pass the rows to audit(…, cluster=…) or to GroupedScores.from_arrays(…, cluster=…)."
        )
    request = _Request.of(
        constraints,
        rates,
        thresholds,
        words,
        tolerance,
        confidence_level,
        random_state,
        title,
        trained_on,
    ).comparing(reference_group, min_group_size)
    check_scores(scores)
    _check_groups(scores.groups, scores.cell % max(scores.n_groups, 1))
    named = replace(scores, groups=distinct_names(scores.groups))
    return _audit(named, scores.groups, request, pos_label, zero_weights, notes)


@dataclass(frozen=True, eq=False)
class _Request:
    """What an audit was asked, checked before any work is done."""

    settings: Settings
    families: list[GapFamily]
    cuts: Floats | None
    title: str
    reference_group: Any = None
    min_group_size: int | None = None

    def comparing(self, reference_group: Any, min_group_size: int | None) -> "_Request":
        """The same about the groups that are compared."""
        if min_group_size is not None:
            check_count(min_group_size, "min_group_size", 1)
        return replace(self, reference_group=reference_group, min_group_size=min_group_size)

    @classmethod
    def of(
        cls,
        constraints: ConstraintLike | None,
        rates: Sequence[float],
        thresholds: Any,
        words: Words | None,
        tolerance: float,
        confidence_level: float,
        random_state: int,
        title: str | None,
        trained_on: bool | None,
    ) -> "_Request":
        from evenscore import __version__

        settings = Settings(
            RocConstraint(rates=rates).rates,  # type: ignore[arg-type]  # checked there
            check_between(tolerance, "tolerance", 0.5),
            check_level(confidence_level),
            check_count(random_state, "random_state", 0),
            __version__,
            DEFAULT_WORDS if words is None else words,
            trained_on=None if trained_on is None else bool(trained_on),
        )
        if trained_on is not None and not isinstance(trained_on, bool | np.bool_):
            raise ValueError(f"trained_on must be True, False or None, not {trained_on!r}.")
        if settings.confidence_level < 0.5:
            raise ValueError(
                "confidence_level of an audit must be at least 0.5: verdicts are to be right more "
                f"often than not, and it is {settings.confidence_level:g}."
            )
        if title is not None and not isinstance(title, str):
            raise ValueError(f"title must be text, not {title!r}.")
        if not isinstance(settings.words, Words):
            raise TypeError(f"words must be a Words, not {type(words).__name__}.")
        cuts = None
        if thresholds is not None:
            cuts = np.atleast_1d(to_floats(thresholds, "thresholds"))
            if cuts.ndim != 1 or cuts.size == 0 or not np.isfinite(cuts).all():
                raise ValueError(
                    f"thresholds must be one or several finite numbers, not {thresholds!r}."
                )
        return cls(settings, families_of(constraints, settings.rates), cuts, title or "")


def _audit(
    scores: GroupedScores,
    labels: Sequence[Hashable],
    request: _Request,
    pos_label: Any,
    zero_weights: int,
    notes: Sequence[str] = (),
) -> AuditResult:
    sample = sample_of(scores, "1" if pos_label is None else label_text(pos_label))
    groups = choose_groups(
        scores,
        labels,
        min_group_size=request.min_group_size,
        reference_group=request.reference_group,
    )
    sample = replace(
        sample,
        compared_groups=groups.named(groups.compared),
        main_groups=groups.named(groups.main),
    )
    settings = replace(
        request.settings, min_group_size=groups.least, reference_group=groups.reference_name
    )
    asked = AuditInput(scores, settings, groups, request.cuts)
    found = audited_gaps(asked.compared, request.families, settings)
    blocks = {name: block.compute(asked) for name, block in BLOCKS.items()}
    ranking = blocks[Ranking.name]
    assert isinstance(ranking, Ranking)
    result = AuditResult(
        title=request.title,
        settings=settings,
        sample=sample,
        findings=(),
        gaps=found.gaps,
        families=found.families,
        blocks=blocks,
        omitted=(
            *found.omitted,
            *(text for block in blocks.values() for text in block.omitted),
        ),
        warnings=(
            *notes,
            *groups.warnings(scores),
            *warnings_about(scores, sample, zero_weights, ranking.auc),
        ),
        assumptions=assumptions_of(sample, settings.trained_on),
        _families=tuple(request.families),
        _groups=groups,
    )
    return replace(result, findings=findings_of(result, found.higher))


def _check_groups(groups: Sequence[Hashable], codes: NDArray[Any]) -> None:
    if len(groups) > MAX_GROUPS:
        numbers = numeric_groups([str(group) for group in groups], np.bincount(codes).astype(float))
        raise ValueError(
            f"There are {len(groups):,} groups, and an audit compares at most {MAX_GROUPS}: is "
            f"this column an identifier? Otherwise {merging(numbers)}."
        )


def merging(numbers: NumericGroups | None) -> str:
    """What to do about too many groups: merge them, numbers into bands."""
    if numbers is None:
        return "merge groups into larger ones"
    return f"compare bands, such as {numbers.bands()}"
