"""LightGBM with its defaults: nobody asks for fairness."""

from lightgbm import LGBMClassifier
from worker import run


def plain(rows):
    model = LGBMClassifier(n_jobs=1, random_state=int(rows.seed), verbosity=-1)
    model.fit(rows.X, rows.y)
    return lambda: {"score": model.predict_proba(rows.X_test)[:, 1]}


if __name__ == "__main__":
    run("lightgbm", fits={"plain": plain})
