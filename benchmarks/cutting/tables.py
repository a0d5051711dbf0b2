"""Records of fits to Markdown: means over splits with standard errors, and paired differences."""

from __future__ import annotations

import numpy as np

from .measures import RATES
from .methods import METHODS, TOLERANCES

WHERE = "negatives"


def mean(values, digits: int = 3) -> str:
    """The mean, and its standard error where there are several."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return f"{values.mean():.{digits}f}"
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.{digits}f} ± {error:.{digits}f}"


def by_method(records: list[dict], data: str) -> dict[str, dict[int, dict]]:
    """Method to split to record, in the order of the methods; those there are no more come last."""
    rows: dict[str, dict[int, dict]] = {name: {} for name in METHODS}
    for record in records:
        if record["data"] == data:
            rows.setdefault(record["method"], {})[record["split"]] = record
    return {name: fits for name, fits in rows.items() if fits}


def worst(record: dict) -> float:
    return max(record["test"][WHERE][rate] for rate in RATES)


def main_table(records: list[dict], data: str) -> str:
    """All methods: AUC, worst gaps with their floors, CPU, and how far places move."""
    rows = by_method(records, data)
    sizes = next(iter(next(iter(rows.values())).values()))
    lines = [
        f"### {data}",
        "",
        f"{sizes['n_train']:,} training rows, {sizes['n_test']:,} test rows.",
        "",
        "| method | splits | AUC | FPR gap (floor) | FNR gap (floor) | CPU | places move, "
        "median, 90 %, 99 % |",
        "|---|" + "---:|" * 6,
    ]
    for method, fits in rows.items():
        cells = [mean([f["test"]["auc"] for f in fits.values()], 4)]
        for rate in RATES:
            gaps, floors = (
                [f["test"][WHERE][name] for f in fits.values()] for name in (rate, f"{rate}_floor")
            )
            cells.append(f"{mean(gaps)} ({np.mean(floors):.3f})")
        cells.append(f"{np.median([f['ratio'] for f in fits.values()]):.1f}")
        steps = [f["moved"] for f in fits.values() if "moved" in f]
        cells.append(" ".join(f"{v:.3f}" for v in np.mean(steps, axis=0)) if steps else "")
        star = " *" if method in METHODS and METHODS[method].aware else ""
        lines.append(f"| {method}{star} | {len(fits)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def at_equal_gap(records: list[dict], data: str, other: str) -> str:
    """EvenScorer's AUC along its path where its worst gap is that of another, less the other's.

    On every split the path is read at the other's gap, between two of its points. Splits on which
    it has no gap as small are left out and counted: there it is behind.
    """
    behind = 0
    rows, found = by_method(records, data), []
    path = [rows.get(f"EvenScorer {t:g}", {}) for t in TOLERANCES]
    for split, record in rows.get(other, {}).items():
        points = [part[split] for part in path if split in part]
        if len(points) < 2:
            continue
        gaps = np.array([worst(p) for p in points])
        aucs = np.array([p["test"]["auc"] for p in points])
        if worst(record) < gaps.min():
            behind += 1
            continue
        order = np.argsort(gaps)
        # A looser point with a smaller AUC is never chosen.
        best = np.maximum.accumulate(aucs[order])
        found.append(float(np.interp(worst(record), gaps[order], best)) - record["test"]["auc"])
    if not found and not behind:
        return ""
    return f"| {data} | {other} | {len(found)} | {behind} | {mean(found, 4) if found else ''} |"


def paired_table(records: list[dict], data: list[str], beside: list[str]) -> str:
    """EvenScorer beside other methods at an equal worst gap."""
    lines = [
        f"### EvenScorer less {', '.join(beside)}: AUC at an equal worst gap",
        "",
        "| data | beside | splits | splits with no gap as small | AUC |",
        "|---|---|---:|---:|---:|",
    ]
    found = [at_equal_gap(records, name, other) for name in data for other in beside]
    return "\n".join([*lines, *filter(None, found)])
