"""Numbers do not move: answers of version 0.1.0, kept before the house was rebuilt.

What changed on purpose since is said where it is compared: ROC gaps split ties and are the larger
of the two ways round (they were cut in the first group, and by Definition 1 outside audits), and
their pointwise intervals are nested; the adjusted p-values of an audit are corrected over one list
of gaps; certificates hold whichever group is cut, and for both classes together;
the intervals of AUCs and of AUC gaps allow for people not seen yet, whom an AUC near 1 hides: away
from 1 they move little; ROC gaps are audited where they are asked for, and the cuts asked for are
those in use. The fits are of version 0.2.0: learners have looked at other scores since, and keep
the best (`number_cases.store` stores what moves).
"""

import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from number_cases import CASES, FITS, METRICS, REPAIRS, columns, fitted, traded_off

import evenscore as es
from evenscore.auditing.plain import to_plain
from evenscore.scores import CLASSES

STORED = Path(__file__).parent / "stored"
NUMBERS = json.loads((STORED / "numbers.json").read_text())


def alike(now, then, tolerance, where="", skip=()):
    """Compare plain data number by number; texts may be worded anew."""
    if isinstance(then, dict):
        for key in then:
            if key not in skip:
                alike(now[key], then[key], tolerance, f"{where}.{key}", skip)
    elif isinstance(then, list):
        assert len(now) == len(then), where
        for k, (one, two) in enumerate(zip(now, then, strict=True)):
            alike(one, two, tolerance, f"{where}[{k}]", skip)
    elif isinstance(then, int | float) and not isinstance(then, bool):
        assert now == pytest.approx(then, abs=tolerance), where
    elif not isinstance(then, str):
        assert now == then, where


def numbers(values):
    """NaN as None, as the stored file has it."""
    return to_plain(np.asarray(values, dtype=np.float64))


@cache
def audited(case):
    c = columns(case)
    words = es.Words(selected_is="good") if case == "two" else None
    return es.audit(
        c["y"],
        c["score"],
        sensitive_features=c["groups"],
        sample_weight=c["weight"],
        title=case,
        words=words,
        cuts=es.Cuts(at=(0.125, 0.25), of="negatives"),
        constraints=[
            *es.constraint_names(),
            *(es.RocConstraint(on=on, rates=(0.125, 0.25)) for on in CLASSES),
        ],
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_audits(case):
    now, then = audited(case), es.AuditResult.from_json(STORED / f"audit-1.0-{case}.json")
    worded = ("words", "omitted", "notes", "warnings", "method", "adjusted_p_value")
    roc = ("value", "low", "high", "p_value", "standard_error", "first_value", "second_value")
    new = ("family", "first_value", "second_value", "beyond_test", "within_test")
    bands = ("pointwise_low", "pointwise_high", "marks")
    ends = ("low", "high")
    groups = ("compared_groups", "main_groups")  # said since 0.2.0
    alike(to_plain(now.sample), to_plain(then.sample), 1e-12, "sample", groups)
    for one, two in zip(now.gaps, then.gaps, strict=True):
        assert one.key == two.key
        skip = {*worded, *new, *(roc if one.family == "roc" else (*ends, "p_value"))}
        alike(to_plain(one), to_plain(two), 1e-12, one.title, skip)
        if one.family != "roc":
            moved = np.abs([one.low - two.low, one.high - two.high])
            assert np.all(moved < 0.05 * (two.high - two.low)), one.title
        if one.family == "roc":  # never smaller than cut in the first group
            assert abs(one.value) >= abs(two.value) - 1e-12
    # Curves of the worst pairs are those of main groups now: compare the ones kept then and now.
    curves = [(c.on, c.first, c.second) for c in now.roc_gaps]
    known = {(c.on, c.first, c.second): c for c in then.roc_gaps}
    assert set(curves) & set(known)
    for curve, key in zip(now.roc_gaps, curves, strict=True):
        if key in known:
            alike(to_plain(curve), to_plain(known[key]), 1e-12, "roc_gaps", (*worded, *bands))
    for name, block in then.blocks.items():
        skip = (*worded, *bands, "headline", "roc_gaps", *(ends if name == "ranking" else ()))
        if name == "cuts_in_use":  # of which version 1 knew the rates at the thresholds alone
            [here, there] = (to_plain(side.thresholds) for side in (now, then))
            alike(here, there, 1e-12, name, skip)
        elif name != "certificates":
            alike(to_plain(now.blocks[name]), to_plain(block), 1e-12, name, skip)
    [auc, was] = [result.blocks["ranking"].auc for result in (now, then)]
    assert [auc.low, auc.high] == pytest.approx(
        [was.low, was.high], abs=0.03 * (was.high - was.low)
    )


@pytest.mark.parametrize("key", METRICS)
def test_metrics(key):
    case, call = METRICS[key]
    assert call(es.metrics, columns(case)) == pytest.approx(NUMBERS["metrics"][key], abs=1e-12)


@pytest.mark.slow
def test_comparison_of_auc_gaps():
    c = columns("two")
    one, two = (
        es.audit(
            c["y"],
            score,
            sensitive_features=c["groups"],
            constraints=[*es.constraint_names(), es.RocConstraint(rates=(0.125, 0.25))],
        )
        for score in (c["score"], c["score"] + 0.8 * (c["groups"] == "b"))
    )
    found = one.compare(two, n_resamples=50)
    then = NUMBERS["comparison"]["differences"]
    for here, there in zip(found.differences, then, strict=True):
        if here.one.family != "roc":
            for part in ("difference", "magnitude"):
                names = ("value", "low", "high", "standard_error", "p_value")
                now = {name: to_plain(getattr(getattr(here, part), name)) for name in names}
                alike(now, {name: there[part][name] for name in names}, 1e-12, here.title)


@pytest.mark.parametrize("key", REPAIRS)
def test_repairs(key):
    case, constraint = REPAIRS[key]
    c, then = columns(case), NUMBERS["repairs"][key]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        now = es.repair(
            c["y"],
            c["score"],
            sensitive_features=c["groups"],
            sample_weight=c["weight"],
            constraints=constraint(es),
            tolerance=0.0,
        )
    for mapping, (x, y) in zip(now.maps, then["maps"], strict=True):
        np.testing.assert_allclose(mapping.x, x, atol=1e-9)
        np.testing.assert_allclose(mapping.y, y, atol=1e-9)
    for when in ("before", "after"):
        for gap, (value, *_) in zip(now.gaps[when], then[when], strict=True):
            if gap.family == "auc":
                assert gap.value == pytest.approx(value, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("key", FITS)
def test_fits(key):
    if FITS[key][0] == "NeuralScorer":
        pytest.importorskip("jax")
    now, then = fitted(es, key)[1], NUMBERS["fits"][key]
    assert now["auc"] == pytest.approx(then["auc"], abs=1e-6)
    np.testing.assert_allclose(now["gaps"], then["gaps"], atol=1e-6)
    np.testing.assert_allclose(now["score"], then["score"], atol=1e-5)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["auc", "roc", "none"])
def test_gradients(case, name, monkeypatch):
    from evenscore.gaps import as_constraints, smooth
    from evenscore.learning.objective import Objective

    c, then = columns(case), NUMBERS["gradients"][f"{case} {name}"]
    constraints = {
        "auc": ["inter_group", "pair_error"],
        "roc": [es.RocConstraint(on="both", rates=(0.125, 0.5))],
        "none": [],
    }[name]
    labels = sorted(set(c["groups"]))
    codes = np.array([labels.index(group) for group in c["groups"]])
    objective = Objective(
        c["y"] == 1,
        codes,
        len(labels),
        as_constraints(constraints),
        weight=c["weight"],
        guards=True,
    )
    z = (c["score"] - np.mean(c["score"])) / np.std(c["score"])
    m = np.cos(np.arange(len(then["gaps"])))
    # Many kernels are convolved together since, to an accuracy of 1e-6 over the bandwidth.
    quick = objective.evaluate(z, lambda gaps: (float(m @ gaps), m)).gradient
    np.testing.assert_allclose(quick[:50], then["gradient"], rtol=0, atol=2e-8)
    monkeypatch.setattr(smooth, "_FEW_THRESHOLDS", 10**6)
    now = objective.evaluate(z, lambda gaps: (float(m @ gaps), m))
    assert now.auc == pytest.approx(then["auc"], abs=1e-12)
    assert now.value == pytest.approx(then["value"], abs=1e-12)
    alike(numbers(now.gaps), then["gaps"], 1e-12)
    np.testing.assert_allclose(now.gradient[:50], then["gradient"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(objective.standard_errors(), then["se"], atol=1e-12)


@pytest.mark.slow
def test_tradeoff():
    for now, then in zip(traded_off(es), NUMBERS["tradeoff"], strict=True):
        value, auc, gaps, converged = now
        assert value == then[0]
        assert auc[0] == pytest.approx(then[1][0], abs=1e-6)
        assert [gap[0] for gap in gaps] == pytest.approx([gap[0] for gap in then[2]], abs=1e-6)
        assert converged == then[3]
