"""What makes the paper's tables again, `reproduction/`: small, and on synthetic data."""

import csv
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reference import auc, roc

from evenscore.gaps import AucConstraint
from evenscore.paper.laws import RingsLaw, SquareLaw
from reproduction import __main__ as command
from reproduction import published, real, synthetic
from reproduction.comparing import differences
from reproduction.parts import Part, Store, run
from reproduction.plan import FULL, QUICK, Plan
from reproduction.real import Selection
from reproduction.tables import Number

TINY = replace(QUICK, data=(), runs=2, synthetic_iterations=60)
SHIPPED = command.SHIPPED.read_text("utf-8")

# ---------------------------------------------------------------------- published numbers

share = st.floats(0.01, 0.99)


@settings(max_examples=10)
@given(p0=share, p1=share, q1=share)
def test_the_catalogue_gives_the_printed_gap_weights(p0, p1, q1):
    q0 = 1 - q1
    cells = np.array([[q0 * (1 - p0), q1 * (1 - p1)], [q0 * p0, q1 * p1]])
    for name in published.GAMMA:
        ours = AucConstraint.named(name).gap_weights(cells)
        printed = published.gamma(name, p0, p1, q1)
        np.testing.assert_allclose(ours / ours.sum(), printed, atol=1e-12, err_msg=name)


def test_every_published_row_is_complete():
    assert len(published.REAL) == 12
    assert {len(row) for row in published.REAL.values()} == {len(published.MEASURES)}
    assert set(published.STRENGTH) == set(published.REAL)
    assert set(published.STRENGTH.values()) <= set(published.STRENGTH_GRID)
    assert set(published.L2.values()) <= set(published.L2_GRID)
    scorer = real.paper_scorer("compas", "auc")
    assert (scorer.strength, scorer.l2, scorer.validation_fraction) == (0.5, 0.05, 0.4)


def test_a_difference_is_judged_by_rounding_and_twice_the_noise():
    judged = {(0.914, 0.0): "within noise", (0.916, 0.0): "beyond noise",
              (0.916, 0.001): "within noise", (0.918, 0.001): "beyond noise"}  # fmt: skip
    for (value, noise), verdict in judged.items():
        assert Number(value, published=0.91, noise=noise).verdict == verdict
    assert Number(0.918).verdict == Number(np.nan, published=0.91).verdict == ""


# ---------------------------------------------------------------------- how scores are judged


@pytest.mark.slow
def test_a_score_on_real_data_is_judged_as_the_table_has_it():
    data = real.load("german")
    rows = np.arange(0, 1000, 2)
    score = data.X[rows, 0] + 0.01 * np.arange(len(rows)) % 7
    values, errors = real.judge("german", score, rows)
    y, second = data.y[rows], data.groups[rows] == data.group_order[1]
    cell = {(k, z): score[(y == k) & (second == bool(z))].tolist() for k in (0, 1) for z in (0, 1)}
    negatives = cell[0, 0] + cell[0, 1]
    expected = [
        auc(negatives, cell[1, 0] + cell[1, 1]),
        auc(negatives, cell[1, 0]) - auc(negatives, cell[1, 1]),
        *(roc(cell[k, 0], cell[k, 1], rate) - rate for k in (0, 1) for rate in published.RATES),
    ]
    np.testing.assert_allclose(values, expected, atol=1e-12)
    assert np.all((errors > 0) & (errors < 0.2))
    train, test = real.published_split(data)
    assert (len(train), len(test)) == (700, 300)
    assert sorted([*train, *test]) == list(range(1000))


class Known:
    """A score that is known."""

    def __init__(self, law):
        self.law = law

    def decision_function(self, X):
        return 3.0 * self.law.score(X) + 7.0


@pytest.mark.slow
@pytest.mark.parametrize(("example", "law"), [("square", SquareLaw), ("rings", RingsLaw)])
def test_a_score_on_synthetic_data_is_judged_as_the_table_has_it(example, law):
    test = synthetic.draw(example, 300, np.random.default_rng(1))
    scorer = Known(law(0.2))
    found = synthetic._judge(example, scorer, test)
    assert found["c"] == pytest.approx(0.2, abs=1e-12)
    score = scorer.decision_function(test.X)
    cell = {(k, z): score[(test.y == k) & (test.groups == z)] for k in (0, 1) for z in (0, 1)}
    pooled = [score[test.y == k] for k in (0, 1)]
    assert found["auc"] == pytest.approx(auc(*pooled))
    within = [auc(cell[0, z], cell[1, z]) for z in (0, 1)]
    assert found["auc_gap"] == pytest.approx(within[0] - within[1])
    assert found["roc_gap"] == pytest.approx(roc(cell[0, 0], cell[0, 1], 0.75) - 0.75)
    pairs = [pooled, *([cell[0, z], cell[1, z]] for z in (0, 1))]
    pairs += [[cell[k, 0], cell[k, 1]] for k in (0, 1)]
    for (reference, target), curve in zip(pairs, found["curves"], strict=True):
        expected = [roc(reference.tolist(), target.tolist(), a) for a in synthetic.RATES[::20]]
        np.testing.assert_allclose(curve[::20], expected, atol=1e-12)


def outcome(criterion, auc_, gaps):
    measures = np.arange(len(criterion) * 12.0).reshape(-1, 2, 6)
    found = {"criterion": criterion, "validation_auc": auc_, "validation_gaps": gaps}
    return {name: np.array(values) for name, values in found.items()} | {"measures": measures}


def test_the_validation_rows_select():
    free = outcome([0.8, 0.9], [0.8, 0.9], [[0.3], [0.4]])
    weak = outcome([0.7, 0.6], [0.75, 0.7], [[-0.2], [0.01]])
    strong = outcome([0.1, 0.5], [0.6, 0.7], [[0.5], [-0.05]])
    found = Selection.of((0.0, 0.25, 1.0), (0.01, 0.1), [free, weak, strong])
    assert found.l2 == (0.1, 0.01, 0.1)
    np.testing.assert_array_equal(found.worst_gap, [0.4, 0.2, 0.05])
    np.testing.assert_array_equal(found.measures[2], strong["measures"][1])
    assert found.chosen == 2  # the least λ with small gaps
    assert Selection.of((0.0, 0.25), (0.01, 0.1), [free, weak]).chosen == 1  # none has


# ---------------------------------------------------------------------- parts


CALLS = []


def square(x, power=2):
    CALLS.append(x)
    if x == 13:
        raise KeyboardInterrupt
    return {"value": np.array(float(x) ** power), "many": np.arange(3.0) * x}


def parts(*xs, **more):
    return [Part(f"part-{x}", square, {"x": x, **more}) for x in xs]


def test_an_interruption_keeps_what_is_finished(tmp_path):
    CALLS.clear()
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        list(run(parts(1, 13, 3), store))
    assert [store.get(part) is not None for part in parts(1, 13, 3)] == [True, False, False]
    assert [part.name for part in run(parts(1, 2, 3), store)] == ["part-2", "part-3"]
    assert CALLS == [1, 13, 2, 3]
    assert float(store.get(parts(3)[0])["value"]) == 9.0
    np.testing.assert_array_equal(store.get(parts(1)[0])["many"], [0.0, 1.0, 2.0])
    assert len(list(tmp_path.iterdir())) == 3


def test_other_parameters_and_broken_files_are_done_again(tmp_path):
    store = Store(tmp_path)
    [two], [cube] = parts(2), parts(2, power=3)
    list(run([two, cube], store))
    assert [float(store.get(part)["value"]) for part in (two, cube)] == [4.0, 8.0]
    whole = store.path(two).read_bytes()
    middle = len(whole) // 3
    flipped = whole[:middle] + bytes([whole[middle] ^ 255]) * 9 + whole[middle + 9 :]
    for broken in (b"PK not a zip", b"", flipped, whole[: len(whole) // 2]):
        store.path(two).write_bytes(broken)
        assert [part.name for part in run([two, cube], store)] == ["part-2"]
        assert store.path(two).read_bytes() == whole


# ---------------------------------------------------------------------- the page


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Two short runs of the examples, shown; it draws eleven figures."""
    folder = tmp_path_factory.mktemp("results")
    return folder, command.reproduce(TINY, ["synthetic"], folder)


@pytest.mark.slow
def test_a_small_run_from_nothing_to_the_page(tiny):
    """It takes some seconds: it trains, and draws eleven figures."""
    folder, said = tiny
    page = (folder / "index.md").read_text("utf-8")
    pictures = set(re.findall(r"!\[[^\]]+\]\(figures/(.+?)\)", page))
    assert {"figure_1_credit.png", "rings_roc_curves.png"} <= pictures
    assert pictures == {path.name for path in (folder / "figures").iterdir()}
    with open(folder / "tables" / "synthetic.csv", encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    assert [first[name] for name in ("example", "published")] == ["Example 1", "0.79"]
    assert f"{float(first['value']):.3f} ± {float(first['deviation']):.3f} (0.79)" in page
    assert len([line for line in said if line.startswith("Not done yet")]) == 4
    # A part that is lost is done again and gives the same bytes.
    store, parts = Store(folder / "parts"), Plan(TINY, ()).parts("synthetic")
    files = [store.path(part) for part in parts]
    assert sorted(files) == sorted((folder / "parts").iterdir())
    before = files[0].read_bytes()
    files[0].unlink()
    assert list(run(parts, store)) == [parts[0]]
    assert files[0].read_bytes() == before


def test_the_shipped_page_is_compared_and_what_needs_no_training_agrees(tiny):
    page = (tiny[0] / "index.md").read_text("utf-8").split("## Synthetic data")[0]
    cells, found = differences(SHIPPED, page)
    assert cells > 60
    assert [one for one in found if not one.where.startswith("Table 4")] == []
    assert differences(SHIPPED, SHIPPED)[1] == []
    altered = SHIPPED.replace("0.764 ± 0.020 (0.76)", "0.664 ± 0.020 (0.76)")
    named, summary = command.compared(altered, FULL)
    assert all(text in named for text in ("German", "AUC", "0.764", "0.664"))
    assert "1 differ" in summary
    assert len(command.compared(SHIPPED, FULL)) == 1


def test_a_cell_that_is_another_is_named():
    for there, here, beyond in (
        ("0.764 ± 0.020 (0.76)", "0.765 ± 0.020 (0.76)", None),  # rounding
        ("0.764 ± 0.020 (0.76)", "0.767 ± 0.020 (0.76)", False),  # no further than its deviation
        ("0.764 ± 0.020 (0.76)", "0.811 ± 0.020 (0.76)", True),
        ("0.764 ± 0.020 (0.76)", "0.764 ± 0.020 (0.74)", True),  # the published one
        ("32,561 (32.5K)", "32,562 (32.5K)", True),
        ("0.5", "–", True),
    ):
        table = "### Title\n\n| data | a | b |\n|---|---:|---:|\n| x | {} | **1.00** |\n"
        cells, found = differences(table.format(there), table.format(here))
        assert cells == 2
        assert found == ([] if beyond is None else [("Title, x, a", there, here, beyond)])


def test_missing_files_are_told_and_the_rest_is_done(monkeypatch, tmp_path):
    def load(name):
        if name.startswith("compas"):
            raise OSError("compas-scores.csv is not there.")

    monkeypatch.setattr(real, "load", load)
    there, sentences = real.available(("german", "compas", "bank", "compas_two_years"))
    assert there == ["german", "bank"]
    [sentence] = sentences
    for name in ("Compas", "Compas (two years)", "compas-scores.csv"):
        assert name in sentence


def test_the_command_asks_for_what_is_said(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(command, "reproduce", lambda *given: asked.append(given) or ["done"])
    command.main(["--part", "real", "grid", "--data", "compas", "--quick", "--jobs", "3"])
    [(scale, targets, folder, jobs)] = asked
    assert (scale.data, scale.full, targets, jobs) == (("compas",), False, ["real", "grid"], 3)
    assert folder.as_posix() == "results/paper-quick"
    assert capsys.readouterr().out == "done\n"
