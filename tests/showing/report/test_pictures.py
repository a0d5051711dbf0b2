"""Pictures are drawn once, in the light theme: what is dark is as if it had been drawn dark."""

import re
from functools import partial

import numpy as np
import pytest
from conftest import every_family
from report_cases import case

from evenscore import audit
from evenscore.showing.plots.style import DARK, contrasting, figure
from evenscore.showing.report import pictures
from evenscore.showing.report.colours import Palette
from evenscore.showing.report.selection import worst_gap_pairs

COLOUR = re.compile(r'(?:fill|stroke)="([^"]*)"')


class AsDrawn(Palette):
    """Leaves the colours as they are drawn, in the dark theme."""

    def use(self, drawn):
        return drawn

    def ink_on(self, value):
        return contrasting(DARK.scale(value))


def all_pictures(result, palette):
    """The markup of every picture of a report."""
    drawn = pictures.cut_pictures((result,), palette)
    drawn += pictures.cut_pictures((result, result), palette, ("before", "after"))
    drawn += [pictures.distribution_picture(result, palette), pictures.roc_picture(result, palette)]
    for pair in pictures.pair_pictures(result, palette):
        drawn += [pair.gaps, pair.curves]
    for pair in worst_gap_pairs(result, 1):
        drawn += pictures.before_after_pictures(result, result, pair, palette)
    if 6 < len(result.groups) <= 12:
        drawn.append(pictures.matrix_picture(result, palette))
    return "".join(picture.svg for picture in drawn)


def without_some():
    """Nine groups, one of them without positives: a matrix with cells that have no number."""
    y, group = np.arange(900) % 2, np.arange(900) // 2 % 9
    y[group == 3] = 0
    score = np.random.default_rng(0).normal(size=900) + 2 * y
    return audit(y, score, sensitive_features=group, constraints=every_family())


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(partial(case, 1), id="K1"),
        pytest.param(partial(case, 2), id="K2"),
        pytest.param(partial(case, 4, weights="real"), id="K4-weights"),
        pytest.param(partial(case, 7, n=600, levels=10), id="K7-ties"),
        pytest.param(without_some, id="K9-empty"),
    ],
)
def test_dark_colours_are_those_of_the_dark_theme(make, monkeypatch):
    result, palette = make(), Palette()
    light = COLOUR.findall(all_pictures(result, palette))
    rules = re.search(r"@media[^{]*{:root{(.*?)}}", palette.style_sheet())[1]
    dark = dict(rule.split(":") for rule in rules.split(";"))
    monkeypatch.setattr(pictures, "figure", partial(figure, theme="dark"))
    expected = COLOUR.findall(all_pictures(result, AsDrawn()))
    assert len(expected) > 100
    assert [
        dark[name.removeprefix("var(")[:-1]] if name.startswith("var") else name for name in light
    ] == expected
