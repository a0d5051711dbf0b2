"""FairGBM: boosted trees under constraints on error rates at one threshold."""

import numpy as np
from fairgbm import FairGBMClassifier, LGBMClassifier
from worker import run


def learned(rows, **settings):
    model = FairGBMClassifier(n_jobs=1, random_state=int(rows.seed), verbose=-1, **settings)
    return model.fit(rows.X, rows.y, constraint_group=rows.group_code)


def default(rows):
    """Its defaults: FPR and FNR within 0.01 at a threshold of one half."""
    model = learned(rows)
    return lambda: {"score": model.predict_proba(rows.X_test)[:, -1]}


def in_the_range(rows):
    """The threshold above which a quarter of the training rows lie, by its own plain trees."""
    plain = LGBMClassifier(n_jobs=1, random_state=int(rows.seed), verbose=-1)
    chances = plain.fit(rows.X, rows.y).predict_proba(rows.X)[:, 1]
    model = learned(rows, score_threshold=float(np.quantile(chances, 0.75)))
    return lambda: {"score": model.predict_proba(rows.X_test)[:, -1]}


if __name__ == "__main__":
    run("fairgbm", fits={"default": default, "in the range": in_the_range})
