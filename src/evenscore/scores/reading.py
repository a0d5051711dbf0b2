"""Reading: labels, groups, weights and scores as people pass them become `Rows`.

This is the only place that decides which label is positive and in which order the groups come.
There are two rules for each, side by side, because there are two kinds of labels:

- *values* (`positive_rows`, `group_positions`): columns of arrays and data frames hold values with
  a type, so that equal labels are equal values, and `pos_label` is such a value;
- *texts* (`positive_texts`, `text_order`): a CSV file holds nothing but texts, in which "1", "1.0"
  and " 1" are one label, "True" and "true" another, and "9" comes before "10". Texts are therefore
  compared by what they mean. A value is never: whoever passes "1" and 1 keeps them apart.

Beyond this module there are only arrays: nobody decodes or encodes again.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenscore.scores.arrays import Bools, Floats, Ints
from evenscore.scores.distribution import check_weights
from evenscore.scores.labels import cross, distinct_names, encode, shown
from evenscore.scores.sources import check_lengths, to_array, to_columns, to_numbers

if TYPE_CHECKING:
    from evenscore.scores.table import GroupedScores

_USUAL = ({0, 1}, {-1, 1})  # pairs of labels of which 1 is positive unless told otherwise


@dataclass(frozen=True, eq=False)
class Rows:
    """One row per person: class, group, weight and score, decoded.

    Parameters
    ----------
    positive
        Whether each row is of the positive class.
    codes
        The position of each row's group in `groups`.
    groups
        The labels of the groups, in order; some may have no row.
    weight
        The weight of each row; None if all weigh 1.
    score
        The score of each row; None if there is none yet.
    cluster
        The number of the cluster of each row, from 0: rows of one person, household or branch.
        None if rows are taken to be independent.

    Examples
    --------
    >>> rows = read_rows([0, 1, 1], ["b", "a", "b"], y_score=[0.2, 0.4, 0.9])
    >>> rows.groups, rows.cell
    (('a', 'b'), array([1, 2, 3]))
    >>> rows.take([0, 2]).grouped().cell_counts
    array([[0., 1.],
           [0., 1.]])
    """

    positive: Bools
    codes: NDArray[np.integer[Any]]
    groups: tuple[Hashable, ...]
    weight: Floats | None = None
    score: Floats | None = None
    cluster: Ints | None = None

    def __len__(self) -> int:
        return len(self.positive)

    @property
    def cell(self) -> Ints:
        """Class · K + group of each row."""
        return self.codes.astype(np.intp, copy=False) + len(self.groups) * self.positive

    @property
    def zero_weights(self) -> int:
        """How many rows weigh nothing: they are in no table."""
        return 0 if self.weight is None else int(np.sum(self.weight == 0.0))

    def take(self, index: Any) -> "Rows":
        """Some of the rows, by a list of positions, a mask or a slice; the groups stay."""
        weight, score, cluster = (
            None if column is None else column[index]
            for column in (self.weight, self.score, self.cluster)
        )
        return Rows(self.positive[index], self.codes[index], self.groups, weight, score, cluster)

    def named(self) -> "Rows":
        """The same rows with groups that are texts, all different and none empty."""
        return replace(self, groups=distinct_names(self.groups))

    def regrouped(self, positions: Sequence[int], groups: tuple[Hashable, ...]) -> "Rows":
        """The same rows under other groups: `positions` has the new position of each group."""
        return replace(self, codes=np.asarray(positions, dtype=np.intp)[self.codes], groups=groups)

    def grouped(self, score: Floats | None = None) -> "GroupedScores":
        """The table of a score of these rows (by default `self.score`), under their groups."""
        from evenscore.scores.table import GroupedScores  # it reads by this module

        score = self.score if score is None else score
        if score is None:
            raise ValueError("These rows have no score: pass one.")
        return GroupedScores.from_codes(
            score,
            self.positive,
            self.codes,
            self.groups,
            weight=self.weight,
            cluster=self.cluster,
        )

    def differs(self, other: "Rows") -> str:
        """Why the two are not about the same people, row by row; nothing if they are.

        Scores are not compared: this is asked of two scores of the same people.
        """
        n, m = len(self), len(other)
        if n != m:
            return f"one audit has {n:,} rows and the other {m:,}"
        if self.groups != other.groups:
            return "the groups are not the same, or not in the same order"
        weights = [np.ones(n) if rows.weight is None else rows.weight for rows in (self, other)]
        clusters = [np.arange(n) if r.cluster is None else r.cluster for r in (self, other)]
        columns = {
            "label": (self.positive, other.positive),
            "group": (self.codes, other.codes),
            "weight": weights,
            "cluster": clusters,
        }
        for name, (mine, theirs) in columns.items():
            rows = np.flatnonzero(mine != theirs)
            if rows.size:
                return f"the {name} at row {rows[0]} is not the same"
        return ""


def read_rows(
    y_true: Any,
    sensitive_features: Any,
    *,
    y_score: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    group_order: Sequence[Hashable] | None = None,
    label_name: str = "y_true",
    beside: Mapping[str, Sized] | None = None,
) -> Rows:
    """Decode columns, and refuse in one sentence whatever is missing, odd or too short.

    Parameters
    ----------
    y_true
        Labels; two different ones at most.
    sensitive_features
        One column of groups, or several whose intersections are the groups.
    y_score
        Scores, if there are any yet.
    pos_label
        The positive label; may be left out for labels 0/1, −1/1 and False/True.
    sample_weight
        Weights of at least 0.
    cluster
        Who or what each row is about, where there are several rows per person, household or branch:
        a column, or several whose combinations are the clusters.
    group_order
        The groups in order (the first is the paper's 0); may name some that do not occur. By
        default groups are sorted.
    label_name
        What sentences call the column of labels.
    beside
        What else must have as many rows, by its name in sentences.

    Returns
    -------
    Rows
        All rows, those of weight zero included.

    Examples
    --------
    >>> read_rows(["no", "yes"], {"sex": ["f", "m"], "old": [0, 1]}, pos_label="yes").groups
    (('f', 0), ('m', 1))
    """
    score = None if y_score is None else to_numbers(y_score, "y_score")
    positive = positive_rows(to_array(y_true, label_name), pos_label, label_name)
    columns = to_columns(sensitive_features, "sensitive_features")
    codes, groups = group_positions(columns, group_order)
    weight = None if sample_weight is None else to_numbers(sample_weight, "sample_weight")
    members = None if cluster is None else cluster_numbers(cluster)
    lengths = {
        **(beside or {}),
        label_name: positive,
        "y_score": score,
        "sensitive_features": codes,
        "sample_weight": weight,
        "cluster": members,
    }
    check_lengths({name: column for name, column in lengths.items() if column is not None})
    if weight is not None:
        check_weights(weight, "sample_weight")
    return Rows(positive, codes, groups, weight, score, members)


def cluster_numbers(cluster: Any) -> Ints:
    """The number of each row's cluster, from 0, in the order in which they are first met.

    >>> cluster_numbers(["Bo", "Al", "Bo"])
    array([0, 1, 0])
    """
    columns = to_columns(cluster, "cluster")
    check_lengths(columns)
    codes, _ = cross([encode(column, name) for name, column in columns.items()])
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.intp)
    number[np.argsort(first)] = np.arange(len(first))
    return number[inverse.reshape(-1)]


# ---------------------------------------------------------------------- which label is positive


def positive_rows(labels: NDArray[Any], pos_label: Any, name: str) -> Bools:
    """Which rows of a column of values are positive.

    More than two labels are refused, and so is a positive one left to guess. A single label is
    not: what an empty class means is for those to say who need it.

    >>> positive_rows(np.array([-1, 1]), None, "y_true")
    array([False,  True])
    """
    if labels.dtype == np.bool_ and pos_label is None:
        return labels.copy()
    codes, known = encode(labels, name)
    if len(known) > 2:
        raise ValueError(
            f"{name} must have two labels, but it has {len(known)} of them ({_listed(known)})."
        )
    both = " and ".join(map(shown, known))
    if pos_label is None:
        if not any(set(known) <= pair for pair in _USUAL):
            word = "labels" if len(known) > 1 else "label"
            raise ValueError(f"{name} has the {word} {both}: say which is positive with pos_label.")
        pos_label = 1
    if pos_label in known:
        return np.asarray(codes == known.index(pos_label))
    if len(known) == 2:
        raise ValueError(
            f"pos_label {shown(pos_label)} is not a label of {name}, which has {both}."
        )
    return np.zeros(len(labels), dtype=bool)


def positive_texts(
    texts: Sequence[str], pos_label: str | None, name: str, option: str
) -> tuple[Bools, str]:
    """Which of the different texts of a column are positive, and the positive label as written.

    Labels are compared by what they mean; true and false are usual labels too. Here a single label
    is refused: nobody could be ranked above anybody. `option` is what sets `pos_label`.

    >>> positive_texts(["0", "1", "1.0"], None, "Column 'y'", "--pos-label")
    (array([False,  True,  True]), '1')
    """
    meanings = [_meaning(text) for text in texts]
    known = set(meanings)
    if len(known) > 2:
        raise ValueError(f"{name} must have two labels, but it has {_listed(texts)}.")
    positive: Hashable
    if pos_label is not None:
        positive = _meaning(pos_label)
        if positive not in known:
            raise ValueError(
                f"{name} has {_listed(texts)}, but not the label {shown(pos_label)} of {option}."
            )
    elif any(known <= pair for pair in _USUAL):
        positive = 1.0
    elif known <= {"true", "false"}:
        positive = "true"
    else:
        raise ValueError(f"{name} has {_listed(texts)}: say which is positive with {option}.")
    if len(known) < 2:
        raise ValueError(
            f"{name} has the label {_listed(texts)} only: there is nothing to rank apart."
        )
    written = texts[meanings.index(positive)].strip()
    return np.array([meaning == positive for meaning in meanings]), written


def _meaning(text: str) -> Hashable:
    """A label by what it means: 1, 1.0 and " 1" are the same one, and so are True and true."""
    plain = text.strip()
    if plain.lower() in ("true", "false"):
        return plain.lower()
    try:
        value = float(plain)
    except ValueError:
        return plain
    return plain if math.isnan(value) else value


def _listed(labels: Sequence[Hashable]) -> str:
    return ", ".join(map(shown, labels[:5])) + (", …" if len(labels) > 5 else "")


# ---------------------------------------------------------------------- the order of groups


def group_positions(
    columns: Mapping[str, NDArray[Any]], group_order: Iterable[Any] | None
) -> tuple[Ints, tuple[Hashable, ...]]:
    """Position of each row's group and the groups, in the given order or sorted."""
    check_lengths(columns)
    codes, known = cross([encode(column, name) for name, column in columns.items()])
    if group_order is None:
        return codes, tuple(known)
    single = isinstance(group_order, str | bytes) or not isinstance(group_order, Iterable)
    wrong = f"group_order must be a list of group labels, not {shown(group_order)}."
    if single or (isinstance(group_order, np.ndarray) and group_order.ndim == 0):
        raise ValueError(wrong)
    order = tuple(tuple(label) if isinstance(label, list) else label for label in group_order)
    try:
        different = len(set(order))
    except TypeError:  # one of them cannot be a label
        raise ValueError(wrong) from None
    if different < len(order):
        raise ValueError(f"group_order names a group twice: {shown(order)}.")
    missing = [label for label in known if label not in order]
    if missing:
        raise ValueError(f"There is a group {shown(missing[0])}, which group_order does not name.")
    position = np.array([order.index(label) for label in known], dtype=np.intp)
    return position[codes], order


def text_order(texts: Iterable[str]) -> list[str]:
    """Texts sorted by number if all are numbers, else as texts.

    >>> text_order(["10", "9"]), text_order(["b", "10", "9"])
    (['9', '10'], ['10', '9', 'b'])
    """
    texts = sorted(texts)
    try:
        values = {text: float(text) for text in texts}
    except ValueError:
        return texts
    return texts if any(map(math.isnan, values.values())) else sorted(texts, key=values.__getitem__)
