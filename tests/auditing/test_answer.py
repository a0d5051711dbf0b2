"""The answer that a report opens with agrees with the verdicts, and says what can be done."""

import numpy as np

import evenscore as es

LOAN = es.Words(
    people="applicants",
    positives="people who repaid",
    negatives="people who defaulted",
    selected="granted a loan",
    refused="refused",
    groups={"f": "women", "m": "men"},
)


def people(n, shift, seed=0):
    rng = np.random.default_rng(seed)
    y, sex = rng.random(n) < 0.4, rng.choice(["f", "m"], n)
    return y, rng.normal(size=n) + 1.5 * y + shift * (sex == "m"), sex


def test_an_unfair_score():
    y, score, sex = people(8000, 1.0)
    result = es.audit(y, score, sensitive_features=sex, words=LOAN)
    assert {gap.verdict for gap in result.cut_gaps} == {"beyond"}
    told = str(result.answer)
    assert told.startswith("No. ")
    for part in ("5 percentage points", "5% to 50%", "applicants", "granted a loan"):
        assert part in told
    learn, repair, cut = result.answer.remedies
    for part in ("--equal fpr,fnr", "--cuts everyone=0.05:0.5", "--tolerance 0.05."):
        assert part in learn
    assert "unlawful" in repair
    assert "slider" in cut
    # Thresholds are learned by the shares they select, and without outcomes it is about selection.
    cuts = es.Cuts(thresholds=float(np.quantile(score, 0.75)))
    answer = es.audit(y, score, sensitive_features=sex, cuts=cuts).answer
    assert "--cuts everyone=0.25 " in answer.remedies[0]
    answer = es.audit(None, score, sensitive_features=sex).answer
    assert answer.verdict == "gap"
    assert "--equal selection" in answer.remedies[0]


def test_a_fair_score_with_many_people():
    y, score, sex = people(30_000, 0.0)
    answer = es.audit(y, score, sensitive_features=sex, words=LOAN).answer
    assert answer.verdict == "even"
    assert str(answer).startswith("Yes. ")
    assert "both kinds of error" in answer.text


def test_where_there_is_nothing_to_compare():
    y, score, sex = people(400, 0.5)
    none = es.Cuts(between=(0.001, 0.002))
    for values, groups, cuts in (
        (score, np.full(400, "f"), None),
        (np.zeros(400), sex, None),
        (np.where(y, 1.0, 0.0), sex, none),
    ):
        answer = es.audit(y, values, sensitive_features=groups, cuts=cuts).answer
        assert answer.short == "Cannot tell"
        assert answer.text


def test_few_people_cannot_tell_and_how_many_more_it_takes():
    y, score, sex = people(300, 0.0)
    result = es.audit(y, score, sensitive_features=sex)
    assert result.answer.short == "Cannot tell"
    certificate = result.certificate
    times = certificate.needed / certificate.smallest[1]
    assert f"about {times:.2g} times as many" in result.answer.remedies[0]


def test_it_is_stored_and_never_changes_its_mind():
    y, score, sex = people(2000, 1.0)
    result = es.audit(y, score, sensitive_features=sex)
    data = result.to_dict()
    data["answer"]["text"] = "As it was told then."
    read = es.AuditResult.from_dict(data)
    assert str(read.answer) == f"No. {data['answer']['text']}"


def test_a_tolerance_that_nothing_could_be_beyond_is_said_to_be_too_coarse():
    """Of 5 % that are inspected, clean places of one group may be four times as many."""
    rng = np.random.default_rng(0)
    n = 20_000
    group, y = rng.choice(["a", "b"], n), rng.random(n) < 0.2
    score = rng.normal(size=n) + 1.5 * y + 0.6 * (group == "a")
    cuts = es.Cuts(at=(0.05,))
    fair = es.RateConstraint("fpr", cuts=cuts)

    def answer(tolerance):
        return es.audit(
            y, score, sensitive_features=group, cuts=cuts, constraints=fair, tolerance=tolerance
        ).answer

    coarse = answer(0.05)
    assert coarse.verdict == "even"
    assert "too coarse" in coarse.text
    assert "% for group b" in coarse.text
    assert "--tolerance" in coarse.remedies[0]
    fine = answer(0.01)
    assert fine.verdict == "gap"
    assert "too coarse" not in fine.text
