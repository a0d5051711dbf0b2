"""fair-scoring: all its measures of bias of a score."""

import numpy as np
from fairscoring.metrics import bias_metric_cal, bias_metric_eo, bias_metric_pe
from fairscoring.metrics.roc import bias_metric_roc, bias_metric_xroc
from worker import run


def measures(rows, n_permute=None):
    groups = list(np.unique(rows.group))
    known = {
        "calibration": bias_metric_cal,
        "equal opportunity": bias_metric_eo,
        "predictive equality": bias_metric_pe,
        "abroca": bias_metric_roc,
        "crossed abroca": bias_metric_xroc,
    }
    return {
        name: metric.bias(
            rows.score, rows.y, rows.group, groups, 1, n_permute=n_permute, seed=0
        ).bias
        for name, metric in known.items()
    }


def measures_with_tests(rows):
    return measures(rows, n_permute=100)


if __name__ == "__main__":
    run("fair-scoring", audits={"measures": measures, "permutations": measures_with_tests})
