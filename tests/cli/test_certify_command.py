import json

import numpy as np
import pytest
from support.commands import people, read, refused, run, write

import evenscore as es

ASKED = ("--label", "repaid", "--group", "sex", "--pos-label", "yes")
LEARNED = (*ASKED, "--model", "linear", "--features", "age,income,job", "--constraint", "bnsp")
POINTS = ("--tolerances", "0.1,0.05", "--folds", "2")
ONE = ("--tolerances", "0.1", "--folds", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("certify")
    write(made / "train.csv", people(500, seed=1, shift=0.4))
    write(made / "others.csv", people(2000, seed=2, shift=0.4), delimiter=";")
    write(made / "few.csv", people(120, seed=3, shift=0.4))
    return made


@pytest.fixture(scope="module")
def certified(folder):
    """A path certified on another file, with everything that can be written."""
    result = run(
        "tradeoff", folder / "train.csv", *LEARNED, *POINTS, "--certify", folder / "others.csv",
        "--tolerance", "0.08", "-o", folder / "model.skops", "--html", folder / "path.html",
        "--json", folder / "path.json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return result


def in_memory(columns):
    """Features, labels and groups as the command reads them."""
    jobs = np.array(columns["job"])
    X = np.column_stack(
        [columns["age"], columns["income"], *(jobs == job for job in ("clerk", "cook", "judge"))]
    ).astype(float)
    return X, np.array(columns["repaid"]) == "yes", np.array(columns["sex"])


@pytest.mark.slow
def test_the_choice_is_that_of_the_path_in_memory(certified, folder):
    X, y, groups = in_memory(people(500, seed=1, shift=0.4))
    path = es.tradeoff_path(
        es.LinearScorer(["bnsp"], random_state=0), X, y, sensitive_features=groups,
        tolerances=[0.1, 0.05], cv=2, random_state=0,
    )  # fmt: skip
    X, y, groups = in_memory(people(2000, seed=2, shift=0.4))
    expected = path.certify(X, y, sensitive_features=groups, tolerance=0.08)
    content = json.loads((folder / "path.json").read_text())
    assert content["certified"] == json.loads(expected.to_json())
    assert expected.certified
    assert content["chosen"] == [str(point) for point in path.points].index(expected.test.name)
    told = " ".join(certified.stdout.split())
    assert expected.words in told
    assert str(folder / "model.skops") in "".join(certified.stdout.splitlines())
    html = (folder / "path.html").read_text()
    assert html.index("What is certified") < html.index("By tolerance")
    # No advice to audit elsewhere what has just been certified elsewhere; and which files it was.
    assert content["choice"] == expected.meaning
    assert "other rows" not in html
    assert list(content["files"]) == ["learned from", "certified on"]
    for file in content["files"].values():
        assert len(file["sha256"]) == 64
        assert file["sha256"] in html
    assert "passed, chosen" in html
    # The model that is stored is the one that was certified.
    columns = {k: v for k, v in people(300, seed=9).items() if k != "score"}
    new = write(folder / "new.csv", columns)
    done = run("score", folder / "model.skops", new, "-o", folder / "scored.csv")
    assert done.exit_code == 0, done.output
    scores = np.array(read(folder / "scored.csv")["score"], dtype=float)
    X, _, _ = in_memory(people(300, seed=9))
    np.testing.assert_allclose(scores, expected.scorer.decision_function(X))


@pytest.mark.slow
def test_if_none_is_certified_nothing_is_written(folder, tmp_path):
    model, page = tmp_path / "model.skops", tmp_path / "path.html"
    result = run(
        "tradeoff", folder / "train.csv", *LEARNED, *ONE, "--certify", folder / "few.csv",
        "--tolerance", "0.02", "-o", model, "--html", page,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    assert "None is certified" in told
    assert "model.skops is not written" in told
    assert not model.exists()
    assert "None is certified" in page.read_text()


def test_a_part_of_the_rows_is_held_out(folder, tmp_path):
    result = run(
        "tradeoff", folder / "train.csv", *LEARNED, *ONE, "--hold-out", "0.4", "--tolerance",
        "0.1", "--confidence", "0.9", "--json", tmp_path / "path.json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    choice = json.loads((tmp_path / "path.json").read_text())["certified"]
    assert choice["confidence_level"] == 0.9
    assert choice["n_fitted"] + choice["n_held_out"] == 500
    assert abs(choice["n_held_out"] - 200) <= 4
    assert choice["cost"] in " ".join(result.stdout.split())


def test_what_cannot_prove_anything_is_refused(folder, tmp_path):
    train, others = folder / "train.csv", folder / "others.csv"
    copy = tmp_path / "copy.csv"
    copy.write_bytes(train.read_bytes())
    base = ("tradeoff", train, *LEARNED)
    for same in (train, copy):
        told = refused(*base, "--certify", same, "--tolerance", "0.05")
        assert "holds the rows" in told
    assert "--tolerance" in refused(*base, "--certify", others)
    assert "not both" in refused(
        *base, "--certify", others, "--hold-out", "0.5", "--tolerance", "0.05"
    )
    assert "between 0 and 1" in refused(*base, "--hold-out", "1", "--tolerance", "0.05")
    assert "between 0 and 1" in refused(*base, "--hold-out", "0.5", "--tolerance", "0")
    assert "--confidence" in refused(
        *base, "--hold-out", "0.5", "--tolerance", "0.05", "--confidence", "95"
    )
    assert "certified" in refused(*base, "-o", tmp_path / "model.skops")
    told = refused(*base, "--certify", tmp_path / "none.csv", "--tolerance", "0.05")
    assert "none.csv" in told
    lacking = write(tmp_path / "lacking.csv", {k: v for k, v in people(50).items() if k != "age"})
    told = refused(*base, "--certify", lacking, "--tolerance", "0.05")
    assert "age" in told
    assert "lacking.csv" in told
    over = refused(*base, "--certify", others, "--tolerance", "0.05", "--json", others)
    assert "would be written over" in over
    repair = ("repair", train, *ASKED, "--score", "score", "-o", tmp_path / "maps.json")
    assert "holds the rows" in refused(*repair, "--certify", train, "--tolerance", "0.05")
    assert "--tolerance" in refused(*repair, "--certify", others)


def test_a_group_or_a_label_that_is_not_there(folder, tmp_path):
    base = ("tradeoff", folder / "train.csv", *LEARNED, *ONE, "--tolerance", "0.05")
    columns = people(60, seed=5)
    one = write(tmp_path / "one.csv", {**columns, "sex": ["male"] * 60})
    assert "'male'" in refused(*base, "--certify", one)
    odd = write(tmp_path / "odd.csv", {**columns, "repaid": ["1", "0"] * 30})
    assert "odd.csv" in refused(*base, "--certify", odd)


@pytest.mark.slow
def test_repairs(folder, tmp_path):
    maps = tmp_path / "maps.json"
    base = ("repair", folder / "train.csv", *ASKED, "--score", "score", "--equal", "fnr")
    result = run(*base, "--certify", folder / "others.csv", "--tolerance", "0.25", "-o", maps)
    assert result.exit_code == 0, result.output
    content = json.loads(maps.read_text())
    choice = content["certified"]
    names = [test["name"] for test in choice["tests"]]
    assert names == ["share=1", "share=0.75", "share=0.5", "share=0.25", "share=0"]
    share = float(names[choice["chosen"]].removeprefix("share="))
    columns = people(500, seed=1, shift=0.4)
    expected = es.repair(
        columns["repaid"], columns["score"], sensitive_features={"sex": columns["sex"]},
        pos_label="yes", constraints=es.RateConstraint("fnr"), share=share,
    )  # fmt: skip
    assert content["maps"] == expected.to_dict()["maps"]
    assert es.Repair.from_json(maps).to_dict() == expected.to_dict()
    new = write(tmp_path / "new.csv", people(50, seed=9))
    assert run("score", maps, new, "-o", tmp_path / "out.csv").exit_code == 0
    assert es.CertifiedChoice.from_dict(choice).words in " ".join(result.stdout.split())
    other = tmp_path / "other.json"
    result = run(*base, "--hold-out", "0.5", "--tolerance", "0.01", "-o", other)
    assert result.exit_code == 0, result.output
    assert "other.json is not written" in " ".join(result.stdout.split())
    assert "split" in result.stdout
    assert not other.exists()
