"""Before and after: the comparison's numbers on one page."""

import re

import numpy as np
import pytest
from conftest import draw, every_family
from report_cases import read

from evenscore import audit
from evenscore.showing import report


@pytest.fixture(scope="module")
def audits():
    y, score, group, _ = draw(5, n=400, levels=None)
    names = np.array(["a", "<b>"])[group]
    fairer = score - 0.3 * group * (1 - 0.5 * y)
    return [
        audit(y, s, sensitive_features=names, title=title, constraints=every_family())
        for s, title in ((score, "<old>"), (fairer, "new"))
    ]


@pytest.mark.slow
def test_numbers_and_words(audits):
    before, after = audits
    comparison = after.compare(before)
    html = report.render_comparison(before, after, comparison, title="Better?")
    page = read(html)
    opening = page.one("section", id="findings").one("div", **{"class": "finding changed"})
    for told in comparison.words[:2]:
        assert told in opening.text
    assert comparison.most_changed is None  # no gap is told apart, and none is named
    assert "changed most" not in opening.text
    section = page.one("section", id="comparison")
    rows = list(section.all("tr", data_difference=True))
    assert len(rows) == len(comparison.differences)
    for row, found in zip(rows, comparison.differences, strict=True):
        values = [float(data.attributes["value"]) for data in row.all("data")]
        sizes = found.other.value, found.one.value, found.difference.value, found.magnitude.value
        assert values == list(sizes)
        assert f"{found.test.low:+.3f} to {found.test.high:+.3f}" in row.text
        assert found.change in row.text
    assert len(list(section.all("svg", role="img"))) == 2
    assert page.one("h1").text == "Better?"
    assert "<old>" in section.text
    assert html == report.render_comparison(before, after, comparison, title="Better?")
    assert len(html.encode()) < 1_000_000


@pytest.mark.slow
def test_it_opens_with_the_cuts_in_use_of_both_scores(audits):
    before, after = audits
    comparison = after.compare(before)
    page = read(report.render_comparison(before, after, comparison))
    section = next(page.all("section"))
    assert section.attributes["id"] == "cuts"
    opening = section.one("div", **{"class": "finding first changed"}).text
    gap = next(gap for gap in comparison.gaps if gap.one.name == "fpr_gap")
    sizes = [100 * abs(side.value) for side in (gap.one, gap.other)]
    assert (
        f"The largest difference in false positive rate between <b> and a is {sizes[0]:.1f} points "
        f"with “new”, against {sizes[1]:.1f} points with “<old>”. Which is smaller cannot be told"
    ) in opening
    pictures = list(section.all("svg", role="img"))
    assert len(pictures) == 4
    told = [[text.text for text in svg.all("text")] for svg in pictures]
    for texts, name in zip(told, ("<old>", "new", "<old>", "new"), strict=True):
        assert any(text.startswith(f"{name}: false ") for text in texts)
    for one, two in (told[:2], told[2:]):  # on the same scale
        ticks = ([text for text in texts if re.fullmatch(r"\d+%", text)] for texts in (one, two))
        assert next(ticks) == next(ticks)


@pytest.mark.slow
def test_without_roc_gaps_there_is_no_word_of_them():
    y, score, group, _ = draw(5, n=400, levels=None)
    before, after = (audit(y, s, sensitive_features=group) for s in (score, score - 0.3 * group))
    page = read(report.render_comparison(before, after, after.compare(before)))
    assert "ROC gap" not in page.one("body").text
    assert not list(page.one("section", id="comparison").all("svg", role="img"))


@pytest.mark.slow
def test_the_gap_that_changed_most_is_named():
    y, group = np.tile([0, 0, 1, 1], 150), np.tile(["a", "b"], 300)
    score = np.random.default_rng(0).normal(size=600) + y
    before, after = (
        audit(y, s, sensitive_features=group, constraints=every_family())
        for s in (score - 1.5 * (group == "b"), score)
    )
    comparison = after.compare(before, n_resamples=50)
    most = max(comparison.gaps, key=lambda gap: abs(gap.magnitude.value))
    assert comparison.most_changed is most
    assert most.change == "smaller gap"
    page = read(report.render_comparison(before, after, comparison))
    opening = page.one("section", id="findings").one("div", **{"class": "finding changed"})
    assert f"The gap that changed most is {most.words}." in opening.text


def test_the_wrong_order_is_refused(audits):
    before, after = audits
    comparison = before.compare(after, n_resamples=50)
    with pytest.raises(ValueError, match=r"it must be after\.compare\(before\)"):
        report.render_comparison(before, after, comparison)
    with pytest.raises(TypeError, match="comparison must be a ComparisonResult, not str"):
        report.render_comparison(before, after, "no")
