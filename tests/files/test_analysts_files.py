"""Files as analysts have them: each goes in with exactly the numbers of the clean file, or is
refused in one sentence, and then the commands that the refusal advises are run."""

import csv
import gzip
import io

import numpy as np
import pytest
from support.commands import advised, people, read, run, write

from evenscore.files.features import read_features, read_training
from evenscore.files.opening import open_table
from evenscore.files.scored import read_scores

N = 120
ASKED = ("--label", "repaid", "--pos-label", "yes", "--score", "score", "--group", "sex")
FIT = (*ASKED[:4], *ASKED[6:], "--constraint", "inter_group", "--tolerance", "0.2")
QUICK = ("--model", "linear", "--quiet")


def clean():
    """Columns of numbers as they are: scores with two decimals, incomes above a thousand."""
    columns = {key: values[:N] for key, values in people(N).items()}
    rng = np.random.default_rng(1)
    columns["score"] = [f"{value:.2f}" for value in rng.uniform(0.01, 0.99, N)]
    columns["age"] = [f"{value:.1f}" for value in rng.uniform(18, 80, N)]
    columns["income"] = [f"{value:.2f}" for value in rng.uniform(1000, 99999, N)]
    return columns


def text(columns, delimiter=",", **options):
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, **options)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return buffer.getvalue()


def comma(value):
    return value.replace(".", ",")


def grouped(value, mark=".", sign=","):
    whole, _, decimals = value.partition(".")
    whole = f"{int(whole):,}".replace(",", sign)
    return f"{whole}{mark}{decimals}" if decimals else whole


def german(columns=None):
    columns = clean() if columns is None else columns
    return {**columns, **{key: [*map(comma, columns[key])] for key in ("score", "age", "income")}}


def changed(column, change):
    columns = clean()
    columns[column] = [change(value) for value in columns[column]]
    return columns


def with_rows(more, columns=None):
    columns = clean() if columns is None else columns
    return {key: [*values, *[row[k] for row in more]] for k, (key, values) in
            enumerate(columns.items())}  # fmt: skip


def all_columns(path):
    """The scores, and the features of age and income."""
    names = dict(label="repaid", groups=["sex"], pos_label="yes")
    scored = read_scores(path, score="score", **names)
    learned = read_training(path, features=["age,income"], **names)
    return scored, learned


# ---------------------------------------------------------------------- files that go in

GO_IN = {
    # name: the bytes of the file, and what is noted of the score or of the features
    "plain": (text(clean()).encode(), ""),
    "German": (text(german(), ";").encode(), "read with decimal commas: 0,02 is 0.02."),
    "German in cp1252": (
        text({**german(), "Straße": ["Köln €"] * N}, ";").encode("cp1252"),
        "was read as Windows-1252 text",
    ),
    "German in UTF-16": (text(german(), ";").encode("utf-16"), "was read as UTF-16 text"),
    "tabs in UTF-16 without a mark": (
        text(clean(), "\t").encode("utf-16-le"),
        "was read as UTF-16 text",
    ),
    "Excel in German": (
        b"\xef\xbb\xbf" + ("sep=;\r\n" + text(german(), ";")).encode(),
        "decimal commas",
    ),
    "Excel with sep=,": (("sep=,\r\n" + text(clean())).encode(), ""),
    "French": (
        text({**german(), "income": [grouped(v, ",", "\u202f") for v in clean()["income"]]}, ";")
        .encode("utf-8-sig"),
        "read with decimal commas and thousands separators: ",
    ),
    "French with non-breaking spaces": (
        text({**german(), "income": [grouped(v, ",", "\u00a0") for v in clean()["income"]]}, ";")
        .encode("cp1252"),
        "Column 'income' was read with decimal commas and thousands separators: ",
    ),
    "thousands by a comma": (
        text(changed("income", grouped)).encode(),
        "Column 'income' was read with thousands separators: ",
    ),
    "thousands by a point": (
        text(changed("income", lambda v: grouped(v, ",", "."))).encode(),
        "Column 'income' was read with decimal commas and thousands separators: ",
    ),
    "thousands by a space": (
        text(changed("income", lambda v: grouped(v, ".", " "))).encode(),
        "Column 'income' was read with thousands separators: ",
    ),
    "thousands by an apostrophe": (
        text(changed("income", lambda v: grouped(v, ".", "'"))).encode(),
        "Column 'income' was read with thousands separators: ",
    ),
    "thousands by a Swiss apostrophe": (
        text(changed("income", lambda v: grouped(v, ".", "’"))).encode(),
        "Column 'income' was read with thousands separators: ",
    ),
    "percent": (
        text(changed("score", lambda v: f"{100 * float(v):.0f}%")).encode(),
        "Column 'score' was read with percent signs, as shares: 2% is 0.02.",
    ),
    "percent in German": (
        text(changed("score", lambda v: f"{100 * float(v):.1f} %".replace(".", ",")), ";").encode(),
        "Column 'score' was read with decimal commas and percent signs, as shares: 2,0 % is 0.02.",
    ),
    "dollars": (
        text(changed("income", lambda v: f"${grouped(v)}")).encode(),
        "Column 'income' was read with thousands separators and signs of money left out: $",
    ),
    "euros behind": (
        text(changed("income", lambda v: f"{grouped(v, ',', '.')} €")).encode(),
        "decimal commas, thousands separators and signs of money left out: ",
    ),
    "numbers as texts of Excel": (
        text(changed("income", lambda v: f"'{v}")).encode(),
        "Column 'income' was read with apostrophes left out: '",
    ),
    "spaces around": (
        text({f" {key} ": [f" {v}" if key in ("score", "age") else v for v in values]
              for key, values in clean().items()}).encode(),
        "",
    ),
    "pipes and blank lines at the end": ((text(clean(), "|") + "\r\n\r\n\r\n").encode(), ""),
    "packed": (gzip.compress(text(german(), ";").encode()), "decimal commas"),
    "quotes with commas": (
        text({**clean(), "note": ['said "yes, but", and left'] * N}, quoting=csv.QUOTE_ALL)
        .encode(),
        "",
    ),
    "trailing empty columns and rows": (
        ("".join(f"{line};;\r\n" for line in text(german(), ";").splitlines())
         + ";" * 7 + "\r\n" + ";" * 7 + "\r\n").encode(),
        "2 rows were left out of file.csv: empty in every column that is used.",
    ),
    "two equal columns of one name": (
        "".join(f"{line},{line.split(',')[1]}\r\n" for line in text(clean()).splitlines()).encode(),
        "has 2 columns called 'score', which hold the same in every row: they were taken as one.",
    ),
    "two other columns of a name that is not used": (
        "".join(f"{line},{'id' if k == 0 else k},{'id' if k == 0 else -k}\r\n"
                for k, line in enumerate(text(clean()).splitlines())).encode(),
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GO_IN)
def test_numbers_are_those_of_the_clean_file(tmp_path, name):
    content, note = GO_IN[name]
    path, plain = tmp_path / "file.csv", tmp_path / "clean.csv"
    path.write_bytes(content)
    write(plain, clean())
    scored, learned = all_columns(path)
    expected, features = all_columns(plain)
    np.testing.assert_array_equal(scored.rows.score, expected.rows.score)
    np.testing.assert_array_equal(scored.rows.positive, expected.rows.positive)
    np.testing.assert_array_equal(scored.rows.codes, expected.rows.codes)
    np.testing.assert_array_equal(learned.X, features.X)
    told = " ".join([*scored.notes, *learned.people.notes])
    assert note in told
    assert bool(told) == bool(note), told
    # The model's own way of reading sees the same numbers.
    with open_table(path, wanted=["age"]) as table:
        X, _ = read_features(table, learned.features, allow_missing=True)
    np.testing.assert_array_equal(X[:N], features.X)


def test_the_command_tells_how_columns_were_read(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text(text(german(), ";"))
    result = run("audit", path, *ASKED)
    assert result.exit_code == 0
    assert result.stderr == ("Note: Column 'score' was read with decimal commas: 0,02 is 0.02.\n")


# ---------------------------------------------------------------------- files that are refused

OPEN = [f"{k % 9 + 1},{100 + k}" for k in range(N)]
AUDIT_REFUSED = {
    "thousand or decimal?": (
        {**clean(), "score": OPEN},
        "Column 'score' of file.csv can be read in two ways: 1,100 is 1100 with --decimal point "
        "or 1.1 with --decimal comma, so say which.",
        ["--decimal point", "--decimal comma"],
    ),
    "a wrong case and a typing error": (
        {**{key if key != "score" else "Score": values for key, values in clean().items()}},
        "file.csv has no column 'score' (did you mean 'Score'?); it has 'repaid', 'Score', 'sex', "
        "'age', 'income', 'job'.",
        ["--score Score"],
    ),
    "mixed decimals": (
        {**clean(), "score": ["0,5", *clean()["score"][1:]]},
        "Column 'score' of file.csv has decimal commas in some rows and decimal points in others: "
        "it is '0,5' at row 1 below the header, and ",
        [],
    ),
    "mixed percent signs": (
        {**clean(), "score": ["50%", *clean()["score"][1:]]},
        "Column 'score' of file.csv has a percent sign in some rows but not in others: it is '50%' "
        "at row 1 below the header, and ",
        [],
    ),
    "two currencies": (
        {**clean(), "score": ["$5", *(f"€{value}" for value in clean()["score"][1:])]},
        "Column 'score' of file.csv is in several currencies: it is '$5' at row 1 below the "
        "header, and ",
        [],
    ),
    "a word among decimal commas": (
        {**german(), "score": [*german()["score"][:-1], "high"]},
        "Column 'score' of file.csv must hold numbers, but it is 'high' at row 120 below the "
        "header.",
        [],
    ),
    "nothing, in words": (
        {**clean(), "score": ["-", "#N/A", "NULL", "n.a.", *clean()["score"][4:]]},
        "Column 'score' of file.csv is missing at row 1 below the header (4 such rows in all); "
        "fill or drop such rows first, or ask for --drop-missing.",
        None,
    ),
    "a row of totals": (
        with_rows([("Total", "", "", "", "1234.5", "")]),
        "Column 'score' of file.csv is missing at row 121 below the header; fill or drop such rows "
        "first, or ask for --drop-missing.",
        None,
    ),
    "labels in German": (
        {**clean(), "repaid": [{"yes": "ja", "no": "nein"}[v] for v in clean()["repaid"]]},
        "but not the label 'yes' of --pos-label.",
        [],
    ),
}


@pytest.mark.parametrize("name", AUDIT_REFUSED)
def test_refused_by_audit_and_what_is_advised_works(tmp_path, name):
    columns, sentence, ways = AUDIT_REFUSED[name]
    path = write(tmp_path / "file.csv", columns, delimiter=";" if "commas" in name else ",")
    told, *advice = advised("audit", path, *ASKED)
    assert sentence in told
    if ways is None:
        assert not advice
        advice = [["audit", path, *ASKED, "--drop-missing"]]
    else:
        assert len(advice) == len(ways)
        assert all(way in " ".join(one) for way, one in zip(ways, advice, strict=True))
    for one in advice:
        result = run(*one, "--quiet")
        assert result.exit_code == 0, result.stderr


def test_points_that_may_be_thousands(tmp_path):
    columns = {**clean(), "income": [f"{k % 9 + 1}.{100 + k}" for k in range(N)]}
    path = write(tmp_path / "file.csv", columns, delimiter=";")
    names = dict(label="repaid", groups=["sex"], pos_label="yes", features=["income"])
    with pytest.raises(ValueError, match=r"1\.100 is 1\.1 with --decimal point or 1100 with --dec"):
        read_training(path, **names)
    values = np.array([float(value) for value in columns["income"]])
    X = read_training(path, decimal="point", **names).X
    np.testing.assert_array_equal(X[:, 0], values)
    X = read_training(path, decimal="comma", **names).X
    np.testing.assert_array_equal(X[:, 0], np.round(1000 * values))
    # Where commas are delimiters, and nowhere decimal marks, points are decimal marks.
    X = read_training(write(path, columns), **names).X
    np.testing.assert_array_equal(X[:, 0], values)


def test_what_is_said_settles_what_is_open_and_nothing_else(tmp_path):
    path = write(tmp_path / "file.csv", {**clean(), "income": OPEN})
    names = dict(label="repaid", groups=["sex"], pos_label="yes", features=["age,income"])
    for decimal, factor in (("point", 1000.0), ("comma", 1.0)):
        X = read_training(path, decimal=decimal, **names).X
        np.testing.assert_array_equal(X[:, 0], np.array(clean()["age"], dtype=float))
        expected = np.array([float(comma(value).replace(",", ".")) for value in OPEN])
        np.testing.assert_array_equal(X[:, 1], np.round(expected * factor, 3))


def test_all_bad_columns_are_told_at_once_with_the_command_that_works(tmp_path):
    columns = {
        "ID": [f"P{k:04d}" for k in range(N)],
        **clean(),
        "opened": [f"{k % 28 + 1:02d}.02.2024" for k in range(N)],
        "pct": [f"{k % 100},5 %" for k in range(N)],
        "id,nr": range(1000, 1000 + N),
        "empty": [""] * N,
    }
    path = write(tmp_path / "my file.csv", columns, delimiter=";")
    asked = ("fit", path, *FIT, "-o", tmp_path / "m.skops", *QUICK)
    told, advice = advised(*asked)
    assert told == (
        "4 columns of my file.csv cannot be used as they are: 'ID' has more than 100 different "
        "texts (the first that is not a number is in row 1); 'opened' holds dates, such as "
        "'01.02.2024', and a feature is a number or a category; 'id,nr' has another whole number "
        "in every row, as identifiers do; 'empty' is empty in every row; leave them out with "
        "--exclude."
    )
    assert advice[-2:] == ["--exclude", "ID,opened,id,nr,empty"]
    assert advice[: len(asked)] == [str(part) for part in asked]
    result = run(*advice)
    assert (result.exit_code, result.stderr) == (0, "")
    short = ("--tolerances", "0.2", "--folds", "2", "--model", "linear", "-q")
    told, advice = advised("tradeoff", path, *FIT, *short)
    assert run(*advice).exit_code == 0


def test_all_missing_columns_are_told_at_once(tmp_path):
    path = write(tmp_path / "file.csv", clean())
    output = ("-o", tmp_path / "m.skops", *QUICK)
    wrong = [{"repaid": "repid", "sex": "sx"}.get(part, part) for part in FIT]
    told, advice = advised("fit", path, *wrong, "--features=agee,income", *output)
    assert told == (
        "file.csv has no columns 'repid' (did you mean 'repaid'?), 'sx' (did you mean 'sex'?) and "
        "'agee' (did you mean 'age'?); it has 'repaid', 'score', 'sex', 'age', 'income', 'job'."
    )
    assert run(*advice).exit_code == 0


def test_excluding_columns_whose_names_have_commas(tmp_path):
    columns = {**clean(), "a, b": range(N), "c": range(N)}
    path = write(tmp_path / "file.csv", columns)
    names = dict(label="repaid", groups=["sex"], pos_label="yes")
    rows = read_training(path, exclude=["score,a, b,job", "c"], **names)
    assert [feature.name for feature in rows.features] == ["age", "income"]
    with pytest.raises(ValueError, match="has no column 'a'"):
        read_training(path, exclude=["a"], **names)


def test_columns_of_one_name_that_differ(tmp_path):
    plain = clean()
    lines = text(plain).splitlines()
    path = tmp_path / "file.csv"
    other = ["score", *(f"{1 - float(value):.2f}" for value in plain["score"])]
    path.write_text("\n".join(f"{line},{more}" for line, more in zip(lines, other, strict=True)))
    told, advice = advised("audit", path, *ASKED)
    assert told == (
        "file.csv has 2 columns called 'score', and they differ: say which one you mean, 'score#1' "
        "or 'score#2'."
    )
    assert run(*advice, "--quiet").exit_code == 0
    names = dict(label="repaid", groups=["sex"], pos_label="yes")
    for k, values in ((1, plain["score"]), (2, other[1:])):
        found = read_scores(path, score=f"score#{k}", **names).rows.score
        np.testing.assert_array_equal(found, np.array(values, dtype=float))
    rows = read_training(path, exclude=["job"], **names)
    assert [one.name for one in rows.features] == ["score#1", "age", "income", "score#2"]
    assert rows.people.notes == (
        "file.csv has 2 columns called 'score' that differ: here they are 'score#1' and 'score#2'.",
    )
    for excluded, left in (("score", []), ("score#2", ["score#1"])):
        rows = read_training(path, exclude=["job", excluded], **names)
        assert [one.name for one in rows.features] == [*left, "age", "income"]


@pytest.mark.parametrize("header", ["", "Unnamed: 0"])
def test_an_index_without_a_name_is_not_learned_from(tmp_path, header):
    path = write(tmp_path / "file.csv", {header: range(N), **clean()})
    names = dict(label="repaid", groups=["sex"], pos_label="yes", exclude=["job"])
    rows = read_training(path, **names)
    assert [one.name for one in rows.features] == ["score", "age", "income"]
    assert rows.people.notes == (
        "Column 'Unnamed: 0' of file.csv has no name of its own and was not learned from; name it "
        "with --features to use it.",
    )
    rows = read_training(path, features=["Unnamed: 0"], **names)
    np.testing.assert_array_equal(rows.X[:, 0], np.arange(N))


@pytest.mark.parametrize("words", [("ja", "nein"), ("oui", "non"), ("yes", "no"), ("VRAI", "FAUX")])
def test_truth_in_words_is_a_category(tmp_path, words):
    columns = {**clean(), "owner": [words[k % 2] for k in range(N)]}
    path = write(tmp_path / "file.csv", columns)
    rows = read_training(path, label="repaid", groups=["sex"], pos_label="yes", features=["owner"])
    assert rows.features[0].categories == tuple(sorted(words))
    assert rows.X.sum(axis=0).tolist() == [N / 2, N / 2]


def test_a_model_reads_new_files_of_either_style(tmp_path):
    plain = write(tmp_path / "plain.csv", clean())
    other = tmp_path / "german.csv"
    other.write_text(text(german(), ";"), encoding="cp1252")
    for name, learned in (("a", plain), ("b", other)):
        model = tmp_path / f"{name}.skops"
        asked = ("--features", "age,income,job", "-o", model, *QUICK)
        assert run("fit", learned, *FIT, *asked).exit_code == 0
        for new in (plain, other):
            out = tmp_path / f"{name}_{new.name}"
            assert run("score", model, new, "-o", out, "--column", "fair").exit_code == 0
    scores = [
        read(tmp_path / f"{name}_plain.csv")["fair"] for name in "ab"
    ] + [
        [line.split(";")[-1] for line in (tmp_path / f"{name}_german.csv").read_text().split()[1:]]
        for name in "ab"
    ]  # fmt: skip
    assert all(found == scores[0] for found in scores)
    assert len(scores[0]) == N


def test_a_repair_reads_new_files_of_either_style(tmp_path):
    plain = write(tmp_path / "plain.csv", clean())
    other = write(tmp_path / "german.csv", german(), delimiter=";")
    maps = tmp_path / "maps.json"
    assert run("repair", other, *ASKED, "--equal", "fnr", "-o", maps, "-q").exit_code == 0
    run("score", maps, plain, "-o", tmp_path / "a.csv")
    result = run("score", maps, other, "-o", tmp_path / "b.tsv")
    assert "Note: Column 'score' was read with decimal commas: 0,02 is 0.02." in result.stderr
    found = [line.split("\t")[-1] for line in (tmp_path / "b.tsv").read_text().splitlines()[1:]]
    assert found == read(tmp_path / "a.csv")["repaired_score"]


def test_a_model_says_where_percent_signs_came_or_went(tmp_path):
    shares = [k / 100 for k in range(N)]
    signed = write(tmp_path / "a.csv", {**clean(), "rate": [f"{k}%" for k in range(N)]})
    plain = write(tmp_path / "b.csv", {**clean(), "rate": shares})
    names = dict(label="repaid", groups=["sex"], pos_label="yes", features=["rate"])
    for learned, new, told in (
        (signed, plain, "Column 'rate' of b.csv has no percent signs and had them where"),
        (plain, signed, "Column 'rate' of a.csv has percent signs and had none where"),
        (plain, plain, ""),
        (signed, signed, "as shares"),
    ):
        features = read_training(learned, **names).features
        with open_table(new) as table:
            X, _ = read_features(table, features, allow_missing=False)
            assert told in " ".join(table.notes)
            assert bool(table.notes) == bool(told)
        np.testing.assert_array_equal(X[:, 0], shares)


# ---------------------------------------------------------------------- files to be written


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--html", "no/r.html"), "There is no folder no to write r.html to: make it first."),
        (("--json", "no/r.json"), "There is no folder no to write r.json to: make it first."),
        (("--html", "r.pdf"), "r.pdf would hold an HTML page, and its name says otherwise: it "
         "must end in .html."),
        (("--json", "r.html"), "r.html would hold JSON, and its name says otherwise: it must end "
         "in .json."),
    ],
)  # fmt: skip
def test_names_of_reports(tmp_path, monkeypatch, options, sentence):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "file.csv", clean())
    told, *advice = advised("audit", "file.csv", *ASKED, *options)
    assert told == sentence
    assert [file.name for file in tmp_path.iterdir()] == ["file.csv"]
    for one in advice:
        assert run(*one, "--quiet").exit_code == 0
        assert (tmp_path / one[-1]).exists()
    assert bool(advice) == ("folder" not in told)


def test_names_of_models_and_their_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "file.csv", clean())
    told, advice = advised("fit", "file.csv", *FIT, *QUICK, "-o", "m.pkl")
    assert told == (
        "m.pkl would hold a skops model, and its name says otherwise: it must end in .skops."
    )
    assert run(*advice).exit_code == 0
    asked = ("-o", "out.csv", "--column", "fair")
    told, advice = advised("score", "file.csv", "m.skops", *asked)
    assert told == "The model or the maps come first and then the rows, and file.csv holds rows."
    assert run(*advice).exit_code == 0
    assert len(read(tmp_path / "out.csv")["fair"]) == N
    (tmp_path / "a.json").write_text('{"format": "evenscore.audit"}')
    told, *_ = advised("score", "a.json", "file.csv", *asked)
    assert told == "a.json is not the maps from `repair`: it says that it is 'evenscore.audit'."


def test_a_spreadsheet(tmp_path):
    path = tmp_path / "data.xlsx"
    path.write_bytes(b"PK\x03\x04rest")
    told, *_ = advised("audit", path, *ASKED)
    assert told == "data.xlsx is a spreadsheet or a zip archive: export it as CSV or Parquet."
