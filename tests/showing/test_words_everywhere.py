"""The user's words and hostile names on the terminal, in Markdown, JSON and notebooks."""

import io
import json
import re

import numpy as np
import pytest
from rich.console import Console
from support.making import draw
from support.report_cases import HOSTILE, SCRIPT, case, read

import evenscore as es
from evenscore.learning.progress import NotebookBar
from evenscore.showing import markdown, notebook, tradeoff
from evenscore.showing.comparing import comparison_block
from evenscore.showing.outline import outline

WORDS = es.Words(
    people="applicants",
    positives="people who repaid",
    negatives="people who defaulted",
    selected="granted a loan",
    refused="refused",
    groups={0: "women", 1: "men"},
)
DEFAULT = re.compile(r"\b(positives|negatives)\b", re.IGNORECASE)


def shown(what, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(what)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def worded():
    y, score, group, _ = draw(21, n=600, levels=None, shift=0.9)
    return es.audit(y, score, sensitive_features=group, words=WORDS)


@pytest.fixture(scope="module")
def path():
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(160, 2)), np.array(["a", SCRIPT])[np.arange(160) % 2]
    y = (X[:, 0] + 0.5 * (group == "a") + rng.normal(size=160) > 0).astype(int)
    return es.tradeoff_path(
        es.LinearScorer(constraints="bnsp"),
        X,
        y,
        sensitive_features=group,
        tolerances=[0.02, 0.2],
        cv=2,
    )


@pytest.fixture(scope="module")
def comparison():
    y, score, group, _ = draw(5, n=400, levels=None)
    names = np.array(HOSTILE[:2])[group]
    before, after = (
        es.audit(y, s, sensitive_features=names, title=title)
        for s, title in ((score, SCRIPT), (score - 0.3 * group, "new"))
    )
    return after.compare(before, n_resamples=50)


# ---------------------------------------------------------------------- words


def test_findings_and_headings_are_in_the_user_s_words(worded):
    seen = 0
    for part in outline(worded):
        told = [part.title, *part.items, *(finding.text for finding in part.findings)]
        for table in part.tables:
            told += [table.title, *table.columns]
        for text in told:
            assert not DEFAULT.search(re.sub(r"\w+_negatives|\w+\(\w+\)", "", text)), text
        seen += len(told)
    assert seen > 40
    for finding in json.loads(worded.to_json())["findings"]:
        assert not DEFAULT.search(re.sub(r"\w+_negatives|\w+\(\w+\)", "", finding["text"]))


def test_tables_name_rates_in_the_user_s_words(worded):
    for told in (shown(worded, 200), worded.to_markdown(), worded._repr_html_()):
        flat = " ".join(told.split())
        for words in ("Refused among", "who repaid", "Granted a loan among", "who defaulted"):
            assert words in flat
        assert "women" in flat
    first = next(line for line in worded.to_markdown().splitlines() if line.startswith("- "))
    assert first == f"- {'✗' if worded.answer.verdict == 'gap' else '?'} {worded.answer}"


# ---------------------------------------------------------------------- the terminal


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [2, 6])
def test_an_audit_fits_80_columns(n_groups):
    told = shown(case(n_groups))
    assert max(map(len, told.splitlines())) <= 80
    assert "…" not in told  # no cell is cut off


@pytest.mark.slow
def test_a_comparison_and_a_path_fit_80_columns(comparison, path):
    for what in (comparison, path):
        told = shown(what)
        assert 40 < max(map(len, told.splitlines())) <= 80
        assert "…" not in told


# ---------------------------------------------------------------------- Markdown


def test_markdown_has_every_table_and_escapes_names():
    result = case(4)
    told = result.to_markdown()
    assert told.startswith("# Score \\<i\\>one\\</i\\>\n")
    assert "<script>" not in told
    assert markdown.escape(SCRIPT) in told
    tables = [table for part in outline(result) for table in part.tables]
    rules = [line for line in told.splitlines() if re.fullmatch(r"\|( -{3}:? \|)+", line)]
    assert len(rules) == len(tables) >= 5
    for rule, table in zip(rules, tables, strict=True):
        assert rule.count("|") == len(table.columns) + 1
    for line in told.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")
    assert not re.search(r"\bnan\b", told, re.IGNORECASE)


def test_every_row_of_a_markdown_table_has_as_many_cells_as_its_head():
    counts = []
    for line in [*case(4).to_markdown().splitlines(), ""]:
        if line.startswith("|"):
            counts.append(len(re.findall(r"(?<!\\)\|", line)))
        elif counts:
            assert len(set(counts)) == 1
            counts = []


def test_comparisons_and_paths_are_tables_too(comparison, path):
    told = comparison.to_markdown()
    block = comparison_block(comparison)
    assert told.count("\n| ") == len(block.rows) + 2
    assert markdown.escape(comparison.words[0]) in told
    assert SCRIPT not in told
    told = path.to_markdown()
    assert told.count("\n| ") == len(path.points) + 2
    assert f"{path.points[0].auc.value:.3f}" in told


# ---------------------------------------------------------------------- trade-offs


def test_the_page_of_a_path_has_its_picture_and_points(path):
    html = tradeoff.page(path, tolerance=0.05, chosen=0, title=SCRIPT)
    page = read(html)
    assert SCRIPT not in html
    assert page.one("h1").text == SCRIPT
    chart = tradeoff.path_chart(path, 0, 0.05)
    marks = [m.groups() for m in re.finditer(r"translate\(([\d.]+) ([\d.]+)\)", chart.svg())]
    assert [tuple(map(float, mark)) for mark in marks] == [
        (chart.at_x(point.worst_gap), chart.at_y(point.auc.value)) for point in path.points
    ]
    rows = list(page.one("table").one("tbody").all("tr"))
    assert len(rows) == len(path.points)
    for row, point in zip(rows, path.points, strict=True):
        cells = [cell.text for cell in row.all("td")]
        assert cells[1] == f"{point.auc.value:.3f}"
        assert cells[3] == f"{point.worst_gap:.3f}"
    assert rows[0].text.count("chosen") == 1
    assert "chosen" not in rows[1].text
    assert "<script" not in html


# ---------------------------------------------------------------------- notebooks


def test_notebooks_show_a_chart_and_escaped_names(comparison, path):
    for what in (case(2), comparison, path):
        html = what._repr_html_()
        page = read(html)
        assert list(page.all("svg", role="img"))
        assert list(page.all("table"))
        assert SCRIPT not in html
        assert not list(page.all("script"))
        assert not re.search(r"\bnan\b", page.text, re.IGNORECASE)
    text = read(case(2)._repr_html_()).text
    assert SCRIPT in text
    assert str(case(2).answer) in text
    for remedy in case(2).answer.remedies:
        assert remedy in text


def test_the_style_of_a_notebook_is_kept_to_the_view_itself():
    style = notebook._style()
    assert ":root" not in style
    assert "prefers-color-scheme" not in style
    names = set(re.findall(r"var\((--[\w-]+)\)", style))
    assert names - set(re.findall(r"(--[\w-]+):", style)) == set()


def test_pictures_of_two_views_have_different_names():
    """Ids are unique in a notebook that shows an audit and a comparison."""
    charts = re.findall(r'id="(picture-[^"]*)"', case(2)._repr_html_())
    assert len(charts) == 2
    assert all(name.startswith("picture-notebook-") for name in charts)


def test_a_bar_in_a_notebook_is_drawn_anew(monkeypatch):
    drawn = []

    class Handle:
        def update(self, what):
            drawn.append(what._repr_html_())

    def display(what, display_id):
        assert display_id is True
        drawn.append(what._repr_html_())
        return Handle()

    clock = [0.0]
    monkeypatch.setattr("evenscore.learning.progress.time.monotonic", lambda: clock[0])
    bar = NotebookBar("learning <b>", 3, display)
    assert 'value="0" max="3"' in drawn[0]
    assert "learning &lt;b&gt;: 0 of 3" in drawn[0]
    bar.advance("first")  # too soon to be drawn
    assert len(drawn) == 1
    clock[0] = 1.0
    bar.advance(SCRIPT)
    assert len(drawn) == 2
    assert 'value="2" max="3"' in drawn[1]
    assert SCRIPT not in drawn[1]
    assert read(drawn[1]).one("span").text == f"learning <b>: 2 of 3 {SCRIPT}"
    bar.finish()
    assert 'value="3" max="3"' in drawn[2]
    bar.advance("more")  # never more than all
    assert bar.done == 3
