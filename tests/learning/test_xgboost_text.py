"""The text of XGBoost's trees, altered: XGBoost would crash, run for ever or read nonsense."""

import copy
import json

import numpy as np
import pytest

from evenscore.learning.boosters import TreeSettings
from evenscore.learning.xgboost_text import MOST_CATEGORIES, Trees, understood
from evenscore.learning.xgboost_trees import XGBoostBooster

xgboost = pytest.importorskip("xgboost")


def grown(categorical=(2,), monotone=(), min_rows=5, rounds=6, leaves=6):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[:, 2] = rng.integers(0, 40, 400)
    target = np.sin(X[:, 0]) + 0.2 * X[:, 1] + (X[:, 2] % 3)
    X[rng.random(400) < 0.2, 1] = np.nan
    settings = TreeSettings(
        0.2, leaves, min_rows, 1.0, 1.0, 1.0, 1.0, 255, categorical, monotone, 0, 1
    )
    booster = XGBoostBooster.begin(X, np.zeros(400), settings)
    for _ in range(rounds):
        booster.grow(lambda raw: (raw - target, np.ones(400)))
    return booster


def strange_rows():
    rng = np.random.default_rng(1)
    X = 3.0 * rng.normal(size=(2000, 3))
    X[:, 2] = rng.integers(-2, 60, 2000)
    X[::3, 1], X[::7, 2], X[::11] = np.nan, np.nan, 0.0
    X[5], X[6] = 1e37, -1e37
    return X


def scores(text, X):
    model = xgboost.Booster({"nthread": 1}, model_file=bytearray(text.encode()))
    return model.inplace_predict(X, predict_type="margin")


def own_text(**options):
    """What XGBoost itself writes."""
    return grown(**options).model.save_raw("json").decode()


def first_tree(whole):
    return whole["learner"]["gradient_booster"]["model"]["trees"][0]


@pytest.fixture(scope="module")
def text():
    found = own_text()
    kinds = first_tree(json.loads(found))["split_type"]
    assert {0, 1} == {*kinds[:3]}  # of its first splits
    return found


@pytest.fixture(scope="module")
def small():
    """Two small trees, one of them with codes."""
    found = own_text(rounds=2, leaves=3)
    assert first_tree(json.loads(found))["categories"]
    return found


# ---------------------------------------------------------------------- whole texts


OPTIONS = [
    {},
    {"categorical": ()},
    {"categorical": (), "monotone": (1, 0, -1)},
    {"min_rows": 300, "rounds": 1},
    {"leaves": 31, "min_rows": 1, "rounds": 20},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_scores_are_those_of_the_text_as_it_was_to_the_last_bit(options):
    booster = grown(**options)
    whole = booster.model.save_raw("json").decode()
    X = strange_rows()
    np.testing.assert_array_equal(scores(understood(whole, 3), X), scores(whole, X))
    ours = XGBoostBooster.from_text(whole).predict(X)
    np.testing.assert_array_equal(ours, scores(whole, X))


def test_what_was_understood_is_understood_again(text):
    once = understood(text)
    assert understood(once) == once
    read = Trees.read(text)
    assert (read.types, len(read.trees)) == (("q", "q", "c"), 6)
    assert read.rounds == (0, 1, 2, 3, 4, 5)
    assert len(Trees.read(read.first(2).text).trees) == 2
    assert Trees.read(read.first(0).text).trees == ()
    told = first_tree(json.loads(once))
    for key in ("loss_changes", "sum_hessian", "base_weights"):
        assert {*told[key]} == {0.0}
    loaded = xgboost.Booster(model_file=bytearray(once.encode()))
    assert understood(loaded.save_raw("json").decode()) == once


def test_the_rounds_of_trees_are_kept(text):
    whole = json.loads(text)
    rounds = {"rounds": "0 1 5 6 7 20"}
    whole["learner"]["attributes"] = rounds
    read = Trees.read(json.dumps(whole))
    assert read.rounds == (0, 1, 5, 6, 7, 20)
    assert json.loads(read.text)["learner"]["attributes"] == rounds
    assert json.loads(read.first(2).text)["learner"]["attributes"] == {}
    for odd in ("", "0 1 2", "0 1 5 6 7 7", "0  1", "-1 0 1 2 3 4", "٠", 5, None):
        whole["learner"]["attributes"] = {"rounds": odd}
        with pytest.raises(ValueError, match="rounds must hold one rising number for every tree"):
            understood(json.dumps(whole))


def test_numbers_are_single_precision_and_stay_what_they_are():
    """Trees with thresholds of any bits: XGBoost reads the text as written to the same bits."""
    whole = json.loads(own_text(categorical=(), rounds=1, leaves=31, min_rows=1))
    tree = first_tree(whole)
    rng = np.random.default_rng(0)
    most = np.where(np.array(tree["left_children"]) < 0, 1e30, np.finfo(np.float32).max)
    for _ in range(20):
        bits = rng.integers(0, 2**32, len(most), dtype=np.uint32)
        values = bits.view(np.float32)
        values = np.where(np.abs(values) <= most, values, np.float32(1e-45))
        tree["split_conditions"] = [float(value) for value in values]
        loaded = xgboost.Booster(model_file=bytearray(understood(json.dumps(whole)).encode()))
        found = first_tree(json.loads(loaded.save_raw("json")))["split_conditions"]
        np.testing.assert_array_equal(np.array(found, dtype=np.float32), values)


@pytest.mark.slow
def test_a_tree_that_is_a_chain_is_scored():
    """As deep as a tree can be: no part of XGBoost may go down by recursion."""
    n = 131_072
    nodes, split = 2 * n - 1, np.arange(2 * n - 1) % 2 == 0
    split[-1] = False
    places = np.arange(nodes)
    left, right = np.where(split, places + 1, -1), np.where(split, places + 2, -1)
    parents = np.full(nodes, 2**31 - 1)
    parents[left[split]] = parents[right[split]] = places[split]
    whole = json.loads(own_text(categorical=(), rounds=1))
    tree = first_tree(whole)
    tree |= {
        "left_children": left.tolist(),
        "right_children": right.tolist(),
        "parents": parents.tolist(),
        "split_conditions": np.where(split, -1e30, 0.5).tolist(),
        "tree_param": {**tree["tree_param"], "num_nodes": str(nodes)},
    }
    for key in ("split_indices", "split_type", "default_left"):
        tree[key] = [0] * nodes
    for key in ("base_weights", "loss_changes", "sum_hessian"):
        tree[key] = [0.0] * nodes
    found = XGBoostBooster.from_text(json.dumps(whole)).predict(np.zeros((2, 3)))
    np.testing.assert_array_equal(found, 0.5)


# ---------------------------------------------------------------------- altered texts


def places(value, path=()):
    """Every place of a JSON value but the outermost, and whether there are others in it."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in entries:
        inner = isinstance(entry, (dict, list))
        yield (*path, key), inner
        if inner:
            yield from places(entry, (*path, key))


def altered(whole, path, change):
    """A copy with one place changed."""
    other = copy.deepcopy(whole)
    owner = other
    for key in path[:-1]:
        owner = owner[key]
    change(owner, path[-1])
    return other


def replaced(value):
    def change(owner, key):
        owner[key] = value

    return change


def removed(owner, key):
    del owner[key]


def doubled(owner, key):
    if isinstance(owner, list):
        owner.insert(key, owner[key])
    else:
        owner["again"] = owner[key]


ODD = [None, True, "", "x", "1", "-1", "nan", -1, 0, 1, 2, 3, 7, 2**31, 10**9, 10**25, 0.0, -0.5,
       1e39, 1e300, "1e400", [], [0], [[]], {}, {"a": 1}, [0.0, 1.0]]  # fmt: skip


def refused_or_scored(text, X):
    """Whether a text was refused; if not, it scores finite numbers."""
    try:
        XGBoostBooster.check_text(text, 3)
    except ValueError as error:
        message = str(error)
        assert message.startswith(("The ", "Tree "))
        assert message.endswith(".")
        assert "\n" not in message
        assert len(message) < 200
        return True
    found = XGBoostBooster.from_text(text).predict(X)
    assert np.all(np.isfinite(found))
    return False


@pytest.mark.slow
def test_a_text_altered_anywhere_is_refused_or_scores_finite_numbers(small):
    whole, X = json.loads(small), strange_rows()[:50]
    changes = [*map(replaced, ODD), removed, doubled]
    texts = {small: False}
    for path, _ in places(whole):
        for change in changes:
            other = json.dumps(altered(whole, path, change))
            # JSON has no infinity, but numbers that are too large to be any other.
            texts[other.replace('"1e400"', "1e400")] = True
    refused = [refused_or_scored(text, X) for text in texts]
    assert not refused[0]
    assert len(refused) > 5000
    assert np.mean(refused) > 0.9


@pytest.mark.slow
def test_two_alterations_at_once(small):
    whole, X = json.loads(small), strange_rows()[:50]
    numbers = [path for path, inner in places(whole) if "trees" in path and not inner]
    rng = np.random.default_rng(0)
    values = [-1, 0, 1, 2, 3, 4, 0.5]
    scored = 0
    for _ in range(3000):
        other = whole
        for k in rng.choice(len(numbers), 2, replace=False):
            other = altered(other, numbers[k], replaced(values[rng.integers(len(values))]))
        scored += not refused_or_scored(json.dumps(other), X)
    assert scored


@pytest.mark.parametrize("key", ["split_indices", "split_conditions", "left_children", "parents",
                                 "right_children", "default_left", "split_type", "base_weights",
                                 "categories", "categories_nodes", "categories_sizes",
                                 "categories_segments"])  # fmt: skip
@pytest.mark.parametrize("change", [lambda t: t[1:], lambda t: [*t, t[-1]], lambda t: []])
def test_lists_of_other_lengths_are_refused(text, key, change):
    whole = json.loads(text)
    first_tree(whole)[key] = change(first_tree(whole)[key])
    with pytest.raises(ValueError, match=r"^Tree 0 (is not whole: |must say num_nodes)"):
        understood(json.dumps(whole))


def test_trees_that_go_in_circles_are_refused(text):
    whole = json.loads(text)
    tree = first_tree(whole)
    left, right = tree["left_children"], tree["right_children"]
    split = [k for k, child in enumerate(left) if child > 0]
    last = split[-1]
    others = [
        {"left_children": right},
        {"left_children": [0 if child > 0 else -1 for child in left]},
        {"left_children": [last if k == last else child for k, child in enumerate(left)]},
        {"right_children": [-1 if k == last else child for k, child in enumerate(right)]},
    ]
    # Each node is named once, but the last split is its own parent.
    swapped, parent = left.copy(), tree["parents"][last]
    if swapped[parent] == last:
        swapped[parent], swapped[last] = swapped[last], swapped[parent]
        others.append({"left_children": swapped})
    for other in others:
        changed = copy.deepcopy(whole)
        first_tree(changed).update(other)
        with pytest.raises(ValueError, match=r"left_children and right_children must make a tree"):
            understood(json.dumps(changed))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_trees", "7"),
        ("num_trees", "-1"),
        ("num_parallel_tree", "2"),
        ("name", "dart"),
        ("name", "gblinear"),
        ("objective", {"name": "binary:logistic", "reg_loss_param": {"scale_pos_weight": "1"}}),
        ("base_score", "5E-1"),
        ("base_score", "[0E0,0E0]"),
        ("base_score", "[1E0]"),
        ("num_class", "2"),
        ("num_target", "2"),
        ("num_feature", "1000000000"),
        ("feature_names", ["a", "b", "c"]),
        ("feature_types", ["q", "q", "q"]),
        ("feature_types", []),
        ("attributes", {"best_iteration": "1"}),
        ("version", [2, 1, 0]),
        ("size_leaf_vector", "2"),
        ("num_deleted", "1"),
    ],
)
def test_other_models_are_refused(text, key, value):
    whole = json.loads(text)
    owner = next(
        owner
        for owner in (
            whole,
            whole["learner"],
            whole["learner"]["learner_model_param"],
            whole["learner"]["gradient_booster"],
            whole["learner"]["gradient_booster"]["model"]["gbtree_model_param"],
            first_tree(whole)["tree_param"],
        )
        if key in owner
    )
    owner[key] = value
    with pytest.raises(ValueError, match=r"^(The text of the trees|Tree 0) .*\.$"):
        understood(json.dumps(whole))


def test_scores_cannot_overflow(text):
    whole = json.loads(text)
    tree = first_tree(whole)
    leaf = tree["left_children"].index(-1)
    for value in (2e30, -3e38, 1e300):
        tree["split_conditions"][leaf] = value
        with pytest.raises(ValueError, match=r"^Tree 0 is not whole: split_conditions must "):
            understood(json.dumps(whole))


def test_codes_in_a_sane_range_that_rise(text):
    whole = json.loads(text)
    codes = first_tree(whole)["categories"]
    size = first_tree(whole)["categories_sizes"][0]
    assert size > 1
    for other in (-1, MOST_CATEGORIES, 2**24, 1.0, True):
        changed = copy.deepcopy(whole)
        first_tree(changed)["categories"][size - 1] = other
        with pytest.raises(ValueError, match=r"^Tree 0 is not whole: categories must hold whole"):
            understood(json.dumps(changed))
    first_tree(whole)["categories"][0] = codes[1]
    with pytest.raises(ValueError, match=r"^Tree 0 is not whole: categories must rise within"):
        understood(json.dumps(whole))


@pytest.mark.parametrize(
    ("odd", "sentence"),
    [
        ('{"learner": NaN}', "The text of the trees holds NaN, which is no finite number."),
        ('{"a": [-Infinity]}', "The text of the trees holds -Infinity, which is no finite number."),
        ('{"learner": 1, "learner": 1}', "The text of the trees has 'learner' twice."),
        ('{"a\\nb": 1, "a\\nb": 1}', r"The text of the trees has 'a\nb' twice."),
        ("[" * 100_000, "The text of the trees is nested too deeply."),
        ('{"a":' * 100_000, "The text of the trees is nested too deeply."),
        ("1" * 5000, "The text of the trees holds a whole number of more than 10 digits."),
        ("", "The text of the trees is not JSON."),
        ("\ufeff{}", "The text of the trees is not JSON."),
        ("{} {}", "The text of the trees is not JSON."),
        ("[]", "The text of the trees must have an object with learner."),
        ("{}", "The text of the trees lacks learner."),
        (5, "The trees must be text."),
        (b"{}", "The trees must be text."),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_text_of_trees_is_refused(odd, sentence):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        understood(odd)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9])
def test_a_text_that_was_cut_is_refused(text, share):
    with pytest.raises(ValueError, match=r"^The text of the trees is not JSON\.$"):
        understood(text[: int(share * len(text))])


def test_keys_that_come_twice_are_refused_wherever_they_are(text):
    for key in ("trees", "left_children", "num_trees", "name"):
        place = text.index(f'"{key}":')
        with pytest.raises(ValueError, match=rf"^The text of the trees has '{key}' twice\.$"):
            understood(f'{text[:place]}"{key}":[],{text[place:]}')


def test_other_features_are_refused(text):
    with pytest.raises(ValueError, match=r"^The trees take 3 features, not 2\.$"):
        understood(text, 2)
