"""An audit on the terminal: every number has its interval, or a dash and the reason."""

import io
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from conftest import draw
from rich.console import Console

import evenscore as es
from evenscore.auditing import Finding
from evenscore.auditing.blocks import CutsInUse
from evenscore.showing.terminal import tell, verdict_text


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
    [row] = cells(told, "intra_group, a and c")
    assert row == ["intra_group, a and c", "–", "no interval", "no interval", "undefined"]
    assert "intra_group is undefined: there are no positives of c" in told
    [*cuts, people] = cells(told, "c  ")
    assert people == ["c", "20", "0", "0.0%", "20.0%", "–", "no interval"]
    assert "c: a cell is empty" in told
    for row in cuts:
        assert row[3:] == ["–", "–"]  # no positives to miss, nobody selected to be right about
    assert len(cuts) == len(one_class.thresholds.thresholds)
    assert told.count("–: nobody is there of whom it could be a share") == 1


def test_the_notebook_says_the_same(one_class):
    html = one_class._repr_html_()
    assert not re.search(r"\bnan\b", html, re.IGNORECASE)
    row = f"<td>intra_group, a and c</td><td>–</td>{3 * '<td>no interval</td>'}<td>undefined</td>"
    assert f"{row}<td>intra_group is undefined: there are no positives of c</td>" in html


def test_what_is_defined_has_no_dash(result):
    told = shown(result)
    assert not re.search(r"(^|\s)–(\s|$)", told, re.MULTILINE)
    assert "nobody is there" not in told
    for note in result.thresholds.impact_ratio.notes:
        assert note in " ".join(told.split())


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
    [line] = cells(told, row.one.name)
    assert line[1:] == ["–", f"{row.other.value:+.3f}", "no interval", "not told apart"]
    assert "no interval: too few people" in told


def test_findings_have_marks_and_their_names_are_no_markup():
    kinds = {"gap": "✗", "unclear": "?", "even": "✓", "context": "·"}
    told = tell(Finding(kind, f"[red]{kind}[/red]") for kind in kinds)
    assert [text.plain for text in told] == [f"{kinds[k]} [red]{k}[/red]" for k in kinds]
    assert [text.spans[0].style for text in told] == ["red", "yellow", "green", "default"]


def test_a_verdict_has_its_colour_whatever_it_says():
    assert verdict_text("beyond").plain == "beyond"
    assert verdict_text("beyond").style == "red"
    assert verdict_text("undefined").style == "dim"


def test_a_narrow_terminal_folds_numbers_and_cuts_none(result):
    told = shown(result, width=60)
    assert max(map(len, told.splitlines())) <= 60
    [people] = re.findall(r"Who is in the sample(.*?)AUC gaps", told, re.DOTALL)
    for group, auc in zip(result.groups, result.auc_by_group, strict=True):
        assert re.search(rf"^ *{group} ", people, re.MULTILINE)
        for number in (auc.value, auc.low, auc.high):
            assert f"{number:.3f}" in people
