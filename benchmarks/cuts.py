"""Scores that are fair at the cuts in use: what each way to one keeps of AUC, and what it leaves.

Five data sets, stratified splits of the paper's sizes (census: 40,000 training rows of the split's
199,523, drawn within class and group). Asked for: equal FNR, equal FPR, or both, at every cut with
an overall FPR between 5 % and 35 %; and once both at every cut that selects 10 % to 40 % of
everyone; tolerance 0.02. Reported: AUC and the worst |gap| of either rate over the whole range, in
training and on test rows, with its floor in brackets, the mean over 200 shuffles of the groups
within each class; CPU time of a fit as a ratio to plain LightGBM on the same split (a run that was
resumed compares times of different runs: `--again` for a fair race); ± is a standard error over
splits, which share people, so that it is a little too small. Training gaps of
`ensemble`, the matchings and `RepairedScorer` are those of models that have seen most of the rows.

"matching, …" and `RepairedScorer` share folds and trees and need the group to score; the other
methods do not. Fits are kept as lines of JSON: a run goes on where it stopped, and prints the
tables of all that is known. FairGBM and fair-trees are optional, and left out with a sentence
where they cannot be imported:

    pip install --no-deps --target FOLDER fairgbm fair-trees
    PYTHONPATH=FOLDER python benchmarks/cuts.py                # 3 splits, some hours
    python benchmarks/cuts.py --data german compas --splits 10
    python benchmarks/cuts.py --only RepairedScorer --again    # fit these anew
    python benchmarks/cuts.py --tables                         # print what is known
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

from cutting.measures import measured
from cutting.methods import ASKED, METHODS, Part, library
from cutting.tables import main_table, paired_table
from threadpoolctl import threadpool_limits

from evenscore import datasets
from evenscore.datasets.dataset import stratified_split

LOADERS = {
    "german": datasets.load_german,
    "compas": datasets.load_compas,
    "bank": datasets.load_bank,
    "adult": datasets.load_adult,
    "census": datasets.load_census,
}
MOST_ROWS = 40_000  # of training


def parts(data, split: int) -> tuple[Part, Part]:
    """Training and test rows of a split."""
    train, test = data.split(split)
    if len(train) > MOST_ROWS:
        y, groups = data.y[train], data.groups[train]
        train = train[stratified_split(y, groups, data.group_order, MOST_ROWS, split)[1]]
    codes = (data.groups == data.group_order[1]).astype(int)
    one, other = (Part(data.X[rows], data.y[rows], codes[rows]) for rows in (train, test))
    return one, other


def one_fit(method: str, asked: str, train: Part, test: Part, split: int, shuffles: int) -> dict:
    """The record of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        scores = METHODS[method].fit(train, ASKED.get(asked), split)
        seconds = time.process_time() - start
        record = {"method": method, "asked": asked, "split": split, "seconds": seconds}
        for name, part in (("train", train), ("test", test)):
            record[name] = measured(part, scores(part), shuffles)
    about_names = "valid feature names"  # LightGBM invents names
    told = {str(w.message) for w in caught if about_names not in str(w.message)}
    sizes = {"n_train": len(train.y), "n_test": len(test.y)}
    return record | sizes | {"warnings": sorted(told)}


def known(place: Path) -> dict[tuple, dict]:
    """Records by data set, split, method and what was asked; the last of each counts."""
    lines = place.read_text("utf-8").splitlines() if place.is_file() else []
    records = [json.loads(line) for line in lines]
    return {(r["data"], r["split"], r["method"], r["asked"]): r for r in records}


def run(arguments) -> None:
    methods = [m for m in METHODS if not arguments.only or m in arguments.only]
    for method in list(methods):
        needs = METHODS[method].needs
        if needs and isinstance(library(needs), str):
            print(f"{method} is left out: {library(needs)}", flush=True)
            methods.remove(method)
    done = {} if arguments.again else known(arguments.out)
    for name in arguments.data:
        missing = [
            (split, method, asked)
            for split in range(arguments.splits)
            for method in methods
            for asked in METHODS[method].asked
            if (name, split, method, asked) not in done
            and (not arguments.asked or asked in arguments.asked)
        ]
        if not missing:
            continue
        try:
            data = LOADERS[name]()
        except OSError as error:
            print(f"{name} is left out: {error}", flush=True)
            continue
        for split in sorted({split for split, *_ in missing}):
            train, test = parts(data, split)
            for method, asked in [job[1:] for job in missing if job[0] == split]:
                fit_and_keep(name, method, asked, train, test, split, arguments)


def fit_and_keep(name, method, asked, train, test, split, arguments) -> None:
    start = time.perf_counter()
    try:
        record = {"data": name} | one_fit(method, asked, train, test, split, arguments.shuffles)
    except Exception as error:  # one method that fails must not end the others' run
        told = " ".join(str(error).split())
        print(f"{name} {split} {method} {asked}: {type(error).__name__}: {told}", flush=True)
        return
    with arguments.out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    gaps = record["test"]["everyone" if asked.endswith("everyone") else "negatives"]
    print(
        f"{name} {split} {method} {asked}: AUC {record['test']['auc']:.4f} FPR gap "
        f"{gaps['fpr']:.3f} FNR gap {gaps['fnr']:.3f}, {record['seconds']:.1f} CPU s, "
        f"{time.perf_counter() - start:.0f} s in all",
        flush=True,
    )


def show(arguments) -> None:
    records = list(known(arguments.out).values())
    for name in arguments.data:
        if any(record["data"] == name for record in records):
            for where in ("negatives", "everyone"):
                print(f"\n{main_table(records, name, where)}")
            print(f"\n{paired_table(records, name)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=list(LOADERS), choices=list(LOADERS))
    parser.add_argument("--only", nargs="*", choices=list(METHODS), help="these methods")
    parser.add_argument("--asked", nargs="*", choices=["", *ASKED], help="only so asked")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--shuffles", type=int, default=200, help="for the floors")
    parser.add_argument("--out", type=Path, default=Path("cuts.jsonl"), help="where fits are kept")
    parser.add_argument("--again", action="store_true", help="fit what is known, too")
    parser.add_argument("--tables", action="store_true", help="fit nothing")
    arguments = parser.parse_args()
    if not arguments.tables:
        with threadpool_limits(1):
            run(arguments)
    show(arguments)


if __name__ == "__main__":
    main()
