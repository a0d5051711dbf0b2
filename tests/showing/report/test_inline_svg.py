"""A picture in colours that the style sheet chooses."""

import re

import pytest
from report_cases import SCRIPT, read

from evenscore.showing.plots import figure, theme
from evenscore.showing.report.colours import Palette
from evenscore.showing.report.inline_svg import inline_svg


def drawn(label=SCRIPT, **options):
    made, ax = figure()
    with theme("light"):
        ax.plot([0, 1, 2], [0, 1, 0], label=label, **dict(color="#0072b2") | options)
        ax.legend()
    return made


def test_one_picture_with_both_colours():
    palette = Palette()
    svg = inline_svg(drawn(), name="p", title="A & B", palette=palette)
    sheet = palette.style_sheet()
    [name] = re.findall(r"(--c\d+):#0072b2", sheet)
    assert f"{name}:#56b4e9" in sheet
    assert f'stroke="var({name})"' in svg
    assert not re.search(r"#[0-9a-f]{6}", svg)
    page = read(svg)
    assert page.one("title").text == "A & B"
    assert SCRIPT in [text.text for text in page.all("text")]
    assert "style=" not in svg
    assert svg == inline_svg(drawn(), name="p", title="A & B", palette=Palette())


def test_letters_that_the_font_lacks_do_not_warn():
    svg = inline_svg(drawn("日本語 😀"), name="p", title="t", palette=Palette())
    assert "日本語 😀" in svg


def test_everything_is_within_the_picture():
    """The box is around what is drawn, however long the labels are."""
    made = drawn("a legend that is longer than the axes are wide, which are as wide as the rest")
    [ax] = made.axes
    ax.set_ylabel("long " * 30)
    svg = inline_svg(made, name="p", title="t", palette=Palette())
    left, top, width, height = (
        float(part) for part in re.search(r'viewBox="([^"]*)"', svg)[1].split()
    )
    for part in (ax, ax.yaxis.label, ax.get_legend()):
        box = part.get_window_extent()
        assert left <= box.x0
        assert box.x1 <= left + width
        assert top <= made.bbox.height - box.y1
        assert made.bbox.height - box.y0 <= top + height


@pytest.mark.parametrize("options", [dict(color="#123456"), dict(marker="o", mfc="#123456")])
def test_a_colour_without_a_dark_counterpart_does_not_pass_unseen(options):
    with pytest.warns(UserWarning, match="The colour #123456 of a picture has no dark counter"):
        inline_svg(drawn(**options), name="p", title="t", palette=Palette())


@pytest.mark.parametrize("part", ["marker", "text"])
def test_black_is_a_colour_too(part):
    """Matplotlib leaves it out of the file: it is what SVG takes for granted."""
    made = drawn(**dict(marker="o", mfc="black") if part == "marker" else {})
    if part == "text":
        made.axes[0].text(1, 0, "black", color="black")
    with pytest.warns(UserWarning, match="The colour #000000 of a picture has no dark counter"):
        inline_svg(made, name="p", title="t", palette=Palette())


def test_elements_that_are_no_shapes_are_refused():
    made = drawn()
    made.axes[0].imshow([[0.0, 1.0]])
    with pytest.raises(ValueError, match="The picture picture-p has an element image"):
        inline_svg(made, name="p", title="t", palette=Palette())
