"""An audit of a table of bins says once how far they matter, and is otherwise that of its rows."""

import io
import json

import numpy as np
import pytest
from rich.console import Console
from support.binning import BinnedRows, drawn_rows

import evenscore as es
from evenscore.auditing.audit import audit_scores
from evenscore.scores.bins import Bins


@pytest.fixture(scope="module")
def rows():
    return drawn_rows(n=3000, level=8)


@pytest.fixture(scope="module")
def binned(rows):
    return audit_scores(rows.binned)


@pytest.fixture(scope="module")
def exact(rows):
    return audit_scores(rows.exact)


def test_it_says_how_far_bins_matter(rows, binned, exact):
    assert exact.binned is None
    found = binned.binned
    assert found.bins == len(rows.binned.binned.score)
    assert 0 < found.open <= found.bins
    assert found.gap == max(gap.bracket for gap in binned.cut_gaps) > 0.0
    assert found.auc > 0.0
    assert f" {found.bins} bins" in str(found)
    assert "uncertain by at most 0.00" in str(found)
    assert str(found) in binned.warnings


def test_values_are_within_brackets_and_intervals_hold_those_of_the_rows(binned, exact):
    for one, two in zip(exact.gaps, binned.gaps, strict=True):
        assert one.key == two.key
        assert abs(abs(one.value) - abs(two.value)) <= two.bracket + 1e-12
        assert two.low <= one.value <= two.high
    for one, two in zip(
        (exact.auc, *exact.auc_by_group), (binned.auc, *binned.auc_by_group), strict=True
    ):
        assert abs(one.value - two.value) <= two.bracket
        assert two.low <= one.value <= two.high
        assert two.high - two.low >= 2 * two.bracket
    assert np.all(binned.auc_matrix.low <= exact.auc_matrix.values + 1e-12)
    assert np.all(binned.auc_matrix.high >= exact.auc_matrix.values - 1e-12)
    assert binned.certificate.reach >= exact.certificate.reach - 0.01


def test_scoring_rates_beside_the_median_hold_those_of_the_rows(binned, exact):
    one, two = (result.blocks["local_law_144"].tables_by[-1] for result in (exact, binned))
    assert np.all(two.scoring_rate.low <= one.scoring_rate.value)
    assert np.all(two.scoring_rate.high >= one.scoring_rate.value)
    assert binned.blocks["local_law_144"].median == pytest.approx(
        exact.blocks["local_law_144"].median, abs=0.1
    )


def test_it_is_stored_and_shown_once(binned, exact):
    read = es.AuditResult.from_dict(json.loads(binned.to_json()))
    assert read.binned == binned.binned
    assert [gap.bracket for gap in read.gaps] == [gap.bracket for gap in binned.gaps]
    assert "bracket" not in exact.to_json()
    console = Console(file=io.StringIO(), width=10_000)
    console.print(binned)
    assert console.file.getvalue().count("scores were grouped") == 1


def test_without_outcomes_it_speaks_of_gaps_alone(rows):
    nobody = BinnedRows(np.zeros(3000, bool), rows.score, rows.group, None, rows.bins)
    result = audit_scores(nobody.binned, outcomes_known=False)
    assert np.isnan(result.binned.auc)
    assert "AUC" not in str(result.binned)
    assert result.binned.gap > 0.0


def test_closed_bins_give_the_audit_of_the_rows():
    rows = drawn_rows(n=400)
    score = np.round(rows.score) + 0.0  # there is no −0.0
    bins = Bins.between(-50.0, 50.0, (1,), (), tuple(np.unique(score).tolist()))
    closed = BinnedRows(rows.positive, score, rows.group, None, bins)
    one, two = (audit_scores(table) for table in (closed.exact, closed.binned))
    assert one.to_json() == two.to_json()
    assert two.binned is None
