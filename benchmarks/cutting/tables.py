"""Records of fits to Markdown: means over splits with their standard errors, and paired ones."""

from __future__ import annotations

import numpy as np

from .measures import RATES
from .methods import METHODS

WHERE = {
    "negatives": "cuts with an overall FPR of 5 % to 35 %",
    "everyone": "cuts that select 10 % to 40 % of everyone",
}


def mean(values, digits: int = 3) -> str:
    """The mean, and its standard error where there are several."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return f"{values.mean():.{digits}f}"
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.{digits}f} ± {error:.{digits}f}"


def by_row(records: list[dict], data: str) -> dict[tuple[str, str], dict[int, dict]]:
    """(method, asked) to split to record, in the order of the methods."""
    rows = {(m, a): {} for m, method in METHODS.items() for a in method.asked}
    for record in records:
        key = record["method"], record["asked"]
        if record["data"] == data and key in rows:
            rows[key][record["split"]] = record
    return {key: fits for key, fits in rows.items() if fits}


def main_table(records: list[dict], data: str, where: str) -> str:
    """All methods on one range of cuts; those that can be asked for a range only if it is this."""
    rows = by_row(records, data)
    plain = rows.get(("LightGBM", ""), {})
    sizes = next(iter(next(iter(rows.values())).values()))
    lines = [
        f"### {data}: {WHERE[where]}",
        "",
        f"{sizes['n_train']:,} training rows, {sizes['n_test']:,} test rows.",
        "",
        "| method | asked | splits | AUC | FPR gap, training | test | FNR gap, training | test "
        "| CPU |",
        "|---|---|" + "---:|" * 7,
    ]
    for (method, asked), fits in rows.items():
        ranged = any(name.endswith("everyone") for name in METHODS[method].asked)
        if ranged and (where == "everyone") != asked.endswith("everyone"):
            continue
        cells = [mean([f["test"]["auc"] for f in fits.values()], 4)]
        for rate in RATES:
            for part in ("train", "test"):
                gaps, floors = (
                    [f[part][where][name] for f in fits.values()]
                    for name in (rate, f"{rate}_floor")
                )
                shown = mean(gaps) if part == "test" else f"{np.mean(gaps):.3f}"
                cells.append(f"{shown} ({np.mean(floors):.3f})")
        both = [s for s in fits if s in plain]
        ratio = [fits[s]["seconds"] / plain[s]["seconds"] for s in both]
        cells.append(f"{np.mean(ratio):.1f}" if ratio else "")
        lines.append(f"| {method} | {asked} | {len(fits)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def paired_table(records: list[dict], data: str) -> str:
    """`RepairedScorer` minus each matching, split by split, in AUC and in the worst gap asked."""
    rows = by_row(records, data)
    lines = [
        f"### {data}: RepairedScorer minus a matching, on test rows",
        "",
        "Worse in both: lower AUC and a larger worst gap, each by more than two standard errors.",
        "",
        "| asked | matching | splits | AUC | worst gap | worse in both |",
        "|---|---|---:|---:|---:|---|",
    ]
    for (method, asked), fits in rows.items():
        if method != "RepairedScorer":
            continue
        where = "everyone" if asked.endswith("everyone") else "negatives"
        rates = RATES if asked.startswith("both") else (asked,)
        for other, _ in [key for key in rows if key[0].startswith("matching")]:
            common = sorted(set(fits) & set(rows[other, ""]))
            if len(common) < 2:
                continue
            pairs = [(fits[s]["test"], rows[other, ""][s]["test"]) for s in common]
            auc = np.array([a["auc"] - b["auc"] for a, b in pairs])
            gap = np.array(
                [
                    max(a[where][r] for r in rates) - max(b[where][r] for r in rates)
                    for a, b in pairs
                ]
            )
            errors = [d.std(ddof=1) / np.sqrt(len(common)) for d in (auc, gap)]
            worse = auc.mean() < -2 * errors[0] and gap.mean() > 2 * errors[1]
            lines.append(
                f"| {asked} | {other.removeprefix('matching, ')} | {len(common)} | {mean(auc, 4)} "
                f"| {mean(gap)} | {'**yes**' if worse else 'no'} |"
            )
    return "\n".join(lines)
