"""`evenscore audit`: the numbers of an audit in memory, the codes it ends with, what it refuses."""

import gzip
import os
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from support.commands import numbers, numbers_of, people, refused, run, write, write_parquet

import evenscore as es

ASKED = ("--label", "repaid", "--score", "score", "--group", "sex", "--pos-label", "yes")
ONE = (*ASKED, "--constraint", "bnsp")
N = 200


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "scores.csv", people(N))


def in_memory(columns, title="t", groups=("sex",), label="repaid", **options):
    """The same; classes are called after the column of labels, as after a file's."""
    return es.audit(
        pd.Series(columns["repaid"], name=label),
        columns["score"],
        sensitive_features={name: columns[name] for name in groups},
        pos_label="yes",
        title=title,
        **options,
    )


def assert_same(path, command, columns, **options):
    """What the command writes is what Python gives."""
    out = path.with_name("audit.json")
    told = run("audit", path, *command, "--title", "t", "--json", out)
    assert told.exit_code == 0, told.output
    assert numbers(out) == numbers_of(in_memory(columns, **options))
    return told.stdout


# ---------------------------------------------------------------------- what it says


@pytest.mark.slow
def test_csv_and_parquet_give_the_numbers_of_an_audit_in_memory(table, tmp_path):
    before = table.read_bytes()
    result = run("audit", table, *ASKED, "--json", tmp_path / "a.json")
    assert result.exit_code == 0
    assert "Who is in the sample" in result.stdout
    assert result.stderr == ""
    assert numbers(tmp_path / "a.json") == numbers_of(
        in_memory(people(N), "scores.csv: score by sex")
    )
    assert table.read_bytes() == before
    parquet = write_parquet(tmp_path / "scores.parquet", people(N))
    out = ("--title", "scores.csv: score by sex", "--json", tmp_path / "b.json", "--quiet")
    assert run("audit", parquet, *ASKED, *out).output == ""
    assert numbers(tmp_path / "b.json") == numbers(tmp_path / "a.json")


def test_few_distinct_scores_are_counted_by_duckdb_and_nothing_changes(tmp_path):
    columns = people(N)
    columns["score"] = [round(s * 4) / 4 for s in columns["score"]]
    path = write_parquet(tmp_path / "scores.parquet", columns)
    assert_same(path, ONE, columns, constraints="bnsp")


@pytest.mark.slow
def test_weights_and_several_groups(tmp_path):
    columns = people(300)
    columns["w"] = np.random.default_rng(1).gamma(2.0, size=300).tolist()
    columns["w"][5] = 0.0
    path = write(tmp_path / "scores.csv", columns)
    options = ("--weight", "w", "--group", "job", "--tolerance", "0.1")
    asked = ("--roc-rates", "0.3", "--on", "negatives", "--constraint", "bnsp")
    assert_same(
        path,
        (*ASKED, *options, *asked),
        columns,
        groups=("sex", "job"),
        sample_weight=columns["w"],
        tolerance=0.1,
        constraints=["bnsp", es.RocConstraint(on="negatives", rates=(0.3,))],
    )


LOW = es.Cuts(thresholds=(0.5, -1.0), selected="low", inclusive=True)
AT = es.Cuts(at=(0.2,), of="negatives")
CUTS = {
    "a range": (("--cuts", "everyone=0.1:0.4"), dict(cuts=es.Cuts(between=(0.1, 0.4)))),
    "thresholds": (
        ("--cuts", "thresholds=0.5,-1", "--select", "low", "--inclusive"),
        dict(cuts=LOW),
    ),
    "a rate of one's own": (
        ("--cuts", "negatives=0.2", "--equal", "fnr"),
        dict(cuts=AT, constraints=[es.RateConstraint("fnr", cuts=AT), *es.constraint_names()]),
    ),
    "mixtures and an interval of rates": (
        ("--constraint", "H0,G0 = H1,G1", "--roc-rates", "0:0.25", "--on", "positives"),
        dict(
            constraints=[
                es.AucConstraint.parse("H0,G0 = H1,G1"),
                es.RocConstraint(on="positives", interval=(0, 0.25)),
            ]
        ),
    ),
    "a notion at cuts": (
        ("--constraint", "bnsp", "--cuts", "everyone=0.1:0.4"),
        dict(constraints="bnsp", cuts=es.Cuts(between=(0.1, 0.4))),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CUTS)
def test_cuts_and_what_should_be_equal_there(table, name):
    options, asked = CUTS[name]
    assert_same(table, (*ASKED, *options), people(N), **asked)


def test_the_terminal_leads_with_the_cuts(tmp_path):
    table = write(tmp_path / "scores.csv", people(1000, shift=1.5))
    told = run("audit", table, *ASKED, "--cuts", "everyone=0.1:0.4").stdout
    order = ["Is it fair", "repaid = no", "Rates at the cuts in use", "Who is in the", "AUC gaps"]
    places = [told.index(text) for text in order]
    assert places == sorted(places)
    assert "ROC gaps at a cut" not in told


@pytest.mark.slow
def test_without_a_label_selection_is_audited_alone(table, tmp_path):
    asked = ("--score", "score", "--group", "sex", "--cuts", "everyone=0.1:0.4")
    out = ("--title", "t", "--json", tmp_path / "a.json", "--html", tmp_path / "a.html")
    told = run("audit", table, *asked, *out)
    assert told.exit_code == 0, told.output
    assert (tmp_path / "a.html").read_text(encoding="utf-8").lstrip().startswith("<!")
    assert "a.html" in told.stdout
    columns = people(N)
    groups, cuts = {"sex": columns["sex"]}, es.Cuts(between=(0.1, 0.4))
    expected = es.audit(None, columns["score"], sensitive_features=groups, cuts=cuts, title="t")
    assert numbers(tmp_path / "a.json") == numbers_of(expected)
    uneven = write(tmp_path / "uneven.csv", people(3000, shift=1.5))
    assert run("audit", uneven, *asked, "--equal", "selection", "--fail-on-gap").exit_code == 1
    assert "--label" in refused("audit", table, *asked, "--pos-label", "yes")
    assert "fnr" in refused("audit", table, *asked, "--equal", "fnr")
    assert "bnsp" in refused("audit", table, *asked, "--constraint", "bnsp")


def test_words_and_groups_that_are_numbers(tmp_path):
    columns = people(N)
    columns["sex"] = [str(8 + k % 3) for k in range(N)]
    path, out = write(tmp_path / "scores.csv", columns), tmp_path / "a.json"
    assert run("audit", path, *ONE, "--selected-is", "bad", "--json", out).exit_code == 0
    assert numbers(out)["settings"]["words"]["selected_is"] == "bad"
    assert numbers(out)["sample"]["groups"] == ["8", "9", "10"]
    assert run("audit", path, *ONE, "--selected-is", "nice").exit_code == 2


def many_groups(n=400):
    """People of three races, one of whom has few."""
    columns = people(n)
    columns["race"] = ["few" if k % 50 < 2 else ("x", "y")[k % 2] for k in range(n)]
    return columns


RACE = ("--label", "repaid", "--score", "score", "--group", "race", "--pos-label", "yes")


def test_small_groups_and_reference_groups(tmp_path):
    path = write(tmp_path / "scores.csv", many_groups())
    for options, asked in (
        ((), {}),
        (("--reference-group", "y"), {"reference_group": "y"}),
        (
            ("--reference-group", "all others", "--min-group-size", "2"),
            {"reference_group": es.ALL_OTHERS, "min_group_size": 2},
        ),
    ):
        command = (*RACE, *options, "--constraint", "bnsp")
        same = dict(groups=("race",), constraints="bnsp", **asked)
        told = assert_same(path, command, many_groups(), **same)
        assert ("Groups too small" in told) == ("min_group_size" not in asked)


def test_groups_that_cannot_be_compared(tmp_path):
    path = write(tmp_path / "scores.csv", many_groups())
    assert "900" in refused("audit", path, *RACE, "--min-group-size", "900")
    assert "few" in refused("audit", path, *RACE, "--reference-group", "few")
    told = refused("audit", path, *RACE, "--reference-group", "z")
    assert "'z'" in told
    assert "few, x, y" in told
    assert "min_group_size" in refused("audit", path, *RACE, "--min-group-size", "0")


def test_numbers_as_groups_are_told_which_bands_to_compare(tmp_path):
    columns = people(600)
    columns["race"] = [k % 300 for k in range(600)]
    for path in (
        write(tmp_path / "income.csv", columns),
        write_parquet(tmp_path / "income.parquet", columns),
    ):
        told = refused("audit", path, *RACE)
        assert "300 groups" in told
        assert "under 50, 50 to 149, 150 to 199, 200 and over" in told
    columns["race"] = [f"p{k}" if k else "7" for k in range(600)]
    told = refused("audit", write(tmp_path / "ids.csv", columns), *RACE)
    assert "600 groups" in told
    assert "bands" not in told


# ---------------------------------------------------------------------- exit codes


@pytest.mark.slow
def test_fail_on_gap(tmp_path):
    table = write(tmp_path / "scores.csv", people(1000, shift=1.0))
    asked = ("--fail-on-gap", "--quiet")
    result = run("audit", table, *ASKED, *asked)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "beyond 0.05" in result.stderr
    assert run("audit", table, *ONE, *asked, "--tolerance", "0.49").exit_code == 0
    even = people(N, shift=0.0)
    even["score"] = [float(score > 0.5) for score in even["score"]]
    assert run("audit", write(tmp_path / "coarse.csv", even), *ASKED, *asked).exit_code == 0


def test_gaps_that_cannot_be_checked_are_counted_with_the_reason(table):
    asked = (*ASKED, "--equal", "fpr", "--fail-on-gap", "--quiet", "--tolerance", "0.49")
    result = run("audit", table, *asked, "--cuts", "thresholds=0.5,99")
    assert result.exit_code == 0
    assert result.stderr.startswith("1 of 10 gaps")
    assert "the cut 99" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_real_process(tmp_path):
    """Whose terminal knows few characters."""
    columns = people(N)
    columns["sex"] = ["♀" if s == "female" else "♂" for s in columns["sex"]]
    path = write(tmp_path / "scores.csv", columns)
    command = [sys.executable, "-m", "evenscore.cli", "audit", str(path), *ASKED]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert b"inter_group" in done.stdout
    assert done.stderr == b""


def test_a_mistyped_column_is_advised(table):
    wrong = [("scroe" if part == "score" else part) for part in ASKED]
    told, advised = run("audit", table, *wrong).stderr.splitlines()
    assert "'scroe'" in told
    assert "'score'" in told
    assert shlex.split(advised)[1:] == ["evenscore", "audit", str(table), *ASKED]


@pytest.mark.slow
def test_a_pipe_is_refused(table):
    command = [sys.executable, "-m", "evenscore.cli", "audit", "/dev/stdin", *ASKED]
    text = table.read_text()
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("/dev/stdin ")
    assert done.stderr.count("\n") == 1


# ---------------------------------------------------------------------- files as they come


@pytest.mark.slow
def test_byte_order_mark_semicolons_quotes_windows_line_ends_and_gzip(tmp_path):
    columns = people(N)
    columns["a;b"] = ['he said "no"; or\nnot'] * N
    plain = write(tmp_path / "plain.csv", columns, delimiter=";", lineterminator="\r\n")
    content = b"\xef\xbb\xbf" + plain.read_bytes()
    for name, kept in (("odd.csv", content), ("odd.csv.gz", gzip.compress(content))):
        (tmp_path / name).write_bytes(kept)
        assert_same(tmp_path / name, ONE, columns, constraints="bnsp")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_names_that_look_like_sql_or_patterns(tmp_path, kind):
    columns = people(N)
    odd = {
        'y"; DROP TABLE rows; --': columns["repaid"],
        "s'core": columns["score"],
        "<script>*?": columns["sex"],
        "c0": columns["job"],
    }
    folder = tmp_path / "a=1" / "it's [odd]*"
    folder.mkdir(parents=True)
    path = folder / f"x'; SELECT 1; --?.{kind}"
    (write if kind == "csv" else write_parquet)(path, odd)
    (folder / f"x'; SELECT 1; --!.{kind}").write_text("another file that the pattern matches")
    y, s, g, _ = odd
    asked = ("--label", y, "--score", s, "--group", g, "--pos-label", "yes")
    assert_same(path, (*asked, "--constraint", "bnsp"), columns, label=y, constraints="bnsp")


def test_drop_missing_says_how_many(tmp_path):
    columns = people(N)
    columns["sex"][3], columns["repaid"][10], columns["score"][11] = "", " ", "NA"
    path = write(tmp_path / "scores.csv", columns)
    assert "row 12 " in refused("audit", path, *ASKED)
    result = run("audit", path, *ONE, "--drop-missing", "--json", tmp_path / "a.json")
    assert "3 of 200 rows" in result.stdout
    kept = [k for k in range(N) if k not in (3, 10, 11)]
    truth = roc_auc_score(
        [columns["repaid"][k] == "yes" for k in kept], [columns["score"][k] for k in kept]
    )
    found = numbers(tmp_path / "a.json")
    assert found["blocks"]["ranking"]["auc"]["value"] == pytest.approx(truth, abs=1e-12)
    assert found["sample"]["n"] == 197


@pytest.mark.parametrize(
    ("values", "positive"),
    [
        (("-1", "1"), ()),
        (("0.0", "1.0"), ()),
        (("False", "True"), ("--pos-label", "true")),
        (("1", "2"), ("--pos-label", "2.0")),
        ((" bad", "good "), ("--pos-label", "good")),
        ((False, True), ()),  # of Parquet
    ],
)
def test_labels_by_what_they_mean(tmp_path, values, positive):
    columns = people(N)
    truth = roc_auc_score([told == "yes" for told in columns["repaid"]], columns["score"])
    columns["repaid"] = [values[told == "yes"] for told in columns["repaid"]]
    columns["sex"] = [int(told == "male") for told in columns["sex"]]
    kind = write_parquet if isinstance(values[0], bool) else write
    path = kind(tmp_path / "scores.table", columns)
    asked = (*ASKED[:6], *positive, "--constraint", "bnsp")
    run("audit", path, *asked, "--json", tmp_path / "a.json", "--quiet")
    found = numbers(tmp_path / "a.json")
    assert found["blocks"]["ranking"]["auc"]["value"] == pytest.approx(truth, abs=1e-12)
    assert found["sample"]["groups"] == ["0", "1"]


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("score", "", ("missing", "row 5 ")),
        ("score", "nan", ("missing", "row 5 ")),
        ("score", "1e999", ("infinite", "row 5 ")),
        ("score", "high", ("'high'", "row 5 ")),
        ("score", "0,5", ("'0,5'", "row 5 ")),
        ("sex", "", ("missing", "row 5 ")),
        ("repaid", "", ("missing", "row 5 ")),
        ("repaid", "maybe", ("'maybe', 'no', 'yes'",)),
    ],
)
def test_a_cell_that_does_not_fit_is_named(tmp_path, column, value, told):
    columns = people(20)
    columns[column][4] = value
    sentence = refused("audit", write(tmp_path / "scores.csv", columns), *ASKED)
    assert sentence.startswith(f"Column '{column}' of scores.csv ")
    assert all(part in sentence for part in told)


@pytest.mark.slow
def test_columns_that_cannot_be_audited(tmp_path):
    def told(columns, *options):
        return refused("audit", write(tmp_path / "scores.csv", columns), *ASKED, *options)

    columns = people(20)
    columns["score"][7] = columns["score"][9] = "x" * 100
    assert "row 8 " in told(columns)
    assert "2 such rows" in told(columns)
    assert len(told(columns)) < 200
    assert "'female'" in told({**people(20), "sex": ["female"] * 20})
    ids = {"repaid": ["yes", "no"] * 5000, "score": range(10_000), "sex": range(10_000)}
    assert "10,000 groups" in told(ids)
    assert "'yes'" in told({**people(20), "repaid": ["yes"] * 20})
    weighed = told({**people(20), "w": [1.0] * 19 + [-1.0]}, "--weight", "w")
    assert "'w' of scores.csv is '-1.0' at" in weighed
    assert "no rows" in told({name: [] for name in people(20)})


def test_roles_and_labels(table, tmp_path):
    assert "--pos-label" in refused("audit", table, *ASKED[:6])
    assert "'maybe'" in refused("audit", table, *ASKED[:6], "--pos-label", "maybe")
    assert "--score and --weight" in refused("audit", table, *ASKED, "--weight", "score")
    assert "--group twice" in refused("audit", table, *ASKED, "--group", "sex")
    path = tmp_path / "twice.csv"
    path.write_text("repaid,score,sex,score\nyes,1,f,2\nno,2,m,3\n")
    assert "'score#1' or 'score#2'" in refused("audit", path, *ASKED)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "empty"),
        (b"\n\n", "first line"),
        (b"\xff\xfeh\x00i\x00\x00", "UTF-16"),
        (b"repaid,score,sex\nyes,1,\x81\n", "Windows-1252"),
        (b"PK\x03\x04rest", "spreadsheet"),
        (b"PAR1 not really", "cannot be read"),
        (b"\x1f\x8bnot gzip", "cannot be read"),
        (b"repaid,score,sex\nyes,1\n", "2 values on line 2"),
        (b'repaid,score,sex\nyes,1,"f\nno,2,m\n', "quote on line 2"),
        (b"repaid,score,sex\nyes,1,f\r\nno,2,m\n", "CSV"),
    ],
)
def test_files_that_are_no_tables(tmp_path, content, told):
    path = tmp_path / "scores.csv"
    path.write_bytes(content)
    sentence = refused("audit", path, *ASKED)
    assert "scores.csv" in sentence
    assert told in sentence


def test_a_group_with_a_name_of_a_megabyte_is_refused_at_once(tmp_path, table):
    long = tmp_path / "long.csv"
    long.write_text(table.read_text().replace(",female,", f",{'x' * 1_000_000},", 1))
    told = refused("audit", long, *ASKED, "--html", tmp_path / "a.html")
    assert told.startswith("Column 'sex' of long.csv ")
    assert "1,000" in told
    assert len(told) < 200


def test_paths_that_are_no_files(tmp_path, table):
    assert "no.csv" in refused("audit", tmp_path / "no.csv", *ASKED)
    assert "is a folder" in refused("audit", tmp_path, *ASKED)
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    for target in (table, link):
        assert "written over" in refused("audit", table, *ASKED, "--json", target)
    both = ("--json", tmp_path / "a", "--html", tmp_path / "a")
    assert "written over" in refused("audit", table, *ASKED, *both)
    assert "is a folder" in refused("audit", table, *ASKED, "--html", tmp_path)
    assert "/dev/null" in refused("audit", table, *ASKED, "--json", "/dev/null")
    assert "cannot be written" in refused("audit", table, *ASKED, "--json", table / "a.json")


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--roc-rates", "a,b", "'a,b'"),
        ("--roc-rates", "2", "rates"),
        ("--roc-rates", "0:0.2:0.4", "'0:0.2:0.4'"),
        ("--roc-rates", "0.4:0.2", "low < high"),
        ("--constraint", "H0,G0 = H1", "H0,G0 = H1,G1"),
        ("--constraint", "H0,G0 = G0,G1", "unfairness"),
        ("--cuts", "everyone=0:0.4", "between"),
        ("--cuts", "x", "everyone=0.1:0.4"),
        ("--cuts", "thresholds=nan", "thresholds"),
        ("--equal", "tpr", "'tpr'"),
        ("--tolerance", "1e-200", "tolerance is 1e-200"),
        ("--tolerance", "0.7", "0.7"),
        ("--confidence-level", "2", "confidence_level"),
        ("--title", "\udcff", r"'\udcff'"),
        ("--html", "\udcff.html", r"'\udcff.html'"),
        ("--seed", "-1", "random_state"),
    ],
)
def test_options_that_make_no_sense(table, option, value, told):
    assert told in refused("audit", table, *ASKED, option, value)


def test_nothing_is_half_written(table, tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text("old")

    def fail(part, _):
        raise OSError(28, "No space left on device", str(part))

    monkeypatch.setattr(os, "replace", fail)
    told = refused("audit", table, *ONE, "--json", tmp_path / "a.json", "--quiet")
    assert str(tmp_path / "a.json") in told
    assert (tmp_path / "a.json").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "scores.csv"]
