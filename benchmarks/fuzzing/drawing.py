"""Random people, names and questions; every draw follows from one generator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

import evenscore as es

ODD_NAMES: tuple[Any, ...] = (
    "<script>alert(1)</script>", "Ünï·çødé", "女性", "😀", "[bold]x[/bold]", "[/]", "a|b", "`a`",
    "*a*", "a, b",
    '"', "'", "=1+1", "all others", "everyone", "a and b", "\\", "{{ 7 }}", "%s", "&amp;",
    "null", "NaN", "None", "-", "x" * 990, "word " * 60, "a\nb", "a\u202eb", " a ", "\u00a0", 0, 1,
    2,
    -1, 1.5, 1.0, "1", "1.0", True, "True", 2**60, Decimal("1.5"), date(2026, 11, 17), b"bytes",
)  # fmt: skip
BAD_NAMES: tuple[Any, ...] = (None, float("nan"), "", "x" * 1500, "a\0", float("inf"))


class FailureError(AssertionError):
    """Something that must never happen did."""


@dataclass(frozen=True)
class Case:
    """What is audited and how: rows by columns, options of the audit, and the way taken."""

    columns: dict[str, list[Any]]
    options: dict[str, Any] = field(default_factory=dict)
    way: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns["score"])

    def take(self, rows: list[int]) -> Case:
        return replace(
            self, columns={name: [c[i] for i in rows] for name, c in self.columns.items()}
        )

    def without(self, name: str) -> Case:
        return replace(self, options={k: v for k, v in self.options.items() if k != name})


def pick(rng: np.random.Generator, options: Any) -> Any:
    """One of some things of any type."""
    return options[int(rng.integers(len(options)))]


def drawn_people(rng: np.random.Generator, largest: int = 300) -> dict[str, list[Any]]:
    """Labels, scores, groups, and perhaps weights and clusters."""
    n = int(pick(rng, (rng.integers(1, 12), rng.integers(12, 80), rng.integers(80, largest + 1))))
    names = _names(rng, int(pick(rng, (1, 2, 2, 2, 3, 3, 4, 8))))
    shares = rng.dirichlet(np.full(len(names), pick(rng, (0.3, 2.0, 20.0))))
    codes = rng.choice(len(names), n, p=shares)
    prevalence = pick(rng, (0.0, 1.0, 0.03, 0.97, 0.3, 0.5, 0.5, 0.7))
    positive = rng.random(n) < prevalence
    columns: dict[str, list[Any]] = {
        "label": positive.astype(int).tolist(),
        "score": _scores(rng, n, positive, codes),
        "group": [names[k] for k in codes],
    }
    if rng.random() < 0.35:
        columns["weight"] = _weights(rng, n)
    if rng.random() < 0.2:
        columns["cluster"] = [f"c{k}" for k in rng.integers(0, max(1, n // 3), n)]
    return columns


def _names(rng: np.random.Generator, count: int) -> list[Any]:
    kind = rng.random()
    if kind < 0.55:
        return list("abcdefgh"[:count])
    if kind < 0.7:
        return list(range(count))
    odd = [ODD_NAMES[k] for k in rng.choice(len(ODD_NAMES), count, replace=False)]
    if rng.random() < 0.1:
        odd[0] = pick(rng, BAD_NAMES)
    return odd


def _scores(rng: np.random.Generator, n: int, positive: np.ndarray, codes: np.ndarray) -> list[Any]:
    score = rng.normal(size=n) + positive * rng.normal(0.5) + codes * rng.normal(0.0, 0.5)
    kind = pick(rng, ("plain", "plain", "tied", "tied", "constant", "probability", "integers",
                      "huge", "tiny", "zeros", "near"))  # fmt: skip
    if kind == "tied":
        score = np.round(score * pick(rng, (1, 2, 4))) / 4
    elif kind == "constant":
        score = np.full(n, pick(rng, (0.0, 1.0, -3.5, 1e300)))
    elif kind == "probability":
        score = np.clip(1 / (1 + np.exp(-3 * score)), 0.0, 1.0).round(2)
    elif kind == "integers":
        return [int(x) for x in np.round(score * 100)]
    elif kind == "huge":
        score = score * 1e307
    elif kind == "tiny":
        score = score * 5e-324 * pick(rng, (1, 10, 1e10))
    elif kind == "zeros":
        score = np.where(rng.random(n) < 0.5, 0.0, -0.0) + np.round(score) * (rng.random() < 0.5)
    elif kind == "near":
        score = 1.0 + np.round(score) * np.finfo(float).eps
    if rng.random() < 0.03:
        score[int(rng.integers(n))] = pick(rng, (np.nan, np.inf, -np.inf))
    return score.tolist()


def _weights(rng: np.random.Generator, n: int) -> list[Any]:
    kind = pick(rng, ("integer", "real", "zeros", "huge", "tiny", "mixed", "all zero", "negative"))
    weight = rng.gamma(2.0, size=n)
    if kind == "integer":
        return [int(x) for x in rng.integers(1, 5, n)]
    if kind == "zeros":
        weight *= rng.random(n) < 0.6
    elif kind == "huge":
        weight *= pick(rng, (1e6, 1e150, 1e300))
    elif kind == "tiny":
        weight *= pick(rng, (1e-6, 1e-150, 1e-310))
    elif kind == "mixed":
        weight *= 10.0 ** rng.integers(-6, 7, n)
    elif kind == "all zero" and rng.random() < 0.3:
        weight *= 0.0
    elif kind == "negative" and rng.random() < 0.3:
        weight[0] = -1.0
    return weight.tolist()


# ---------------------------------------------------------------------- what is asked


def drawn_cuts(rng: np.random.Generator, score: list[Any], odd: float = 0.1) -> str:
    """Cuts as the command line writes them; some make no sense."""
    if rng.random() < odd:
        return str(pick(rng, ("everyone=0.5:0.1", "everyone=5:50", "0", "everyone=1", "x=0.1",
                              "thresholds=nan", "thresholds=inf", "thresholds=", "everyone=0.1:0.1",
                              "negatives=1e-300:0.5", "everyone=0.2,0.2", "thresholds=1,1,1",
                              "everyone=0.1:0.2:0.3", "thresholds=1e308,-1e308")))  # fmt: skip
    of = pick(rng, ("everyone", "everyone", "negatives", "positives"))
    kind = rng.random()
    if kind < 0.4:
        low, high = sorted(rng.uniform(0.01, 0.99, 2))
        return f"{of}={low:.3f}:{high:.3f}"
    if kind < 0.7:
        return f"{of}=" + ",".join(
            f"{x:.3f}" for x in rng.uniform(0.001, 0.999, pick(rng, (1, 2, 4)))
        )
    at = [float(pick(rng, score)) for _ in range(pick(rng, (1, 2)))]
    return "thresholds=" + ",".join(repr(x + pick(rng, (0.0, 0.0, 0.1, -100.0))) for x in at)


def drawn_options(rng: np.random.Generator, people: dict[str, list[Any]]) -> dict[str, Any]:
    """Options of an audit, in words that the command line and the library can be told."""
    chance = rng.random
    options: dict[str, Any] = {}
    if chance() < 0.6:
        options["cuts"] = drawn_cuts(rng, people["score"])
        options["selected"] = pick(rng, ("high", "high", "low"))
        options["inclusive"] = bool(chance() < 0.3)
    if chance() < 0.3:
        some = rng.choice(es.rate_names(), pick(rng, (1, 2, 3)), replace=False)
        options["equal"] = [str(rate) for rate in some]
    if chance() < 0.3:
        names = [*es.constraint_names(), *(["no such name"] if chance() < 0.05 else [])]
        options["constraint"] = [str(pick(rng, names)) for _ in range(pick(rng, (1, 1, 2)))]
    if chance() < 0.15:
        options["roc_rates"] = [
            round(float(x), 3) for x in rng.uniform(0.01, 0.99, pick(rng, (1, 2)))
        ]
        options["on"] = pick(rng, ("negatives", "positives", "both"))
    if chance() < 0.4:
        options["tolerance"] = pick(rng, (0.01, 0.05, 0.2, 0.49, 1e-9, 0.0, 0.5, -1.0, 1e-200))
    if chance() < 0.3:
        options["confidence_level"] = pick(
            rng, (0.5, 0.8, 0.9, 0.99, 0.999999, 0.4, 0.0, 1.0, 1 - 1e-12)
        )
    if chance() < 0.3:
        options["min_group_size"] = pick(rng, (1, 2, 5, 30, 100, 0))
    if chance() < 0.2:
        options["reference_group"] = pick(rng, (*people["group"][:3], "all others", "nobody"))
    if chance() < 0.1:
        options["title"] = pick(rng, ("<b>x</b>", "", "a\nb", "[red]", "t" * 300))
    if chance() < 0.1:
        options["trained_on"] = pick(rng, (True, False))
    return options


def cuts_of(options: dict[str, Any]) -> Any:
    """The Cuts that options stand for."""
    if "cuts" not in options:
        return None
    return es.Cuts.parse(
        options["cuts"],
        selected=options.get("selected", "high"),
        inclusive=options.get("inclusive", False),
    )


def asked_of(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the library that options stand for."""
    cuts = cuts_of(options)
    constraints: list[Any] = []
    if "equal" in options:
        where = {} if cuts is None else {"cuts": cuts}
        constraints.append(es.RateConstraint(*options["equal"], **where))
    constraints += options.get("constraint", [])
    if "roc_rates" in options:
        rates = tuple(options["roc_rates"])
        constraints.append(es.RocConstraint(on=options["on"], rates=rates))
    same = (
        "tolerance",
        "confidence_level",
        "min_group_size",
        "reference_group",
        "title",
        "trained_on",
    )
    asked = {name: options[name] for name in same if name in options}
    if cuts is not None:
        asked["cuts"] = cuts
    return {**asked, **({"constraints": constraints} if constraints else {})}


def smaller(case: Case, fails: Callable[[Case], bool], patience: int = 150) -> Case:
    """A case with fewer rows and options that still fails, found greedily."""
    tries = iter(range(patience))

    def still(one: Case) -> bool:
        return next(tries, None) is not None and fails(one)

    for name in list(case.options):
        if still(case.without(name)):
            case = case.without(name)
    step = max(1, len(case) // 2)
    while step and len(case) > 1:
        for rows in list(_left_out(len(case), step)):
            if rows and still(case.take(rows)):
                case = case.take(rows)
                break
        else:
            step //= 2
    return case


def _left_out(n: int, step: int) -> Iterator[list[int]]:
    for start in range(0, n, step):
        yield [k for k in range(n) if not start <= k < start + step]


def sentence(error: BaseException) -> str:
    """What an error says, if it is one sentence of a kind that is ours."""
    text = str(error)
    if not isinstance(error, ValueError | TypeError) or isinstance(error, UnicodeError):
        raise FailureError(f"{type(error).__name__}: {text}") from error
    if "\n" in text or not text.endswith(".") or len(text) >= 600:
        raise FailureError(f"not one sentence: {type(error).__name__}: {text!r}") from error
    return text
