"""Figures without training: what can be read from them is what the text of the paper says."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from evenscore.paper import figures
from evenscore.paper.laws import SquareLaw


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def line(ax, label):
    """Where a line with so much of its label is, as a function."""
    [found] = [one for one in ax.lines if label in str(one.get_label())]
    x, y = found.get_data()
    return lambda at: float(np.interp(at, x, y))


def test_figure_1_is_read_as_the_text_reads_it():
    """S:640-693 and 780-801 of the paper, number by number."""
    negatives, positives, curves, gaps = figures.credit().axes
    # "t = 0.85 gives a FNR of 30% for group 0 and of 60% for group 1"
    first, second = (line(positives, f"G^{{({k})}}") for k in (0, 1))
    assert (first(0.85), second(0.85)) == pytest.approx((0.3, 0.6), abs=2e-3)
    # "fair in FNR only for t = 0.72 (20% FNR for each group) but has a … FPR of ~25%"
    assert (first(0.72), second(0.72)) == pytest.approx((0.2, 0.2), abs=2e-3)
    for group in (0, 1):
        assert line(negatives, f"H^{{({group})}}")(0.72) == pytest.approx(0.75, abs=2e-3)
    assert {"FNR 30%", "FNR 60%", "FNR 20%", "t = 0.72", "t = 0.85"} <= set(texts(positives))
    assert "FPR 25%" in texts(negatives)
    # "do not have scores smaller than 0.5"; those of group 0 "are sometimes low"
    assert second(0.5) == pytest.approx(0.0, abs=1e-9)
    assert first(0.5) > 0.05
    # AUC_{H,G0} = AUC_{H,G1}, and very different TPRs at low FPRs
    labels = [str(one.get_label()) for one in curves.lines if "AUC" in str(one.get_label())]
    assert [label.split("AUC ")[1] for label in labels] == ["0.840", "0.840"]
    one, two = (line(curves, f"G^{{({k})}}") for k in (0, 1))
    assert one(0.12) - two(0.12) == pytest.approx(0.3, abs=2e-3)
    assert one(0.25) == pytest.approx(two(0.25), abs=2e-3) == pytest.approx(0.8, abs=2e-3)
    # Δ_H = 0 for any α, Δ_G is large, and α_max is the largest TPR that the bank operates at
    between, diagonal = line(gaps, "G^{(0)}, G^{(1)}"), line(gaps, "H^{(0)}, H^{(1)}")
    for rate in np.linspace(0, 1, 21):
        assert diagonal(rate) == pytest.approx(rate, abs=1e-9)
    assert between(0.7) - 0.7 == pytest.approx(-0.3, abs=2e-3)
    assert between(0.8) == pytest.approx(0.8, abs=2e-3)
    assert any("alpha_{max}" in text and text.endswith("= 0.8") for text in texts(gaps))
    assert any("Delta_G" in text and text.endswith("-0.3") for text in texts(gaps))
    letters = [ax.get_title()[:2] for ax in (negatives, positives, curves, gaps)]
    assert letters == ["a)", "b)", "c)", "d)"]


def test_figure_4_has_the_two_scores_of_the_text():
    [ax] = figures.square_tradeoff().axes
    inside = [line(ax, f"within group {group}") for group in (0, 1)]
    assert inside[0](0.5) == pytest.approx(inside[1](0.5), abs=1e-6)
    everyone = line(ax, "everyone")
    best = SquareLaw.best()
    assert everyone(best.c) == pytest.approx(best.auc(), abs=1e-4)
    assert texts(ax) == ["fair", "best AUC"]
