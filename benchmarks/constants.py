"""What the tuned constants of the scorers are worth: each is halved and doubled, the rest kept.

Printed are, as differences from the scorer as it is: the mean test AUC over splits of the paper's
sizes, and the worst mean gap (both classes at 1/8 and 1/4, tolerance 0.02) less what chance alone
leaves. A constant that hardly matters could be anything; one that does should be where it is.

    python benchmarks/constants.py                           # every constant, German and COMPAS
    python benchmarks/constants.py --scorers linear --data german --splits 10
"""

from __future__ import annotations

import argparse

import numpy as np
from learning import LOADERS, SCORERS, one_fit

from evenscore.learning import (
    boosted,
    boosting,
    features,
    linear,
    neural,
    task,
)
from evenscore.paper.real_data import ROC

CONSTANTS = {
    "boosted": [
        (boosted, "_PENALTY", 8.0, 32.0),
        (boosted, "_GAIN", 0.125, 0.5),
        (boosted, "_HOLD", 0.0, 0.9),
        (boosting, "START", 0.15, 0.6),
        (boosting, "SETTLED", 0.3, 0.9),
        (boosting, "_EVERY", 2, 10),
        (boosting, "_LEAST", 0.25, 1.0),
        (boosting, "_STEEP", 0.15, 0.6),
        (boosting, "_LAST", 0.05, 0.5),
        (task, "_GUARD_ERRORS", 1.0, 4.0),
    ],
    "linear": [
        (features, "_L2", 2.0, 8.0),
        (linear, "_BEYOND", 5.0, 20.0),
        (task, "_GUARD_ERRORS", 1.0, 4.0),
    ],
    "neural": [
        (features, "_L2", 2.0, 8.0),
        (neural, "_PENALTY", 4.0, 16.0),
        (neural, "_GAIN", 0.05, 0.2),
        (neural, "_NEARLY_LINEAR", 2000, 8000),
        (neural, "_UNDER_WAY", 0.15, 0.6),
    ],
}


def measure(scorer: str, data, splits: int) -> tuple[float, float]:
    """Mean test AUC, and the worst mean gap beyond its floor."""
    fits = [one_fit(SCORERS[scorer], data, split, ROC) for split in range(splits)]
    auc = np.mean([fit[0] for fit in fits])
    beyond = np.mean([fit[1] for fit in fits], axis=0) - np.mean([fit[2] for fit in fits], axis=0)
    return float(auc), float(beyond.max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scorers", nargs="+", choices=CONSTANTS, default=list(CONSTANTS))
    parser.add_argument("--data", nargs="+", choices=LOADERS, default=["german", "compas"])
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    for name in options.data:
        data = LOADERS[name]()
        for scorer in options.scorers:
            auc, gap = measure(scorer, data, options.splits)
            print(f"{name}, {scorer}: AUC {auc:.4f}, gap {gap:.4f}", flush=True)
            for module, constant, *others in CONSTANTS[scorer]:
                value = getattr(module, constant)
                for other in others:
                    setattr(module, constant, other)
                    changed = measure(scorer, data, options.splits)
                    print(
                        f"    {constant} {value:g} → {other:g}: AUC {changed[0] - auc:+.4f}, "
                        f"gap {changed[1] - gap:+.4f}",
                        flush=True,
                    )
                setattr(module, constant, value)


if __name__ == "__main__":
    main()
