"""What all displays of scores share, shown on each of them."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.linear_model import LogisticRegression
from support.making import draw

import evenscore as es
from evenscore import GroupedScores, plots
from evenscore.showing.plots.saving import figure_bytes
from evenscore.showing.plots.style import DARK, LIGHT

DISPLAYS = [
    plots.GroupRocDisplay,
    plots.ScoreDistributionDisplay,
    plots.CutRatesDisplay,
]
each = pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: display.__name__)


def columns(seed=0, **options):
    y, score, group, weight = draw(seed, **options)
    return y, score, np.array(["women", "men", "others", "fourth"])[group], weight


def texts(figure):
    """Everything written in a figure, as matplotlib shows it."""
    shown = []
    for text in figure.findobj(plt.Text):
        if text.get_text():
            shown.append(text._preprocess_math(text.get_text())[0])
    return shown


@each
def test_a_display_says_on_one_line_whether_it_is_drawn(display):
    y, score, group, _ = columns()
    scores = GroupedScores.from_arrays(y, score, sensitive_features=group)
    made = display.from_scores(scores)
    assert "not drawn" in repr(made)
    assert repr(made.plot(plots.figure()[1])) == f"<{display.__name__}, drawn>"


@each
@pytest.mark.parametrize(("n_groups", "theme"), [(2, None), (4, "dark")])
def test_plot_gives_itself_and_draws(display, theme, n_groups):
    y, score, group, weight = columns(n_groups=n_groups, weights="real")
    scores = GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)
    made = display.from_scores(scores)
    assert plt.get_fignums() == []
    assert made.plot(theme=theme) is made
    assert made.figure_ is made.ax_.figure
    expected = DARK if theme == "dark" else LIGHT
    assert to_rgb(made.ax_.get_facecolor()) == to_rgb(expected.background)
    made.figure_.canvas.draw()
    plt.close(made.figure_)
    assert plt.get_fignums() == []


@each
def test_given_axes_are_used_and_only_dressed_if_asked(display):
    y, score, group, _ = columns()
    figure, (one, two) = plt.subplots(1, 2)
    made = display.from_predictions(y, score, sensitive_features=group, ax=one)
    assert made.ax_ is one
    assert made.plot(ax=two, theme="dark").ax_ is two
    assert to_rgb(one.get_facecolor()) == (1.0, 1.0, 1.0)
    assert to_rgb(two.get_facecolor()) == to_rgb(DARK.background)
    assert len(plt.get_fignums()) == 1
    figure.canvas.draw()
    with pytest.raises(TypeError, match=r"ax must.* not int"):
        made.plot(3)
    with pytest.raises(ValueError, match=r"theme.*sepia"):
        made.plot(one, theme="sepia")


@each
def test_columns_are_drawn_at_once_as_in_scikit_learn(display):
    y, score, group, _ = columns()
    made = display.from_predictions(y, score, sensitive_features=group, theme="dark")
    assert len(plt.get_fignums()) == 1
    assert to_rgb(made.ax_.get_facecolor()) == to_rgb(DARK.background)
    with pytest.raises(TypeError, match="colour"):
        display.from_predictions(y, score, sensitive_features=group, colour="red")


@each
def test_names_are_shown_literally(display):
    y, score, group, _ = columns(n_groups=3)
    names = {"women": "$x$", "men": "_hidden", "others": "<script>alert('$')</script>"}
    group = [names[name] for name in group]
    made = display.from_predictions(y, score, sensitive_features=group)
    made.figure_.canvas.draw()
    shown = "\n".join(texts(made.figure_))
    assert "$x$" in shown
    assert "_hidden" in shown
    assert "<script>aler" in shown
    assert b"<script" not in figure_bytes(made.figure_, "svg")


def test_an_estimator_is_its_scores():
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(200, 3)), rng.choice(["a", "b"], 200)
    y = np.where(X[:, 0] + rng.normal(size=200) > 0, "yes", "no")
    model = LogisticRegression().fit(X, y)
    one = plots.GroupRocDisplay.from_estimator(model, X, y, sensitive_features=group)
    two = plots.GroupRocDisplay.from_predictions(
        y, model.decision_function(X), sensitive_features=group, pos_label="yes"
    )
    assert figure_bytes(one.figure_) == figure_bytes(two.figure_)


def test_an_estimator_that_needs_groups_is_told_them():
    class Shifted:
        def __init__(self, use_groups=True):
            self.use_groups = use_groups

        def decision_function(self, X, sensitive_features=None):
            shift = 0.0 if sensitive_features is None else 3.0 * (sensitive_features == "a")
            return X[:, 0] + shift

    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(200, 3)), rng.choice(["a", "b"], 200)
    y = (X[:, 0] + (group == "a") + rng.normal(size=200) > 0).astype(int)
    for use in (True, False):
        found = plots.GroupRocDisplay.from_estimator(Shifted(use), X, y, sensitive_features=group)
        scores = X[:, 0] + 3.0 * (group == "a") * use
        expected = es.metrics.auc_matrix(y, scores, sensitive_features=group)
        assert found.curves[-1].auc.value == pytest.approx(expected.overall)


def test_response_methods():
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(300, 2)), np.tile(["a", "b", "b"], 100)
    y = np.where(X[:, 0] + rng.normal(size=300) > 0, 3, 2)
    model = LogisticRegression().fit(X, y)

    def aucs(**options):
        found = plots.GroupRocDisplay.from_estimator(
            model, X, y, sensitive_features=group, **options
        )
        return [curve.auc.value for curve in found.curves]

    expected = aucs()
    assert min(expected) > 0.6
    assert aucs(response_method="predict_proba") == pytest.approx(expected)
    # The other label as the positive one: scores and labels are both turned round.
    assert aucs(pos_label=2) == pytest.approx(expected)
    assert aucs(pos_label=2, response_method="predict_proba") == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"response_method.*'auto'"):
        aucs(response_method="predict")
    with pytest.raises(TypeError, match=r"object.*decision_function"):
        plots.GroupRocDisplay.from_estimator(object(), X, y, sensitive_features=group)
    three = LogisticRegression().fit(X, np.arange(300) % 3)
    with pytest.raises(ValueError, match=r"LogisticRegression.* 3 classes"):
        plots.GroupRocDisplay.from_estimator(three, X, y, sensitive_features=group)


@each
def test_bad_input_is_named(display):
    y, score, group, _ = columns()
    with pytest.raises(ValueError, match="y_score"):
        display.from_predictions(y, [np.nan, *score[1:]], sensitive_features=group)
    with pytest.raises(ValueError, match=r"sensitive_features.* 3 rows"):
        display.from_predictions(y, score, sensitive_features=group[:3])
    with pytest.raises(TypeError, match=r"GroupedScores.*list"):
        display.from_scores([1, 2])


@each
@pytest.mark.parametrize("case", ["constant", "tiny and huge"])
def test_degenerate_scores_are_drawn(display, case):
    y, group = np.tile([0, 0, 1, 1], 5), np.tile(["a", "b"], 10)
    score = np.arange(20.0)
    if case == "constant":
        score[:] = 3.0
    else:
        y, group, score = np.array([0, 0, 1, 1]), np.array(list("abab")), np.arange(4.0) * 1e300
    scores = GroupedScores.from_arrays(y, score, sensitive_features=group)
    made = display.from_scores(scores).plot()
    made.figure_.canvas.draw()


@each
def test_an_empty_cell_is_said_to_be_empty(display):
    y = [0, 1, 0, 1, 0, 0] * 10
    group = list("aabbcc") * 10
    score = np.random.default_rng(0).normal(size=60)
    made = display.from_predictions(y, score, sensitive_features=group)
    made.figure_.canvas.draw()
    told = " ".join(" ".join(texts(made.figure_)).split())
    assert any(
        words in told for words in ("no positives of c", "c: no positives", "c: 0 positives")
    )


@pytest.mark.slow
def test_figures_grow_with_their_legends():
    heights = []
    for k in (2, 4):
        y, score, group, _ = columns(n_groups=k)
        made = plots.GroupRocDisplay.from_predictions(y, score, sensitive_features=group)
        heights.append(made.figure_.get_figheight())
        made.plot(made.ax_)
    assert heights[1] > heights[0] + 0.3
    figure, ax = plt.subplots(figsize=(4, 4))
    made.plot(ax)
    assert figure.get_figheight() == 4.0
    assert made.plot(ax, legend=False).legend_ is None


def test_a_legend_is_below_where_there_is_room_and_inside_otherwise():
    y, score, group, _ = columns()
    made = plots.GroupRocDisplay.from_predictions(y, score, sensitive_features=group)
    for layout, below in (("constrained", True), (None, False)):
        figure, ax = plt.subplots(layout=layout)
        made.plot(ax)
        figure.canvas.draw()
        legend, frame = (part.get_window_extent() for part in (made.legend_, ax))
        assert (legend.y1 < frame.y0) == below
        assert legend.y0 >= 0.0
        assert legend.y1 <= figure.bbox.y1


def test_a_legend_is_below_all_lines_of_the_axis_label():
    y, score, group, _ = columns()
    words = es.Words(people="applicants to all branches", selected="granted a loan on easy terms")
    made = plots.CutRatesDisplay.from_predictions(
        y, score, sensitive_features=group, words=words, cuts=es.Cuts(between=(0.2, 0.4))
    )
    made.figure_.canvas.draw()
    label, legend = made.ax_.xaxis.label, made.legend_
    assert label.get_text().count("\n") == 1
    assert legend.get_window_extent().y1 <= label.get_window_extent().y0
