"""Altered models and maps: every one is refused in a sentence, or scores with finite numbers.

`evenscore score` meets stored models of every kind, an `EvenScorer` over each of its classifiers
and a `LinearScorer`, with a node replaced by an odd value or an array altered, and maps of a repair
that are altered, each in a process of its own. It ends with an error if any attempt crashes, hangs,
ends in a traceback or in something that is not one sentence, writes a score that is not finite or a
position that is not between 0 and 1, or leaves half a file.

    python benchmarks/fuzz_models.py                     # 300 of each
    python benchmarks/fuzz_models.py --samples 10000     # half an hour or more; every node
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from fuzzing.alterations import Archive, altered_maps
from fuzzing.attempts import FINE, attempt, prepare

import evenscore as es
from evenscore.files.features import Feature
from evenscore.files.models import TableModel, save_model

KINDS = ("even", "trees", "logistic", "linear")
SHOWN = 20  # attempts that went wrong

Attack = tuple[str, bytes]
"""How a file was altered, and its bytes."""


def write_files(folder: Path, kinds: tuple[str, ...]) -> None:
    """Rows to score, a model of every kind, and the maps of a repair, before they are altered."""
    rng = np.random.default_rng(0)
    n = 300
    y, group, X = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.normal(size=(n, 3))
    X[:, 0] += y
    X[:, 2] = rng.integers(0, 3, n)
    rows = [f"{a!r},{b!r},{c!r},{'fm'[g]}" for (a, b, c), g in zip(X.tolist(), group, strict=True)]
    (folder / "rows.csv").write_text("\n".join(["a,b,c,sex", *rows[:20]]) + "\n")
    fair = es.RateConstraint("fpr", tolerance=0.1)
    scorers = {
        "even": es.EvenScorer(fair, random_state=0),
        **{kind: es.EvenScorer(fair, kind, random_state=0) for kind in ("trees", "logistic")},
        "linear": es.LinearScorer("inter_group", tolerance=0.3),
    }
    features = tuple(map(Feature, "abc"))
    for kind in kinds:
        scorer = scorers[kind].fit(X, y, sensitive_features=group)
        model = TableModel(scorer, features, "y", "1", ("sex",), es.__version__)
        save_model(folder / f"{kind}.skops", model)
    sexes = {"sex": np.array(["f", "m"])[group]}
    maps = es.repair(y, X[:, 0], sensitive_features=sexes, constraints="bnsp", tolerance=0.05)
    (folder / "maps.json").write_text(json.dumps({**maps.to_dict(), "score_column": "a"}))


def in_a_child(task, *arguments) -> None:
    """Do something in another process: what it starts, threads for instance, is not here then."""
    child = os.fork()
    if child == 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                task(*arguments)
                os._exit(0)
            finally:
                os._exit(1)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError(f"{task.__name__} failed.")


def altered_nodes(archive: Archive, samples: int, rng: random.Random) -> Iterator[Attack]:
    """A node of a model replaced by an odd value: all of them, or as many as asked for."""
    every = list(archive.replaced())
    for place, odd in rng.sample(every, min(samples, len(every))):
        shown = "/".join(str(key) for key in place if key != "content")
        yield f"{shown} = {odd}", archive.with_odd(place, odd)


def attacks(
    folder: Path, kinds: tuple[str, ...], samples: int, seed: int
) -> dict[str, Iterator[Attack]]:
    """By what is attacked: how, and the bytes of the altered file."""
    found: dict[str, Iterator[Attack]] = {}
    for kind in kinds:
        archive = Archive((folder / f"{kind}.skops").read_bytes())
        found[f"{kind}: a node"] = altered_nodes(archive, samples, random.Random(seed))
        found[f"{kind}: an array"] = altered_arrays(archive, samples, random.Random(seed))
    maps, rng = json.loads((folder / "maps.json").read_text()), random.Random(seed)
    found["maps"] = ((f"file {k}", altered_maps(maps, rng)) for k in range(samples))
    return found


def altered_arrays(archive: Archive, samples: int, rng: random.Random) -> Iterator[Attack]:
    """An array of a model altered."""
    for k in range(samples):
        member = rng.choice(archive.arrays)
        yield f"{member}, {k}", archive.with_array(member, rng)


def fuzz(
    folder: Path,
    kinds: tuple[str, ...],
    samples: int,
    seed: int = 0,
    minutes: float = math.inf,
) -> tuple[dict[str, Counter[str]], list[str]]:
    """How often what became of attempts, by what was attacked in turn; and what went wrong."""
    in_a_child(write_files, folder, kinds)
    prepare(folder)
    targets = attacks(folder, kinds, samples, seed)
    found: dict[str, Counter[str]] = {target: Counter() for target in targets}
    wrong: list[str] = []
    end = time.monotonic() + 60.0 * minutes
    while targets and time.monotonic() < end:
        for target in list(targets):
            how, content = next(targets[target], (None, b""))
            if how is None:
                del targets[target]
                continue
            model = folder / ("altered.json" if target == "maps" else "altered.skops")
            model.write_bytes(content)
            most = math.inf if target == "maps" or target.startswith("linear") else 1.0
            outcome, told = attempt(model, folder / "rows.csv", folder / "scored.csv", most)
            found[target][outcome] += 1
            if outcome not in FINE:
                wrong.append(f"{target}, {how}: {outcome}\n{told}")
    return found, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--samples", type=int, default=300, help="attempts of each kind, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so many")
    parser.add_argument("--models", nargs="+", choices=KINDS, default=list(KINDS))
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        kinds = tuple(options.models)
        found, wrong = fuzz(Path(folder), kinds, options.samples, options.seed, options.minutes)
    for target, outcomes in found.items():
        told = ", ".join(f"{n:,} {outcome}" for outcome, n in outcomes.most_common())
        print(f"{target:20} {outcomes.total():7,} attempts: {told}")
    for text in wrong[:SHOWN]:
        print(f"\n{text}")
    if wrong:
        sys.exit(f"\n{len(wrong):,} attempts went wrong.")


if __name__ == "__main__":
    main()
