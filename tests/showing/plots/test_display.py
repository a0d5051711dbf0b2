"""What all displays of scores share, shown on each of them."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.linear_model import LogisticRegression
from support.making import draw

import evenscore as es
from evenscore import GroupedScores, plots
from evenscore.showing.plots.style import DARK, LIGHT

DISPLAYS = [
    plots.GroupRocDisplay,
    plots.InterGroupRocDisplay,
    plots.RocGapDisplay,
    plots.ScoreDistributionDisplay,
    plots.AucMatrixDisplay,
    plots.CutRatesDisplay,
]
FEW = {
    plots.InterGroupRocDisplay: dict(n_resamples=50, confidence_level=0.8),
    plots.RocGapDisplay: dict(n_resamples=50, confidence_level=0.8),
}

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
    made = display.from_scores(scores, **FEW.get(display, {}))
    assert repr(made) == f"<{display.__name__}, not drawn yet: call plot()>"
    assert repr(made.plot(plots.figure()[1])) == f"<{display.__name__}, drawn>"


@each
@pytest.mark.parametrize(("n_groups", "theme"), [(2, None), (3, "light"), (4, "dark")])
def test_plot_gives_itself_and_draws(display, theme, n_groups):
    y, score, group, weight = columns(n_groups=n_groups, weights="real")
    scores = GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)
    made = display.from_scores(scores, **FEW.get(display, {}))
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
    made = display.from_predictions(
        y, score, sensitive_features=group, ax=one, **FEW.get(display, {})
    )
    assert made.ax_ is one
    assert made.plot(ax=two, theme="dark").ax_ is two
    assert to_rgb(one.get_facecolor()) == (1.0, 1.0, 1.0)
    assert to_rgb(two.get_facecolor()) == to_rgb(DARK.background)
    assert len(plt.get_fignums()) == 1
    figure.canvas.draw()
    with pytest.raises(TypeError, match="ax must be axes of matplotlib, not int"):
        made.plot(3)
    with pytest.raises(ValueError, match="theme must be 'light' or 'dark', not 'sepia'"):
        made.plot(one, theme="sepia")


@each
def test_columns_are_drawn_at_once_as_in_scikit_learn(display):
    y, score, group, _ = columns()
    made = display.from_predictions(
        y, score, sensitive_features=group, theme="dark", **FEW.get(display, {})
    )
    assert len(plt.get_fignums()) == 1
    assert to_rgb(made.ax_.get_facecolor()) == to_rgb(DARK.background)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        display.from_predictions(y, score, sensitive_features=group, colour="red")


@each
def test_names_are_shown_literally(display):
    y, score, group, _ = columns(n_groups=3)
    names = {"women": "$x$", "men": "_hidden", "others": "<script>alert('$')</script>"}
    group = [names[name] for name in group]
    made = display.from_predictions(y, score, sensitive_features=group, **FEW.get(display, {}))
    made.figure_.canvas.draw()
    shown = "\n".join(texts(made.figure_))
    assert "$x$" in shown
    assert "_hidden" in shown
    assert "<script>aler" in shown
    assert b"<script" not in plots.figure_bytes(made.figure_, "svg")


@pytest.mark.slow
@each
def test_an_estimator_is_its_scores(display):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    group = np.where(rng.random(200) < 0.5, "a", "b")
    y = np.where(X[:, 0] + rng.normal(size=200) > 0, "yes", "no")
    few = FEW.get(display, {})
    for estimator, fit in (
        (LogisticRegression(), {}),
        (es.LinearScorer(constraints="inter_group", strength=0.1), dict(sensitive_features=group)),
    ):
        estimator.fit(X, y, **fit)
        one = display.from_estimator(estimator, X, y, sensitive_features=group, **few)
        two = display.from_predictions(
            y, estimator.decision_function(X), sensitive_features=group, pos_label="yes", **few
        )
        assert plots.figure_bytes(one.figure_) == plots.figure_bytes(two.figure_)


@pytest.mark.slow
def test_scorers_that_know_groups_are_told_them():
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(200, 3)), rng.choice(["a", "b"], 200)
    y = (X[:, 0] + (group == "a") + rng.normal(size=200) > 0).astype(int)
    columns = dict(sensitive_features=group)
    for scorer in (
        es.LinearScorer(use_groups=True),
        es.RepairedScorer(LogisticRegression(), "bnsp", cv=2, random_state=0),
    ):
        scorer.fit(X, y, **columns)
        one = plots.GroupRocDisplay.from_estimator(scorer, X, y, **columns)
        score = scorer.decision_function(X, **columns)
        two = plots.GroupRocDisplay.from_predictions(y, score, **columns)
        assert plots.figure_bytes(one.figure_) == plots.figure_bytes(two.figure_)


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
    with pytest.raises(ValueError, match="response_method must be 'auto', 'decision_function' or"):
        aucs(response_method="predict")
    with pytest.raises(TypeError, match="object has no decision_function and no predict_proba"):
        plots.GroupRocDisplay.from_estimator(object(), X, y, sensitive_features=group)
    three = LogisticRegression().fit(X, np.arange(300) % 3)
    with pytest.raises(ValueError, match="LogisticRegression knows 3 classes, but a score ranks"):
        plots.GroupRocDisplay.from_estimator(three, X, y, sensitive_features=group)


def test_a_repaired_scorer_is_given_the_groups():
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(400, 2)), np.tile(["a", "b"], 200)
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    scorer = es.RepairedScorer(
        LogisticRegression(), constraints=es.RocConstraint(on="negatives", rates=(0.25,))
    ).fit(X, y, sensitive_features=group)
    found = plots.GroupRocDisplay.from_estimator(scorer, X, y, sensitive_features=group)
    scores = scorer.decision_function(X, sensitive_features=group)
    expected = es.metrics.auc_matrix(y, scores, sensitive_features=group)
    assert found.curves[-1].auc.value == pytest.approx(expected.overall)


@pytest.mark.parametrize(
    "display",
    [plots.InterGroupRocDisplay, plots.RocGapDisplay],
    ids=lambda display: display.__name__,
)
def test_pairs(display):
    y, score, group, _ = columns(n_groups=3)
    few = FEW.get(display, {})

    def pairs(**options):
        found = display.from_predictions(y, score, sensitive_features=group, **few, **options)
        return [(curve.first, curve.second) for curve in found.curves[::2]]

    assert pairs() == [("men", "others"), ("men", "women")]
    assert pairs(pairs=[("women", "others")]) == [("women", "others")]
    assert pairs(group_order=["women", "men", "others"])[0] == ("women", "men")
    with pytest.raises(ValueError, match="There is no group 'x'; the groups are 'men', 'others'"):
        pairs(pairs=[("men", "x")])
    with pytest.raises(ValueError, match="A pair needs two groups, not 'men' twice"):
        pairs(pairs=[("men", "men")])
    with pytest.raises(ValueError, match="compared two by two, but there is only 'a'"):
        display.from_predictions(y, score, sensitive_features=["a"] * len(y))


@each
def test_bad_input_is_named(display):
    y, score, group, _ = columns()
    with pytest.raises(ValueError, match="y_score"):
        display.from_predictions(y, [np.nan, *score[1:]], sensitive_features=group)
    with pytest.raises(ValueError, match="sensitive_features has 3 rows"):
        display.from_predictions(y, score, sensitive_features=group[:3])
    with pytest.raises(TypeError, match="Expected a GroupedScores, not list"):
        display.from_scores([1, 2])


@each
@pytest.mark.parametrize("case", ["constant", "tiny", "huge scores"])
def test_degenerate_scores_are_drawn(display, case):
    y, group = np.tile([0, 0, 1, 1], 5), np.tile(["a", "b"], 10)
    score = np.arange(20.0)
    if case == "constant":
        score[:] = 3.0
    if case == "tiny":
        y, group, score = np.array([0, 0, 1, 1]), np.array(list("abab")), np.arange(4.0)
    if case == "huge scores":
        score *= 1e300
    scores = GroupedScores.from_arrays(y, score, sensitive_features=group)
    made = display.from_scores(scores, **FEW.get(display, {})).plot()
    made.figure_.canvas.draw()


@each
def test_an_empty_cell_is_said_to_be_empty(display):
    y = [0, 1, 0, 1, 0, 0] * 10
    group = list("aabbcc") * 10
    score = np.random.default_rng(0).normal(size=60)
    made = display.from_predictions(y, score, sensitive_features=group, **FEW.get(display, {}))
    made.figure_.canvas.draw()
    told = " ".join(" ".join(texts(made.figure_)).split())
    assert any(
        words in told
        for words in ("no positives of c", "c: no positives", "c: 0 positives", "none none")
    )


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


@pytest.mark.slow
def test_matplotlib_is_imported_on_first_use_only():
    import subprocess
    import sys

    code = "import evenscore, sys; assert 'matplotlib' not in sys.modules; evenscore.plots.figure"
    subprocess.run([sys.executable, "-c", code], check=True)
