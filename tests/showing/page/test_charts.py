"""A chart: where numbers lie, what is left out, and texts that come from outside."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.report_cases import SCRIPT, read

from evenscore.gaps.cuts import percent
from evenscore.showing.page.charts import (
    MARKERS,
    SERIES,
    Chart,
    area,
    dash,
    marker,
    plain,
    stroke,
    swatch,
    ticks,
    upright,
)


def chart(**options):
    given = dict(name="c", title="A title that says what it shows", x=(0.0, 1.0), y=(0.0, 2.0))
    return Chart(**given | options)


def test_numbers_lie_where_the_axes_say():
    made = chart(x=(-1.0, 3.0), y=(10.0, 20.0), x_label="x")
    assert made.at_x(-1.0) == made.left
    assert made.at_x(3.0) == made.width - 20.0
    assert made.at_x(1.0) == pytest.approx((made.left + made.width - 20.0) / 2, abs=0.05)
    assert made.at_y(10.0) == made.bottom
    assert made.at_y(20.0) == made.top == 8.0
    assert chart(y_label="above").top == 24.0
    assert made.bottom < chart().bottom < made.height


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 9))
def test_ticks_are_few_round_and_inside(low, span, most):
    high = low + span
    if not high > low:
        return
    found = ticks(low, high, most)
    assert 0 < len(found) <= most or found == [low, high]
    slack = 1e-6 * span + 1e-9 * max(abs(low), abs(high))
    assert all(low - slack <= tick <= high + slack for tick in found)
    assert found == sorted(found)
    if len(found) > 2:
        steps = np.diff(found)
        np.testing.assert_allclose(steps, steps[0], rtol=1e-3)


def test_ticks_of_nothing():
    assert ticks(1.0, 1.0) == [1.0]
    assert ticks(-5e-324, 0.0) == [-5e-324]  # too near each other for a step
    assert len(ticks(0.0, math.inf)) == 1
    assert (percent(0.5), percent(0.125), plain(0.30000001)) == ("50%", "12.5%", "0.3")


def test_a_line_is_broken_where_it_has_no_value():
    made = chart()
    made.line([0.0, 0.1, 0.2, 0.3, 0.4], [0.0, 1.0, math.nan, 2.0, 5.0], 1)
    [path] = re.findall(r' d="([^"]*)"', made.parts[0])
    assert path.count("M") == 2
    assert path.count("L") == 2
    assert path.endswith(f"{made.at_x(0.4)} {made.at_y(2.0)}")  # kept within the picture
    made.line([0.0], [math.nan], 0)
    assert ' d=""' in made.parts[1]


def test_a_band_is_drawn_where_both_ends_are_known():
    made = chart()
    made.band([0.0, 0.1, 0.2, 0.3], [0, 0, math.nan, 0], [1, 1, 1, math.nan], "band", series=9)
    [only] = made.parts
    assert f'class="band series-{9 % SERIES}"' in only
    numbers = re.findall(r"([\d.]+) ([\d.]+)", only)
    assert len(numbers) == 4
    made.band([0.0, 0.1], [math.nan] * 2, [1.0] * 2, "band")
    assert made.parts == [only]


def test_what_is_not_known_has_no_mark_and_no_bar():
    made = chart()
    made.marks([0.1, 0.2], [math.nan, 1.0], 0)
    made.error_bar(0.1, math.nan, 1.0, 0)
    assert len(made.parts) == 1
    assert f"translate({made.at_x(0.2)} {made.at_y(1.0)})" in made.parts[0]
    made.error_bar(0.1, 0.5, 1.0, 0)
    start = f'd="M{made.at_x(0.1)} {made.at_y(0.5)}V{made.at_y(1.0)}'
    assert start in made.parts[1]


def test_rules_go_from_end_to_end():
    made = chart()
    made.rule("axis", x=0.5)
    made.rule("axis", y=1.0)
    assert f'd="M{made.at_x(0.5)} {made.at_y(0.0)}V{made.at_y(2.0)}"' in made.parts[0]
    assert f'd="M{made.at_x(0.0)} {made.at_y(1.0)}H{made.at_x(1.0)}"' in made.parts[1]


def test_steps_are_the_heights_of_the_bars():
    made = chart()
    made.steps([0.0, 0.5, 1.0], [1.0, math.nan], 0, filled=False)
    zero = made.at_y(0.0)
    expected = (
        f"M{made.at_x(0.0)} {zero}V{made.at_y(1.0)}H{made.at_x(0.5)}V{zero}H{made.at_x(1.0)}V{zero}"
    )
    assert len(made.parts) == 1
    assert f'd="{expected}"' in made.parts[0]
    made.steps([0.0, 1.0], [1.0], 0, filled=True)
    assert len(made.parts) == 3


def test_texts_from_outside_are_no_markup():
    made = chart(title=SCRIPT, x_label=SCRIPT, y_label=SCRIPT, x_text=lambda value: SCRIPT)
    made.text(0.5, 1.0, SCRIPT)
    page = read(made.svg())
    assert not list(page.all("script"))
    assert page.one("title").text == SCRIPT
    texts = [node.text for node in page.all("text")]
    assert texts.count(SCRIPT) == len(ticks(0.0, 1.0)) + 3


def test_it_has_a_title_that_is_its_label():
    outer = next(read(chart().svg()).all("svg"))
    assert outer.attributes["role"] == "img"
    assert outer.attributes["aria-labelledby"] == outer.one("title").attributes["id"]
    assert outer.attributes["viewbox"] == "0 0 440 300"


def test_a_long_label_is_in_several_lines_that_fit():
    words = "share of all applicants of the bank granted a loan with interest " * 2
    made = chart(x_label=words)
    texts = [node.text for node in read(made.svg()).all("text")]
    lines = texts[-3:]
    assert " ".join(lines) == words.strip()
    assert all(6.6 * len(line) <= made.width - made.left for line in lines)
    assert made.bottom == chart(x_label="short").bottom - 32.0


def test_series_differ_by_shape_and_dashes_not_by_colour_alone():
    assert len({marker(k) for k in range(SERIES)}) == SERIES == len(MARKERS)
    assert len({dash(k) for k in range(SERIES)}) == SERIES
    assert marker(SERIES) == marker(0)
    looks = [swatch(k) for k in range(SERIES)]
    assert len(set(looks)) == SERIES
    for look in (*looks, swatch(0, line=False), area("ribbon"), stroke("front"), upright()):
        [svg] = read(look).all("svg")
        assert svg.attributes["aria-hidden"] == "true"
    assert "curve" not in swatch(0, line=False)
