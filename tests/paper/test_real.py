from dataclasses import replace

import numpy as np
import pytest
from evenscore.paper.plan import QUICK, Plan
from evenscore.paper.published import DIMENSIONS, RATES
from evenscore.paper.real import Selection
from support.reference import auc, roc

from evenscore.paper import real, real_data


@pytest.mark.slow
def test_the_published_split_has_the_published_sizes():
    for name, sizes in {"german": (700, 300), "adult": (32_561, 16_281)}.items():
        data = real_data.load(name)
        train, test = real_data.published_split(data)
        assert (len(train), len(test)) == sizes
        assert sorted([*train, *test]) == list(range(len(data.y)))
        assert data.X.shape[1] == int(DIMENSIONS[name][2])


@pytest.mark.slow
def test_a_score_is_judged_as_the_table_has_it():
    data = real_data.load("german")
    rows = np.arange(0, 1000, 2)
    score = data.X[rows, 0] + 0.01 * np.arange(len(rows)) % 7
    values, errors = real_data.judge("german", score, rows)
    y, second = data.y[rows], data.groups[rows] == data.group_order[1]
    cell = {(k, z): score[(y == k) & (second == bool(z))].tolist() for k in (0, 1) for z in (0, 1)}
    negatives = cell[0, 0] + cell[0, 1]
    expected = [
        auc(negatives, cell[1, 0] + cell[1, 1]),
        auc(negatives, cell[1, 0]) - auc(negatives, cell[1, 1]),
        *(roc(cell[k, 0], cell[k, 1], rate) - rate for k in (0, 1) for rate in RATES),
    ]
    np.testing.assert_allclose(values, expected, atol=1e-12)
    assert np.all((errors > 0) & (errors < 0.2))


def test_the_scorer_has_the_published_parameters():
    scorer = real.paper_scorer("compas", "auc", random_state=0)
    assert (scorer.strength, scorer.l2, scorer.validation_fraction) == (0.5, 0.05, 0.4)
    assert scorer.constraints.name == "bpsn"
    scorer = real.paper_scorer("german", "roc")
    assert (scorer.strength, scorer.l2, scorer.validation_fraction) == (0.25, 0.5, 0.3)
    assert real.paper_scorer("adult", "none").strength is None


def outcome(criterion, auc_, gaps):
    n = len(criterion)
    return {
        "criterion": np.array(criterion),
        "validation_auc": np.array(auc_),
        "validation_gaps": np.array(gaps),
        "measures": np.arange(n * 12.0).reshape(n, 2, 6),
    }


def test_the_validation_rows_select():
    free = outcome([0.8, 0.9], [0.8, 0.9], [[0.3], [0.4]])
    weak = outcome([0.7, 0.6], [0.75, 0.7], [[-0.2], [0.01]])
    strong = outcome([0.1, 0.5], [0.6, 0.7], [[0.5], [-0.05]])
    found = Selection.of((0.0, 0.25, 1.0), (0.01, 0.1), [free, weak, strong])
    assert found.l2 == (0.1, 0.01, 0.1)
    np.testing.assert_array_equal(found.worst_gap, [0.4, 0.2, 0.05])
    np.testing.assert_array_equal(found.measures[2], strong["measures"][1])
    assert found.chosen == 2  # the least λ with small gaps
    none_small = Selection.of((0.0, 0.25), (0.01, 0.1), [free, weak])
    assert none_small.chosen == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_criterion_is_the_penalised_auc_of_the_validation_rows():
    scale = replace(QUICK, strengths=(0.25,), l2s=(0.05, 0.5), iterations=100)
    part = Plan(scale, ("german",)).grid["german", "roc", 0.25]
    found = part.work(**part.parameters)
    assert found["validation_gaps"].shape == (2, 4)
    np.testing.assert_allclose(
        found["criterion"],
        found["validation_auc"] - 0.25 * np.abs(found["validation_gaps"]).sum(axis=1),
    )
    assert found["measures"].shape == (2, 2, 6)


def test_missing_files_give_one_sentence(monkeypatch):
    def load(name):
        if name.startswith("compas"):
            raise OSError("compas-scores.csv is not there.")
        return None

    monkeypatch.setattr(real_data, "load", load)
    there, sentences = real_data.available(("german", "compas", "bank", "compas_two_years"))
    assert there == ["german", "bank"]
    assert sentences == ["Compas and Compas (two years) left out: compas-scores.csv is not there."]


@pytest.mark.parametrize("name", real_data.DATA)
def test_data_sets_differ_in_their_fingerprints(name, request, monkeypatch):
    if name.startswith("compas"):
        monkeypatch.setenv("EVENSCORE_DATA", str(request.getfixturevalue("compas_folder")))
    others = {real_data.fingerprint(other) for other in ("german", "adult") if other != name}
    assert real_data.fingerprint(name) not in others
