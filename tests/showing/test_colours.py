"""Colours between others, and ink that is legible on them."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from evenscore.showing.colours import DARK, LIGHT, contrasting, ink_on, luminance, mixed


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_mixed_colours_lie_between(share):
    one, two = np.array(to_rgb("#0072B2")), np.array(to_rgb("#D55E00"))
    found = np.array(to_rgb(mixed("#0072B2", "#D55E00", share)))
    np.testing.assert_allclose(found, share * one + (1 - share) * two, atol=0.5 / 255)


def test_the_ends_of_luminance():
    assert luminance((0.0, 0.0, 0.0)) == 0.0
    assert luminance((1.0, 1.0, 1.0)) == pytest.approx(1.0)
    assert luminance((0.0, 1.0, 0.0)) > luminance((1.0, 0.0, 0.0)) > luminance((0.0, 0.0, 1.0))


@pytest.mark.parametrize("grey", [0, 60, 110, 130, 200, 255])
def test_the_ink_with_more_contrast_is_taken(grey):
    ground = f"#{grey:02x}{grey:02x}{grey:02x}"

    def contrast(ink):
        low, high = sorted(luminance(to_rgb(colour)) + 0.05 for colour in (ink, ground))
        return high / low

    inks = "#101010", "#fafafa"
    assert contrast(contrasting(ground)) >= 0.97 * max(map(contrast, inks))
    assert contrasting(ground) == ink_on(to_rgb(ground))


def test_both_sides_have_as_many_series_and_all_differ():
    assert len(LIGHT.series) == len(DARK.series) == 7
    for colours in (LIGHT, DARK):
        assert len(set(colours.series)) == 7
