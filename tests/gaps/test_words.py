"""Words: what people call themselves runs through every sentence."""

import pytest

from evenscore import AucConstraint, Cuts, GroupedScores, RateConstraint, RocConstraint, Words
from evenscore.auditing.plain import from_plain, to_plain
from evenscore.gaps.rates import rate_heading
from evenscore.scores.rates import RATES

LOAN = Words(
    people="applicants",
    positives="people who repaid",
    negatives="people who defaulted",
    selected="granted a loan",
    refused="refused",
    selected_is="good",
    groups={"f": "women", "m": "men"},
)


def test_groups_are_called_by_their_names_and_others_are_groups():
    assert LOAN.named("f") == "women"
    assert LOAN.named(("f", "old")) == ("women", "old")
    assert LOAN.named("x") == "x"
    assert LOAN.whom("women") == "women"
    assert LOAN.whom("x") == "group x"
    assert LOAN.whom("all others") == "all others"
    assert (LOAN.among("men"), LOAN.among("x")) == ("among men", "in group x")
    numbers = Words(groups={0: "women", 1: "men"})  # a number is a label too
    assert (numbers.named(0), numbers.named("1")) == ("women", "men")


def test_bad_names_are_refused():
    for groups in ({"f": "women", "m": "women"}, {"f": ""}, {"f": 3}):
        with pytest.raises(ValueError, match="name"):
            Words(groups=groups)


def test_they_are_plain_data():
    assert from_plain(Words, to_plain(LOAN)) == LOAN
    assert from_plain(Words, {"people": "people"} | to_plain(Words())) == Words()
    assert hash(LOAN) == hash(from_plain(Words, to_plain(LOAN)))


def test_classes_without_words_are_called_after_the_column_of_labels():
    filled = Words(people="applicants").filled("repaid", "yes", "no")
    assert filled.positives == "applicants with repaid = yes"
    assert filled.negatives == "applicants with repaid = no"
    assert LOAN.filled("repaid", "yes", "no") == LOAN
    assert Words().filled(None, 1, 0) == Words()


def test_every_rate_has_a_heading_and_a_phrase_of_these_words():
    names = {"first": "a", "second": "b", "one": "1%", "two": "2%"}
    for rate in RATES:
        heading = rate_heading(rate.name, LOAN)
        phrase = rate.phrase.format(**names, **LOAN.classes)
        for text in (heading, phrase):
            assert "{" not in text
            assert "positives" not in text
            assert "negatives" not in text
        assert heading[0].isupper()
    assert rate_heading("fnr", LOAN) == "Refused among people who repaid"
    assert rate_heading("fnr") == "Not selected among positives"


def test_a_gap_is_told_as_people_would():
    """The sentence of the brief: who is refused among people who repaid."""
    y, groups = [1] * 100 + [0] * 100, (["m"] * 50 + ["f"] * 50) * 2
    score = [0.0] * 14 + [2.0] * 36 + [0.0] * 8 + [2.0] * 42 + [0.0] * 100
    scores = GroupedScores.from_arrays(y, score, sensitive_features=groups)
    scores = scores.regrouped((1, 0), ("men", "women"))
    cuts = Cuts(thresholds=1.0)
    [gap] = RateConstraint("fnr", cuts=cuts).estimates(scores)
    told = RateConstraint("fnr", cuts=cuts).say(gap, LOAN)
    for part in ("people who repaid", "28.0% of men", "16.0% of women", "refused", "39%", "loan"):
        assert part in told
    told = RateConstraint("fnr", cuts=cuts).say(gap)
    for part in ("positives", "28.0% of group men", "not be selected", "39% of everyone"):
        assert part in told


def test_whom_a_gap_favours():
    assert LOAN.favours("men", "x").endswith("favours men over group x.")
    bad = Words(selected="kept in prison", selected_is="bad")
    assert bad.favours("a", "b").endswith("favours group b over group a.")
    assert Words().favours("a", "b") == ""


def test_auc_notions_have_plain_names_in_these_words():
    constraint = AucConstraint.named("bnsp")
    key = constraint.keys(("women", "men"))[0]
    assert constraint.title(key, LOAN).startswith("People who repaid")
    assert "a positive of" not in constraint.meaning(key, LOAN)
    assert "people who defaulted" in constraint.meaning(key, LOAN)


def test_titles_name_the_cut_where_there_are_several():
    several = RateConstraint("fnr", cuts=Cuts(at=(0.1, 0.25)))
    for key, share in zip(several.keys("ab"), ("10%", "25%"), strict=True):
        assert several.title(key, LOAN).startswith("Refused among people who repaid")
        assert share in several.title(key, LOAN)
    for cuts in (Cuts(at=0.1), Cuts(between=(0.1, 0.2))):
        family = RateConstraint("fnr", cuts=cuts)
        assert family.title(family.keys("ab")[0], LOAN) == "Refused among people who repaid"


def test_a_roc_gap_says_who_is_selected_more_often_and_where_scores_are_tied():
    """The same whatever the order of the groups."""
    y, groups = [0] * 200, ["a"] * 100 + ["b"] * 100
    for order in (["a", "b"], ["b", "a"]):
        coarse, fine = (
            GroupedScores.from_arrays(
                y, score, sensitive_features=groups, pos_label=1, group_order=order
            )
            for score in ([0] * 60 + [1] * 35 + [2] * 5 + [0] * 30 + [1] * 60 + [2] * 10,
                          [*range(100), *range(30, 130)])
        )  # fmt: skip
        family = RocConstraint(on="negatives", rates=(0.25,))
        [tied], [gap] = family.estimates(coarse), family.estimates(fine)
        for estimate in (tied, gap):
            assert estimate.words.startswith("negatives in group b would")
        assert not gap.warnings
        shares = ("5.0%", "10.0%") if order == ["a", "b"] else ("10.0%", "5.0%")
        assert "{} and {}".format(*shares) in tied.warnings[-1]
