"""Text is legible on every ground, in both themes."""

import re

import pytest
from matplotlib.colors import to_rgb

from evenscore.showing.colours import DARK, LIGHT, luminance
from evenscore.showing.page.charts import SERIES
from evenscore.showing.page.colours import SHADES, shade, style_sheet
from evenscore.showing.page.shell import asset


def contrast(one, two):
    """The contrast ratio of WCAG."""
    low, high = sorted(luminance(to_rgb(colour)) for colour in (one, two))
    return (high + 0.05) / (low + 0.05)


def variables(dark):
    """The colours that the style sheets of a page define."""
    sheets = asset("showing/page/page.css") + "\n" + style_sheet()
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
    for k in range(SERIES):  # lines, not text
        assert contrast(colour[f"--series-{k}"], colour["--ground"]) >= 3.0


def test_shades_go_from_end_to_end():
    assert [shade(x) for x in (-1.0, 0.0, 0.25, 0.5, 1.0, 2.0)] == [0, 0, 5, 10, 20, 20]


def test_every_light_colour_has_one_dark_counterpart():
    light, dark = variables(dark=False), variables(dark=True)
    assert light.keys() == dark.keys()
    for name, side in (("ground", "background"), ("text", "text"), ("muted", "muted")):
        assert light[f"--{name}"] == getattr(LIGHT, side)
        assert dark[f"--{name}"] == getattr(DARK, side)
    assert len(LIGHT.series) == SERIES
    for k in range(SERIES):
        assert light[f"--series-{k}"] == LIGHT.series[k].lower()
        assert dark[f"--series-{k}"] == DARK.series[k].lower()


def test_paper_is_never_dark():
    """Whatever is dark is so on a screen alone."""
    for sheet in (style_sheet(), asset("showing/page/page.css")):
        told = re.findall(r"@media[^{]*prefers-color-scheme[^{]*", sheet)
        assert told
        assert all(rule.startswith("@media screen and") for rule in told)
    names = set(re.findall(r"var\((--[\w-]+)\)", asset("showing/page/page.css")))
    names -= {"--serif", "--sans", "--series"}  # letters, and the colour of whichever series
    assert names <= variables(dark=False).keys()
