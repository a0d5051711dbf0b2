"""Before and after: the comparison's numbers on one page."""

from dataclasses import replace

import numpy as np
import pytest
from support.making import draw, every_family
from support.report_cases import read

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
    section = page.one("section", id="comparison")
    for told in comparison.words[:2]:
        assert told in section.text
    assert "changed most" not in page.one("main").text
    rows = list(section.all("tr", data_difference=True))
    assert len(rows) == len(comparison.differences)
    for row, found in zip(rows, comparison.differences, strict=True):
        values = [float(data.attributes["value"]) for data in row.all("data")]
        sizes = found.other.value, found.one.value, found.difference.value, found.magnitude.value
        assert values == list(sizes)
        assert f"{found.test.low:+.3f} to {found.test.high:+.3f}" in row.text
        change = row.one("td", **{"class": "change"}).text
        assert change == found.change.replace("not told apart", "cannot tell")
    assert len(list(section.all("svg", role="img"))) == 2
    assert page.one("h1").text == "Better?"
    assert "<old>" in section.text
    assert html == report.render_comparison(before, after, comparison, title="Better?")
    assert len(html.encode()) < 1_000_000
    ids = [node.attributes["id"] for node in page.all(id=True)]
    assert len(ids) == len(set(ids))


@pytest.mark.slow
def test_it_opens_with_the_cuts_in_use_of_both_scores(audits):
    before, after = audits
    comparison = after.compare(before)
    page = read(report.render_comparison(before, after, comparison))
    section = next(page.all("section"))
    assert section.attributes["id"] == "answer"
    assert section.one("p", **{"class": "answer unclear"}).text == str(after.answer)
    told = [node.text for node in section.all("li", **{"class": "finding unclear"})]
    assert len(told) == 2
    gap = next(gap for gap in comparison.gaps if gap.one.name == "fpr_gap")
    sizes = [100 * abs(side.value) for side in (gap.one, gap.other)]
    for part in ("<b> and a", f"{sizes[0]:.1f}", "“new”", f"{sizes[1]:.1f}", "“<old>”"):
        assert part in told[0]
    pictures = list(section.all("svg", role="img"))
    assert len(pictures) == 4
    heads = [node.text for node in section.all("p", **{"class": "chart-title"})]
    assert [head.split(":")[0] for head in heads] == ["<old>", "new", "<old>", "new"]
    ticks = [
        [node.text for node in svg.all("text", text_anchor="end")] for svg in pictures
    ]  # on the same scale
    assert ticks[0] == ticks[1]
    assert ticks[2] == ticks[3]
    # The cut that the reader picks is one of the score that the page is about.
    marked = [bool(list(svg.all("path", data_picked=True))) for svg in pictures]
    assert marked == [False, True, False, True]


def test_a_gap_that_became_smaller_is_said_to_be():
    y, group = np.tile([0, 0, 1, 1], 100), np.tile(["a", "b"], 200)
    score = np.random.default_rng(0).normal(size=400) + y
    before, after = (
        audit(y, s, sensitive_features=group) for s in (score - 2.0 * (group == "b"), score)
    )
    comparison = after.compare(before, n_resamples=50)
    most = max(comparison.gaps, key=lambda gap: abs(gap.magnitude.value))
    assert most.change == "smaller gap"
    page = read(report.render_comparison(before, after, comparison))
    assert "ROC gap" not in page.one("body").text  # none was asked for
    told = [node.text for node in page.all("li", **{"class": "finding changed"})]
    assert len(told) == 2
    assert all("smaller with 95%" in t for t in told)
    changes = [node.text for node in page.all("td", **{"class": "change"})]
    assert changes.count("smaller gap") == sum(g.change == "smaller gap" for g in comparison.gaps)


@pytest.mark.slow
def test_a_comparison_writes_its_own_page(audits, tmp_path):
    before, after = audits
    comparison = after.compare(before, n_resamples=50)
    path = comparison.to_html(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == report.render_comparison(before, after, comparison)
    with pytest.raises(ValueError, match="audits"):
        report.write_comparison(replace(comparison, _audits=None), tmp_path / "no.html")
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_the_wrong_order_is_refused(audits):
    before, after = audits
    comparison = before.compare(after, n_resamples=50)
    with pytest.raises(ValueError, match=r"after\.compare\(before\)"):
        report.render_comparison(before, after, comparison)
    with pytest.raises(TypeError, match="ComparisonResult, not str"):
        report.render_comparison(before, after, "no")
