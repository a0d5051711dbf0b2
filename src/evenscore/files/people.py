"""Who the rows of a file are about: their class, their groups, their weight."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from evenscore.auditing.audit import MAX_GROUPS, merging
from evenscore.auditing.numeric_groups import QUARTERS, NumericGroups
from evenscore.files.opening import TableFile
from evenscore.files.values import Check, Column, selection
from evenscore.scores import GroupedScores
from evenscore.scores.arrays import Floats
from evenscore.scores.bins import Bins
from evenscore.scores.distribution import check_weights
from evenscore.scores.frames import read_frame
from evenscore.scores.labels import cross
from evenscore.scores.reading import Rows, cluster_numbers, positive_texts, text_order

DROP = ", or ask for --drop-missing"
MANY_ROWS = 1_000_000
"""Rows of a file beyond which scores are put into bins: so many are sorted in a second."""


@dataclass(frozen=True, eq=False)
class People:
    """The rows of a file, decoded; groups are the texts of the columns `names`.

    `pos_label` and `neg_label` are the labels as they are written, empty if there are none;
    `dropped` of the file's `total` rows lacked a value, `lacking` says in which column (a row may
    lack several).
    `count` is how many people a row stands for (None: one). `notes` are sentences about
    how the file was read. `table` is that of the people if it was made where the rows are: then
    there are no `rows`, and `weightless` of them weighed nothing. `label` is the name of the column
    of labels, where the table says it.
    """

    rows: Rows
    names: tuple[str, ...]
    pos_label: str
    total: int
    dropped: int
    count: Floats | None = None
    lacking: Mapping[str, int] = field(default_factory=dict)
    neg_label: str = ""
    notes: tuple[str, ...] = ()
    table: GroupedScores | None = None
    weightless: int = 0
    label: str | None = None

    @property
    def zero_weights(self) -> int:
        """How many rows weigh nothing: they are in no table."""
        return self.rows.zero_weights if self.table is None else self.weightless

    @property
    def remark(self) -> str:
        """How many rows were left out; nothing if none were."""
        if not self.dropped:
            return ""
        return f"{self.dropped:,} of {self.total:,} rows lack a value and were left out."

    def grouped(self) -> GroupedScores:
        """The table that an audit is a function of."""
        if self.table is not None:
            return self.table
        rows = self.rows
        assert rows.score is not None
        decoded = (rows.score, rows.positive, rows.codes, rows.groups)
        return GroupedScores.from_codes(
            *decoded, weight=rows.weight, count=self.count, cluster=rows.cluster
        )

    def columns(self, codes: Any = None) -> dict[str, NDArray[np.object_]]:
        """The columns of groups as texts, by name; of all rows, or of rows with these codes.

        They are objects: NumPy's texts would take the room of the longest in every row.
        """
        codes = self.rows.codes if codes is None else codes
        parts = [group if isinstance(group, tuple) else (group,) for group in self.rows.groups]
        return {
            name: np.array([part[k] for part in parts], dtype=object)[codes]
            for k, name in enumerate(self.names)
        }


@dataclass(frozen=True, eq=False)
class PeopleColumns:
    """The columns of a table that say who the rows are about; no label, no outcomes."""

    label: Column | None
    groups: list[Column]
    weight: Column | None = None
    clusters: Sequence[Column] = ()

    @classmethod
    def named(
        cls,
        table: TableFile,
        label: str | None,
        groups: Sequence[str],
        weight: str | None,
        clusters: Sequence[str] = (),
    ) -> Self:
        """The columns of these names."""
        labels, heavy = (
            None if name is None else Column.named(table, name) for name in (label, weight)
        )
        columns = [Column.named(table, name) for name in groups]
        return cls(labels, columns, heavy, [Column.named(table, name) for name in clusters])

    @property
    def sql_names(self) -> list[str]:
        """The columns in SQL: label, groups, weight, clusters."""
        columns = (*self._labels, *self.groups, *self.weights, *self.clusters)
        return [column.sql for column in columns]

    @property
    def weights(self) -> list[Column]:
        """The column of weights, or none."""
        return [] if self.weight is None else [self.weight]

    def weighted_by(self, weights: Sequence[Column]) -> Self:
        """The same with this column of weights, or none."""
        return replace(self, weight=next(iter(weights), None))

    @property
    def _labels(self) -> list[Column]:
        return [] if self.label is None else [self.label]

    def checks(self) -> list[Check]:
        """What no row may be."""
        checks: list[Check] = []
        if self.weight is not None:
            sentence = "{column} is {value} at {row}{more}; a weight is at least 0."
            checks += self.weight.number_checks()
            checks.append(Check(self.weight, f"{self.weight.number} < 0", sentence))
        for column in (*self._labels, *self.groups, *self.clusters):
            checks += column.text_checks()
        return checks

    def read(
        self,
        kept: str,
        total: int,
        beside: Mapping[str, str],
        *,
        pos_label: str | None,
        counted: bool = False,
    ) -> tuple[People, dict[str, Any]]:
        """Read the rows kept, of a total: the people, and the columns `beside`, SQL by name.

        A column "score" becomes the people's score. With `counted`, equal rows come as one.
        """
        coded = self._coded(kept, pos_label)
        positive, labels = coded.positive, coded.texts
        columns = {**beside, **coded.columns}
        for k, column in enumerate(self.clusters):
            columns[f"cluster{k}"] = column.code_of_all(kept)
        sql = selection(columns, kept)
        if counted:
            sql = f"SELECT *, count(*) AS n FROM ({sql}) GROUP BY ALL ORDER BY ALL"
        table = self.groups[0].table
        arrays = table.arrays(sql)
        codes, crossed = cross(
            [
                (arrays[f"group{k}"].astype(np.intp), list[Hashable](texts))
                for k, texts in enumerate(labels)
            ]
        )
        if not len(codes):
            raise ValueError(f"{table.name} has nobody to audit: every row lacks something.")
        self._check_groups(crossed)
        weight, score, count = (
            np.asarray(arrays[name], dtype=np.float64) if name in arrays else None
            for name in ("weight", "score", "n")
        )
        if weight is not None:
            check_weights(weight, str(self.weight))
        cluster = None
        if self.clusters:
            cluster = cluster_numbers(
                {f"{k}": arrays[f"cluster{k}"].astype(np.intp) for k in range(len(self.clusters))}
            )
        of_label = arrays.get("label", np.zeros(len(codes), dtype=np.intp))
        rows = Rows(positive[of_label], codes, tuple(crossed), weight, score, cluster)
        n = len(rows) if count is None else int(count.sum())
        names = tuple(column.name for column in self.groups)
        people = People(
            rows,
            names,
            coded.written,
            total,
            total - n,
            count,
            neg_label=coded.other,
            notes=tuple(table.notes),
        )
        return people, arrays

    def grouped(
        self,
        kept: str,
        total: int,
        score: str,
        *,
        pos_label: str | None,
        accuracy: float,
        cuts: Any = None,
        bins: Bins | None = None,
    ) -> People:
        """The people of the rows kept, as a table that DuckDB makes: by bins, if they are many."""
        coded = self._coded(kept, pos_label)
        columns = {"score": score, **coded.columns}
        if self.label is not None:
            known = ", ".join(str(k) for k in np.flatnonzero(coded.positive))
            columns["label"] = f"CAST({columns['label']} IN ({known}) AS INTEGER)"
        table = self.groups[0].table
        keys = [f"group{k}" for k in range(len(self.groups))]
        reading = read_frame(
            table.query_relation(selection(columns, kept)),
            score="score",
            label=None if self.label is None else "label",
            group=keys,
            weight=None if self.weight is None else "weight",
            accuracy=accuracy,
            cuts=cuts,
            bins=bins,
            few_rows=MANY_ROWS,
        )
        scores = reading.scores
        codes: list[Any] = [code if len(keys) > 1 else (code,) for code in scores.groups]
        texts = [tuple(coded.texts[k][part] for k, part in enumerate(code)) for code in codes]
        groups: tuple[Hashable, ...] = tuple(text if len(keys) > 1 else text[0] for text in texts)
        self._check_groups(groups)
        scores = replace(scores, groups=groups)
        nobody = Rows(np.zeros(0, dtype=bool), np.zeros(0, dtype=np.intp), groups)
        n, weightless = round(float(scores.cell_counts.sum())), reading.survey.zero_weights
        return People(
            nobody,
            tuple(column.name for column in self.groups),
            coded.written,
            total,
            total - n - weightless,
            neg_label=coded.other,
            notes=tuple(table.notes),
            table=scores,
            weightless=weightless,
        )

    def _coded(self, kept: str, pos_label: str | None) -> "_Coded":
        columns, written, other = {}, "", ""
        positive = np.zeros(1, dtype=bool)  # by label
        if self.label is not None:
            texts = self.label.distinct_texts(kept, 1000)
            if not texts:
                raise ValueError(f"{self.label} has no labels: every row lacks something.")
            positive, written = positive_texts(texts, pos_label, str(self.label), "--pos-label")
            columns["label"] = self.label.code_of(texts)
            other = next(t.strip() for t, is_it in zip(texts, positive, strict=True) if not is_it)
        elif pos_label is not None:
            raise ValueError("--pos-label names a label, and there is no --label.")
        labels = [_group_texts(column, kept) for column in self.groups]
        for k, column in enumerate(self.groups):
            columns[f"group{k}"] = column.code_of(labels[k])
        if self.weight is not None:
            columns["weight"] = self.weight.number
        return _Coded(columns, positive, labels, written, other)

    def _check_groups(self, groups: Sequence[Hashable]) -> None:
        if len(groups) < 2:
            shown = " and ".join(repr(column.name) for column in self.groups)
            raise ValueError(
                f"{self.groups[0].table.name} has only the group {groups[0]!r} in {shown}: there "
                "is no other to compare with."
            )


class _Coded(NamedTuple):
    """Labels, groups and weights as SQL, by name: labels and groups as positions of texts.

    `positive` says which labels are positive; `written` and `other` are the two as they are
    written.
    """

    columns: dict[str, str]
    positive: NDArray[np.bool_]
    texts: list[list[str]]
    written: str
    other: str


def _group_texts(column: Column, kept: str) -> list[str]:
    texts = column.distinct_texts(kept, MAX_GROUPS)
    if len(texts) > MAX_GROUPS:
        [n] = column.table.one(f"SELECT count(DISTINCT {column.text}) FROM rows WHERE {kept}")
        raise ValueError(
            f"{column} has {n:,} groups, and at most {MAX_GROUPS} can be compared: is it an "
            f"identifier? Otherwise {merging(_numbers(column, kept, n))}."
        )
    return text_order(texts)


def _numbers(column: Column, kept: str, n: int) -> NumericGroups | None:
    """What bands are made of, if every text of a column is a number."""
    value = f"TRY_CAST({column.text} AS DOUBLE)"
    finite, low, high, whole, *quartiles = column.table.one(
        f"SELECT bool_and(isfinite(coalesce({value}, 'nan'::DOUBLE))), min({value}), "
        f"max({value}), bool_and({value} = round({value})), "
        + ", ".join(f"quantile_disc({value}, {share})" for share in QUARTERS)
        + f" FROM rows WHERE {kept}"
    )
    return NumericGroups(n, low, high, tuple(quartiles), whole) if finite else None


def check_roles(**columns: Sequence[str]) -> None:
    """Refuse a column that is to be two things at once, and having no group."""
    roles: dict[str, str] = {}
    for role, names in columns.items():
        for name in names:
            if name in roles:
                both = f"--{roles[name]} and --{role}" if roles[name] != role else f"--{role} twice"
                raise ValueError(f"Column {name!r} is given as {both}.")
            roles[name] = role
    if not columns.get("group", ("one",)):
        raise ValueError("Say at least one column of groups with --group.")
