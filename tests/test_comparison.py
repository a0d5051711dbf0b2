"""The judge, the tables and the workers' protocol of `benchmarks/comparison.py`, without others."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def comparison():
    sys.path.insert(0, str(FOLDER))
    try:
        import comparison
    finally:
        sys.path.remove(str(FOLDER))
    return comparison


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    y, groups = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    score = np.round(rng.normal(size=200) + y + 0.5 * groups, 1)  # with ties
    names = np.array(["women", "men"])[groups]
    return SimpleNamespace(y=y, groups=groups, names=names, score=score)


def rates(people, selected):
    """(FPR, FNR) by group, by counting."""
    cells = [[(people.y == c) & (people.groups == g) for g in (0, 1)] for c in (0, 1)]
    return np.array(
        [[selected[m].mean() for m in cells[0]], [1 - selected[m].mean() for m in cells[1]]]
    )


def test_a_decision_is_judged_as_by_counting(comparison, people):
    decision = comparison.cut_at(people.score, 50)
    assert decision.sum() >= 50
    assert people.score[decision == 1].min() > people.score[decision == 0].max()
    judged = comparison.judge_decision(people, decision)
    gaps = np.ptp(rates(people, decision), axis=1)
    assert [judged["fpr"], judged["fnr"]] == pytest.approx(gaps)
    assert judged["accuracy"] == np.mean(decision == people.y)
    assert comparison.cut_at(people.score, 0).sum() == 0


def test_a_score_is_judged_over_all_cuts_in_the_range(comparison, people):
    judged = comparison.judge_score(people, people.score, 20)
    cuts = [people.score > t for t in np.unique(people.score)]
    strictest = max(cut.mean() for cut in cuts if cut.mean() <= 0.1)  # a tie may be larger
    used = [cut for cut in cuts if strictest <= cut.mean() <= 0.4]
    worst = np.max([np.ptp(rates(people, cut), axis=1) for cut in used], axis=0)
    assert [judged["fpr"], judged["fnr"]] == pytest.approx(worst)
    assert comparison.n_cuts(people.y, people.score, people.groups) == len(used)
    assert 0.0 < judged["fpr_floor"] < 0.5


def test_what_others_report_too_is_found_by_its_name(comparison, people):
    threshold = 0.75
    known = comparison.reference(people.y, people.score, people.names, threshold)
    (women, men), (women_fnr, _) = rates(people, people.score > threshold)
    assert [known["fpr women"], known["fpr men"]] == pytest.approx([women, men])
    assert known["fnr women"] == pytest.approx(women_fnr)
    assert known["fpr gap"] == pytest.approx(abs(women - men))
    found = {"fpr women": women + 0.25, "fpr men": men, "their own": 3.0}
    assert comparison.largest_difference(found, known) == (2, pytest.approx(0.25))


def test_a_score_that_cannot_be_cut_in_the_range_says_so(comparison, people):
    coarse = (people.score > np.median(people.score)).astype(float)  # half of all share a score
    judged = comparison.judge_score(people, coarse, 5)
    assert judged["fpr"] is None
    assert judged["fpr_floor"] is None
    assert 0.5 < judged["auc"] < 1.0
    assert sys.modules["comparing.tables"].mean_and_worst([judged["fpr"], 0.1]) == "no such cut"


WORKER = """
from worker import run
import numpy as np
def fit(rows):
    if rows.seed == 7:
        raise ValueError("the seventh is refused")
    return lambda: {"score": rows.X_test[:, 0], "decision": (rows.X_test[:, 0] > 1).astype(int)}
def audit(rows):
    return {"fpr women": 0.5, "n": len(rows.score)}
run("numpy", fits={"mine": fit}, audits={"mine": audit})
"""


@pytest.fixture
def worker(tmp_path, comparison, monkeypatch):
    (tmp_path / "with_a_tool.py").write_text(WORKER)
    (tmp_path / "worker.py").write_text((FOLDER / "comparing" / "worker.py").read_text())
    running = sys.modules["comparing.running"]
    monkeypatch.setattr(running, "HERE", tmp_path)

    def ask(verb, **rows):
        return running.ask(sys.executable, "a-tool", verb, "mine", rows, ours=False, timeout=60)

    return ask


def test_a_worker_answers_or_says_why_not(comparison, worker):
    answer = worker("fit", X_test=np.array([[0.5], [2.0]]), seed=0)
    assert answer["score"].tolist() == [0.5, 2.0]
    assert answer["decision"].tolist() == [0, 1]
    assert answer["seconds"] >= 0.0
    assert str(answer["version"]) == np.__version__
    audit = worker("audit", score=np.arange(5.0))
    assert dict(zip(audit["names"].tolist(), audit["values"], strict=True)) == {
        "fpr women": 0.5,
        "n": 5.0,
    }
    with pytest.raises(comparison.WorkerError, match="seventh"):
        worker("fit", seed=7)


def record(package, key, split, **found):
    sizes = {"n_train": 1000, "n_test": 200}
    return {"data": "adult", "package": package, "key": key, "split": split, **sizes, **found}


@pytest.fixture
def results():
    score = {"auc": 0.9, "fpr": 0.2, "fnr": 0.1, "fpr_floor": 0.01, "fnr_floor": 0.03}
    fair = score | {"auc": 0.8, "fpr": 0.04}
    cut = {"selected": 0.25, "accuracy": 0.8, "fpr": 0.1, "fnr": 0.3}
    fits = []
    for split in (0, 1):
        fits += [
            record("lightgbm", "plain", split, seconds=2.0, score=score),
            record("evenscore", "EvenScorer", split, seconds=6.0 + 4 * split, score=fair),
            record(
                "fairlearn",
                "ThresholdOptimizer",
                split,
                seconds=3.0,
                decision=cut,
                beside={"plain": cut | {"fpr": 0.2}, "EvenScorer": cut | {"fpr": 0.05}},
            ),
        ]
    fits[-2]["score"] = fair | {"fpr": 0.06}
    audit = {"data": "adult", "n": 200, "n_cuts": 61, "n_numbers": 4, "n_same": 3}
    timed = {"largest": 2e-16, "seconds": 0.001, "ratio": 12.0}
    audits = [{"package": "aequitas", "key": "Audit", **audit, **timed}]
    left_out = {"fairgbm": "left out, no --python was given for it."}
    return {"versions": {"lightgbm": "4"}, "fits": fits, "audits": audits, "left_out": left_out}


def test_tables_say_what_was_found(comparison, results):
    lines = comparison.all_tables(json.loads(json.dumps(results))).splitlines()
    expected = [
        "| LightGBM, nothing asked | no | score | 0.9000 | 0.200 (0.200) | 0.100 (0.100) | 1.0 |",
        "| evenscore `EvenScorer` | no | score | 0.8000 | 0.050 (0.060) | 0.100 (0.100) | 4.0 |",
        "| fairlearn `ThresholdOptimizer` | 0.250 | 0.800 | 0.100 (0.100) | 0.300 (0.300) |",
        "| Aequitas `Audit` | one | none | 4 | 12 | 1.0 | 3 | 2e-16 |",
    ]
    assert [line for line in expected if line not in lines] == []
    assert any(line.startswith("fairgbm") for line in lines)
    widths = {line.count("|") for line in lines if line.startswith("|")}
    assert widths == {8, 6, 9}


def test_every_method_has_its_worker(comparison):
    methods = (*comparison.LEARNERS, *comparison.AUDITORS)
    assert {m.package for m in methods} == {*comparison.OURS, *comparison.OTHERS}
    listed = (FOLDER / "comparing" / "environments.txt").read_text()
    for method in methods:
        worker = FOLDER / "comparing" / f"with_{method.package.replace('-', '_')}.py"
        named = method.key.split("=")[0]
        assert named in worker.read_text(), (method.package, named)
    assert all(f"\n{package}==" in listed for package in comparison.OTHERS)
