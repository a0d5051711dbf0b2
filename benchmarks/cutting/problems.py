"""Data that the methods are compared on: real, with and without columns of the group, and hard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from hard.laws import Law

from evenscore import datasets
from evenscore.datasets.dataset import stratified_split

MOST_ROWS = 40_000  # of training
N_ROWS, N_TRAIN = 20_000, 14_000  # of a synthetic problem


@dataclass(frozen=True, eq=False)
class Part:
    """Rows: features, labels 0 and 1, and groups from 0."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray

    @property
    def cell(self) -> np.ndarray:
        return self.groups + (self.groups.max() + 1) * self.y

    def rows(self, index) -> Part:
        return Part(self.X[index], self.y[index], self.groups[index])


def real(load: Callable, states_group: str, split: int) -> tuple[Part, Part]:
    """Training and test rows of a stratified split, without the columns that begin so."""
    data = load()
    kept = [not states_group or not str(n).startswith(states_group) for n in data.feature_names]
    X = data.X[:, kept]
    train, test = data.split(split)
    if len(train) > MOST_ROWS:
        y, groups = data.y[train], data.groups[train]
        train = train[stratified_split(y, groups, data.group_order, MOST_ROWS, split)[1]]
    codes = (data.groups == data.group_order[1]).astype(int)
    one, other = (Part(X[rows], data.y[rows], codes[rows]) for rows in (train, test))
    return one, other


def law(n_groups: int, seed: int, apart: float, slopes: float, prevalences=None) -> Law:
    """Groups whose features, slopes and products differ; eight columns, one of them skewed."""
    rng, d = np.random.default_rng(seed), 8
    shares = np.array([0.35, 0.65])
    if n_groups > 2:
        shares = np.maximum(rng.dirichlet(np.full(n_groups, 6.0)), 0.04)
    drawn = rng.uniform(0.15, 0.45, n_groups)
    means = apart * rng.normal(size=(n_groups, d)) * np.repeat([1.0, 0.6], 4)
    mixing = 0.8 * np.linalg.qr(rng.normal(size=(d, d)))[0] + 0.2 * np.eye(d)
    common = 0.8 * rng.normal(size=d)
    return Law(
        shares / shares.sum(),
        drawn if prevalences is None else np.array(prevalences),
        means,
        mixing,
        np.array([6]),
        np.array([], dtype=int),
        common + slopes * rng.normal(size=(n_groups, d)),
        np.array([(0, 1), (2, 3), (4, 5)]),
        0.3 * rng.normal(size=(n_groups, 3)),
    )


def synthetic(make: Callable[[], Law], split: int) -> tuple[Part, Part]:
    """Rows of a law, drawn anew for every split."""
    rng, known = np.random.default_rng(1000 + split), make()
    counts = np.bincount(
        rng.choice(known.n_groups, N_ROWS, p=known.shares), minlength=known.n_groups
    )
    rows = known.draw(counts, rng)
    mixed, everyone = rng.permutation(N_ROWS), Part(rows.X, rows.y, rows.groups)
    return everyone.rows(mixed[:N_TRAIN]), everyone.rows(mixed[N_TRAIN:])


REAL = {
    "adult": (datasets.load_adult, "sex"),
    "bank": (datasets.load_bank, "age"),
    "compas": (datasets.load_compas, "race"),
    "german": (datasets.load_german, "status_and_sex"),
    "census": (datasets.load_census, "sex"),
}
# Laws of other seeds than those on which the constants of EvenScorer were settled.
LAWS = {
    "unequal base rates": partial(law, 2, 21, 0.3, 0.4, (0.12, 0.45)),
    "groups well known": partial(law, 2, 22, 0.7, 0.6, (0.25, 0.3)),
    "five groups": partial(law, 5, 23, 0.45, 0.5),
    "ten groups": partial(law, 10, 24, 0.5, 0.4),
}
PROBLEMS: dict[str, Callable[[int], tuple[Part, Part]]] = {
    **{name: partial(real, *how) for name, how in REAL.items()},
    **{name: partial(synthetic, how) for name, how in LAWS.items()},
    **{f"{name}, as published": partial(real, load, "") for name, (load, _) in REAL.items()},
}
BLIND = tuple(name for name in PROBLEMS if not name.endswith("as published"))
