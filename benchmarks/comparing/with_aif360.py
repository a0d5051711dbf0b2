"""AIF360: weights before LightGBM, probabilities changed after it, and its metrics."""

import logging

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.metrics import precision_score
from sklearn.model_selection import train_test_split
from worker import run

logging.disable(logging.WARNING)  # AIF360 names every extra that is not installed

from aif360.sklearn import metrics as measure  # noqa: E402
from aif360.sklearn.postprocessing import CalibratedEqualizedOdds  # noqa: E402
from aif360.sklearn.preprocessing import Reweighing  # noqa: E402


def trees(rows):
    return LGBMClassifier(n_jobs=1, random_state=int(rows.seed), verbosity=-1)


def reweighing(rows):
    frame = pd.DataFrame(rows.X, index=pd.Index(rows.group, name="group"))
    _, weight = Reweighing("group").fit_transform(frame, rows.y)
    model = trees(rows).fit(rows.X, rows.y, sample_weight=weight)
    return lambda: {"score": model.predict_proba(rows.X_test)[:, 1]}


def calibrated_equalized_odds(rows):
    """A quarter of the rows is kept for the second step, as its own wrapper does by default.

    The wrapper itself calls `_get_tags`, which scikit-learn 1.9 does not have.
    """
    first, second = train_test_split(np.arange(len(rows.y)), random_state=int(rows.seed))
    model = trees(rows).fit(rows.X[first], rows.y[first])

    def chances(X, group):
        return pd.DataFrame(model.predict_proba(X), index=pd.Index(group, name="group"))

    later = CalibratedEqualizedOdds("group", random_state=int(rows.seed))
    group = pd.Index(rows.group[second], name="group")
    later.fit(chances(rows.X[second], group), pd.Series(rows.y[second], index=group))
    return lambda: {
        "score": np.asarray(later.predict_proba(chances(rows.X_test, rows.group_test)))[:, 1]
    }


def metrics(rows):
    index = pd.Index(rows.group, name="group")
    y = pd.Series(rows.y, index=index)
    selected = pd.Series((rows.score > rows.threshold).astype(int), index=index)
    functions = {
        "fpr": measure.false_positive_rate_error,
        "fnr": measure.false_negative_rate_error,
        "selection": measure.selection_rate,
        "precision": precision_score,
    }
    first, second = np.unique(rows.group)
    found = {}
    for name, function in functions.items():
        for group in (first, second):
            own = rows.group == group
            found[f"{name} {group}"] = function(y[own], selected[own])
        found[f"{name} gap"] = abs(
            measure.difference(function, y, selected, prot_attr="group", priv_group=second)
        )
    return found


if __name__ == "__main__":
    run(
        "aif360",
        fits={
            "Reweighing": reweighing,
            "CalibratedEqualizedOdds": calibrated_equalized_odds,
        },
        audits={"metrics": metrics},
    )
