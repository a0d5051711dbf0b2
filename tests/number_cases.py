"""Data and questions whose answers by version 0.1.0 are kept in `tests/stored/numbers.json`.

The fits (and the trade-off, which fits) are those of the learners as they are: where these were
changed on purpose, `python tests/number_cases.py` stores what has moved anew, and nothing else.
"""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

CASES = ("two", "three ties", "ten weighted", "two tied weighted")


@cache
def columns(name: str) -> dict[str, Any]:
    """Labels, scores, groups and weights of a case."""
    sizes = {"two": 700, "three ties": 900, "ten weighted": 2600, "two tied weighted": 800}
    letters = {"two": "ab", "three ties": "abc", "ten weighted": "abcdefghij"}.get(name, "ab")
    n = sizes[name]
    rng = np.random.default_rng(len(name))
    codes = rng.integers(0, len(letters), n)
    y = (rng.random(n) < 0.25 + 0.3 * codes / len(letters)).astype(int)
    score = rng.normal(size=n) + 1.1 * y + 0.5 * codes / len(letters)
    if "tie" in name:
        score = np.round(2.0 * score)
    weight = rng.choice([0.5, 1.0, 2.5], n) if "weighted" in name else None
    return {
        "y": y,
        "score": score,
        "groups": np.array(list(letters))[codes],
        "weight": weight,
    }


@cache
def fit_rows(kind: str) -> tuple[Any, Any, Any, Any]:
    """Features, labels, groups and weights to fit on."""
    n, d = 1200, 5
    rng = np.random.default_rng(11)
    groups = rng.choice(["f", "m", "x"], n, p=[0.4, 0.4, 0.2])
    X = rng.normal(size=(n, d)) + 0.6 * (groups == "m")[:, None] * np.arange(d)
    logit = X @ np.array([1.0, -0.5, 0.3, 0.2, 0.0]) + 0.5 * (groups == "f")
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-logit))).astype(int)
    return X, y, groups, rng.choice([1.0, 2.0], n)


def _roc(es: Any) -> Any:
    return es.RocConstraint(on="both", rates=(0.125, 0.25))


def _mixtures(es: Any) -> Any:
    return es.AucConstraint.from_mixtures(
        [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 1]
    )


REPAIRS: dict[str, Any] = {
    "roc": ("two", _roc),
    "auc": ("two", lambda es: "inter_group"),
    "both": ("two", lambda es: [_roc(es), "bnsp"]),
    "three": ("three ties", lambda es: "bpsn"),
    "weighted": ("two tied weighted", lambda es: "zero_aeg"),
}
FITS: dict[str, Any] = {
    "linear auc": ("LinearScorer", lambda es: ["inter_group", "bnsp"], {"tolerance": 0.03}),
    "linear roc": ("LinearScorer", _roc, {"tolerance": 0.05}),
    "linear strength": ("LinearScorer", lambda es: "pair_error", {"strength": 0.5}),
    "linear mixtures": ("LinearScorer", _mixtures, {"tolerance": 0.05}),
    "boosted roc": ("BoostedScorer", _roc, {"tolerance": 0.05, "n_estimators": 40}),
    "boosted auc": ("BoostedScorer", lambda es: "bpsn", {"n_estimators": 40, "cross_fit": 3}),
    "neural": ("NeuralScorer", lambda es: "bnsp", {"n_iter": 200, "hidden": (8,)}),
}


def fitted(es: Any, key: str) -> tuple[Any, dict[str, Any]]:
    """A scorer, and what is kept of it: AUC, gaps, their intervals, and some scores."""
    kind, constraint, parameters = FITS[key]
    X, y, groups, weight = fit_rows(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scorer = getattr(es, kind)(constraint(es), random_state=0, **parameters)
        scorer.fit(X, y, sensitive_features=groups, sample_weight=weight)
    score, gaps = scorer.decision_function(X), scorer.gaps_["train"]
    return scorer, {
        "auc": es.metrics.auc(score[y == 0], score[y == 1]),
        "gaps": [gap.value for gap in gaps],
        "intervals": [[gap.low, gap.high] for gap in gaps],
        "score": score[:20].tolist(),
    }


def traded_off(es: Any) -> list[list[Any]]:
    """Value, AUC, gaps and convergence of every point of a path."""
    from evenscore.datasets import make_square

    data = make_square(1500, random_state=0)
    path = es.tradeoff_path(
        es.LinearScorer("intra_group"),
        data.X,
        data.y,
        sensitive_features=data.groups,
        tolerances=[0.1, 0.02],
        random_state=0,
        cv=3,
    )

    def plain(gap: Any) -> list[float | None]:
        numbers = (gap.value, gap.low, gap.high, gap.p_value)
        return [None if number is None or np.isnan(number) else number for number in numbers]

    return [
        [
            None if np.isinf(point.value) else point.value,
            plain(point.auc),
            [plain(gap) for gap in point.gaps],
            point.converged,
        ]
        for point in path.points
    ]


def _call(name: str, **options: Any) -> Any:
    def call(metrics: Any, c: Any) -> Any:
        return getattr(metrics, name)(
            c["y"], c["score"], sensitive_features=c["groups"], sample_weight=c["weight"], **options
        )

    return call


METRICS: dict[str, Any] = {
    f"{case} {name}": (case, call)
    for case in CASES
    for name, call in {
        "bnsp": _call("auc_gap", constraint="bnsp"),
        "inter": _call("auc_gap"),
        "abroca": _call("abroca"),
        "xroc": _call("area_between_curves", constraint="inter_group"),
    }.items()
}


def _moved(now: Any, then: Any) -> bool:
    """Whether numbers differ by more than other machines make them differ."""
    if isinstance(now, list):
        return len(now) != len(then) or any(map(_moved, now, then))
    if isinstance(now, float) and isinstance(then, float):
        return abs(now - then) > 1e-6
    return bool(now != then)


def store() -> None:
    """Store the fits and the points of the path that have moved."""
    import evenscore as es

    path = Path(__file__).parent / "stored" / "numbers.json"
    numbers = json.loads(path.read_text())
    for key in FITS:
        _, now = fitted(es, key)
        then = numbers["fits"][key]
        if any(_moved(now[name], then[name]) for name in now):
            print(f"{key}: AUC {then['auc']:.4f} → {now['auc']:.4f}")
            numbers["fits"][key] = now
    points = traded_off(es)
    for k, now in enumerate(points):
        then = numbers["tradeoff"][k]
        one, two = ([point[1][0], [gap[0] for gap in point[2]]] for point in (now, then))
        if _moved(one, two):
            print(f"trade-off at {now[0]}: AUC {two[0]:.4f} → {one[0]:.4f}")
            numbers["tradeoff"][k] = now
    path.write_text(json.dumps(numbers))


if __name__ == "__main__":
    store()
