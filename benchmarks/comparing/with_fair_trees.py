"""fair-trees: the forest of its documentation, at some of the strengths shown there."""

from functools import partial

from fair_trees import FairRandomForestClassifier
from worker import run


def forest(rows, theta):
    model = FairRandomForestClassifier(
        n_estimators=100,
        theta=theta,
        Z_agg="max",
        max_depth=5,
        random_state=int(rows.seed),
        n_jobs=1,
    )
    model.fit(rows.X, rows.y, Z=rows.group_code)
    return lambda: {"score": model.predict_proba(rows.X_test)[:, 1]}


if __name__ == "__main__":
    fits = {f"theta={theta}": partial(forest, theta=theta) for theta in (0.2, 0.4, 0.6)}
    run("fair-trees", fits=fits)
