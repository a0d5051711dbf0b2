import numpy as np
import pandas as pd
import pytest
from support.making import draw

from evenscore import GroupedScores
from evenscore.scores import reading
from evenscore.scores.labels import distinct_names
from evenscore.scores.reading import Rows, positive_rows, positive_texts, read_rows, text_order

COLUMNS = ("score", "cell", "weight", "count", "weight_squared")


@pytest.mark.parametrize("weights", [None, "real"])
def test_rows_hold_what_was_passed(weights):
    y, score, group, weight = draw(7, n_groups=3, weights=weights)
    names = np.array(["c", "a", "b"])[group]
    rows = read_rows(y, names, y_score=score, sample_weight=weight)
    assert len(rows) == len(y)
    assert rows.groups == ("a", "b", "c")
    np.testing.assert_array_equal(rows.positive, y == 1)
    np.testing.assert_array_equal(np.array(rows.groups)[rows.codes], names)
    np.testing.assert_array_equal(rows.cell // 3, y)
    np.testing.assert_array_equal(rows.cell % 3, rows.codes)
    assert (rows.weight is None) == (weight is None)
    expected = GroupedScores.from_arrays(y, score, sensitive_features=names, sample_weight=weight)
    for table in (rows.grouped(), rows.grouped(score)):
        assert table.groups == expected.groups
        for name in COLUMNS:
            np.testing.assert_array_equal(getattr(table, name), getattr(expected, name))


def test_a_table_is_made_without_encoding_again(monkeypatch):
    y, score, group, weight = draw(1, weights="real")
    rows = read_rows(y, {"g": group, "h": group % 2}, y_score=score, sample_weight=weight)
    monkeypatch.setattr(reading, "encode", lambda *_: pytest.fail("encoded again"))
    assert rows.grouped().groups == rows.groups
    assert rows.named().grouped(2.0 * score).groups == ("0 × 0", "1 × 1")
    assert rows.take([0, 1]).grouped().cell_counts.sum() == 2


def test_codes_of_any_integer_type():
    y, score, group, _ = draw(3, n_groups=200)
    rows = read_rows(y, group, y_score=score, group_order=range(200))
    small = Rows(rows.positive, rows.codes.astype(np.uint8), rows.groups, None, rows.score)
    np.testing.assert_array_equal(small.cell, rows.cell)
    np.testing.assert_array_equal(small.grouped().cell, rows.grouped().cell)
    assert rows.cell.max() > 255


def test_some_of_the_rows():
    y, score, group, weight = draw(2, weights="real")
    rows = read_rows(y, group, y_score=score, sample_weight=weight)
    for index in ([3, 1, 1], slice(2, 9), np.arange(124) % 3 == 0, []):
        part = rows.take(index)
        np.testing.assert_array_equal(part.score, score[index])
        np.testing.assert_array_equal(part.weight, weight[index])
        assert part.groups == rows.groups
    assert read_rows(y, group).take([0]).score is None


def test_what_is_refused_is_named():
    with pytest.raises(ValueError, match="no score"):
        read_rows([0, 1], ["a", "b"]).grouped()
    for named, more in (
        ("X has 3 rows", dict(beside={"X": range(3)})),
        ("y_score has 1 row", dict(y_score=[1.0])),
        ("sample_weight has 1 row", dict(sample_weight=[1.0])),
        ("sample_weight is negative at row 1", dict(sample_weight=[1.0, -1.0])),
        ("y_score is NaN at row 1", dict(y_score=[1.0, np.nan])),
        ("y has .*'a' and 'b'", dict(y_true=["a", "b"], label_name="y")),
        ("y_true is missing at row 1", dict(y_true=[0, None])),
        ("sensitive_features is missing at row 0", dict(sensitive_features=[None, 1])),
        ("'b'.*group_order", dict(group_order=["a"])),
    ):
        given = {"y_true": [0, 1], "sensitive_features": ["a", "b"], **more}
        with pytest.raises(ValueError, match=named):
            read_rows(given.pop("y_true"), given.pop("sensitive_features"), **given)
    for order in (np.array(0.3), np.zeros((2, 2)), [{}], "ab", 1):
        with pytest.raises(ValueError, match="group_order") as told:
            read_rows([0, 1], ["a", "b"], group_order=order)
        assert "\n" not in str(told.value)


def test_who_differs_and_how():
    def rows(y=(0, 1, 1), groups=("a", "b", "a"), **options):
        return read_rows(list(y), list(groups), **options)

    assert rows().differs(rows(y_score=[1, 2, 3])) == ""
    assert rows().differs(rows(sample_weight=[1, 1, 1])) == ""
    for other, named in (
        (rows((0, 1), ("a", "b")), "3 rows"),
        (rows(groups="aca"), "groups"),
        (rows(group_order=["b", "a"]), "groups"),
        (rows((0, 0, 1)), "label at row 1"),
        (rows(groups="abb"), "group at row 2"),
        (rows(sample_weight=[1, 1, 2]), "weight at row 2"),
    ):
        assert named in rows().differs(other)


def test_names_of_groups():
    assert distinct_names(["a", ("b", 1)]) == ("a", "b × 1")
    assert distinct_names([1, "1", " "]) == ("1", "'1'", "' '")
    rows = read_rows([0, 1], pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})).named()
    assert rows.groups == ("1 × x", "2 × y")


def test_weights_of_zero_are_counted_and_input_stays_apart():
    y = np.array([True, False, True])
    rows = read_rows(y, list("aba"), sample_weight=[0, 2, 0])
    y[:] = False
    assert rows.positive.tolist() == [True, False, True]
    assert rows.zero_weights == 2


def test_both_rules_agree_where_they_can():
    for values, pos_label in (
        ([0, 1], None),
        ([-1, 1], None),
        ([False, True], None),
        ([False, True], False),
        (["no", "yes"], "yes"),
        ([1, 2], 2),
        ([0, 1], 0),
    ):
        asked = None if pos_label is None else str(pos_label)
        texts = [str(value) for value in values]
        by_value = positive_rows(np.array(values), pos_label, "y")
        by_text, written = positive_texts(texts, asked, "y", "--pos-label")
        np.testing.assert_array_equal(by_value, by_text)
        assert written == texts[int(np.argmax(by_text))]


def test_texts_are_compared_by_what_they_mean_and_values_are_not():
    texts = [" 1", "0", "1", "1.0"]
    positive, written = positive_texts(texts, None, "y", "--pos-label")
    assert positive.tolist() == [True, False, True, True]
    assert written == "1"
    assert positive_texts(texts, "1e0", "y", "--pos-label")[0].tolist() == positive.tolist()
    assert positive_texts(["TRUE", "false"], None, "y", "--pos-label")[1] == "TRUE"
    with pytest.raises(ValueError, match=r"y .* 4 of them"):
        positive_rows(np.array(texts), "1", "y")
    with pytest.raises(ValueError, match=r"y has .nan.*--it"):
        positive_texts(["nan", "x"], None, "y", "--it")


def test_groups_in_the_order_of_their_numbers():
    assert text_order(["10", "9", "-1e2"]) == ["-1e2", "9", "10"]
    assert text_order(["10", "nan", "9"]) == ["10", "9", "nan"]
    assert text_order(["1.0", "1"]) == ["1", "1.0"]
    assert text_order([]) == []
