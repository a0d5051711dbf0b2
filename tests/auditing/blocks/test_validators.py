"""What all the tables for validators have in common: whoever and whatever is audited."""

from functools import cache

import numpy as np
import pytest
from support.making import draw

import evenscore as es
from evenscore.auditing.blocks import (
    BLOCKS,
    CalibrationSlopes,
    ImpactRatios,
    LocalLaw144,
    ScoreBands,
    Separation,
    StandardisedDifferences,
    TopScores,
)
from evenscore.auditing.plain import from_plain, to_plain

WORDS = es.Words(
    people="applicants",
    positives="people who repaid",
    negatives="people who defaulted",
    selected="granted a loan",
    selected_is="good",
)

WITHOUT_OUTCOMES = (ImpactRatios, StandardisedDifferences, ScoreBands, TopScores, LocalLaw144)
KINDS = (*WITHOUT_OUTCOMES, Separation, CalibrationSlopes)
each = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def people(seed=0, n=400, n_groups=2, **options):
    y, score, group, weight = draw(seed, n=n, n_groups=n_groups, **options)
    names = np.array([f"group {k:02d}" for k in range(n_groups)])
    return y, score, names[group], weight


def audited(y, score, group, weight=None, **options):
    options = {"constraints": "bnsp" if y is not None else None, **options}
    return es.audit(y, score, sensitive_features=group, sample_weight=weight, **options)


@cache
def of_three(change=""):
    """An audit of three groups, with something changed that must not matter to its numbers."""
    y, score, group, weight = people(seed=1, levels=10, weights="integer", n_groups=3)
    if change == "order":
        order = np.random.default_rng(0).permutation(len(y))
        y, score, group, weight = y[order], score[order], group[order], weight[order]
    if change == "names":  # another order, too
        group = np.array(["cab"[int(name[-1])] for name in group])
    if change == "scale":
        score = np.exp(score)
    return audited(y, score, group, weight, words=WORDS)


@cache
def of_weights(known):
    y, score, group, weight = people(seed=3, weights="real", n_groups=3)
    return audited(y if known else None, score, group, weight, words=WORDS)


@cache
def of_many_groups():
    y, score, group, _ = people(seed=4, n=2500, n_groups=25, levels=None)
    return audited(y, score, group)


@cache
def of_few():
    y, score, group, _ = people(seed=5, n=500)
    group = group.astype(object)
    group[[7, 8, 9]] = "few"
    return audited(y, score, group)


@cache
def of_one_group():
    y, score, _, _ = people(levels=10)
    return audited(y, score, ["all"] * len(y), constraints=None)


@cache
def of_equal_scores():
    y, _, group, _ = people()
    return audited(y, np.full(len(y), 0.5), group)


@cache
def of_copies(clustered):
    y, score, group, _ = people(seed=6, n=300, levels=None)
    y, score, group = (np.tile(part, 4) for part in (y, score, group))
    cluster = np.tile(np.arange(len(y) // 4), 4)
    return audited(y, score, group, cluster=cluster if clustered else None)


def cells(result, kind):
    """All texts of the tables of a block."""
    return [text for table in result.block(kind).tables() for row in table.rows for text in row]


@each
def test_blocks_are_described_and_read_back(kind):
    block = of_three().block(kind)
    assert BLOCKS[kind.name] is kind
    assert block.meaning.endswith(".")
    plain = to_plain(block)
    assert to_plain(from_plain(kind, plain)) == plain
    tables = block.tables()
    assert tables
    assert [t.rows for t in from_plain(kind, plain).tables()] == [t.rows for t in tables]
    for table in tables:
        assert table.note.endswith(".")
        assert {len(row) for row in table.rows} == {len(table.columns)}
        assert not any("nan" in text for row in table.rows for text in row)
    told = " ".join(text for t in tables for text in (*t.columns, t.note))
    assert any(word in told for word in ("granted a loan", "people who", "applicants"))


@pytest.mark.parametrize("kind", [ImpactRatios, Separation, TopScores, ScoreBands, LocalLaw144])
def test_increasing_maps_of_the_score_change_no_number(kind):
    """Where the cut is, is said in scores; who is beyond it stays."""
    one, two = of_three().block(kind), of_three("scale").block(kind)
    skipped = {"at", "edges", "bands", "cuts", "median", "words"}

    def numbers(plain):
        if isinstance(plain, dict):
            plain = [value for key, value in plain.items() if key not in skipped]
        if isinstance(plain, list):
            return [x for part in plain for x in numbers(part)]
        return [plain] if isinstance(plain, float) else []

    assert len(numbers(to_plain(one))) > 5
    np.testing.assert_allclose(numbers(to_plain(one)), numbers(to_plain(two)), rtol=1e-6)


@each
def test_without_outcomes(kind):
    result = of_weights(known=False)
    if kind not in WITHOUT_OUTCOMES:
        assert kind.name not in result.blocks
        return
    tables, expected = (r.block(kind).tables() for r in (result, of_weights(known=True)))
    if kind in (ImpactRatios, TopScores, LocalLaw144):
        # The outcome has no part in who is selected; with weights sizes add up the same.
        assert [t.rows for t in tables] == [t.rows for t in expected]
    assert not any("people who repaid" in column for table in tables for column in table.columns)


@each
def test_one_group_equal_scores_and_small_groups(kind):
    alone = kind in (Separation, ScoreBands, CalibrationSlopes)
    assert bool(of_one_group().block(kind).tables()) == alone
    for text in cells(of_equal_scores(), kind):
        assert "nan" not in text
        assert "inf" not in text
    assert of_few().compared_groups == ("group 00", "group 01")
    assert ("few" in cells(of_few(), kind)) == (kind is not StandardisedDifferences)


@each
def test_rows_and_names_do_not_matter(kind):
    base = cells(of_three(), kind)
    assert cells(of_three("order"), kind) == base
    if kind is not StandardisedDifferences:  # its pairs may be the other way round
        names = {f"group {k:02d}": "cab"[k] for k in range(3)}
        expected = [names.get(text, text) for text in base]
        assert sorted(cells(of_three("names"), kind)) == sorted(expected)


@pytest.mark.slow
@each
def test_many_groups_are_listed_up_to_a_limit_and_all_are_kept(kind):
    result = of_many_groups()
    for table in result.block(kind).tables():
        assert len(table.rows) <= 80
        if kind is not StandardisedDifferences:
            listed = {name for name in result.groups if any(name in row for row in table.rows)}
            short = len(listed) < 25 and "lowest" not in table.columns
            assert ("JSON file" in table.note) == short
    if kind is StandardisedDifferences:
        assert any("Standardised mean" in text for text in result.omitted)
        assert len(result.block(kind).first) == 45


@each
def test_clusters_change_intervals_and_no_number(kind):
    alone, together = ([t.split(" (") for t in cells(of_copies(c), kind)] for c in (False, True))
    assert [text[0] for text in alone] == [text[0] for text in together]
    assert sum(one != two for one, two in zip(alone, together, strict=True)) >= 3
