"""Training on Spark: the tasks of a barrier stage learn what one process does."""

import os
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cluster_rows import COLUMNS, FAIR, cluster_rows
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from support.engines import NO_SPARK, spark

import evenscore as es
from evenscore.learning.engines import ClusterError

pytest.importorskip("xgboost")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NO_SPARK is not None, reason=str(NO_SPARK)),
    pytest.mark.filterwarnings("ignore:.*did not reach"),
    pytest.mark.filterwarnings("ignore:.*still rising"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
FEATURES = ["income", "debt", "job"]


@pytest.fixture(scope="module")
def session():
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return spark()


@pytest.fixture(scope="module")
def rows():
    return cluster_rows()


@pytest.fixture(scope="module")
def frame(session, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return session.createDataFrame(rows.astype({"job": object})).cache()


def boosted(**options):
    return es.DistributedBoostedScorer(
        FAIR, **{"n_estimators": 30, "random_state": 0, "timeout": 60} | options
    )


def test_two_tasks_learn_what_one_process_does(frame, rows):
    """Spark shuffles rows: what is drawn from them in order may differ, and nothing else does."""
    found = boosted().fit(frame, **COLUMNS)
    alone = boosted().fit(rows, **COLUMNS)
    assert found.workers_ == 2
    np.testing.assert_allclose(
        found.decision_function(rows[FEATURES]), alone.decision_function(rows[FEATURES]), atol=1e-5
    )
    assert found.price_.auc == pytest.approx(alone.price_.auc, abs=1e-6)
    assert [str(verdict) for verdict in found.verdicts_] == [
        str(verdict) for verdict in alone.verdicts_
    ]
    scored = found.score_frame(frame.limit(100), name="s")
    assert scored.columns == [*rows.columns, "s"]
    collected = scored.toPandas()
    np.testing.assert_allclose(
        collected["s"], found.decision_function(collected[FEATURES]), atol=1e-12
    )
    with pytest.raises(ValueError, match="There is a column 'job' already"):
        found.score_frame(frame, name="job")


def test_a_linear_score(frame, rows):
    filled = frame.fillna({"debt": 0.0, "job": "none"})
    scorer = es.DistributedLinearScorer(FAIR, strength=0.2, max_iter=3)
    found = clone(scorer).fit(filled, **COLUMNS)
    alone = clone(scorer).fit(rows.fillna({"debt": 0.0, "job": "none"}), **COLUMNS)
    assert found.workers_ == 2
    np.testing.assert_allclose(found.scorer_.coef_, alone.scorer_.coef_, atol=1e-5)


def test_frames_without_rows(frame):
    with pytest.raises(ValueError, match="The frame has no rows"):
        boosted().fit(frame.limit(0), **COLUMNS)


def test_bad_data_are_refused_in_one_sentence(frame):
    with pytest.raises(ValueError, match=r"Column 'debt' has no value in \d+ of"):
        es.DistributedLinearScorer(FAIR).fit(frame, **COLUMNS)
    with pytest.raises(ValueError, match="no negatives of woman"):
        boosted().fit(frame.filter("sex = 'man' or repaid = 'yes'"), **COLUMNS)
    with pytest.raises(ValueError, match="There is no column 'nothing'"):
        boosted().fit(frame, label="nothing", group="sex")
    with pytest.raises(ClusterError, match="fewer free slots than workers"):
        boosted(n_workers=5).fit(frame, **COLUMNS)


def test_odd_names(session):
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.5
    table = pd.DataFrame({"a.b": rng.normal(size=400) + y, "`c`": rng.normal(size=400)})
    table["la bel"], table["gröupe"] = y, rng.choice(["x", "y"], 400)
    fair = es.AucConstraint.named("bnsp", tolerance=0.3)
    scorer = es.DistributedBoostedScorer(fair, n_estimators=3, random_state=0)
    scorer.fit(session.createDataFrame(table), label="la bel", group="gröupe")
    assert roc_auc_score(y, scorer.decision_function(table[["a.b", "`c`"]])) > 0.6


def children(parent):
    """The processes below a process."""
    found, pids = [], [int(name) for name in os.listdir("/proc") if name.isdigit()]
    for pid in pids:
        try:
            above = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if above == parent:
            found += [pid, *children(pid)]
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are not listed here")
def test_a_dead_task_gives_one_sentence_and_resume_the_same_model(tmp_path, frame, rows):
    path = tmp_path / "fit.json"
    killed = []

    def kill():
        for _ in range(1200):
            if path.exists():
                workers = []
                for pid in children(os.getpid()):
                    command = Path(f"/proc/{pid}/cmdline").read_bytes()
                    if b"pyspark.daemon" in command and b"java" not in command:
                        workers.append(pid)
                os.kill(workers[-1], signal.SIGKILL)
                killed.append(workers[-1])
                return
            time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    scorer = boosted(checkpoint=path, checkpoint_every=4)
    with pytest.raises(ClusterError) as caught:
        scorer.fit(frame, **COLUMNS)
    thread.join()
    assert killed
    assert "lost" in str(caught.value)
    assert str(caught.value).endswith("fit with resume=True to go on from the last checkpoint.")
    assert "\n" not in str(caught.value)
    found = scorer.fit(frame, **COLUMNS, resume=True)
    alone = boosted().fit(rows, **COLUMNS)
    np.testing.assert_allclose(
        found.decision_function(rows[FEATURES]), alone.decision_function(rows[FEATURES]), atol=1e-5
    )
