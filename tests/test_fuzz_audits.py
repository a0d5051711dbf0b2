"""Some of `benchmarks/fuzz_audits.py`: an answer that naive references confirm, or a sentence."""

import sys
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="module")
def fuzzing():
    folder = str(Path(__file__).resolve().parents[1] / "benchmarks")
    sys.path.insert(0, folder)
    try:
        import fuzz_audits
    finally:
        sys.path.remove(folder)
    return fuzz_audits


@pytest.mark.slow
def test_audits_of_anything(fuzzing):
    draw, run = fuzzing.audits.drawn_case, fuzzing.audits.run_case
    outcomes, failures = fuzzing.fuzz("audit", draw, run, 7, range(6))
    assert not failures
    assert {outcome.split(": ")[1] for outcome in outcomes} >= {"audited", "refused"}


def test_calls_with_anything(fuzzing):
    draw, run = fuzzing.calls.drawn_call, fuzzing.calls.run_call
    outcomes, failures = fuzzing.fuzz("call", draw, run, 7, range(60))
    assert not failures
    assert set(outcomes) >= {"any: refused", "refused: refused", "same: a value"}


def test_a_wrong_number_is_noticed(fuzzing):
    checks = sys.modules["fuzzing.checks"]
    people = checks.Naive([0, 1, 0, 1], [1, 2, 2, 3], list("aabb"))
    assert people.overall == 0.875
    assert people.notion("inter_group", {"a"}, {"b"}) == 0.5
    assert people.rate("fpr", {"b"}, people.score > 1.5) == 1.0
    with pytest.raises(AssertionError, match="AUC"):
        checks.require(checks.close(0.875, np.nan), "AUC")
