"""The first section of a report: the answer, for whom not, what can be done, and the cut picked."""

import re

import numpy as np
import pytest
from support.report_cases import read

from evenscore import Cuts, Words, audit
from evenscore.showing import report

WORDS = Words(
    people="applicants",
    positives="people who repaid",
    negatives="people who defaulted",
    selected="granted a loan",
    selected_is="good",
    refused="refused",
    groups={"f": "women", "m": "men"},
)


def rows(n, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    y, group = np.arange(n) % 2, np.array(["f", "m"])[np.arange(n) // 2 % 2]
    return y, rng.normal(size=n) + y + shift * (group == "m"), group


def unfair():
    y, score, group = rows(800, shift=1.5)
    return audit(y, score, sensitive_features=group, words=WORDS)


def fair():
    y, score, group = rows(2000)
    return audit(y, score, sensitive_features=group, words=WORDS, cuts=Cuts(at=0.2), tolerance=0.2)


def few():
    y, score, group = rows(80)
    return audit(y, score, sensitive_features=group, words=WORDS)


def one_group():
    y, score, _ = rows(400)
    return audit(y, score, sensitive_features=np.full(400, "f"), words=WORDS)


def constant():
    y, _, group = rows(400)
    return audit(y, np.ones(400), sensitive_features=group, words=WORDS)


def no_outcomes():
    _, score, group = rows(800, shift=1.5)
    return audit(None, score, sensitive_features=group, words=WORDS)


def columns():
    y, score, group = rows(1200, shift=1.5)
    other = np.where(np.arange(1200) // 4 % 2, "old", "young")
    groups = {"sex": group, "age": other}
    return audit(y, score, sensitive_features=groups, words=WORDS)


CASES = {
    unfair: "No",
    fair: "Yes",
    few: "Cannot tell",
    one_group: "Cannot tell",
    constant: "Cannot tell",
    no_outcomes: "No",
    columns: "No",
}


@pytest.fixture(scope="module", params=CASES, ids=lambda make: make.__name__)
def shown(request):
    result = request.param()
    page = read(report.render(result))
    return result, CASES[request.param], page, next(page.all("section"))


def kinds(section, tag):
    return [
        node for node in section.all(tag, **{"class": True}) if "answer" in node.attributes["class"]
    ]


@pytest.mark.slow
def test_it_says_the_answer_of_the_audit(shown):
    result, expected, _, section = shown
    assert section.attributes["id"] == "answer"
    [told] = kinds(section, "p")
    assert told.text == str(result.answer)
    assert told.one("strong").text == f"{expected}."
    assert told.attributes["class"] == f"answer {result.answer.verdict}"
    assert len(result.answer.text) > 20


def test_it_has_the_findings_about_the_cuts_and_what_can_be_done(shown):
    result, _, _, section = shown
    audits = [column.audit for column in result.columns] or [result]
    about = [one.text for audit in audits for one in audit.findings if one.about == "cuts"]
    about = about or [one.text for one in result.findings[:1]]
    assert about
    for text in (*about, *result.answer.remedies):
        assert " ".join(text.split()) in section.text
    assert result.answer.remedies
    items = [node.text for node in section.one("ul", **{"class": "remedies"}).all("li")]
    assert items == [" ".join(text.split()) for text in result.answer.remedies]
    for column in result.columns:
        said = {"No": "no", "Yes": "yes", "Cannot tell": "cannot tell"}[column.audit.answer.short]
        assert f"By {column.name}: {said}" in section.text


def test_it_has_the_picture_and_the_table_of_the_cut_picked(shown):
    result, _, _, section = shown
    pictures = list(section.all("svg", role="img"))
    heads = [node.text for node in section.all("p", **{"class": "chart-title"})]
    if result.sample.distinct_scores == 1:
        assert not pictures
        return
    expected = ["Refused among people who repaid", "Granted a loan among people who defaulted"]
    if not result.outcomes_known:
        expected = ["Granted a loan"]
    assert heads == expected
    assert len(pictures) == len(heads)
    table = section.one("table", id="explorer-table")
    groups = [row.one("bdi").text for row in table.one("tbody").all("tr")]
    assert groups == list(result.compared_groups)
    assert "granted a loan" in section.one(id="pick").text


def test_it_speaks_in_the_user_s_words(shown):
    result, _, page, section = shown
    findings = [
        node.text
        for node in section.all("div", **{"class": True})
        if node.attributes["class"].startswith("finding ")
    ]
    told = " ".join([result.answer.text, *findings])
    assert not re.search(
        r"\b(a|one) (positive|negative)\b", page.one("section", id="findings").text
    )
    assert "a positive of" not in page.one("main").text
    assert "a negative of" not in page.one("main").text
    assert not re.search(r"\b(positives|negatives)\b", told)
    assert not re.search(r"\bgroup [fm]\b", told)
    if result.answer.verdict != "unclear" and not result.columns:
        assert "women" in told
        assert "men" in told
        assert "granted a loan" in told


@pytest.mark.slow
def test_the_column_that_is_unfair_is_named_and_drawn():
    result = columns()
    verdicts = {column.name: column.audit.answer.verdict for column in result.columns}
    assert verdicts["sex"] == "gap"
    assert verdicts["age"] != "gap"
    assert "That is so by sex" in result.answer.text
    assert "by age" not in result.answer.text
    page = read(report.render(result))
    section = next(page.all("section"))
    assert "The picture is by sex" in section.text
    parts = page.one("section", id="columns")
    assert [node.text for node in parts.all("h3")] == ["By sex", "By age"]
    assert [node.text for node in kinds(parts, "p")] == [
        str(c.audit.answer) for c in result.columns
    ]
    assert len(list(parts.all("svg", role="img"))) == 4
