"""A repair as JSON: written whole, read back the same, anything else refused in a sentence."""

import datetime
import json

import numpy as np
import pytest

from evenscore import Repair, RocConstraint, repair

ROC = RocConstraint(on="both", rates=(1 / 8, 1 / 4))


def sample(n=2000, n_groups=3):
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, n), rng.integers(0, n_groups, n)
    return y, rng.normal(size=n) + 1.5 * y + 0.7 * group, group


@pytest.mark.parametrize("constraints", [ROC, ["bpsn", "bnsp"]], ids=str)
def test_json_and_back(tmp_path, constraints):
    y, score, group = sample()
    asked = dict(constraints=constraints, tolerance=0.03, unseen="pooled")
    fair = repair(y, score, sensitive_features={"kind": group}, **asked)
    text = fair.to_json(tmp_path / "maps.json")
    assert json.loads(text)["version"] == 1
    for read in (Repair.from_json(text), Repair.from_json(tmp_path / "maps.json")):
        assert read.to_dict() == fair.to_dict()
        assert repr(read) == repr(fair)
        np.testing.assert_array_equal(
            read.transform(score, sensitive_features=group),
            fair.transform(score, sensitive_features=group),
        )
        assert [str(gap) for gap in read.gaps["after"]] == [str(gap) for gap in fair.gaps["after"]]
    assert [path.name for path in tmp_path.iterdir()] == ["maps.json"]


MAPS = [{"group": "a", "x": [0, 1], "y": [0, 1]}, {"group": "b", "x": [0], "y": [1]}]
WHOLE = {"format": "evenscore.repair", "version": 1, "maps": MAPS}


def test_maps_alone_will_do():
    read = Repair.from_dict(WHOLE)
    assert repr(read) == "<Repair: groups a, b, at most 2 knots a map>"
    assert (read.constraints, read.conflicts, read.unseen) == ((), (), "error")
    assert (read.gaps, read.columns) == ({"before": (), "after": ()}, None)
    assert read.transform([0.5, 0.5], sensitive_features=["a", "b"]).tolist() == [0.5, 1.5]
    named = Repair.from_dict({**WHOLE, "maps": MAPS[1:], "constraints": ["bnsp"]})
    assert repr(named) == "<Repair of bnsp: groups b, at most 1 knot a map>"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (dict(format="other"), "This is not a repair: its format is not 'evenscore.repair'"),
        (dict(version=2), "of version 2, and only version 1 can be read"),
        (dict(version=True), "of version True, and only version 1 can be read"),
        (dict(version="1"), "of version '1', and only version 1 can be read"),
        (dict(maps=[{"group": "a"}]), "must be a list of group, x and y"),
        (dict(maps="none"), "must be a list of group, x and y"),
        (dict(maps=[]), "one map a group"),
        (dict(maps=[MAPS[0]] * 2), r"The repair names a group twice: \['a', 'a'\]"),
        (dict(maps=[{"group": ["a", "b"], "x": [0], "y": [0]}, MAPS[0]]), "by 1 or 2 of them"),
        (dict(maps=[{"group": {}, "x": [0, 1], "y": [0, 1]}]), "The repair cannot be read: unhash"),
        (dict(maps=[{"group": "a", "x": [0, 0], "y": [0, 1]}]), "The x of a map must increase"),
        (dict(maps=[{"group": "a", "x": ["1", "2"], "y": [0, 1]}]),
         r"The x of a map must be a list of numbers, not \['1', '2'\]"),
        (dict(maps=[{"group": "a", "x": [0, 1], "y": [False, 1]}]), "The y of a map must be a"),
        (dict(maps=[{"group": "a", "x": 1, "y": 1}]), "The x of a map must be a list of finite"),
        (dict(maps=[{"group": "a", "x": [None], "y": [1]}]), "The x of a map must be a"),
        (dict(unseen="perhaps"), "unseen must be 'error' or 'pooled', not 'perhaps'"),
        (dict(columns=["sex", "old"]), "known by the same columns, but here by 1 or 2 of them"),
        (dict(columns="sex"), "The repair cannot be read: its columns must be a list of texts"),
        (dict(constraints="abc"), "cannot be read: its constraints must be a list of texts"),
        (dict(constraints=None), "cannot be read: its constraints must be a list of texts"),
        (dict(constraints=[1]), "cannot be read: its constraints must be a list of texts"),
        (dict(conflicts="abc"), "cannot be read: its conflicts must be a list of texts"),
        (dict(shortfall=3), "cannot be read: its shortfall must be text"),
        (dict(gaps=None), "The repair cannot be read: "),
        (dict(gaps={"before": [{}]}), "The repair cannot be read: "),
        (dict(gaps={"before": [{"value": "x"}]}), "the value of a gap must be a number, not 'x'"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_repair(changed, told):
    with pytest.raises(ValueError, match=told) as caught:
        Repair.from_dict({**WHOLE, **changed})
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["{", None, "", "[1"])
def test_what_is_no_json(text):
    with pytest.raises(ValueError, match="The repair is no JSON"):
        Repair.from_json(text)


def test_groups_that_json_cannot_hold():
    y, score, group = sample(n_groups=2)
    days = np.array([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)])[group]
    fair = repair(y, score, sensitive_features=days)
    with pytest.raises(ValueError, match="is of type date, which JSON does not have"):
        fair.to_dict()
    with pytest.raises(ValueError, match="differ in length: y_score has 1 row, sens"):
        fair.transform([1.0], sensitive_features=days[:2])
