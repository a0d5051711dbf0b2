"""Results: kept and read back unchanged, described by a schema, shown alike, compared in pairs."""

import io
import json
import math
import re
from dataclasses import replace

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
from audit_schema import SCHEMA_FILE, audit_schema, schema_text
from support.making import draw, every_family, table_of
from support.reference import Rows

import evenscore as es
from evenscore.auditing.audit import audit_scores
from evenscore.auditing.findings import findings_of
from evenscore.auditing.plain import from_plain, to_plain
from evenscore.inference import Estimate
from evenscore.inference.decisions import decide
from evenscore.inference.paired import Paired

HOSTILE = ("<script>alert(1)</script>", "[bold]{0}[/bold] é\"'&")


@pytest.fixture(scope="module")
def columns():
    y, score, group, _ = draw(21, n=200, levels=None)
    return y, score, np.array(HOSTILE, dtype=object)[group]


@pytest.fixture(scope="module")
def result(columns):
    y, score, group = columns
    return es.audit(
        y, score, sensitive_features=group, title="<b>title</b>", constraints=every_family()
    )


@pytest.fixture(scope="module")
def awkward():
    """One group has no positives, one a single negative: NaN and infinities everywhere."""
    y, score, group, _ = draw(22, n=60, n_groups=3, levels=3)
    keep = ~((y == 1) & (group == 2)) & ~((y == 0) & (group == 1) & (np.arange(len(y)) > 3))
    return es.audit(y[keep], score[keep], sensitive_features=group[keep])


@pytest.fixture(scope="module")
def small():
    y, score, group, _ = draw(24, n=80)
    return es.audit(y, score, sensitive_features=group, constraints="bnsp")


# ---------------------------------------------------------------------- JSON


def test_round_trip(result, awkward, tmp_path):
    for one in (result, awkward):
        one.to_json(tmp_path / "audit.json")
        read = es.AuditResult.from_json(tmp_path / "audit.json")
        assert read.to_json() == one.to_json()
        assert (tmp_path / "audit.json").read_text(encoding="utf-8") == one.to_json()
        assert str(read) == str(one)
        assert (read.n_gaps, read.beyond) == (one.n_gaps, one.beyond)
        for told in (repr(one), str(one), *map(str, one.gaps)):
            assert not re.search(r"\bnan\b", told)
        for a, b in zip(read.gaps, one.gaps, strict=True):
            assert repr(a) == repr(b)
        np.testing.assert_array_equal(read.auc_matrix.values, one.auc_matrix.values)
        np.testing.assert_array_equal(read.explorer.fpr.low, one.explorer.fpr.low)
    assert list(tmp_path.iterdir()) == [tmp_path / "audit.json"]


def test_no_number_is_rounded(result):
    data = json.loads(result.to_json())
    assert data["blocks"]["ranking"]["auc"]["value"] == result.auc.value
    assert [gap["low"] for gap in data["gaps"]] == [gap.low for gap in result.gaps]
    curve = data["blocks"]["curves"]["roc_gaps"][0]
    assert curve["simultaneous_high"] == result.roc_gaps[0].simultaneous_high.tolist()


@pytest.mark.slow
def test_the_schema_describes_it(small, awkward):
    validator = jsonschema.Draft202012Validator(audit_schema())
    validator.check_schema(audit_schema())
    for one in (small, awkward):
        validator.validate(json.loads(one.to_json()))
    for spoil in (
        lambda data: data.pop("gaps"),
        lambda data: data.update(more=1),
        lambda data: data["findings"][0].update(kind="verdict"),
    ):
        data = small.to_dict()
        spoil(data)
        assert not validator.is_valid(data)


def test_the_schema_file_is_the_schema():
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), (
        "write it anew: python tools/audit_schema.py"
    )


def test_numbers_that_json_does_not_know():
    values = np.array([1.0, np.nan, np.inf, -np.inf])
    plain = to_plain(values)
    assert plain == [1.0, None, "Infinity", "-Infinity"]
    np.testing.assert_array_equal(
        from_plain(np.ndarray[tuple[int], np.dtype[np.float64]], plain), values
    )
    assert math.isnan(from_plain(float, None))
    assert from_plain(float | None, None) is None
    assert from_plain(float | None, "-Infinity") == -math.inf


SPOILED = {
    "not an audit": lambda data: data.pop("format"),
    "schema version 4.0": lambda data: data.update(schema_version="4.0"),
    "audit lacks 'gaps'": lambda data: data.pop("gaps"),
    r"ranking\.auc\.value .*number": lambda data: data["blocks"]["ranking"]["auc"].update(
        value=True
    ),
    r"audit\.sample\.n .*whole": lambda data: data["sample"].update(n=1.5),
    r"audit\.gaps .*list": lambda data: data.update(gaps="none"),
    r"audit\.blocks .*object": lambda data: data.update(blocks=[]),
    r"audit\.findings\[0\]\.kind": lambda data: data["findings"][0].update(kind="x"),
    "rows of equal length": lambda data: data["blocks"]["ranking"]["matrix"].update(
        values=[[1], [2, 3]]
    ),
}


def test_spoiled_files_are_refused_in_a_sentence(small, tmp_path):
    for message, spoil in SPOILED.items():
        data = small.to_dict()
        spoil(data)
        with pytest.raises(ValueError, match=message):
            es.AuditResult.from_dict(data)
    path = tmp_path / "no.json"
    for content in (b"{", b"\xff\xfe"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"no\.json"):
            es.AuditResult.from_json(path)
    with pytest.raises(ValueError, match=r"from_json.*path"):
        es.AuditResult.from_json(small.to_json())


ODD = [None, True, -1, 10**400, 1e308, "", "x", [], [[]], {}, [None] * 3, float("inf")]


@pytest.mark.slow
def test_altered_files_are_refused_in_a_sentence(small, tmp_path):
    """A place at a time; many are read, as what they say can be."""
    whole = small.to_json()
    path, places = tmp_path / "a.json", []
    for key, part in json.loads(whole).items():
        places += [(key, k) for k in part] if isinstance(part, dict) else [(key,)]
    for number, place in enumerate(places):
        for odd in (ODD[number % 12], ODD[(number + 5) % 12]):
            data = json.loads(whole)
            holder = data if len(place) == 1 else data[place[0]]
            holder[place[-1]] = odd
            path.write_text(json.dumps(data), encoding="utf-8")
            try:
                es.AuditResult.from_json(path)
            except ValueError as error:
                told = str(error)
                assert told.startswith("a.json")
                assert told.endswith(".")
                assert len(told) < 300


# ---------------------------------------------------------------------- shown


def test_frames_hold_the_very_numbers(result):
    frame = result.to_frame("pandas")
    assert isinstance(frame, pd.DataFrame)
    assert isinstance(result.to_frame("polars"), pl.DataFrame)
    estimates = [result.auc, *result.auc_by_group, *result.gaps]
    assert frame["value"].tolist() == [e.value for e in estimates]
    assert result.to_frame("polars")["high"].to_list() == [e.high for e in estimates]
    verdicts = frame["verdict"].tolist()[3:]
    assert verdicts == [gap.verdict for gap in result.gaps]
    with pytest.raises(ValueError, match="backend"):
        result.to_frame("excel")


def test_hostile_names_are_shown_as_text(result):
    from rich.console import Console

    html = result._repr_html_()
    assert "<script>" not in html
    assert "<b>title</b>" not in html
    assert "&lt;script&gt;" in html
    console = Console(file=io.StringIO(), width=80)
    console.print(result)
    told = console.file.getvalue()
    assert max(map(len, told.splitlines())) <= 80
    assert HOSTILE[0] in told
    assert "[bold]{0}[/bold]" in told
    for gap in result.gaps:
        assert f"{gap.value:+.3f}" in told
        assert "{:+.3f} to {:+.3f}".format(*gap.ends("beyond")) in told


# ---------------------------------------------------------------------- two scores


@pytest.fixture(scope="module")
def other(columns):
    y, score, group = columns
    noise = np.random.default_rng(5).normal(size=len(y))
    return es.audit(
        y,
        score + 0.5 * noise,
        sensitive_features=group,
        title="noisy",
        constraints=every_family(),
    )


@pytest.mark.slow
def test_compare_pairs_people(result, other):
    found = result.compare(other)
    assert found.auc.difference.value == pytest.approx(result.auc.value - other.auc.value)
    assert [d.title for d in found.gaps] == [gap.title for gap in result.gaps]
    for d in found.gaps:
        assert d.difference.value == pytest.approx(d.one.value - d.other.value, abs=1e-12)
        assert d.difference.low <= d.difference.value <= d.difference.high
        if d.one.family == "auc":  # paired: narrower than if the two were independent
            apart = math.hypot(d.one.standard_error, d.other.standard_error)
            assert d.difference.standard_error < apart
    back = other.compare(result)
    assert back.auc.difference.value == pytest.approx(-found.auc.difference.value)
    p_values = [d.difference.p_value for d in found.differences]
    assert min(d.difference.adjusted_p_value for d in found.differences) == pytest.approx(
        min(1.0, len(p_values) * min(p_values))
    )


@pytest.mark.slow
def test_magnitudes_err_as_seldom_as_they_say():
    """|x| = |y| in the first cases; x and y are correlated, as scores of the same people are."""
    rng = np.random.default_rng(1)
    for x, y, error, often in (
        (0.0, 0.0, 1.0, (0.0, 0.06)),
        (2.0, -2.0, 1.0, (0.0, 0.06)),
        (3.0, 3.0, 1.0, (0.0, 0.06)),
        (-0.3, 12.0, 1.0, (0.95, 1.0)),  # smaller, and of the other sign
    ):
        noise = rng.multivariate_normal([0, 0], [[1, 0.95], [0.95, 1]], 2000) * error
        one, two = x + noise[:, 0], y + noise[:, 1]
        told = 0
        for d, t in zip((one - two).tolist(), (one + two).tolist(), strict=True):
            estimates = [
                Estimate("gap", v, v - 1.96 * s, v + 1.96 * s, 0.95, "z")
                for v, s in ((d, error * 0.1**0.5), (t, error * 3.9**0.5))
            ]
            found = Paired(*estimates).magnitude
            assert found.low <= found.value <= found.high
            told += found.high < 0 or (abs(x) == abs(y) and found.low > 0)
        assert often[0] <= told / 2000 <= often[1]


def test_a_gap_beyond_on_its_own_only_is_unclear(result):
    def decided(first):
        gaps = [replace(gap, value=0.0, low=-0.01, high=0.01) for gap in result.gaps]
        gaps[0] = replace(gaps[0], degrees_of_freedom=math.inf, **first)
        return replace(result, gaps=tuple(decide(gaps, 0.05, 0.95, total=result.n_gaps)))

    found = decided(dict(value=0.151, low=0.051, high=0.251))
    assert found.beyond == ()
    assert found.beyond_alone == (found.gaps[0],)
    assert found.gaps[0].verdict == "unclear"
    assert not any(f.kind == "gap" for f in findings_of(found, {}))
    assert found.n_gaps == len(found.gaps)
    sure = decided(dict(value=0.151, low=0.12, high=0.18))
    assert [gap.key for gap in sure.beyond] == [sure.gaps[0].key]


def test_blocks_and_fields_that_a_reader_does_not_know_are_skipped(result):
    data = json.loads(result.to_json())
    data["schema_version"] = "3.7"
    data["blocks"]["of tomorrow"] = {"numbers": [1, 2]}
    data["gaps"][0]["of tomorrow"] = 1
    del data["gaps"][0]["second_value"]  # a field with a default, as an older file lacks it
    read = es.AuditResult.from_dict(data)
    assert set(read.blocks) == set(result.blocks)
    assert read.gaps[0].key == result.gaps[0].key
    del data["blocks"]["shape"], data["blocks"]["curves"]
    read = es.AuditResult.from_dict(data)
    assert read.roc_gaps == ()  # a list is empty, as that of a column audited without it
    with pytest.raises(ValueError, match="'shape'"):
        read.calibration  # noqa: B018


@pytest.mark.slow
def test_a_comparison_is_shown_and_kept(result, other):
    from rich.console import Console

    found = result.compare(other)
    itself = result.compare(result)
    assert {(d.difference.value, d.change) for d in itself.gaps} == {(0.0, "not told apart")}
    json.dumps(found.to_dict(), allow_nan=False)
    frame = found.to_frame("pandas")
    assert frame["difference_low"].tolist() == [d.difference.low for d in found.differences]
    console = Console(file=io.StringIO(), width=160)
    console.print(found)
    for shown in (str(found), console.file.getvalue()):
        assert "noisy" in shown
        assert f"{other.auc.value:.3f}" in shown


def test_comparisons_that_cannot_be_made(result, other, columns, awkward):
    y, score, group = columns
    read = es.AuditResult.from_dict(result.to_dict())
    rows = other._rows
    spoiled = [
        (replace(other, _rows=replace(rows, **change)), message)
        for change, message in (
            (dict(positive=rows.positive[:-1]), "rows"),
            (dict(positive=~rows.positive), "label at row 0"),
            (dict(codes=1 - rows.codes), "group at row 0"),
            (dict(groups=("x", "y")), "groups"),
            (dict(weight=np.full(len(y), 2.0)), "weight at row 0"),
        )
    ]
    for one, two, message in (
        (read, other, "This audit"),
        (result, audit_scores(table_of(y, score, group)), "other audit"),
        (result, es.audit(y, score, sensitive_features=group), "constraints or cuts"),
        (awkward, awkward, "positives of 2"),
        *((result, two, message) for two, message in spoiled),
    ):
        with pytest.raises(ValueError, match=message):
            one.compare(two)
    with pytest.raises(TypeError, match="AuditResult"):
        result.compare(3)


@pytest.mark.slow
def test_compare_with_weights_equals_repeated_people():
    """And later changes of the columns change no comparison."""
    y, score, group, weight = draw(23, n=60, levels=None, weights="integer")
    other, known = score[::-1].copy(), score.copy()
    times = weight.astype(int)

    def compared(*columns, sample_weight=None):
        y, group, *scores = columns
        one, two = (
            es.audit(y, s, sensitive_features=group, sample_weight=sample_weight) for s in scores
        )
        scores[0] *= 2.0
        return one.compare(two)

    weighted = compared(y, group, score, other, sample_weight=weight)
    repeated = compared(*(np.repeat(part, times) for part in (y, group, known, other)))
    for a, b in zip(weighted.differences, repeated.differences, strict=True):
        assert a.difference.value == pytest.approx(b.difference.value, abs=1e-12)
    rows = [Rows(y, s.tolist(), group, weight) for s in (known, other)]
    naive = rows[0].gap("inter_group", 0, 1, 0) - rows[1].gap("inter_group", 0, 1, 0)
    [found] = [d for d in weighted.gaps if d.difference.name == "inter_group"]
    assert found.difference.value == pytest.approx(naive, abs=1e-12)
