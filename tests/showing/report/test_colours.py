"""Text is legible on every ground, in both themes."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from evenscore.showing.plots.style import DARK, LIGHT
from evenscore.showing.report.colours import SHADES, Palette, counterparts, inks, shade
from evenscore.showing.report.page import _asset


def contrast(one, two):
    """The contrast ratio of WCAG."""
    bright = []
    for colour in (one, two):
        parts = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)
        ]
        bright.append(0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2])
    low, high = sorted(bright)
    return (high + 0.05) / (low + 0.05)


def variables(dark):
    sheets = _asset("report.css") + "\n" + Palette().style_sheet()
    found = {}
    for head, body in re.findall(
        r"(@media screen and \(prefers-color-scheme: ?dark\) ?{\s*)?:root ?{([^}]*)}", sheets
    ):
        if not head or dark:
            found |= dict(re.findall(r"(--[\w-]+): ?(#\w{6})", body))
    return found


@pytest.mark.parametrize("dark", [False, True])
def test_contrast(dark):
    colour = variables(dark)
    for text in ("--text", "--soft", "--accent"):
        for ground in ("--ground", "--panel"):
            assert contrast(colour[text], colour[ground]) >= 4.5, (text, ground)
    for k in range(SHADES):
        assert contrast(colour[f"--s{k}"], colour[f"--t{k}"]) >= 4.5
    for k in range(6):  # lines, not text
        assert contrast(colour[f"--series-{k}"], colour["--ground"]) >= 3.0


def test_shades_go_from_end_to_end():
    assert [shade(x) for x in (-1.0, 0.0, 0.25, 0.5, 1.0, 2.0)] == [0, 0, 5, 10, 20, 20]


def test_every_light_colour_has_one_dark_counterpart():
    pairs = set(zip(inks(LIGHT), inks(DARK), strict=True))
    assert len(pairs) == len(counterparts())
    for role in ("background", "text", "muted", "faint", "strip"):
        assert counterparts()[getattr(LIGHT, role)] == getattr(DARK, role)
    for light, dark in zip(LIGHT.colors, DARK.colors, strict=True):
        assert counterparts()[light.lower()] == dark.lower()


def test_numbers_are_legible_on_the_scale_in_both_themes():
    palette = Palette()
    for value in np.linspace(0.0, 1.0, 101):
        name = palette.use(palette.ink_on(value))[4:-1]
        sides = re.findall(rf"{name}:(#\w{{6}})", palette.style_sheet())
        for theme, ink in zip((LIGHT, DARK), sides, strict=True):
            assert contrast(ink, theme.scale(value)) > 4.0  # neither ink has more everywhere
