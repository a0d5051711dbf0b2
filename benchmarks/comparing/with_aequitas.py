"""Aequitas: an audit of a score at one cut."""

import pandas as pd
from aequitas import Audit
from worker import run

NAMES = {"fpr": "fpr", "fnr": "fnr", "selection": "pprev", "precision": "precision"}


def audit(rows, **significance):
    selected = (rows.score > rows.threshold).astype(int)
    group = rows.group.astype(object)
    frame = pd.DataFrame({"score": selected, "label_value": rows.y, "group": group})
    frame["group"] = frame["group"].astype(object)
    audited = Audit(frame, label_column="label_value", sensitive_attribute_column=["group"])
    audited.audit(bias_args=significance)
    table = audited.metrics_df.set_index("attribute_value")
    return {f"{ours} {g}": table.loc[g, own] for ours, own in NAMES.items() for g in table.index}


def audit_with_tests(rows):
    return audit(rows, check_significance=True)


if __name__ == "__main__":
    run("aequitas", audits={"Audit": audit, "significance": audit_with_tests})
