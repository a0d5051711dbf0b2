"""A fit that is stopped and taken up again ends with the same model."""

import json
import re

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("xgboost")

from evenscore import Cuts, DistributedBoostedScorer, RateConstraint
from evenscore.learning import checkpoints
from evenscore.learning.boosting import LinearStart
from evenscore.learning.checkpoints import Journal, read_checkpoint
from evenscore.learning.engines import ClusterError
from evenscore.learning.training_set import TrainingSet

pytestmark = pytest.mark.filterwarnings("ignore:.*did not reach")
FAIR = RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.1, 0.4)), tolerance=0.02)
COLUMNS = ["a", "b", "c"]


def frame(n=9000, seed=0):
    rng = np.random.default_rng(seed)
    group, y = rng.integers(0, 2, n), rng.random(n) < 0.35
    a = rng.normal(size=n) + y + 0.8 * group
    b = np.round(rng.normal(size=n) + 0.5 * y * group, 1)
    b[rng.random(n) < 0.1] = np.nan
    c = np.where(rng.random(n) < 0.3, "x", np.where(y, "y", "z"))
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": y, "sex": group})


ROWS = frame()


def scorer(path=None, every=7, **options):
    options = {"n_estimators": 40, "random_state": 3, "colsample_bynode": 0.7} | options
    return DistributedBoostedScorer(FAIR, checkpoint=path, checkpoint_every=every, **options)


def fitted(path=None, rows=ROWS, resume=False, **options):
    return scorer(path, **options).fit(rows, label="y", group="sex", resume=resume)


@pytest.fixture(scope="module")
def whole():
    return fitted()


class StoppedError(Exception):
    """As if the power had failed."""


def stop_at(monkeypatch, number):
    """Let training fail after so many checkpoints."""
    write, written = Journal.write, []

    def writes(self):
        write(self)
        written.append(self.round)
        if len(written) == number:
            raise StoppedError

    monkeypatch.setattr(Journal, "write", writes)
    return written


def same(one, other):
    assert one.scorer_.model_ == other.scorer_.model_
    np.testing.assert_array_equal(
        one.decision_function(ROWS[COLUMNS]), other.decision_function(ROWS[COLUMNS])
    )
    assert [str(verdict) for verdict in one.verdicts_] == [
        str(verdict) for verdict in other.verdicts_
    ]
    assert one.history_.auc == other.history_.auc
    np.testing.assert_array_equal(one.history_.multipliers, other.history_.multipliers)
    assert one.price_ == other.price_


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 3, 6, 9])
def test_resuming_gives_the_same_model(monkeypatch, tmp_path, whole, number):
    """Stopped in the trunk, without constraints, reweighed, and while learning."""
    path = tmp_path / "fit.json"
    with monkeypatch.context() as patched:
        written = stop_at(patched, number)
        with pytest.raises((StoppedError, ClusterError), match=r"^$|StoppedError"):
            fitted(path)
    assert read_checkpoint(path)["round"] == written[-1] == 7 * number
    same(fitted(path, resume=True), whole)


@pytest.mark.slow
def test_stopped_twice_on_two_workers_and_taken_up_by_three(monkeypatch, tmp_path):
    rows = ROWS.assign(a=ROWS["a"].round(1))  # few values: the same model whoever holds what
    path = tmp_path / "fit.json"
    expected = fitted(rows=rows)
    for number, options in ((2, {"n_workers": 2}), (4, {"n_workers": 2, "resume": True})):
        with monkeypatch.context() as patched:
            stop_at(patched, number)
            with pytest.raises((StoppedError, ClusterError), match=r"^$|StoppedError"):
                fitted(path, rows=rows, **options)
    assert read_checkpoint(path)["round"] == 7 * 6
    found = fitted(path, rows=rows, resume=True, n_workers=3)
    assert found.scorer_.model_ == expected.scorer_.model_
    assert found.history_.auc == pytest.approx(expected.history_.auc, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"random_state": None},
        {"validation_fraction": 0.2, "random_state": None},
        {"rows": ROWS.iloc[:3000], "random_state": None},
    ],
    ids=["continuous", "no seed", "held out", "few rows"],
)
def test_other_workers_take_up_continuous_columns(monkeypatch, tmp_path, options):
    """The trees so far are the same; those to come are cut a little elsewhere."""
    path = tmp_path / "fit.json"
    with monkeypatch.context() as patched:
        stop_at(patched, 12)  # while learning
        with pytest.raises((StoppedError, ClusterError), match=r"^$|StoppedError"):
            fitted(path, n_workers=2, **options)
    before = read_checkpoint(path)
    found = fitted(path, n_workers=3, resume=True, **options)
    assert found.scorer_.random_state == before["seed"]
    assert found.scorer_.model_
    after = json.loads(path.read_text())
    assert after["round"] > before["round"]
    assert after["boosters"][:3] == before["boosters"][:3]  # attempts that were over
    np.testing.assert_allclose(after["looks"][: len(before["looks"])], before["looks"], atol=1e-6)


@pytest.mark.slow
def test_a_finished_fit_is_followed_to_the_end(tmp_path, whole):
    path = tmp_path / "fit.json"
    same(fitted(path), whole)  # writing checkpoints changes nothing
    content = read_checkpoint(path)
    assert content["round"] % 7 == 0
    assert len(content["boosters"]) >= 4  # the trunk, without constraints, reweighed, learning
    same(fitted(path, resume=True), whole)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    path = tmp_path_factory.mktemp("stopped") / "fit.json"
    with pytest.MonkeyPatch.context() as patched:
        stop_at(patched, 12)  # while learning
        with pytest.raises((StoppedError, ClusterError), match=r"^$|StoppedError"):
            fitted(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rows": ROWS.iloc[:-1]}, "its sizes of classes and groups are different"),
        ({"rows": ROWS.assign(a=2.0 * ROWS["a"])}, "its sums of the columns are different"),
        (
            {"rows": ROWS.assign(a=np.random.default_rng(0).permutation(ROWS["a"]))},
            "its sums of the columns are different",
        ),
        ({"learning_rate": 0.1}, "its parameters are different"),
        ({"rows": ROWS.rename(columns={"a": "A"})}, "its features are different"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(checkpoint, change, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        fitted(checkpoint, resume=True, **change)
    assert "fit.json is a checkpoint of another fit" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_multipliers_must_come_out_as_they_were(checkpoint, tmp_path):
    content = json.loads(checkpoint.read_text())
    path = tmp_path / "fit.json"
    look = next(k for k, values in enumerate(content["looks"]) if any(values))
    content["looks"][look] = [value + 0.1 for value in content["looks"][look]]
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="give other multipliers"):
        fitted(path, resume=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "[" * 100_000,
        '{"format": "9"}',
        "null",
        "\x00\x01",
        json.dumps({"format": "1"}),
    ],
)
def test_files_that_are_no_checkpoints(tmp_path, text):
    path = tmp_path / "odd.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"odd\.json is not a checkpoint of evenscore"):
        fitted(path, resume=True)


@pytest.mark.slow
def test_altered_trees_and_starts_are_refused(checkpoint, tmp_path):
    """A checkpoint may come from anybody, and its trees reach XGBoost."""
    content = json.loads(checkpoint.read_text())
    path = tmp_path / "fit.json"
    for alter in (
        {"boosters": ["{}"]},
        {"boosters": [content["boosters"][0].replace('"left_children":[1', '"left_children":[0')]},
        {"start": {}},
        {"start": content["start"] | {"coefficients": [1.0]}},
        {"start": content["start"] | {"means": ["a"]}},
    ):
        path.write_text(json.dumps(content | alter))
        with pytest.raises(ValueError, match=r"\w") as caught:
            fitted(path, resume=True)
        assert "\n" not in str(caught.value)


def test_what_there_is_to_resume_from(tmp_path):
    with pytest.raises(ValueError, match="nothing to resume from: pass checkpoint"):
        fitted(resume=True)
    with pytest.raises(ValueError, match=r"There is no folder .* for checkpoints"):
        fitted(tmp_path / "nowhere" / "fit.json")
    with pytest.raises(ValueError, match="checkpoint_every must be"):
        fitted(tmp_path / "fit.json", every=0)
    with pytest.warns(UserWarning, match=r"no fit\.json yet: training starts from the beginning"):
        fitted(tmp_path / "fit.json", rows=ROWS.iloc[:400], n_estimators=3, resume=True)


def test_a_linear_start_is_written_and_read(tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 2, 200), rng.integers(0, 4, 200)])
    X[:20, 0] = np.nan
    data = TrainingSet(X, X[:, 1] > 0.5, np.zeros(200, dtype=np.intp), ("all",), None)
    start = LinearStart.fit(data, (), (2,))
    again = LinearStart.from_dict(json.loads(json.dumps(start.to_dict())))
    again.check_whole(3)
    np.testing.assert_array_equal(again.score(X), start.score(X))


def test_a_checkpoint_is_written_whole_or_not_at_all(monkeypatch, tmp_path):
    path = tmp_path / "fit.json"
    journal = Journal(path, 1, {"parameters": "x"}, seed=0)
    journal.write()
    before = path.read_bytes()

    def fails(path, content):
        raise OSError("No space left on device")

    monkeypatch.setattr(checkpoints, "write_atomically", fails)
    with pytest.raises(OSError, match="No space"):
        journal.write()
    assert path.read_bytes() == before
