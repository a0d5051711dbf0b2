"""Scorers that learn on parts: what they report, what they give away, what they refuse."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

pytest.importorskip("xgboost")

import evenscore as es
from evenscore.datasets import load_adult, load_german
from evenscore.learning.distributed import DistributedScorer

CUTS = es.Cuts(between=(0.05, 0.35), of="negatives")
FAIR = es.RateConstraint("fpr", "fnr", cuts=CUTS, tolerance=0.05)
pytestmark = pytest.mark.filterwarnings("ignore:.*did not reach")


def adult(n=4000):
    """Some rows of Adult as people have them: texts, and a few missing values."""
    data = load_adult()
    frame = data.frame("pandas").iloc[:n].copy()
    frame["rich"] = data.y[:n]
    frame["sex"] = data.groups[:n]
    frame = frame[["age", "workclass", "education", "hours-per-week", "sex", "rich"]]
    frame["age"] = frame["age"].astype(float).where(np.arange(n) % 17 > 0)
    frame["weight"] = 1.0 + (np.arange(n) % 3)
    return frame


@pytest.fixture(scope="module")
def rows():
    return adult()


@pytest.fixture(scope="module")
def boosted(rows):
    scorer = es.DistributedBoostedScorer(
        FAIR, n_estimators=40, random_state=0, validation_fraction=0.25
    )
    return scorer.fit(rows, label="rich", group="sex", weight="weight")


@pytest.fixture(scope="module")
def features(rows):
    return rows.drop(columns=["rich", "sex", "weight"])


@pytest.mark.slow
def test_it_reports_what_a_boosted_scorer_does(boosted):
    # What is expected on new rows is known of a score that was learned with constraints only.
    assert {"train", "validation"} <= set(boosted.gaps_) <= {"train", "expected", "validation"}
    assert boosted.gap_names_ == [gap.title for gap in boosted.gaps_["train"]]
    assert len(boosted.verdicts_) == 2
    assert boosted.price_.free >= boosted.price_.auc > 0.5
    assert boosted.price_.repaired is not None
    assert {"without constraints", "reweighed", "learning"} <= set(boosted.history_.stage)
    assert boosted.groups_ == ("female", "male")
    assert boosted.classes_.tolist() == [0, 1]
    for gap in boosted.gaps_["train"]:
        assert gap.low <= gap.value <= gap.high
    assert boosted.workers_ == 1
    assert boosted.exchange_ == {"calls": 0, "bytes": 0}
    assert list(boosted.feature_names_in_) == ["age", "workclass", "education", "hours-per-week"]


@pytest.mark.slow
def test_training_gaps_are_those_of_an_audit(rows, features, boosted):
    plain = es.DistributedBoostedScorer(FAIR, n_estimators=20, random_state=0)
    plain.fit(rows.drop(columns="weight"), label="rich", group="sex")
    score = plain.decision_function(features)
    for name, gap in zip(("fpr", "fnr"), plain.gaps_["train"], strict=True):
        exact = es.metrics.rate_gap(
            rows["rich"], score, sensitive_features=rows["sex"], rate=name, cuts=CUTS
        )
        assert abs(abs(gap.value) - exact) <= gap.bracket + 1e-9
    assert plain.price_.auc == pytest.approx(roc_auc_score(rows["rich"], score), abs=1e-5)


@pytest.mark.slow
def test_the_scorer_of_one_machine_is_a_boosted_scorer(tmp_path, rows, features, boosted):
    scorer = boosted.to_scorer()
    assert type(scorer) is es.BoostedScorer
    assert scorer.booster == "xgboost"
    assert scorer.n_jobs is None
    score = scorer.decision_function(features)
    np.testing.assert_array_equal(score, boosted.decision_function(features))
    np.testing.assert_array_equal(score, boosted.score_frame(rows)["score"])
    assert set(scorer.predict(features)) == {0, 1}
    again = pickle.loads(pickle.dumps(scorer))
    np.testing.assert_array_equal(again.decision_function(features), score)
    skops = pytest.importorskip("skops.io")
    from evenscore.files.models import TRUSTED

    content = skops.dumps(scorer)
    assert set(skops.get_untrusted_types(data=content)) <= TRUSTED
    stored = skops.load(io.BytesIO(content), trusted=sorted(TRUSTED))
    stored.check_whole()
    np.testing.assert_array_equal(stored.decision_function(features), score)
    assert str(stored.price_) == str(boosted.price_)
    # It can be fitted again on one machine, and audited.
    other = clone(scorer).set_params(n_estimators=5)
    other.fit(features, rows["rich"], sensitive_features=rows["sex"])
    assert other.decision_function(features).std() > 0.0
    result = es.audit(rows["rich"], score, sensitive_features=rows["sex"], cuts=CUTS)
    assert np.isfinite(result.gaps[0].value)


@pytest.mark.slow
def test_a_saved_model_scores_as_before_and_an_altered_one_is_refused(tmp_path):
    """Through the files of `evenscore fit`, whose trees are looked at one by one."""
    pytest.importorskip("skops")
    from evenscore.files.features import Feature
    from evenscore.files.models import TableModel, load_model, save_model

    data = load_german()
    X = data.X[:, :3]
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=data.y, sex=data.groups)
    scorer = es.DistributedBoostedScorer(FAIR, n_estimators=10, random_state=0)
    scorer = scorer.fit(frame, label="y", group="sex").to_scorer()
    del scorer.feature_names_in_  # columns of a file are read by number
    features = tuple(Feature(name) for name in "abc")
    model = TableModel(scorer, features, "y", "1", ("sex",), es.__version__)
    path = save_model(tmp_path / "model.skops", model)
    np.testing.assert_array_equal(load_model(path).score(X), scorer.decision_function(X))
    scorer.model_ = scorer.model_.replace('"split_indices":[', '"split_indices":[7', 1)
    save_model(path, model)
    with pytest.raises(ValueError, match=r"is not a model that `evenscore fit` wrote: .*\.$"):
        load_model(path)


@pytest.mark.slow
def test_weights_are_rows_given_several_times(rows):
    few = rows.iloc[:1500]
    several = few.loc[few.index.repeat(few["weight"].astype(int))].drop(columns="weight")
    columns = {"label": "rich", "group": "sex", "features": ["education", "hours-per-week"]}
    scorer = es.DistributedLinearScorer(FAIR, max_iter=3, tolerance=0.2)
    one = clone(scorer).fit(few, weight="weight", **columns)
    other = clone(scorer).fit(several, **columns)
    np.testing.assert_allclose(one.scorer_.coef_, other.scorer_.coef_, atol=1e-5)
    assert one.price_.auc == pytest.approx(other.price_.auc, abs=1e-5)
    assert one.gaps_["train"][0].value == pytest.approx(other.gaps_["train"][0].value, abs=1e-3)


@pytest.mark.slow
def test_constraints_of_every_kind(rows):
    few = rows.iloc[:1200].drop(columns="weight")
    for constraint in ("bnsp", es.RocConstraint(on="both", rates=(0.25,))):
        scorer = es.DistributedBoostedScorer(constraint, n_estimators=10, random_state=0)
        assert scorer.fit(few, label="rich", group="sex").gaps_["train"]
    paid = es.DistributedBoostedScorer(FAIR, strength=0.5, n_estimators=10, random_state=0)
    with pytest.warns(Warning, match="DistributedBoostedScorer stopped"):
        paid.fit(few, label="rich", group="sex")
    free = es.DistributedBoostedScorer(n_estimators=10, random_state=0).fit(
        few, label="rich", features=["age", "education"]
    )
    assert free.price_ is None
    assert free.verdicts_ == []


@pytest.mark.slow
def test_several_columns_of_groups(rows):
    few = rows.iloc[:3000].assign(old=rows["age"].fillna(40.0) > 45)
    scorer = es.DistributedLinearScorer(
        es.AucConstraint.named("bnsp"), max_iter=2, tolerance=0.2
    ).fit(few, label="rich", group=["sex", "old"], features=["hours-per-week", "education"])
    assert scorer.groups_ == (
        ("female", False), ("female", True), ("male", False), ("male", True),
    )  # fmt: skip
    assert len(scorer.gaps_["train"]) == 6


def test_what_cannot_be_fitted_is_refused(rows):
    few = rows.iloc[:300]
    fit = es.DistributedBoostedScorer(FAIR, n_estimators=5).fit
    with pytest.raises(ValueError, match="compares groups: pass group to fit"):
        fit(few, label="rich")
    with pytest.raises(ValueError, match="group is given, but nothing is to be equal"):
        es.DistributedBoostedScorer(n_estimators=5).fit(few, label="rich", group="sex")
    with pytest.raises(ValueError, match="but there is only one"):
        fit(few[few["sex"] == "male"], label="rich", group="sex")
    with pytest.raises(ValueError, match="n_workers must be"):
        es.DistributedBoostedScorer(FAIR, n_workers=0).fit(few, label="rich", group="sex")
    with pytest.raises(ValueError, match="timeout must be"):
        es.DistributedBoostedScorer(FAIR, timeout=-1.0).fit(few, label="rich", group="sex")
    with pytest.raises(ValueError, match="has no checkpoints"):
        es.DistributedLinearScorer(FAIR).fit(few, label="rich", group="sex", resume=True)
    with pytest.raises(ValueError, match="there are no positives of female"):
        fit(few[(few["sex"] == "male") | (few["rich"] == 0)], label="rich", group="sex")
    with pytest.raises(TypeError, match="frame must be a data frame"):
        fit([1, 2, 3], label="rich", group="sex")


def test_what_is_not_fitted_does_not_score(rows):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        es.DistributedBoostedScorer(FAIR).score_frame(rows)
    with pytest.raises(NotFittedError):
        es.DistributedBoostedScorer(FAIR).to_scorer()


@pytest.mark.parametrize("kind", [es.DistributedBoostedScorer, es.DistributedLinearScorer])
def test_parameters_are_those_of_the_scorer_of_one_machine(kind):
    """And have the same defaults; every one is described."""
    own, local = kind(), kind.of()
    for name, value in own.get_params().items():
        if name not in DistributedScorer.own_parameters:
            assert getattr(local, name) == value or (getattr(local, name), value) == (None, None)
        assert f"\n    {name} : " in kind.__doc__, f"{name} is not described"
    left_out = set(local.get_params()) - set(own.get_params())
    assert left_out <= {"use_groups", "cross_fit", "verbose", "n_jobs", "booster"}
    assert clone(kind(FAIR, tolerance=0.1)).tolerance == 0.1
