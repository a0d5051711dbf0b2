"""Rows that belong together, and whether the score has seen them: from the file to the report."""

import numpy as np
import pandas as pd
import pytest
from support.commands import numbers, numbers_of, people, refused, run, write, write_parquet

import evenscore as es

ASKED = ("--label", "repaid", "--score", "score", "--group", "sex", "--pos-label", "yes")
CLUSTERED = (*ASKED, "--cluster", "household")


def rows(n=600):
    columns = people(n)
    rng = np.random.default_rng(1)
    columns["household"] = [f"h{k}" for k in rng.integers(0, n // 4, n)]
    columns["year"] = rng.integers(2019, 2021, n).tolist()
    return columns


@pytest.mark.parametrize("kind", [write, write_parquet])
@pytest.mark.parametrize("names", [("household",), ("household", "year")])
def test_clusters_of_a_file_are_those_of_columns(tmp_path, kind, names):
    columns = rows()
    path = kind(tmp_path / "scores.table", columns)
    asked = [part for name in names for part in ("--cluster", name)]
    options = ("--title", "t", "--json", tmp_path / "a.json", "--not-trained-on")
    assert run("audit", path, *ASKED, *asked, *options).exit_code == 0
    expected = es.audit(
        pd.Series(columns["repaid"], name="repaid"),
        columns["score"],
        sensitive_features={"sex": columns["sex"]},
        cluster={name: columns[name] for name in names},
        pos_label="yes",
        title="t",
        trained_on=False,
    )
    assert numbers(tmp_path / "a.json") == numbers_of(expected)


def test_few_distinct_scores_are_read_row_by_row_with_clusters(tmp_path):
    columns = rows(2000)
    columns["score"] = [round(s) for s in columns["score"]]
    path = write_parquet(tmp_path / "scores.parquet", columns)
    run("audit", path, *CLUSTERED, "--json", tmp_path / "a.json")
    found = es.AuditResult.from_json(tmp_path / "a.json")
    assert found.sample.clusters == len(set(columns["household"]))
    assert found.sample.n == 2000


def test_what_is_taken_for_granted_is_told_everywhere(tmp_path):
    path = write(tmp_path / "scores.csv", rows())
    html = tmp_path / "a.html"
    told = " ".join(run("audit", path, *CLUSTERED, "--trained-on", "--html", html).stdout.split())
    for sentence in ("The 600 rows belong to", "which are taken to be independent.",
                     "These rows were used for training:"):  # fmt: skip
        assert sentence in told
        assert sentence in " ".join(html.read_text().split())
    plain = " ".join(run("audit", path, *ASKED).stdout.split())
    assert "Rows are taken to be independent; with several rows per person" in plain
    assert "Nobody said whether these rows were used for training" in plain


def test_bad_clusters_are_refused_in_a_sentence(tmp_path):
    columns = rows()
    columns["household"][7] = ""
    path = write(tmp_path / "scores.csv", columns)
    assert "'household' of scores.csv is missing at row 8" in refused("audit", path, *CLUSTERED)
    assert "no column 'person'" in refused("audit", path, *ASKED, "--cluster", "person")
    assert "--group and --cluster" in refused("audit", path, *ASKED, "--cluster", "sex")
    assert run("audit", path, *CLUSTERED, "--drop-missing").exit_code == 0


def test_a_repair_takes_clusters(tmp_path):
    path = write(tmp_path / "scores.csv", rows(2000))
    for name, more in (("a", ()), ("b", ("--cluster", "household"))):
        assert run("repair", path, *ASKED, "-o", tmp_path / f"{name}.json", *more).exit_code == 0
    one, two = (es.Repair.from_json(tmp_path / f"{name}.json") for name in "ab")
    values = [[gap.value for gap in found.gaps["after"]] for found in (one, two)]
    assert values[0] == pytest.approx(values[1])
    ends = [[(gap.low, gap.high) for gap in found.gaps["after"]] for found in (one, two)]
    assert ends[0] != ends[1]
