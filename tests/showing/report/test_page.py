"""The report as text: structure, escaping, policy, size and the numbers themselves."""

import base64
import hashlib
import json
import re
from itertools import pairwise

import numpy as np
import pytest
from support.report_cases import HOSTILE, SCRIPT, case, read

from evenscore import Cuts, RateConstraint, RocConstraint, Words, audit
from evenscore.auditing import AuditResult
from evenscore.scores.labels import label_text
from evenscore.showing import report
from evenscore.showing.numbers import points, share, verdict

SHAPES = [
    pytest.param(dict(n_groups=1), id="K1"),
    pytest.param(dict(n_groups=2), id="K2"),
    pytest.param(dict(n_groups=7, n=600, levels=10, weights="real"), id="K7-ties-weights"),
]


@pytest.fixture(scope="module", params=SHAPES)
def shown(request):
    result = case(**request.param)
    html = report.render(result)
    return result, html, read(html)


@pytest.mark.slow
def test_headings_are_in_order_and_landmarks_are_there(shown):
    _, _, page = shown
    levels = [int(node.tag[1]) for node in page.all() if re.fullmatch(r"h[1-6]", node.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for landmark in ("header", "nav", "main", "footer"):
        page.one(landmark)
    assert page.one("html").attributes["lang"] == "en"
    ids = [node.attributes["id"] for node in page.all(id=True)]
    assert len(ids) == len(set(ids))
    for section in page.all("section"):
        assert section.attributes["aria-labelledby"] in ids
    for link in page.all("a"):
        assert link.attributes["href"].removeprefix("#") in ids


def test_it_opens_with_the_answer_then_what_else_was_found(shown):
    result, _, page = shown
    order = [section.attributes["id"] for section in page.all("section")]
    compared = len(result.compared_groups) > 1
    assert order[:3] == ["answer", "findings", "cuts_in_use"]
    assert ("gaps" in order) == compared
    links = [link.attributes["href"] for link in page.one("nav").all("a")]
    assert links == [f"#{name}" for name in order]
    about_cuts = [finding for finding in result.findings if finding.about == "cuts"]
    assert result.findings[: len(about_cuts)] == tuple(about_cuts)
    assert about_cuts or not compared
    for part, findings in (
        ("answer", about_cuts),
        ("findings", result.findings[len(about_cuts) :]),
    ):
        text = page.one("section", id=part).text
        positions = [text.index(" ".join(finding.text.split())) for finding in findings]
        assert positions == sorted(positions)
    for name in ("answer", "notes"):
        text = page.one("section", id=name).text
        for warning in result.warnings:
            assert " ".join(warning.split()) in text


def test_every_block_of_the_audit_has_a_section_that_says_what_it_means(shown):
    result, _, page = shown
    order = [section.attributes["id"] for section in page.all("section")]
    own = {name for name, block in result.blocks.items() if block.meaning}
    assert {"cuts_in_use", "curves", "shape"} <= own & set(order)
    for name in own & set(order):
        section = page.one("section", id=name)
        assert result.blocks[name].meaning in section.text
        assert section.one("h2").text == result.blocks[name].title


def test_nothing_outside_is_referred_to(shown):
    _, html, page = shown
    for node in page.all():
        for name, value in node.attributes.items():
            assert not name.startswith("on")
            assert name not in ("style", "src", "srcset", "action")
            if name == "href":
                assert value.startswith("#") or value == "data:,"
    assert "http://" not in html
    assert "https://" not in html
    assert "@import" not in html
    for reference in re.findall(r"url\(([^)]*)\)", html):
        assert reference.startswith("#")


def test_references_within_pictures_exist_and_pictures_have_titles(shown):
    _, html, page = shown
    ids = {node.attributes["id"] for node in page.all(id=True)}
    assert set(re.findall(r"url\(#([^)]*)\)", html)) <= ids
    drawn = list(page.all("svg", **{"class": True}))  # what is drawn between the axes has none
    pictures = [svg for svg in drawn if svg.attributes.get("aria-hidden") != "true"]
    assert len(pictures) >= 4
    for svg in pictures:
        assert svg.attributes["role"] == "img"
        assert svg.attributes["class"] == "chart"
        title = svg.one("title")
        assert title.attributes["id"] == svg.attributes["aria-labelledby"]
        assert len(title.text) > 20


def test_hostile_names_are_text(shown):
    result, html, page = shown
    assert len(list(page.all("script"))) == 2
    assert len(list(page.all("style"))) == 1
    assert not list(page.all("b", onclick=True))
    assert SCRIPT not in html
    assert page.one("h1").text == "Score <i>one</i>"
    cells = [
        row.one("bdi").text for row in page.one("table", id="explorer-table").one("tbody").all("tr")
    ]
    assert cells == [" ".join(name.split()) for name in result.compared_groups]
    shown_names = tuple(label_text(name) for name in HOSTILE)
    assert result.groups[: len(HOSTILE)] == shown_names[: len(result.groups)]
    assert not {"\u2028", "\u202e"} & set(html)


def test_policy_names_this_style_and_this_script(shown):
    _, html, page = shown
    policy = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for kind, pattern in (
        ("style-src", r"<style>(.*?)</style>"),
        ("script-src", r"<script>(.*?)</script>"),
    ):
        [found] = re.findall(pattern, html, flags=re.S)
        digest = base64.b64encode(hashlib.sha256(found.encode()).digest()).decode()
        assert rules[kind] == f"'sha256-{digest}'"
    assert "unsafe" not in policy
    assert html.index("Content-Security-Policy") < html.index("<style>")


def test_same_audit_same_bytes(shown):
    result, html, _ = shown
    assert report.render(AuditResult.from_dict(result.to_dict())) == html
    assert len(html.encode()) < 1_000_000


def test_every_table_can_be_scrolled_by_keyboard_and_has_a_caption(shown):
    _, _, page = shown
    regions = list(page.all("div", class_="scroll"))
    assert len(regions) == len(list(page.all("table"))) >= 4
    for region in regions:
        assert region.attributes["tabindex"] == "0"
        assert region.attributes["aria-label"]
        assert region.one("caption").text
        for head in region.all("th"):
            assert head.attributes["scope"] in ("col", "row", "rowgroup")


def number(text):
    return float("nan") if text == "" else float(text)


def same(one, two):
    return one == two or (np.isnan(one) and np.isnan(two))


def test_gaps_are_the_result_s_numbers(shown):
    result, _, page = shown
    rows = {row.attributes["data-gap"]: row for row in page.all("tr", data_gap=True)}
    by_title = {gap.title: gap for gap in result.gaps}
    assert set(rows) <= set(by_title)
    if len(result.groups) == 2:
        assert set(rows) == set(by_title)
    detectable = {gap.title: np.minimum(result.detectable(gap), 1.0) for gap in result.gaps}
    for title, row in rows.items():
        gap = by_title[title]
        assert same(number(row.one("data").attributes["value"]), gap.value)
        interval = row.one("span", class_="range")
        assert same(number(interval.attributes["data-low"]), gap.low)
        assert same(number(interval.attributes["data-high"]), gap.high)
        cells = [cell.text for cell in row.all("td")]
        assert cells[0] == verdict(gap.verdict)
        assert cells[1] == f"{gap.value:+.3f}{gap.low:+.3f} to {gap.high:+.3f}"  # in two lines
        assert cells[2] == "{:+.3f} to {:+.3f}".format(*gap.ends("beyond"))
        assert cells[4] == "{:+.3f} to {:+.3f}".format(*gap.ends("within"))
        assert cells[5] == f"{detectable[title]:.3f}"
    for name in dict.fromkeys(gap.name for gap in result.gaps):
        gaps = [
            gap
            for gap in result.gaps
            if gap.name == name and result.is_headline(gap) and not np.isnan(gap.value)
        ]
        assert not gaps or max(gaps, key=lambda gap: abs(gap.value)).title in rows


def test_people_are_the_result_s_numbers(shown):
    result, _, page = shown
    sample = result.sample
    rows = list(page.all("tr", data_people=True))
    assert len(rows) == len(result.compared_groups)
    for group, row in zip(result.compared_groups, rows, strict=True):
        k = result.groups.index(group)
        cells = [cell.text for cell in row.all("td")]
        assert cells[:4] == [
            f"{sample.cell_counts[0, k]:,.0f}",
            f"{sample.cell_counts[1, k]:,.0f}",
            share(sample.prevalence_by_group[k]),
            share(sample.group_share[k]),
        ]
        assert same(number(row.one("data").attributes["value"]), result.auc_by_group[k].value)


def test_the_matrix_shows_the_weights_of_the_pairs(shown):
    result, html, _ = shown
    compared = [result.groups.index(group) for group in result.compared_groups]
    k, weights = len(compared), result.auc_matrix.pair_weights[np.ix_(compared, compared)]
    told = re.findall(r"<br>([0-9.]+%) of pairs</small>", html)
    assert told == ([share(weight) for weight in weights.ravel()] if 2 * k <= 12 else [])


def test_cuts_are_the_result_s_numbers(shown):
    result, _, page = shown
    cuts, n = result.thresholds, len(result.compared_groups)
    table = next(page.one("section", id="cuts_in_use").all("table"))
    rows = list(table.one("tbody").all("tr"))
    assert len(rows) == len(cuts.thresholds) * n
    for number, row in enumerate(rows):
        t, group = divmod(number, n)
        k = result.groups.index(result.compared_groups[group])
        where, of_everyone, name, *cells = (cell.text for cell in row.children)
        assert name == " ".join(result.groups[k].split())
        assert where == ("" if group else cuts.where(t))
        if not group:
            assert float(of_everyone.removesuffix("%")) == pytest.approx(
                100 * cuts.selected_share[t], abs=0.051
            )
        rates = ("selection_rate", "fnr", "fpr", "precision")
        for rate, cell in zip(rates, cells, strict=True):
            found = getattr(cuts, rate)
            expected = "{:.1f} ({:.1f} to {:.1f})".format(
                *(100 * part[t, k] for part in (found.value, found.low, found.high))
            )
            assert cell == ("–" if np.isnan(found.value[t, k]) else expected)


def test_the_picker_opens_at_the_middle_one_of_the_cuts_asked_for(shown):
    result, html, page = shown
    [block] = re.findall(r'<script type="application/json" id="explorer-data">(.*?)</script>', html)
    data = json.loads(block)
    start = int(page.one("input", id="threshold").attributes["value"])
    asked = len(result.thresholds.thresholds) // 2
    assert data["thresholds"][start] == f"{result.thresholds.thresholds[asked]:.4g}"
    assert page.one(id="now-threshold").text == data["thresholds"][start]
    assert page.one(id="now-share").text == share(result.thresholds.selected_share[asked])
    rows = list(page.one("table", id="explorer-table").one("tbody").all("tr"))
    assert len(rows) == len(result.compared_groups)
    for group, row in zip(result.compared_groups, rows, strict=True):
        k = result.groups.index(group)
        cells = list(row.all("td"))
        assert len(cells) == 4
        for cell in cells:
            found = getattr(result.thresholds, cell.attributes["data-rate"])
            assert cell.one("b").text == share(found.value[asked, k])
        assert row.one(data_count=True).text == f"{result.thresholds.selected[asked, k]:,.0f}"
    buttons = [int(button.attributes["data-index"]) for button in page.all("button")]
    thresholds = [f"{t:.4g}" for t in result.thresholds.thresholds]
    assert [data["thresholds"][k] for k in buttons] == thresholds


def test_every_notion_is_explained(shown):
    result, _, page = shown
    text = page.one("section", id="words").text
    assert ("ROC gap at a rate" in text) == (len(result.roc_gaps) > 0)
    for word in (
        "AUC",
        "Interval",
        "Tolerance",
        "Certificate",
        "Precision",
        "bnsp",
        "inter_group",
    ):
        assert word in text


@pytest.mark.slow
def test_many_groups_are_readable_and_small():
    rng = np.random.default_rng(3)
    n = 960
    y, group = np.arange(n) % 2, np.arange(n) // 2 % 24
    score = rng.normal(size=n) + y + 0.01 * group
    constraints = ["bnsp", RateConstraint("fnr"), RocConstraint(rates=(0.25,))]
    result = audit(y, score, sensitive_features=group, constraints=constraints)
    html = report.render(result)
    assert len(html.encode()) < 650_000
    page = read(html)
    assert len(list(page.all("tr", data_people=True))) == 24
    assert "Of 276 pairs" in html
    assert "Of 24 groups, 6 are shown" in html
    assert len(list(page.all("g", data_point=True))) == 4
    for told in result.omitted:
        assert told in page.one("section", id="notes").text


def test_groups_without_a_class_are_shown_with_the_reason():
    y = [0, 1] * 40 + [0] * 40
    groups = ["a"] * 80 + ["nobody positive"] * 40
    result = audit(y, range(120), sensitive_features=groups)
    page = read(report.render(result))
    assert "no positives of nobody positive" in page.one("main").text
    [gap] = page.all("tr", data_gap="bnsp, a and nobody positive")
    assert [cell.text for cell in gap.all("td")][:2] == ["undefined", "–no interval"]
    assert "nan" not in page.one("main").text.split()
    found = [gap.verdict for gap in result.gaps]
    tiles = gap_tiles(page)
    assert tiles["Gaps undefined"] == found.count("undefined") > 0
    assert sum(tiles.values()) == len(found)


def gap_tiles(page):
    """The counts of gaps by what is said of them."""
    tiles = page.one("dl", _class="tiles").all("div")
    told = {tile.one("dt").text: next(tile.all("dd")).text for tile in tiles}
    return {name: int(number) for name, number in told.items() if name.startswith("Gaps")}


def test_every_gap_is_counted_in_a_tile():
    result = case()
    found = [gap.verdict for gap in result.gaps]
    assert gap_tiles(read(report.render(result))) == {
        "Gaps beyond the tolerance": found.count("beyond"),
        "Gaps that data cannot tell": found.count("unclear"),
        "Gaps within the tolerance": found.count("within"),
    }
    assert "undefined" not in found


def test_what_has_no_interval_says_so_and_ratios_name_their_level():
    result = case()
    page = read(report.render(result))
    captions = [caption.text for caption in page.one("section", id="curves").all("figcaption")]
    assert sum("without an interval" in told for told in captions) == 1
    cuts = page.one("section", id="cuts_in_use").text
    ratio = result.thresholds.impact_ratio
    for value, low, high, note in zip(ratio.value, ratio.low, ratio.high, ratio.notes, strict=True):
        assert f"95% interval {low:.2f} to {high:.2f}" in note
        assert f"{value:.2f} times that of" in note
        assert " ".join(note.split())[1:] in cuts


def test_odd_names_and_constant_scores():
    groups = ["None", "None", " ", " "] * 10
    result = audit([0, 1, 0, 1] * 10, [0.5] * 40, sensitive_features=groups)
    html = report.render(result, title="\ud800 half a pair")
    page = read(html)
    html.encode("utf-8")
    assert page.one("h1").text == "? half a pair"
    assert [row.one("bdi").text for row in page.all("tr", data_people=True)] == ["' '", "None"]
    assert "All scores are equal" in page.one("section", id="answer").text


def test_write_and_to_html(tmp_path):
    result = case()
    path = report.write(result, tmp_path / "deep" / "a <b>.html")
    assert path.read_text(encoding="utf-8") == report.render(result)
    again = result.to_html(tmp_path / "again.html")
    assert again.read_bytes() == path.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.html", "deep"]


def test_what_is_no_result_is_refused():
    with pytest.raises(TypeError, match="AuditResult, not dict"):
        report.render({})


def certificate_of(page):
    section = page.one("section", id="cuts_in_use")
    return next(iter(section.all("p", **{"class": "certificate"})), None)


def test_the_cuts_in_use_have_pictures_a_certificate_and_gaps(shown):
    result, _, page = shown
    pictures = list(page.one("section", id="answer").all("svg", role="img"))
    assert len(pictures) == len(result.cut_curves.rates) == 2
    titles = [svg.one("title").text for svg in pictures]
    assert titles[0].startswith("False negative rate")
    assert titles[1].startswith("False positive rate")
    words = result.cuts.text()
    assert all(words in title for title in titles)
    if result.certificate is None:
        assert len(result.compared_groups) == 1
        assert certificate_of(page) is None
    else:
        assert " ".join(result.certificate.words.split()) in certificate_of(page).text
    section = page.one("section", id="cuts_in_use")
    rows = {row.attributes["data-gap"] for row in section.all("tr", data_gap=True)}
    assert rows <= {gap.title for gap in result.cut_gaps}
    if len(result.groups) == 2:
        assert rows == {gap.title for gap in result.cut_gaps}
    for others in page.all("section", id="gaps"):
        for gap in others.all("tr", data_gap=True):
            assert gap.attributes["data-gap"] not in rows


def test_the_captions_say_the_largest_gap_of_the_audit():
    y, group = np.tile([0, 0, 1, 1], 150), np.tile(["a", "b"], 300)
    score = np.random.default_rng(0).normal(size=600) + y - (group == "b")
    result = audit(y, score, sensitive_features=group)
    page = read(report.render(result))
    captions = [told.text for told in page.one("section", id="answer").all("figcaption")]
    gaps = {gap.name: gap for gap in result.cut_gaps}
    assert len(captions) == 2
    for rate, caption in zip(("fnr", "fpr"), captions, strict=True):
        assert points(gaps[f"{rate}_gap"].value) in caption
    cuts = page.one("section", id="cuts_in_use").text
    for gap in result.cut_gaps:
        assert gap.words[1:] in cuts


@pytest.mark.parametrize("known", [True, False])
def test_no_word_of_roc_gaps_unless_they_were_asked_for(known):
    y, group = np.tile([0, 0, 1, 1], 50), np.tile(["a", "b"], 100)
    score = np.random.default_rng(0).normal(size=200) + y
    result = audit(y if known else None, score, sensitive_features=group)
    html = report.render(result)
    page = read(html)
    assert "ROC gap" not in page.one("body").text
    assert ("Calibration" in page.one("body").text) == known
    sections = [section.attributes["id"] for section in page.all("section")]
    assert ("curves" in sections) == ("ranking" in sections) == known
    for section in page.all("section"):  # no heading without anything below it
        nodes = [child for child in section.children if not isinstance(child, str)]
        for one, two in pairwise(nodes):
            assert not (re.fullmatch("h[2-6]", one.tag) and one.tag == two.tag)
        assert not re.fullmatch("h[1-6]", nodes[-1].tag)
    heads = [th.text for th in page.one("table", id="explorer-table").one("thead").all("th")]
    assert len(heads) == (5 if known else 2)
    if not known:
        assert "false positive" not in page.one("main").text.lower()
        assert heads == ["Group", "Selected selection rate"]
        table = next(page.one("section", id="cuts_in_use").all("table"))
        heads = [th.text for th in table.one("thead").all("th")]
        assert heads == ["Cut", "Of everyone", "Group", "Selected"]


def test_other_gaps_asked_for_leave_the_cuts_as_context():
    y, group = np.tile([0, 0, 1, 1], 50), np.tile(["a", "b"], 100)
    score = np.random.default_rng(0).normal(size=200) + y
    result = audit(y, score, sensitive_features=group, constraints="bnsp")
    section = read(report.render(result)).one("section", id="cuts_in_use")
    assert "for context" in section.text
    assert len(list(section.all("tr", data_gap=True))) == 2


@pytest.mark.parametrize(
    "cuts",
    [
        Cuts(at=(0.1, 0.3)),
        Cuts(thresholds=(0.5, 99.0), inclusive=True),
        Cuts(between=(0.1, 0.4), selected="low"),
        Cuts(between=(0.001, 0.002)),
    ],
    ids=str,
)
def test_other_kinds_of_cuts(cuts):
    y, group = np.tile([0, 0, 1, 1], 50), np.tile(["a", "b"], 100)
    score = np.random.default_rng(0).normal(size=200) + y
    result = audit(y, score, sensitive_features=group, cuts=cuts)
    page = read(report.render(result))
    assert cuts.text()[1:] in page.one("section", id="cuts_in_use").text
    answer = page.one("section", id="answer")
    pictures = list(answer.all("svg", role="img"))
    if cuts.between == (0.001, 0.002):
        assert not pictures
        assert "no picture" in answer.text
        assert "0.1% to 0.2%" in answer.text
    else:
        assert len(pictures) == 2
    if cuts.thresholds:
        assert all("99 selects nobody" in svg.one("title").text for svg in pictures)
    words = page.one("section", id="words").text
    beyond = {"high": "above", "low": "below"}[cuts.selected]
    assert f"{'at or ' if cuts.inclusive else 'score '}{beyond} it is selected" in words
    assert f"{'at or ' if cuts.inclusive else 'score '}{beyond} the cut" in answer.text
    ends = ("more", "fewer") if cuts.selected == "high" else ("fewer", "more")
    assert f"lower: {ends[0]} are selected" in answer.text
    assert f"higher: {ends[1]} are selected" in answer.text


def test_a_score_without_any_cut_has_no_table_of_cuts():
    y, group = np.tile([0, 0, 1, 1], 50), np.tile(["a", "b"], 100)
    for labels in (y, None):
        result = audit(labels, np.ones(200), sensitive_features=group, cuts=Cuts(at=0.2))
        page = read(report.render(result))
        section = page.one("section", id="cuts_in_use")
        assert "At the cuts in use" not in [caption.text for caption in section.all("caption")]
        assert list(section.all("tr", data_gap=True))
        answer = page.one("section", id="answer")
        assert not list(answer.all("svg", role="img"))
        # One threshold, at the score that all have, selects nobody; without outcomes none is shown.
        assert bool(list(answer.all("table", id="explorer-table"))) == (labels is not None)


def test_the_user_s_words():
    y, group = np.tile([0, 0, 1, 1], 150), np.tile(["a", "b"], 300)
    score = np.random.default_rng(0).normal(size=600) + y - (group == "b")
    words = Words(
        people="applicants",
        positives="people who <repaid>",
        negatives="people who defaulted",
        selected="granted a loan",
        selected_is="good",
    )
    result = audit(y, score, sensitive_features=group, words=words)
    section = read(report.render(result)).one("section", id="answer")
    assert "people who <repaid>" in section.text
    assert "not be granted a loan" in section.text
    assert "favours group a" in section.text
    heads = [th.text for th in section.one("table", id="explorer-table").one("thead").all("th")]
    for head, parts in zip(
        heads[1:],
        (
            ["Granted a loan", "selection"],
            ["Not granted a loan", "people who <repaid>", "FNR"],
            ["Granted a loan", "people who defaulted", "FPR"],
            ["People who <repaid>", "granted a loan", "precision"],
        ),
        strict=True,
    ):
        assert all(part in head for part in parts)


def test_a_page_never_says_nan(shown):
    _, html, page = shown
    assert not re.search(r"\bnan\b", page.one("main").text, re.IGNORECASE)
    assert not re.search(r"[\"' (]nan[\"' )]", html, re.IGNORECASE)
