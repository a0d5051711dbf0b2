import json

import numpy as np
import pytest
from support.commands import numbers, people, read, refused, run, write, write_parquet

import evenscore as es

ASKED = ("--label", "repaid", "--score", "score", "--group", "sex", "--pos-label", "yes")


N = 500


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write(tmp_path_factory.mktemp("repair") / "scores.csv", people(N))


@pytest.fixture(scope="module")
def made(table):
    path = table.with_name("maps.json")
    result = run("repair", table, *ASKED, "-o", path)
    assert result.exit_code == 0, result.output
    return path, result.stdout


@pytest.fixture
def maps(made):
    return made[0]


def in_memory(columns, **options):
    return es.repair(
        columns["repaid"], columns["score"], sensitive_features={"sex": columns["sex"]},
        pos_label="yes", **options,
    )  # fmt: skip


@pytest.mark.slow
def test_maps_are_those_of_a_repair_in_memory(table, maps, tmp_path):
    expected = in_memory(people(N))
    assert numbers(maps) == {**json.loads(expected.to_json()), "score_column": "score"}
    assert es.Repair.from_json(maps).to_dict() == expected.to_dict()
    options = ("--roc-rates", "0.5", "--constraint", "bnsp", "--tolerance", "0.05")
    maps = tmp_path / "other.json"
    result = run("repair", table, *ASKED, *options, "-o", maps)
    assert "roc_gap(negatives) at 0.5" in result.stdout
    expected = in_memory(
        people(N), constraints=["bnsp", es.RocConstraint(rates=(0.5,))], tolerance=0.05
    )
    assert numbers(maps)["maps"] == expected.to_dict()["maps"]


def test_rates_at_the_cuts_in_use(table, maps, tmp_path):
    [told] = numbers(maps)["constraints"]
    assert told.startswith("fpr and fnr at cuts")
    assert "5% to 50% of everyone" in told
    maps = tmp_path / "low.json"
    options = ("--equal", "fnr", "--cuts", "negatives=0.1:0.4", "--select", "low")
    result = run("repair", table, *ASKED, *options, "-o", maps)
    assert result.exit_code == 0, result.output
    cuts = es.Cuts(between=(0.1, 0.4), of="negatives", selected="low")
    expected = in_memory(people(N), constraints=es.RateConstraint("fnr", cuts=cuts))
    assert numbers(maps)["maps"] == expected.to_dict()["maps"]
    told = refused("repair", table, *ASKED, "--equal", "precision", "-o", tmp_path / "other.json")
    assert "precision" in told


def test_the_auc_is_shown_before_and_after(made):
    columns = people(N)
    found = in_memory(columns)
    groups = {"sex": columns["sex"]}
    [line] = [line for line in made[1].splitlines() if "AUC" in line]
    for score in (columns["score"], found.transform(columns["score"], sensitive_features=groups)):
        asked = dict(sensitive_features=groups, pos_label="yes", constraints="bnsp")
        audit = es.audit(columns["repaid"], score, **asked)
        assert f"{audit.auc.value:.3f}" in line
        assert f"{audit.auc.low:.3f} to {audit.auc.high:.3f}" in line


def test_scores_are_mapped_and_rows_kept_in_order(maps, tmp_path):
    new = people(100, seed=1)
    path = write(tmp_path / "new.csv", new, delimiter=";")
    result = run("score", maps, path, "-o", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "out.csv").read_text(encoding="utf-8").replace(";", ",")
    (tmp_path / "out.csv").write_text(text, encoding="utf-8")
    found = read(tmp_path / "out.csv")
    assert list(found) == [*new, "repaired_score"]
    assert found["score"] == [repr(value) for value in new["score"]]
    expected = in_memory(people(N)).transform(new["score"], sensitive_features={"sex": new["sex"]})
    np.testing.assert_array_equal(np.array(found["repaired_score"], float), expected)


def test_several_groups_other_names_and_parquet(tmp_path):
    columns = people(600)
    columns["old"] = [k % 2 for k in range(600)]
    path = write_parquet(tmp_path / "scores.parquet", columns)
    maps = tmp_path / "maps.json"
    run("repair", path, *ASKED, "--group", "old", "-o", maps)
    assert numbers(maps)["columns"] == ["sex", "old"]
    assert numbers(maps)["maps"][0]["group"] == ["female", "0"]
    named = {"s": columns["score"], "g1": columns["sex"], "g2": columns["old"]}
    other = write(tmp_path / "other.csv", named)
    out = tmp_path / "out.csv"
    told = refused("score", maps, other, "-o", out)
    assert "other.csv" in told
    assert "'score', 'sex' and 'old'" in told
    names = ("--score", "s", "--group", "g1", "--group", "g2", "--column", "fair")
    assert run("score", maps, other, "-o", out, *names).exit_code == 0
    expected = es.Repair.from_json(maps).transform(
        columns["score"],
        sensitive_features={"sex": columns["sex"], "old": [str(k) for k in columns["old"]]},
    )
    np.testing.assert_array_equal(np.array(read(out)["fair"], float), expected)
    told = refused("score", maps, other, "-o", out, "--score", "s", "--group", "g1")
    assert "2 columns" in told


def test_groups_without_a_map(maps, tmp_path):
    new = people(50, seed=2)
    new["sex"][20], new["sex"][30] = "other", ""
    path, out = write(tmp_path / "new.csv", new), tmp_path / "out.csv"
    told = refused("score", maps, path, "-o", out)
    assert "'sex' of new.csv is" in told
    assert "--unseen unchanged" in told
    new["sex"][30] = "male"
    path = write(tmp_path / "new.csv", new)
    told = refused("score", maps, path, "-o", out)
    assert "'other' at row 21" in told
    assert "--unseen" in refused("score", maps, path, "-o", out, "--unseen", "drop")
    new["sex"][30] = ""
    path = write(tmp_path / "new.csv", new)
    result = run("score", maps, path, "-o", out, "--unseen", "unchanged")
    assert "2 rows" in result.stderr
    found = read(out)
    for row in (20, 30):
        assert float(found["repaired_score"][row]) == new["score"][row]


def test_maps_that_were_not_made_here(table, tmp_path):
    maps = tmp_path / "maps.json"
    knots = {"x": [0.0, 1.0], "y": [0.0, 2.0]}
    content = {
        "format": "evenscore.repair",
        "version": "2.0",
        "maps": [{"group": "female", **knots}, {"group": "male", **knots}],
    }
    maps.write_text(json.dumps(content))
    out = ("-o", tmp_path / "out.csv")
    assert "--score" in refused("score", maps, table, *out)
    told = refused("score", maps, table, *out, "--score", "score")
    assert "1 columns" in told
    assert run("score", maps, table, *out, "--score", "score", "--group", "sex").exit_code == 0
    content["maps"][0]["x"] = [1.0, 0.0]
    maps.write_text(json.dumps(content))
    told = refused("score", maps, table, *out, "--score", "score", "--group", "sex")
    assert told.startswith("maps.json: The x ")


def test_what_cannot_be_repaired(table, tmp_path):
    out = ("-o", tmp_path / "maps.json")
    told = refused("repair", table, *ASKED, "--constraint", "intra_group", *out)
    assert "intra_group" in told
    assert "--roc-rates" in refused("repair", table, *ASKED, "--roc-rates", "x", *out)
    assert not (tmp_path / "maps.json").exists()
    columns = people(N)
    columns["sex"][0] = ""
    path = write(tmp_path / "scores.csv", columns)
    assert "row 1 " in refused("repair", path, *ASKED, *out)
    result = run("repair", path, *ASKED, *out, "--drop-missing")
    assert "1 of 500 rows" in result.stderr
