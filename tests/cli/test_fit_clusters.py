"""Rows that belong together, from a file to what is learned and to what it costs."""

import numpy as np
import pytest
from support.commands import numbers, people, refused, run, write, write_parquet

import evenscore as es
from evenscore.files.models import load_model
from evenscore.learning.training_set import TrainingSet

ASKED = ("--label", "repaid", "--pos-label", "yes", "--group", "sex", "--exclude", "score")
FIT = (*ASKED, "--constraint", "inter_group", "--model", "linear")
CLUSTERED = (*FIT, "--cluster", "household")


def rows(n=600):
    columns = people(n)
    rng = np.random.default_rng(1)
    columns["household"] = [f"h{k}" for k in rng.integers(0, n // 4, n)]
    columns["year"] = rng.integers(2019, 2021, n).tolist()
    return columns


def features(columns):
    job = np.array(columns["job"])
    jobs = [job == name for name in ("clerk", "cook", "judge")]
    return np.column_stack([columns["age"], columns["income"], *jobs]).astype(float)


@pytest.mark.parametrize("kind", [write, write_parquet])
def test_fit_keeps_clusters_whole_as_in_memory(tmp_path, kind):
    columns, model = rows(), tmp_path / "m.skops"
    del columns["year"]
    path = kind(tmp_path / "people.table", columns)
    result = run("fit", path, *CLUSTERED, "--tolerance", "0.1", "-o", model)
    assert result.exit_code == 0, result.output
    y = np.array(columns["repaid"]) == "yes"
    data = TrainingSet.read(features(columns), y, columns["sex"], None, (), columns["household"])
    train, held_out = data.hold_out(0.2, np.random.default_rng(0))
    assert not set(train.cluster) & set(held_out.cluster)
    told = " ".join(result.stdout.split())
    assert f"learned from {len(train)} rows and 5 features" in told  # no household among them
    n_clusters = len(np.unique(held_out.cluster))
    assert f"{len(held_out)} rows held out, of {n_clusters} clusters." in told
    scorer = es.LinearScorer("inter_group", tolerance=0.1, random_state=0)
    scorer.fit(train.X, train.positive, sensitive_features=train.codes)
    found = load_model(model)
    score = found.score(held_out.X)
    np.testing.assert_array_equal(score, scorer.decision_function(held_out.X))
    audit = es.audit(
        held_out.positive,
        score,
        sensitive_features=np.array(["female", "male"])[held_out.codes],
        cluster=held_out.cluster,
        constraints="inter_group",
    )
    [gap] = audit.gaps
    assert f"{gap.low:+.3f}" in told.replace("−", "-")
    assert f"{gap.high:+.3f}" in told.replace("−", "-")


def test_tradeoff_as_in_memory(tmp_path):
    columns, path = rows(), tmp_path / "t.json"
    table = write(tmp_path / "people.csv", columns)
    options = ("--tolerances", "0.2", "--folds", "3", "--cluster", "year", "--json", path)
    assert run("tradeoff", table, *CLUSTERED, *options).exit_code == 0
    expected = es.tradeoff_path(
        es.LinearScorer(["inter_group"], random_state=0),
        features(columns),
        np.array(columns["repaid"]) == "yes",
        sensitive_features=columns["sex"],
        cluster={name: columns[name] for name in ("household", "year")},
        tolerances=(0.2,),
        cv=3,
        random_state=0,
    )
    for found, point in zip(numbers(path)["points"], expected.points, strict=True):
        for one, other in ((found["auc"], point.auc), (found["gaps"][0], point.gaps[0])):
            assert one["low"] == pytest.approx(other.low)
            assert one["high"] == pytest.approx(other.high)


def test_bad_clusters_are_refused_in_a_sentence(tmp_path):
    columns, model = rows(), tmp_path / "m.skops"
    path = write(tmp_path / "people.csv", columns)
    for command, more in (("fit", ("-o", model)), ("tradeoff", ())):
        told = refused(command, path, *FIT, "--cluster", "sex", *more)
        assert "Column 'sex' is given as --group and --cluster." in told
        told = refused(command, path, *CLUSTERED, "--features", "age,household", *more)
        assert "Column 'household' is given as --cluster and --features." in told
        assert "no column 'person'" in refused(command, path, *FIT, "--cluster", "person", *more)
    columns["household"] = [f"h{k % 3}" for k in range(600)]
    path = write(tmp_path / "three.csv", columns)
    assert (
        "4 folds need 4 clusters with rows of every class and group, but there are 3 with"
        in refused("tradeoff", path, *CLUSTERED, "--folds", "4")
    )
    columns["household"][7] = ""
    path = write(tmp_path / "gap.csv", columns)
    told = refused("fit", path, *CLUSTERED, "-o", model)
    assert "'household' of gap.csv is missing at row 8" in told
    result = run("fit", path, *CLUSTERED, "-o", model, "--drop-missing")
    assert result.exit_code == 0, result.output


def test_one_cluster_leaves_nobody_to_look_at(tmp_path):
    columns = {**rows(), "household": ["h"] * 600}
    path = write(tmp_path / "people.csv", columns)
    result = run("fit", path, *CLUSTERED, "-o", tmp_path / "m.skops")
    assert result.exit_code == 0, result.output
    assert "(none was held out), of 1 cluster." in " ".join(result.stdout.split())
