"""Workers that XGBoost connects: threads of this process, each with a communicator of its own."""

import threading
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("xgboost")

from connected import connected


def test_sums_and_largest_values_are_the_same_everywhere():
    def work(number, exchange):
        values = np.array([[float(number), 1.0], [-float(number), 0.5]])
        return (
            exchange.rank,
            exchange.size,
            exchange.sum(values),
            exchange.max(values),
            exchange.total(number),
            exchange.ends(np.arange(float(number))),
            exchange.agreed(np.array([10.0 + number])),
            exchange.calls,
            exchange.bytes,
        )

    found = connected(work, [0, 1, 2])
    assert [one[0] for one in found] == [0, 1, 2]  # ranked by number, whoever came first
    for one in found:
        assert one[1] == 3
        np.testing.assert_array_equal(one[2], [[3.0, 3.0], [-3.0, 1.5]])
        np.testing.assert_array_equal(one[3], [[2.0, 1.0], [0.0, 0.5]])
        assert one[4] == 3.0
        assert one[5] == (0.0, 1.0)  # the first has no values at all
        assert one[6] == [10.0]
        assert one[7:] == (5, 32 + 32 + 8 + 16 + 8)


def test_rows_are_gathered_in_their_places():
    def work(number, exchange):
        rows = np.full((number, 2), float(number))
        places = {0: [], 1: [2], 2: [0, 1]}[number]
        return exchange.gathered(rows, np.array(places, dtype=int), 3)

    for found in connected(work, [0, 1, 2]):
        np.testing.assert_array_equal(found, [[2.0, 2.0], [2.0, 2.0], [1.0, 1.0]])


def test_whoever_waits_for_somebody_who_has_left_is_told():
    """No hang: the call fails as soon as the other one is gone."""

    def work(number, exchange):
        if number == 1:
            raise KeyError("an error of its own")
        exchange.sum(np.ones(4))

    with pytest.raises(KeyError, match="of its own"):
        connected(work, [0, 1], timeout=20)


@pytest.mark.slow
def test_whoever_waits_for_somebody_who_is_stuck_is_told_in_time():
    from xgboost.core import XGBoostError

    stuck, errors = threading.Event(), []

    def work(number, exchange):
        if number == 1:
            stuck.wait(30.0)
            return
        try:
            exchange.sum(np.ones(4))
        except XGBoostError as error:
            errors.append(error)
        finally:
            stuck.set()

    with suppress(XGBoostError):
        connected(work, [0, 1], timeout=3)
    assert len(errors) == 1
