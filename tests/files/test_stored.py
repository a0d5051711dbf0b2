"""What is stored can be read again, or is refused in one sentence that says why."""

import importlib
import io
import json
import sys
import warnings
import zipfile
from dataclasses import replace
from datetime import date
from importlib import resources

import jsonschema
import numpy as np
import pytest
import skops.io
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from support.binning import drawn_rows

import evenscore as es
from evenscore import GroupedScores
from evenscore.files.features import Feature
from evenscore.files.models import FORMAT_VERSION, TRUSTED, TableModel, load_model, save_model

COLUMNS = ("score", "cell", "weight", "count", "weight_squared")


def assert_same(one, two):
    assert one.groups == two.groups
    assert [type(group) for group in one.groups] == [type(group) for group in two.groups]
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


def made(groups=("a", "b"), n=200, weights=False, decimals=9, seed=0):
    rng = np.random.default_rng(seed)
    return GroupedScores.from_codes(
        rng.normal(size=n).round(decimals),
        rng.integers(0, 2, n).astype(bool),
        rng.integers(0, len(groups), n),
        tuple(groups),
        weight=rng.gamma(1.0, size=n) if weights else None,
    )


# ---------------------------------------------------------------------- grouped scores


@pytest.mark.parametrize(
    ("groups", "decimals", "weights"),
    [
        (("a", "b"), 1, True),
        (("b", "nobody", "a"), 17, False),
        ((1, 2.5, "1", True, False), 17, True),
        ((("f", 1), ("m", 2)), 1, False),
        (("Ω женщины 女", "<script>", "", "\ud800", "\n"), 17, True),
    ],
    ids=["texts", "order", "types", "intersections", "odd"],
)
def test_a_table_is_the_same_after_a_file(tmp_path, groups, decimals, weights):
    scores = made(groups, weights=weights, decimals=decimals)
    path = tmp_path / "deep" / "scores.json"
    if True in groups and 1 in groups:
        scores = replace(scores, groups=(3, *groups[1:]))  # 1 == True: no two groups
    assert scores.save(path) == path
    assert_same(GroupedScores.load(path), scores)
    assert scores.save(tmp_path / "again.json").read_bytes() == path.read_bytes()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_are_exact(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("stored") / "s.json"
    scores = GroupedScores.from_codes(
        np.array(values), np.ones(len(values), dtype=bool), np.zeros(len(values), int), ("a",),
        weight=np.abs(values) % 1.0 + 0.1,
    )  # fmt: skip
    assert_same(GroupedScores.load(scores.save(path)), scores)


def test_counts_weights_and_nobody_at_all(tmp_path):
    path = tmp_path / "s.json"
    table = {"score": [1, 2], "label": [0, 1], "group": ["a", "b"], "n": [3, 2], "w": [0.3, 2e-9]}
    scores = GroupedScores.from_table(table, count="n", weight="w")
    assert_same(GroupedScores.load(scores.save(path)), scores)
    nobody = GroupedScores.from_arrays([], [], sensitive_features=[])
    assert_same(GroupedScores.load(nobody.save(path)), nobody)


def test_a_table_of_single_observations_stays_small(tmp_path):
    scores = made()
    loaded = GroupedScores.load(scores.save(tmp_path / "s.json"))
    assert loaded.weight.strides == (0,)
    assert set(json.loads((tmp_path / "s.json").read_text())) == {
        "format", "version", "groups", "score", "label", "group",
    }  # fmt: skip


def test_two_files_merge_as_their_tables_do(tmp_path):
    one, two = made(seed=1), made(("b", "c"), seed=2)
    loaded = [GroupedScores.load(t.save(tmp_path / f"{k}.json")) for k, t in enumerate((one, two))]
    assert_same(loaded[0].merge(loaded[1]), one.merge(two))


@pytest.mark.parametrize(
    "label", [date(2020, 1, 2), b"bytes", float("inf"), ("a", date(2020, 1, 2)), ("a", ("b",))]
)
def test_a_label_that_json_cannot_hold_is_named(tmp_path, label):
    path = tmp_path / "s.json"
    path.write_text("old")
    with pytest.raises(ValueError, match="cannot be stored") as caught:
        made(("a", label)).save(path)
    assert repr(label) in str(caught.value)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["s.json"]


GOOD = {
    "format": "evenscore.scores",
    "version": "1.0",
    "groups": ["a", "b"],
    "score": [0.1, 0.2],
    "label": [0, 1],
    "group": [0, 1],
    "weight": [1.0, 2.0],
    "count": [1, 1],
    "weight_squared": [1.0, 4.0],
}
BAD = {
    "text": ("no", "JSON"),
    "a list": ([1], "format is not 'evenscore.scores'"),
    "another format": ({"format": "evenscore.audit"}, "does not hold grouped scores"),
    "no version": ({"version": None}, "version None"),
    "a later version": ({"version": "2.0"}, "version '2.0'.* reads 1.1"),
    "a number for a version": ({"version": 1.0}, "version 1.0"),
    "no column": ({"score": None}, "lacks the list 'score'"),
    "no groups": ({"groups": "ab"}, "lacks the list 'groups'"),
    "a group twice": ({"groups": ["a", "a"]}, "names a group twice"),
    "an odd group": ({"groups": ["a", {"b": 1}]}, r"\{'b': 1\} is not the label of a group"),
    "an unknown group": ({"group": [0, 2]}, "group must hold positions"),
    "a group between": ({"group": [0, 0.5]}, "group must hold positions"),
    "three labels": ({"label": [0, 2]}, "label must hold 0 and 1"),
    "true for 1": ({"label": [False, True]}, "label must be a list"),
    "a text score": ({"score": [0.1, "0.2"]}, "score must be a list"),
    "a nested score": ({"score": [[0.1], [0.2]]}, "score must be a list"),
    "NaN": ({"score": [0.1, float("nan")]}, "score is NaN at row 1"),
    "too short": ({"score": [0.1]}, "score has 1 row"),
    "a negative weight": ({"weight": [1.0, -2.0]}, "weight is negative at row 1"),
    "half a person": ({"count": [1, 0.5]}, "count must hold whole numbers"),
    "odd squares": ({"weight_squared": [1.0, 9.0]}, "weight_squared is 9 at row 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_does_not_fit_is_refused_in_one_sentence(tmp_path, case):
    change, sentence = BAD[case]
    path = tmp_path / "s.json"
    text = change if isinstance(change, str) else json.dumps(
        {**GOOD, **change} if isinstance(change, dict) else change
    )  # fmt: skip
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"^s\.json:? .*{sentence}") as caught:
        GroupedScores.load(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_minor_version_may_add_entries(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(json.dumps({**GOOD, "version": "1.7", "boxes": [1, 2]}))
    assert GroupedScores.load(path).groups == ("a", "b")


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(ValueError, match="no file"):
        GroupedScores.load(tmp_path / "no.json")
    (tmp_path / "s.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"s\.json.*JSON"):
        GroupedScores.load(tmp_path / "s.json")
    (tmp_path / "s.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match=r"s\.json.*JSON"):
        GroupedScores.load(tmp_path / "s.json")


def test_files_follow_their_schema(tmp_path):
    schema = json.loads(
        resources.files("evenscore.scores").joinpath("scores.schema.json").read_text()
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    checker = jsonschema.Draft202012Validator(schema)
    for scores in (
        made(n=20),
        made((("f", 1), ("m", 2)), n=20, weights=True),
        drawn_rows(n=40).binned,
    ):
        content = json.loads(scores.save(tmp_path / "s.json").read_text())
        checker.validate(content)
        for name in schema["required"]:
            assert not checker.is_valid({k: v for k, v in content.items() if k != name})


# ---------------------------------------------------------------------- models


CUTS = es.Cuts(at=(0.3, 0.5))
LEARNED = {
    "linear": ["inter_group", es.CurveConstraint(at=0.2)],
    "even": ["bnsp", "bpsn", "zero_aeg"],
    "trees": [],
    "logistic": [],
}


@pytest.fixture(scope="module")
def models():
    """A model of every kind, with constraints of every family that it can learn."""
    rng = np.random.default_rng(0)
    n = 200
    y, groups, X = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.normal(size=(n, 2))
    X[:, 0] += y

    def fitted(name, **options):
        constraints = [
            es.RocConstraint(rates=(0.25,), tolerance=0.25),
            es.RateConstraint("fnr", cuts=CUTS),
            *LEARNED[name],
        ]
        if name == "linear":
            scorer = es.LinearScorer(constraints, tolerance=0.3, random_state=0, **options)
        else:
            own = None if name == "even" else name
            scorer = es.EvenScorer(constraints, own, folds=2, random_state=0, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of so few people
            scorer.fit(X, y, sensitive_features=groups)
        features = (Feature("a"), Feature("b"))
        return TableModel(scorer, features, "y", "1", ("g",), es.__version__), X

    return fitted


@pytest.mark.parametrize("name", LEARNED)
def test_every_model_is_read_again_and_is_made_of_trusted_types(models, name, tmp_path):
    model, X = models(name)
    path = save_model(tmp_path / "m.skops", model)
    assert set(skops.io.get_untrusted_types(data=path.read_bytes())) <= TRUSTED
    loaded = load_model(path)
    np.testing.assert_allclose(loaded.score(X), model.score(X), rtol=0, atol=1e-12)
    assert loaded.format_version == FORMAT_VERSION
    assert loaded.scorer.verdicts_ == model.scorer.verdicts_
    assert str(loaded.scorer.price_) == str(model.scorer.price_)
    assert getattr(loaded.scorer, "left_out_", None) is None  # nobody's row
    assert len(path.read_bytes()) < 600_000


@pytest.mark.parametrize("lightgbm", [True, False])
def test_a_model_with_missing_values_and_left_out_columns(tmp_path, monkeypatch, lightgbm):
    """Also of scikit-learn's trees, and read where LightGBM is not installed."""
    if not lightgbm:
        monkeypatch.setattr("evenscore.learning.trees.find_spec", lambda name: None)
    rng = np.random.default_rng(0)
    y, groups, X = rng.integers(0, 2, 300), rng.integers(0, 3, 300), rng.normal(size=(300, 4))
    X[:, 0] += y
    X[::7, 1] = np.nan
    X[:, 2] = groups
    scorer = es.EvenScorer(es.RateConstraint("fnr", cuts=CUTS), folds=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        scorer.fit(X, y, sensitive_features=groups)
    assert scorer.columns_.tolist() == [0, 1, 3]
    model = TableModel(scorer, tuple(map(Feature, "abcd")), "y", "1", ("g",), es.__version__)
    path = save_model(tmp_path / "m.skops", model)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    new = rng.normal(size=(200, 4))
    new[::5, 3] = np.nan
    np.testing.assert_allclose(
        load_model(path).score(new), scorer.decision_function(new), rtol=0, atol=1e-12
    )


def test_what_a_file_cannot_hold_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    y, X = rng.integers(0, 2, 100), rng.normal(size=(100, 2))
    scorer = es.EvenScorer(estimator=LogisticRegression(), random_state=0).fit(X, y)
    model = TableModel(scorer, tuple(map(Feature, "ab")), "y", "1", ("g",), es.__version__)
    with pytest.raises(ValueError, match="pickle LogisticRegression"):
        save_model(tmp_path / "m.skops", model)
    assert list(tmp_path.iterdir()) == []
    free = es.EvenScorer(random_state=0).fit(X, y)  # without constraints or groups
    path = save_model(tmp_path / "m.skops", replace(model, scorer=free))
    np.testing.assert_allclose(load_model(path).score(X), free.decision_function(X), atol=1e-12)


def test_probabilities_are_stored_too(models, tmp_path):
    model, X = models("linear", folds=2)
    path = save_model(tmp_path / "m.skops", model)
    assert set(skops.io.get_untrusted_types(data=path.read_bytes())) <= TRUSTED
    loaded = load_model(path).scorer
    np.testing.assert_array_equal(loaded.predict_proba(X), model.scorer.predict_proba(X))
    plain, _ = models("linear", folds=0)
    loaded = load_model(save_model(tmp_path / "plain.skops", plain)).scorer
    assert not hasattr(loaded, "predict_proba")


@pytest.mark.parametrize(
    ("format_version", "evenscore_version", "writer"),
    [
        ("99", "9.9", "evenscore 9.9"),
        (2, "0.2.0", "evenscore 0.2.0"),
        (None, None, "another evenscore"),
        ("1", "x\n" * 1000, "another evenscore"),
    ],
)
def test_another_version_is_refused_before_anything_is_built(
    tmp_path, format_version, evenscore_version, writer
):
    model = TableModel(None, (), "y", "1", ("g",), evenscore_version, format_version)
    path = tmp_path / "m.skops"
    path.write_bytes(skops.io.dumps(model))
    with pytest.raises(ValueError, match=rf"m\.skops.*{writer} in"):
        load_model(path)


def test_trusted_types_exist():
    for name in TRUSTED:
        module, kind = name.rsplit(".", 1)
        found = getattr(importlib.import_module(module), kind)
        assert (found.__module__, found.__qualname__) == (module, kind)


def test_no_version_at_all(tmp_path):
    content = skops.io.dumps(TableModel(None, (), "y", "1", ("g",), "0.0.1"))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        schema = json.loads(archive.read("schema.json"))
    del schema["content"]["content"]["format_version"]
    path = tmp_path / "m.skops"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
    with pytest.raises(ValueError, match=r"m\.skops.* 0\.0\.1"):
        load_model(path)


def test_a_model_whose_parts_do_not_fit_is_refused(models, tmp_path):
    model, _ = models("linear")
    for broken in (replace(model, scorer=None), replace(model, features=(Feature("a"),))):
        path = tmp_path / "m.skops"
        path.write_bytes(skops.io.dumps(broken))
        with pytest.raises(ValueError, match=r"m\.skops is not a model"):
            load_model(path)
