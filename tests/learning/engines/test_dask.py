"""Training on Dask: the same score from any workers, and a sentence when one is lost."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from cluster_rows import COLUMNS, FAIR, cluster_rows
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

import evenscore as es
from evenscore.learning.engines import ClusterError
from evenscore.learning.engines.dask import _call_off

pytest.importorskip("xgboost")
distributed = pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*did not reach"),
    pytest.mark.filterwarnings("ignore:.*still rising"),
    pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed"),
    pytest.mark.filterwarnings("ignore:.*[Uu]nclosed:ResourceWarning"),
]


@pytest.fixture(scope="module")
def rows():
    return cluster_rows()


@pytest.fixture(scope="module")
def client():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        )
        with cluster, distributed.Client(cluster) as client:
            yield client


def boosted(**options):
    return es.DistributedBoostedScorer(
        FAIR, **{"n_estimators": 30, "random_state": 0, "timeout": 60} | options
    )


@pytest.fixture(scope="module")
def alone(rows):
    """What one process learns."""
    return boosted().fit(rows, **COLUMNS)


def test_without_a_client_training_is_refused(rows):
    """Before any client of this module is started."""
    frame = dd.from_pandas(rows, npartitions=2)
    assert distributed.client._get_global_client() is None
    with pytest.raises(ClusterError, match="There is no Dask client to train with"):
        boosted().fit(frame, **COLUMNS)


def test_two_workers_learn_what_one_process_does(client, rows, alone):
    """Four blocks in the order of the cells: either worker lacks some cells, one block is empty."""
    frame = dd.from_pandas(rows, npartitions=4, sort=False)
    found = boosted().fit(frame, **COLUMNS)
    assert found.workers_ == 2
    features = rows[["income", "debt", "job"]]
    score = found.decision_function(features)
    np.testing.assert_allclose(score, alone.decision_function(features), atol=1e-5)
    assert found.price_.auc == pytest.approx(alone.price_.auc, abs=1e-6)
    for one, other in zip(found.gaps_["train"], alone.gaps_["train"], strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-4)
        assert one.high - one.low == pytest.approx(other.high - other.low, rel=1e-2)
    assert [verdict.state for verdict in found.verdicts_] == [
        verdict.state for verdict in alone.verdicts_
    ]
    assert found.exchange_["calls"] > 0
    # One of the two workers, or the blocks in other hands: the same.
    one = boosted(n_workers=1).fit(frame, **COLUMNS)
    assert one.workers_ == 1
    np.testing.assert_allclose(one.decision_function(features), score, atol=1e-5)
    # Scores of the frame, where it is.
    scored = found.score_frame(frame)
    assert list(scored.columns) == [*rows.columns, "score"]
    np.testing.assert_array_equal(scored.compute()["score"], score)


def test_a_worker_without_a_row(client, rows, alone):
    frame = dd.from_pandas(rows, npartitions=1)
    found = boosted().fit(frame, **COLUMNS)
    assert found.workers_ == 2
    features = rows[["income", "debt", "job"]]
    np.testing.assert_allclose(
        found.decision_function(features), alone.decision_function(features), atol=1e-5
    )


def test_continuous_columns_differ_a_little(client):
    rows = cluster_rows(continuous=True)
    features = rows[["income", "debt", "job"]]
    aucs = []
    for n_workers in (1, 2):
        frame = dd.from_pandas(rows, npartitions=4, sort=False)
        scorer = boosted(n_workers=n_workers).fit(frame, **COLUMNS)
        aucs.append(roc_auc_score(rows["repaid"] == "yes", scorer.decision_function(features)))
    assert aucs[0] == pytest.approx(aucs[1], abs=1e-3)


def test_a_linear_score(client, rows):
    filled = rows.fillna({"debt": 0.0, "job": "none"})
    scorer = es.DistributedLinearScorer(FAIR, strength=0.2, max_iter=3)
    found = clone(scorer).fit(dd.from_pandas(filled, npartitions=3, sort=False), **COLUMNS)
    alone = clone(scorer).fit(filled, **COLUMNS)
    assert found.workers_ == 2
    np.testing.assert_allclose(found.scorer_.coef_, alone.scorer_.coef_, atol=1e-5)
    assert type(found.to_scorer()) is es.LinearScorer


def test_bad_data_are_refused_in_one_sentence(client, rows):
    frame = dd.from_pandas(rows, npartitions=3, sort=False)
    with pytest.raises(ValueError, match=r"Column 'debt' has no value in \d+ of"):
        es.DistributedLinearScorer(FAIR).fit(frame, **COLUMNS)
    with pytest.raises(ValueError, match="There is no column 'nothing'"):
        boosted().fit(frame, label="nothing", group="sex")
    with pytest.raises(ValueError, match="no negatives of woman"):
        boosted().fit(frame[(frame["sex"] == "man") | (frame["repaid"] == "yes")], **COLUMNS)
    broken = frame.map_partitions(_fails, meta=frame._meta)
    with pytest.raises(ZeroDivisionError):
        boosted().fit(broken, **COLUMNS)


def _fails(part):
    raise ZeroDivisionError


def test_more_workers_than_there_are(client, rows):
    frame = dd.from_pandas(rows, npartitions=3, sort=False)
    with pytest.raises(ClusterError, match="n_workers is 5, and the Dask cluster has 2 workers"):
        boosted(n_workers=5).fit(frame, **COLUMNS)


# ---------------------------------------------------------------------- faults


def _is_stopped(token):
    from evenscore.learning.engines import dask

    return token in dask._STOPPED


def test_workers_are_told_to_stop(client):
    """Whoever is still at work looks before every sum whether it was called off."""
    future = client.submit(time.sleep, 1.0, pure=False)
    _call_off(client, "some fit", [future])
    assert all(client.run(_is_stopped, "some fit").values())


@pytest.fixture
def other_client():
    """A cluster of its own, workers of which are not started again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        )
        with cluster, distributed.Client(cluster) as client, client.as_current():
            yield client


def killed_later(client, path, number=signal.SIGKILL):
    """Kill a worker as soon as there is a checkpoint."""
    victim = sorted(client.run(os.getpid).items())[1][1]

    def kill():
        for _ in range(600):
            if path.exists():
                os.kill(victim, number)
                return
            time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread, victim


def test_a_dead_worker_gives_one_sentence_and_resume_the_same_model(
    tmp_path, rows, alone, other_client
):
    path = tmp_path / "fit.json"
    frame = dd.from_pandas(rows, npartitions=4, sort=False)
    thread, _ = killed_later(other_client, path)
    scorer = boosted(checkpoint=path, checkpoint_every=4)
    started = time.monotonic()
    with pytest.raises(ClusterError) as caught:
        scorer.fit(frame, **COLUMNS)
    assert time.monotonic() - started < 60.0
    thread.join()
    assert "lost" in str(caught.value)
    assert str(caught.value).endswith("fit with resume=True to go on from the last checkpoint.")
    assert "\n" not in str(caught.value)
    assert not hasattr(scorer, "scorer_")
    found = scorer.fit(frame, **COLUMNS, resume=True)  # by whoever is left
    features = rows[["income", "debt", "job"]]
    np.testing.assert_allclose(
        found.decision_function(features), alone.decision_function(features), atol=1e-5
    )


def test_a_worker_that_hangs_is_given_up(tmp_path, rows, other_client):
    """It is there and does not answer: the other one waits for so long, and no longer."""
    path = tmp_path / "fit.json"
    frame = dd.from_pandas(rows, npartitions=4, sort=False)
    thread, victim = killed_later(other_client, path, signal.SIGSTOP)
    started = time.monotonic()
    try:
        with pytest.raises(ClusterError, match="lost"):
            boosted(checkpoint=path, checkpoint_every=4, timeout=5).fit(frame, **COLUMNS)
        assert time.monotonic() - started < 60.0
    finally:
        thread.join()
        os.kill(victim, signal.SIGCONT)
