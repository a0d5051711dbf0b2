"""LightGBM's text format: taken apart, put together, and read strictly before LightGBM sees it.

LightGBM trusts its text: a child or a feature that does not exist makes it read memory that is not
its own, a child that is its own parent makes it run for ever. A model file may come from anybody,
so that the text is understood here first, completely, and what LightGBM gets is written anew from
what was understood. Numbers are passed on digit by digit: scores are those of the text as it was.
"""

import math
import re

import numpy as np

from evenscore.scores.arrays import Ints

_MOST_LEAVES = 131_072  # of a tree, by LightGBM's own parameters
_FIXED = {
    "tree": "",
    "version": "v4",
    "num_class": "1",
    "num_tree_per_iteration": "1",
    "label_index": "0",
}
_HEAD = {*_FIXED, "max_feature_idx", "feature_names", "feature_infos", "tree_sizes"}
_NODES = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
_CATEGORIES = ("cat_boundaries", "cat_threshold")
# What tells of the training, and is not needed to score.
_TOLD = {
    "split_gain",
    "leaf_weight",
    "leaf_count",
    "internal_value",
    "internal_weight",
    "internal_count",
    "shrinkage",
}
_TREE = {"num_leaves", "num_cat", "leaf_value", "is_linear", *_NODES, *_TOLD}
_WHOLE = re.compile(r"-?[0-9]{1,10}")
_REAL = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?(e[-+]?[0-9]{1,4})?")

Entries = dict[str, list[str]]


def parts_of(text: str) -> tuple[str, list[str], str]:
    """What comes before the trees in the text of a model, the trees, and what comes after."""
    trees, end, tail = text.partition("end of trees")
    if not end:
        raise ValueError("The text of the trees has no end.")
    head, *parts = re.split(r"^Tree=\d+\n", trees, flags=re.MULTILINE)
    return head, parts, f"{end}{tail}"


def joined(*texts: str, n_trees: int) -> str:
    """The first trees of some texts as one text: renumbered, with the sizes the format wants."""
    head, _, tail = parts_of(texts[0])
    trees = [tree for text in texts for tree in parts_of(text)[1]][:n_trees]
    return _written(head, trees, tail)


def _written(head: str, trees: list[str], tail: str) -> str:
    trees = [f"Tree={k}\n{tree}" for k, tree in enumerate(trees)]
    sizes = " ".join(str(len(tree.encode())) for tree in trees)
    head = re.sub(r"^tree_sizes=.*$", f"tree_sizes={sizes}", head, flags=re.MULTILINE)
    return head + "".join(trees) + tail


def understood(text: str, n_features: int | None = None) -> str:
    """The text as LightGBM may read it: written anew, without what is not needed to score.

    Parameters
    ----------
    text : str
        Trees of one score, as LightGBM writes them.
    n_features : int, optional
        How many features they are to take; by default as many as the text says.

    Returns
    -------
    str
        Every child exists and is reached once, every feature exists, every value is finite.

    Raises
    ------
    ValueError
        With one sentence, if there is anything else in the text.
    """
    if not isinstance(text, str):
        raise ValueError("The trees must be text.")
    head, trees, _ = parts_of(text)
    width = _features(head)
    if n_features is not None and width != n_features:
        raise ValueError(f"The trees take {width} features, not {n_features}.")
    checked = [_tree(f"Tree {k}", tree, width) for k, tree in enumerate(trees)]
    fixed = [f"{key}={value}" if value else key for key, value in _FIXED.items()]
    names = " ".join(f"Column_{k}" for k in range(width))
    told = [f"max_feature_idx={width - 1}", f"feature_names={names}"]
    infos = f"feature_infos={' '.join(['none'] * width)}"
    return _written("\n".join([*fixed, *told, infos, "tree_sizes=", "", ""]), checked,
                    "end of trees\n")  # fmt: skip


def _features(head: str) -> int:
    """How many features the trees take, by what stands before them."""
    entries = _entries("The text of the trees", head, _HEAD | {"monotone_constraints"})
    lacking = _HEAD - {*entries}
    if lacking:
        raise ValueError(f"The text of the trees lacks {min(lacking)}.")
    for key, value in _FIXED.items():
        if " ".join(entries[key]) != value:
            raise ValueError(f"The text of the trees must say {key}={value}.")
    names = entries["feature_names"]
    if entries["max_feature_idx"] != [str(len(names) - 1)] or not names:
        raise ValueError("The text of the trees must have as many feature_names as features.")
    return len(names)


def _tree(name: str, text: str, n_features: int) -> str:
    """A tree that LightGBM can follow from its root to a leaf, whatever the features are."""
    entries = _entries(name, text, {*_TREE, *_CATEGORIES})
    if entries.get("is_linear") != ["0"]:
        raise ValueError(f"{name} must say is_linear=0.")
    n_leaves = _count(name, entries, "num_leaves", 1, _MOST_LEAVES)
    n_sets = _count(name, entries, "num_cat", 0, n_leaves - 1)
    wanted = _TREE | {*_CATEGORIES} if n_sets else _TREE
    if {*entries} != wanted:
        odd = min({*entries} ^ wanted)
        raise ValueError(f"{name} {'lacks' if odd in wanted else 'must not have'} {odd}.")
    for key in _NODES:
        _require(len(entries[key]) == n_leaves - 1, name, key, "have one entry for every split")
    _require(len(entries["leaf_value"]) == n_leaves, name, "leaf_value", "have one entry per leaf")
    _require(all(map(_is_real, entries["leaf_value"])), name, "leaf_value", "hold finite numbers")
    # LightGBM splits missing values from all others at an infinite threshold.
    thresholds = [text for text in entries["threshold"] if text not in ("inf", "-inf")]
    _require(all(map(_is_real, thresholds)), name, "threshold", "hold numbers")
    _check_children(name, entries, n_leaves)
    features = _whole(name, entries, "split_feature")
    inside = np.all((features >= 0) & (features < n_features))
    _require(bool(inside), name, "split_feature", f"hold features, 0 to {n_features - 1}")
    _check_categories(name, entries, n_sets)
    kept = ["num_leaves", "num_cat", *_NODES, "leaf_value", *(_CATEGORIES if n_sets else ())]
    lines = [f"{key}={' '.join(entries[key])}" for key in [*kept, "is_linear"]]
    return "\n".join([*lines, "", "", ""])


def _check_children(name: str, entries: Entries, n_leaves: int) -> None:
    """Every leaf, and every split but the first, is the child of one split that comes before it.

    Splits count from 0, leaves from -1 downwards.
    """
    left, right = (_whole(name, entries, key) for key in ("left_child", "right_child"))
    if n_leaves == 1:
        return
    split, child = np.tile(np.arange(n_leaves - 1), 2), np.concatenate([left, right])
    once = np.array_equal(np.sort(child), np.r_[-n_leaves:0, 1 : n_leaves - 1])
    later = np.all((child < 0) | (child > split))
    _require(once and bool(later), name, "left_child and right_child", "make a tree")


def _check_categories(name: str, entries: Entries, n_sets: int) -> None:
    """A split by categories names its set of them; sets are stretches of 32-bit words."""
    kinds = _whole(name, entries, "decision_type")
    # Whether by categories, where missing values go, and one of three kinds of missing values.
    _require(bool(np.all((kinds >= 0) & (kinds < 12))), name, "decision_type", "be from 0 to 11")
    sets = [entries["threshold"][k] for k in np.flatnonzero(kinds & 1)]
    known = {str(k) for k in range(n_sets)}
    _require({*sets} <= known, name, "threshold", "name sets of categories that there are")
    if n_sets:
        ends, words = (_whole(name, entries, key) for key in _CATEGORIES)
        whole = len(ends) == n_sets + 1 and ends[0] == 0 and ends[-1] == len(words)
        increasing = bool(np.all(np.diff(ends) > 0))
        _require(whole and increasing, name, "cat_boundaries", "divide cat_threshold")
        inside = bool(np.all((words >= 0) & (words < 2**32)))
        _require(inside, name, "cat_threshold", "hold 32-bit numbers")


# ---------------------------------------------------------------------- entries


def _entries(name: str, text: str, known: set[str]) -> Entries:
    """Lines such as key=1 2 3; each key is known, and there once."""
    entries: Entries = {}
    for line in text.rstrip("\n").split("\n"):
        key, _, value = line.partition("=")
        if key not in known:
            raise ValueError(f"{name} has a line {line[:40]!r}, which is not of its format.")
        if key in entries:
            raise ValueError(f"{name} has {key} twice.")
        entries[key] = value.split(" ") if value else []
    return entries


def _whole(name: str, entries: Entries, key: str) -> Ints:
    texts = entries[key]
    _require(all(map(_WHOLE.fullmatch, texts)), name, key, "hold whole numbers")
    return np.array(texts, dtype=np.int64) if texts else np.zeros(0, dtype=np.int64)


def _count(name: str, entries: Entries, key: str, least: int, most: int) -> int:
    texts = entries.get(key, [])
    whole = len(texts) == 1 and _WHOLE.fullmatch(texts[0]) is not None
    inside = whole and least <= int(texts[0]) <= most
    _require(inside, name, key, f"be a whole number from {least} to {most}")
    return int(texts[0])


def _is_real(text: str) -> bool:
    return _REAL.fullmatch(text) is not None and math.isfinite(float(text))


def _require(fulfilled: bool, name: str, key: str, rule: str) -> None:
    if not fulfilled:
        raise ValueError(f"{name} is not whole: {key} must {rule}.")
