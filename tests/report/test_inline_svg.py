"""Two versions of a picture as one."""

import re

import pytest
from report_cases import SCRIPT, read

from evenscore.plots import figure
from evenscore.report.colours import Palette
from evenscore.report.inline_svg import inline_svg


def drawn(theme, label=SCRIPT, more=False):
    made, ax = figure(theme=theme)
    ax.plot([0, 1, 2], [0, 1, 0], label=label, color="#0072b2" if theme == "light" else "#56b4e9")
    if more:
        ax.plot([0, 1], [1, 1])
    ax.legend()
    return made


def test_one_picture_with_both_colours():
    palette = Palette()
    svg = inline_svg(drawn("light"), drawn("dark"), name="p", title="A & B", palette=palette)
    sheet = palette.style_sheet()
    [name] = re.findall(r"(--c\d+):#0072b2", sheet)
    assert f"{name}:#56b4e9" in sheet
    assert f'stroke="var({name})"' in svg
    assert not re.search(r"#[0-9a-f]{6}", svg)
    page = read(svg)
    assert page.one("title").text == "A & B"
    assert SCRIPT in [text.text for text in page.all("text")]
    assert "style=" not in svg
    assert svg == inline_svg(
        drawn("light"), drawn("dark"), name="p", title="A & B", palette=Palette()
    )


def test_letters_that_the_font_lacks_do_not_warn():
    pair = (drawn(theme, "日本語 😀") for theme in ("light", "dark"))
    assert "日本語 😀" in inline_svg(*pair, name="p", title="t", palette=Palette())


def test_pictures_that_differ_are_refused():
    with pytest.raises(ValueError, match="cannot be shown in both themes"):
        inline_svg(drawn("light"), drawn("dark", more=True), name="p", title="t", palette=Palette())
