"""The text of trees, altered: LightGBM would crash or run for ever on most of these."""

import re

import numpy as np
import pytest
from scipy import sparse

from evenscore.learning.boosters import LightGBMBooster, TreeSettings
from evenscore.learning.tree_text import joined, parts_of, understood

lightgbm = pytest.importorskip("lightgbm")


def grown(categorical=(2,), monotone=(), min_rows=5, rounds=6):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[:, 2] = rng.integers(0, 40, 400)
    target = np.sin(X[:, 0]) + 0.2 * X[:, 1] + (X[:, 2] % 3)
    X[rng.random(400) < 0.2, 1] = np.nan
    settings = TreeSettings(0.2, 6, min_rows, 1.0, 1.0, 1.0, 1.0, 255, categorical, monotone, 0, 1)
    booster = LightGBMBooster.begin(X, np.zeros(400), settings)
    for _ in range(rounds):
        booster.grow(lambda raw: (raw - target, np.ones(400)))
    return booster


@pytest.fixture(scope="module")
def text():
    found = grown()
    whole = found.to_text(found.n_trees)
    assert "num_cat=0" in whole
    assert re.search(r"num_cat=[1-9]", whole)
    return whole


def strange_rows():
    rng = np.random.default_rng(1)
    X = 3.0 * rng.normal(size=(3000, 3))
    X[:, 2] = rng.integers(-2, 60, 3000)
    X[::3, 1], X[::7, 2], X[::11] = np.nan, np.nan, 0.0
    X[5], X[6] = 1e300, -1e300
    return X


OPTIONS = [
    {},
    {"categorical": ()},
    {"categorical": (), "monotone": (1, 0, -1)},
    {"min_rows": 300, "rounds": 1},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_scores_are_those_of_the_text_as_it_was_to_the_last_bit(options):
    booster = grown(**options)
    whole = booster.to_text(booster.n_trees)
    one, two = (lightgbm.Booster(model_str=one) for one in (whole, understood(whole, 3)))
    X = strange_rows()
    for rows in (X, sparse.csr_matrix(np.nan_to_num(X))):
        ours, theirs = (model.predict(rows, raw_score=True) for model in (two, one))
        np.testing.assert_array_equal(ours, theirs)


def test_what_was_understood_is_understood_again(text):
    _, trees, tail = parts_of(text)
    assert (len(trees), joined(text, n_trees=6)) == (6, text)
    assert "parameters" in tail
    assert "parameters" not in understood(text)
    sizes = [int(size) for size in re.search(r"tree_sizes=(.*)", understood(text))[1].split()]
    assert understood(text).index("end of trees") == understood(text).index("Tree=0") + sum(sizes)
    assert understood(joined(text, n_trees=0)).count("Tree=") == 0


def with_first(text, key, change):
    """The text with the first tokens of a key changed."""
    line = re.search(rf"^{key}=(.*)$", text, re.MULTILINE)
    tokens = change(line[1].split(" "))
    return text[: line.start(1)] + " ".join(tokens) + text[line.end(1) :]


FIELDS = {
    "split_feature": ["1000000000", "-1000000000", "3", "-1", "0.5", "", "x", "1e0", "٣"],
    "left_child": ["900000000", "-900000000", "0", "-99", "nan", "99999999999999999999"],
    "right_child": ["900000000", "-900000000", "0", "-1"],
    "leaf_value": ["inf", "nan", "1e999", "0x1p3", "", "1_0", "9" * 500],
    "threshold": ["infinity", "-nan", "1e999", "x"],
    "decision_type": ["12", "-1", "127", "1", "1.0"],
    "num_leaves": ["0", "-1", "5", "999999999", "1", "x"],
    "num_cat": ["-1", "7", "999999999", "x"],
    "cat_boundaries": ["1", "-5", "99"],
    "cat_threshold": ["-1", "4294967296", "x"],
    "is_linear": ["1", "2", ""],
    "max_feature_idx": ["1", "3", "999999999", "-1", "-5", "x"],
    "num_class": ["0", "2"],
    "num_tree_per_iteration": ["0", "2", "-1"],
    "label_index": ["-1", "1000000000"],
    "version": ["v3", ""],
}


@pytest.mark.parametrize("key", FIELDS)
def test_a_number_that_cannot_be_is_refused_with_or_without_sizes(text, key):
    # A numerical split that is said to be by categories names no set of them.
    for value in FIELDS[key]:
        altered = with_first(text, key, lambda tokens, value=value: [value, *tokens[1:]])
        assert altered != text
        for one in (altered, re.sub("tree_sizes=.*\n", "", altered)):
            with pytest.raises(ValueError, match=r"^(Tree|The) .*\.$"):
                understood(one, 3)
            with pytest.raises(ValueError, match=r"[Tt]ree"):
                LightGBMBooster.check_text(one, 3)


@pytest.mark.parametrize("key", ["split_feature", "threshold", "leaf_value", "left_child",
                                 "decision_type", "cat_threshold", "cat_boundaries"])  # fmt: skip
def test_lists_of_other_lengths_are_refused(text, key):
    for change in (lambda t: t[1:], lambda t: [*t, t[-1]], lambda t: []):
        with pytest.raises(ValueError, match=r"^Tree \d is not whole"):
            understood(with_first(text, key, change))


@pytest.mark.parametrize("line", ["average_output", "objective=binary", "num_class=1", "", "x",
                                  "tree_sizes=1", "leaf_const=1"])  # fmt: skip
def test_lines_that_are_there_twice_or_not_known_are_refused(text, line):
    with pytest.raises(ValueError, match=r"not of its format| twice"):
        understood(text.replace("label_index", f"{line}\nlabel_index"))
    with pytest.raises(ValueError, match=r"^Tree 0 .*(format| twice)"):
        understood(text.replace("leaf_value", f"{line or 'num_cat=0'}\nleaf_value", 1))


def test_trees_that_go_in_circles_are_refused(text):
    tree = re.search(r"^left_child=(.*)\nright_child=(.*)$", text, re.MULTILINE)
    left, right = tree[1].split(" "), tree[2].split(" ")
    for other in ([*left[:-1], "0"], right, ["0"] * len(left)):
        with pytest.raises(ValueError, match="left_child and right_child"):
            understood(with_first(text, "left_child", lambda tokens, other=other: other))
    # Each is named once, but the last split is its own parent.
    last = [k for k, child in enumerate(left) if child == str(len(left) - 1)]
    for k in last:
        swapped = left.copy()
        swapped[k], swapped[-1] = swapped[-1], swapped[k]
        with pytest.raises(ValueError, match="left_child"):
            understood(with_first(text, "left_child", lambda tokens, other=swapped: other))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_a_text_that_was_cut_is_refused(text, share):
    end = text.index("end of trees")
    with pytest.raises(ValueError, match="no end"):
        understood(text[: int(share * end)])


def test_other_features_and_no_text_are_refused(text):
    with pytest.raises(ValueError, match="3 features, not 2"):
        understood(text, 2)
    with pytest.raises(ValueError, match="must be text"):
        understood(5)
