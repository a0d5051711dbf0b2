"""An audit on the terminal: every number has its interval, or a dash and the reason."""

import io
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from support.making import draw

import evenscore as es
from evenscore.auditing import Finding
from evenscore.auditing.blocks import BlockTable, CutsInUse
from evenscore.showing.terminal import block_table, gap_table, tell


def shown(what, width=160):
    console = Console(file=io.StringIO(), width=width)
    console.print(what)
    return console.file.getvalue()


def cells(told, start):
    """The cells of the rows that start with a text."""
    return [
        re.split(r"\s{2,}", line.strip())
        for line in told.splitlines()
        if line.strip().startswith(start)
    ]


@pytest.fixture(scope="module")
def result():
    y, score, group, _ = draw(21, n=300, levels=None)
    return es.audit(y, score, sensitive_features=group)


@pytest.fixture(scope="module")
def one_class():
    """Nobody of "c" is positive, and "a" has all the high scores; all groups are small."""
    y = np.array([0, 1] * 40 + [0] * 20)
    groups = ["a"] * 40 + ["b"] * 40 + ["c"] * 20
    score = np.where(np.array(groups) == "a", 100, 0) + np.arange(100) % 37
    return es.audit(y, score, sensitive_features=groups)


def test_the_undefined_is_a_dash_with_its_reason(one_class):
    told = shown(one_class)
    assert not re.search(r"\bnan\b", told, re.IGNORECASE)
    name = "Ranking within each group (intra_group), a and c"
    [row] = cells(told, name)
    assert row == [name, "undefined", "–", "no interval", "no interval"]
    assert "no positives of c" in " ".join(told.split())
    [*cuts, people] = cells(told, "c  ")
    assert people == ["c", "20", "0", "0.0%", "20.0%", "–", "no interval"]
    assert "c: a cell is empty" in told
    for row in cuts:
        # No positives to miss, and nobody selected to be right about.
        assert (row[2], row[4]) == ("–", "–")
    assert len(cuts) == len(one_class.thresholds.thresholds)
    assert told.count("–: nobody is there") == 1


def test_what_is_defined_has_no_dash(result):
    told = shown(result)
    assert not re.search(r"(^|\s)–(\s|$)", told, re.MULTILINE)
    assert "nobody is there" not in told
    for note in result.thresholds.impact_ratio.notes:
        assert note in " ".join(told.split())


def test_the_answer_comes_first_with_its_mark(one_class):
    lines = [line for line in shown(one_class).splitlines() if line]
    assert lines[1].startswith("Is it fair")
    assert lines[2].startswith("✗ No. ")
    assert "5 percentage points" in lines[2]
    told = " ".join(shown(one_class).split())
    for remedy in one_class.answer.remedies:
        assert f"· {remedy}" in told
    assert told.index("What can be done?") < told.index("Rates at the cuts")


def test_the_note_on_the_impact_ratio_is_shown_whole(result):
    note = "one is selected 0.50 times as often as the other (95% interval 0.41 to 0.60) " + "x" * 9
    ratio = result.thresholds.impact_ratio
    cuts = replace(result.thresholds, impact_ratio=replace(ratio, notes=(note,) * 5))
    for width in (60, 200):
        blocks = {**result.blocks, CutsInUse.name: replace(result.block(CutsInUse), chosen=cuts)}
        told = " ".join(shown(replace(result, blocks=blocks), width).split())
        assert told.count(note) == 5


def test_a_comparison_without_an_interval(result):
    found = result.compare(result)
    row = found.gaps[0]
    gone = replace(
        row.difference, low=math.nan, high=math.nan, warnings=("no interval: too few people",)
    )
    none = replace(row.one, value=math.nan)
    changed = replace(row, one=none, difference=gone, test=None)
    told = shown(replace(found, differences=(found.auc, changed, *found.gaps[1:])))
    [line] = cells(told, "Selected among negatives (fpr_gap)")
    assert line[1:] == ["cannot tell", "–", f"{row.other.value:+.3f}", "no interval"]
    assert "no interval: too few people" in told


def test_findings_have_marks_and_their_names_are_no_markup():
    kinds = {"gap": "✗", "unclear": "?", "even": "✓", "context": "·"}
    told = tell(Finding(kind, f"[red]{kind}[/red]") for kind in kinds)
    assert [text.plain for text in told] == [f"{kinds[k]} [red]{k}[/red]" for k in kinds]
    assert [text.spans[0].style for text in told] == ["red", "yellow", "green", "default"]


def test_a_verdict_has_its_colour_and_brackets_are_no_markup(result):
    title, rows = "[b]title[/b]", (("[i]x[/i]", "beyond"), ("y", "undefined"))
    table = block_table(BlockTable(title, ("[u]gap[/u]", "verdict"), rows, "[s]note[/s]", names=2))
    assert [cell.style for cell in table.columns[1].cells] == ["red", "dim"]
    told = shown(table)
    for text in (title, "[i]x[/i]", "[u]gap[/u]", "[s]note[/s]"):
        assert text in told
    verdicts = gap_table("Gaps", result.gaps, 0.95).columns[1].cells
    assert {cell.plain: cell.style for cell in verdicts} == {"cannot tell": "yellow"}


def test_a_narrow_terminal_folds_numbers_and_cuts_none(result):
    told = shown(result, width=60)
    assert max(map(len, told.splitlines())) <= 60
    [people] = re.findall(r"Who is in the sample(.*?)What else was found", told, re.DOTALL)
    for group, auc in zip(result.groups, result.auc_by_group, strict=True):
        assert re.search(rf"^ *{group} ", people, re.MULTILINE)
        for number in (auc.value, auc.low, auc.high):
            assert f"{number:.3f}" in people
