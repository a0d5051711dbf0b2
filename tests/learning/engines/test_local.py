"""Frames of one process: whatever library they are of, and however many threads share the rows."""

import time

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cluster_rows import COLUMNS, cluster_rows

from evenscore import Cuts, RateConstraint
from evenscore.learning.distributed import DistributedBoostedScorer, DistributedLinearScorer
from evenscore.learning.engines import ClusterError, engine_of
from evenscore.learning.engines.local import LocalEngine
from evenscore.learning.frame_summary import LearningColumns

FAIR = RateConstraint("fnr", cuts=Cuts(between=(0.3, 0.6)), tolerance=0.3)
FEATURES = ["steps", "town", "owner", "kin"]


def people(n=300, seed=1):
    """A frame of columns with few values, some of which are missing."""
    rng = np.random.default_rng(seed)
    good, sex = rng.integers(0, 2, n), rng.integers(0, 2, n)
    towns = np.array(["Ulm", "Bern", "Graz"], dtype=object)[rng.integers(0, 3, n)]
    towns[::40] = None
    return pd.DataFrame(
        {
            "id": np.arange(n) + 1000,
            "good": good,
            "sex": np.array(["f", "m"])[sex],
            "steps": rng.integers(0, 5, n) + good,
            "weight": rng.integers(0, 3, n).astype(float),
            "town": pd.Series(towns, dtype="str"),
            "owner": rng.random(n) < 0.4 + 0.2 * good,
            "kin": rng.integers(0, 3, n) + sex,
        }
    )


LIBRARIES = {
    "pandas": lambda frame: frame,
    "pandas with an index": lambda frame: frame.set_index(np.arange(len(frame)) % 7),
    "pandas with pyarrow": lambda frame: pa.Table.from_pandas(frame).to_pandas(
        types_mapper=pd.ArrowDtype
    ),
    "polars": pl.from_pandas,
    "polars with categories": lambda frame: pl.from_pandas(frame).with_columns(
        pl.col("town").cast(pl.Categorical)
    ),
    "pyarrow": pa.Table.from_pandas,
    "pyarrow of an index": lambda frame: pa.Table.from_pandas(frame.set_index("sex")),
}


def fitted(kind, frame, **options):
    scorer = kind(FAIR, random_state=0, **options)
    return scorer.fit(frame, label="good", group="sex", weight="weight", features=FEATURES)


def linear(frame, **options):
    return fitted(DistributedLinearScorer, frame, **options)


def boosted(frame, **options):
    return fitted(DistributedBoostedScorer, frame, n_estimators=20, **options)


def column(frame, name="score"):
    return np.asarray(frame[name], dtype=np.float64)


@pytest.fixture(scope="module")
def scorer():
    return linear(people())


# ---------------------------------------------------------------------- learning


@pytest.mark.slow
@pytest.mark.parametrize("learn", [linear, boosted])
def test_every_library_gives_the_same_scorer(learn):
    frame = people()
    known = learn(frame)
    scores = column(known.score_frame(frame))
    assert np.ptp(scores) > 0.1
    some = (
        LIBRARIES
        if learn is linear
        else {"polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}
    )
    for name, convert in some.items():
        own = learn(convert(frame))
        assert np.array_equal(column(own.score_frame(convert(frame))), scores), name
        assert own.groups_ == known.groups_ == ("f", "m")
        assert own.classes_.tolist() == [0, 1]
        assert own.encoding_ == known.encoding_
        assert own.workers_ == 1


@pytest.mark.slow
def test_trees_do_not_depend_on_the_number_of_workers():
    """Columns have few values, and no tree looks at some of the rows only."""
    frame = people()
    one, two = (boosted(frame, n_workers=n, subsample=1.0) for n in (1, 2))
    assert (one.workers_, two.workers_) == (1, 2)
    assert np.array_equal(column(one.score_frame(frame)), column(two.score_frame(frame)))
    assert two.exchange_["calls"] > 0


@pytest.mark.slow
def test_weights_do_not_depend_on_the_number_of_workers():
    """But that sums are made in another order."""
    frame = people()
    one, two = (column(linear(frame, n_workers=n).score_frame(frame)) for n in (1, 2))
    assert np.allclose(one, two, rtol=0.0, atol=1e-9)


def shares(parts, exchange, threads):
    """What a worker is given; it meets the others in a sum."""
    total = exchange.total(sum(len(part) for _, part in parts))
    return [(number, part["x"].tolist()) for number, part in parts], total, threads


def on_four_rows(job, n_workers):
    engine = LocalEngine(pl.DataFrame({"y": [0, 1, 0, 1], "x": [1, 2, 3, 4]}))
    columns = LearningColumns.of(engine.names, "y", None)
    return engine.trained(job, columns, n_workers=n_workers, timeout=20, advice="Fit again.")


def test_rows_are_shared_out_evenly():
    """In as many blocks whatever the number of workers, which hold neighbouring ones."""
    for n_workers, expected in ((None, [1, 2, 3, 4]), (2, [1, 2]), (4, [1])):
        blocks, total, _ = on_four_rows(shares, n_workers)
        assert [number for number, _ in blocks] == list(range(48 // (n_workers or 1)))
        assert [row for _, rows in blocks for row in rows] == expected
        assert total == 4.0


def test_more_workers_than_rows():
    blocks, total, _ = on_four_rows(shares, 5)
    assert [row for _, rows in blocks for row in rows] == []
    assert total == 4.0


def odd_one(error):
    def job(parts, exchange, threads):
        if exchange.rank == 1:
            raise error
        return exchange.total(1.0)

    return job


def test_a_worker_that_fails_alone_does_not_leave_the_other_waiting():
    start = time.monotonic()
    with pytest.raises(ValueError, match=r"^Part 1 is odd\.") as caught:
        on_four_rows(odd_one(ValueError("Part 1 is odd.")), 2)
    assert str(caught.value) == "Part 1 is odd."
    assert "Traceback" in caught.value.__notes__[0]  # the other one had nothing against it
    with pytest.raises(ClusterError, match=r"^A worker failed: RuntimeError: no room\."):
        on_four_rows(odd_one(RuntimeError("no room.")), 2)
    assert time.monotonic() - start < 15.0


# ---------------------------------------------------------------------- what is read


def summary(frame, features):
    engine = engine_of(frame)
    columns = LearningColumns.of(engine.names, "y", None, features=features)
    (known,) = engine.summarised(columns, native=True)
    return known


GAPS = [2**53 + 1, None, 5, -(2**60)]


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"y": [0, 1, 0, 1], "x": GAPS}),
        pl.DataFrame({"y": [0, 1, 0, 1], "x": GAPS}).cast({"x": pl.Int128}),
        pa.table({"y": [0, 1, 0, 1], "x": GAPS}),
        pd.DataFrame({"y": [0, 1, 0, 1], "x": pd.array(GAPS, dtype="Int64")}),
    ],
    ids=["polars", "polars of 128 bits", "pyarrow", "pandas"],
)
def test_gaps_do_not_hide_numbers_that_doubles_confuse(frame):
    (traits,) = summary(frame, ["x"]).features
    assert (traits.missing, traits.confused) == (1, 2)
    with pytest.raises(ValueError, match=r"^Column 'x' holds a number beyond 2\^53 in 2 of 4 rows"):
        DistributedBoostedScorer().fit(frame, label="y")


def test_columns_are_told_by_their_names():
    frame = pl.DataFrame({"a": [1, 2], "x": [2**53 + 1, None], "y": [0, 1], "b": [0.5, 1.5]})
    known = summary(frame, ["b", "x", "a"])
    assert [traits.confused for traits in known.features] == [0, 1, 0]
    assert known.cells == {(0,): 1, (1,): 1}


def test_a_frame_is_converted_once(monkeypatch):
    engine = LocalEngine(pl.DataFrame({"y": [0, 1], "x": [1, 2]}))
    columns = LearningColumns.of(engine.names, "y", None)
    engine.summarised(columns, native=True)
    monkeypatch.setattr("evenscore.learning.engines.local._to_pandas", None)
    engine.trained(shares, columns, n_workers=1, timeout=20, advice="")


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        ([1, 2], "list"),
        ({"y": [0, 1]}, "dict"),
        (np.zeros((2, 2)), "ndarray"),
        (pd.Series([0, 1]), "Series"),
        (None, "NoneType"),
        (pl.LazyFrame({"y": [0, 1]}), "LazyFrame: collect it first"),
    ],
    ids=["list", "dict", "array", "series", "None", "lazy"],
)
def test_what_is_no_data_frame(frame, kind):
    message = (
        "^frame must be a data frame of Dask, Spark, pandas, polars or pyarrow, not "
        rf"{kind}\.$"
    )
    with pytest.raises(TypeError, match=message):
        DistributedLinearScorer().fit(frame, label="y")


def test_columns_of_the_same_name():
    frame = pd.DataFrame([[0, 1, 2], [1, 2, 3]], columns=["y", "x", "x"])
    message = r"^frame cannot be read as a data frame: several of its columns are called 'x'\.$"
    with pytest.raises(ValueError, match=message):
        DistributedLinearScorer().fit(frame, label="y")


def test_names_that_are_no_texts():
    frame = pd.DataFrame({"y": [0, 1], 0: [1.0, 2.0], "x": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"^The name of column 0 is not a text: rename "):
        DistributedLinearScorer().fit(frame, label="y")
    assert len(summary(frame, ["x"]).features) == 1


@pytest.mark.slow
@pytest.mark.parametrize("learn", [linear, boosted])
def test_odd_names(learn):
    names = {"good": "y'\"", "sex": "Größe 🙂", "steps": "<script>", "town": "", "kin": "a`b.c[1]"}
    odd = people().rename(columns=names)
    kind = DistributedLinearScorer if learn is linear else DistributedBoostedScorer
    trees = {} if learn is linear else {"n_estimators": 20}
    own = kind(FAIR, random_state=0, **trees).fit(
        odd,
        label=names["good"],
        group=names["sex"],
        weight="weight",
        features=[names.get(name, name) for name in FEATURES],
    )
    known = learn(people())
    assert np.array_equal(column(own.score_frame(odd)), column(known.score_frame(people())))


def test_pandas_is_needed_and_said_to_be(monkeypatch):
    monkeypatch.setattr("evenscore.learning.engines.local.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"^Learning from a frame needs pandas: pip install "):
        DistributedLinearScorer().fit(pl.DataFrame({"y": [0, 1], "x": [1, 2]}), label="y")


# ---------------------------------------------------------------------- scoring


@pytest.mark.parametrize("convert", LIBRARIES.values(), ids=[*LIBRARIES])
def test_a_frame_with_scores(convert, scorer):
    frame = convert(people())
    scored = scorer.score_frame(frame, name="Punkte é")
    assert type(scored) is type(frame)
    names = list(getattr(frame, "column_names", frame.columns))
    found = list(getattr(scored, "column_names", scored.columns))
    assert found == [*names, "Punkte é"]
    alone = scorer.to_scorer().decision_function(people()[FEATURES])
    assert np.array_equal(column(scored, "Punkte é"), alone)
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_frame_equal(scored[names], frame)
    else:
        assert scored.select(names).equals(frame)
    with pytest.raises(ValueError, match=r"^There is a column 'Punkte é' already: pass another"):
        scorer.score_frame(scored, name="Punkte é")


@pytest.mark.parametrize("convert", LIBRARIES.values(), ids=[*LIBRARIES])
def test_nobody_is_scored(convert, scorer):
    frame = convert(people()[:0])
    scored = scorer.score_frame(frame)
    assert type(scored) is type(frame)
    assert len(scored) == 0
    assert column(scored).shape == (0,)
    assert nw.from_native(scored)["score"].dtype == nw.Float64


def test_one_row_is_scored(scorer):
    frame = people()
    scores = column(scorer.score_frame(frame))
    assert column(scorer.score_frame(frame[7:8])).tolist() == [scores[7]]


def test_groups_and_labels_are_not_needed_to_score(scorer):
    frame = people()
    few = frame[["kin", "owner", "town", "steps"]]  # in another order, too
    assert np.array_equal(column(scorer.score_frame(few)), column(scorer.score_frame(frame)))
    with pytest.raises(ValueError, match=r"^The frame has no column 'town', which was learned fro"):
        scorer.score_frame(frame.drop(columns="town"))


@pytest.mark.parametrize("convert", [LIBRARIES[name] for name in ("pandas", "polars", "pyarrow")])
def test_categories_that_were_not_seen_are_counted(convert, scorer):
    frame = people(50)
    towns = frame["town"].tolist()
    towns[1:4] = ["Rome", "Oslo", "Rome"]
    frame = frame.assign(town=pd.Series(towns, dtype="str"))
    missing = frame.assign(town=frame["town"].where(~frame["town"].isin(["Rome", "Oslo"])))
    message = (
        r"^3 of 50 rows hold categories of 'town' that were not seen in training "
        r"\('Oslo', 'Rome'\); they are treated as missing\.$"
    )
    with pytest.warns(UserWarning, match=message):
        scored = scorer.score_frame(convert(frame))
    assert np.array_equal(column(scored), column(scorer.score_frame(convert(missing))))


@pytest.mark.slow
def test_threads_leave_the_process_as_it_was():
    """Workers that are threads change warnings and the threads of the algebra in turns."""
    import warnings

    from threadpoolctl import threadpool_info

    rows = cluster_rows(2000)
    before = list(warnings.filters), [one["num_threads"] for one in threadpool_info()]
    for _ in range(2):
        DistributedBoostedScorer(
            FAIR, n_estimators=4, tolerance=0.3, n_workers=3, random_state=0
        ).fit(rows, **COLUMNS)
    assert (list(warnings.filters), [one["num_threads"] for one in threadpool_info()]) == before


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2])
def test_what_xgboost_refuses_is_not_a_lost_worker(n_workers):
    scorer = DistributedBoostedScorer(
        FAIR, reg_lambda=1e39, n_estimators=3, n_workers=n_workers, random_state=0
    )
    with pytest.raises(Exception, match=r".") as caught:
        scorer.fit(cluster_rows(500), **COLUMNS)
    assert "lost" not in str(caught.value).splitlines()[0]
