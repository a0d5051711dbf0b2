"""Files made up at random: a sentence and exit code 2, or numbers that a naive reading confirms."""

import csv
import io
import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.commands import numbers, run

from evenscore.scores.labels import label_text

ASKED = ("--label", "label", "--score", "score", "--group", "group")

plain = st.sampled_from(["0.1", "-2", "3e-1", "0.5", " 1.25 ", "7"])
scores = st.one_of(plain, plain, plain, st.sampled_from(["", "nan", "inf", "x", "1,5", "-0.0"]))
labels = st.one_of(*[st.sampled_from(["0", "1"])] * 4, st.sampled_from(["", "2", "1.0", "yes"]))
groups = st.one_of(*[st.sampled_from(["a", "b"])] * 4, st.text(max_size=3))
others = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def cells(score, label, group):
    return st.lists(st.tuples(label, score, group, others), min_size=5, max_size=40)


rows = st.one_of(
    cells(plain, st.sampled_from(["0", "1"]), st.sampled_from(["a", "b", '"c', "d,e", "f\ng"])),
    cells(plain, st.sampled_from(["0", "1", "1.0", " 1"]), st.text(min_size=1, max_size=2)),
    cells(scores, labels, groups),
    st.just([]),
)
header = st.one_of(
    *[st.permutations(["label", "score", "group", "other"])] * 4,
    st.lists(st.sampled_from(["label", "score", "group", "Label", "other", ""]), min_size=1),
)


def written(names, content, delimiter, end, mark, quoting):
    if any("\r" in cell for row in content for cell in row):
        quoting = csv.QUOTE_ALL  # Python's writer would leave a bare \r, which ends a line
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow(names)
    order = ["label", "score", "group", "other"]
    for row in content:
        known = dict(zip(order, row, strict=True))
        writer.writerow([known.get(name, "") for name in names])
    return (b"\xef\xbb\xbf" if mark else b"") + text.getvalue().encode()


def naive_auc(people):
    """The share of pairs ranked right, ties counting half, or None if an audit must be refused."""
    positive = [score for label, score, _ in people if label == 1.0]
    negative = [score for label, score, _ in people if label != 1.0]
    if not positive or not negative or len({group for *_, group in people}) < 2:
        return None
    won = sum((p > n) + 0.5 * (p == n) for p in positive for n in negative)
    return won / (len(positive) * len(negative))


def understood(content):
    """Label, score and group of every row, or None if a cell cannot be one."""
    found = []
    for label, score, group, _ in content:
        try:
            value, told = float(score), float(label)
        except ValueError:
            return None
        if not math.isfinite(value) or told not in (0.0, 1.0) or not group.strip(" \t\r\n"):
            return None
        found.append((told, value, group))
    return found


@pytest.mark.slow
@settings(max_examples=12, phases=[Phase.generate])
@given(
    header, rows, st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"]), st.booleans(),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)  # fmt: skip
def test_any_table(names, content, delimiter, end, mark, quoting):
    """Seconds: every example is a run of the command."""
    data = written(names, content, delimiter, end, mark, quoting)
    with tempfile.TemporaryDirectory() as folder:
        path, json = Path(folder) / "t.csv", Path(folder) / "a.json"
        path.write_bytes(data)
        result = run("audit", path, *ASKED, "--json", json, "--quiet")
        assert result.stdout == ""
        people = understood(content)
        # Columns of one name hold the same here: they are one.
        whole = {"label", "score", "group"} <= {*names}
        truth = naive_auc(people) if people and whole else None
        if result.exit_code == 2:
            first, *others = result.stderr.splitlines()
            assert first.endswith(".")
            assert all(line.startswith("Try: evenscore audit ") for line in others)
            assert "Traceback" not in result.stderr
            assert not json.exists()
            assert truth is None, result.stderr
        else:
            assert result.exit_code == 0
            assert truth is not None
            found = numbers(json)
            assert abs(found["blocks"]["ranking"]["auc"]["value"] - truth) < 1e-12
            # A name that cannot be seen is shown by its code; what would break a line is replaced.
            told = set(found["sample"]["groups"])
            for *_, group in people:
                assert {label_text(group), repr(group)} & told


@settings(max_examples=10, phases=[Phase.generate])
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_any_bytes(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(content)
        result = run("audit", path, *ASKED, "--quiet")
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1


@settings(max_examples=10, phases=[Phase.generate])
@given(st.binary(max_size=200), st.integers(0, 2000), st.sampled_from([b"PAR1", b"\x1f\x8b"]))
def test_broken_archives(content, at, magic):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(magic + content + magic)
        result = run("audit", path, *ASKED, "--quiet")
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1
