"""Which map is for whom: groups that are unseen or missing, columns by name or by position."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evenscore import Repair, repair
from evenscore.repairing import IncreasingMap


def shifted(*amounts):
    """Maps that add something, so that it shows whose map was applied."""
    return tuple(IncreasingMap([0.0, 1.0], [amount, 1.0 + amount]) for amount in amounts)


TWO = Repair(("a", "b"), shifted(10, 20))
CROSSED = Repair(
    (("f", "n"), ("f", "y"), ("m", "n"), ("m", "y")),
    shifted(10, 20, 30, 40),
    columns=("sex", "old"),
)


def test_unseen_and_missing_groups():
    with pytest.raises(ValueError, match=r"'c' at row 1.*'a', 'b'.*unseen='unchanged'"):
        TWO.transform([1.0, 2.0], sensitive_features=["a", "c"])
    for missing in (["a", None], np.array(["a", np.nan], dtype=object), pd.Series(["a", pd.NA])):
        with pytest.raises(ValueError, match=r"missing at row 1.*unseen='unchanged'"):
            TWO.transform([1.0, 2.0], sensitive_features=missing)


def test_the_fallback_leaves_scores_as_they_are():
    lenient = Repair(TWO.groups, TWO.maps, unseen="unchanged")
    for column in (["a", "c", None, "b"], pd.Series(["a", "c", None, "b"])):
        found = lenient.transform([1.0, 1.0, 1.0, 1.0], sensitive_features=column)
        assert found.tolist() == [11.0, 1.0, 1.0, 21.0]
    assert lenient.transform([1.0], sensitive_features=[None]).tolist() == [1.0]
    assert lenient.transform([], sensitive_features=[]).shape == (0,)


def test_what_cannot_be_a_label_is_told_as_such():
    with pytest.raises(ValueError, match="label at row 0"):
        TWO.transform([1.0, 1.0], sensitive_features=np.array([{}, "a"], dtype=object))


# ---------------------------------------------------------------------- several columns

SEX, OLD = ["f", "m", "f"], ["y", "n", "n"]
EXPECTED = [20.5, 30.5, 10.5]


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_named_columns_are_found_by_name(make):
    for columns in ({"sex": SEX, "old": OLD}, {"old": OLD, "sex": SEX}):
        found = CROSSED.transform([0.5] * 3, sensitive_features=make(columns))
        assert found.tolist() == EXPECTED


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"sex": SEX, "age": OLD}, "'sex', 'age', .*'sex', 'old'"),
        ({"sex": SEX}, "the column 'sex', .*'sex', 'old'"),
        ({"sex": SEX, "old": OLD, "x": OLD}, "'sex', 'old', 'x', .*'sex', 'old'"),
        (SEX, "1 column, .* 2"),
        (np.array([SEX, OLD, OLD]).T, "3 columns, .* 2"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("unseen", ["error", "unchanged"])
def test_other_columns_are_refused(columns, told, unseen):
    fair = Repair(CROSSED.groups, CROSSED.maps, columns=CROSSED.columns, unseen=unseen)
    with pytest.raises(ValueError, match=told):
        fair.transform([0.5] * 3, sensitive_features=columns)


def test_names_come_from_the_fit_and_are_kept():
    rng = np.random.default_rng(0)
    sex, old = rng.choice(["f", "m"], 4000), rng.choice(["n", "y"], 4000)
    y = rng.integers(0, 2, 4000)
    score = rng.normal(size=4000) + 2 * y + 0.5 * (sex == "m") + 0.3 * (old == "y")
    frame = pd.DataFrame({"sex": sex, "old": old})
    fair = repair(y, score, sensitive_features=frame)
    assert fair.columns == ("sex", "old")
    assert fair.groups[0] == ("f", "n")
    expected = fair.transform(score, sensitive_features=frame)
    for one in (fair, Repair.from_dict(fair.to_dict())):
        assert one.columns == ("sex", "old")
        swapped = one.transform(score, sensitive_features=frame[["old", "sex"]])
        np.testing.assert_array_equal(swapped, expected)
    plain = repair(y, score, sensitive_features=[f"{s}{o}" for s, o in zip(sex, old, strict=True)])
    assert plain.columns is None
    np.testing.assert_allclose(
        plain.transform(score, sensitive_features=np.char.add(sex, old)), expected, atol=1e-12
    )
