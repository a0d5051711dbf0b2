"""A file of every format and version ever written is read, or refused in a sentence that says why.

`tests/stored` holds them: audits, repairs, certified choices, tables of scores and models, each
named after its kind and version. Whoever changes a format adds a file of the new version here and
keeps the old ones.
"""

import json
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

import evenscore as es
from evenscore.auditing.stored import SCHEMA_VERSION
from evenscore.choosing.certified import VERSION as CERTIFIED
from evenscore.files.models import FORMAT_VERSION, load_model
from evenscore.scores.stored import VERSION

STORED = Path(__file__).parent / "stored"
FILES = sorted(path for path in STORED.iterdir() if path.name != "numbers.json")
READERS = {
    "audit": es.AuditResult.from_json,
    "certified": es.CertifiedChoice.from_json,
    "repair": es.Repair.from_json,
    "scores": es.GroupedScores.load,
    "model": load_model,
}
# A model is read by the version of the format that wrote it and by no other.
GONE = {"model-1.skops": "evenscore 0.1.0", "model-2.skops": "evenscore 0.2.0"}


def kind_and_version(path):
    kind, version = path.stem.split("-")[:2]
    return kind, version


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_stored_file_is_read(path):
    kind, _ = kind_and_version(path)
    if path.name in GONE:
        with pytest.raises(ValueError, match=GONE[path.name]) as caught:
            READERS[kind](path)
        assert "\n" not in str(caught.value)
    else:
        assert READERS[kind](path) is not None


def test_the_versions_written_today_are_among_them():
    known = {kind_and_version(path) for path in FILES}
    assert ("certified", CERTIFIED) in known
    assert {("audit", SCHEMA_VERSION), ("scores", VERSION), ("model", FORMAT_VERSION)} <= known
    repair = json.loads((STORED / "repair-2.0.json").read_text())
    assert repair["version"] == "2.0"


@pytest.mark.parametrize("path", sorted(STORED.glob("scores-*.json")), ids=lambda path: path.name)
def test_stored_tables_follow_their_schema(path, tmp_path):
    schema = json.loads(
        resources.files("evenscore.scores").joinpath("scores.schema.json").read_text()
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    checker = jsonschema.Draft202012Validator(schema)
    checker.validate(json.loads(path.read_text()))
    checker.validate(json.loads(es.GroupedScores.load(path).save(tmp_path / "s.json").read_text()))
    for name in schema["required"]:
        broken = {k: v for k, v in json.loads(path.read_text()).items() if k != name}
        assert not checker.is_valid(broken)


def test_an_audit_of_version_one_decides_as_it_did_then():
    """Its reader had to decide: the same gaps are beyond, by the same correction, as in 0.1.0."""
    read = es.AuditResult.from_json(STORED / "audit-1.0-ten weighted.json")
    assert read.n_gaps == 45 * (8 + 4)
    assert {gap.verdict for gap in read.gaps} <= {"beyond", "within", "unclear", "undefined"}
    assert read.settings.words.selected_is is None
    assert es.AuditResult.from_json(STORED / "audit-1.0-two.json").settings.words.selected_is == (
        "good"
    )
