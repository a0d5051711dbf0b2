"""Rows that belong together, from a file to the report, to what is learned and to what it costs."""

import numpy as np
import pandas as pd
import pytest
from support.commands import numbers, numbers_of, people, refused, run, write, write_parquet

import evenscore as es
from evenscore.files.models import load_model

LABEL = ("--label", "repaid", "--pos-label", "yes", "--group", "sex")
ASKED = (*LABEL, "--score", "score")
FIT = (*LABEL, "--exclude", "score", "--constraint", "inter_group", "--model", "linear")
BY_HOUSE = ("--cluster", "household")
BNSP = ("--constraint", "bnsp")


def rows(n=300):
    columns = people(n)
    rng = np.random.default_rng(1)
    columns["household"] = [f"h{k}" for k in rng.integers(0, n // 4, n)]
    columns["year"] = rng.integers(2019, 2021, n).tolist()
    return columns


def features(columns):
    job = np.array(columns["job"])
    jobs = [job == name for name in ("clerk", "cook", "judge")]
    return np.column_stack([columns["age"], columns["income"], *jobs]).astype(float)


# ---------------------------------------------------------------------- audits and repairs


@pytest.mark.parametrize(
    ("kind", "names"), [(write, ("household", "year")), (write_parquet, ("household",))]
)
def test_clusters_of_a_file_are_those_of_columns(tmp_path, kind, names):
    columns = rows()
    columns["score"] = [round(s, 1) for s in columns["score"]]
    path = kind(tmp_path / "scores.table", columns)
    asked = [part for name in names for part in ("--cluster", name)]
    options = ("--title", "t", "--json", tmp_path / "a.json", "--not-trained-on")
    assert run("audit", path, *ASKED, *BNSP, *asked, *options).exit_code == 0
    expected = es.audit(
        pd.Series(columns["repaid"], name="repaid"),
        columns["score"],
        sensitive_features={"sex": columns["sex"]},
        cluster={name: columns[name] for name in names},
        pos_label="yes",
        title="t",
        trained_on=False,
        constraints="bnsp",
    )
    assert numbers(tmp_path / "a.json") == numbers_of(expected)
    if names == ("household",):
        assert expected.sample.clusters == len(set(columns["household"]))


@pytest.mark.slow
def test_what_is_taken_for_granted_is_told_everywhere(tmp_path):
    path = write(tmp_path / "scores.csv", rows())
    html = tmp_path / "a.html"
    asked = (*ASKED, *BNSP)
    told = run("audit", path, *asked, *BY_HOUSE, "--trained-on", "--html", html).stdout
    for words in ("300 rows", "independent", "used for training:"):
        assert words in " ".join(told.split())
        assert words in " ".join(html.read_text().split())
    plain = " ".join(run("audit", path, *asked).stdout.split())
    assert "independent" in plain
    assert "used for training:" not in plain


def test_bad_clusters_of_an_audit_are_refused(tmp_path):
    columns = rows()
    columns["household"][7] = ""
    path = write(tmp_path / "scores.csv", columns)
    told = refused("audit", path, *ASKED, *BY_HOUSE)
    assert "'household' of scores.csv is" in told
    assert "'person'" in refused("audit", path, *ASKED, "--cluster", "person")
    assert "--group and --cluster" in refused("audit", path, *ASKED, "--cluster", "sex")
    assert run("audit", path, *ASKED, *BY_HOUSE, *BNSP, "--drop-missing").exit_code == 0


def test_a_repair_takes_clusters(tmp_path):
    path = write(tmp_path / "scores.csv", rows(1000))
    for name, more in (("a", ()), ("b", BY_HOUSE)):
        assert run("repair", path, *ASKED, "-o", tmp_path / f"{name}.json", *more).exit_code == 0
    one, two = (es.Repair.from_json(tmp_path / f"{name}.json") for name in "ab")
    values = [[gap.value for gap in found.gaps["after"]] for found in (one, two)]
    assert values[0] == pytest.approx(values[1])
    ends = [[(gap.low, gap.high) for gap in found.gaps["after"]] for found in (one, two)]
    assert ends[0] != ends[1]


# ---------------------------------------------------------------------- fits


def test_fit_keeps_clusters_whole_as_in_memory(tmp_path):
    columns, model = rows(), tmp_path / "m.skops"
    del columns["year"]
    path = write(tmp_path / "people.csv", columns)
    result = run("fit", path, *FIT, *BY_HOUSE, "--tolerance", "0.3", "-o", model)
    assert result.exit_code == 0, result.output
    y = np.array(columns["repaid"]) == "yes"
    told = " ".join(result.stdout.split())
    assert "300 rows and 5 features" in told  # no household among them
    assert f"of {len(set(columns['household']))} clusters" in told
    scorer = es.LinearScorer("inter_group", tolerance=0.3, random_state=0)
    scorer.fit(
        features(columns), y, sensitive_features=columns["sex"], cluster=columns["household"]
    )
    expected = scorer.decision_function(features(columns))
    np.testing.assert_array_equal(load_model(model).score(features(columns)), expected)
    [gap] = scorer.gaps_
    assert f"{gap.low:+.3f}" in told.replace("−", "-")
    assert f"{gap.high:+.3f}" in told.replace("−", "-")


@pytest.mark.slow
def test_tradeoff_as_in_memory(tmp_path):
    columns, path = rows(), tmp_path / "t.json"
    table = write(tmp_path / "people.csv", columns)
    options = ("--tolerances", "0.3", "--folds", "2", "--cluster", "year", "--json", path)
    assert run("tradeoff", table, *FIT, *BY_HOUSE, *options).exit_code == 0
    expected = es.tradeoff_path(
        es.LinearScorer(["inter_group"], random_state=0),
        features(columns),
        np.array(columns["repaid"]) == "yes",
        sensitive_features=columns["sex"],
        cluster={name: columns[name] for name in ("household", "year")},
        tolerances=(0.3,),
        cv=2,
        random_state=0,
    )
    for found, point in zip(numbers(path)["points"], expected.points, strict=True):
        for one, other in ((found["auc"], point.auc), (found["gaps"][0], point.gaps[0])):
            assert one["low"] == pytest.approx(other.low)
            assert one["high"] == pytest.approx(other.high)


@pytest.mark.slow
def test_bad_clusters_of_a_fit_are_refused(tmp_path):
    columns, model = rows(), tmp_path / "m.skops"
    path = write(tmp_path / "people.csv", columns)
    for command, more in (("fit", ("-o", model)), ("tradeoff", ())):
        told = refused(command, path, *FIT, "--cluster", "sex", *more)
        assert "given as --group and" in told
        told = refused(command, path, *FIT, *BY_HOUSE, "--features", "age,household", *more)
        assert "given as --cluster and --features" in told
    columns["household"] = [f"h{k % 3}" for k in range(300)]
    told = refused("tradeoff", write(path, columns), *FIT, *BY_HOUSE, "--folds", "4")
    assert "4 folds" in told
    assert "there are 3 " in told
    columns["household"] = ["h"] * 300
    columns["household"][7] = ""
    path = write(tmp_path / "gap.csv", columns)
    told = refused("fit", path, *FIT, *BY_HOUSE, "-o", model)
    assert "'household' of gap.csv is" in told
    result = run("fit", path, *FIT, *BY_HOUSE, "-o", model, "--drop-missing")
    assert result.exit_code == 2
    told = result.stderr.splitlines()[-1]
    assert "there are 1 " in told
    assert "folds=3" in told
    assert not model.exists()
