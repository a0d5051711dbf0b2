"""`evenscore verify`, and what `evenscore audit` records for it: the file, a date, facts."""

import gzip
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
from support.commands import people, refused, run, write, write_parquet
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


def columns(n=300):
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
    "default": (),
    "weights": ("--weight", "w"),
    "clusters": ("--cluster", "home"),
    "several groups": ("--group", "job", "--min-group-size", "5", "--constraint", "bnsp"),
    "a reference": ("--reference-group", "male", "--constraint", "bnsp", "--seed", "4"),
    "cuts": ("--cuts", "negatives=0.1,0.2", "--equal", "fpr,precision"),
    "thresholds": ("--cuts", "thresholds=0.5", "--select", "low", "--inclusive"),
    "undefined gaps": ("--cuts", "thresholds=0.5,99", "--equal", "fpr"),
    "mixtures": ("--constraint", "0.5 H0 + 0.5 H1,G0 = 0.5 H0 + 0.5 H1,G1", "--roc-rates", "0:0.1"),
    "ROC gaps": ("--roc-rates", "0.25", "--on", "negatives", "--title", "a 'title'"),
    "words": ("--people", "clients", "--selected-is", "bad", "--trained-on", "--tolerance", "0.1"),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_kind_of_audit_is_verified(folder, tmp_path, way):
    out = ("--json", tmp_path / "a.json", "--quiet")
    assert run("audit", folder / "scores.csv", *ASKED, *WAYS[way], *out).exit_code == 0
    told = run("verify", tmp_path / "a.json", folder / "scores.csv")
    assert told.exit_code == 0, told.output
    assert "a.json follows from scores.csv: its SHA-256 and all " in told.stdout
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
        "read": 300, "used": 297, "left_out": 2, "weight_zero": 1,
        "lacking": {"score": 2, "sex": 1},
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["gz", "parquet"])
def test_other_kinds_of_files_under_odd_names(tmp_path, kind):
    made = columns()
    made["<script>\"'é ;"] = made.pop("sex")
    name = "a b'\"<script>é."
    if kind == "gz":
        plain = write(tmp_path / "plain.csv", made)
        path = tmp_path / f"{name}csv.gz"
        path.write_bytes(gzip.compress(plain.read_bytes()))
    else:
        path = write_parquet(tmp_path / f"{name}parquet", made)
    asked = ("--label", "repaid", "--pos-label", "yes", "--score", "score", "--constraint", "bnsp")
    command = ("audit", path, *asked, "--group", "<script>\"'é ;", "--json", tmp_path / "a.json")
    assert run(*command, "-q").exit_code == 0
    told = run("verify", tmp_path / "a.json", path)
    assert told.exit_code == 0, told.output
    stored = content(tmp_path / "a.json")["provenance"]
    assert stored["file"]["name"] == path.name
    assert stored["file"]["size"] == path.stat().st_size
    assert shlex.split(stored["command"]) == ["evenscore", *map(str, command), "-q"]
    assert {"role": "group", "name": "<script>\"'é ;"} in stored["columns"]


def test_what_is_declared_is_said_to_be_unconfirmed(folder, tmp_path):
    told = run("verify", folder / "report.json", folder / "scores.csv")
    assert told.exit_code == 0
    assert "no computation can confirm it" in told.stdout
    stored = content(folder / "report.json")
    assert stored["provenance"]["date"] == "2026-11-16"
    assert stored["provenance"]["declared"]["other"] == {"people asked": 12}
    assert stored["settings"]["tolerance"] == 0.03
    assert stored["settings"]["words"]["positives"] == "people who repaid"
    renamed = tmp_path / "renamed.csv"
    renamed.write_bytes((folder / "scores.csv").read_bytes())
    assert run("verify", folder / "report.json", renamed, "-q").exit_code == 0


# ---------------------------------------------------------------------- what differs


def test_an_altered_byte_of_the_data(folder, tmp_path):
    data = (folder / "scores.csv").read_bytes()
    other = tmp_path / "scores.csv"
    row = data.index(b"\n", 4000) + 1
    label, score, *_ = data[row : data.index(b"\n", row)].split(b",")
    digit = row + len(label) + score.index(b".") + 2
    other.write_bytes(data[:digit] + (b"1" if data[digit : digit + 1] != b"1" else b"2")
                      + data[digit + 1 :])  # fmt: skip
    assert sum(a != b for a, b in zip(data, other.read_bytes(), strict=True)) == 1
    result = run("verify", folder / "report.json", other)
    assert result.exit_code == 2
    assert "report.json does not follow from scores.csv: of " in result.stderr
    assert "is not the file that was audited" in result.stderr
    assert result.stderr.count("\n") == 1
    assert "What differs" in result.stdout
    assert "more differ." in result.stdout

    other.write_bytes(data[:digit] + b"x" + data[digit + 1 :])
    told = refused("verify", folder / "report.json", other)
    assert "is not the file that was audited" in told
    assert "it cannot be audited alike: Column 'score' of scores.csv must hold numbers" in told

    irrelevant = data.replace(b",judge,", b",Judge,", 1)
    other.write_bytes(irrelevant)
    told = refused("verify", folder / "report.json", other)
    assert "is not the file that was audited" in told
    assert "yet all " in told
    assert told.endswith("numbers, texts and verdicts are the same.")


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
    ("provenance", "file"): "is not the file that was audited",
}


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
        *random.Random(0).sample(places, min(len(places), often(15))),
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


def test_other_alterations_are_named(folder, tmp_path, computed_once):
    path = tmp_path / "a.json"

    def told(place, value):
        data = content(folder / "report.json")
        put(data, place, value)
        path.write_text(json.dumps(data), encoding="utf-8")
        return refused("verify", path, folder / "scores.csv", "-q")

    changed = "was changed after the audit: provenance."
    for place, value in (
        (("date",), "2026-11-17"),
        (("command",), "evenscore audit scores.csv"),
        (("options", "group"), ["job"]),
        (("options", "more"), 1),
        (("versions", "numpy"), "0.1"),
        (("declared", "purpose"), "Decide who is granted a loam"),
        (("declared", "tolerance"), 0.3),
    ):
        assert f"{changed}{place[0]} is not what" in told(("provenance", *place), value)
    assert f"{changed}file.name is" in told(("provenance", "file", "name"), "other.csv")
    assert f"{changed}date is" in told(("provenance", "stated_sha256"), {
        **content(folder / "report.json")["provenance"]["stated_sha256"], "date": "0"})  # fmt: skip
    assert "in title: other in the report, scores.csv: score by sex rec" in told(
        ("title",), "other"
    )
    assert "verdict: within in the report" in told(("gaps", 0, "verdict"), "within")
    assert "gaps, number 1 (bnsp, female and male), low: nan in" in told(
        ("gaps", 0, "low"), math.nan
    )
    assert "value must be a number, not 'high'" in told(("gaps", 0, "value"), "high")
    assert "warnings, number 1: nothing in the report" in told(("warnings",), [])
    assert "in more: 1 in the report, nothing recomputed" in told(("more",), 1)
    assert "in schema version: 3.0 in the report" in told(("schema_version",), "3.0")


def test_differences_are_listed_up_to_ten(folder, tmp_path, computed_once):
    data = content(folder / "report.json")
    for k in range(12):
        data["blocks"]["cuts_in_use"]["curves"]["thresholds"][k] = 5.0 + k
    (tmp_path / "a.json").write_text(json.dumps(data), encoding="utf-8")
    result = run("verify", tmp_path / "a.json", folder / "scores.csv")
    assert result.exit_code == 2
    assert (
        "12 values differ, the first in blocks, cuts in use, curves, thresholds, number 1: "
        in result.stderr
    )
    assert "2 more differ." in result.stdout
    assert "14.0" in result.stdout
    assert "15.0" not in result.stdout


def test_other_versions_are_said_and_compared_to_the_last_digits(folder, tmp_path, monkeypatch):
    versions = recorded._versions()
    path = tmp_path / "a.json"

    def told(factor):
        data = content(folder / "report.json")
        data["gaps"][0]["value"] *= factor
        path.write_text(json.dumps(data), encoding="utf-8")
        return run("verify", path, folder / "scores.csv")

    assert "(all in the last digits only, as on another processor)" in told(1 + 1e-13).stderr
    monkeypatch.setattr(recorded, "_versions", lambda: {**versions, "Python": "3.99"})
    now = f"with other versions: Python {versions['Python']} then, 3.99 now)"
    assert now in told(1.0).stdout
    assert told(1 + 1e-13).exit_code == 2
    monkeypatch.setattr(recorded, "_versions", lambda: {**versions, "numpy": "9.9"})
    close = told(1 + 1e-13)
    assert close.exit_code == 0
    assert f"numpy {versions['numpy']} then, 9.9 now; numbers were therefore" in close.stdout
    far = told(1 + 1e-6)
    assert far.exit_code == 2
    assert "1 value differs" in far.stderr
    assert "compared to a relative 1e-9" in far.stderr
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
    assert refused("verify", tmp_path / "no.json", table).startswith("There is no file ")
    assert refused("verify", tmp_path, table).endswith(" is a folder, not a file.")
    told = refused("verify", folder / "report.json", tmp_path / "no.csv")
    assert told == f"There is no file {tmp_path / 'no.csv'}."
    for text, message in (
        ("{", "is not a JSON file"),
        ("[" * 100_000, "is not a JSON file"),
        ("[]", "a.json: This is not an audit"),
        ('{"format": "evenscore.repair"}', "a.json: This is not an audit"),
        ('{"format": "evenscore.audit", "schema_version": "9.0"}', "of schema version 9.0"),
        ('{"format": "evenscore.audit", "schema_version": "3.3"}', "audit lacks 'title'"),
    ):
        path.write_text(text)
        assert message in refused("verify", path, table)
    path.write_text(json.dumps({**content(folder / "report.json"), "provenance": None}))
    assert "does not say where" in refused("verify", path, table)
    y = [0, 1] * 100
    result = es.audit(y, range(200), sensitive_features=["a", "a", "b", "b"] * 50)
    result.to_json(path)
    assert "was made in Python and names no file" in refused("verify", path, table)


def test_an_option_of_a_later_version_is_named(folder, tmp_path):
    result = AuditResult.from_json(folder / "report.json")
    data = result.to_dict()
    data["provenance"]["options"] = {**data["provenance"]["options"], "of_tomorrow": 1}
    changed = AuditResult.from_dict(data).provenance.sealed()
    data["provenance"]["stated_sha256"] = changed.stated_sha256
    (tmp_path / "a.json").write_text(json.dumps(data), encoding="utf-8")
    told = refused("verify", tmp_path / "a.json", folder / "scores.csv")
    assert told.endswith("The option 'of_tomorrow' is not known to this evenscore.")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("weight", -1, "The option weight must be of type text, not -1."),
        ("score", [1, 2], "The option score must be of type text, not [1, 2]."),
        ("cuts", 1e308, "The option cuts must be of type text, not 1e+308."),
        ("group", "sex", "The option group must be a list, not 'sex'."),
        ("seed", None, "The option seed must be of type whole number, not None."),
        ("group", [], "Say at least one column of groups with --group."),
    ],
)
def test_an_option_of_another_kind_is_named(folder, tmp_path, name, value, told):
    data = AuditResult.from_json(folder / "report.json").to_dict()
    options = dict(data["provenance"]["options"])
    options[name] = value
    if told.endswith("missing."):
        del options[name]
    data["provenance"]["options"] = options
    changed = AuditResult.from_dict(data).provenance.sealed()
    data["provenance"]["stated_sha256"] = changed.stated_sha256
    (tmp_path / "a.json").write_text(json.dumps(data), encoding="utf-8")
    assert refused("verify", tmp_path / "a.json", folder / "scores.csv").endswith(told)


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
    with pytest.raises(ValueError, match="The option 'table' is not known"):
        FileAudit.of(Path("a.csv"), {**options, "table": "b.csv"})


# ---------------------------------------------------------------------- facts and dates


def test_facts_and_options(folder, tmp_path):
    table, facts = folder / "scores.csv", ("--declare", folder / "facts.toml")
    told = refused("audit", table, *FEW, *facts, "--tolerance", "0.05")
    assert told == "tolerance is given as 0.05 and declared as 0.03: leave one of them out."
    told = refused("audit", table, *FEW, *facts, "--positives", "payers")
    assert told.startswith("positives is given as 'payers' and declared as 'people who repaid'")
    out = ("--tolerance", "0.03", "--json", tmp_path / "a.json", "--people", "applicants")
    shown = run("audit", table, *FEW, *facts, *out)
    assert "selected in the past" in " ".join(shown.stdout.split())
    assert content(tmp_path / "a.json")["settings"]["words"]["people"] == "applicants"
    assert run("verify", tmp_path / "a.json", table, "-q").exit_code == 0
    bad = tmp_path / "facts.toml"
    bad.write_text("purpose = 'x'\nmore\n")
    assert "facts.toml is not TOML: " in refused("audit", table, *FEW, "--declare", bad)
    bad.write_text("more = 1")
    assert "facts.toml: declared has no fact 'more'" in refused(
        "audit", table, *FEW, "--declare", bad
    )
    assert "facts.toml would hold JSON" in refused(
        "audit", table, *FEW, *facts, "--json", folder / "facts.toml"
    )


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
        with pytest.raises(ValueError, match="SOURCE_DATE_EPOCH must be a whole number of sec"):
            given_date(None)
    for wrong in ("2026-13-01", "16.11.2026", "20261116", "2026-11-16T10:00", "2026-W01-1", ""):
        with pytest.raises(ValueError, match="--date must be a day such as 2026-11-16"):
            given_date(wrong)


def test_a_date_of_the_environment_is_verified_without_it(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    out = ("--json", tmp_path / "a.json", "-q")
    assert run("audit", folder / "scores.csv", *FEW, *out).exit_code == 0
    assert content(tmp_path / "a.json")["provenance"]["date"] == "1970-01-01"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "999999999")
    assert run("verify", tmp_path / "a.json", folder / "scores.csv", "-q").exit_code == 0
    told = refused("audit", folder / "scores.csv", *FEW, "--date", "today")
    assert told == "--date must be a day such as 2026-11-16, not 'today'."


def test_same_command_same_bytes_wherever_and_whenever(folder, tmp_path):
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
