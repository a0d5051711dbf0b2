"""One call from nothing to the paper's evidence."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from evenscore.extras import require
from evenscore.learning.progress import progress
from evenscore.paper.assembly import assemble
from evenscore.paper.parts import Store, run
from evenscore.paper.plan import EXPERIMENTS, FULL, QUICK, Plan, Target
from evenscore.paper.real_data import available

Targets = Literal["synthetic", "real", "grid", "splits", "readings", "figures", "all"]


@dataclass(frozen=True)
class Reproduced:
    """Where everything is, what was left out and what is not done yet."""

    page: Path
    left_out: tuple[str, ...]
    missing: tuple[str, ...]


def reproduce(
    target: Targets = "all",
    folder: str | os.PathLike[str] = "results",
    *,
    runs: int | None = None,
    quick: bool = False,
    jobs: int | None = None,
    verbose: bool = False,
    say: Callable[[str], None] = lambda sentence: None,
) -> Reproduced:
    """Run experiments of the paper and write tables, figures and a page to a folder.

    `target` names one experiment, all of them, or only the figures: those of what is finished.
    Finished parts are kept in `folder/parts` and found again, whatever was interrupted; the same
    parameters give the same numbers. `runs` is the number of synthetic runs (100), `quick` does a
    little of everything, `jobs` is the number of processes (as many as there are processors), and
    `say` is told what cannot be done.
    """
    if target not in get_args(Targets):
        raise ValueError(f"target must be one of {', '.join(get_args(Targets))}, not {target!r}.")
    if runs is not None and runs < 2:
        raise ValueError(f"runs must be at least 2, not {runs}: one run has no deviation.")
    scale = QUICK if quick else FULL
    if runs is not None:
        scale = replace(scale, runs=runs)
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, not a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):  # which hours of work would end with otherwise
        raise ValueError(f"{folder} does not allow to write in it: name another folder.")
    wanted: list[Target] = [name for name in EXPERIMENTS if target in (name, "all")]
    if "splits" in wanted and "neural" in scale.scorers:
        require("The comparison with NeuralScorer", "jax", "optax")
    there, left_out = available(scale.data)
    for sentence in left_out:
        say(sentence)
    plan = Plan(scale, tuple(there))
    store = Store(folder / "parts")
    processes = jobs if jobs is not None else (os.cpu_count() or 1)
    for name in wanted:
        parts = plan.parts(name)
        with progress(EXPERIMENTS[name], len(parts), verbose=verbose) as advance:
            run(parts, store, jobs=processes, done=advance)
    missing = assemble(plan, store, folder, left_out)
    return Reproduced(folder / "index.html", tuple(left_out), tuple(missing))
