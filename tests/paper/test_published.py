import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenscore.gaps import AucConstraint
from evenscore.paper import published

share = st.floats(0.01, 0.99)


@given(p0=share, p1=share, q1=share)
@pytest.mark.parametrize("name", published.GAMMA)
def test_the_catalogue_gives_the_printed_gap_weights(name, p0, p1, q1):
    q0 = 1 - q1
    cells = np.array([[q0 * (1 - p0), q1 * (1 - p1)], [q0 * p0, q1 * p1]])
    ours = AucConstraint.named(name).gap_weights(cells)
    np.testing.assert_allclose(ours / ours.sum(), published.gamma(name, p0, p1, q1), atol=1e-12)


def test_every_published_row_is_complete():
    assert len(published.REAL) == 12
    assert {len(row) for row in published.REAL.values()} == {len(published.MEASURES)}
    assert set(published.STRENGTH) == set(published.REAL)
    assert {published.STRENGTH[key] for key in published.STRENGTH} <= set(published.STRENGTH_GRID)
    assert set(published.L2.values()) <= set(published.L2_GRID)
