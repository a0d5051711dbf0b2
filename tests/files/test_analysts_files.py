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
FIT = (*ASKED[:4], *ASKED[6:], "--constraint", "inter_group", "--tolerance", "0.4")
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
    "German": (text(german(), ";").encode(), "decimal commas: 0,02 is 0.02"),
    "German in cp1252": (
        text({**german(), "Straße": ["Köln €"] * N}, ";").encode("cp1252"),
        "Windows-1252",
    ),
    "German in UTF-16": (text(german(), ";").encode("utf-16"), "UTF-16"),
    "tabs in UTF-16 without a mark": (
        text(clean(), "\t").encode("utf-16-le"),
        "UTF-16",
    ),
    "Excel in German": (
        b"\xef\xbb\xbf" + ("sep=;\r\n" + text(german(), ";")).encode(),
        "decimal commas",
    ),
    "French with non-breaking spaces": (
        text({**german(), "income": [grouped(v, ",", "\u00a0") for v in clean()["income"]]}, ";")
        .encode("cp1252"),
        "commas and thousands",
    ),
    "thousands by a comma": (
        text(changed("income", grouped)).encode(),
        "'income' was read with thousands",
    ),
    "thousands by a point": (
        text(changed("income", lambda v: grouped(v, ",", "."))).encode(),
        "commas and thousands",
    ),
    "thousands by a space": (
        text(changed("income", lambda v: grouped(v, ".", " "))).encode(),
        "'income' was read with thousands",
    ),
    "thousands by a Swiss apostrophe": (
        text(changed("income", lambda v: grouped(v, ".", "’"))).encode(),
        "'income' was read with thousands",
    ),
    "percent": (
        text(changed("score", lambda v: f"{100 * float(v):.0f}%")).encode(),
        "as shares: 2% is 0.02",
    ),
    "percent in German": (
        text(changed("score", lambda v: f"{100 * float(v):.1f} %".replace(".", ",")), ";").encode(),
        "as shares: 2,0 % is 0.02",
    ),
    "dollars": (
        text(changed("income", lambda v: f"${grouped(v)}")).encode(),
        "money left out: $",
    ),
    "euros behind": (
        text(changed("income", lambda v: f"{grouped(v, ',', '.')} €")).encode(),
        "money left out: ",
    ),
    "numbers as texts of Excel": (
        text(changed("income", lambda v: f"'{v}")).encode(),
        "apostrophes left out: '",
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
        "2 rows were left out of file.csv",
    ),
    "two equal columns of one name": (
        "".join(f"{line},{line.split(',')[1]}\r\n" for line in text(clean()).splitlines()).encode(),
        "2 columns called 'score'",
    ),
    "two other columns of a name that is not used": (
        "".join(f"{line},{'id' if k == 0 else k},{'id' if k == 0 else -k}\r\n"
                for k, line in enumerate(text(clean()).splitlines())).encode(),
        "",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return all_columns(write(tmp_path_factory.mktemp("clean") / "clean.csv", clean()))


@pytest.mark.parametrize("name", GO_IN)
def test_numbers_are_those_of_the_clean_file(tmp_path, plain, name):
    content, note = GO_IN[name]
    path = tmp_path / "file.csv"
    path.write_bytes(content)
    scored, learned = all_columns(path)
    expected, features = plain
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
    result = run("audit", path, *ASKED, "--constraint", "bnsp")
    assert result.exit_code == 0
    assert result.stderr.startswith("Note: Column 'score' ")
    assert result.stderr.count("\n") == 1


# ---------------------------------------------------------------------- files that are refused

OPEN = [f"{k % 9 + 1},{100 + k}" for k in range(N)]
AUDIT_REFUSED = {
    # name: the columns, what the sentence names, and the ways that it advises (None: to drop rows)
    "thousand or decimal?": (
        {**clean(), "score": OPEN},
        ("'score'", "1100 with --decimal point", "1.1 with --decimal comma"),
        ["--decimal point", "--decimal comma"],
    ),
    "a wrong case and a typing error": (
        {**{key if key != "score" else "Score": values for key, values in clean().items()}},
        ("'score'", "'Score'"),
        ["--score Score"],
    ),
    "mixed decimals": (
        {**clean(), "score": ["0,5", *clean()["score"][1:]]}, ("'score'", "'0,5' at row 1"), [],
    ),
    "mixed percent signs": (
        {**clean(), "score": ["50%", *clean()["score"][1:]]}, ("'score'", "'50%' at row 1"), [],
    ),
    "two currencies": (
        {**clean(), "score": ["$5", *(f"€{value}" for value in clean()["score"][1:])]},
        ("'score'", "'$5' at row 1"),
        [],
    ),
    "a word among decimal commas": (
        {**german(), "score": [*german()["score"][:-1], "high"]},
        ("'score'", "'high' at row 120"),
        [],
    ),
    "nothing, in words": (
        {**clean(), "score": ["-", "#N/A", "NULL", "n.a.", *clean()["score"][4:]]},
        ("'score'", "missing at row 1 ", "4 such rows", "--drop-missing"),
        None,
    ),
    "a row of totals": (
        with_rows([("Total", "", "", "", "1234.5", "")]),
        ("'score'", "missing at row 121 ", "--drop-missing"),
        None,
    ),
    "labels in German": (
        {**clean(), "repaid": [{"yes": "ja", "no": "nein"}[v] for v in clean()["repaid"]]},
        ("'yes' of --pos-label",),
        [],
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", AUDIT_REFUSED)
def test_refused_by_audit_and_what_is_advised_works(tmp_path, name):
    columns, names, ways = AUDIT_REFUSED[name]
    path = write(tmp_path / "file.csv", columns, delimiter=";" if "commas" in name else ",")
    told, *advice = advised("audit", path, *ASKED)
    assert all(name in told for name in names), told
    if ways is None:
        assert not advice
        advice = [["audit", path, *ASKED, "--drop-missing"]]
    else:
        assert len(advice) == len(ways)
        assert all(way in " ".join(one) for way, one in zip(ways, advice, strict=True))
    for one in advice:
        result = run(*one, "--constraint", "bnsp", "--quiet")
        assert result.exit_code == 0, result.stderr


def test_points_that_may_be_thousands(tmp_path):
    columns = {**clean(), "income": [f"{k % 9 + 1}.{100 + k}" for k in range(N)]}
    path = write(tmp_path / "file.csv", columns, delimiter=";")
    names = dict(label="repaid", groups=["sex"], pos_label="yes", features=["income"])
    with pytest.raises(ValueError, match=r"1\.1 with --decimal point or 1100 "):
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


@pytest.mark.slow
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
    assert told.startswith("4 columns of my file.csv ")
    assert all(name in told for name in ("'ID'", "'opened'", "'01.02.2024'", "'id,nr'", "'empty'"))
    assert advice[-2:] == ["--exclude", "ID,opened,id,nr,empty"]
    assert advice[: len(asked)] == [str(part) for part in asked]
    result = run(*advice)
    assert (result.exit_code, result.stderr) == (0, "")
    told, advice = advised("tradeoff", path, *FIT, *QUICK)
    assert advice[-2:] == ["--exclude", "ID,opened,id,nr,empty"]


def test_all_missing_columns_are_told_at_once(tmp_path):
    path = write(tmp_path / "file.csv", clean())
    output = ("-o", tmp_path / "m.skops", *QUICK)
    wrong = [{"repaid": "repid", "sex": "sx"}.get(part, part) for part in FIT]
    told, advice = advised("fit", path, *wrong, "--features=agee,income", *output)
    for wrong, right in (("repid", "repaid"), ("sx", "sex"), ("agee", "age")):
        assert f"'{wrong}' (did you mean '{right}'?)" in told
    assert run(*advice).exit_code == 0


def test_excluding_columns_whose_names_have_commas(tmp_path):
    columns = {**clean(), "a, b": range(N), "c": range(N)}
    path = write(tmp_path / "file.csv", columns)
    names = dict(label="repaid", groups=["sex"], pos_label="yes")
    rows = read_training(path, exclude=["score,a, b,job", "c"], **names)
    assert [feature.name for feature in rows.features] == ["age", "income"]
    with pytest.raises(ValueError, match="'a'"):
        read_training(path, exclude=["a"], **names)


def test_columns_of_one_name_that_differ(tmp_path):
    plain = clean()
    lines = text(plain).splitlines()
    path = tmp_path / "file.csv"
    other = ["score", *(f"{1 - float(value):.2f}" for value in plain["score"])]
    path.write_text("\n".join(f"{line},{more}" for line, more in zip(lines, other, strict=True)))
    told, advice = advised("audit", path, *ASKED)
    assert "'score#1' or 'score#2'" in told
    assert run(*advice, "--constraint", "bnsp", "--quiet").exit_code == 0
    names = dict(label="repaid", groups=["sex"], pos_label="yes")
    for k, values in ((1, plain["score"]), (2, other[1:])):
        found = read_scores(path, score=f"score#{k}", **names).rows.score
        np.testing.assert_array_equal(found, np.array(values, dtype=float))
    rows = read_training(path, exclude=["job"], **names)
    assert [one.name for one in rows.features] == ["score#1", "age", "income", "score#2"]
    [note] = rows.people.notes
    assert "'score#1' and 'score#2'" in note
    for excluded, left in (("score", []), ("score#2", ["score#1"])):
        rows = read_training(path, exclude=["job", excluded], **names)
        assert [one.name for one in rows.features] == [*left, "age", "income"]


@pytest.mark.parametrize("header", ["", "Unnamed: 0"])
def test_an_index_without_a_name_is_not_learned_from(tmp_path, header):
    path = write(tmp_path / "file.csv", {header: range(N), **clean()})
    names = dict(label="repaid", groups=["sex"], pos_label="yes", exclude=["job"])
    rows = read_training(path, **names)
    assert [one.name for one in rows.features] == ["score", "age", "income"]
    [note] = rows.people.notes
    assert "'Unnamed: 0' of file.csv" in note
    assert "--features" in note
    rows = read_training(path, features=["Unnamed: 0"], **names)
    np.testing.assert_array_equal(rows.X[:, 0], np.arange(N))


@pytest.mark.parametrize("words", [("ja", "nein"), ("VRAI", "FAUX")])
def test_truth_in_words_is_a_category(tmp_path, words):
    columns = {**clean(), "owner": [words[k % 2] for k in range(N)]}
    path = write(tmp_path / "file.csv", columns)
    rows = read_training(path, label="repaid", groups=["sex"], pos_label="yes", features=["owner"])
    assert rows.features[0].categories == tuple(sorted(words))
    assert rows.X.sum(axis=0).tolist() == [N / 2, N / 2]


@pytest.mark.slow
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
    assert "'score'" in result.stderr
    found = [line.split("\t")[-1] for line in (tmp_path / "b.tsv").read_text().splitlines()[1:]]
    assert found == read(tmp_path / "a.csv")["repaired_score"]


def test_a_model_says_where_percent_signs_came_or_went(tmp_path):
    shares = [k / 100 for k in range(N)]
    signed = write(tmp_path / "a.csv", {**clean(), "rate": [f"{k}%" for k in range(N)]})
    plain = write(tmp_path / "b.csv", {**clean(), "rate": shares})
    names = dict(label="repaid", groups=["sex"], pos_label="yes", features=["rate"])
    for learned, new, told in (
        (signed, plain, "'rate' of b.csv"),
        (plain, signed, "'rate' of a.csv"),
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--html", "no/r.html"), ("folder no ", "r.html")),
        (("--html", "r.pdf"), ("r.pdf", ".html")),
        (("--json", "r.html"), ("r.html", ".json")),
    ],
)
def test_names_of_reports(tmp_path, monkeypatch, options, names):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "file.csv", clean())
    told, *advice = advised("audit", "file.csv", *ASKED, *options, "--constraint", "bnsp")
    assert all(name in told for name in names)
    assert [file.name for file in tmp_path.iterdir()] == ["file.csv"]
    assert bool(advice) == ("folder" not in told)
    for one in advice:
        assert run(*one, "--quiet").exit_code == 0
        assert len([*tmp_path.iterdir()]) == 2


@pytest.mark.slow
def test_names_of_models_and_their_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "file.csv", clean())
    told, advice = advised("fit", "file.csv", *FIT, *QUICK, "-o", "m.pkl")
    assert "m.pkl" in told
    assert ".skops" in told
    assert run(*advice).exit_code == 0
    asked = ("-o", "out.csv", "--column", "fair")
    told, advice = advised("score", "file.csv", "m.skops", *asked)
    assert "file.csv holds rows" in told
    assert run(*advice).exit_code == 0
    assert len(read(tmp_path / "out.csv")["fair"]) == N
    (tmp_path / "a.json").write_text('{"format": "evenscore.audit"}')
    told, *_ = advised("score", "a.json", "file.csv", *asked)
    assert "'evenscore.audit'" in told
