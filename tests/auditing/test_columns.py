"""Several columns of groups: each by itself, then their intersections, all decided together."""

import numpy as np
import pytest
from support.making import table_of

import evenscore as es
from evenscore.auditing.groups import GroupColumn

ASKED = [es.RateConstraint("fpr", "fnr"), "bnsp", "inter_group"]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    n = 1500
    sex, race = rng.choice(["f", "m"], n), rng.choice(["a", "b", "c"], n, p=[0.5, 0.4, 0.1])
    y = rng.random(n) < 0.4
    score = rng.normal(size=n) + 1.5 * y + 1.0 * (sex == "m")
    return y, score, {"sex": sex, "race": race}


@pytest.fixture(scope="module")
def result(people):
    y, score, columns = people
    return es.audit(y, score, sensitive_features=columns, constraints=ASKED)


@pytest.mark.slow
def test_each_column_has_its_own_audit(people, result):
    y, score, columns = people
    assert [column.name for column in result.columns] == ["sex", "race"]
    for column in result.columns:
        alone = es.audit(y, score, sensitive_features=columns[column.name], constraints=ASKED)
        assert column.audit.groups == alone.groups
        for one, two in zip(column.audit.gaps, alone.gaps, strict=True):
            assert one.key == two.key
            assert (one.value, one.low, one.high) == (two.value, two.low, two.high)
        np.testing.assert_array_equal(
            column.audit.cut_curves.rates[0].shares.value, alone.cut_curves.rates[0].shares.value
        )


def test_verdicts_are_corrected_for_all_of_them(people, result):
    y, score, columns = people
    audits = [result, *(column.audit for column in result.columns)]
    total = sum(len(audit.gaps) for audit in audits)
    assert {audit.n_gaps for audit in audits} == {total}
    alone = es.audit(y, score, sensitive_features=columns["sex"], constraints=ASKED)
    together = result.columns[0].audit
    for one, two in zip(together.gaps, alone.gaps, strict=True):
        wide, narrow = np.diff(one.ends("beyond")), np.diff(two.ends("beyond"))
        assert wide > narrow
        assert one.beyond_test.p_value >= two.beyond_test.p_value


def test_the_answer_says_by_which_column(result):
    assert result.answer.verdict == "gap"
    assert "by sex and race" in result.answer.text
    assert result.columns[0].audit.answer.verdict == "gap"
    assert result.columns[1].audit.answer.verdict != "gap"


def test_it_is_stored(result):
    read = es.AuditResult.from_dict(result.to_dict())
    assert read.to_dict() == result.to_dict()
    assert read.columns[1].audit.groups == ("a", "b", "c")
    with pytest.raises(ValueError, match=r"audit\.columns"):
        es.AuditResult.from_dict(result.to_dict() | {"columns": [1]})


def test_values_of_labels():
    columns = GroupColumn.of([("f", 1), ("m", 1), ("f", 2)], ("sex", "age"))
    assert [column.values for column in columns] == [("f", "m"), (1, 2)]
    assert [column.positions for column in columns] == [(0, 1, 0), (0, 0, 1)]
    assert GroupColumn.of(["f", "m"], ("sex",)) == ()
    assert GroupColumn.of([("f", 1)], ("sex",)) == ()


def test_references_of_one_column_and_of_nobody(people):
    y, score, columns = people

    def audit(reference):
        asked = dict(reference_group=reference, constraints="bnsp")
        return es.audit(y, score, sensitive_features=columns, **asked)

    result = audit("a")
    sex, race = (column.audit for column in result.columns)
    assert race.settings.reference_group == "a"
    assert sex.settings.reference_group is result.settings.reference_group is None
    assert {gap.first for gap in race.gaps} == {"a"}
    for reference in ("typo", ("f", "typo")):
        with pytest.raises(ValueError, match="'typo'"):
            audit(reference)
    assert audit(["f", "a"]).settings.reference_group == "f × a"


def test_columns_that_cannot_be_compared(people):
    y, score, columns = people
    for country, told in (("FR", False), (np.where(np.arange(len(y)) < 40, "ES", "FR"), True)):
        few = {**columns, "country": np.broadcast_to(country, len(y))}
        result = es.audit(y, score, sensitive_features=few, min_group_size=100, constraints="bnsp")
        assert [column.name for column in result.columns] == ["sex", "race"]
        assert any("country" in text for text in result.omitted) == told
    alone = es.audit(y, score, sensitive_features={"sex": columns["sex"]}, constraints="bnsp")
    assert alone.columns == ()


def test_a_column_with_nobody_to_compare_is_no_obstacle(people):
    """Of the second column only one group has weights: the first one is compared all the same."""
    y, score, columns = people
    weight = np.where(columns["race"] == "a", 1.0, 0.0)
    result = es.audit(y, score, sensitive_features=columns, sample_weight=weight)
    assert [len(column.audit.gaps) > 0 for column in result.columns] == [True, False]


@pytest.mark.slow
def test_names_and_order_of_columns_and_their_values(people):
    y, score, columns = people
    sex, band = columns["sex"], np.where(columns["race"] == "a", "10", "9")
    both = np.column_stack([sex, band])
    numbered = es.audit(y, score, sensitive_features=both, constraints="bnsp")
    assert [column.name for column in numbered.columns] == ["column 1", "column 2"]
    words = es.Words(groups={"f": "women", "m": "men"})
    table = table_of(y, score, {"sex": sex, "band": band})
    result = es.audit_scores(table, columns=("sex", "band"), words=words, constraints="bnsp")
    assert [column.audit.groups for column in result.columns] == [("women", "men"), ("9", "10")]
