"""Whole audits of made-up tables, by every way in."""

from __future__ import annotations

import csv
import json
import math
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
from typer.testing import CliRunner

import evenscore as es
from evenscore import AuditResult, GroupedScores
from evenscore.cli import app
from evenscore.scores.bins import Bins, Ranges

from .checks import NEAR, Naive, check_result, check_shown, close, require
from .drawing import Case, FailureError, asked_of, drawn_options, drawn_people, pick, sentence

WAYS = ("audit", "audit", "audit", "scores", "frame", "frame", "bins", "command", "command")


def drawn_case(rng: np.random.Generator) -> Case:
    """A table, a question and a way to ask it."""
    people = drawn_people(rng)
    way: dict[str, Any] = {
        "by": pick(rng, WAYS),
        "library": pick(rng, ("pandas", "polars", "pyarrow")),
    }
    way["file"] = pick(rng, ("csv", "parquet"))
    way["labels"] = bool(rng.random() < 0.92)
    way["html"] = bool(rng.random() < 0.1)
    way["width"] = int(pick(rng, (40, 80, 120, 200)))
    way["fail"] = bool(rng.random() < 0.5)
    way["levels"] = pick(rng, ((0,), (2,), (4,), (1, 2), (3, 6)))
    way["apart"] = bool(rng.random() < 0.3)
    return Case(people, drawn_options(rng, people), way)


def run_case(case: Case) -> str:
    """What came of a case in one word; raises what must not be."""
    by = case.way["by"]
    with tempfile.TemporaryDirectory() as folder:
        if by == "command":
            return _command(case, Path(folder))
        try:
            asked = asked_of(case.options)
            if by == "bins":
                return _binned(case, asked)
            result = {"audit": _audit, "scores": _scores, "frame": _frame}[by](case, asked)
        except FailureError:
            raise
        except Exception as error:
            sentence(error)
            return f"{by}: refused"
        check_result(result, _naive(case, result, _groups(case)))
        check_shown(result, Path(folder), case.way["width"], html=case.way["html"])
    return f"{by}: audited"


def _labels(case: Case) -> Any:
    return case.columns["label"] if case.way["labels"] else None


def _audit(case: Case, asked: dict[str, Any]) -> AuditResult:
    columns = case.columns
    return es.audit(
        _labels(case),
        columns["score"],
        sensitive_features=columns["group"],
        sample_weight=columns.get("weight"),
        cluster=columns.get("cluster"),
        **asked,
    )


def _scores(case: Case, asked: dict[str, Any]) -> AuditResult:
    columns = case.columns
    scores = GroupedScores.from_arrays(
        columns["label"],
        columns["score"],
        sensitive_features=columns["group"],
        sample_weight=columns.get("weight"),
        cluster=columns.get("cluster"),
    )
    return es.audit_scores(scores, **asked)


def _groups(case: Case) -> list[Any]:
    """The groups as the way in sees them: columns of a frame hold values of one type."""
    groups = case.columns["group"]
    if case.way["by"] in ("audit", "scores", "bins") or len({type(one) for one in groups}) == 1:
        return groups
    return [one if one is None else str(one) for one in groups]


def _table(case: Case, library: str) -> Any:
    columns = {**case.columns, "group": _groups(case)}
    if library == "polars":
        return pl.DataFrame(columns)
    if library == "pyarrow":
        return pa.table(columns)
    return pd.DataFrame(columns)


def _frame(case: Case, asked: dict[str, Any]) -> AuditResult:
    return es.audit_frame(
        _table(case, case.way["library"]),
        score="score",
        label="label" if case.way["labels"] else None,
        group="group",
        weight="weight" if "weight" in case.columns else None,
        **asked,
    )


def _naive(case: Case, result: AuditResult, groups: list[Any]) -> Naive | None:
    """The people under the names that the audit gave their groups, by how many have each."""
    weight = case.columns.get("weight")
    names = {str(one): str(one) for one in groups}
    if len(names) < len({(type(one), one) for one in groups}) or set(names) != set(result.groups):
        names = dict.fromkeys(names, "unknown")
    people = [names[str(one)] for one in groups]
    return Naive(case.columns["label"], case.columns["score"], people, weight)


# ---------------------------------------------------------------------- the same people in bins


def _binned(case: Case, asked: dict[str, Any]) -> str:
    """Rows and bins of them: exact values lie in the brackets."""
    columns = case.columns
    weight = columns.get("weight")
    try:
        exact = GroupedScores.from_arrays(
            columns["label"],
            columns["score"],
            sensitive_features=columns["group"],
            sample_weight=weight,
        )
        first = es.audit_scores(exact, **asked)
    except Exception as error:
        sentence(error)
        return "bins: refused"
    score = exact.score
    finer = (Ranges.of(np.array([0])),) if len(case.way["levels"]) == 2 else ()
    apart = (float(score[len(score) // 2]),) if case.way["apart"] else ()
    bins = Bins.between(float(score.min()), float(score.max()), case.way["levels"], finer, apart)
    sums = {"weight": exact.weight, "count": exact.count, "weight_squared": exact.weight_squared}
    class_, codes = np.divmod(exact.cell, exact.n_groups)
    binned = GroupedScores.from_bins(
        bins, bins.key(score), score, score, class_ == 1, codes, exact.groups, **sums
    )
    try:
        second = es.audit_scores(binned, **asked)
    except Exception as error:
        sentence(error)
        return "bins: refused in bins"
    check_result(second, None)
    with tempfile.TemporaryDirectory() as folder:
        check_shown(second, Path(folder), case.way["width"], html=case.way["html"])
    room = NEAR + (0.0 if second.binned is None else second.binned.auc)
    require(close(first.auc.value, second.auc.value, room), "AUC in bins", first.auc, second.auc)
    known = {gap.key: gap for gap in (*first.gaps, *first.cut_gaps)}
    for gap in (*second.gaps, *second.cut_gaps):
        other = known.get(gap.key)
        if other is None or math.isnan(gap.value) or math.isnan(other.value):
            continue
        off = abs(gap.value - other.value)
        if gap.family != "auc":  # what is bracketed is the size of the largest
            off = min(off, abs(abs(gap.value) - abs(other.value)))
        require(off <= gap.bracket + NEAR, "bracket", gap, other)
    return "bins: audited"


# ---------------------------------------------------------------------- the command


def _write(case: Case, folder: Path) -> Path:
    if case.way["file"] == "parquet":
        path = folder / "t.parquet"
        pyarrow.parquet.write_table(_table(case, "pyarrow"), path)
        return path
    path = folder / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(case.columns)
        rows = zip(*case.columns.values(), strict=True)
        writer.writerows(["" if cell is None else str(cell) for cell in row] for row in rows)
    return path


def _arguments(case: Case) -> list[str]:
    options = case.options
    words: list[Any] = ["--score", "score", "--group", "group"]
    if case.way["labels"]:
        words += ["--label", "label"]
    words += [
        word
        for name in ("weight", "cluster")
        if name in case.columns
        for word in (f"--{name}", name)
    ]
    for name in (
        "tolerance",
        "confidence_level",
        "min_group_size",
        "reference_group",
        "title",
        "on",
        "cuts",
    ):
        if name in options:
            words.append(f"--{name.replace('_', '-')}={options[name]}")
    if "selected" in options:
        words.append(f"--select={options['selected']}")
    if options.get("inclusive"):
        words.append("--inclusive")
    if "trained_on" in options:
        words.append("--trained-on" if options["trained_on"] else "--not-trained-on")
    if "equal" in options:
        words.append("--equal=" + ",".join(options["equal"]))
    if "roc_rates" in options:
        words.append("--roc-rates=" + ",".join(map(str, options["roc_rates"])))
    words += [f"--constraint={name}" for name in options.get("constraint", [])]
    return [str(word) for word in words]


def _command(case: Case, folder: Path) -> str:
    try:
        path = _write(case, folder)
    except (pa.ArrowException, OverflowError):  # what no file can hold
        return "command: not written"
    stored, page = folder / "audit.json", folder / "page.html"
    words = ["audit", str(path), *_arguments(case), "--json", str(stored)]
    words += ["--html", str(page)] if case.way["html"] else []
    words += ["--fail-on-gap"] if case.way["fail"] else []
    words += pick_format(case)
    ended = CliRunner().invoke(app, words, env={"COLUMNS": str(case.way["width"])})
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        error = ended.exception
        raise FailureError(f"{type(error).__name__}: {error}") from error
    if ended.exit_code == 2:
        said, *more = ended.stderr.splitlines() or [""]
        usage = ended.stderr.startswith("Usage:")
        require(usage or (said.endswith(".") and len(said) < 600), "not one sentence", ended.stderr)
        require(usage or all(line.startswith("Try: evenscore ") for line in more), ended.stderr)
        require(not stored.exists() and not page.exists(), "a file in spite of a refusal")
        return "command: refused"
    require(ended.exit_code in (0, 1), "exit code", ended.exit_code)
    content = json.loads(stored.read_text(encoding="utf-8"))
    audits = [content, *(column["audit"] for column in content.get("columns", ()))]
    beyond = Counter(gap["verdict"] for one in audits for gap in one["gaps"])["beyond"]
    require(
        (ended.exit_code == 1) == (case.way["fail"] and beyond > 0), "exit code", ended.exit_code
    )
    result = AuditResult.from_json(stored)
    require(
        result.to_json() == stored.read_text(encoding="utf-8").rstrip("\n"),
        "JSON read again differs",
    )
    check_result(result, _naive(case, result, _groups(case)))
    return "command: audited" if ended.exit_code == 0 else "command: a gap"


def pick_format(case: Case) -> list[str]:
    return ["--format", "markdown"] if case.way["width"] == 80 else []
