"""To add a family of gaps, a block or a booster is to write one file: this one."""

import io
import re
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
import pytest
from conftest import draw
from rich.console import Console

import evenscore as es
from evenscore.auditing.blocks import BLOCKS, Block, BlockTable, register
from evenscore.gaps.family import Alignment, GapFamily, labels_of_pairs
from evenscore.gaps.smooth import Surrogate
from evenscore.inference.estimate import GapKey

# ---------------------------------------------------------------------- a family


@dataclass(frozen=True)
class MeanRank(GapFamily):
    """The difference of mean ranks: how often a person of a group outranks anybody."""

    tolerance: float | None = None

    name: ClassVar[str] = "mean_rank"
    family: ClassVar[str] = "ranks"
    heading: ClassVar[str] = "Gaps of mean ranks"

    def keys(self, groups, pairs=None):
        return tuple(GapKey("mean_rank", *names) for names in labels_of_pairs(groups, pairs))

    def values(self, scores, pairs=None):
        weights = scores.cell_weights.reshape(-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return self._gaps(es.scores.aucs.auc_matrix(scores).values, weights, pairs)

    @staticmethod
    def _form(weights: np.ndarray, i: int, j: int) -> np.ndarray:
        """The gap of two groups as coefficients of the AUC matrix."""
        k = len(weights) // 2
        rank = np.zeros((2, len(weights)))
        for row, group in enumerate((i, j)):
            own = [group, k + group]
            rank[row, own] = weights[own] / weights[own].sum()
        everyone = weights / weights.sum()
        return np.outer(everyone, rank[0] - rank[1])

    def _gaps(self, aucs, weights, pairs):
        compared = combinations(range(len(weights) // 2), 2) if pairs is None else pairs
        filled = np.nan_to_num(aucs)
        return np.array([np.sum(self._form(weights, i, j) * filled) for i, j in compared])

    def surrogate(self, cells):
        weights = cells.cell_weights.reshape(-1)
        pairs = combinations(range(cells.n_groups), 2)
        forms = np.array([self._form(weights, *pair) for pair in pairs])
        gaps = np.tensordot(forms, cells.auc, axes=2)
        return Surrogate(gaps, lambda m: cells.auc_slopes(np.tensordot(m, forms, axes=1)))

    def targets(self, n_groups, *, guards=True):
        return Alignment(by_shifts=True, n_free=n_groups - 1)


@dataclass(frozen=True)
class OnlyAudited(GapFamily):
    """The difference of mean scores: neither learned nor repaired."""

    tolerance: float | None = None

    name: ClassVar[str] = "mean_score"
    family: ClassVar[str] = "means"
    heading: ClassVar[str] = "Gaps of mean scores"

    def keys(self, groups, pairs=None):
        return tuple(GapKey("mean_score", *names) for names in labels_of_pairs(groups, pairs))

    def values(self, scores, pairs=None):
        codes = scores.cell % scores.n_groups
        sums, weights = (
            np.bincount(codes, weights=column, minlength=scores.n_groups)
            for column in (scores.weight * scores.score, scores.weight)
        )
        mean = sums / weights
        return np.array([mean[i] - mean[j] for i, j in (pairs or scores.pairs())])


@pytest.fixture(scope="module")
def people():
    y, score, group, _ = draw(5, n=500, levels=None, shift=1.6)
    return y, score, np.array(["women", "men"])[group]


@pytest.mark.slow
def test_a_family_is_audited_reported_compared_and_stored(people, tmp_path):
    y, score, groups = people
    result = es.audit(y, score, sensitive_features=groups, constraints=["bnsp", MeanRank()])
    gap = result.gaps[1]
    assert gap.family == "ranks"
    ranks = np.argsort(np.argsort(score)) / len(score)
    naive = ranks[groups == "men"].mean() - ranks[groups == "women"].mean()
    assert gap.value == pytest.approx(naive, abs=2e-3)
    assert 0.0 < gap.low < gap.value < gap.high
    assert gap.verdict == "beyond"
    assert result.n_gaps == 2
    result.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Gaps of mean ranks: zero is even" in page
    assert f"{gap.value:+.3f}" in page
    console = Console(record=True, width=120, file=io.StringIO())
    console.print(result)
    assert re.search(r"Gaps of mean ranks(, .*)?: zero is even", console.export_text())
    assert "Gaps of mean ranks, men and women" in result._repr_html_()
    assert result.to_frame("pandas")["family"].tolist()[-1] == "ranks"
    result.to_json(tmp_path / "audit.json")
    read = es.AuditResult.from_json(tmp_path / "audit.json")
    assert read.gaps == result.gaps
    assert "mean_rank" in read.meanings
    other = es.audit(
        y,
        score + 0.4 * (groups == "women"),
        sensitive_features=groups,
        constraints=["bnsp", MeanRank()],
    )
    difference = result.compare(other, n_resamples=50).gaps[1]
    assert difference.difference.value == pytest.approx(gap.value - other.gaps[1].value)
    assert difference.change == "larger gap"


@pytest.mark.slow
@pytest.mark.parametrize("scorer", ["LinearScorer", "BoostedScorer"])
def test_a_family_is_learned(people, scorer):
    y, score, groups = people
    rng = np.random.default_rng(0)
    X = np.column_stack([score, groups == "women", rng.normal(size=len(y))])
    fitted = getattr(es, scorer)(MeanRank(), tolerance=0.03, random_state=0)
    fitted.fit(X, y, sensitive_features=groups)
    [gap] = fitted.gaps_["train"]
    free = getattr(es, scorer)(random_state=0).fit(X, y)
    table = es.GroupedScores.from_arrays(y, free.decision_function(X), sensitive_features=groups)
    assert abs(MeanRank().values(table)[0]) > 0.05
    assert abs(gap.value) <= 0.035
    assert fitted.gap_names_ == ["mean_rank, men and women"]


@pytest.mark.slow
def test_a_family_is_repaired_and_traded_off(people):
    y, score, groups = people
    repair = es.repair(y, score, sensitive_features=groups, constraints=MeanRank())
    assert abs(repair.gaps["before"][0].value) > 0.2
    assert abs(repair.gaps["after"][0].value) < 0.02
    path = es.tradeoff_path(
        es.LinearScorer(MeanRank()),
        np.column_stack([score, groups == "women"]),
        y,
        sensitive_features=groups,
        tolerances=[0.02],
        cv=2,
        random_state=0,
    )
    assert path.points[1].worst_gap < path.points[0].worst_gap
    asked = {"sensitive_features": groups, "constraints": MeanRank(), "tolerance": 0.1}
    choice = es.certified_choice([repair], score, y, **asked)
    [certificate] = choice.test.certificates
    assert (certificate.method, certificate.constraint) == ("equivalence", "mean_rank")
    assert choice.certified == (certificate.reach <= 0.1)


def test_what_a_family_cannot_do_is_refused_in_a_sentence(people):
    y, score, groups = people
    result = es.audit(y, score, sensitive_features=groups, constraints=OnlyAudited())
    assert result.gaps[0].value == pytest.approx(
        score[groups == "men"].mean() - score[groups == "women"].mean()
    )
    with pytest.raises(TypeError, match="mean_score cannot be learned: it has no surrogate"):
        es.LinearScorer(OnlyAudited()).fit(score[:, None], y, sensitive_features=groups)
    with pytest.raises(ValueError, match="mean_score cannot be repaired"):
        es.repair(y, score, sensitive_features=groups, constraints=OnlyAudited())
    with pytest.raises(TypeError, match="A constraint is a name or a family of gaps"):
        es.audit(y, score, sensitive_features=groups, constraints=[3])


# ---------------------------------------------------------------------- a block


@dataclass(frozen=True, eq=False)
class Extremes(Block):
    """The highest score of each group."""

    groups: tuple[str, ...]
    highest: tuple[float, ...]

    name: ClassVar[str] = "extremes"
    title: ClassVar[str] = "Highest scores"
    meaning: ClassVar[str] = "The highest score of each group; it says nothing about the others."

    @classmethod
    def compute(cls, audit):
        cells, k = audit.scores.cell_distributions, audit.scores.n_groups
        highest = [max(cells[g].values[-1], cells[k + g].values[-1]) for g in range(k)]
        return cls(tuple(audit.scores.groups), tuple(map(float, highest)))

    def tables(self):
        rows = zip(self.groups, (f"{value:.3f}" for value in self.highest), strict=True)
        columns = "group", "highest"
        return (BlockTable("Highest scores", columns, tuple(rows), "Seen, not more."),)


@pytest.fixture
def with_extremes():
    register(Extremes)
    yield
    del BLOCKS[Extremes.name]


@pytest.mark.slow
def test_a_block_is_computed_shown_and_stored(people, with_extremes, tmp_path):
    y, score, groups = people
    result = es.audit(y, score, sensitive_features=groups, constraints="bnsp")
    block = result.block(Extremes)
    assert block.highest[0] == score[groups == "men"].max()
    result.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert '<h2 id="extremes-title">Highest scores</h2>' in page
    assert f"{block.highest[1]:.3f}" in page
    console = Console(record=True, width=120, file=io.StringIO())
    console.print(result)
    assert "more tables" in console.export_text()  # where the terminal has no room for it
    assert "Highest scores" in result.to_markdown()
    data = result.to_dict()
    assert es.AuditResult.from_dict(data).block(Extremes).highest == block.highest
    del BLOCKS[Extremes.name]
    try:
        assert Extremes.name not in es.AuditResult.from_dict(data).blocks
    finally:
        register(Extremes)
