"""Audits of folders, patterns, databases, answers to a GROUP BY and saved tables."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from support.commands import numbers, people, refused, run, write, write_parquet

import evenscore as es
from evenscore.files import people as people_module
from evenscore.files import scored as scored_module

N = 240
COLUMNS = ("--label", "repaid", "--pos-label", "yes", "--score", "score", "--group", "sex")


@pytest.fixture
def rows():
    return people(N)


@pytest.fixture
def few_are_many(monkeypatch):
    """Files of more than 100 rows have their scores put into bins."""
    for module in (people_module, scored_module):
        monkeypatch.setattr(module, "MANY_ROWS", 100)


def part(rows, which):
    return {name: [column[k] for k in which] for name, column in rows.items()}


def audited(tmp_path, *arguments):
    """The numbers of an audit, whatever its title and file."""
    few = () if {"--constraint", "--equal"} & {*arguments} else ("--constraint", "bnsp")
    result = run("audit", *arguments, *few, "--json", tmp_path / "audit.json", "--quiet")
    assert result.exit_code == 0, result.output
    content = numbers(tmp_path / "audit.json")
    return {name: value for name, value in content.items() if name not in ("title", "provenance")}


# ---------------------------------------------------------------------- folders and patterns


@pytest.mark.slow
def test_a_folder_and_a_pattern_are_the_rows_of_their_files(tmp_path, rows):
    whole = write_parquet(tmp_path / "all.parquet", rows)
    folder = tmp_path / "parts"
    (folder / "more").mkdir(parents=True)
    for k, name in enumerate(("a.parquet", "b.parquet", "more/c.parquet")):
        write_parquet(folder / name, part(rows, range(80 * k, 80 * (k + 1))))
    (folder / "_SUCCESS").write_text("")
    (folder / "_delta.parquet").write_text("not rows")
    expected = audited(tmp_path, whole, *COLUMNS)
    assert audited(tmp_path, folder, *COLUMNS) == expected
    assert audited(tmp_path, folder / "**" / "[abc].parquet", *COLUMNS) == expected


def test_folders_and_patterns_that_cannot_be_read(tmp_path, rows):
    folder = tmp_path / "empty"
    folder.mkdir()
    assert "Parquet" in refused("audit", folder, *COLUMNS)
    assert "no-*.parquet" in refused("audit", tmp_path / "no-*.parquet", *COLUMNS)
    write(folder / "rows.parquet", rows)
    assert "rows.parquet" in refused("audit", folder, *COLUMNS)
    write_parquet(folder / "rows.parquet", rows)
    write_parquet(folder / "other.parquet", {"score": [1.0]})
    assert refused("audit", folder, *COLUMNS).startswith("other.parquet and rows.parquet ")
    write_parquet(folder / "other.parquet", {**rows, "score": [round(s) for s in rows["score"]]})
    told = refused("audit", folder, *COLUMNS)
    assert told.startswith("other.parquet and rows.parquet ")
    assert "'score'" in told
    out = ("--save", folder / "rows.parquet")
    assert "written over" in refused("audit", folder, *COLUMNS, *out)


@pytest.mark.slow
def test_only_folders_below_the_input_name_values(tmp_path, rows):
    some = {name: column for name, column in rows.items() if name != "sex"}
    expected = audited(tmp_path, write_parquet(tmp_path / "all.parquet", rows), *COLUMNS)
    for above in ("score=0.5", "b[1]", "b1"):
        for sex in ("female", "male"):
            folder = tmp_path / above / "by" / f"sex={sex}"
            folder.mkdir(parents=True)
            which = [k for k, value in enumerate(rows["sex"]) if value == sex]
            kept = which if above != "b1" else which[:9]
            write_parquet(folder / "part.parquet", part(some, kept))
    for above in ("score=0.5", "b[1]"):
        assert audited(tmp_path, tmp_path / above / "by", *COLUMNS) == expected
    by_pattern = tmp_path / "score=0.5" / "by" / "sex=*" / "*.parquet"
    assert audited(tmp_path, by_pattern, *COLUMNS) == expected
    folder = tmp_path / "twice" / "sex=female"
    folder.mkdir(parents=True)
    write_parquet(folder / "part.parquet", rows)
    assert "'sex'" in refused("audit", tmp_path / "twice", *COLUMNS)


# ---------------------------------------------------------------------- databases


@pytest.fixture
def database(tmp_path, rows):
    path = tmp_path / "bank.duckdb"
    connection = duckdb.connect(str(path))
    connection.register("people", pa.table(rows))
    connection.execute("CREATE TABLE loans AS SELECT * FROM people")
    connection.execute('CREATE SCHEMA "odd name"')
    connection.execute('CREATE VIEW "odd name"."wo""men" AS SELECT * FROM loans')
    connection.close()
    return path


@pytest.mark.slow
def test_a_table_a_view_and_a_query_of_a_database(tmp_path, rows, database):
    expected = audited(tmp_path, write_parquet(tmp_path / "all.parquet", rows), *COLUMNS)
    before = database.read_bytes()
    for how in (
        ("--table", "loans"),
        ("--table", 'odd name.wo"men'),
        ("--query", "SELECT * FROM loans -- all of them"),
    ):
        assert audited(tmp_path, database, *how, *COLUMNS) == expected, how
    assert database.read_bytes() == before


def test_what_a_database_cannot_be_asked(tmp_path, rows, database):
    def told(*arguments):
        return refused("audit", database, *arguments, *COLUMNS)

    assert "--table or --query" in told()
    assert "leave one" in told("--table", "a", "--query", "b")
    assert "'loans' and 'odd name.wo" in told("--table", "loan")
    assert "one SELECT" in told("--query", "DROP TABLE loans")
    assert "Parser Error" in told("--query", "SELEC * FROM loans")
    assert told("--query", "SELECT 1").startswith("bank.duckdb has no column")
    (tmp_path / "bank.duckdb.wal").write_bytes(b"changes")
    assert "bank.duckdb has changes" in told("--table", "loans")
    junk = tmp_path / "junk.duckdb"
    junk.write_bytes(b"junk" * 5000)
    assert "junk.duckdb" in refused("audit", junk, "--table", "t", *COLUMNS)
    table = write(tmp_path / "t.csv", rows)
    assert "--table" in refused("audit", table, "--table", "t", *COLUMNS)


def test_a_query_writes_nothing_and_reads_nothing_else(tmp_path, database):
    before, target = database.read_bytes(), tmp_path / "stolen.csv"
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    for query in (
        f"SELECT 1); COPY (SELECT 42) TO '{target}'; SELECT * FROM (SELECT * FROM loans",
        f"COPY (SELECT 42) TO '{target}'",
        "SELECT * FROM loans; DROP TABLE loans",
        f"SELECT 1); DETACH es_database; ATTACH '{database}' AS es_database; UPDATE "
        "es_database.loans SET score = 1; SELECT * FROM (SELECT * FROM es_database.loans",
        f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')",
    ):
        told = refused("audit", database, "--query", query, *COLUMNS)
        assert told.startswith("The query of bank.duckdb "), told
    assert not target.exists()
    assert database.read_bytes() == before


def test_a_table_called_rows(tmp_path, rows):
    path = tmp_path / "rows.duckdb"
    connection = duckdb.connect(str(path))
    connection.register("people", pa.table(rows))
    connection.execute("CREATE TABLE rows AS SELECT * FROM people")
    connection.close()
    bnsp = ("--constraint", "bnsp", "--quiet")
    assert run("audit", path, "--table", "rows", *COLUMNS, *bnsp).exit_code == 0
    told = refused("audit", path, "--query", "SELECT * FROM rows", *COLUMNS)
    assert "--table rows" in told


# ---------------------------------------------------------------------- bins


@pytest.mark.slow
def test_many_rows_are_put_into_bins_and_it_is_said(tmp_path, few_are_many):
    rows, bnsp = people(600), ("--constraint", "bnsp", "--accuracy", "0.2")
    path = write_parquet(tmp_path / "t.parquet", rows)
    result = run("audit", path, *COLUMNS, "--json", tmp_path / "a.json", *bnsp)
    assert "bins" in result.stdout
    assert "share their score" not in result.stdout
    stored = es.AuditResult.from_json(tmp_path / "a.json")
    exact = audited(tmp_path, path, *COLUMNS, "--accuracy", "0")
    assert exact["binned"] is None
    for gap, expected in zip(stored.gaps, exact["gaps"], strict=True):
        assert abs(gap.value - expected["value"]) <= gap.bracket + 1e-12
    verified = run("verify", tmp_path / "a.json", path)
    assert verified.exit_code == 0, verified.output
    weighed = write_parquet(
        tmp_path / "w.parquet", {**rows, "w": [0.1 + k % 7 for k in range(600)]}
    )
    run("audit", weighed, *COLUMNS, "--weight", "w", "--json", tmp_path / "w.json", "--quiet")
    verified = run("verify", tmp_path / "w.json", weighed)
    assert verified.exit_code == 0, verified.output
    assert "bins" in verified.output
    assert "--accuracy" in refused("audit", path, *COLUMNS, "--accuracy", "1")


@pytest.mark.slow
def test_four_quarters_are_the_year(tmp_path, few_are_many):
    rows = people(600)
    rows["weight"] = [1 + k % 3 for k in range(600)]
    weighted = (*COLUMNS, "--weight", "weight", "--constraint", "bnsp")
    year = write(tmp_path / "year.csv", rows)
    first = write_parquet(tmp_path / "first.parquet", rows)
    run("audit", first, *weighted, "--save", tmp_path / "bins.json", "--quiet")
    assert es.GroupedScores.load(tmp_path / "bins.json").binned is not None
    alike = ("--bins-of", tmp_path / "bins.json")
    tables = []
    for quarter in range(4):
        path = write(tmp_path / f"{quarter}.csv", part(rows, range(quarter, 600, 4)))
        tables.append(tmp_path / f"{quarter}.json")
        result = run("audit", path, *weighted, *alike, "--save", tables[-1], "--quiet")
        assert result.exit_code == 0, result.output
    result = run("merge", *tables, "-o", tmp_path / "year.json")
    assert "4 tables of 600 people" in result.stdout
    run("audit", year, *weighted, *alike, "--save", tmp_path / "whole.json", "--quiet")
    assert (tmp_path / "year.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    merged, whole = (audited(tmp_path, tmp_path / name) for name in ("year.json", "whole.json"))
    assert merged == whole


@pytest.mark.slow
def test_tables_that_do_not_add_up(tmp_path, few_are_many):
    rows = people(600)
    for name, factor in (("a", 1.0), ("b", 1.5)):
        some = {**rows, "score": [factor * score for score in rows["score"]]}
        path = write_parquet(tmp_path / f"{name}.parquet", some)
        run("audit", path, *COLUMNS, "--save", tmp_path / f"{name}.json", "--quiet")
    told = refused("merge", tmp_path / "a.json", tmp_path / "b.json", "-o", tmp_path / "c.json")
    assert "b.json" in told
    assert "different bins" in told
    assert not (tmp_path / "c.json").exists()
    assert "two tables" in refused("merge", tmp_path / "a.json", "-o", tmp_path / "c.json")
    assert "written over" in refused(
        "merge", tmp_path / "a.json", tmp_path / "b.json", "-o", tmp_path / "a.json"
    )


@pytest.mark.slow
def test_a_saved_table_has_no_columns_to_choose_from(tmp_path, rows):
    path = write(tmp_path / "t.csv", rows)
    run("audit", path, *COLUMNS, "--save", tmp_path / "t.json", "--quiet")
    assert "leave out --score" in refused("audit", tmp_path / "t.json", "--score", "score")
    run("audit", path, *COLUMNS[4:], "--save", tmp_path / "u.json", "--quiet")  # no outcomes
    equal = ("--equal", "selection")
    for asked, kept in ((COLUMNS, "t.json"), (COLUMNS[4:], "u.json")):
        gaps = [
            [gap["value"] for gap in audited(tmp_path, *where, *equal)["gaps"]]
            for where in ((path, *asked), (tmp_path / kept,))
        ]
        assert gaps[0] == gaps[1] != []
    result = run("audit", path, *COLUMNS, "--bins-of", tmp_path / "t.json")
    assert "no bins" in result.stderr
    assert result.exit_code == 0
    assert "people with repaid = yes" in run("audit", tmp_path / "t.json").stdout


@pytest.mark.slow
def test_tables_about_different_things_are_not_merged(tmp_path, rows):
    rows["w"] = [1.0] * N
    path = write(tmp_path / "t.csv", rows)
    for name, arguments in {
        "one": COLUMNS,
        "score": (*COLUMNS[:4], "--score", "income", "--group", "sex"),
        "positive": ("--label", "repaid", "--pos-label", "no", *COLUMNS[4:]),
        "groups": (*COLUMNS[:6], "--group", "job"),
        "weight": (*COLUMNS, "--weight", "w"),
        "label": COLUMNS[4:],
    }.items():
        out = ("--equal", "selection", "--save", tmp_path / f"{name}.json", "--quiet")
        result = run("audit", path, *arguments, *out)
        assert result.exit_code == 0, result.output
        if name == "one":
            continue
        told = refused("merge", tmp_path / "one.json", tmp_path / f"{name}.json", "-o",
                       tmp_path / "sum.json")  # fmt: skip
        assert f"{name}.json" in told
    (tmp_path / "two.json").write_bytes((tmp_path / "one.json").read_bytes())
    told = refused("merge", tmp_path / "one.json", tmp_path / "two.json", "-o", tmp_path / "s.json")
    assert "one.json and two.json" in told


def test_what_is_needed_is_asked_for(tmp_path, rows):
    path = write(tmp_path / "t.csv", rows)
    assert "with --score" in refused("audit", path, "--group", "sex")
    assert "with --group" in refused("audit", path, "--score", "score")


# ---------------------------------------------------------------------- the query, and its answer


def answered(tmp_path, rows, *options):
    """The answer that DuckDB gives to the query that the command prints."""
    result = run("sql", "--table", "loans", "--score", "score", "--label", "repaid", "--group",
                 "sex", "--dialect", "duckdb", *options)  # fmt: skip
    assert result.exit_code == 0, result.output
    connection = duckdb.connect()
    connection.register("loans", pa.table(rows))
    answer = connection.sql(result.stdout.rstrip().rstrip(";"))
    answer.write_csv(str(tmp_path / "answer.csv"))
    answer.write_parquet(str(tmp_path / "answer.parquet"))
    return tmp_path / "answer.csv", tmp_path / "answer.parquet"


def alike(one, other):
    """The same but for the last digits of numbers, which depend on the order of sums."""
    if isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in other)
    if isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(other, float):
        return one == pytest.approx(other, rel=1e-9, abs=1e-12)
    return one == other


@pytest.mark.slow
def test_the_answer_to_the_query_is_the_audit(tmp_path, rows):
    rows["w"] = np.random.default_rng(0).integers(0, 5, N).tolist()
    path = write_parquet(tmp_path / "t.parquet", rows)
    for weighed in (("--weight", "w"), ()):
        expected = audited(tmp_path, path, *COLUMNS, *weighed)
        del expected["blocks"]  # means add up in another order, and differ in the last digit
        del expected["warnings"]  # the answer does not say how many people have no weight
        for answer in answered(tmp_path, rows, *weighed):
            found = audited(tmp_path, answer, "--aggregated", *COLUMNS)
            assert alike({name: found[name] for name in expected}, expected)


@pytest.mark.slow
def test_the_answer_may_be_by_bins_and_lacks_what_is_missing(tmp_path, rows):
    exact = audited(tmp_path, write_parquet(tmp_path / "t.parquet", rows), *COLUMNS)
    rows = {name: [*column, None, column[0]] for name, column in rows.items()}
    rows["score"][-1] = float("nan")
    for answer in answered(tmp_path, rows, "--bins=-3:4"):
        binned = audited(tmp_path, answer, "--aggregated", *COLUMNS)
        assert binned["sample"]["n"] == N
        assert 0.0 < binned["binned"]["auc"] < 0.01
        for gap, expected in zip(binned["gaps"], exact["gaps"], strict=True):
            assert abs(gap["value"] - expected["value"]) <= gap.get("bracket", 0.0) + 1e-12


@pytest.mark.slow
def test_answers_that_cannot_be(tmp_path, rows):
    columns = {"score": [0.1, 0.2, 0.3, 0.4], "repaid": ["yes", "no"] * 2,
               "sex": ["f", "f", "m", "m"], "n": [3, 4, 5, 6]}  # fmt: skip

    def told(**changes):
        path = write(tmp_path / "t.csv", {**columns, **changes})
        return refused("audit", path, "--aggregated", *COLUMNS)

    assert "n' of t.csv is '-1' at row 1" in told(n=[-1, 4, 5, 6])
    assert "whole" in told(n=[1.5, 4, 5, 6])
    assert "is missing at row 2" in told(n=[3, "", 5, 6])
    path = write(tmp_path / "t.csv", {**columns, "n": [3, "", 5, 6]})
    result = run("audit", path, "--aggregated", *COLUMNS, "--drop-missing", "--min-group-size", 1)
    assert "1 row " in result.output
    assert "squares" in told(w=[3, 4, 5, 6], w2=[9, 1000, 9, 9])
    by_bins = {"bin": [0, 0, 1, 1], "low": [0.1, 0.1, 0.2, 0.2], "high": [0.3, 0.3, 0.4, 0.4]}
    assert "overlap" in told(**by_bins)
    assert "at row 2" in told(**{**by_bins, "low": [0.1, 0.5, 0.2, 0.2]})
    path = write(tmp_path / "t.csv", {k: v for k, v in columns.items() if k != "n"})
    assert "'n'" in refused("audit", path, "--aggregated", *COLUMNS)
    told = refused("audit", path, "--aggregated", *COLUMNS, "--cluster", "sex")
    assert "--cluster" in told


@pytest.mark.slow
def test_an_answer_that_is_not_said_to_be_one(tmp_path, rows):
    kept = {name: rows[name] for name in ("repaid", "score", "sex")}
    path = write(tmp_path / "t.csv", {**kept, "n": [2] * N})
    assert "--aggregated" in run("audit", path, *COLUMNS).stderr
    path = write(tmp_path / "t.csv", {**rows, "n": [2] * N})
    assert "--aggregated" not in run("audit", path, *COLUMNS).stderr


def test_the_query_in_other_words():
    asked = ("sql", "--table", 'risk.lo"ans', "--score", "Score", "--group", "sex")
    assert 'FROM risk."lo""ans"' in run(*asked).stdout
    assert "`Score`" in run(*asked, "--dialect", "bigquery").stdout
    assert "[Score]" in run(*asked, "--dialect", "tsql").stdout
    assert '"order"' in run(*asked, "--group", "order").stdout
    told = refused("sql", "--table", "t", "--score", "s", "--group", "N")
    assert "'N'" in told
    assert "--dialect" in refused(*asked, "--dialect", "klingon")
    assert "--bins" in refused(*asked, "--bins", "1:0")
    assert "--bins" in refused(*asked, "--bins", "0:1e-320")
    assert "--score and --group" in refused(*asked, "--group", "Score")


def test_help_reads_well():
    for command in ("sql", "merge", "audit"):
        result = run(command, "--help")
        assert result.exit_code == 0
        assert "evenscore" in result.stdout
