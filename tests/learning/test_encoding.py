"""Data frames with categories give the scores of matrices made by hand."""

import datetime
import pickle
import warnings
from contextlib import suppress
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import skops.io
from scipy import sparse

from evenscore import Cuts, EvenScorer, LinearScorer, RateConstraint
from evenscore.files.features import MAX_CATEGORIES as OF_FILES
from evenscore.files.models import TRUSTED
from evenscore.learning.encoding import MAX_CATEGORIES, FeatureEncoding

JOBS = ["smith", "clerk", "Ärztin", "1"]
TOWNS = ["Ulm", "Bern", "Graz"]


def people(n=240, seed=0):
    """Columns as lists, with labels and groups; job and retired are missing now and then."""
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
    job, town = rng.integers(0, 4, n), rng.integers(0, 3, n)
    job = np.where(rng.random(n) < 0.5, 3 * y, job)
    columns = {
        "age": (40 + 10 * rng.normal(size=n) + 5 * y + 3 * group).tolist(),
        "job": [None if k % 17 == 0 else JOBS[j] for k, j in enumerate(job)],
        "children": rng.integers(0, 4, n).tolist(),
        "town": [TOWNS[t] for t in town],
        "retired": [None if k % 23 == 0 else bool(r) for k, r in enumerate(rng.random(n) < 0.3)],
        "owner": (rng.random(n) < 0.5 + 0.2 * y).tolist(),
    }
    return columns, y, group


def to_pandas(columns, towns=("Ulm", "nowhere", "Graz", "Bern")):
    frame = pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})
    if "town" in frame:
        frame["town"] = pd.Categorical(frame["town"], categories=list(towns))
    if "retired" in frame:
        frame["retired"] = frame["retired"].astype("boolean")
    return frame


def to_objects(columns):
    return pd.DataFrame({k: np.array(v, dtype=object) for k, v in columns.items()}, dtype=object)


def to_polars(columns):
    frame = pl.DataFrame(columns)
    return frame.with_columns(pl.col("town").cast(pl.Categorical)) if "town" in frame else frame


def to_enum(columns):
    return pl.DataFrame(columns).with_columns(pl.col("town").cast(pl.Enum(["x", *TOWNS])))


def to_pyarrow(columns):
    arrays = {name: pa.array(values) for name, values in columns.items()}
    if "town" in arrays:
        arrays["town"] = arrays["town"].dictionary_encode()
        arrays["job"] = arrays["job"].dictionary_encode()
    return pa.table(arrays)


FRAMES = {
    "pandas": to_pandas,
    "objects": to_objects,
    "arrow in pandas": lambda columns: to_pyarrow(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": to_polars,
    "enum": to_enum,
    "pyarrow": to_pyarrow,
}


def one_hot(columns):
    """By hand, a column per level in the order of the alphabet."""
    parts = []
    for name, values in columns.items():
        if name in ("job", "town", "retired"):
            levels = {"job": ["1", "clerk", "smith", "Ärztin"], "town": ["Bern", "Graz", "Ulm"],
                      "retired": [False, True]}[name]  # fmt: skip
            parts += [[float(value == level) for value in values] for level in levels]
        else:
            parts.append([float(value) for value in values])
    return np.array(parts).T


def codes(columns):
    """By hand, a code per level."""
    order = {"job": ["1", "clerk", "smith", "Ärztin"], "town": ["Bern", "Graz", "Ulm"]}
    parts = []
    for name, values in columns.items():
        if name in order:
            values = [np.nan if value is None else order[name].index(value) for value in values]
        parts.append([np.nan if value is None else float(value) for value in values])
    return np.array(parts).T


def linear(**options):
    return LinearScorer("inter_group", tolerance=0.3, **options)


def even(**options):
    asked = RateConstraint("fnr", cuts=Cuts(at=0.5), tolerance=0.9)
    return EvenScorer(asked, "trees", folds=2, random_state=0, **options)


SCORERS = {"linear": linear, "even": even}


def fitted(scorer, X, y, group):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of gaps that few rows leave
        return scorer.fit(X, y, sensitive_features=group)


# ---------------------------------------------------------------------- the same scores


@pytest.mark.parametrize("name", SCORERS)
def test_a_frame_gives_the_scores_of_the_matrix_made_by_hand(name):
    columns, y, group = people()
    new, _, _ = people(50, seed=1)
    native = name == "even"
    matrix = codes if native else one_hot
    if native:  # codes as they are would be numbers, not categories
        expected = fitted(even(), to_pandas(columns), y, group).decision_function(to_pandas(new))
    else:
        by_hand = fitted(linear(), matrix(columns), y, group)
        expected = by_hand.decision_function(matrix(new))
    assert np.ptp(expected) > 0.1
    for kind, frame in FRAMES.items():
        encoding = FeatureEncoding.fit(frame(columns), native=native)
        found = encoding.transform(frame(columns))
        np.testing.assert_array_equal(found, matrix(columns), err_msg=kind)
    scorer = fitted(SCORERS[name](), to_polars(columns), y, group)
    for frame in FRAMES.values():  # fitted on one kind, scored from another
        np.testing.assert_allclose(scorer.decision_function(frame(new)), expected, rtol=1e-9)
    assert scorer.n_features_in_ == 6
    assert scorer.feature_names_in_.tolist() == list(columns)


# ---------------------------------------------------------------------- what passes through


def test_numbers_are_not_looked_at():
    X = np.arange(6.0).reshape(3, 2)
    flags = pd.DataFrame({"a": [True, False, True], "b": [1.0, 2.0, 3.0]})
    for native in (False, True):
        for plain in (
            X,
            X.tolist(),
            sparse.csr_array(X),
            pd.DataFrame(X),
            pd.DataFrame(X, columns=["a", "b"]).astype({"a": "Int64"}),
            pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0])}),
            pl.DataFrame(X),
            pl.DataFrame({"a": [1, None], "b": [True, False]}),
            pa.table({"a": [1.0, 2.0]}),
            flags,
            pd.get_dummies(pd.DataFrame({"job": ["a", "b"]})),
        ):
            assert FeatureEncoding.fit(plain, native=native) is None


def test_truth_values_are_numbers_unless_one_is_missing_where_nothing_may_be():
    columns, _, _ = people()
    whole = {**columns, "retired": [bool(value) for value in columns["retired"]]}
    for native, frame in ((False, to_polars(whole)), (True, to_polars(columns))):
        assert FeatureEncoding.fit(frame, native=native).levels[4:] == (None, None)
    lacking = FeatureEncoding.fit(to_polars(columns), native=False)
    assert lacking.levels[4:] == ((False, True), None)
    assert lacking.feature_names[-3:] == ("retired=False", "retired=True", "owner")


def test_objects_that_are_numbers_stay_numbers():
    frame = pd.DataFrame(
        {
            "a": np.array([1, 2.5, None], dtype=object),
            "b": np.array([Decimal("0.5"), np.float32(3), True], dtype=object),
            "c": np.array([None, None, None], dtype=object),
        }
    )
    encoding = FeatureEncoding.fit(frame, native=False)
    assert encoding.levels == (None, None, None)
    expected = [[1.0, 0.5, np.nan], [2.5, 3.0, np.nan], [np.nan, 1.0, np.nan]]
    np.testing.assert_array_equal(encoding.transform(frame), expected)
    decimals = pl.DataFrame({"a": [Decimal("1.25"), None]})
    encoding = FeatureEncoding.fit(decimals, native=False)
    np.testing.assert_array_equal(encoding.transform(decimals), [[1.25], [np.nan]])


# ---------------------------------------------------------------------- what is new in scoring


@pytest.mark.parametrize("name", SCORERS)
def test_unseen_categories_are_counted_in_one_warning_and_missing(name):
    columns, y, group = people()
    scorer = fitted(SCORERS[name](), to_polars(columns), y, group)
    new, _, _ = people(200, seed=1)
    missing = {**new, "job": [None] * 3 + new["job"][3:]}
    unseen = {**new, "job": ["astronaut", "bard", "astronaut", *new["job"][3:]]}
    told = r"^3 of 200 rows .*'job' .*\('astronaut', 'bard'\)"
    with pytest.warns(UserWarning, match=told) as caught:
        score = scorer.decision_function(to_polars(unseen))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(score, scorer.decision_function(to_polars(missing)))
    unseen["town"] = [*"abcd", *unseen["town"][4:]]
    with pytest.warns(UserWarning, match=r"\('a', 'b', 'c', …\)") as caught:
        scorer.predict(to_polars(unseen))
    assert len(caught) == 1
    assert "'job'" in str(caught[0].message)
    single = {key: values[:1] for key, values in unseen.items()}
    with pytest.warns(UserWarning, match=r"^The row .*'job'"):
        scorer.decision_function(to_polars(single))


def test_columns_are_matched_by_name_as_scikit_learn_does():
    columns, y, group = people()
    scorer = fitted(linear(), to_polars(columns), y, group)
    reordered = dict(reversed(columns.items()))
    with pytest.raises(ValueError, match="same order"):
        scorer.decision_function(to_polars(reordered))
    few = {key: values for key, values in columns.items() if key != "job"}
    with pytest.raises(ValueError, match="job"):
        scorer.decision_function(to_polars(few))
    with pytest.raises(ValueError, match=r"data frame .*ndarray"):
        scorer.decision_function(one_hot(columns))
    texts = {**columns, "age": ["old"] * len(y)}
    with pytest.raises(ValueError, match="'age' of X holds 'old'"):
        scorer.decision_function(to_polars(texts))


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([datetime.date(2020, 1, 1)] * 3, "[Dd]ate"),
        ([datetime.datetime(2020, 1, 1)] * 3, "Datetime"),
        ([[1], [2], [3]], "[Ll]ist"),
        ([b"a", b"b", None], "(Binary|bytes)"),
        ([10**17, None, Decimal(1)], r"2\^53 at row 0"),
        ([None, Decimal(10**17), None], r"2\^53 at row 1"),
        ([1, "a", None], r"\(1 and 'a'\)"),
    ],
)
def test_no_feature(values, sentence):
    frames = []
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        with suppress(TypeError, pa.ArrowException):  # a library without such a column
            frames.append(make({"age": [1.0, 2.0, 3.0], "odd": values}))
    for frame in frames:
        for native in (False, True):
            with pytest.raises(ValueError, match=f"Column 'odd' of X holds .*{sentence}"):
                FeatureEncoding.fit(frame, native=native).transform(frame)
    assert frames


def test_integers_that_doubles_confuse_are_no_features():
    large = [*range(59), 2**53 + 1]
    for X in (
        np.array(large)[:, None],
        [[value, 0.5] for value in large],
        pd.DataFrame({"x": pd.Series([None, *large[1:]], dtype="Int64")}),
        pl.DataFrame({"x": large}, schema={"x": pl.Int128}),
        pl.DataFrame({"x": [*map(Decimal, large)]}),
        pa.table({"x": [None, *large[1:]]}),
    ):
        with pytest.raises(ValueError, match=r"^Column ('x'|0) of X .*2\^53 at row 59"):
            EvenScorer().fit(X, [0, 1] * 30)


def test_an_identifier_is_refused_but_by_trees():
    columns, y, group = people(MAX_CATEGORIES + 20)
    columns["name"] = [f"person {k}" for k in range(len(y))]
    with pytest.raises(ValueError, match=r"'name' of X .*120 .*100"):
        linear().fit(to_polars(columns), y, sensitive_features=group)
    for scorer in (even(), even().set_params(estimator=None)):
        fitted(scorer, to_polars(columns), y, group)
        assert len(scorer.encoding_.levels[-1]) == len(y)
        assert np.ptp(scorer.decision_function(to_polars(columns))) > 0.1
    assert OF_FILES is MAX_CATEGORIES


def test_missing_numbers_are_named_with_a_scorer_that_takes_them():
    columns, y, group = people()
    frame = to_polars(columns)
    scorer = fitted(linear(), frame, y, group)
    lacking = to_polars({**columns, "children": [None, None, *columns["children"][2:]]})
    sentence = f"'children' of X .*2 of 240 rows.*{type(scorer).__name__}.*EvenScorer"
    with pytest.raises(ValueError, match=sentence):
        scorer.decision_function(lacking)
    with pytest.raises(ValueError, match=sentence):
        linear().fit(lacking, y, sensitive_features=group)
    fitted(even(), lacking, y, group)
    numbers = pd.DataFrame({"a": columns["age"], "b": lacking["children"].to_numpy()})
    with pytest.raises(ValueError, match=r"'b' of X .*2 of 240"):
        linear().fit(numbers, y, sensitive_features=group)
    array = np.full((240, 2), np.nan)
    with pytest.raises(ValueError, match=r"Column 0 of X \(and 1 more\) .*240"):
        linear().fit(array, y, sensitive_features=group)


# ---------------------------------------------------------------------- stored


@pytest.mark.parametrize("name", SCORERS)
def test_pickled_and_stored(name):
    columns, y, group = people()
    frame = to_pandas(columns)
    frame["code"] = pd.Categorical(np.arange(len(y)) % 3)
    scorer = fitted(SCORERS[name](), frame, y, group)
    expected = scorer.decision_function(frame)
    read = [pickle.loads(pickle.dumps(scorer))]
    if name == "linear":
        content = skops.io.dumps(scorer)
        assert set(skops.io.get_untrusted_types(data=content)) <= TRUSTED
        read.append(skops.io.loads(content, trusted=sorted(TRUSTED)))
    else:
        with pytest.raises(ValueError, match="categor"):
            scorer.stored()
    for again in read:
        assert again.encoding_ == scorer.encoding_
        np.testing.assert_array_equal(again.decision_function(frame), expected)
    assert nw.from_native(frame).columns == list(scorer.encoding_.names)
