"""Scores that treat groups equally at the cuts in use: what each way keeps of AUC, and leaves.

Five real data sets without the columns that state the group, and with them ("as published"), and
four synthetic problems with conflicts. Asked for: equal FPR and equal FNR at every cut with an
overall FPR of 5 % to 35 %. Reported on test rows: AUC; the worst gap of either rate over the whole
range, with its floor, the mean over 20 shuffles of the groups within each class; CPU time of a fit
as a ratio to LightGBM with its defaults, fitted just before; and how far the ranks of the same
test people move between two fits on samples that share nine tenths of their rows. The first of
the two is what all methods are fitted on. ± is a standard error over splits, which share people.
* marks methods that are told the group of whoever they score.

Fits are kept as lines of JSON: a run goes on where it stopped, and prints the tables of all that is
known. FairGBM and EquiPy are left out with a sentence where they cannot be imported:

    pip install --no-deps --target FOLDER fairgbm equipy statsmodels patsy seaborn
    PYTHONPATH=FOLDER python benchmarks/cuts.py --splits 5      # an hour
    python benchmarks/cuts.py --data german compas --only "EvenScorer 0.02" --again
    python benchmarks/cuts.py --also mine.py --only mine       # its fit(train, seed), beside these
    python benchmarks/cuts.py --tables                         # print what is known
    python benchmarks/cuts.py --tables --beside FairGBM        # and EvenScorer at the same gaps

`--beside` takes any method that fits are known of, also one that is no longer here.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from cutting.measures import measured, moved
from cutting.methods import METHODS, library, of_file
from cutting.problems import BLIND, PROBLEMS, Part
from cutting.tables import main_table, paired_table
from threadpoolctl import threadpool_limits

PARTS = 11  # a sample is ten of them, and another the last ten


def samples(train: Part, split: int) -> tuple[Part, Part]:
    """Two samples that share nine tenths of their rows."""
    part = np.random.default_rng(split).permutation(len(train.y)) % PARTS
    return train.rows(part > 0), train.rows(part < PARTS - 1)


def one_fit(method: str, train: Part, other: Part, test: Part, split: int, shuffles: int) -> dict:
    """The record of a fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        METHODS["LightGBM"].fit(train, split)
        unit, start = time.process_time() - start, time.process_time()
        scores = METHODS[method].fit(train, split)
        seconds = time.process_time() - start
        score = scores(test)
        record = {"method": method, "split": split, "seconds": seconds, "ratio": seconds / unit}
        record["test"] = measured(test, score, shuffles)
        if METHODS[method].steady:
            record["moved"] = moved(score, METHODS[method].fit(other, split)(test))
    return record | {"n_train": len(train.y), "n_test": len(test.y)}


def known(place: Path) -> dict[tuple, dict]:
    """Records by data set, split and method; the last of each counts."""
    lines = place.read_text("utf-8").splitlines() if place.is_file() else []
    records = [json.loads(line) for line in lines]
    return {(r["data"], r["split"], r["method"]): r for r in records}


def run(arguments) -> None:
    methods = [m for m in METHODS if not arguments.only or m in arguments.only]
    for method in list(methods):
        needs = METHODS[method].needs
        if needs and isinstance(library(needs), str):
            print(f"{method} is left out: {library(needs)}", flush=True)
            methods.remove(method)
    for split in range(arguments.splits):
        for name in arguments.data:
            done = {} if arguments.again else known(arguments.out)
            missing = [
                method
                for method in methods
                if (name, split, method) not in done
                and (name in BLIND or METHODS[method].published)
            ]
            if not missing:
                continue
            try:
                train, test = PROBLEMS[name](split)
            except OSError as error:
                print(f"{name} is left out: {error}", flush=True)
                continue
            for method in missing:
                fit_and_keep(name, method, *samples(train, split), test, split, arguments)


def fit_and_keep(name, method, train, other, test, split, arguments) -> None:
    try:
        record = {"data": name} | one_fit(method, train, other, test, split, arguments.shuffles)
    except Exception as error:  # one method that fails must not end the others' run
        told = " ".join(str(error).split())
        print(f"{name} {split} {method}: {type(error).__name__}: {told}", flush=True)
        return
    with arguments.out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    gaps = record["test"]["negatives"]
    print(
        f"{name} {split} {method}: AUC {record['test']['auc']:.4f} FPR gap {gaps['fpr']:.3f} FNR "
        f"gap {gaps['fnr']:.3f}, {record['seconds']:.1f} CPU s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--only", nargs="*", help="these methods")
    parser.add_argument("--also", nargs="*", type=Path, default=[], help="files with a fit")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--shuffles", type=int, default=20, help="for the floors")
    parser.add_argument("--out", type=Path, default=Path("cuts.jsonl"), help="where fits are kept")
    parser.add_argument("--again", action="store_true", help="fit what is known, too")
    parser.add_argument("--tables", action="store_true", help="fit nothing")
    parser.add_argument("--beside", nargs="*", default=[], help="EvenScorer at the gaps of these")
    arguments = parser.parse_args()
    METHODS.update({path.stem: of_file(path) for path in arguments.also})
    if unknown := set(arguments.only or ()) - set(METHODS):
        parser.error(f"--only: there is no {unknown.pop()}; there are {', '.join(METHODS)}.")
    if not arguments.tables:
        with threadpool_limits(1):
            run(arguments)
    records = list(known(arguments.out).values())
    for name in arguments.data:
        if any(record["data"] == name for record in records):
            print(f"\n{main_table(records, name)}")
    if unknown := set(arguments.beside) - {record["method"] for record in records}:
        parser.error(f"--beside: no fit of {unknown.pop()} is known.")
    if arguments.beside:
        print(f"\n{paired_table(records, arguments.data, arguments.beside)}", flush=True)


if __name__ == "__main__":
    main()
