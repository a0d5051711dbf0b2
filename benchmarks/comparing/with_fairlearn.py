"""fairlearn: a reduction and a post-processor over LightGBM, and a frame of metrics."""

import numpy as np
from fairlearn.metrics import MetricFrame, false_negative_rate, false_positive_rate, selection_rate
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import EqualizedOdds, ExponentiatedGradient
from lightgbm import LGBMClassifier
from sklearn.metrics import precision_score
from worker import run


def trees(rows):
    return LGBMClassifier(n_jobs=1, random_state=int(rows.seed), verbosity=-1)


def exponentiated_gradient(rows):
    """Its decisions are drawn; as a score, the mean chance that its classifiers give."""
    model = ExponentiatedGradient(trees(rows), EqualizedOdds())
    model.fit(rows.X, rows.y, sensitive_features=rows.group)

    def predict():
        used = [(w, model.predictors_[k]) for k, w in model.weights_.items() if w > 0.0]
        score = sum(w * chance(classifier, rows.X_test) for w, classifier in used)
        decision = model.predict(rows.X_test, random_state=int(rows.seed))
        return {"score": score, "decision": decision}

    return predict


def chance(classifier, X):
    """Where all rows have one label fairlearn's classifier is a constant, without chances."""
    if hasattr(classifier, "predict_proba"):
        return classifier.predict_proba(X)[:, 1]
    return np.asarray(classifier.predict(X), dtype=float)


def threshold_optimizer(rows):
    model = ThresholdOptimizer(
        estimator=trees(rows), constraints="equalized_odds", predict_method="predict_proba"
    )
    model.fit(rows.X, rows.y, sensitive_features=rows.group)
    return lambda: {
        "decision": model.predict(
            rows.X_test, sensitive_features=rows.group_test, random_state=int(rows.seed)
        )
    }


def metric_frame(rows, **bootstrap):
    metrics = {
        "fpr": false_positive_rate,
        "fnr": false_negative_rate,
        "selection": selection_rate,
        "precision": precision_score,
    }
    selected = (rows.score > rows.threshold).astype(int)
    frame = MetricFrame(
        metrics=metrics, y_true=rows.y, y_pred=selected, sensitive_features=rows.group, **bootstrap
    )
    if bootstrap:
        frame.difference_ci()
    by_group, gaps = frame.by_group, frame.difference()
    found = {f"{name} {g}": by_group.loc[g, name] for name in metrics for g in by_group.index}
    return found | {f"{name} gap": gaps[name] for name in metrics}


def metric_frame_with_intervals(rows):
    return metric_frame(rows, n_boot=100, ci_quantiles=[0.025, 0.975], random_state=0)


if __name__ == "__main__":
    run(
        "fairlearn",
        fits={
            "ExponentiatedGradient": exponentiated_gradient,
            "ThresholdOptimizer": threshold_optimizer,
        },
        audits={"MetricFrame": metric_frame, "bootstrap": metric_frame_with_intervals},
    )
