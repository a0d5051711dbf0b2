"""Whether a constrained fit is ever worse than not having asked: random hard problems.

A problem (`hard/laws.py`) is a function of its number: 2 to 6 uneven groups, cells from about 60
rows to some thousands, whose means, slopes and interactions differ, so that constraints conflict;
and a constraint of any family, with a tolerance or a strength (`EvenScorer` gets those that it can
be asked for: rates at cuts, with a tolerance). Each is fitted as asked, with a tolerance three
times as wide (a strength a third as large), without constraints, and without constraints but with
the weights of Kamiran and Calders (2012). All are judged on 20,000 and more new rows of the same
law, with paired standard errors. What must not happen:

    chance        the fit ranks worse than chance on test rows, by more than two standard errors
    beaten        the fit without constraints has a higher AUC and smaller gaps, each by more than
                  two paired standard errors
    reweighted    the same of the reweighted fit
    train, test   the AUC falls by more than 0.005 when the tolerance is widened, on training rows
    monotone      (of `LinearScorer`, which optimises there) or on test rows (there by more than two
                  paired standard errors, too)
    untold        the constraint costs more than 0.02 of AUC on test rows, and neither a warning nor
                  `price_` tells at least half of that
    iterates      an entry of `history_` has a higher AUC and smaller gaps, by more than 0.0005
                  each, than the one returned
    failed        the fit raised an error

Standard errors are computed where a fit looks worse, by drawing test rows again within cells.
Gaps are the size of the worst one beyond the tolerance in training (`iterates`), of the worst one
elsewhere; with a strength the sum of all sizes. Fits are kept as lines of JSON: a run goes on where
it stopped, and prints the table of all that is known.

    python benchmarks/never_worse.py                          # 100 problems, an hour or two
    python benchmarks/never_worse.py --problems 0:12 --scorers even
    python benchmarks/never_worse.py --again --problems 7:8   # fit anew
    python benchmarks/never_worse.py --table                  # print what is known
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
from hard.laws import Problem, problem
from hard.measures import Scored, errors, in_one_number, judged
from threadpoolctl import threadpool_limits

import evenscore as es
from evenscore.gaps import as_constraints
from evenscore.gaps.family import with_tolerance

SCORERS = {"even": es.EvenScorer, "linear": es.LinearScorer}
NOT_AT_CUTS = ("inter_group", "intra_group")
PRICE = re.compile(r"AUC 0\.\d+ → 0\.\d+")
DEAR, STEP, TINY = 0.02, 0.005, 0.0005

# ---------------------------------------------------------------------- one job


def can_be_asked(scorer: str, task: Problem) -> bool:
    """Whether a scorer takes such constraints."""
    if scorer != "even":
        return True
    return task.tolerance is not None and not set(task.constraints) & set(NOT_AT_CUTS)


def fitted(scorer: str, task: Problem, name: str) -> tuple[object, dict]:
    """A scorer and the record of its fit: CPU seconds, warnings."""
    rows, options = task.train, {"random_state": task.number}
    groups, weight = None, None
    if name in ("fit", "looser"):
        asked, goal = as_constraints(list(task.constraints)), task.asked(looser=name == "looser")
        if "tolerance" in goal:
            tolerance = goal.pop("tolerance")
            asked = [with_tolerance(family, tolerance) for family in asked]
        options |= {"constraints": asked, **goal}
        groups = rows.groups
    elif name == "reweighted":
        weight = rows.reweighing
    model = SCORERS[scorer](**options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        model.fit(rows.X, rows.y, sensitive_features=groups, sample_weight=weight)
        seconds = time.process_time() - start
    told = sorted({str(warning.message) for warning in caught})
    return model, {"seconds": seconds, "warnings": told}


def told_price(model, record: dict) -> bool:
    """Whether a warning or `price_` tells what the constraints cost."""
    if any(PRICE.search(text) for text in record["warnings"]):
        return True
    return model.price_ is not None and model.price_.drop >= DEAR / 2


def beaten_by_iterates(model, train: Scored, tolerance: float | None) -> int:
    """Entries of the history that are better in both than what was returned."""
    history = getattr(model, "history_", None)
    if history is None or not len(history):
        return 0
    gaps = np.array([in_one_number(gap, train.summed) for gap in history.gaps])
    own_auc, own_gap = train.measured()
    if history.chosen is not None:  # by the rows that chose, as they were looked at
        own_auc, own_gap = history.auc[history.chosen], gaps[history.chosen]
    floor = 0.0 if tolerance is None else tolerance
    beyond, own = np.maximum(gaps - floor, 0.0), max(own_gap - floor, 0.0)
    return int(np.sum((np.array(history.auc) > own_auc + TINY) & (beyond < own - TINY)))


def job(number: int, scorer: str, resamples: int) -> dict:
    """The record of one problem and scorer."""
    task = problem(number)
    record = {"problem": number, "scorer": scorer, **task.described()}
    families, summed = tuple(as_constraints(list(task.constraints))), task.strength is not None
    with threadpool_limits(1):
        scores, fits = {}, {}
        for name in ("fit", "looser", "free", "reweighted"):
            try:
                model, fits[name] = fitted(scorer, task, name)
            except Exception as error:  # one fit that fails must not end the others' run
                told = " ".join(str(error).split())
                return record | {"failed": f"{name}: {type(error).__name__}: {told}"}
            train = Scored(task.train, model.decision_function(task.train.X), families, summed)
            auc, gap = train.measured()
            fits[name] |= {"train_auc": auc, "train_gap": gap}
            if name == "fit":
                fits[name]["told"] = told_price(model, fits[name])
                fits[name]["iterates"] = beaten_by_iterates(model, train, task.tolerance)
            scores[name] = model.decision_function(task.test.X)
        tests = judged(task.test, scores, task.constraints, summed)
        for name in fits:
            fits[name] |= tests[name]
        doubtful = doubts(fits)
        if doubtful:
            some = {name: scores[name] for name in scores if name == "fit" or name in doubtful}
            for name, found in errors(
                task.test, some, task.constraints, summed, resamples, number
            ).items():
                fits[name] |= found
    return record | fits


def doubts(fits: dict) -> set[str]:
    """The fits that chance alone may have made look worse, or better, than what was asked for."""
    fit = fits["fit"]
    found = {"fit"} if fit["auc"] < 0.5 else set()
    if fits["looser"]["auc"] < fit["auc"] - STEP:
        found.add("looser")
    return found | {name for name in ("free", "reweighted") if _better(fits[name], fit)}


# ---------------------------------------------------------------------- what must not happen


def failures(record: dict) -> set[str]:
    """Which of the things that must not happen did."""
    if "failed" in record:
        return {"failed"}
    fit, looser, free, weighted = (record[name] for name in ("fit", "looser", "free", "reweighted"))
    found = {
        "chance": fit["auc"] < 0.5 and fit["auc"] < 0.5 - 2 * fit["auc_se"],
        "beaten": _beaten(fit, free),
        "reweighted": _beaten(fit, weighted),
        "train monotone": record["scorer"] == "linear"
        and looser["train_auc"] < fit["train_auc"] - STEP,
        "test monotone": looser["auc"] < fit["auc"] - STEP
        and looser["auc"] < fit["auc"] - 2 * looser["auc_paired_se"],
        "untold": free["auc"] - fit["auc"] > DEAR and not fit["told"],
        "iterates": fit["iterates"] > 0,
    }
    return {name for name, happened in found.items() if happened}


KINDS = (
    *("chance", "beaten", "reweighted", "train monotone", "test monotone", "untold", "iterates"),
    "failed",
)


def _better(one: dict, other: dict) -> bool:
    return bool(one["auc"] > other["auc"] and one["gap"] < other["gap"])


def _beaten(fit: dict, other: dict) -> bool:
    if not _better(other, fit):
        return False
    higher = other["auc"] - fit["auc"] > 2 * other["auc_paired_se"]
    return bool(higher and fit["gap"] - other["gap"] > 2 * other["gap_paired_se"])


def line(record: dict) -> str:
    """What became of one problem."""
    start = f"{record['problem']:4d} {record['scorer']:8s}"
    if "failed" in record:
        return f"{start} {record['failed']}"
    parts = "  ".join(
        f"{name} {record[name]['auc']:.3f} {record[name]['gap']:.3f} {record[name]['seconds']:.1f}s"
        for name in ("fit", "looser", "free", "reweighted")
    )
    goal = f"{record.get('tolerance', '')}{'λ' if 'strength' in record else ''}"
    goal += f"{record.get('strength', '')}"
    return f"{start} K={record['groups']} {goal:5s} {parts}  {', '.join(sorted(failures(record)))}"


def table(records: list[dict]) -> str:
    """How often each thing happened, by scorer, and in which problems."""
    lines = []
    for scorer in SCORERS:
        own = [record for record in records if record["scorer"] == scorer]
        if not own:
            continue
        happened = [failures(record) for record in own]
        spared = sum(not kinds for kinds in happened)
        lines.append(f"{scorer}: {len(own)} problems, {spared} without anything that must not be")
        for kind in KINDS:
            numbers = [
                r["problem"] for r, kinds in zip(own, happened, strict=True) if kind in kinds
            ]
            told = f": {' '.join(map(str, sorted(numbers)))}" if numbers else ""
            lines.append(f"  {kind:15s} {len(numbers):4d}{told}")
        done = [record for record in own if "failed" not in record]
        if done:
            rows = [
                "  median of "
                + ", ".join(
                    f"{name} {np.median([r[name][key] for r in done]):.3f}"
                    for name in ("fit", "looser", "free", "reweighted")
                )
                + f" ({words})"
                for key, words in (
                    ("auc", "test AUC"),
                    ("gap", "test gaps"),
                    ("seconds", "CPU seconds"),
                )
            ]
            lines += rows
    return "\n".join(lines)


# ---------------------------------------------------------------------- the run


def known(place: Path) -> dict[tuple[int, str], dict]:
    """Records by problem and scorer; the last of each counts."""
    lines = place.read_text("utf-8").splitlines() if place.is_file() else []
    records = [json.loads(text) for text in lines]
    return {(record["problem"], record["scorer"]): record for record in records}


def run(arguments) -> None:
    first, last = (int(part) for part in arguments.problems.split(":"))
    done = {} if arguments.again else known(arguments.out)
    missing = [
        (number, scorer)
        for number in range(first, last)
        for scorer in arguments.scorers
        if (number, scorer) not in done and can_be_asked(scorer, problem(number))
    ]
    # Processes are spawned: threads of trees do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(arguments.workers, mp_context=context) as pool:
        jobs = [pool.submit(job, *task, arguments.resamples) for task in missing]
        for finished in as_completed(jobs):
            record = finished.result()
            with arguments.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            print(line(record), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", default="0:100", help="the numbers from:to, to excluded")
    parser.add_argument("--scorers", nargs="*", default=list(SCORERS), choices=list(SCORERS))
    parser.add_argument("--resamples", type=int, default=100, help="for standard errors")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("never_worse.jsonl"))
    parser.add_argument("--again", action="store_true", help="fit what is known, too")
    parser.add_argument("--table", action="store_true", help="fit nothing")
    parser.add_argument("--strict", action="store_true", help="exit code 1 if anything happened")
    arguments = parser.parse_args()
    if not arguments.table:
        run(arguments)
    records = list(known(arguments.out).values())
    print(f"\n{table(records)}")
    if arguments.strict and any(failures(record) for record in records):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
