"""XGBoost's JSON format: read strictly before XGBoost sees it, and written anew.

XGBoost trusts much of its format: a child that does not exist makes it read memory that is not its
own, one that is its own parent makes it run for ever, and a few bytes can ask it for gigabytes. A
model file may come from anybody, so that the text is understood here first, completely, and what
XGBoost gets is written anew from what was understood: the trees of one score, and nothing that is
not needed to score. Numbers are those that XGBoost would have read, single precision and all.
"""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from evenscore.scores.arrays import Bools, Ints

MOST_CATEGORIES = 65_536
"""Of a feature: XGBoost keeps a bit for every code up to the largest, in every split by codes."""

_MOST_LEAVES = 131_072  # of a tree, as in LightGBM
_MOST_ADDED = 1e30  # to a score by a tree: sums stay finite in single precision
_MOST_DIGITS = 10  # of a whole number
_ROOT = 2**31 - 1  # what XGBoost calls the parent of the root
_LARGEST = float(np.finfo(np.float32).max)
_TEXT = "The text of the trees"
_OBJECTIVE = {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}
_NO_CATEGORIES: dict[str, Any] = {
    "enc": [],
    "feature_segments": [],
    "sorted_idx": [],
}  # of data frames
_SETS = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
# What tells of the training: XGBoost wants the numbers, but scores without them.
_TOLD = ("base_weights", "loss_changes", "sum_hessian")
_TREE = {
    *_SETS,
    *_TOLD,
    "default_left",
    "id",
    "left_children",
    "parents",
    "right_children",
    "split_conditions",
    "split_indices",
    "split_type",
    "tree_param",
}
_NULL_SCORE = re.compile(r"\[?-?0(\.0+)?(E0)?\]?")
_ROUNDS = re.compile(r"[0-9]{1,9}( [0-9]{1,9})*")


def understood(text: str, n_features: int | None = None) -> str:
    """The text as XGBoost may read it: written anew, without what is not needed to score.

    Parameters
    ----------
    text : str
        Trees of one score, as XGBoost writes them in JSON.
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
    return Trees.read(text, n_features).text


@final
@dataclass(frozen=True)
class Trees:
    """What a text says.

    Attributes
    ----------
    types : tuple of str
        Of every feature: "q" for numbers, "c" for codes of categories.
    trees : tuple of str
        Each as it is written, but for its number.
    rounds : tuple of int
        The round in which each was grown; there are more of them if some found no split.
    """

    types: tuple[str, ...]
    trees: tuple[str, ...]
    rounds: tuple[int, ...]

    @classmethod
    def read(cls, text: str, n_features: int | None = None) -> Self:
        """Refuse whatever `understood` refuses."""
        if not isinstance(text, str):
            raise ValueError("The trees must be text.")
        whole = _fields(_TEXT, _parsed(text), {"learner", "version"})
        version = _whole(_TEXT, whole, "version", 3, 0, 999)
        _require(version[0] == 3, _TEXT, "version", "be one of XGBoost 3")
        learner = _fields(
            _TEXT,
            whole["learner"],
            {
                "attributes",
                "feature_names",
                "feature_types",
                "gradient_booster",
                "learner_model_param",
                "objective",
            },
        )
        types = _types(learner)
        if n_features is not None and len(types) != n_features:
            raise ValueError(f"The trees take {len(types)} features, not {n_features}.")
        _must_say(_TEXT, learner, "objective", _OBJECTIVE)
        trees = _listed(learner["gradient_booster"])
        written = tuple(_tree(f"Tree {k}", k, tree, types) for k, tree in enumerate(trees))
        return cls(types, written, _rounds(learner["attributes"], len(trees)))

    def first(self, n_trees: int) -> Self:
        """The first trees alone."""
        return replace(self, trees=self.trees[:n_trees], rounds=self.rounds[:n_trees])

    @property
    def text(self) -> str:
        """As XGBoost 3 reads it, whichever of its versions."""
        n = len(self.trees)
        plain = self.rounds == tuple(range(n))
        attributes = {} if plain else {"rounds": " ".join(map(str, self.rounds))}
        trees = ",".join(f'{{"id":{k},{tree}}}' for k, tree in enumerate(self.trees))
        width = len(self.types)
        return (
            f'{{"learner":{{"attributes":{_json(attributes)},"feature_names":[],'
            f'"feature_types":{_json(self.types)},"gradient_booster":{{"model":{{'
            f'"gbtree_model_param":{{"num_parallel_tree":"1","num_trees":"{n}"}},'
            f'"iteration_indptr":{_json(range(n + 1))},"tree_info":{_json([0] * n)},'
            f'"trees":[{trees}]}},"name":"gbtree"}},"learner_model_param":{{"base_score":"0E0",'
            f'"boost_from_average":"0","num_class":"0","num_feature":"{width}","num_target":"1"}},'
            f'"objective":{_json(_OBJECTIVE)}}},"version":[3,0,0]}}'
        )


# ---------------------------------------------------------------------- around the trees


def _types(learner: dict[str, Any]) -> tuple[str, ...]:
    """What the features are, by what stands around the trees; a constant is not added."""
    _must_say(_TEXT, learner, "feature_names", [])
    types = learner["feature_types"]
    known = isinstance(types, list) and all(isinstance(kind, str) for kind in types)
    _require(known and {*types} <= {"q", "c"} and types, _TEXT, "feature_types", "be q and c")
    numbers = _fields(
        _TEXT,
        learner["learner_model_param"],
        {"base_score", "num_class", "num_feature", "num_target"},
        {"boost_from_average"},
    )
    _must_say(_TEXT, numbers, "num_feature", str(len(types)))
    _must_say(_TEXT, numbers, "num_class", "0")
    _must_say(_TEXT, numbers, "num_target", "1")
    average = numbers.get("boost_from_average", "0")
    _require(average in ("0", "1"), _TEXT, "boost_from_average", "be 0 or 1")
    score = numbers["base_score"]
    null = isinstance(score, str) and _NULL_SCORE.fullmatch(score) is not None
    _require(null, _TEXT, "base_score", "be 0")
    return tuple(types)


def _listed(booster: Any) -> list[Any]:
    """The trees, of which there are as many as is said: one a round, all of one score."""
    booster = _fields(_TEXT, booster, {"model", "name"})
    _must_say(_TEXT, booster, "name", "gbtree")
    known = {"gbtree_model_param", "iteration_indptr", "tree_info", "trees"}
    model = _fields(_TEXT, booster["model"], known, {"cats"})
    trees = model["trees"]
    _require(isinstance(trees, list), _TEXT, "trees", "be a list")
    n = len(trees)
    counts = _fields(_TEXT, model["gbtree_model_param"], {"num_parallel_tree", "num_trees"})
    _must_say(_TEXT, counts, "num_parallel_tree", "1")
    _must_say(_TEXT, counts, "num_trees", str(n))
    ends = _whole(_TEXT, model, "iteration_indptr", n + 1, 0, n)
    _require(np.array_equal(ends, np.arange(n + 1)), _TEXT, "iteration_indptr", "count the trees")
    _whole(_TEXT, model, "tree_info", n, 0, 0)
    if "cats" in model:
        _must_say(_TEXT, model, "cats", _NO_CATEGORIES)
    return list(trees)


def _rounds(attributes: Any, n_trees: int) -> tuple[int, ...]:
    """The rounds of the trees: one each, unless it says otherwise."""
    attributes = _fields(_TEXT, attributes, set(), {"rounds"})
    if "rounds" not in attributes:
        return tuple(range(n_trees))
    text = attributes["rounds"]
    whole = isinstance(text, str) and _ROUNDS.fullmatch(text) is not None
    rounds = tuple(map(int, text.split(" "))) if whole else ()
    rising = all(one < two for one, two in pairwise(rounds))
    right = whole and rising and len(rounds) == n_trees
    _require(right, _TEXT, "rounds", "hold one rising number for every tree")
    return rounds


# ---------------------------------------------------------------------- a tree


def _tree(name: str, number: int, value: Any, types: tuple[str, ...]) -> str:
    """A tree that XGBoost can follow from its root to a leaf, whatever the features are."""
    tree = _fields(name, value, _TREE)
    _require(type(tree["id"]) is int and tree["id"] == number, name, "id", "be its number")
    n = _size(name, tree, len(types))
    split = _check_children(name, tree, n)
    features = _whole(name, tree, "split_indices", n, 0, len(types) - 1)
    kinds = _whole(name, tree, "split_type", n, 0, 1)
    codes = np.array([kind == "c" for kind in types])[features]
    agree = np.array_equal(kinds[split], codes[split]) and not np.any(kinds[~split])
    _require(agree, name, "split_type", "be 1 for splits by codes, and 0 for all else")
    sets = _sets(name, tree, np.flatnonzero(kinds))
    left = _whole(name, tree, "default_left", n, 0, 1)
    values = _real(name, tree, "split_conditions", n)
    small = bool(np.all(np.abs(values[~split]) <= _MOST_ADDED))
    _require(small, name, "split_conditions", f"add no more than {_MOST_ADDED:g} to a score")
    for key in _TOLD:
        _real(name, tree, key, n)
    # What a leaf splits on, and the threshold of a set of codes, is not looked at.
    kept: dict[str, Sequence[Any]] = {
        "default_left": np.where(split, left, 0).tolist(),
        "left_children": tree["left_children"],
        "parents": tree["parents"],
        "right_children": tree["right_children"],
        "split_indices": np.where(split, features, 0).tolist(),
        "split_type": tree["split_type"],
        **sets,
    }
    lists = [f'"{key}":{_json(entries)}' for key, entries in kept.items()]
    conditions = ",".join(map(str, np.where(kinds == 1, np.float32(0.0), values)))
    nothing = ",".join(["0.0"] * n)
    told = [f'"{key}":[{nothing}]' for key in _TOLD]
    sizes = {
        "num_deleted": "0",
        "num_feature": str(len(types)),
        "num_nodes": str(n),
        "size_leaf_vector": "1",
    }
    return ",".join(
        [*lists, f'"split_conditions":[{conditions}]', *told, f'"tree_param":{_json(sizes)}']
    )


def _size(name: str, tree: dict[str, Any], n_features: int) -> int:
    """How many nodes a tree has."""
    known = {"num_feature", "num_nodes", "size_leaf_vector"}
    sizes = _fields(name, tree["tree_param"], known, {"num_deleted"})
    children = tree["left_children"]
    most = 2 * _MOST_LEAVES - 1
    fits = isinstance(children, list) and 1 <= len(children) <= most
    _require(fits, name, "left_children", f"be a list of 1 to {most} nodes")
    _must_say(name, sizes, "num_nodes", str(len(children)))
    _must_say(name, sizes, "num_feature", str(n_features))
    _must_say(name, sizes, "size_leaf_vector", "1")
    _must_say(name, {"num_deleted": "0", **sizes}, "num_deleted", "0")
    return len(children)


def _check_children(name: str, tree: dict[str, Any], n: int) -> Bools:
    """Which nodes are splits; every node but the first is the child of one that comes before it."""
    left = _whole(name, tree, "left_children", n, -1, n - 1)
    right = _whole(name, tree, "right_children", n, -1, n - 1)
    split = left >= 0
    node = np.tile(np.flatnonzero(split), 2)
    child = np.concatenate([left[split], right[split]])
    once = np.array_equal(np.sort(child), np.arange(1, n)) and not np.any(right[~split] >= 0)
    later = bool(np.all(child > node))
    _require(once and later, name, "left_children and right_children", "make a tree")
    parents = np.full(n, _ROOT)
    parents[child] = node
    told = _whole(name, tree, "parents", n, 0, _ROOT)
    _require(np.array_equal(told, parents), name, "parents", "agree with the children")
    return split


def _sets(name: str, tree: dict[str, Any], nodes: Ints) -> dict[str, list[int]]:
    """The sets of codes, one for every split by codes: stretches of one list."""
    n = len(nodes)
    entries, _, starts, sizes = (tree[key] for key in _SETS)
    told = _whole(name, tree, "categories_nodes", n, 0, 2 * _MOST_LEAVES)
    _require(np.array_equal(told, nodes), name, "categories_nodes", "be the splits by codes")
    total = len(entries) if isinstance(entries, list) else 0
    codes = _whole(name, tree, "categories", total, 0, MOST_CATEGORIES - 1)
    lengths = _whole(name, tree, "categories_sizes", n, 1, MOST_CATEGORIES)
    first = _whole(name, tree, "categories_segments", n, 0, total)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    divided = ends[-1] == total and np.array_equal(first, ends[:-1])
    _require(divided, name, "categories_segments", "divide categories")
    rising = np.diff(codes) > 0
    rising[first[1:] - 1] = True  # from one set to the next
    _require(bool(np.all(rising)), name, "categories", "rise within a set")
    return dict(zip(_SETS, (entries, nodes.tolist(), starts, sizes), strict=True))


# ---------------------------------------------------------------------- entries


def _parsed(text: str) -> Any:
    """JSON, of which Python takes more than there is: not-a-number, and keys that come twice."""
    try:
        return json.loads(text, parse_int=_int, parse_constant=_constant, object_pairs_hook=_object)
    except json.JSONDecodeError:
        raise ValueError(f"{_TEXT} is not JSON.") from None
    except RecursionError:
        raise ValueError(f"{_TEXT} is nested too deeply.") from None


def _int(digits: str) -> int:
    if len(digits.lstrip("-")) > _MOST_DIGITS:
        raise ValueError(f"{_TEXT} holds a whole number of more than {_MOST_DIGITS} digits.")
    return int(digits)


def _constant(text: str) -> Any:
    raise ValueError(f"{_TEXT} holds {text}, which is no finite number.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for key, value in pairs:
        if key in entries:
            raise ValueError(f"{_TEXT} has {key[:40]!r} twice.")
        entries[key] = value
    return entries


def _fields(
    name: str, value: Any, wanted: Collection[str], optional: Collection[str] = ()
) -> dict[str, Any]:
    """The entries of an object, which has all of the wanted keys, and no others."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} must have an object with {min({*wanted, *optional})}.")
    for key in sorted(wanted):
        if key not in value:
            raise ValueError(f"{name} lacks {key}.")
    for key in value:
        if key not in wanted and key not in optional:
            raise ValueError(f"{name} must not have {key[:40]!r}.")
    return value


def _must_say(name: str, entries: dict[str, Any], key: str, value: Any) -> None:
    if type(entries[key]) is not type(value) or entries[key] != value:
        raise ValueError(f"{name} must say {key}={_json(value)}.")


def _whole(
    name: str, entries: dict[str, Any], key: str, length: int, least: int, most: int
) -> Ints:
    values = entries[key]
    fits = isinstance(values, list) and len(values) == length
    _require(fits, name, key, f"be a list of {length}")
    inside = all(type(value) is int and least <= value <= most for value in values)
    _require(inside, name, key, f"hold whole numbers from {least} to {most}")
    return np.array(values, dtype=np.int64)


def _real(name: str, entries: dict[str, Any], key: str, length: int) -> NDArray[np.float32]:
    """Numbers as XGBoost reads them; there is one zero only, whatever its sign was."""
    values = entries[key]
    fits = isinstance(values, list) and len(values) == length
    _require(fits, name, key, f"be a list of {length}")
    inside = all(type(value) is float and abs(value) <= _LARGEST for value in values)
    _require(inside, name, key, "hold finite numbers")
    return np.array(values, dtype=np.float32) + np.float32(0.0)


def _json(value: Any) -> str:
    if isinstance(value, (range, tuple)):
        value = list(value)
    return json.dumps(value, separators=(",", ":"))


def _require(fulfilled: Any, name: str, key: str, rule: str) -> None:
    if not fulfilled:
        raise ValueError(f"{name} is not whole: {key} must {rule}.")
