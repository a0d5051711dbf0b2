"""`evenscore fit`, `score` and `tradeoff`: the numbers of Python, and models that may be loaded."""

import io
import json
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from support.commands import numbers, people, read, refused, run, write, write_parquet

import evenscore as es
from evenscore.choosing.path import CHOSEN_HERE
from evenscore.files.models import TRUSTED, load_model, save_model

ASKED = ("--label", "repaid", "--pos-label", "yes", "--group", "sex")
FIT = (*ASKED, "--constraint", "inter_group", "--tolerance", "0.3", "--exclude", "score")
LINEAR = (*FIT, "--model", "linear")
N = 200


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "people.csv", people(N))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    table = write(folder / "people.csv", people(N))
    result = run("fit", table, *LINEAR, "-o", folder / "m.skops")
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    for words in ("200 rows and 5 features", "on 200 of them", "without constraints", "price"):
        assert words in told
    return folder / "m.skops"


def matrix(columns):
    job = np.array(columns["job"])
    categories = [job == name for name in ("clerk", "cook", "judge")]
    return np.column_stack([columns["age"], columns["income"], *categories]).astype(float)


# ---------------------------------------------------------------------- fit and score


FNR = es.RateConstraint("fnr", cuts=es.Cuts(at=0.5), tolerance=0.3)
AT_CUTS = (*ASKED, "--equal", "fnr", "--cuts", "everyone=0.5", "--tolerance", "0.3",
           "--exclude", "score")  # fmt: skip
KINDS = {
    ("--model", "linear"): es.LinearScorer(FNR, random_state=0),
    (): es.EvenScorer(FNR, random_state=0),
    ("--estimator", "trees"): es.EvenScorer(FNR, "trees", random_state=0),
    ("--model", "even", "--estimator", "logistic"): es.EvenScorer(FNR, "logistic", random_state=0),
}


@pytest.mark.parametrize("options", KINDS, ids=" ".join)
def test_fit_and_score_as_in_memory(table, tmp_path, options):
    model, scored = tmp_path / "m.skops", tmp_path / "scored.csv"
    result = run("fit", table, *AT_CUTS, *options, "-o", model)
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    assert "fnr_gap" in told
    assert type(KINDS[options]).__name__ in told
    columns = people(N)
    y = np.array(columns["repaid"]) == "yes"
    scorer = clone(KINDS[options])
    scorer.fit(matrix(columns), y, sensitive_features=columns["sex"])
    result = run("score", model, table, "-o", scored, "--column", "fair")
    assert result.exit_code == 0, result.output
    found = read(scored)
    assert list(found) == [*columns, "fair"]
    expected = scorer.decision_function(matrix(columns))
    np.testing.assert_allclose(np.array(found["fair"], dtype=float), expected, atol=1e-12)
    price = scorer.price_
    for one in (price.free, price.auc, price.difference):
        assert f"{one.value:.3f}" in told
    for key, values in columns.items():
        assert found[key] == [str(value) for value in values]


@pytest.mark.slow
def test_named_features_groups_and_weights(tmp_path):
    columns = people(N)
    columns["w"] = np.random.default_rng(0).gamma(2.0, size=N).tolist()
    path, model = write_parquet(tmp_path / "people.parquet", columns), tmp_path / "m.skops"
    options = ("--model", "linear", "-q", "-o", model)
    for more, names in (
        ((*FIT, "--features", "age, income", "--weight", "w"), ["age", "income"]),
        ((*FIT, "--include-group", "--weight", "w"), ["sex", "age", "income", "job"]),
        ((*FIT[:-1], "score,job, w"), ["age", "income"]),
    ):
        run("fit", path, *more, *options)
        assert [feature.name for feature in load_model(model).features] == names


@pytest.mark.slow
def test_missing_values(tmp_path):
    columns = people(N)
    columns["age"][4], columns["job"][7] = "NA", ""
    path = write(tmp_path / "people.csv", columns)
    options = ("-o", tmp_path / "m.skops")
    told = refused("fit", path, *LINEAR, *options)
    assert "'age' of people.csv is" in told
    assert "--model even" in told
    result = run("fit", path, *LINEAR, "--drop-missing", *options)
    assert "1 of 200 rows" in result.stderr
    assert run("fit", path, *AT_CUTS, *options).exit_code == 0
    result = run("score", tmp_path / "m.skops", path, "-o", tmp_path / "s.csv", "--column", "s")
    assert result.exit_code == 0
    assert len(read(tmp_path / "s.csv")["s"]) == N


def test_unseen_categories_are_told_once(model, tmp_path):
    columns = people(N)
    columns["job"][0] = columns["job"][1] = "<b>astronaut</b>"
    del columns["score"]
    path = write(tmp_path / "new.csv", columns)
    result = run("score", model, path, "-o", tmp_path / "s.csv")
    assert result.exit_code == 0
    assert result.stderr.count("\n") == 1
    assert "'<b>astronaut</b>'" in result.stderr
    X = matrix(columns)
    expected = load_model(model).scorer.decision_function(X)
    np.testing.assert_array_equal(np.array(read(tmp_path / "s.csv")["score"], float), expected)
    assert X[0, 2:].sum() == 0.0


@pytest.mark.slow
def test_a_real_process(model, table, tmp_path):
    """Seconds: a process imports everything, and a model is fitted for it."""
    command = [sys.executable, "-m", "evenscore.cli", "score", str(model), str(table)]
    command += ["-o", str(tmp_path / "s.parquet"), "--column", "s"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    import pyarrow.parquet

    found = pyarrow.parquet.read_table(tmp_path / "s.parquet")
    assert found.column_names == [*people(), "s"]
    assert str(found.schema.field("age").type) == "double"
    assert found["age"].to_pylist() == people(N)["age"]
    assert found["job"].to_pylist() == people(N)["job"]


# ---------------------------------------------------------------------- refusals


@pytest.mark.slow
def test_what_cannot_be_fitted(table, tmp_path):
    output = ("-o", tmp_path / "m.skops")
    assert "--constraint" in refused("fit", table, *ASKED, *output)
    told = refused("fit", table, *ASKED, "--constraint", "fair", *output)
    assert "'fair'" in told
    assert "intra_group" in told
    assert "tolerance" in refused("fit", table, *LINEAR, "--tolerance", "-1", *output)
    told = refused("fit", table, *FIT, *output)  # an AUC notion, no rates
    assert "inter_group" in told
    assert "--model linear" in told
    assert "--estimator" in refused("fit", table, *LINEAR, "--estimator", "trees", *output)
    told = refused("fit", table, *LINEAR, "--features", "agee", *output)
    assert "'agee'" in told
    assert "'age'" in told
    told = refused("fit", table, *LINEAR, "--features", "repaid", *output)
    assert "--label and --features" in told
    for values, part in (
        ([f"p{k}" for k in range(N)], "100 different"),
        ([""] * N, "empty"),
        (["inf"] * N, "row 1"),
    ):
        told = refused("fit", write(tmp_path / "odd.csv", {**people(N), "id": values}), *LINEAR,
                       *output)  # fmt: skip
        assert "'id' of odd.csv" in told
        assert part in told
    assert not (tmp_path / "m.skops").exists()


def test_what_cannot_be_scored(model, table, tmp_path):
    output = ("-o", tmp_path / "s.csv")
    told = refused("score", model, table, *output)
    assert "'score'" in told
    assert "--column" in told
    assert "--group" in refused("score", model, table, *output, "--group", "sex")
    assert ".csv" in refused("score", model, table, "-o", tmp_path / "s.xlsx", "--column", "s")
    for target in (table, model):
        told = refused("score", model, table, "-o", target, "--column", "s")
        assert "written over" in told
    columns = people(20)
    for value, part in (("old", "'old' at row 2"), ("", "missing at row 2")):
        columns["age"][1] = value
        path = write(tmp_path / "new.csv", columns)
        told = refused("score", model, path, *output, "--column", "s")
        assert "'age' of new.csv" in told
        assert part in told
    del columns["age"]
    told = refused("score", model, write(path, columns), *output, "--column", "s")
    assert "'age'" in told
    assert not (tmp_path / "s.csv").exists()


def test_the_kind_is_told_by_content(model, table, tmp_path):
    renamed = tmp_path / "model.json"
    renamed.write_bytes(model.read_bytes())
    result = run("score", renamed, table, "-o", tmp_path / "s.csv", "--column", "s")
    assert result.exit_code == 0
    for content in (b"", b"PK\x03\x04", b"[1]", b"{", b"\xff\xfe", b"PK" + b"\0" * 100):
        renamed.write_bytes(content)
        told = refused("score", renamed, table, "-o", tmp_path / "s.csv", "--column", "s")
        assert told.startswith("model.json ")


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
    assert "evil.skops" in told
    assert "subprocess.Popen" in told
    assert not (tmp_path / "s.csv").exists()


def test_another_model_is_refused(table, tmp_path):
    path = tmp_path / "other.skops"
    other = LogisticRegression().fit(matrix(people(N)), people(N)["repaid"])
    path.write_bytes(skops.io.dumps(other))
    told = refused("score", path, table, "-o", tmp_path / "s.csv", "--column", "s")
    assert "other.skops" in told


def test_broken_models_are_refused(model, table, tmp_path):
    content = model.read_bytes()
    path = tmp_path / "broken.skops"
    rng = np.random.default_rng(0)
    for _ in range(10):
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
    X = matrix(people(N))
    np.testing.assert_array_equal(loaded.score(X), again.score(X))
    assert loaded.features == again.features
    assert (loaded.label, loaded.positive, loaded.groups) == ("repaid", "yes", ("sex",))


# ---------------------------------------------------------------------- trade-off

POINTS = ("--tolerances", "0.3", "--folds", "2", "--exclude", "score", "--model", "linear")
SHARED = (*ASKED, "--constraint", "inter_group")


@pytest.mark.slow
def test_tradeoff(tmp_path):
    table = write(tmp_path / "<i>people.csv", people(N))
    html, path = tmp_path / "t.html", tmp_path / "t.json"
    out = ("--html", html, "--json", path)
    result = run("tradeoff", table, *SHARED, *POINTS, "--tolerance", "0.4", *out)
    assert result.exit_code == 0, result.output
    columns = people(N)
    expected = es.tradeoff_path(
        es.LinearScorer(["inter_group"], random_state=0),
        matrix(columns),
        np.array(columns["repaid"]) == "yes",
        sensitive_features=columns["sex"],
        tolerances=(0.3,),
        cv=2,
        random_state=0,
    )
    found = numbers(path)
    for name, values in (
        ("auc", [point.auc.value for point in expected.points]),
        ("worst_gap", [point.worst_gap for point in expected.points]),
    ):
        assert [point[name]["value"] for point in found["points"]] == values
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
    assert "&lt;i&gt;people.csv" in page
    assert CHOSEN_HERE in " ".join(result.stdout.split())
    assert CHOSEN_HERE in page
    assert found["choice"] == CHOSEN_HERE


def test_a_tradeoff_that_chooses_nothing_says_so(table, tmp_path):
    html = tmp_path / "t.html"
    out = ("--tolerance", "0.0001", "--html", html)
    result = run("tradeoff", table, *SHARED, *POINTS, *out)
    assert result.exit_code == 0
    for told in (result.stdout, html.read_text(encoding="utf-8")):
        assert "0.0001" in told
        assert CHOSEN_HERE not in " ".join(told.split())


@pytest.mark.slow
def test_tradeoff_shows_the_price_of_each_rate(table, tmp_path):
    """Seconds: four fits, cross-validated."""
    page, kept = tmp_path / "t.html", tmp_path / "t.json"
    told = run(
        "tradeoff", table, *ASKED, *POINTS, "--cuts", "everyone=0.4", "--equal", "fpr,fnr",
        "--html", page, "--json", kept,
    ).stdout  # fmt: skip
    assert "fpr and fnr" in told
    stored = json.loads(kept.read_text())
    assert [len(claim["kinds"]) for claim in stored["prices"]["claims"]] == [0, 1, 1, 2]
    assert "fpr and fnr" in page.read_text()


# ---------------------------------------------------------------------- cuts in use, and the report


@pytest.mark.slow  # a report of two audits
def test_fit_at_cuts_writes_a_report_of_the_rows_left_out(table, tmp_path):
    page, kept = tmp_path / "r.html", tmp_path / "r.json"
    words = ("--positives", "people who repaid", "--selected", "granted a loan")
    asked = ("--cuts", "everyone=0.2:0.6", "--equal", "fnr", "--tolerance", "0.3",
             "--features", "age,income", "--model", "linear", "-o",
             tmp_path / "m.skops")  # fmt: skip
    result = run("fit", table, *ASKED, *asked, *words, "--html", page, "--json", kept)
    assert result.exit_code == 0, result.output
    assert "fnr_gap at cuts" in " ".join(result.stdout.split())
    stored = numbers(kept)
    assert stored["sample"]["n"] == N  # each scored by models that have not seen it
    assert stored["sample"]["pos_label"] == "yes"
    assert stored["settings"]["tolerance"] == 0.3
    text = page.read_text(encoding="utf-8")
    for part in ("without constraints", "people who repaid", "granted a loan"):
        assert part in text
    # The table on the terminal has the AUC of the report, and the price beside it.
    told = {row.split("  ")[0].strip(): row.split() for row in result.stdout.splitlines() if row}
    auc = stored["blocks"]["ranking"]["auc"]["value"]
    assert told["with constraints"][2] == f"{auc:.3f}"
    price = float(told["without constraints"][2]) - auc
    assert float(told["price"][1]) == pytest.approx(price, abs=0.0011)
    assert result.stdout.splitlines()[-3:] == [
        f"Written: {path}" for path in (tmp_path / "m.skops", page, kept)
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--cuts", "everyone=0.4:0.1"), "between"),
        (("--cuts", "everybody=0.1:0.4"), "everyone=0.1:0.4"),
        (("--cuts", "everyone=0.1:0.2:0.3"), "everyone=0.1:0.4"),
        (("--cuts", "everyone=1.5"), "at must be"),
        (("--cuts", "thresholds=600", "--equal", "fnr"), "thresholds"),
        (("--equal", "tnr"), "'tnr'"),
        (("--equal", "fnr,fnr"), "repeats"),
    ],
)
def test_cuts_that_cannot_be_had(table, tmp_path, options, told):
    output = tmp_path / "m.skops"
    assert told in refused("fit", table, *ASKED, *options, "--model", "linear", "-o", output)
    assert not output.exists()


@pytest.mark.slow  # three fits
@pytest.mark.parametrize("model", [(), ("--model", "linear")])
def test_features_that_state_the_group_are_left_out_and_said(tmp_path, model):
    columns = people(N)
    columns["title"] = ["Ms" if sex == "female" else "Mr" for sex in columns["sex"]]
    table, out = write(tmp_path / "people.csv", columns), tmp_path / "m.skops"
    asked = (*AT_CUTS, *model, "--estimator", "blend", "-o", out)
    result = run("fit", table, *asked)
    assert result.exit_code == 0, result.output
    [note] = [line for line in result.stderr.splitlines() if "title" in line]
    assert note.startswith("Note: ")
    assert "--include-group" in note
    assert [one.name for one in load_model(out).features] == ["age", "income", "job"]
    alone = (*ASKED, "--equal", "fnr", *model, "--features", "title", "-o", out)
    assert "title" in refused("fit", table, *alone)
    result = run("fit", table, *asked, "--include-group")
    if model:  # EvenScorer itself leaves them out, whatever its features are
        assert [one.name for one in load_model(out).features][-1] == "title"


@pytest.mark.slow  # the bars of a path, twice
def test_tradeoff_of_even_scores_from_one_fit(table, tmp_path):
    kept = tmp_path / "t.json"
    options = ("--estimator", "logistic", "--tolerances", "0.3,0.1", "--tolerance", "0.4")
    result = run("tradeoff", table, *ASKED, "--equal", "fnr", "--cuts", "everyone=0.5",
                 "--exclude", "score", *options, "--json", kept)  # fmt: skip
    assert result.exit_code == 0, result.output
    columns = people(N)
    y = np.array(columns["repaid"]) == "yes"
    scorer = es.EvenScorer(es.RateConstraint("fnr", cuts=es.Cuts(at=0.5)), "logistic",
                           random_state=0)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scorer.fit(matrix(columns), y, sensitive_features=columns["sex"])
        path = scorer.path([np.inf, 0.3, 0.1])
    found = numbers(kept)
    assert [point["value"] for point in found["points"]] == [None, 0.3, 0.1]
    expected = [one.left_out_.auc.value for one in path]
    assert [point["auc"]["value"] for point in found["points"]] == pytest.approx(expected)


def test_what_is_gone_is_not_understood(table, tmp_path):
    output = ("-o", tmp_path / "m.skops")
    for gone in (("--test-fraction", "0"), ("--strength", "1"), ("--model", "plugin")):
        assert run("fit", table, *FIT, *gone, *output).exit_code == 2
