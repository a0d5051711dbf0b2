"""Tables from frames: planned bins keep their word, months add up to the year, files keep them.

`test_engines.py` asks the same of every engine.
"""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evenscore as es
from evenscore.gaps import Cuts
from evenscore.gaps.cuts import DEFAULT_CUTS
from evenscore.scores import GroupedScores, frames
from evenscore.scores.bins import Bins
from evenscore.scores.brackets import auc_bracket
from evenscore.scores.frames import read_frame

NAMED = {"score": "score", "label": "label", "group": "group"}


def assert_same_table(one, two):
    assert one.groups == two.groups
    for column in ("score", "cell", "weight", "count", "weight_squared"):
        assert getattr(one, column).tolist() == getattr(two, column).tolist(), column


def law(name, n, seed):
    """Scores of three groups by one of four laws that bins find hard in different ways."""
    rng = np.random.default_rng(seed)
    group = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    label = rng.random(n) < 0.3
    z = rng.normal(size=n) + 0.8 * label + 0.2 * group
    if name == "probabilities":
        score = 1.0 / (1.0 + np.exp(6.0 - 1.5 * z))
    elif name == "Cauchy":
        score = rng.standard_cauchy(n) + 0.8 * label + 0.2 * group
    elif name == "atoms":
        values = rng.choice([0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0], n)
        score = np.where(rng.random(n) < 0.4, values, np.exp(3.0 * z))
    else:
        score = z
    names = np.array(["a", "b", "c"])[group]
    return pl.DataFrame({"score": score, "label": label.astype(int), "group": names})


@pytest.mark.parametrize("name", ["atoms", pytest.param("Cauchy", marks=pytest.mark.soak)])
def test_many_rows_keep_within_the_brackets(name):
    """So many that bins are planned as they are: takes two seconds."""
    frame = law(name, 150_000, seed=sum(map(ord, name)))
    reading = read_frame(frame.lazy(), **NAMED, cuts=DEFAULT_CUTS)
    assert len(reading.scores) <= 100_000
    assert reading.passes <= 5
    assert auc_bracket(reading.scores) <= 1e-4
    result = es.audit_scores(reading.scores, pos_label=1)
    assert result.binned.auc <= 1e-4
    assert result.binned.gap <= 1e-3
    exact = es.audit(
        frame["label"], frame["score"], sensitive_features=frame["group"].to_numpy(), pos_label=1
    )
    found = np.abs(np.array(result.auc_matrix.values) - np.array(exact.auc_matrix.values))
    assert np.nanmax(found) <= result.binned.auc
    assert len(result.cut_gaps) == len(exact.cut_gaps) > 0
    for gap, true in zip(result.cut_gaps, exact.cut_gaps, strict=True):
        assert gap.bracket <= 1e-3
        assert abs(gap.value - true.value) <= gap.bracket


@pytest.fixture
def few_rows(monkeypatch):
    """Bins are planned for two thousand rows, too."""
    monkeypatch.setattr(frames, "FEW_ROWS", 500)


def year(n=3_000):
    rng = np.random.default_rng(3)
    frame = law("probabilities", n, seed=3)
    return frame.with_columns(
        month=pl.Series(rng.integers(0, 12, n)), weight=pl.Series(rng.integers(1, 4, n))
    )


def merged(parts):
    first, *others = parts
    for other in others:
        first = first.merge(other)
    return first


@pytest.mark.slow
@pytest.mark.usefixtures("few_rows")
def test_months_add_up_to_the_year(tmp_path):
    frame = year()
    named = NAMED | {"weight": "weight"}
    whole = GroupedScores.from_frame(frame, **named, cuts=DEFAULT_CUTS, accuracy=0.01)
    assert whole.binned is not None
    parts = [
        GroupedScores.from_frame(part, **named, bins=whole.binned.bins)
        for part in frame.partition_by("month")
    ]
    assert len(parts) == 12
    again = merged([GroupedScores.load(part.save(tmp_path / "part.json")) for part in parts])
    for total in (merged(parts), again):
        assert_same_table(total, whole)
        for name in ("score", "lowest", "highest"):
            assert getattr(total.binned, name).tolist() == getattr(whole.binned, name).tolist()
        assert total.binned.bins == whole.binned.bins
    one, other = (es.audit_scores(table, pos_label=1) for table in (again, whole))
    assert one.gaps == other.gaps
    assert one.binned == other.binned
    different = GroupedScores.from_frame(frame.tail(1_500), **named, accuracy=0.01)
    with pytest.raises(ValueError, match="different"):
        whole.merge(different)


def test_rows_are_put_into_the_bins_of_a_table():
    """A table of scores, merged with one of bins, becomes one of the same bins."""
    frame = year(4000)
    bins = Bins.between(0.0, 1.0, (8,), apart=(0.1,))
    whole = GroupedScores.from_frame(frame, **NAMED, bins=bins)
    some = GroupedScores.from_frame(frame.head(1000), **NAMED)
    rest = GroupedScores.from_frame(frame.tail(3000), **NAMED, bins=bins)
    assert some.binned is None
    for table in (some.merge(rest), rest.merge(some)):
        assert_same_table(table, whole)
        assert table.binned.bins == bins


@pytest.mark.usefixtures("few_rows")
def test_thresholds_are_exact():
    frame = law("normal", 2000, seed=1)
    cut = float(frame["score"].sort()[1500])
    reading = read_frame(frame, **NAMED, cuts=Cuts(thresholds=cut), accuracy=0.01)
    binned = reading.scores.binned
    assert binned.n_open
    assert cut in binned.score
    assert binned.extent(np.array([cut]))[0][0] == cut


@pytest.mark.usefixtures("few_rows")
def test_accuracy():
    for accuracy in (0.05, 0.002):
        table = GroupedScores.from_frame(law("Cauchy", 2000, seed=2), **NAMED, accuracy=accuracy)
        assert auc_bracket(table) <= accuracy
    far = law("normal", 2000, seed=2)  # one score so far out that the others are in one bin
    far[7, "score"] = 1e30
    assert auc_bracket(GroupedScores.from_frame(far, **NAMED, accuracy=0.01)) <= 0.01
    every = GroupedScores.from_frame(law("Cauchy", 2000, seed=2), **NAMED, accuracy=0)
    assert every.binned is None
    assert len(every) == 2000


@pytest.mark.usefixtures("few_rows")
def test_bins_without_two_scores_are_an_exact_table():
    frame = law("normal", 2000, seed=4).with_columns(pl.col("score").round(1))
    reading = read_frame(frame, **NAMED)
    rows = GroupedScores.from_arrays(
        frame["label"], frame["score"], sensitive_features=frame["group"].to_numpy()
    )
    assert reading.scores.binned is None
    assert_same_table(reading.scores, rows)
    same = frame.with_columns(score=pl.lit(7.0))
    assert read_frame(same, **NAMED).scores.score.tolist() == [7.0] * 6


@pytest.mark.usefixtures("few_rows")
def test_nan_that_an_engine_hides_in_a_later_pass(monkeypatch):
    frame = law("normal", 2000, seed=5).with_columns(weight=pl.lit(1.0))
    honest = frames.collected
    for name, column in (("low", "score"), ("high", "score"), ("es_key", "score"), ("w", "weight")):
        monkeypatch.setattr(
            frames, "collected",
            lambda lazy, name=name: (a := honest(lazy)) | {name: [math.nan, *a[name][1:]]},
        )  # fmt: skip
        with pytest.raises(ValueError, match=f"'{column}' holds NaN"):
            read_frame(frame, **NAMED, weight="weight")


def test_labels_and_the_order_of_groups():
    frame = pd.DataFrame({"score": [1.0, 2.0], "label": ["no", "yes"], "group": ["a", "b"]})
    reading = read_frame(frame, **NAMED, pos_label="yes")
    assert (reading.positive, reading.negative) == ("yes", "no")
    table = GroupedScores.from_frame(frame, **NAMED, pos_label="yes", group_order=["d", "b", "a"])
    assert table.groups == ("d", "b", "a")
    with pytest.raises(ValueError, match="group_order"):
        GroupedScores.from_frame(frame, **NAMED, pos_label="yes", group_order=["a"])
    without = read_frame(frame, score="score", label=None, group="group")
    assert without.positive is None
    assert without.scores.cell_counts.tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_what_is_asked_is_checked():
    frame = law("normal", 20, seed=0)
    for named, options in (
        (r"accuracy .* not 0\.5", {"accuracy": 0.5}),
        ("accuracy", {"accuracy": "much"}),
        ("accuracy", {"accuracy": math.nan}),
        ("group", {"group": []}),
        ("group .* twice", {"group": ["group", "group"]}),
        ("no column 's'.*'score'", {"score": "s"}),
    ):
        with pytest.raises(ValueError, match=named):
            read_frame(frame, **(NAMED | options))
    with pytest.raises(TypeError, match=r"bins .* not int"):
        read_frame(frame, **NAMED, bins=5)
