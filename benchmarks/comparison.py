"""evenscore beside other packages for fairness: fair models, audits, and what they cost.

Fair models are learned on Adult (by sex) and Bank (by age) without the columns that state the
group, and judged by one function on test rows: AUC, and the worst gap of the false positive and
of the false negative rate over all cuts that select 10 % to 40 % of everyone. Split 0 is the
published one, others are drawn. Everybody has the defaults, or what the package's own
documentation shows; nothing is chosen on test rows. CPU time is that of `fit` on one thread,
without loading the package, as a ratio to LightGBM on the same rows. An audit is timed as a
ratio to `np.argsort` of the same scores, in the same process.

Packages pin versions that do not go together, so each is run by a Python of its own, which
comparing/environments.txt says how to fill. Those without one are left out, with a sentence:

    python -m venv other && other/bin/pip install fairlearn==0.15.0 lightgbm
    python benchmarks/comparison.py --python fairlearn=other/bin/python --splits 4
    python benchmarks/comparison.py --tables         # print what results/comparison.json holds

Splits that the file of results holds are not run again: remove it to start anew.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from comparing.catalogue import AUDITORS, BESIDE, LEARNERS, LOADERS, OTHERS, OURS, PLAIN, parts
from comparing.judging import (
    cut_at,
    judge_decision,
    judge_score,
    largest_difference,
    n_cuts,
    reference,
)
from comparing.running import WorkerError, ask
from comparing.tables import all_tables

SHARE = 0.25  # of everyone, selected at the cut that tools for one cut look at


class Run:
    """The Pythons that there are, and what has been found so far."""

    def __init__(self, pythons: dict[str, str], out: Path, timeout: float, shuffles: int) -> None:
        self.pythons, self.out, self.timeout, self.shuffles = pythons, out, timeout, shuffles
        self.results: dict = {"versions": {}, "left_out": {}, "fits": [], "audits": []}
        if out.is_file():
            self.results |= json.loads(out.read_text("utf-8"))
        for package in OTHERS:
            self.results["left_out"].pop(package, None)
            if package not in pythons and package not in self.results["versions"]:
                self.results["left_out"][package] = "left out, no --python was given for it."

    def ask(self, method, verb: str, rows: dict) -> dict | None:
        """What a method answers; None if it is left out or has failed, which is kept."""
        package = method.package
        if package not in self.pythons:
            return None
        python, ours = self.pythons[package], package in OURS
        try:
            answer = ask(python, package, verb, method.key, rows, ours=ours, timeout=self.timeout)
        except WorkerError as error:
            self.results["left_out"][f"{package}, {method.key}"] = f"did not run: {error}"
            print(f"{package} {method.key}: {error}", flush=True)
            return None
        self.results["versions"][package] = str(answer["version"])
        return answer

    def fits(self, name: str, split: int) -> np.ndarray | None:
        """Fit and judge everything on a split; the scores of plain LightGBM."""
        train, test = parts(name, split)
        rows = {
            "X": train.X,
            "y": train.y,
            "group": train.names,
            "group_code": train.groups,
            "X_test": test.X,
            "group_test": test.names,
            "seed": split,
        }
        answers = {m: found for m in LEARNERS if (found := self.ask(m, "fit", rows)) is not None}
        for learner, answer in answers.items():
            record = {
                "data": name,
                "split": split,
                "package": learner.package,
                "key": learner.key,
                "seconds": float(answer["seconds"]),
                "n_train": len(train.y),
                "n_test": len(test.y),
            }
            if "score" in answer:
                record["score"] = judge_score(test, answer["score"], self.shuffles)
            if "decision" in answer:
                record["decision"] = judge_decision(test, answer["decision"])
                number = int(np.sum(answer["decision"]))
                record["beside"] = {
                    other.key: judge_decision(test, cut_at(answers[other]["score"], number))
                    for other in BESIDE
                    if other in answers
                }
            self.results["fits"].append(record)
        self.keep()
        return answers[PLAIN]["score"] if PLAIN in answers else None

    def audits(self, name: str, score: np.ndarray) -> None:
        """Audit the scores of plain LightGBM on the test rows of the published split."""
        _, test = parts(name, 0)
        threshold = float(np.quantile(score, 1 - SHARE))
        rows = {"y": test.y, "score": score, "group": test.names, "threshold": threshold}
        known = reference(test.y, score, test.names, threshold)
        for auditor in AUDITORS:
            answer = self.ask(auditor, "audit", rows)
            if answer is None:
                continue
            found = dict(zip(answer["names"].tolist(), answer["values"].tolist(), strict=True))
            n_same, largest = largest_difference(found, known)
            self.results["audits"].append(
                {
                    "data": name,
                    "package": auditor.package,
                    "key": auditor.key,
                    "n": len(score),
                    "n_cuts": n_cuts(test.y, score, test.names),
                    "n_numbers": len(found),
                    "n_same": n_same,
                    "largest": largest,
                    "seconds": float(answer["seconds"]),
                    "ratio": float(answer["seconds"] / answer["sort"]),
                }
            )
            self.keep()

    def keep(self) -> None:
        """Write what is known."""
        self.out.parent.mkdir(parents=True, exist_ok=True)
        self.out.write_text(json.dumps(self.results, indent=1), "utf-8")


def named_python(text: str) -> tuple[str, str]:
    package, equals, python = text.partition("=")
    if package not in OTHERS or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PATH with one of {OTHERS}")
    return package, python


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python", action="append", default=[], type=named_python, metavar="NAME=PATH"
    )
    parser.add_argument("--data", nargs="*", default=list(LOADERS), choices=list(LOADERS))
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--shuffles", type=int, default=200, help="for what chance leaves")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds of a fit or audit")
    parser.add_argument("--out", type=Path, default=Path("results/comparison.json"))
    parser.add_argument("--tables", action="store_true", help="run nothing, print what is known")
    arguments = parser.parse_args()
    if arguments.tables:
        print(all_tables(json.loads(arguments.out.read_text("utf-8"))))
        return
    pythons = dict.fromkeys(OURS, sys.executable) | dict(arguments.python)
    run = Run(pythons, arguments.out, arguments.timeout, arguments.shuffles)
    known = {(fit["data"], fit["split"]) for fit in run.results["fits"]}
    for name in arguments.data:
        for split in range(arguments.splits):
            if (name, split) in known:
                continue
            score = run.fits(name, split)
            print(f"{name}, split {split}: done", file=sys.stderr, flush=True)
            if split == 0 and score is not None:
                run.audits(name, score)
    print(all_tables(run.results))


if __name__ == "__main__":
    main()
