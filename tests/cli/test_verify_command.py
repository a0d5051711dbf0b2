"""`evenscore verify`, and what `evenscore audit` records for it: the file, a date, facts."""

import json
import math
import os
import random
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from support.commands import people, refused, run, write
from support.making import often

import evenscore as es
from evenscore.auditing import provenance as recorded
from evenscore.auditing.differences import Value
from evenscore.auditing.result import AuditResult
from evenscore.cli.auditing import Asked, FileAudit, given_date
from evenscore.cli.options import AuditedSource, Gaps

ASKED = ("--label", "repaid", "--score", "score", "--group", "sex", "--pos-label", "yes")
FEW = (*ASKED, "--constraint", "bnsp")
FACTS = """
purpose = "Decide who is granted a loan"
tolerance = 0.03
outcomes_of_selected_only = true
positives = "people who repaid"

[other]
"people asked" = 12
"""


def columns(n=200):
    """People with a weight, a household and a column of no use."""
    made = people(n)
    made["w"] = [0.5 + k % 4 for k in range(n)]
    made["w"][3] = 0.0
    made["home"] = [k // 2 for k in range(n)]
    return made


def content(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file of scores, facts, and an audit of them, `report.json`."""
    folder = tmp_path_factory.mktemp("verify")
    write(folder / "scores.csv", columns())
    (folder / "facts.toml").write_text(FACTS)
    out = ("--declare", folder / "facts.toml", "--date", "2026-11-16")
    made = run("audit", folder / "scores.csv", *FEW, *out, "--json", folder / "report.json", "-q")
    assert made.exit_code == 0, made.output
    return folder


@pytest.fixture
def computed_once(folder, monkeypatch):
    """Recomputing the same audit of the same file gives the same: let it be done once here."""
    result = AuditResult.from_json(folder / "report.json")
    monkeypatch.setattr(FileAudit, "run", lambda *_, **__: result)


# ---------------------------------------------------------------------- what is verified


WAYS = {
    "weights, clusters and words": (
        *("--weight", "w", "--cluster", "home", "--people", "clients", "--selected-is", "bad"),
        *("--trained-on", "--title", "a 'title'", "--tolerance", "0.1", "--constraint", "bnsp"),
    ),
    "several groups": (
        *("--group", "job", "--min-group-size", "5", "--seed", "4"),
        *("--reference-group", "all others", "--constraint", "bnsp"),
    ),
    "cuts": ("--cuts", "negatives=0.1,0.2", "--equal", "fpr,precision"),
    "undefined gaps": ("--cuts", "thresholds=0.5,99", "--select", "low", "--equal", "fpr"),
    "mixtures": ("--constraint", "0.5 H0 + 0.5 H1,G0 = 0.5 H0 + 0.5 H1,G1", "--roc-rates", "0:0.1"),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_every_kind_of_audit_is_verified(folder, tmp_path, way):
    out = ("--json", tmp_path / "a.json", "--quiet")
    assert run("audit", folder / "scores.csv", *ASKED, *WAYS[way], *out).exit_code == 0
    told = run("verify", tmp_path / "a.json", folder / "scores.csv")
    assert told.exit_code == 0, told.output
    assert "a.json follows from scores.csv" in told.stdout
    assert told.stderr == ""


def test_without_labels_and_with_missing_values(tmp_path):
    odd = columns()
    odd["score"][4], odd["sex"][4], odd["score"][9] = "", "", "nan"
    path = write(tmp_path / "scores.csv", odd)
    asked = ("--score", "score", "--group", "sex", "--drop-missing", "--weight", "w")
    assert run("audit", path, *asked, "--json", tmp_path / "a.json", "-q").exit_code == 0
    assert run("verify", tmp_path / "a.json", path, "-q").output == ""
    rows = content(tmp_path / "a.json")["provenance"]["rows"]
    assert rows == {
        "read": 200, "used": 197, "left_out": 2, "weight_zero": 1,
        "lacking": {"score": 2, "sex": 1},
    }  # fmt: skip


def test_a_file_and_a_column_with_odd_names(tmp_path):
    made = columns()
    odd = "<script>\"'é ;"
    made[odd] = made.pop("sex")
    path = write(tmp_path / "a b'\"<script>é.csv", made)
    asked = (*ASKED[:4], *ASKED[6:], "--constraint", "bnsp", "--group", odd)
    command = ("audit", path, *asked, "--json", tmp_path / "a.json", "-q")
    assert run(*command).exit_code == 0
    told = run("verify", tmp_path / "a.json", path)
    assert told.exit_code == 0, told.output
    stored = content(tmp_path / "a.json")["provenance"]
    assert stored["file"]["name"] == path.name
    assert stored["file"]["size"] == path.stat().st_size
    assert shlex.split(stored["command"]) == ["evenscore", *map(str, command)]
    assert {"role": "group", "name": odd} in stored["columns"]


@pytest.mark.slow
def test_what_is_declared_is_said_to_be_unconfirmed(folder, tmp_path):
    told = run("verify", folder / "report.json", folder / "scores.csv")
    assert told.exit_code == 0
    assert "confirm" in told.stdout
    stored = content(folder / "report.json")
    assert stored["provenance"]["date"] == "2026-11-16"
    assert stored["provenance"]["declared"]["other"] == {"people asked": 12}
    assert stored["settings"]["tolerance"] == 0.03
    assert stored["settings"]["words"]["positives"] == "people who repaid"
    renamed = tmp_path / "renamed.csv"
    renamed.write_bytes((folder / "scores.csv").read_bytes())
    assert run("verify", folder / "report.json", renamed, "-q").exit_code == 0


# ---------------------------------------------------------------------- what differs


@pytest.mark.slow
def test_an_altered_byte_of_the_data(folder, tmp_path):
    data = (folder / "scores.csv").read_bytes()
    other = tmp_path / "scores.csv"
    row = data.index(b"\n", 4000) + 1
    label, score, *_ = data[row : data.index(b"\n", row)].split(b",")
    digit = row + len(label) + score.index(b".") + 2
    other.write_bytes(data[:digit] + (b"1" if data[digit : digit + 1] != b"1" else b"2")
                      + data[digit + 1 :])  # fmt: skip
    result = run("verify", folder / "report.json", other)
    assert result.exit_code == 2
    for part in ("report.json", "scores.csv", "not the file"):
        assert part in result.stderr
    assert result.stderr.count("\n") == 1
    assert "more differ" in result.stdout

    other.write_bytes(data[:digit] + b"x" + data[digit + 1 :])
    told = refused("verify", folder / "report.json", other)
    assert "not the file" in told
    assert "'score' of scores.csv" in told

    other.write_bytes(data.replace(b",judge,", b",Judge,", 1))
    told = refused("verify", folder / "report.json", other)
    assert "not the file" in told
    assert "are the same" in told


def leaves(part, place=()):
    """The place of everything in plain data that is not a list or an object."""
    if isinstance(part, dict | list):
        for key, item in part.items() if isinstance(part, dict) else enumerate(part):
            yield from leaves(item, (*place, key))
    else:
        yield place, part


def altered(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return math.nextafter(value, math.inf)
    return None


def put(data, place, value):
    for key in place[:-1]:
        data = data[key]
    data[place[-1]] = value


REPORTED = {
    ("provenance", "declared"): "provenance.declared",
    ("provenance", "options"): "provenance.options",
    ("provenance", "file"): "not the file",
}


@pytest.mark.slow
def test_every_altered_number_is_named(folder, tmp_path, computed_once):
    """Numbers by one unit in the last place, a random sample of them and all of provenance."""
    original = (folder / "report.json").read_text(encoding="utf-8")
    places = [
        (place, value)
        for place, value in leaves(json.loads(original))
        if isinstance(value, int | float)
    ]
    provenance = [pair for pair in places if pair[0][0] == "provenance"]
    assert {("provenance", "declared", "other", "people asked"), ("provenance", "rows", "read"),
            ("provenance", "options", "seed")} <= {place for place, _ in provenance}  # fmt: skip
    path = tmp_path / "a.json"
    for place, value in [
        *provenance,
        *random.Random(0).sample(places, min(len(places), often(6))),
    ]:
        data = json.loads(original)
        put(data, place, altered(value))
        path.write_text(json.dumps(data), encoding="utf-8")
        result = run("verify", path, folder / "scores.csv", "-q")
        assert result.exit_code == 2, place
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
        told = result.stderr
        expected = REPORTED.get(place[:2])
        if expected is None:
            last = next(step for step in reversed(place) if isinstance(step, str))
            expected = f"{last.replace('_', ' ')}"
            assert "1 value differs" in told, (place, told)
            assert f"{altered(value)!r} in the report, {value!r} recomputed" in told, (place, told)
        assert expected in told, (place, told)


@pytest.mark.slow
def test_other_alterations_are_named(folder, tmp_path, computed_once):
    path = tmp_path / "a.json"
    original = content(folder / "report.json")
    stated = {**original["provenance"]["stated_sha256"], "date": "0"}
    for place, value, names in (
        (("provenance", "date"), "2026-11-17", ["provenance.date"]),
        (("provenance", "command"), "evenscore audit scores.csv", ["provenance.command"]),
        (("provenance", "options", "group"), ["job"], ["provenance.options"]),
        (("provenance", "options", "more"), 1, ["provenance.options"]),
        (("provenance", "versions", "numpy"), "0.1", ["provenance.versions"]),
        (("provenance", "declared", "purpose"), "Decide who is", ["provenance.declared"]),
        (("provenance", "file", "name"), "other.csv", ["provenance.file.name"]),
        (("provenance", "stated_sha256"), stated, ["provenance.date"]),
        (("title",), "other", ["title", "other in the report"]),
        (("gaps", 0, "verdict"), "within", ["verdict", "within in the report"]),
        (("gaps", 0, "low"), math.nan, ["number 1 (bnsp, female and male), low: nan"]),
        (("gaps", 0, "value"), "high", ["value", "'high'"]),
        (("warnings",), [], ["warnings, number 1", "nothing in the report"]),
        (("more",), 1, ["more: 1", "nothing recomputed"]),
        (("schema_version",), "3.0", ["schema version: 3.0"]),
    ):
        data = content(folder / "report.json")
        put(data, place, value)
        path.write_text(json.dumps(data), encoding="utf-8")
        told = refused("verify", path, folder / "scores.csv", "-q")
        assert all(name in told for name in names), (place, told)


def test_differences_are_listed_up_to_ten(folder, tmp_path, computed_once):
    data = content(folder / "report.json")
    for k in range(12):
        data["blocks"]["cuts_in_use"]["curves"]["thresholds"][k] = 5.0 + k
    (tmp_path / "a.json").write_text(json.dumps(data), encoding="utf-8")
    result = run("verify", tmp_path / "a.json", folder / "scores.csv")
    assert result.exit_code == 2
    assert "12 values" in result.stderr
    assert "thresholds, number 1: " in result.stderr
    assert "2 more" in result.stdout
    assert "14.0" in result.stdout
    assert "15.0" not in result.stdout


@pytest.mark.slow
def test_other_versions_are_said_and_compared_to_the_last_digits(folder, tmp_path, monkeypatch):
    versions = recorded._versions()
    path = tmp_path / "a.json"

    def told(factor):
        data = content(folder / "report.json")
        data["gaps"][0]["value"] *= factor
        path.write_text(json.dumps(data), encoding="utf-8")
        return run("verify", path, folder / "scores.csv")

    assert "last digits" in told(1 + 1e-13).stderr
    monkeypatch.setattr(recorded, "_versions", lambda: {**versions, "Python": "3.99"})
    assert f"Python {versions['Python']} then, 3.99 now" in told(1.0).stdout
    assert told(1 + 1e-13).exit_code == 2
    monkeypatch.setattr(recorded, "_versions", lambda: {**versions, "numpy": "9.9"})
    close = told(1 + 1e-13)
    assert close.exit_code == 0
    assert f"numpy {versions['numpy']} then, 9.9 now" in close.stdout
    far = told(1 + 1e-6)
    assert far.exit_code == 2
    assert "1 value differs" in far.stderr
    assert "1e-9" in far.stderr
    data = content(folder / "report.json")
    del data["sample"]["clusters"]  # a field that another version did not have
    path.write_text(json.dumps(data), encoding="utf-8")
    assert run("verify", path, folder / "scores.csv").exit_code == 0
    del data["gaps"][-1]  # but no version leaves out a gap
    path.write_text(json.dumps(data), encoding="utf-8")
    assert "gaps, number" in run("verify", path, folder / "scores.csv").stderr


# ---------------------------------------------------------------------- what cannot be verified


def test_reports_that_cannot_be_verified(folder, tmp_path):
    table, path = folder / "scores.csv", tmp_path / "a.json"
    assert "no.json" in refused("verify", tmp_path / "no.json", table)
    assert "is a folder" in refused("verify", tmp_path, table)
    assert "no.csv" in refused("verify", folder / "report.json", tmp_path / "no.csv")
    for text, told in (
        ("{", "JSON"),
        ("[" * 100_000, "JSON"),
        ("[]", "not an audit"),
        ('{"format": "evenscore.repair"}', "not an audit"),
        ('{"format": "evenscore.audit", "schema_version": "9.0"}', "schema version 9.0"),
        ('{"format": "evenscore.audit", "schema_version": "3.3"}', "'title'"),
    ):
        path.write_text(text)
        assert told in refused("verify", path, table)
    y = [0, 1] * 100
    result = es.audit(y, range(200), sensitive_features=["a", "a", "b", "b"] * 50)
    result.to_json(path)
    assert "names no file" in refused("verify", path, table)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("of_tomorrow", 1, "'of_tomorrow'"),
        ("weight", -1, "-1"),
        ("score", [1, 2], "[1, 2]"),
        ("group", "sex", "'sex'"),
        ("seed", None, "None"),
        ("group", [], "group"),
    ],
)
def test_an_option_of_another_kind_is_named(folder, tmp_path, name, value, told):
    data = AuditResult.from_json(folder / "report.json").to_dict()
    data["provenance"]["options"] = {**data["provenance"]["options"], name: value}
    changed = AuditResult.from_dict(data).provenance.sealed()
    data["provenance"]["stated_sha256"] = changed.stated_sha256
    (tmp_path / "a.json").write_text(json.dumps(data), encoding="utf-8")
    said = refused("verify", tmp_path / "a.json", folder / "scores.csv")
    assert name in said
    assert told in said


def test_a_number_that_no_double_holds_differs():
    assert not Value((), 10**400, 1.5).close


def test_options_are_carried_whatever_they_are():
    """Any field of the three, so that a new option needs no change here."""
    asked = FileAudit(
        AuditedSource(table=Path("a.csv"), group=["sex"], weight="w", label="y"),
        Gaps(cuts="everyone=0.1", inclusive=True),
        Asked(score="s", tolerance=0.1, cluster=["home"]),
    )
    options = json.loads(json.dumps(asked.options))
    names = {one.name for kind in (AuditedSource, Gaps, Asked) for one in fields(kind)}
    assert set(options) == names - {"table"}
    assert FileAudit.of(Path("a.csv"), options) == asked
    few = {name: options[name] for name in ("group", "score")}
    assert FileAudit.of(Path("b.csv"), few).options["confidence_level"] == 0.95
    with pytest.raises(ValueError, match="'table'"):
        FileAudit.of(Path("a.csv"), {**options, "table": "b.csv"})


# ---------------------------------------------------------------------- facts and dates


@pytest.mark.slow
def test_facts_and_options(folder, tmp_path):
    table, facts = folder / "scores.csv", ("--declare", folder / "facts.toml")
    told = refused("audit", table, *FEW, *facts, "--tolerance", "0.05")
    assert "0.05 and declared as 0.03" in told
    told = refused("audit", table, *FEW, *facts, "--positives", "payers")
    assert "'payers' and declared as" in told
    out = ("--tolerance", "0.03", "--json", tmp_path / "a.json", "--people", "applicants")
    shown = run("audit", table, *FEW, *facts, *out)
    assert shown.exit_code == 0
    assert content(tmp_path / "a.json")["settings"]["words"]["people"] == "applicants"
    assert run("verify", tmp_path / "a.json", table, "-q").exit_code == 0
    bad = tmp_path / "facts.toml"
    bad.write_text("purpose = 'x'\nmore\n")
    assert "facts.toml" in refused("audit", table, *FEW, "--declare", bad)
    bad.write_text("more = 1")
    assert "'more'" in refused("audit", table, *FEW, "--declare", bad)
    told = refused("audit", table, *FEW, *facts, "--json", folder / "facts.toml")
    assert "facts.toml" in told


def test_the_tolerance_that_fails_is_the_declared_one(folder, tmp_path):
    facts = tmp_path / "facts.toml"
    facts.write_text("tolerance = 0.49")
    asked = ("audit", folder / "scores.csv", *FEW, "--fail-on-gap", "--quiet")
    assert run(*asked, "--declare", facts).exit_code == 0
    facts.write_text("tolerance = 0.001")
    failed = run(*asked, "--declare", facts)
    assert failed.exit_code == 1
    assert "beyond 0.001" in failed.stderr


def test_dates_are_given_and_never_taken_from_the_clock(monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert given_date(None) == ""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86399")
    assert given_date(None) == "1970-01-01"
    assert given_date("2026-11-16") == "2026-11-16"
    for wrong in ("x", "1.5", "9" * 30):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
        with pytest.raises(ValueError, match="SOURCE_DATE_EPOCH"):
            given_date(None)
    for wrong in ("2026-13-01", "16.11.2026", "20261116", "2026-11-16T10:00", "2026-W01-1", ""):
        with pytest.raises(ValueError, match="--date"):
            given_date(wrong)


@pytest.mark.slow
def test_a_date_of_the_environment_is_verified_without_it(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    out = ("--json", tmp_path / "a.json", "-q")
    assert run("audit", folder / "scores.csv", *FEW, *out).exit_code == 0
    assert content(tmp_path / "a.json")["provenance"]["date"] == "1970-01-01"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "999999999")
    assert run("verify", tmp_path / "a.json", folder / "scores.csv", "-q").exit_code == 0
    told = refused("audit", folder / "scores.csv", *FEW, "--date", "today")
    assert "'today'" in told


@pytest.mark.slow
def test_same_command_same_bytes_wherever_and_whenever(folder, tmp_path):
    """Seconds: two processes import everything."""
    asked = [*FEW, "--declare", "facts.toml", "--json", "a.json", "--html", "a.html", "-q"]
    made = []
    for k, name in enumerate(["one", "another é"]):
        place = tmp_path / name
        place.mkdir()
        for file in ("scores.csv", "facts.toml"):
            (place / file).write_bytes((folder / file).read_bytes())
        os.utime(place / "scores.csv", (k * 10**9, k * 10**9))
        environment = {**os.environ, "PYTHONHASHSEED": f"{k + 1}", "TZ": ("UTC", "Asia/Tokyo")[k]}
        environment["PYTHONPATH"] = str(Path(es.__file__).parents[1])
        environment.pop("SOURCE_DATE_EPOCH", None)
        command = [sys.executable, "-m", "evenscore.cli", "audit", "scores.csv", *asked]
        subprocess.run(command, check=True, cwd=place, env=environment)
        made.append([(place / file).read_bytes() for file in ("a.json", "a.html")])
    assert made[0] == made[1]
    assert str(tmp_path).encode() not in made[0][0]
    assert json.loads(made[0][0])["provenance"]["command"] == shlex.join(
        ["evenscore", "audit", "scores.csv", *asked]
    )
