"""evenscore: the scorers that take rates at the cuts in use, and an audit, with its defaults."""

import warnings

import lightgbm  # noqa: F401  # loaded before the clock starts
from worker import run

import evenscore as es

BETWEEN = (0.1, 0.4)


def asked():
    return es.RateConstraint("fpr", "fnr", cuts=es.Cuts(between=BETWEEN))


def blind(name):
    def fit(rows):
        scorer = getattr(es, name)(asked(), random_state=int(rows.seed))
        scorer.fit(rows.X, rows.y, sensitive_features=rows.group)
        return lambda: {"score": scorer.decision_function(rows.X_test)}

    return fit


def repaired(rows):
    scorer = es.RepairedScorer(constraints=asked(), random_state=int(rows.seed))
    scorer.fit(rows.X, rows.y, sensitive_features=rows.group)
    return lambda: {
        "score": scorer.decision_function(rows.X_test, sensitive_features=rows.group_test)
    }


def rates(rows):
    found = es.rates_at(rows.y, rows.score, rows.threshold, sensitive_features=rows.group)
    return {
        f"{name} {group}": getattr(found, name)[0, k]
        for name in ("fpr", "fnr", "selection", "precision")
        for k, group in enumerate(found.groups)
    }


def audit(rows):
    cuts = es.Cuts(between=BETWEEN)
    result = es.audit(rows.y, rows.score, sensitive_features=rows.group, cuts=cuts)
    return {f"{gap.name} {k}": gap.value for k, gap in enumerate(result.gaps)}


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # prices and gaps not reached: the table shows them
    run(
        "evenscore",
        fits={
            "EvenScorer": blind("EvenScorer"),
            "LinearScorer": blind("LinearScorer"),
            "RepairedScorer": repaired,
        },
        audits={"audit": audit, "rates_at": rates},
    )
