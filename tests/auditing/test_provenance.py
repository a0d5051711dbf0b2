"""Where the numbers of an audit come from, and what was declared about them."""

import hashlib
import json
import pickle
from dataclasses import fields, replace

import jsonschema
import numpy as np
import pytest
from audit_schema import audit_schema
from support.making import draw, table_of

import evenscore as es
from evenscore.auditing.declared import Declared
from evenscore.auditing.differences import NOTHING, in_words, values
from evenscore.auditing.plain import from_plain, to_plain
from evenscore.auditing.provenance import InputFile, Provenance, data_sha256

HOSTILE = "<script>alert(1)</script> é\"' \u202e"
FACTS = {
    "purpose": "consumer loans",
    "decision": "Above the cut a loan is granted at once.",
    "responsible": HOSTILE,
    "population": "applicants in Spain",
    "period": "2025",
    "data": "the warehouse",
    "model": "scorecard 7",
    "tolerance": 0.03,
    "tolerance_reason": "agreed in 2025",
    "trained_on": False,
    "outcomes_of_selected_only": True,
    "people": "applicants",
    "positives": "applicants who repaid",
    "negatives": "applicants who defaulted",
    "selected": "granted a loan",
    "selected_is": "good",
    "refused": "refused",
    "groups": {"of nobody": "nobody"},
    "other": {HOSTILE: HOSTILE, "number": 12, "share": 0.25, "known": True},
}


def audit(y=None, score=None, group=None, *, seed=3, **options):
    if y is None:
        y, score, group, _ = draw(seed, n=200)
    return es.audit(y, score, sensitive_features=group, constraints="bnsp", **options)


@pytest.fixture(scope="module")
def declared():
    return audit(declared=FACTS)


# ---------------------------------------------------------------------- provenance


def test_an_audit_in_python_says_what_it_was_made_of():
    y, score, group, _ = draw(3, n=200)
    weight = np.ones(len(y))
    weight[:5] = 0.0
    cuts = es.Cuts(at=(0.2,), selected="low")
    told = audit(
        y, score, group, sample_weight=weight, tolerance=0.1, reference_group=1, cuts=cuts
    ).provenance
    assert told.versions["evenscore"] == es.__version__
    assert set(told.versions) == {"evenscore", "Python", "numpy", "scipy", "scikit-learn"}
    assert not any((told.file, told.command, told.date, told.columns, told.options))
    assert (told.rows.read, told.rows.used, told.rows.weight_zero) == (len(y), len(y) - 5, 5)
    settings = told.settings
    assert settings["tolerance"] == "0.1"
    assert settings["compared with"] == "1"
    assert settings["gaps audited"] == "bnsp"
    assert "20%" in settings["cuts in use"]
    assert "low scores" in settings["cuts in use"]
    assert es.audit_scores(table_of(y, score, group), constraints="bnsp").provenance == (
        audit(y, score, group).provenance
    )


def test_the_hash_of_the_columns_is_of_what_matters_to_the_numbers():
    y, score, group, weight = draw(3, n=200, weights="real")
    pairs = np.arange(len(y)) // 2

    def digest(y=y, score=score, group=group, weight=weight, cluster=pairs):
        return data_sha256(table_of(y, score, group, weight, cluster))

    known = digest()
    assert known == digest(cluster=[f"c{9999 - k}" for k in pairs])  # other names, same clusters
    assert known == digest(score=score.tolist(), group=[str(g) for g in group])
    changed = [
        digest(y=1 - y),
        digest(score=np.where(np.arange(len(y)) == 9, np.nextafter(score, 9.0), score)),
        digest(group=1 - group),
        digest(group=np.array(["x", "y"])[group]),
        digest(weight=weight * 2),
        digest(cluster=np.arange(len(y)) // 3),
        digest(cluster=None),
    ]
    assert len({known, *changed}) == len(changed) + 1
    order = np.random.default_rng(0).permutation(len(y))
    moved = (part[order] for part in (y, score, group))
    assert digest(weight=None, cluster=None) == digest(*moved, None, None)


def test_it_is_kept_read_back_and_described_by_the_schema(declared, tmp_path):
    declared.to_json(tmp_path / "a.json")
    read = es.AuditResult.from_json(tmp_path / "a.json")
    assert read.provenance == declared.provenance
    assert read.to_json() == declared.to_json()
    jsonschema.Draft202012Validator(audit_schema()).validate(json.loads(declared.to_json()))
    assert pickle.loads(pickle.dumps(declared.provenance)) == declared.provenance


def test_its_tables_say_everything_in_texts(declared):
    told = declared.provenance.of_file(
        InputFile("a b.csv", 1234, "f" * 64), columns=[], left_out=3,
        lacking={"score": 2, "sex": 2}, command="evenscore audit", options={}, date="2026-11-16",
    )  # fmt: skip
    source, _, facts = told.tables()
    rows = dict(source.rows)
    assert {"a b.csv", "1,234 bytes", "f" * 64, "2026-11-16"} <= set(rows.values())
    assert "(score in 2, sex in 2)" in rows["Rows left out"]
    assert int(rows["Rows read"]) == int(rows["Rows used"]) + 3
    assert " ".join(HOSTILE.split()) in dict(facts.rows).values()
    assert len(facts.rows) == len(FACTS) - 1 + len(FACTS["other"])
    for table in told.tables():
        assert all(isinstance(text, str) and text for row in table.rows for text in row)
        assert all(len(row) == len(table.columns) == table.names for row in table.rows)
    assert len(audit().provenance.tables()) == 2  # nothing was declared


def test_the_hash_of_a_file_is_of_its_bytes(tmp_path):
    path = tmp_path / "a b.csv.gz"
    path.write_bytes(b"\x1f\x8b" + bytes(100_000))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert InputFile.of(path) == InputFile("a b.csv.gz", 100_002, digest)
    with pytest.raises(ValueError, match="folder"):
        InputFile.of(tmp_path)


def test_what_was_stated_is_sealed(declared):
    told = declared.provenance
    assert told.stated() == told.stated_sha256
    other = replace(told, declared=replace(told.declared, other={"number": 13}))
    assert [n for n in told.stated() if other.stated()[n] != told.stated()[n]] == ["declared"]
    read = from_plain(Provenance, json.loads(json.dumps(to_plain(told))))
    assert read.stated() == told.stated_sha256


# ---------------------------------------------------------------------- declared facts


def test_declared_facts_are_used_and_kept(declared):
    settings = declared.settings
    assert settings.tolerance == 0.03
    assert settings.trained_on is False
    names = ("people", "positives", "negatives", "selected", "selected_is", "refused", "groups")
    assert settings.words == es.Words(*(FACTS[name] for name in names))
    assert declared.provenance.declared == Declared.of(FACTS)
    assert declared.provenance.declared.facts["number"] == 12
    assert "turned down" in declared.warnings[0]


def test_facts_that_change_no_number_change_nothing_else(declared):
    plain = audit(
        tolerance=0.03,
        trained_on=False,
        words=declared.settings.words,
        declared={"tolerance": 0.03, "selected_is": "good"},  # both agree
    )
    assert [str(finding) for finding in declared.findings] == [str(f) for f in plain.findings]
    assert declared.warnings[1:] == plain.warnings
    assert audit(declared={}).to_json() == audit().to_json()


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (dict(purpos="x"), r"'purpos' .*'purpose'"),
        (dict(purpose=" "), "'purpose' .*text"),
        (dict(purpose=None), "'purpose' is None"),
        (dict(tolerance="0.03"), "'tolerance' .*number, not '0.03'"),
        (dict(tolerance=0.7), "tolerance .*0.7"),
        (dict(trained_on=1), "'trained_on' .*true or false, not 1"),
        (dict(selected_is="fine"), "'selected_is' .*'good' or 'bad'"),
        (dict(other={"a": [1]}), "'a' must be"),
        (dict(other={1: 1}), "not 1"),
        (dict(other={"purpose": "x"}), "'purpose' has a meaning"),
    ],
)
def test_facts_that_cannot_be(facts, message):
    with pytest.raises(ValueError, match=message) as caught:
        audit(declared=facts)
    assert "\n" not in str(caught.value)


def test_facts_that_contradict_a_setting_or_are_no_facts():
    for given, facts, message in (
        (dict(tolerance=0.05), dict(tolerance=0.03), "tolerance .*0.05 .*0.03"),
        (dict(words=es.Words(people="clients")), dict(people="others"), "people .*'clients'"),
    ):
        with pytest.raises(ValueError, match=message):
            audit(**given, declared=facts)
    with pytest.raises(TypeError, match="declared"):
        audit(declared="facts.toml")


def test_every_fact_can_be_written_in_toml(tmp_path):
    path = tmp_path / "facts.toml"
    tables = ("groups", "other")
    lines = [f"{name} = {json.dumps(fact)}" for name, fact in FACTS.items() if name not in tables]
    for table in tables:
        lines.append(f"[{table}]")
        lines += [f"{json.dumps(n)} = {json.dumps(fact)}" for n, fact in FACTS[table].items()]
    path.write_text("\n".join(lines), encoding="utf-8-sig")
    assert Declared.from_toml(path) == Declared.of(FACTS)
    assert {one.name for one in fields(Declared)} == set(FACTS)


def test_files_of_facts_that_cannot_be_read(tmp_path):
    path = tmp_path / "facts.toml"
    for content, message in (
        (b"a = 1\na = 2\n", r"facts\.toml .*line 2"),
        (b"period = 2026-01-01", r"facts\.toml: .*'period' .*'2026-01-01'"),
        (b"tolerence = 0.1", r"facts\.toml: .*'tolerence'"),
        (b"purpose = '\xff'", r"facts\.toml .*UTF-8"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message) as caught:
            Declared.from_toml(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"no\.toml"):
        Declared.from_toml(tmp_path / "no.toml")


# ---------------------------------------------------------------------- differences


def test_differences_are_found_and_named():
    one = {"a": [{"name": "x"}, {"name": "y", "value": 1.0}], "b": None, "c": True, "d": "1"}
    other = {"a": [{"name": "x"}, {"name": "y", "value": 1.0 + 1e-12}], "b": None, "c": 1, "e": 0}
    found = [value for value in values(one, other) if not value.equal]
    assert [in_words(value.place, one) for value in found] == [
        "a, number 2 (y), value", "c", "d", "e",
    ]  # fmt: skip
    assert [value.close for value in found] == [True, False, False, False]
    assert found[2].again is NOTHING
    assert list(values([1, 2], [1]))[1].again is NOTHING
    assert all(value.equal for value in values({"a": 1}, {"a": 1.0}))
    assert not next(values(float("nan"), float("nan"))).equal
    assert not next(values(float("nan"), 1.0)).close
