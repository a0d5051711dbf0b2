"""The group as a feature: one more column of codes, or one per group, beside the others."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from scipy import sparse

from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.reading import group_positions
from evenscore.scores.sources import check_lengths, column_names, counted, to_columns


@final
@dataclass(frozen=True)
class GroupFeature:
    """Which groups there were in training, and how they stand beside the features.

    Parameters
    ----------
    groups : tuple
        The groups, in order.
    names : tuple of str or None
        Of the columns that groups are the intersections of, if they had any.
    native : bool
        Whether the group is one column of codes, rather than a column per group.

    Examples
    --------
    >>> feature = GroupFeature(("f", "m"), None, native=False)
    >>> feature.beside(np.array([[0.5], [0.7]]), feature.codes(["m", "f"], 2))
    array([[0.5, 0. , 1. ],
           [0.7, 1. , 0. ]])
    """

    groups: tuple[Hashable, ...]
    names: tuple[str, ...] | None
    native: bool

    @classmethod
    def of(cls, sensitive_features: Any, groups: tuple[Hashable, ...], *, native: bool) -> Self:
        """That of the groups of training; if there are none, it is refused."""
        if sensitive_features is None:
            raise ValueError(
                "use_groups=True makes the group a feature: pass sensitive_features to fit."
            )
        return cls(groups, column_names(sensitive_features), native)

    def codes(self, sensitive_features: Any, n: int) -> Ints:
        """The positions of the groups of n people to be scored; unknown ones are refused.

        Columns that have names, and had them in training, are put in the order of training.
        """
        columns = to_columns(sensitive_features, "sensitive_features")
        check_lengths(columns)
        own_names, known_by = column_names(sensitive_features), self._n_columns
        if self.names is not None and own_names is not None:
            if {*own_names} != {*self.names}:
                raise ValueError(
                    f"sensitive_features has the columns {_listed(own_names)}, but in training "
                    f"they were {_listed(self.names)}."
                )
            given = list(columns.items())
            columns = dict(given[own_names.index(name)] for name in self.names)
        elif len(columns) != known_by:
            raise ValueError(
                f"sensitive_features has {counted(len(columns), 'column')}, but in training there "
                f"{'was' if known_by == 1 else 'were'} {known_by}."
            )
        codes, labels = group_positions(columns, None)
        if len(codes) != n:
            raise ValueError(f"sensitive_features has {counted(len(codes), 'row')} but X has {n}.")
        position = {group: k for k, group in enumerate(self.groups)}
        for k, label in enumerate(labels):
            if label not in position:
                raise ValueError(
                    f"sensitive_features holds the group {label!r} at row "
                    f"{int(np.argmax(codes == k))}, which was not there in training (the groups "
                    f"are {_listed(self.groups)})."
                )
        return np.array([position[label] for label in labels], dtype=np.intp)[codes]

    def beside(self, X: Any, codes: Ints) -> Any:
        """The features with the group as the last column, or columns; sparse if they are."""
        column: Floats = codes[:, None].astype(np.float64)
        if not self.native:
            column = (codes[:, None] == np.arange(len(self.groups))).astype(np.float64)
        if sparse.issparse(X):
            return sparse.csr_array(sparse.hstack([X, sparse.csr_array(column)]))
        return np.hstack([X, column])

    @property
    def _n_columns(self) -> int:
        return len(self.groups[0]) if isinstance(self.groups[0], tuple) else 1


def _listed(labels: tuple[Hashable, ...]) -> str:
    return ", ".join(map(repr, labels[:10])) + (", …" if len(labels) > 10 else "")
