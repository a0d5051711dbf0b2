import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evenscore.scores.sorting import sort_rows

finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


def naive(score, cell):
    return sorted({(float(s) + 0.0, int(c)) for s, c in zip(score, cell, strict=True)})


def check(score, cell, n_cells):
    for with_order in (False, True):
        rows = sort_rows(score, cell, n_cells, with_order=with_order)
        assert list(zip(rows.score.tolist(), rows.cell.tolist(), strict=True)) == naive(score, cell)
        assert rows.cell.dtype == cell.dtype
        if rows.order is not None:
            starts = np.arange(len(score)) if rows.starts is None else rows.starts
            np.testing.assert_array_equal(score[rows.order[starts]], rows.score)


@given(arrays(np.float64, st.integers(1, 30), elements=finite), st.integers(0, 10**6))
def test_any_doubles_subnormals_and_signed_zeros_included(score, seed):
    cell = np.random.default_rng(seed).integers(0, 8, len(score)).astype(np.uint8)
    check(score, cell, 8)


@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(-1, 1)), st.integers(1, 130))
def test_any_number_of_cells(score, n_groups):
    n_cells = 2 * n_groups
    cell = np.arange(len(score)) * 7919 % n_cells
    check(score, cell.astype(np.min_scalar_type(n_cells - 1)), n_cells)


@pytest.mark.parametrize(
    "score",
    [
        [0.0, -0.0, 0.0],
        [5e-324, 0.0, -5e-324],
        [1.7976931348623157e308, 5e-324, -1.7976931348623157e308],  # keys do not fit
        [1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)],  # neighbours must not merge
    ],
)
def test_hard_values(score):
    check(np.array(score), np.array([1, 0, 1], dtype=np.uint8), 2)


def test_long_input_crosses_chunks_and_neighbouring_doubles_stay_apart():
    rng = np.random.default_rng(0)
    base = rng.normal(size=70_000)
    score = np.concatenate([base, np.nextafter(base, np.inf)])
    cell = rng.integers(0, 4, len(score)).astype(np.uint8)
    rows = sort_rows(score, cell, 4, with_order=False)
    order = np.lexsort((cell, score))
    assert rows.starts is None
    np.testing.assert_array_equal(rows.score, score[order])
    np.testing.assert_array_equal(rows.cell, cell[order])
