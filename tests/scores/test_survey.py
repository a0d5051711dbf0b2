"""The first look at a frame: who is in it, and what is refused before any other pass."""

import math
import re

import narwhals as nw
import pandas as pd
import polars as pl
import pytest

from evenscore.scores import survey as module
from evenscore.scores.survey import FrameColumns, prepared, survey

COLUMNS = FrameColumns("score", "label", ("group",), "weight")


def look(frame, drop_missing=False, columns=COLUMNS):
    return survey(prepared(frame, columns), columns, drop_missing=drop_missing)


def frame(**changed):
    columns = {
        "score": [0.5, -1.0, 2.0, 0.25],
        "label": [0, 1, 1, 0],
        "group": ["a", "a", "b", "b"],
        "weight": [1.0, 2.0, 3.0, 4.0],
    }
    return pl.DataFrame(columns | changed)


def test_who_is_in_a_frame():
    found = look(frame())
    cells = dict(zip(found.cells, found.count.tolist(), strict=True))
    assert cells == {(0, "a"): 1, (1, "a"): 1, (1, "b"): 1, (0, "b"): 1}
    assert (found.n, found.low, found.high) == (4, -1.0, 2.0)
    assert found.is_clean
    assert found.notes == ()
    for wrapped in (nw.from_native(frame()), nw.from_native(frame().lazy())):
        assert look(wrapped).n == 4


def test_what_is_left_out_is_said():
    odd = frame(score=[None, math.nan, 2.0, 0.25], group=["a", "a", None, "b"])
    with pytest.raises(ValueError, match=r"'group' in 1 .*'score' in 2"):
        look(odd)
    found = look(odd, drop_missing=True)
    assert found.dropped == {"group": 1, "score": 2}
    assert found.n == 1
    [note] = found.notes
    assert "3 rows" in note
    assert "1 for 'group', 2 for 'score'" in note
    assert not found.is_clean
    light = look(frame(weight=[0.0, 2.0, 3.0, 4.0]))
    assert (light.zero_weights, light.n, light.notes) == (1, 3, ())


@pytest.mark.parametrize("weight", [[0.0] * 4, [None] * 4])
def test_nobody_is_left(weight):
    odd = frame().with_columns(weight=pl.Series(weight, dtype=pl.Float64))
    with pytest.raises(ValueError, match="no row is complete"):
        look(odd, drop_missing=True)


def test_a_sentence_for_what_is_no_frame():
    with pytest.raises(TypeError, match=r"frame .* not list"):
        look([1, 2])
    with pytest.raises(TypeError, match=r"not dict\.$"):
        look({"score": [1.0]})


def test_identifiers_are_no_groups(monkeypatch):
    monkeypatch.setattr(module, "MAX_CELLS", 3)
    with pytest.raises(ValueError, match=r"more than 3 .*'group'"):
        look(frame())


@pytest.mark.parametrize(
    ("asked", "name"), [("low", "score"), ("high", "score"), ("total", "weight")]
)
def test_nan_that_an_engine_hides_is_refused(monkeypatch, asked, name):
    """As if it counted NaN among the good numbers: the sums of data give it away."""
    honest = module.collected

    def hiding(lazy):
        answer = honest(lazy)
        return answer | {asked: [math.nan, *answer[asked][1:]]}

    monkeypatch.setattr(module, "collected", hiding)
    with pytest.raises(ValueError, match=f"'{name}' holds NaN"):
        look(frame())


def test_objects_of_pandas():
    data = frame().to_pandas()
    mixed = data.assign(score=pd.Series([1, 2.5, True, None], dtype=object))
    mixed.index = [5, 5, 6, 7]  # rows need not be numbered
    found = look(mixed, drop_missing=True)
    assert (found.n, found.low, found.high, found.dropped) == (3, 1.0, 2.5, {"score": 1})
    for value, sentence in (
        ("a", "holds texts, not numbers"),
        (b"a", "holds texts, not numbers"),
        ({}, "holds values of type dict, not numbers"),
        (2**53 + 1, "holds numbers beyond 2^53"),
        (pd.Timestamp(0), "holds dates or times, not numbers"),
    ):
        odd = data.assign(score=pd.Series([1, 2.5, True, value], dtype=object))
        with pytest.raises(ValueError, match=re.escape(f"Column 'score' {sentence}")):
            look(odd)


def test_other_objects_are_no_labels():
    data = frame().to_pandas()
    odd = data.assign(group=pd.Series([[1], [2], [1], [2]], dtype=object))
    with pytest.raises(ValueError, match="'group' holds nested"):
        look(odd)


def test_without_label_and_weight():
    columns = FrameColumns("score", None, ("group",))
    found = look(frame(), columns=columns)
    assert sorted(found.cells) == [("a",), ("b",)]
    assert columns.keys == {"es_group_0": "group"}
