"""audit: columns in, `AuditResult` out. Only orchestration: every number is computed elsewhere."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore.auditing.answer import answer_of
from evenscore.auditing.blocks import BLOCKS, AuditInput, Ranking
from evenscore.auditing.declared import Declared
from evenscore.auditing.findings import findings_of
from evenscore.auditing.gaps import AuditedGaps, audited_gaps, rates_in_use
from evenscore.auditing.groups import GroupChoice, GroupColumn, choose_groups
from evenscore.auditing.numeric_groups import NumericGroups, numeric_groups
from evenscore.auditing.parts import BinnedScores
from evenscore.auditing.provenance import Provenance
from evenscore.auditing.request import AuditRequest
from evenscore.auditing.result import AuditResult, ColumnAudit
from evenscore.auditing.sample import assumptions_of, sample_of, warnings_about
from evenscore.gaps import ConstraintLike, Cuts
from evenscore.gaps.words import ALL_OTHERS, Words
from evenscore.scores import GroupedScores, check_scores
from evenscore.scores.brackets import auc_bracket, has_open_bins
from evenscore.scores.frames import read_frame
from evenscore.scores.labels import default_order, distinct_names, label_text
from evenscore.scores.rates import Rate
from evenscore.scores.reading import read_rows, text_order
from evenscore.scores.sources import column_names, to_array, to_numbers
from evenscore.scores.table import refuse_clusters

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
    cuts: Cuts | None = None,
    constraints: ConstraintLike | None = None,
    words: Words | None = None,
    tolerance: float | None = None,
    confidence_level: float = 0.95,
    group_order: Sequence[Hashable] | None = None,
    reference_group: Any = None,
    min_group_size: int | None = None,
    trained_on: bool | None = None,
    declared: Mapping[str, Any] | Declared | None = None,
    random_state: int = 0,
    title: str | None = None,
) -> AuditResult:
    """Audit a score: are groups treated alike at the cuts in use, and how well does it rank them?

    Parameters
    ----------
    y_true : column of two labels, or None
        Lists, NumPy arrays, pandas, polars and pyarrow columns will do. None: the outcomes are not
        known, and who is selected is audited alone.
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
    cuts : Cuts, optional
        The cuts that will be used; by default those of the first constraint that has any, or else
        every cut that selects 5 % to 50 % of everyone.
    constraints : name, constraint or list of them, optional
        The gaps to audit; by default the false positive and the false negative rates at the cuts in
        use, and every named AUC notion; without outcomes, the selection rates. Any family of gaps
        will do. What happens at the cuts in use is reported whatever is asked for.
    group_order : list of groups, optional
        By default groups are sorted.
    reference_group : group, optional
        Compare every group with this one only; `evenscore.ALL_OTHERS` compares each group with all
        the others together. By default all groups are compared with each other.
    min_group_size : int, optional
        A group is compared only if both its classes are worth at least so many (effective)
        observations; smaller ones stay people of the population and are shown apart. By default
        30, which an interval of use needs, unless that leaves fewer than two groups.
    words : Words, optional
        What people and outcomes are called, and whether being selected is good for a person.
    tolerance : float, optional
        A gap up to this is called even; by default what was declared, or else 0.05.
    confidence_level : float
        Of all intervals, and of the statement that no gap is called beyond that is not.
    random_state : int
        Seed of bands that resample.
    title : str, optional
        Of the report.
    trained_on : bool, optional
        Whether the score was trained on these rows: the result says what that means for it.
    declared : mapping, optional
        Facts that only a person knows, such as the purpose of the score, who is responsible, or
        that outcomes are known only for people selected in the past; the names are those of
        `evenscore.auditing.declared.Declared`. They are shown as declared. A tolerance, words and
        `trained_on` may be declared too: they are used unless they were given, and refused if they
        were given otherwise.

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
    ('fpr_gap at cuts that select 5% to 50% of everyone, female and male', 'unclear')
    """
    request = AuditRequest.of(
        cuts,
        constraints,
        words,
        tolerance,
        confidence_level,
        random_state,
        title,
        trained_on,
        declared,
        outcomes_known=y_true is not None,
    ).comparing(reference_group, min_group_size)
    if y_true is None:
        if pos_label is not None:
            raise ValueError("pos_label names a label of y_true, and there is no y_true.")
        y_score = to_numbers(y_score, "y_score")
        y_true = np.zeros(len(y_score), dtype=bool)
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
    label = _name(y_true)
    if label is not None:
        request = request.named(label, *_labels(y_true, rows.positive, pos_label))
    labels = rows.groups
    # A copy is kept for `compare`: the caller may change the columns afterwards.
    score, weight = (None if c is None else c.copy() for c in (rows.score, rows.weight))
    called = tuple(map(request.settings.words.named, labels))
    rows = replace(replace(rows, groups=called).named(), score=score, weight=weight)
    names = column_names(sensitive_features)
    if names is None and labels and isinstance(labels[0], tuple):
        names = tuple(f"column {k + 1}" for k in range(len(labels[0])))
    columns = GroupColumn.of(labels, names or ())
    result = _audit(rows.grouped(), labels, request, pos_label, rows.zero_weights, columns=columns)
    return replace(result, _rows=rows)


def audit_scores(
    scores: GroupedScores,
    *,
    pos_label: Any = None,
    cluster: Any = None,
    cuts: Cuts | None = None,
    constraints: ConstraintLike | None = None,
    words: Words | None = None,
    tolerance: float | None = None,
    confidence_level: float = 0.95,
    reference_group: Any = None,
    min_group_size: int | None = None,
    trained_on: bool | None = None,
    declared: Mapping[str, Any] | Declared | None = None,
    random_state: int = 0,
    title: str | None = None,
    outcomes_known: bool = True,
    zero_weights: int = 0,
    notes: Sequence[str] = (),
    columns: Sequence[str] = (),
    label: str | None = None,
    neg_label: Any = 0,
    lacking: Mapping[str, int] | None = None,
) -> AuditResult:
    """Audit a `GroupedScores`, for instance the table that a data engine's GROUP BY gave.

    Everything an audit reports is a function of that table.

    Parameters
    ----------
    scores : GroupedScores
        The table.
    pos_label : label, optional
        Only names the positive class.
    cluster
        Refused: a table counts rows and does not say which belong together. One that does was made
        by `GroupedScores.from_arrays(…, cluster=…)`.
    cuts, constraints, words, tolerance, confidence_level, reference_group, min_group_size, \
trained_on, declared, random_state, title
        Those of `audit`.
    outcomes_known : bool
        False if nobody knows who is positive: everybody is then in one class, whichever, and who is
        selected is audited alone.
    zero_weights : int
        How many rows of weight zero were left out of the table, to be mentioned.
    notes : list of sentences
        What else to keep in mind about the table, first among the result's `warnings`.
    columns : list of names
        Of the columns of groups, where groups are tuples of one value of each: every column is then
        audited by itself too.
    label, neg_label : optional
        The name of the column of labels, after which classes are called that have no words, and the
        label of the negative class.
    lacking : mapping, optional
        How many rows were left out of the table because they lack a value, by column.

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
    refuse_clusters(cluster)
    request = AuditRequest.of(
        cuts,
        constraints,
        words,
        tolerance,
        confidence_level,
        random_state,
        title,
        trained_on,
        declared,
        outcomes_known=outcomes_known,
    ).comparing(reference_group, min_group_size)
    check_scores(scores)
    if outcomes_known:
        request = request.named(label, 1 if pos_label is None else pos_label, neg_label)
    else:
        scores = _of_one_class(scores)
    _check_groups(scores.groups, scores.cell % max(scores.n_groups, 1))
    called = map(request.settings.words.named, scores.groups)
    named = replace(scores, groups=distinct_names(called))
    parts = GroupColumn.of(scores.groups, columns, in_order=_in_order)
    return _audit(
        named,
        scores.groups,
        request,
        pos_label,
        zero_weights,
        notes,
        columns=parts,
        lacking=lacking,
    )


def audit_frame(
    frame: Any,
    *,
    score: str,
    label: str | None,
    group: str | Sequence[str],
    weight: str | None = None,
    pos_label: Any = None,
    accuracy: float = 1e-4,
    drop_missing: bool = False,
    group_order: Sequence[Hashable] | None = None,
    cluster: Any = None,
    cuts: Cuts | None = None,
    constraints: ConstraintLike | None = None,
    words: Words | None = None,
    tolerance: float | None = None,
    confidence_level: float = 0.95,
    reference_group: Any = None,
    min_group_size: int | None = None,
    trained_on: bool | None = None,
    declared: Mapping[str, Any] | Declared | None = None,
    random_state: int = 0,
    title: str | None = None,
) -> AuditResult:
    """Audit a score where the data are: a frame of any engine, however many rows it has.

    The engine counts, and only a table of at most about 100,000 rows comes back. With too many
    distinct scores these are put into bins, finest at the cuts in use; what the order within bins
    leaves unknown is part of every interval and verdict, and `result.binned` says how much it is.

    Parameters
    ----------
    frame : frame of any engine
        pandas, polars (lazy, too) or pyarrow; a DuckDB relation, a Spark DataFrame, a Dask
        collection or an Ibis table.
    score, label, weight : names of columns
        Without a label (None) the outcomes are not known, and who is selected is audited alone.
    group : name, or list of names
        The columns of groups; of several, their intersections.
    accuracy : float
        By how much bins may leave an AUC uncertain; see `GroupedScores.from_frame`.
    drop_missing : bool
        Leave out rows in which a value is missing, instead of refusing them.
    cluster
        Refused: only rows say which of them belong together.
    pos_label, group_order, cuts, constraints, words, tolerance, confidence_level, \
reference_group, min_group_size, trained_on, declared, random_state, title
        Those of `audit`.

    Returns
    -------
    AuditResult
        It cannot `compare`: a table does not say who is who.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"score": [1, 2, 3, 4] * 50, "paid": [0, 1, 0, 1] * 50,
    ...                       "sex": ["f", "f", "m", "m"] * 50})
    >>> result = audit_frame(frame, score="score", label="paid", group="sex", constraints="bnsp")
    >>> result.gaps[0].verdict, result.binned
    ('beyond', None)
    """
    refuse_clusters(cluster)
    request = AuditRequest.of(
        cuts,
        constraints,
        words,
        tolerance,
        confidence_level,
        random_state,
        title,
        trained_on,
        declared,
        outcomes_known=label is not None,
    )
    reading = read_frame(
        frame,
        score=score,
        label=label,
        group=group,
        weight=weight,
        pos_label=pos_label,
        group_order=group_order,
        accuracy=accuracy,
        cuts=request.cuts,
        drop_missing=drop_missing,
    )
    return audit_scores(
        reading.scores,
        pos_label=reading.positive,
        cuts=cuts,
        constraints=constraints,
        words=words,
        tolerance=tolerance,
        confidence_level=confidence_level,
        reference_group=reference_group,
        min_group_size=min_group_size,
        trained_on=trained_on,
        declared=declared,
        random_state=random_state,
        title=title,
        outcomes_known=label is not None,
        zero_weights=reading.survey.zero_weights,
        notes=reading.survey.notes,
        columns=() if isinstance(group, str) else list(group),
        label=label,
        neg_label=reading.negative,
        lacking=reading.survey.dropped,
    )


def _audit(
    scores: GroupedScores,
    labels: Sequence[Hashable],
    request: AuditRequest,
    pos_label: Any,
    zero_weights: int,
    notes: Sequence[str] = (),
    *,
    columns: tuple[GroupColumn, ...] = (),
    lacking: Mapping[str, int] | None = None,
) -> AuditResult:
    """The audit of a table, and of each column of groups by itself, decided together."""
    parts, omitted = _parts(scores, labels, request, columns)
    here = [
        family.rates_at_cuts.rates
        for family in request.families
        if family.rates_at_cuts is not None and family.rates_at_cuts.cuts == request.cuts
    ]
    rates = tuple(dict.fromkeys(rate for some in here for rate in some))
    compared = [part.choice.tables(part.scores) for part in parts]
    found = audited_gaps(compared, request.families, request.settings)
    beside: list[AuditedGaps | None] = [None] * len(parts)
    if not here:  # what happens at the cuts in use is told all the same
        family = rates_in_use(request.cuts, outcomes_known=request.outcomes_known)
        assert family.rates_at_cuts is not None
        rates = family.rates_at_cuts.rates
        beside = [*audited_gaps(compared, [family], request.settings)]
    results = [
        _part_result(part, request, pos_label, rates, gaps, context, columns)
        for part, gaps, context in zip(parts, found, beside, strict=True)
    ]
    *by_column, whole = results
    binned = _binned(scores, whole)
    whole = replace(
        whole,
        binned=binned,
        title=request.title,
        columns=tuple(
            ColumnAudit(part.column, replace(result, answer=answer_of(result)))
            for part, result in zip(parts[:-1], by_column, strict=True)
        ),
        omitted=(*whole.omitted, *omitted),
        warnings=(
            *notes,
            *([] if binned is None else [str(binned)]),
            *request.declared.warnings(outcomes_known=request.outcomes_known),
            *whole.warnings,
            *_zero_weights(zero_weights),
        ),
        provenance=Provenance.of(
            scores,
            whole.sample,
            whole.settings,
            [family.name for family in request.families],
            request.declared,
            weight_zero=zero_weights,
            lacking=lacking,
        ),
    )
    return replace(whole, answer=answer_of(whole))


@dataclass(frozen=True, eq=False)
class _Part:
    """A table that is audited, and the groups that are compared in it; `column` if by one alone."""

    scores: GroupedScores
    choice: GroupChoice
    column: str = ""


def _parts(
    scores: GroupedScores,
    labels: Sequence[Hashable],
    request: AuditRequest,
    columns: tuple[GroupColumn, ...],
) -> tuple[list[_Part], tuple[str, ...]]:
    """Each column of groups by itself, then all groups; and which columns could not be compared.

    With several columns a reference group is one of a column or an intersection: where it is
    neither, the groups are compared with each other, and a group that nobody knows is refused.
    """
    tables = [(scores, tuple(labels), "")]
    for column in columns:
        if column.is_compared:
            names = distinct_names(map(request.settings.words.named, column.values))
            tables.append((replace(column.table(scores), groups=names), column.values, column.name))
    wanted = request.reference_group
    wanted = tuple(wanted) if isinstance(wanted, list) else wanted
    known = [_knows(wanted, own, table.names) for table, own, _ in tables]
    parts: list[_Part] = []
    omitted: list[str] = []
    for (table, own, column_name), knows in zip(tables, known, strict=True):
        try:
            choice = choose_groups(
                table,
                own,
                min_group_size=request.min_group_size,
                reference_group=wanted if knows or not any(known) else None,
                outcomes_known=request.outcomes_known,
            )
        except ValueError as error:
            if not column_name:
                raise
            omitted.append(f"Groups of {column_name} are not audited by themselves: {error}")
        else:
            parts.append(_Part(table, choice, column_name))
    return [*parts[1:], parts[0]], tuple(omitted)


def _knows(reference: Any, labels: Sequence[Hashable], names: Sequence[str]) -> bool:
    return reference == ALL_OTHERS or reference in labels or reference in names


def _part_result(
    part: _Part,
    request: AuditRequest,
    pos_label: Any,
    rates: tuple[Rate, ...],
    found: AuditedGaps,
    beside: AuditedGaps | None,
    columns: tuple[GroupColumn, ...],
) -> AuditResult:
    """The audit of one table, without the findings about others."""
    scores, groups, known = part.scores, part.choice, request.outcomes_known
    positive = "1" if pos_label is None else label_text(pos_label)
    sample = replace(
        sample_of(scores, positive if known else "", outcomes_known=known),
        compared_groups=groups.named(groups.compared),
        main_groups=groups.named(groups.main),
    )
    settings = replace(
        request.settings, min_group_size=groups.least, reference_group=groups.reference_name
    )
    asked = AuditInput(
        scores,
        settings,
        groups,
        request.cuts,
        tuple(request.families),
        rates,
        asked=beside is None,
        context=() if beside is None else beside.gaps,
        outcomes_known=known,
        columns=() if part.column else columns,
    )
    blocks = {
        name: block.compute(asked)
        for name, block in BLOCKS.items()
        if (known or not block.needs_outcomes) and (block.for_each_column or not part.column)
    }
    ranking = blocks.get(Ranking.name)
    auc = ranking.auc if isinstance(ranking, Ranking) else None
    result = AuditResult(
        title=f"By {part.column}" if part.column else "",
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
            *groups.warnings(scores, settings.words),
            *warnings_about(scores, sample, auc, request.cuts.selected),
        ),
        assumptions=assumptions_of(sample, settings.trained_on),
        corrected_for=found.total,
        _families=tuple(request.families),
        _groups=groups,
    )
    higher = found.higher if beside is None else {**beside.higher, **found.higher}
    return replace(result, findings=findings_of(result, higher))


def _binned(scores: GroupedScores, result: AuditResult) -> BinnedScores | None:
    """How far bins matter to an audit; None if none of them holds several scores."""
    if scores.binned is None or not has_open_bins(scores):
        return None
    auc = auc_bracket(scores) if result.outcomes_known else math.nan
    gaps = [gap.bracket for gap in result.cut_gaps if not math.isnan(gap.value)]
    largest = max(gaps, default=math.nan)
    return BinnedScores(len(scores.binned.score), scores.binned.n_open, auc, largest)


def _zero_weights(count: int) -> tuple[str, ...]:
    return (f"{count:,} rows have weight zero and count for nothing.",) if count else ()


def _name(column: Any) -> str | None:
    """What a column is called, if it is a text."""
    name = getattr(column, "name", None)
    return name if isinstance(name, str) and name.strip() else None


def _labels(column: Any, positive: NDArray[np.bool_], pos_label: Any) -> tuple[Any, Any]:
    """The positive label and the other one, as the column has them."""
    values = to_array(column, "y_true")
    found = [values[np.argmax(where)] if where.any() else "" for where in (positive, ~positive)]
    return (found[0] if pos_label is None else pos_label), found[1]


def _in_order(values: Iterable[Any]) -> list[Any]:
    """Texts of a file as a file has them, other values as arrays have them."""
    values = list(values)
    texts = all(isinstance(value, str) for value in values)
    return list(text_order(values)) if texts else default_order(values)


def _of_one_class(scores: GroupedScores) -> GroupedScores:
    """The table with everybody in the first class; two classes would be outcomes."""
    weights = scores.cell_weights.sum(axis=1)
    if weights.min() > 0.0:
        raise ValueError(
            "This table has positives and negatives, so that the outcomes are known: leave out "
            "outcomes_known=False."
        )
    if weights[1] == 0.0:
        return scores
    return replace(scores, cell=scores.cell - scores.cell.dtype.type(scores.n_groups))


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
