import gzip
import os
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from support.commands import numbers, numbers_of, people, read, refused, run, write, write_parquet

import evenscore as es

ASKED = ("--label", "repaid", "--score", "score", "--group", "sex", "--pos-label", "yes")


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "scores.csv", people())


def in_memory(columns, title, groups=("sex",), label="repaid", **options):
    """The same; classes are called after the column of labels, as after a file's."""
    return es.audit(
        pd.Series(columns["repaid"], name=label),
        columns["score"],
        sensitive_features={name: columns[name] for name in groups},
        pos_label="yes",
        title=title,
        **options,
    )


# ---------------------------------------------------------------------- what it says


@pytest.mark.slow
def test_the_numbers_are_those_of_an_audit_in_memory(table, tmp_path):
    result = run("audit", table, *ASKED, "--json", tmp_path / "a.json")
    assert result.exit_code == 0
    assert "Who is in the sample" in result.stdout
    assert result.stderr == ""
    expected = in_memory(people(), "scores.csv: score by sex")
    assert numbers(tmp_path / "a.json") == numbers_of(expected)


@pytest.mark.slow
def test_parquet_gives_the_same_numbers(table, tmp_path):
    parquet = write_parquet(tmp_path / "scores.parquet", people())
    for path in (table, parquet):
        options = ("--title", "t", "--json", f"{path}.json", "--quiet")
        assert run("audit", path, *ASKED, *options).output == ""
    assert numbers(tmp_path / "scores.csv.json") == numbers(tmp_path / "scores.parquet.json")


@pytest.mark.slow
def test_few_distinct_scores_are_counted_by_duckdb_and_nothing_changes(tmp_path):
    columns = people(2000)
    columns["score"] = [round(s * 4) / 4 for s in columns["score"]]
    parquet = write_parquet(tmp_path / "scores.parquet", columns)
    run("audit", parquet, *ASKED, "--title", "t", "--json", tmp_path / "a.json")
    assert numbers(tmp_path / "a.json") == numbers_of(in_memory(columns, "t"))


@pytest.mark.slow
def test_weights_and_several_groups(tmp_path):
    columns = people(900)
    columns["w"] = np.random.default_rng(1).gamma(2.0, size=900).tolist()
    columns["w"][5] = 0.0
    path = write(tmp_path / "scores.csv", columns)
    options = ("--weight", "w", "--group", "job", "--title", "t", "--tolerance", "0.1")
    asked = ("--roc-rates", "0.3", "--on", "negatives", "--constraint", "bnsp")
    run("audit", path, *ASKED, *options, *asked, "--json", tmp_path / "a.json")
    expected = in_memory(
        columns,
        "t",
        ("sex", "job"),
        sample_weight=columns["w"],
        tolerance=0.1,
        constraints=["bnsp", es.RocConstraint(on="negatives", rates=(0.3,))],
    )
    assert numbers(tmp_path / "a.json") == numbers_of(expected)


LOW = es.Cuts(thresholds=(0.5, -1.0), selected="low", inclusive=True)
CUTS = {
    "a range": (("--cuts", "everyone=0.1:0.4"), dict(cuts=es.Cuts(between=(0.1, 0.4)))),
    "thresholds": (
        ("--cuts", "thresholds=0.5,-1", "--select", "low", "--inclusive"),
        dict(cuts=LOW),
    ),
    "a rate of one's own": (
        ("--cuts", "negatives=0.2", "--equal", "fnr"),
        dict(
            cuts=es.Cuts(at=(0.2,), of="negatives"),
            constraints=[
                es.RateConstraint("fnr", cuts=es.Cuts(at=(0.2,), of="negatives")),
                *es.constraint_names(),
            ],
        ),
    ),
    "a notion alone": (("--constraint", "bnsp"), dict(constraints="bnsp")),
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
    "all three": (
        ("--constraint", "bnsp", "--equal", "fpr,precision", "--roc-rates", "0.25"),
        dict(
            constraints=[
                es.RateConstraint("fpr", "precision"), "bnsp", es.RocConstraint(rates=(0.25,)),
            ]
        ),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CUTS)
def test_cuts_and_what_should_be_equal_there(table, tmp_path, name):
    options, asked = CUTS[name]
    out = ("--title", "t", "--json", tmp_path / "a.json")
    told = run("audit", table, *ASKED, *options, *out)
    assert told.exit_code == 0, told.output
    assert numbers(tmp_path / "a.json") == numbers_of(in_memory(people(), "t", **asked))


@pytest.mark.slow
def test_the_terminal_leads_with_the_cuts(tmp_path):
    table = write(tmp_path / "scores.csv", people(3000, shift=1.5))
    told = run("audit", table, *ASKED, "--cuts", "everyone=0.1:0.4").stdout
    order = ["Is it fair where it will be used?", "Among people with repaid = no,",
             "Rates at the cuts in use, female and male: zero is even", "At the cuts in use",
             "Who is in the", "AUC gaps, female and male: zero is even"]  # fmt: skip
    places = [told.index(text) for text in order]
    assert places == sorted(places)
    assert "ROC gaps at a cut" not in told


@pytest.mark.slow
def test_without_a_label_selection_is_audited_alone(table, tmp_path):
    asked = ("--score", "score", "--group", "sex", "--cuts", "everyone=0.1:0.4")
    out = ("--title", "t", "--json", tmp_path / "a.json", "--html", tmp_path / "a.html")
    told = run("audit", table, *asked, *out)
    assert told.exit_code == 0, told.output
    assert "nothing can be said about errors" in " ".join(told.stdout.split())
    columns = people()
    expected = es.audit(
        None,
        columns["score"],
        sensitive_features={"sex": columns["sex"]},
        cuts=es.Cuts(between=(0.1, 0.4)),
        title="t",
    )
    assert numbers(tmp_path / "a.json") == numbers_of(expected)
    uneven = write(tmp_path / "uneven.csv", people(3000, shift=1.5))
    assert run("audit", uneven, *asked, "--equal", "selection", "--fail-on-gap").exit_code == 1
    assert "there is no --label" in refused("audit", table, *asked, "--pos-label", "yes")
    assert "fnr at cuts that select 10% to 40% of everyone needs outcomes" in refused(
        "audit", table, *asked, "--equal", "fnr"
    )
    assert "bnsp needs outcomes" in refused("audit", table, *asked, "--constraint", "bnsp")


def test_cuts_that_cannot_be_read(table):
    assert "Cuts are written as everyone=0.1:0.4" in refused("audit", table, *ASKED, "--cuts", "x")
    assert "There is no rate 'tpr'" in refused("audit", table, *ASKED, "--equal", "tpr")


@pytest.mark.slow
def test_selected_is_good_or_bad(table, tmp_path):
    path = tmp_path / "a.json"
    assert run("audit", table, *ASKED, "--selected-is", "bad", "--json", path).exit_code == 0
    assert numbers(path)["settings"]["words"]["selected_is"] == "bad"
    assert run("audit", table, *ASKED, "--selected-is", "nice").exit_code == 2


@pytest.mark.slow
def test_groups_that_are_numbers_come_in_their_order(tmp_path):
    columns = people(900)
    columns["sex"] = [str(8 + k % 3) for k in range(900)]
    run("audit", write(tmp_path / "scores.csv", columns), *ASKED, "--json", tmp_path / "a.json")
    assert numbers(tmp_path / "a.json")["sample"]["groups"] == ["8", "9", "10"]


def many_groups(n=2000):
    """People of three races, one of whom has few."""
    columns = people(n)
    columns["race"] = ["few" if k % 100 == 0 else ("x", "y")[k % 2] for k in range(n)]
    return columns


RACE = ("--label", "repaid", "--score", "score", "--group", "race", "--pos-label", "yes")


@pytest.mark.slow
def test_small_groups_and_reference_groups(tmp_path):
    path = write(tmp_path / "scores.csv", many_groups())
    for options, asked in (
        ((), {}),
        (("--min-group-size", "5"), {"min_group_size": 5}),
        (("--reference-group", "y"), {"reference_group": "y"}),
        (
            ("--reference-group", "all others", "--min-group-size", "2"),
            {"reference_group": es.ALL_OTHERS, "min_group_size": 2},
        ),
    ):
        out = ("--title", "t", "--json", tmp_path / "a.json")
        told = run("audit", path, *RACE, *options, *out)
        assert told.exit_code == 0
        expected = in_memory(many_groups(), "t", ("race",), **asked)
        assert numbers(tmp_path / "a.json") == numbers_of(expected)
        shown_apart = "Groups too small to be compared" in told.stdout
        assert shown_apart == ("min_group_size" not in asked)


def test_groups_that_cannot_be_compared(tmp_path):
    path = write(tmp_path / "scores.csv", many_groups())
    told = refused("audit", path, *RACE, "--min-group-size", "900")
    assert "A minimum of 900 people in each class" in told
    assert "the largest are y (" in told or "the largest are x (" in told
    told = refused("audit", path, *RACE, "--reference-group", "few")
    assert told.startswith("The reference group few has ")
    told = refused("audit", path, *RACE, "--reference-group", "z")
    assert told == "There is no group 'z' to be the reference; the groups are few, x, y."
    assert "min_group_size must be" in refused("audit", path, *RACE, "--min-group-size", "0")


@pytest.mark.slow
def test_numbers_as_groups_are_told_which_bands_to_compare(tmp_path):
    columns = people(3000)
    columns["race"] = [18 + k % 50 for k in range(3000)]
    told = run("audit", write(tmp_path / "ages.csv", columns), *RACE).stdout
    assert "The groups are 50 different numbers from 18 to 67" in told
    columns["race"] = [k % 300 for k in range(3000)]
    for path in (
        write(tmp_path / "income.csv", columns),
        write_parquet(tmp_path / "income.parquet", columns),
    ):
        assert refused("audit", path, *RACE).endswith(
            "has 300 groups, and at most 100 can be compared: is it an identifier? Otherwise "
            "compare bands, such as under 50, 50 to 149, 150 to 199, 200 and over."
        )
    columns["race"] = [f"p{k}" if k else "7" for k in range(3000)]
    told = refused("audit", write(tmp_path / "ids.csv", columns), *RACE)
    assert told.endswith("Otherwise merge groups into larger ones.")


@pytest.mark.slow
def test_html_is_written(table, tmp_path):
    pytest.importorskip("evenscore.showing.report")
    result = run("audit", table, *ASKED, "--html", tmp_path / "report.html")
    assert result.exit_code == 0
    assert (tmp_path / "report.html").read_text(encoding="utf-8").lstrip().startswith("<!")
    assert "report.html" in result.stdout


# ---------------------------------------------------------------------- exit codes


@pytest.mark.slow
def test_fail_on_gap(table, tmp_path):
    result = run("audit", table, *ASKED, "--fail-on-gap", "--quiet")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "gaps lie beyond 0.05, with 95% confidence over all of them" in result.stderr
    assert run("audit", table, *ASKED, "--fail-on-gap", "--tolerance", "0.49").exit_code == 0
    even = write(tmp_path / "even.csv", people(shift=0.0))
    assert run("audit", even, *ASKED, "--fail-on-gap", "--quiet").exit_code == 0


@pytest.mark.slow
def test_gaps_that_cannot_be_checked_are_counted_with_the_reason(table):
    asked = (*ASKED, "--equal", "fpr", "--fail-on-gap", "--quiet", "--tolerance", "0.49")
    result = run("audit", table, *asked, "--cuts", "thresholds=0.5,99")
    assert result.exit_code == 0
    assert result.stderr == (
        "1 of 10 gaps could not be checked (fpr_gap has no value: the cut 99 selects nobody or "
        "everybody).\n"
    )


def test_an_even_score_of_two_levels_does_not_fail(tmp_path):
    columns = people(shift=0.0)
    columns["score"] = [float(score > 0.5) for score in columns["score"]]
    even = write(tmp_path / "coarse.csv", columns)
    assert run("audit", even, *ASKED, "--fail-on-gap", "--quiet").exit_code == 0


@pytest.mark.slow
def test_a_real_process(table, tmp_path):
    command = [sys.executable, "-m", "evenscore.cli", "audit", str(table), *ASKED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "inter_group" in done.stdout
    assert done.stderr == ""
    wrong = [("scroe" if part == "score" else part) for part in command]
    done = subprocess.run(wrong, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "scores.csv has no column 'scroe' (did you mean 'score'?); it has 'repaid', 'score', "
        "'sex', 'age', 'income', 'job'.\n"
        f"Try: evenscore {shlex.join(command[3:])}\n"
    )


@pytest.mark.slow
def test_a_pipe_is_refused(table):
    command = [sys.executable, "-m", "evenscore.cli", "audit", "/dev/stdin", *ASKED]
    text = table.read_text()
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "/dev/stdin is not an ordinary file: save its content to one first.\n"


@pytest.mark.slow
def test_a_terminal_that_knows_few_characters_is_no_obstacle(tmp_path):
    columns = people()
    columns["sex"] = ["♀" if s == "female" else "♂" for s in columns["sex"]]
    path = write(tmp_path / "scores.csv", columns)
    command = [sys.executable, "-m", "evenscore.cli", "audit", str(path), *ASKED]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------------- files as they come


@pytest.mark.slow
def test_byte_order_mark_semicolons_quotes_and_windows_line_ends(tmp_path):
    columns = people()
    columns["a;b"] = ['he said "no"; or\nnot'] * 600
    plain = write(tmp_path / "plain.csv", columns, delimiter=";", lineterminator="\r\n")
    odd = tmp_path / "odd.csv"
    odd.write_bytes(b"\xef\xbb\xbf" + plain.read_bytes())
    run("audit", odd, *ASKED, "--title", "t", "--json", tmp_path / "a.json")
    assert numbers(tmp_path / "a.json") == numbers_of(in_memory(columns, "t"))


@pytest.mark.slow
def test_gzip(table, tmp_path):
    packed = tmp_path / "scores.csv.gz"
    packed.write_bytes(gzip.compress(table.read_bytes()))
    run("audit", packed, *ASKED, "--title", "t", "--json", tmp_path / "a.json")
    assert numbers(tmp_path / "a.json") == numbers_of(in_memory(people(), "t"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_names_that_look_like_sql_or_patterns(tmp_path, kind):
    columns = people()
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
    result = run("audit", path, *asked, "--title", "t", "--json", tmp_path / "a.json")
    assert result.exit_code == 0, result.output
    assert numbers(tmp_path / "a.json") == numbers_of(in_memory(columns, "t", label=y))


def test_drop_missing_says_how_many(tmp_path):
    columns = people()
    columns["sex"][3], columns["repaid"][10], columns["score"][11] = "", " ", "NA"
    path = write(tmp_path / "scores.csv", columns)
    assert "missing at row 12 below" in refused("audit", path, *ASKED)
    result = run("audit", path, *ASKED, "--drop-missing", "--json", tmp_path / "a.json")
    assert "3 of 600 rows lack a value" in result.stdout
    kept = [k for k in range(600) if k not in (3, 10, 11)]
    truth = roc_auc_score(
        [columns["repaid"][k] == "yes" for k in kept], [columns["score"][k] for k in kept]
    )
    assert numbers(tmp_path / "a.json")["blocks"]["ranking"]["auc"]["value"] == pytest.approx(
        truth, abs=1e-12
    )
    assert numbers(tmp_path / "a.json")["sample"]["n"] == 597


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "positive"),
    [
        (("0", "1"), ()),
        (("-1", "1"), ()),
        (("0.0", "1.0"), ()),
        (("false", "true"), ()),
        (("False", "True"), ("--pos-label", "true")),
        (("1", "2"), ("--pos-label", "2.0")),
        ((" bad", "good "), ("--pos-label", "good")),
    ],
)
def test_labels_by_what_they_mean(tmp_path, values, positive):
    columns = people()
    truth = in_memory(columns, "t").auc.value
    columns["repaid"] = [values[told == "yes"] for told in columns["repaid"]]
    path = write(tmp_path / "scores.csv", columns)
    run("audit", path, *ASKED[:6], *positive, "--json", tmp_path / "a.json")
    assert numbers(tmp_path / "a.json")["blocks"]["ranking"]["auc"]["value"] == truth


@pytest.mark.slow
def test_boolean_and_integer_columns_of_parquet(tmp_path):
    columns = people()
    truth = in_memory(columns, "t").auc.value
    columns["repaid"] = [told == "yes" for told in columns["repaid"]]
    columns["sex"] = [int(told == "male") for told in columns["sex"]]
    path = write_parquet(tmp_path / "scores.parquet", columns)
    run("audit", path, *ASKED[:6], "--json", tmp_path / "a.json")
    assert numbers(tmp_path / "a.json")["blocks"]["ranking"]["auc"]["value"] == truth
    assert numbers(tmp_path / "a.json")["sample"]["groups"] == ["0", "1"]


# ---------------------------------------------------------------------- refusals


def changed(tmp_path, column, value, row=4):
    columns = people()
    columns[column][row] = value
    return write(tmp_path / "scores.csv", columns)


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("score", "", "Column 'score' of scores.csv is missing at row 5 below the header;"),
        ("score", "nan", "Column 'score' of scores.csv is missing at row 5 below the header;"),
        ("score", "inf", "Column 'score' of scores.csv is infinite at row 5 below the header;"),
        ("score", "1e999", "Column 'score' of scores.csv is infinite at row 5"),
        ("score", "high", "must hold numbers, but it is 'high' at row 5 below the header."),
        (
            "score",
            "0,5",
            "has decimal commas in some rows and decimal points in others: it is "
            "'0,5' at row 5 below the header, and '",
        ),
        ("sex", "", "Column 'sex' of scores.csv is missing at row 5 below the header;"),
        ("repaid", "", "Column 'repaid' of scores.csv is missing at row 5 below the header;"),
        ("repaid", "maybe", "must have two labels, but it has 'maybe', 'no', 'yes'."),
    ],
)
def test_a_cell_that_does_not_fit_is_named(tmp_path, column, value, told):
    assert told in refused("audit", changed(tmp_path, column, value), *ASKED)


def test_several_bad_cells_are_counted(tmp_path):
    columns = people()
    columns["score"][7] = columns["score"][9] = "x" * 100
    told = refused("audit", write(tmp_path / "scores.csv", columns), *ASKED)
    assert "at row 8 below the header (2 such rows in all)" in told
    assert len(told) < 200


def test_one_group_many_groups_no_rows(tmp_path):
    columns = people()
    columns["sex"] = ["female"] * 600
    told = refused("audit", write(tmp_path / "scores.csv", columns), *ASKED)
    assert told.startswith("scores.csv has only the group 'female' in 'sex': there is no other")
    n = 100_000
    many = {
        "repaid": ["yes", "no"] * (n // 2),
        "score": range(n),
        "sex": [f"g{k}" for k in range(n)],
    }
    told = refused("audit", write(tmp_path / "scores.csv", many), *ASKED)
    assert "Column 'sex' of scores.csv has 100,000 groups" in told
    assert "is it an identifier" in told
    (tmp_path / "scores.csv").write_text("repaid,score,sex\n")
    told = refused("audit", tmp_path / "scores.csv", *ASKED)
    assert told == "scores.csv has a header but no rows."


def test_labels_left_to_guess(table):
    told = refused("audit", table, *ASKED[:6])
    assert "has 'no', 'yes': say which is positive with --pos-label." in told
    told = refused("audit", table, *ASKED[:6], "--pos-label", "maybe")
    assert "but not the label 'maybe' of --pos-label." in told


def test_one_class(tmp_path):
    columns = people()
    columns["repaid"] = ["yes"] * 600
    told = refused("audit", write(tmp_path / "scores.csv", columns), *ASKED)
    assert "has the label 'yes' only" in told


def test_columns_in_two_roles(table):
    told = refused("audit", table, *ASKED, "--weight", "score")
    assert told == "Column 'score' is given as --score and --weight."
    assert "--group twice" in refused("audit", table, *ASKED, "--group", "sex")


def test_two_columns_of_one_name(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("repaid,score,sex,score\nyes,1,f,2\nno,2,m,3\n")
    told = "scores.csv has 2 columns called 'score', and they differ: say which one you mean, "
    assert refused("audit", path, *ASKED) == f"{told}'score#1' or 'score#2'."


def test_negative_weights(tmp_path):
    columns = people()
    columns["w"] = [1.0] * 599 + [-1.0]
    told = refused("audit", write(tmp_path / "scores.csv", columns), *ASKED, "--weight", "w")
    assert "Column 'w' of scores.csv is '-1.0' at row 600 below the header" in told


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "scores.csv is empty: not even a header is in it."),
        (b"\n\n", "The first line of scores.csv is empty: its header must be there."),
        (b"\xff\xfeh\x00i\x00\x00", "scores.csv is neither UTF-8 nor UTF-16 text: save it as"),
        (b"repaid,score,sex\nyes,1,\x81\n", "scores.csv is neither UTF-8 nor Windows-1252 text"),
        (b"PK\x03\x04rest", "scores.csv is a spreadsheet or a zip archive: export it as CSV or"),
        (b"\xd0\xcf\x11\xe0rest", "scores.csv is a spreadsheet or a zip archive: export it as"),
        (b"PAR1 not really", "scores.csv cannot be read: "),
        (b"\x1f\x8bnot gzip", "The header of scores.csv cannot be read: "),
        (b"repaid,score,sex\nyes,1\n", "scores.csv has 2 values on line 2, but 3 in its header."),
        (b'repaid,score,sex\nyes,1,"f\nno,2,m\n', "scores.csv has a quote on line 2 that is never"),
        (b"repaid,score,sex\nyes,1,f\r\nno,2,m\n", "scores.csv is not a proper CSV file"),
    ],
)  # fmt: skip
def test_files_that_are_no_tables(tmp_path, content, told):
    path = tmp_path / "scores.csv"
    path.write_bytes(content)
    assert refused("audit", path, *ASKED).startswith(told)


def test_a_group_with_a_name_of_a_megabyte_is_refused_at_once(tmp_path, table):
    long = tmp_path / "long.csv"
    long.write_text(table.read_text().replace(",female,", f",{'x' * 1_000_000},", 1))
    for options in (("--quiet",), ("--html", tmp_path / "a.html"), ("--json", tmp_path / "a.json")):
        told = refused("audit", long, *ASKED, *options)
        assert told.startswith("Column 'sex' of long.csv holds a text of more than 1,000 charact")
        assert len(told) < 200


def test_paths_that_are_no_files(tmp_path, table):
    assert refused("audit", tmp_path / "no.csv", *ASKED).startswith("There is no file ")
    assert refused("audit", tmp_path, *ASKED).endswith("is a folder without Parquet files.")
    assert "would be written over" in refused("audit", table, *ASKED, "--json", table)
    assert "is a folder" in refused("audit", table, *ASKED, "--html", tmp_path)
    for device in ("/dev/null", "/dev/stdout"):
        told = refused("audit", table, *ASKED, "--json", device)
        assert told.startswith(f"{device} is not an ordinary file")
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    assert "would be written over" in refused("audit", table, *ASKED, "--json", link)
    both = ("--json", tmp_path / "a", "--html", tmp_path / "a")
    assert "would be written over" in refused("audit", table, *ASKED, *both)
    assert "cannot be written" in refused("audit", table, *ASKED, "--json", table / "a.json")


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--roc-rates", "a,b", "--roc-rates must be numbers such as 0.125,0.25, not 'a,b'."),
        ("--roc-rates", "2", "rates must lie strictly between 0 and 1"),
        ("--roc-rates", "0:0.2:0.4", "or an interval such as 0:0.25, not '0:0.2:0.4'."),
        ("--roc-rates", "0.4:0.2", "An interval of rates is two numbers with 0 ≤ low < high ≤ 1"),
        ("--constraint", "H0,G0 = H1", "are written as H0,G0 = H1,G1"),
        ("--constraint", "H0,G0 = G0,G1", "This is an unfairness constraint"),
        ("--cuts", "everyone=0:0.4", "between must be two shares"),
        (
            "--tolerance",
            "1e-200",
            "tolerance is 1e-200, and less than 1e-09 cannot be told from 0.",
        ),
        ("--confidence-level", "1e-300", "confidence_level is 1e-300, and less than 1e-09 cannot"),
        ("--title", "\udcff", r"'\udcff' is not UTF-8 text: name it otherwise."),
        ("--group", "a\udcff", r"'a\udcff' is not UTF-8 text: name it otherwise."),
        ("--html", "\udcff.html", r"'\udcff.html' is not UTF-8 text: name it otherwise."),
        ("--tolerance", "0.7", "tolerance must lie strictly between 0 and 0.5, not 0.7."),
        ("--confidence-level", "2", "confidence_level"),
        ("--cuts", "thresholds=nan", "thresholds must be one or several finite numbers"),
        ("--seed", "-1", "random_state must be a whole number"),
    ],
)
def test_options_that_make_no_sense(table, option, value, told):
    assert told in refused("audit", table, *ASKED, option, value)


def test_nothing_is_half_written(table, tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device", "a.json")

    monkeypatch.setattr(os, "replace", fail)
    told = refused("audit", table, *ASKED, "--json", tmp_path / "a.json", "--quiet")
    assert str(tmp_path / "a.json") in told
    assert "No space left" in told
    assert (tmp_path / "a.json").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "scores.csv"]


def test_the_input_is_not_touched(table):
    before = table.read_bytes()
    run("audit", table, *ASKED)
    assert table.read_bytes() == before
    assert set(read(table)) == set(people())
