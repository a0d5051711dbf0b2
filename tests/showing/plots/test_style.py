import matplotlib
import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_rgb

from evenscore.showing.plots import figure
from evenscore.showing.plots.style import DARK, LIGHT, dress, theme, theme_of


def luminance(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, two):
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("found", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast_is_enough_to_read(found):
    assert contrast(found.text, found.background) > 7.0
    assert contrast(found.muted, found.background) > 4.5
    for color in found.colors:
        assert contrast(color, found.background) > 3.0  # WCAG's least for graphics


def test_series_differ_without_colour():
    styles = [LIGHT.series(k) for k in range(7)]
    for part in range(3):
        assert len({style[part] for style in styles}) == 7
    assert len({LIGHT.series(k) for k in range(50)}) == 50


def test_theme_returns_the_settings_even_after_an_error():
    before = dict(matplotlib.rcParams)
    with pytest.raises(RuntimeError), theme("dark") as found:  # noqa: PT012
        assert matplotlib.rcParams["text.color"] == found.text
        raise RuntimeError
    assert dict(matplotlib.rcParams) == before
    with pytest.raises(ValueError, match=r"theme.*'blue'"):
        figure(theme="blue")


def test_theme_of_axes():
    made, ax = plt.subplots()
    assert theme_of(ax) is LIGHT
    ax.set_facecolor("#101010")
    assert theme_of(ax) is DARK
    ax.set_facecolor("none")  # what is behind counts
    assert theme_of(ax) is LIGHT
    made.set_facecolor("black")
    assert theme_of(ax) is DARK
    made.set_facecolor("none")
    assert theme_of(ax) is LIGHT


def test_dressed_axes():
    made, ax = plt.subplots()
    ax.set_title("title")
    dress(ax, DARK)
    assert to_rgb(made.get_facecolor()) == to_rgb(DARK.background)
    assert to_rgb(ax.title.get_color()) == to_rgb(DARK.text)
    assert to_rgb(ax.get_xticklabels()[0].get_color()) == to_rgb(DARK.text)


def test_figures_are_unknown_to_pyplot():
    made = [figure(2, 3, theme="dark")[0] for _ in range(2)]
    assert plt.get_fignums() == []
    assert to_rgb(made[0].get_facecolor()) == to_rgb(DARK.background)
    assert figure(2, 3)[1].shape == (2, 3)
