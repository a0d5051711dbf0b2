"""The container every real data set comes in, and its stratified random split."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Backend = Literal["pandas", "polars", "pyarrow"]

_BACKENDS: tuple[Backend, ...] = get_args(Backend)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features, labels, groups and a train/test split of one data set, rows aligned.

    - ``X``: float64, shape (n, d), one column per entry of ``feature_names``. It is not
      standardised (the scorers do that) and may hold the group itself.
    - ``y``: int64, 1 for the paper's +1 and 0 for its -1.
    - ``groups``: readable labels; ``group_order`` gives the paper's group 0, then its group 1.
    - ``train``, ``test``: sorted row numbers of the default split; together they are all rows.
    - ``raw``: the table the features come from, column name to array. Numbers are int64, or
      float64 with NaN where the file has an empty field; text is as in the file.
    - ``description``: origin, licence and citation.

    The arrays are ordinary writable arrays, and every call of a loader makes new ones.

    >>> import numpy as np
    >>> data = Dataset(
    ...     name="tiny",
    ...     X=np.arange(4.0)[:, None],
    ...     y=np.array([0, 1, 0, 1]),
    ...     groups=np.array(["a", "a", "b", "b"]),
    ...     group_order=("a", "b"),
    ...     feature_names=("x",),
    ...     train=np.array([0, 2, 3]),
    ...     test=np.array([1]),
    ... )
    >>> data
    <Dataset tiny: 4 rows (3 train, 1 test), 1 feature, 2 positive; groups a (2), b (2)>
    >>> data.X[data.test]
    array([[1.]])
    """

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    groups: NDArray[np.str_]
    group_order: tuple[str, ...]
    feature_names: tuple[str, ...]
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    raw: dict[str, NDArray[Any]] = field(default_factory=dict)
    description: str = ""

    def __post_init__(self) -> None:
        n = len(self.X)
        lengths = {"y": len(self.y), "groups": len(self.groups)}
        lengths |= {f"raw[{name!r}]": len(column) for name, column in self.raw.items()}
        for part, length in lengths.items():
            if length != n:
                raise ValueError(f"{part} has {length} rows but X has {n}.")
        if self.X.shape != (n, len(self.feature_names)):
            raise ValueError(
                f"X has shape {self.X.shape} but there are {len(self.feature_names)} feature names."
            )

    def __repr__(self) -> str:
        n, d = self.X.shape
        sizes = ", ".join(f"{g} ({np.sum(self.groups == g)})" for g in self.group_order)
        return (
            f"<Dataset {self.name}: {n} rows ({len(self.train)} train, {len(self.test)} test), "
            f"{d} feature{'s' if d != 1 else ''}, {np.sum(self.y)} positive; groups {sizes}>"
        )

    def split(
        self, random_state: int | np.random.Generator | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw another (train, test) pair of sorted row numbers, of the default split's sizes.

        The draw is stratified by (class, group) cell, see :func:`stratified_split`; the same
        integer gives the same split on every machine.
        """
        return stratified_split(self.y, self.groups, self.group_order, len(self.test), random_state)

    def frame(self, backend: Backend | None = None) -> Any:
        """Return the raw table as a native data frame.

        ``backend`` is ``"pandas"``, ``"polars"`` or ``"pyarrow"``; ``None`` takes the first of
        these that is installed.
        """
        if not self.raw:
            raise ValueError(f"The data set {self.name} has no raw table.")
        if backend is None:
            backend = next((name for name in _BACKENDS if find_spec(name)), None)
            if backend is None:
                raise ImportError("A data frame needs pandas, polars or pyarrow to be installed.")
        elif backend not in _BACKENDS:
            raise ValueError(f"backend must be one of {', '.join(_BACKENDS)}, not {backend!r}.")
        elif find_spec(backend) is None:
            raise ImportError(f"A {backend} data frame was asked for but {backend} is missing.")
        # Imported here because only this method needs it and it is slow to import.
        import narwhals

        return narwhals.from_dict(self.raw, backend=backend).to_native()


def stratified_split(
    y: NDArray[np.int64],
    groups: NDArray[np.str_],
    group_order: Sequence[str],
    n_test: int,
    random_state: int | np.random.Generator | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw sorted (train, test) row numbers, with exactly ``n_test`` test rows.

    Every (class, group) cell gives the test part its share ``n_test * cell / n``, rounded down;
    the rows still missing come one each from the cells with the largest remainders (the earlier
    cell first when they are equal). Each cell is thus within one row of its exact share.

    >>> import numpy as np
    >>> y, groups = np.array([0, 1] * 10), np.array(["a"] * 12 + ["b"] * 8)
    >>> train, test = stratified_split(y, groups, ("a", "b"), 5, random_state=0)
    >>> len(train), len(test), int(np.sum(groups[test] == "a"))
    (15, 5, 3)
    """
    n = len(y)
    if not 0 < n_test < n:
        raise ValueError(f"A split of {n} rows cannot have {n_test} test rows.")
    cells = [np.flatnonzero((y == c) & (groups == g)) for c in (0, 1) for g in group_order]
    if sum(map(len, cells)) != n:
        raise ValueError("Every row must have class 0 or 1 and a group of the group order.")
    # Integers throughout, so that equal remainders are equal on every machine.
    shares = np.array([n_test * len(cell) for cell in cells])
    counts, remainders = shares // n, shares % n
    counts[np.argsort(-remainders, kind="stable")[: n_test - counts.sum()]] += 1
    rng = np.random.default_rng(random_state)
    in_test = np.zeros(n, dtype=bool)
    for cell, count in zip(cells, counts, strict=True):
        in_test[rng.permutation(cell)[:count]] = True
    return np.flatnonzero(~in_test), np.flatnonzero(in_test)
