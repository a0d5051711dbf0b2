"""A repair as JSON: written whole, read back the same, anything else refused in a sentence."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest

from evenscore import Estimate, Repair, RocConstraint, repair
from evenscore.repairing import IncreasingMap

ROC = RocConstraint(on="both", rates=(1 / 8, 1 / 4))


def sample(n=2000, n_groups=3):
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, n), rng.integers(0, n_groups, n)
    return y, rng.normal(size=n) + 1.5 * y + 0.7 * group, group


def assert_same(read, fair):
    """Field by field, NaN like NaN."""
    for name in ("groups", "constraints", "conflicts", "unseen", "columns", "shortfall"):
        assert getattr(read, name) == getattr(fair, name)
    for one, two in zip(read.maps, fair.maps, strict=True):
        np.testing.assert_array_equal((one.x, one.y), (two.x, two.y))
    assert set(read.gaps) == set(fair.gaps)
    for when, gaps in fair.gaps.items():
        np.testing.assert_equal(
            *([asdict(gap) for gap in some] for some in (read.gaps[when], gaps))
        )
    assert read.to_dict() == fair.to_dict()


@pytest.mark.parametrize("constraints", [ROC, ["bpsn", "bnsp"]], ids=str)
def test_json_and_back(tmp_path, constraints):
    y, score, group = sample()
    asked = dict(constraints=constraints, tolerance=0.03, unseen="unchanged")
    fair = repair(y, score, sensitive_features={"kind": group}, **asked)
    text = fair.to_json(tmp_path / "maps.json")
    assert json.loads(text)["version"] == "2.0"
    for read in (Repair.from_dict(json.loads(text)), Repair.from_json(tmp_path / "maps.json")):
        assert_same(read, fair)
        assert repr(read) == repr(fair)
        np.testing.assert_array_equal(
            read.transform(score, sensitive_features=group),
            fair.transform(score, sensitive_features=group),
        )
        assert [str(gap) for gap in read.gaps["after"]] == [str(gap) for gap in fair.gaps["after"]]
    assert [path.name for path in tmp_path.iterdir()] == ["maps.json"]


def test_numbers_that_json_does_not_have_and_crossed_groups(tmp_path):
    gap = Estimate(
        "bnsp", math.nan, -math.inf, math.inf, 0.95, "made", first="a × 1", second="b × 2"
    )
    fair = Repair(
        (("a", 1), ("b", True)),
        (IncreasingMap([0], [0]), IncreasingMap([0.1, 1e300], [-1e-300, 0.1 + 0.2])),
        gaps={"before": (gap,), "after": ()},
    )
    fair.to_json(tmp_path / "maps.json")
    read = Repair.from_json(tmp_path / "maps.json")
    assert_same(read, fair)
    assert read.groups[1][1] is True
    [back] = read.gaps["before"]
    assert (back.low, back.high, back.degrees_of_freedom) == (-math.inf, math.inf, math.inf)
    assert math.isnan(back.value)
    assert back.rate is None


# ---------------------------------------------------------------------- what is no repair

MAPS = [{"group": "a", "x": [0, 1], "y": [0, 1]}, {"group": "b", "x": [0], "y": [1]}]
WHOLE = {"format": "evenscore.repair", "version": "2.0", "maps": MAPS}


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_maps_alone_will_do(version):
    read = Repair.from_dict({**WHOLE, "version": version, "added later": 1})
    assert "groups a, b, at most 2 knots" in repr(read)
    assert (read.constraints, read.conflicts, read.unseen) == ((), (), "error")
    assert (read.gaps, read.columns) == ({"before": (), "after": ()}, None)
    assert read.transform([0.5, 0.5], sensitive_features=["a", "b"]).tolist() == [0.5, 1.5]
    named = Repair.from_dict({**WHOLE, "maps": MAPS[1:], "constraints": ["bnsp"]})
    assert "of bnsp: groups b," in repr(named)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (dict(format="other"), "'format'"),
        (dict(version=2), "of version 2; this evenscore reads 2.0"),
        (dict(version=True), "of version True; this evenscore reads"),
        (dict(version="1"), "of version '1'; this evenscore reads"),
        (dict(version="3.0"), "of version '3.0'; this evenscore reads"),
        (dict(maps=[{"group": "a"}]), "must be a list of group, x and y"),
        (dict(maps="none"), "must be a list of group, x and y"),
        (dict(maps=[]), "one map per group"),
        (dict(maps=[MAPS[0]] * 2), r"The repair names a group twice: \['a', 'a'\]"),
        (dict(maps=[{"group": ["a", "b"], "x": [0], "y": [0]}, MAPS[0]]), "by 1 or 2 of them"),
        (dict(maps=[{"group": {}, "x": [0, 1], "y": [0, 1]}]), "{} is not the label of a group"),
        (dict(maps=[{"group": "a", "x": [0, 0], "y": [0, 1]}]), "x of a map"),
        (dict(maps=[{"group": "a", "x": ["1", "2"], "y": [0, 1]}]),
         r"x of a map.*\['1', '2'\]"),
        (dict(maps=[{"group": "a", "x": [0, 1], "y": [False, 1]}]), "y of a map"),
        (dict(maps=[{"group": "a", "x": 1, "y": 1}]), "x of a map"),
        (dict(maps=[{"group": "a", "x": [None], "y": [1]}]), "x of a map"),
        (dict(unseen="perhaps"), "unseen.*'perhaps'"),
        (dict(columns=["sex", "old"]), "1 or 2 of"),
        (dict(columns="sex"), "repair.columns.*'sex'"),
        (dict(constraints="abc"), "repair.constraints.*'abc'"),
        (dict(constraints=None), "repair.constraints.*None"),
        (dict(constraints=[1]), r"repair.constraints\[0\].*1"),
        (dict(conflicts="abc"), "repair.conflicts.*'abc'"),
        (dict(shortfall=3), "repair.shortfall.*3"),
        (dict(gaps=None), "repair.gaps.*None"),
        (dict(gaps={"before": 3}), "repair.gaps.before.*3"),
        (dict(gaps={"before": [3]}), r"repair.gaps.before\[0\].*3"),
        (dict(gaps={"before": [{}]}), r"repair.gaps.before\[0\] lacks 'name'"),
        (dict(gaps={"before": [{"name": "g", "value": "x", "low": 0, "high": 0, "method": "",
                                "confidence_level": 0.9}]}),
         r"repair.gaps.before\[0\].value.*'x'"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_repair(changed, told):
    with pytest.raises(ValueError, match=told) as caught:
        Repair.from_dict({**WHOLE, **changed})
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (json.dumps({**WHOLE, "maps": 5}), "maps of a repair"),
        (json.dumps({**WHOLE, "conflicts": 10**400}), r"^maps\.json: repair\.conflicts .{,120}$"),
        (json.dumps({**WHOLE, "gaps": {"before": [{
            "name": "g", "value": 10**400, "low": 0, "high": 0, "method": "",
            "confidence_level": 0.9}]}}), "value"),
        (f'{{"maps": {"1" * 5000}}}', r"maps\.json .*number"),
    ],
)  # fmt: skip
def test_what_is_refused_is_refused_with_the_name_of_the_file(text, told, tmp_path):
    (tmp_path / "maps.json").write_text(text)
    with pytest.raises(ValueError, match=told) as caught:
        Repair.from_json(tmp_path / "maps.json")
    assert "maps.json" in str(caught.value)


def test_a_score_that_a_map_takes_beyond_all_numbers():
    fair = Repair(("a",), (IncreasingMap([0], [1.7e308]),))
    with (
        np.errstate(over="ignore"),
        pytest.raises(
            ValueError,
            match=r"^y_score is 1e\+308 at row 1",
        ),
    ):
        fair.transform([1.0, 1e308], sensitive_features=["a", "a"])


def test_text_is_not_a_path():
    with pytest.raises(ValueError, match="from_json"):
        Repair.from_json(json.dumps(WHOLE))
    with pytest.raises(ValueError, match="This is not a repair"):
        Repair.from_dict(json.dumps(WHOLE))
