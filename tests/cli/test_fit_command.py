import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from support.commands import numbers, people, read, refused, run, write, write_parquet

import evenscore as es
from evenscore.choosing.path import CHOSEN_HERE
from evenscore.files.models import TRUSTED, load_model, save_model

ASKED = ("--label", "repaid", "--pos-label", "yes", "--group", "sex")
FIT = (*ASKED, "--constraint", "inter_group", "--tolerance", "0.1", "--exclude", "score")


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "people.csv", people())


def matrix(columns):
    job = np.array(columns["job"])
    categories = [job == name for name in ("clerk", "cook", "judge")]
    return np.column_stack([columns["age"], columns["income"], *categories]).astype(float)


# ---------------------------------------------------------------------- fit and score


@pytest.mark.parametrize(
    ("name", "kind"), [("linear", es.LinearScorer), ("boosted", es.BoostedScorer)]
)
def test_fit_and_score_as_in_memory(table, tmp_path, name, kind):
    model, scored = tmp_path / "m.skops", tmp_path / "scored.csv"
    result = run("fit", table, *FIT, "--model", name, "--test-fraction", "0", "-o", model)
    assert result.exit_code == 0, result.output
    assert "inter_group, female and male" in result.stdout
    assert "none was held out" in result.stdout
    columns = people()
    y = np.array(columns["repaid"]) == "yes"
    scorer = kind(["inter_group"], tolerance=0.1, random_state=0)
    scorer.fit(matrix(columns), y, sensitive_features=columns["sex"])
    result = run("score", model, table, "-o", scored, "--column", "fair")
    assert result.exit_code == 0, result.output
    found = read(scored)
    assert list(found) == [*columns, "fair"]
    expected = scorer.decision_function(matrix(columns))
    np.testing.assert_array_equal(np.array(found["fair"], dtype=float), expected)
    for key, values in columns.items():
        assert found[key] == [str(value) for value in values]


def test_held_out_rows_are_those_shown(table, tmp_path):
    result = run("fit", table, *FIT, "--model", "linear", "-o", tmp_path / "m.skops")
    assert "learned from 480 rows and 5 features" in " ".join(result.stdout.split())
    assert "120 rows held out" in " ".join(result.stdout.split())
    assert "without constraints" in result.stdout
    assert "price" in result.stdout


def test_neural(table, tmp_path):
    pytest.importorskip("jax")
    short = write(tmp_path / "short.csv", people(200))
    run("fit", short, *FIT, "--model", "neural", "-o", tmp_path / "m.skops", "--quiet")
    result = run("score", tmp_path / "m.skops", table, "-o", tmp_path / "s.csv", "--column", "s")
    assert result.exit_code == 0
    assert np.isfinite(np.array(read(tmp_path / "s.csv")["s"], dtype=float)).all()


def test_named_features_groups_and_weights(tmp_path):
    columns = people()
    columns["w"] = np.random.default_rng(0).gamma(2.0, size=600).tolist()
    path = write_parquet(tmp_path / "people.parquet", columns)
    options = ("--model", "linear", "--weight", "w", "-o", tmp_path / "m.skops")
    run("fit", path, *FIT, "--features", "age, income", *options)
    assert [f.name for f in load_model(tmp_path / "m.skops").features] == ["age", "income"]
    run("fit", path, *FIT, "--include-group", *options)
    names = [f.name for f in load_model(tmp_path / "m.skops").features]
    assert names == ["sex", "age", "income", "job"]
    run("fit", path, *FIT[:-1], "score,job, w", *options[:2], *options[4:])
    assert [f.name for f in load_model(tmp_path / "m.skops").features] == ["age", "income"]


def test_missing_values(table, tmp_path):
    columns = people()
    columns["age"][4], columns["job"][7] = "NA", ""
    path = write(tmp_path / "people.csv", columns)
    told = refused("fit", path, *FIT, "--model", "linear", "-o", tmp_path / "m.skops")
    assert "Column 'age' of people.csv is missing at row 5 below the header" in told
    assert "or fit --model boosted" in told
    options = ("-o", tmp_path / "m.skops")
    result = run("fit", path, *FIT, "--model", "linear", "--drop-missing", *options)
    assert "1 of 600 rows lack a value" in result.stderr
    assert run("fit", path, *FIT, *options).exit_code == 0
    result = run("score", tmp_path / "m.skops", path, "-o", tmp_path / "s.csv", "--column", "s")
    assert result.exit_code == 0
    assert len(read(tmp_path / "s.csv")["s"]) == 600


def test_unseen_categories_are_told_once(table, tmp_path):
    model = tmp_path / "m.skops"
    run("fit", table, *FIT, "--model", "linear", "-o", model)
    columns = people()
    columns["job"][0] = columns["job"][1] = "<b>astronaut</b>"
    del columns["score"]
    path = write(tmp_path / "new.csv", columns)
    result = run("score", model, path, "-o", tmp_path / "s.csv")
    assert result.exit_code == 0
    assert result.stderr.count("\n") == 1
    assert "holds what the model has not seen ('<b>astronaut</b>')" in result.stderr
    X = matrix(columns)
    expected = load_model(model).scorer.decision_function(X)
    np.testing.assert_array_equal(np.array(read(tmp_path / "s.csv")["score"], float), expected)
    assert X[0, 2:].sum() == 0.0


def test_a_real_process(table, tmp_path):
    model = str(tmp_path / "m.skops")
    command = [sys.executable, "-m", "evenscore.cli"]
    arguments = ["fit", str(table), *FIT, "--model", "linear", "-o", model, "--quiet"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    arguments = ["score", model, str(table), "-o", str(tmp_path / "s.parquet"), "--column", "s"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    import pyarrow.parquet

    found = pyarrow.parquet.read_table(tmp_path / "s.parquet")
    assert found.column_names == [*people(), "s"]
    assert str(found.schema.field("age").type) == "double"
    assert found["age"].to_pylist() == people()["age"]
    assert found["job"].to_pylist() == people()["job"]


# ---------------------------------------------------------------------- refusals


def test_what_cannot_be_fitted(table, tmp_path):
    output = ("-o", tmp_path / "m.skops")
    assert "Say what should be equal" in refused("fit", table, *ASKED, *output)
    told = refused("fit", table, *ASKED, "--constraint", "fair", *output)
    assert "--constraint 'fair' is unknown; there are intra_group" in told
    assert "test-fraction" in refused("fit", table, *FIT, "--test-fraction", "1", *output)
    assert "tolerance" in refused("fit", table, *FIT, "--tolerance", "-1", *output)
    assert "no column 'agee' (did you mean 'age'?)" in refused(
        "fit", table, *FIT, "--features", "agee", *output
    )
    assert "given as --label and --features" in refused(
        "fit", table, *FIT, "--features", "repaid", *output
    )
    columns = people()
    columns["id"] = [f"p{k}" for k in range(600)]
    path = write(tmp_path / "people.csv", columns)
    told = refused("fit", path, *FIT, *output)
    assert "Column 'id' of people.csv has more than 100 different texts" in told
    assert "--exclude" in told
    columns["id"] = [""] * 600
    path = write(tmp_path / "people.csv", columns)
    assert "is empty in every row" in refused("fit", path, *FIT, *output)
    columns["id"] = ["inf"] * 600
    path = write(tmp_path / "people.csv", columns)
    assert "Column 'id' of people.csv is infinite at row 1" in refused("fit", path, *FIT, *output)
    assert not (tmp_path / "m.skops").exists()


@pytest.fixture
def model(table, tmp_path):
    path = tmp_path / "m.skops"
    run("fit", table, *FIT, "--model", "linear", "-o", path, "--quiet")
    return path


def test_what_cannot_be_scored(model, table, tmp_path):
    output = ("-o", tmp_path / "s.csv")
    told = refused("score", model, table, *output)
    assert told == "people.csv has a column 'score' already: name the new one with --column."
    assert "--group is for maps" in refused("score", model, table, *output, "--group", "sex")
    assert "must end in .csv" in refused(
        "score", model, table, "-o", tmp_path / "s.xlsx", "--column", "s"
    )
    for target in (table, model):
        told = refused("score", model, table, "-o", target, "--column", "s")
        assert "would be written over" in told
    columns = people()
    del columns["age"]
    path = write(tmp_path / "new.csv", columns)
    told = refused("score", model, path, *output, "--column", "s")
    assert told.startswith("new.csv has no column 'age'")
    columns = people()
    columns["age"][1] = "old"
    path = write(tmp_path / "new.csv", columns)
    told = refused("score", model, path, *output, "--column", "s")
    assert "Column 'age' of new.csv must hold numbers, but it is 'old' at row 2" in told
    columns["age"][1] = ""
    path = write(tmp_path / "new.csv", columns)
    assert "is missing at row 2" in refused("score", model, path, *output, "--column", "s")
    assert not (tmp_path / "s.csv").exists()


def test_the_kind_is_told_by_content(model, table, tmp_path):
    renamed = tmp_path / "model.json"
    renamed.write_bytes(model.read_bytes())
    result = run("score", renamed, table, "-o", tmp_path / "s.csv", "--column", "s")
    assert result.exit_code == 0
    for content in (b"", b"PK\x03\x04", b"[1]", b"{", b"\xff\xfe", b"PK" + b"\0" * 100):
        renamed.write_bytes(content)
        told = refused("score", renamed, table, "-o", tmp_path / "s.csv", "--column", "s")
        assert told.startswith("model.json is n")


# ---------------------------------------------------------------------- nothing is executed


def test_a_type_that_is_not_trusted_is_refused(table, tmp_path, model):
    path = tmp_path / "evil.skops"
    content = json.loads(zipfile.ZipFile(model).read("schema.json"))
    text = json.dumps(content).replace(
        '"__class__": "LinearScorer", "__module__": "evenscore.learning.linear"',
        '"__class__": "Popen", "__module__": "subprocess"',
    )
    assert "Popen" in text
    buffer = io.BytesIO()
    with zipfile.ZipFile(model) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, text if name == "schema.json" else old.read(name))
    path.write_bytes(buffer.getvalue())
    told = refused("score", path, table, "-o", tmp_path / "s.csv", "--column", "s")
    assert told.startswith("evil.skops is refused: it holds subprocess.Popen,")
    assert not (tmp_path / "s.csv").exists()


def test_another_model_is_refused(table, tmp_path):
    path = tmp_path / "other.skops"
    other = LogisticRegression().fit(matrix(people()), people()["repaid"])
    path.write_bytes(skops.io.dumps(other))
    told = refused("score", path, table, "-o", tmp_path / "s.csv", "--column", "s")
    assert told == "other.skops is not a model that `evenscore fit` wrote."


def test_broken_models_are_refused(model, table, tmp_path):
    content = model.read_bytes()
    path = tmp_path / "broken.skops"
    rng = np.random.default_rng(0)
    for _ in range(25):
        bytes_ = bytearray(content)
        at = int(rng.integers(len(content) - 200))
        bytes_[at : at + 100] = rng.bytes(100)
        path.write_bytes(bytes(bytes_))
        result = run("score", path, table, "-o", tmp_path / "s.csv", "--column", "s", "--quiet")
        assert result.exit_code in (0, 2)
        assert result.stderr.count("\n") == (result.exit_code == 2)


def test_every_scorer_is_made_of_trusted_types(table, model):
    found = skops.io.get_untrusted_types(data=model.read_bytes())
    assert set(found) <= TRUSTED
    assert all(name.startswith("evenscore.") for name in TRUSTED)


def test_a_loaded_model_is_the_one_saved(model, tmp_path):
    loaded = load_model(model)
    again = load_model(save_model(tmp_path / "again.skops", loaded))
    X = matrix(people())
    np.testing.assert_array_equal(loaded.score(X), again.score(X))
    assert loaded.features == again.features
    assert (loaded.label, loaded.positive, loaded.groups) == ("repaid", "yes", ("sex",))


# ---------------------------------------------------------------------- trade-off


def test_tradeoff(table, tmp_path):
    html, path = tmp_path / "t.html", tmp_path / "t.json"
    options = ("--model", "linear", "--tolerances", "0.2,0.05", "--folds", "3")
    result = run(
        "tradeoff", table, *FIT[:8], *options, "--exclude", "score", "--html", html, "--json", path
    )
    assert result.exit_code == 0, result.output
    columns = people()
    expected = es.tradeoff_path(
        es.LinearScorer(["inter_group"], random_state=0),
        matrix(columns),
        np.array(columns["repaid"]) == "yes",
        sensitive_features=columns["sex"],
        tolerances=(0.2, 0.05),
        cv=3,
        random_state=0,
    )
    found = numbers(path)
    assert [point["auc"]["value"] for point in found["points"]] == [
        point.auc.value for point in expected.points
    ]
    assert [point["worst_gap"]["value"] for point in found["points"]] == [
        point.worst_gap for point in expected.points
    ]
    assert found["points"][0]["value"] is None
    page = html.read_text(encoding="utf-8")
    for point in expected.points:
        for text in (f"{point.auc.value:.3f}", f"{point.worst_gap:.3f}"):
            assert text in page
            assert text in result.stdout
    assert "default-src &#39;none&#39;" in page
    assert "<script" not in page
    assert page.count("http") == 1  # the name of the policy's header
    assert '<svg class="chart"' in page


def test_tradeoff_marks_a_choice_or_says_why_not(tmp_path):
    table = write(tmp_path / "<i>people.csv", people())
    options = ("--model", "linear", "--tolerances", "0.2", "--folds", "2", "--exclude", "score")
    html, path = tmp_path / "t.html", tmp_path / "t.json"
    result = run(
        "tradeoff", table, *FIT[:6], "--constraint", "inter_group", *options, "--tolerance", "0.2",
        "--html", html, "--json", path,
    )  # fmt: skip
    assert "chosen" in result.stdout
    assert CHOSEN_HERE in " ".join(result.stdout.split())
    assert CHOSEN_HERE in html.read_text(encoding="utf-8")
    assert numbers(path)["choice"] == CHOSEN_HERE
    assert "&lt;i&gt;people.csv" in html.read_text(encoding="utf-8")
    result = run(
        "tradeoff", table, *FIT[:6], "--constraint", "inter_group", *options, "--tolerance",
        "0.001", "--html", html,
    )  # fmt: skip
    assert result.exit_code == 0
    assert "No point of the path meets a tolerance of 0.001" in " ".join(result.stdout.split())
    assert "No point of the path meets" in html.read_text(encoding="utf-8")
    assert "Audit the chosen score" not in html.read_text(encoding="utf-8")  # nothing is chosen
    assert "Audit the chosen score" not in " ".join(result.stdout.split())


# ---------------------------------------------------------------------- cuts in use


def test_fit_at_cuts_says_the_price(table, tmp_path):
    output = tmp_path / "m.skops"
    told = " ".join(
        run(
            "fit", table, *ASKED, "--cuts", "everyone=0.2:0.6", "--equal", "fnr",
            "--tolerance", "0.1", "--model", "linear", "-o", output,
        ).stdout.split()
    )  # fmt: skip
    assert "What the constraints cost, and what they mend" in told
    assert "fnr_gap at cuts that select 20% to 60%" in told
    assert output.exists()


def test_fit_takes_a_strength(table, tmp_path):
    output = tmp_path / "m.skops"
    run("fit", table, *ASKED, "--equal", "fpr", "--strength", "0.5", "--model", "linear",
        "-o", output)  # fmt: skip
    assert load_model(output).scorer.strength == 0.5


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--cuts", "everyone=0.4:0.1"), "between"),
        (("--cuts", "everybody=0.1:0.4"), "Cuts are written as everyone=0.1:0.4"),
        (("--cuts", "everyone=a:b"), "Cuts are written as everyone=0.1:0.4"),
        (("--cuts", "everyone=0.1:0.2:0.3"), "Cuts are written as everyone=0.1:0.4"),
        (("--cuts", "everyone=1.5"), "at must be shares strictly between 0 and 1"),
        (("--cuts", "thresholds=600", "--equal", "fnr"), "thresholds cannot be learned"),
        (("--equal", "tnr"), "There is no rate 'tnr'"),
        (("--equal", "fnr,fnr"), "repeats one"),
    ],
)
def test_cuts_that_cannot_be_had(table, tmp_path, options, sentence):
    output = tmp_path / "m.skops"
    assert sentence in refused("fit", table, *ASKED, *options, "--model", "linear", "-o", output)
    assert not output.exists()


def test_tradeoff_shows_the_price_of_each_rate(table, tmp_path):
    page, kept = tmp_path / "t.html", tmp_path / "t.json"
    told = run(
        "tradeoff", table, *ASKED, "--cuts", "everyone=0.2:0.6", "--equal", "fpr,fnr",
        "--tolerances", "0.1", "--model", "linear", "--folds", "2", "--html", page,
        "--json", kept,
    ).stdout  # fmt: skip
    assert "What each claim costs" in told
    assert "fpr and fnr" in told
    stored = json.loads(kept.read_text())
    assert [len(claim["kinds"]) for claim in stored["prices"]["claims"]] == [0, 1, 1, 2]
    assert "What each claim costs" in page.read_text()


# ---------------------------------------------------------------------- the report of a fit


def test_fit_writes_a_report_of_the_rows_held_out(table, tmp_path):
    page, kept = tmp_path / "r.html", tmp_path / "r.json"
    words = ("--positives", "people who repaid", "--selected", "granted a loan")
    asked = ("--cuts", "everyone=0.2:0.6", "--equal", "fnr", "--tolerance", "0.1", "--features",
             "age,income", "--model", "linear", "-o", tmp_path / "m.skops")  # fmt: skip
    result = run("fit", table, *ASKED, *asked, *words, "--html", page, "--json", kept)
    assert result.exit_code == 0, result.output
    stored = numbers(kept)
    assert stored["sample"]["n"] == 120
    assert stored["sample"]["pos_label"] == "yes"
    assert stored["settings"]["tolerance"] == 0.1
    text = page.read_text(encoding="utf-8")
    assert "without constraints" in text
    assert "people who repaid" in text
    assert "granted a loan" in text
    # The table on the terminal has the AUC of the report, and the price beside it.
    told = {row.split("  ")[0].strip(): row.split() for row in result.stdout.splitlines() if row}
    auc = stored["blocks"]["ranking"]["auc"]["value"]
    assert told["with constraints"][2] == f"{auc:.3f}"
    price = float(told["without constraints"][2]) - auc
    assert float(told["price"][1]) == pytest.approx(price, abs=0.0011)
    assert result.stdout.splitlines()[-3:] == [
        f"Written: {path}" for path in (tmp_path / "m.skops", page, kept)
    ]


def test_a_report_of_the_rows_learned_from_has_no_comparison(table, tmp_path):
    page, kept = tmp_path / "r.html", tmp_path / "r.json"
    options = ("--model", "linear", "--test-fraction", "0", "-o", tmp_path / "m.skops", "--quiet")
    result = run("fit", table, *FIT, *options, "--html", page, "--json", kept)
    assert (result.exit_code, result.output) == (0, "")
    assert numbers(kept)["sample"]["n"] == 600
    assert "without constraints" not in page.read_text(encoding="utf-8")
