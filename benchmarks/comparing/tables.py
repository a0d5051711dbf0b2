"""Results to Markdown."""

from __future__ import annotations

import numpy as np

from .catalogue import AUDITORS, BESIDE, LEARNERS, PLAIN
from .judging import RATES


def _line(cells) -> str:
    return "| " + " | ".join(cells) + " |"


def _head(*columns: str, left: int = 1) -> list[str]:
    marks = ["---"] * left + ["---:"] * (len(columns) - left)
    return [_line(columns), "|" + "|".join(marks) + "|"]


def mean(values, digits: int) -> str:
    return f"{np.mean(values):.{digits}f}"


def mean_and_worst(values) -> str:
    """The mean, and the largest in brackets where there are several."""
    if None in values:
        return "no such cut"
    shown = mean(values, 3)
    return f"{shown} ({np.max(values):.3f})" if len(values) > 1 else shown


def of(fits: list[dict], data: str, learner) -> list[dict]:
    """The fits of a learner on a data set."""
    asked = (data, learner.package, learner.key)
    return [fit for fit in fits if (fit["data"], fit["package"], fit["key"]) == asked]


def score_table(fits: list[dict], data: str) -> str:
    """AUC and worst gaps of everything that gives a score, and what a fit costs."""
    plain = {fit["split"]: fit["seconds"] for fit in of(fits, data, PLAIN)}
    gives = {"score": "score", "decision": "decisions only"}
    lines = _head(
        "method", "needs the group to score", "gives", "AUC", "FPR gap", "FNR gap", "CPU", left=3
    )
    floors: list[float] = []
    for learner in LEARNERS:
        own = of(fits, data, learner)
        if not own:
            continue
        scores = [fit["score"] for fit in own if fit.get("score")]
        kind = gives["score" if scores else "decision"]
        cells = [learner.label, "yes" if learner.needs_group else "no", kind]
        if scores:
            cells.append(mean([score["auc"] for score in scores], 4))
            cells += [mean_and_worst([score[rate] for score in scores]) for rate in RATES]
            found = [score[f"{rate}_floor"] for score in scores for rate in RATES]
            floors += [floor for floor in found if floor is not None]
        else:
            cells += ["", "", ""]
        ratios = [fit["seconds"] / plain[fit["split"]] for fit in own if fit["split"] in plain]
        lines.append(_line([*cells, mean(ratios, 1) if ratios else ""]))
    known = [fit for fit in fits if fit["data"] == data]
    splits = len({fit["split"] for fit in known})
    said = (
        f"{known[0]['n_train']:,} training rows, {known[0]['n_test']:,} test rows, {splits} "
        f"split{'s' if splits > 1 else ''}; plain LightGBM takes {mean(list(plain.values()), 2)} "
        f"CPU seconds; chance alone leaves gaps of {min(floors):.3f} to {max(floors):.3f}"
    )
    return "\n".join([f"### {data}", "", f"{said}.", "", *lines])


def decision_table(fits: list[dict], data: str) -> str:
    """Tools that decide, beside scores that are cut to select as many people."""
    lines = _head("decided by", "selected", "right", "FPR gap", "FNR gap")
    for learner in LEARNERS:
        own = [fit for fit in of(fits, data, learner) if fit.get("decision")]
        if not own:
            continue
        rows = [(learner.label, [fit["decision"] for fit in own])]
        for other in BESIDE:
            cut = [fit["beside"][other.key] for fit in own if other.key in fit["beside"]]
            rows.append((f"– {other.label}, cut to select as many", cut))
        for label, found in rows:
            if found:
                cells = [label, *(mean([f[k] for f in found], 3) for k in ("selected", "accuracy"))]
                cells += [mean_and_worst([f[rate] for f in found]) for rate in RATES]
                lines.append(_line(cells))
    return "\n".join([f"### {data}: decisions", "", *lines]) if len(lines) > 2 else ""


def audit_table(audits: list[dict], data: str) -> str:
    """What the audits say, what they cost, and how far they are from evenscore."""
    known = [audit for audit in audits if audit["data"] == data]
    if not known:
        return ""
    lines = _head(
        "call",
        "cuts",
        "about chance",
        "numbers",
        "CPU / argsort",
        "CPU, ms",
        "compared with evenscore",
        "largest difference",
        left=3,
    )
    for auditor in AUDITORS:
        for audit in known:
            if (audit["package"], audit["key"]) == (auditor.package, auditor.key):
                ours = audit["package"] == "evenscore"
                cuts = f"{audit['n_cuts']:,}" if auditor.cuts.startswith("all") else auditor.cuts
                cells = [auditor.label, cuts, auditor.chance, str(audit["n_numbers"])]
                cells += [f"{audit['ratio']:,.0f}", f"{1000 * audit['seconds']:.1f}"]
                same = ["", ""] if ours else [str(audit["n_same"]), f"{audit['largest']:.0e}"]
                lines.append(_line(cells + same))
    return "\n".join([f"### {data}: an audit of {known[0]['n']:,} rows", "", *lines])


def version_line(versions: dict[str, str]) -> str:
    """The packages that took part."""
    return ", ".join(f"{name} {versions[name]}" for name in sorted(versions)) + "."


def all_tables(results: dict) -> str:
    """Everything that is known, in Markdown."""
    fits, audits = results["fits"], results["audits"]
    names = list(dict.fromkeys(record["data"] for record in fits))
    pieces = [version_line(results["versions"])] if results["versions"] else []
    for table in (score_table, decision_table):
        pieces += [table(fits, name) for name in names]
    pieces += [audit_table(audits, name) for name in dict.fromkeys(a["data"] for a in audits)]
    pieces += [f"{name}: {why}" for name, why in sorted(results["left_out"].items())]
    return "\n\n".join(piece for piece in pieces if piece)
