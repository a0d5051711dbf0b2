"""What an audit says of rows that belong together, and of rows the score was trained on."""

import json

import jsonschema
import numpy as np
import pytest
from audit_schema import audit_schema
from support.making import every_family, table_of

import evenscore as es


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(200), rng.integers(1, 8, 200))
    n = len(cluster)
    y, group = rng.integers(0, 2, n), np.array(list("ab"))[cluster % 2]
    return y, rng.normal(size=200)[cluster] + rng.normal(size=n) + y, group, cluster


def audit(columns, **options):
    y, score, group, _ = columns
    asked = {"constraints": "bnsp", **options}
    return es.audit(y, score, sensitive_features=group, **asked)


@pytest.mark.slow
def test_a_result_with_clusters_is_kept_and_described(columns):
    result = audit(columns, cluster=columns[3], trained_on=True)
    assert result.sample.clusters == 200
    assert f"{result.sample.n:,} rows" in result.assumptions[0]
    assert "200 clusters" in result.assumptions[0]
    assert result.settings.trained_on is True
    data = json.loads(result.to_json())
    jsonschema.Draft202012Validator(audit_schema()).validate(data)
    read = es.AuditResult.from_dict(data)
    assert read.assumptions == result.assumptions
    assert read.to_dict() == data


@pytest.mark.slow
def test_intervals_are_wider_with_clusters(columns):
    asked = dict(constraints=every_family())
    wide, narrow = audit(columns, cluster=columns[3], **asked), audit(columns, **asked)
    curves = zip(wide.roc_gaps, narrow.roc_gaps, strict=True)
    for one, two in curves:
        np.testing.assert_array_equal(one.value, two.value)
        assert np.mean(one.pointwise_high - one.pointwise_low) > 1.15 * np.mean(
            two.pointwise_high - two.pointwise_low
        )
    for name in ("selection_rate", "fpr"):
        one, two = (getattr(r.thresholds, name) for r in (wide, narrow))
        assert np.all(one.high - one.low > two.high - two.low)
    assert np.all(wide.sample.effective_sizes < narrow.sample.effective_sizes)


def test_whether_the_score_has_seen_the_rows_is_told(columns):
    for said, sentence in ((True, "were used"), (False, "were not used"), (None, "Nobody said")):
        result = audit(columns, trained_on=said)
        assert "independent" in result.assumptions[0]
        assert sentence in result.assumptions[1]
    with pytest.raises(ValueError, match=r"trained_on.*'yes'"):
        audit(columns, trained_on="yes")


def test_tables_know_their_clusters(columns):
    with pytest.raises(ValueError, match=r"^Clusters need rows"):
        es.audit_scores(table_of(*columns[:3]), cluster=columns[3])
    assert es.audit_scores(table_of(*columns[:3], None, columns[3])).sample.clusters == 200


def test_an_empty_cell_of_the_other_class_is_no_obstacle(columns):
    y, _, group, cluster = columns
    some = (np.where(group == "b", 0, y), *columns[1:])
    result = audit(some, cluster=cluster, constraints=every_family())
    negatives = [c for c in result.roc_certificates if c.on == "negatives"]
    assert {c.lacking for c in negatives} <= {"", "data", "evenness"}
    assert any("clusters" in w for c in negatives for w in c.warnings)
