"""AUC constraints: two AUCs between mixtures of cells should be equal."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Any, ClassVar, final

import numpy as np

from evenscore.gaps.catalogue import CATALOGUE, Notion
from evenscore.gaps.equalities import Combination, Equality
from evenscore.gaps.family import (
    Alignment,
    EstimateSettings,
    GapFamily,
    Pairs,
    check_tolerance,
    labels_of_pairs,
)
from evenscore.gaps.placeable import AVERAGED, PlacedRate
from evenscore.gaps.smooth import SmoothCells, Surrogate
from evenscore.gaps.words import DEFAULT_WORDS, Words
from evenscore.inference.decisions import holm
from evenscore.inference.differences import AucSides, auc_differences, difference_intervals
from evenscore.inference.estimate import Estimate, GapKey, check_level
from evenscore.inference.influence import check_sampling, placement_moments
from evenscore.inference.intervals import Intervals
from evenscore.inference.paired import Paired, PairedScores, paired_auc_differences
from evenscore.inference.reaches import reaches_of_differences
from evenscore.scores import GroupedScores, check_scores
from evenscore.scores.arrays import Bools, Floats
from evenscore.scores.aucs import auc_matrix, roc_curve
from evenscore.scores.brackets import auc_brackets, linear_brackets
from evenscore.scores.curve import RocCurve
from evenscore.scores.distribution import to_floats
from evenscore.scores.rates import CATALOGUE as RATES
from evenscore.scores.rates import rate_names

_CHUNK = 1 << 20  # entries of coefficients handled at a time
_CELLS = ("H0", "H1", "G0", "G1")
_TERM = re.compile(r"(?:(\d*\.?\d+)\s*\*?\s*)?([HG][01])")
_WRITTEN = (
    "Two AUCs that should be equal are written as H0,G0 = H1,G1, or with mixtures such as "
    "0.5 H0 + 0.5 H1 in the place of a cell, not as {!r}."
)


@final
@dataclass(frozen=True)
class AucConstraint(GapFamily):
    """An AUC fairness constraint: two AUCs between mixtures of cells should be equal.

    Make one with `named`, `from_mixtures` or `from_gap_weights`. The gap of two groups is what is
    said of the first minus what is said of the second.

    Parameters
    ----------
    name : str
    definition : what the two AUCs are
    tolerance : float, optional
        The gap that a scorer or a repair may leave.

    Examples
    --------
    >>> AucConstraint.named("bnsp").name
    'bnsp'
    """

    name: str
    definition: Notion | Equality | Combination
    tolerance: float | None = None

    family: ClassVar[str] = "auc"
    heading: ClassVar[str] = "AUC gaps"

    def __post_init__(self) -> None:
        check_tolerance(self.tolerance)

    @classmethod
    def named(cls, name: str, *, tolerance: float | None = None) -> "AucConstraint":
        """A constraint of the catalogue; `constraint_names()` lists them."""
        if isinstance(name, str) and name in rate_names():
            raise ValueError(
                f"{name!r} is a rate at cuts, not an AUC constraint: write "
                f"RateConstraint({name!r}, cuts=Cuts(between=(0.1, 0.4))), with the cuts that will "
                "be used."
            )
        if not isinstance(name, str) or name not in CATALOGUE:
            raise ValueError(
                f"There is no AUC constraint named {name!r}; there are {', '.join(CATALOGUE)}."
            )
        return cls(name, CATALOGUE[name], tolerance)

    @classmethod
    def of(cls, constraint: object) -> "AucConstraint":
        """The constraint of a name, or the constraint itself; any other family is refused."""
        if isinstance(constraint, str):
            return cls.named(constraint)
        if isinstance(constraint, cls):
            return constraint
        raise TypeError(
            f"constraint must be a name or an AucConstraint, not {type(constraint).__name__}; "
            "roc_gap measures ROC constraints."
        )

    @classmethod
    def from_mixtures(
        cls,
        alpha: Sequence[float],
        beta: Sequence[float],
        alpha_prime: Sequence[float],
        beta_prime: Sequence[float],
        *,
        name: str = "mixtures",
        tolerance: float | None = None,
    ) -> "AucConstraint":
        """AUC_{αᵀD, βᵀD} = AUC_{α'ᵀD, β'ᵀD} with D = (H⁰, H¹, G⁰, G¹); α, β reference and target.

        Refused unless (e₁ + e₂)ᵀ[(α − α') − (β − β')] = 0: by Theorem 1, any other such equality
        fails for some score even when the groups are alike, so it would create unfairness.
        With more than two groups it is applied to every pair of them.

        >>> AucConstraint.from_mixtures([1, 0, 0, 0], [0, 0, 1, 0],
        ...                             [0, 1, 0, 0], [0, 0, 0, 1]).gap_weights()
        array([0., 0., 1., 1., 1.])
        """
        given = {
            "alpha": alpha,
            "beta": beta,
            "alpha_prime": alpha_prime,
            "beta_prime": beta_prime,
        }
        vectors = []
        for label, vector in given.items():
            array = to_floats(vector, label)
            if array.shape != (4,):
                raise ValueError(f"{label} needs four proportions, of (H0, H1, G0, G1).")
            if not np.all(array >= 0.0) or abs(array.sum() - 1.0) > 1e-9:
                raise ValueError(f"{label} must be non-negative and add up to one, not {vector!r}.")
            vectors.append(array)
        a, b, a2, b2 = vectors
        excess = float(((a - a2) - (b - b2))[:2].sum())
        if abs(excess) > 1e-9:
            raise ValueError(
                "This is an unfairness constraint (Theorem 1): even between groups that are alike "
                "it fails unless the score is uninformative, because the first AUC compares "
                f"negatives with positives {abs(excess):.3g} "
                f"{'more' if excess > 0 else 'less'} often than the second, "
                "(e1 + e2)·[(alpha - alpha') - (beta - beta')] being "
                f"{excess:.3g} instead of 0."
            )
        return cls(name, Equality(*(tuple(v.tolist()) for v in vectors)), tolerance)

    @classmethod
    def parse(cls, text: str, *, tolerance: float | None = None) -> "AucConstraint":
        """A constraint as the command line writes it: a name, or two AUCs that should be equal.

        An AUC is written as the reference and the target, H0 and H1 being the negatives of the two
        groups, G0 and G1 their positives, or mixtures of them in proportions that add up to one.

        >>> AucConstraint.parse("H0,G0 = H1,G1").gap_weights()
        array([0., 0., 1., 1., 1.])
        >>> AucConstraint.parse("0.5 H0 + 0.5 H1, G0 = 0.5 H0 + 0.5 H1, G1").name
        '0.5 H0 + 0.5 H1, G0 = 0.5 H0 + 0.5 H1, G1'
        """
        if "=" not in text:
            return cls.named(text, tolerance=tolerance)
        sides = [side.split(",") for side in text.split("=")]
        if [len(side) for side in sides] != [2, 2]:
            raise ValueError(_WRITTEN.format(text))
        mixtures = [_mixture(part, text) for side in sides for part in side]
        if mixtures[:2] == mixtures[2:]:
            raise ValueError(f"Both sides of {text!r} are the same AUC: there is no gap.")
        return cls.from_mixtures(*mixtures, name=" ".join(text.split()), tolerance=tolerance)

    @classmethod
    def from_gap_weights(
        cls, gap_weights: Sequence[float], *, name: str = "", tolerance: float | None = None
    ) -> "AucConstraint":
        """ΓᵀC = 0 for any five weights Γ of the elementary gaps C₁..C₅."""
        array = to_floats(gap_weights, "gap_weights")
        if array.shape != (5,) or not np.all(np.isfinite(array)):
            raise ValueError(f"gap_weights needs five finite numbers, not {gap_weights!r}.")
        label = name or "gap_weights(" + ", ".join(f"{weight:g}" for weight in array) + ")"
        return cls(label, Combination(tuple(array.tolist())), tolerance)

    def coefficients(self, cell_weights: Floats, first: int, second: int) -> Floats:
        """W, 2K × 2K, such that the gap of two groups is the sum of W ∘ AUC matrix.

        `cell_weights` may be many tables, (…, 2, K); proportions of the data give as many W.
        """
        left, right = self.definition.sides(np.asarray(cell_weights), first, second)
        return np.asarray(left - right)

    def gap_weights(self, cell_weights: Floats | None = None) -> Floats:
        """Γ, such that the gap of two groups is ΓᵀC; it may depend on the cells' weights (2, 2).

        With w_ij = W_ij − W_ji: Γ = (w₁₂, w₄₃, w₁₃, w₁₃ + w₁₄, w₄₂).
        """
        if cell_weights is None:
            if self.definition.proportions_vary:
                raise ValueError(
                    f"The weights of {self.name} depend on the data: give cell_weights."
                )
            cell_weights = np.ones((2, 2))
        cell_weights = np.asarray(cell_weights, dtype=np.float64)
        if cell_weights.shape != (2, 2):
            raise ValueError("Gap weights are defined for two groups only.")
        W = self.coefficients(cell_weights, 0, 1)
        w = W - W.T
        return np.array([w[0, 1], w[3, 2], w[0, 2], w[0, 2] + w[0, 3], w[3, 1]])

    # ------------------------------------------------------------------ gaps

    def keys(self, groups: Sequence[object], pairs: Pairs | None = None) -> tuple[GapKey, ...]:
        """One gap for every pair of groups."""
        return tuple(GapKey(self.name, *names) for names in labels_of_pairs(groups, pairs))

    def values(self, scores: GroupedScores, pairs: Pairs | None = None) -> Floats:
        """The difference of the two AUCs, a tie counting one half."""
        first, second = self._statistics(scores, pairs)
        return np.asarray(first - second)

    def _statistics(self, scores: GroupedScores, pairs: Pairs | None) -> Floats:
        """What is compared, (2, pairs)."""
        check_scores(scores)
        aucs = auc_matrix(scores).values
        if self.definition.proportions_vary:  # an empty cell has no weight in pooled populations
            aucs = np.nan_to_num(aucs)
        compared = scores.pairs() if pairs is None else pairs
        return self.definition.statistics(scores.cell_weights, aucs, compared)

    @classmethod
    def estimate_many(
        cls,
        families: Sequence["AucConstraint"],  # type: ignore[override]
        scores: GroupedScores,
        settings: Sequence[EstimateSettings],
    ) -> list[list[Estimate]]:
        """The gaps with intervals by placement values, made together: `inference.differences`."""
        check_scores(scores)
        placement_moments(scores)  # the AUC matrix comes with them
        kinds = [
            family._unknown(scores, asked) for family, asked in zip(families, settings, strict=True)
        ]
        estimates = iter(auc_differences(scores, kinds, settings[0]))
        return [
            holm(
                family._with_reasons([next(estimates) for _ in kind.estimates], scores, asked.pairs)
            )
            for family, kind, asked in zip(families, kinds, settings, strict=True)
        ]

    def intervals(self, scores: GroupedScores, settings: EstimateSettings) -> Intervals:
        """By placement values, at any level."""
        check_scores(scores)
        return difference_intervals(scores, [self._unknown(scores, settings)])

    @classmethod
    def intervals_of_many(
        cls,
        families: Sequence["AucConstraint"],  # type: ignore[override]
        scores: GroupedScores,
        settings: Sequence[EstimateSettings],
    ) -> Intervals:
        """All differences at once."""
        check_scores(scores)
        asked = zip(families, settings, strict=True)
        return difference_intervals(scores, [one._unknown(scores, how) for one, how in asked])

    def brackets(self, scores: GroupedScores, pairs: Pairs | None = None) -> Floats:
        """Those of the AUCs times the coefficients, a few pairs at a time."""
        compared = scores.pairs() if pairs is None else list(pairs)
        known = auc_brackets(scores)
        found = np.zeros(len(compared))
        step = max(1, _CHUNK // (known.size + 1))
        for start in range(0, len(compared), step):
            some = slice(start, start + step)
            left, right = self._sides(scores.cell_weights, compared[some])
            found[some] = linear_brackets(left - right, known)
        return found

    def reaches(self, scores: GroupedScores, settings: EstimateSettings) -> Floats:
        """By two one-sided tests of every pair, noise being that of placement values."""
        return reaches_of_differences(
            scores,
            self._sides(scores.cell_weights, settings.pairs),
            self.intervals(scores, settings),
            proportions_vary=self._varies(settings),
            confidence_level=settings.confidence_level,
            random_state=settings.random_state,
        )

    def _unknown(self, scores: GroupedScores, settings: EstimateSettings) -> AucSides:
        """The gaps before their intervals are known."""
        check_level(settings.confidence_level)
        check_sampling(settings.sampling)
        first, second = self._statistics(scores, settings.pairs).tolist()
        compared = scores.pairs() if settings.pairs is None else list(settings.pairs)
        keys = self.keys(scores.groups, settings.pairs)
        blank = [
            replace(
                Estimate.of_key(key, one - two, method="placement values", family=self.family),
                first_value=one,
                second_value=two,
                reference=scores.names[0] if self.definition.has_reference else "",
            )
            for key, one, two in zip(keys, first, second, strict=True)
        ]
        return AucSides(
            blank,
            lambda some: self._sides(scores.cell_weights, compared[some]),
            self._varies(settings),
        )

    def _sides(self, cell_weights: Floats, pairs: Pairs | None = None) -> Floats:
        """Coefficients of both sides, (2, pairs, 2K, 2K)."""
        n_cells = cell_weights.size
        compared = combinations(range(n_cells // 2), 2) if pairs is None else pairs
        sides = np.array([self.definition.sides(cell_weights, *pair) for pair in compared])
        return np.swapaxes(sides.reshape(-1, 2, n_cells, n_cells), 0, 1)

    def _varies(self, settings: EstimateSettings) -> bool:
        return self.definition.proportions_vary and settings.sampling == "observations"

    def paired(self, pair: PairedScores, settings: EstimateSettings) -> list[Paired]:
        """By the difference of the two influences of each person: exact, nothing is redrawn."""
        blank = [
            Estimate.of_key(key, np.nan, method="", family=self.family)
            for key in self.keys(pair.groups)
        ]
        return paired_auc_differences(
            pair,
            blank,
            self.values,
            lambda table: self._sides(table.cell_weights),
            proportions_vary=self._varies(settings),
            confidence_level=settings.confidence_level,
        )

    def cells(self, n_groups: int) -> Bools:
        """The cells with a coefficient, whatever the data.

        Coefficients depend on the sizes of the cells and may vanish by chance: sizes that are no
        multiples of each other tell what the notion itself compares.
        """
        used = np.abs(self._forms(n_groups)).sum(axis=0)  # both sides
        return np.asarray((used.sum(axis=-1) + used.sum(axis=-2)) > 0.0)

    def needs(self, n_groups: int) -> Bools:
        """The cells without which a side compares nobody; a pooled population may lack some."""
        needed = np.zeros((n_groups * (n_groups - 1) // 2, 2 * n_groups), dtype=bool)
        for cell in range(2 * n_groups):
            used = np.abs(self._forms(n_groups, without=cell)).sum(axis=0)
            needed[:, cell] = ~(used[:, cell].sum(axis=-1) + used[:, :, cell].sum(axis=-1) == 0.0)
        return needed

    def _forms(self, n_groups: int, without: int | None = None) -> Floats:
        """Coefficients of both sides, (2, pairs, 2K, 2K), for sizes without a common measure.

        NaN where a side compares nobody, one of the cells being empty.
        """
        sizes = np.sqrt(np.arange(2.0, 2.0 + 2 * n_groups))
        if without is not None:
            sizes[without] = 0.0
        return self._sides(sizes.reshape(2, n_groups))

    # ------------------------------------------------------------------ in words

    def say(self, estimate: Estimate, words: Words = DEFAULT_WORDS) -> str:
        """What the gap means, and how often either thing happens, in pairs of people."""
        return self.definition.say_gap(
            estimate.first,
            estimate.second,
            estimate.first_value,
            estimate.second_value,
            sure=estimate.differs_from_zero,
            reference=estimate.reference,
            words=words,
        )

    def meaning(self, key: GapKey, words: Words = DEFAULT_WORDS) -> str:
        """What the two AUCs are."""
        return self.definition.meaning(words)

    def title(self, key: GapKey, words: Words = DEFAULT_WORDS) -> str:
        """The notion's plain name."""
        return self.definition.plain_name(words)

    def ranks_higher(self, estimate: Estimate) -> tuple[str, str] | None:
        """Who ranks higher, if the notion is not about mistakes, which favour nobody."""
        sign = self.definition.ranks_higher
        pair = estimate.first, estimate.second
        return (pair if sign * estimate.value > 0 else pair[::-1]) if sign else None

    # ------------------------------------------------------------------ learning and repair

    def linear_form(self, cell_weights: Floats) -> Floats:
        """W of every pair of groups."""
        return _linear_form(self, cell_weights.shape[1], cell_weights.tobytes())

    def placed(self) -> tuple[PlacedRate, ...]:
        """The mean, over all cuts of a pooled class, of a rate of the groups.

        AUC_{H,G_k} is the mean of 1 − fnr_k over the cuts of H, AUC_{H_k,G} that of 1 − fpr_k over
        the cuts of G, and so on: an AUC that compares a class of the group with a class as a whole.
        """
        pairs: tuple[Any, ...] = getattr(self.definition, "pairs", ())
        whose = [side.whose for side in pairs[0]] if len(pairs) == 1 else []
        if sorted(whose) == ["everyone", "own group"]:
            own, pool = (pairs[0][whose.index(kind)] for kind in ("own group", "everyone"))
            if "both" not in (own.classes, pool.classes):
                rate = RATES[{"negatives": "fpr", "positives": "fnr"}[own.classes]]
                where = f"over all cuts of the {pool.classes}"
                return (PlacedRate(rate, pool.classes, AVERAGED, (where,), averaged=True),)
        linear = "bnsp, bpsn, zero_aeg and zero_aeg_negatives"
        raise TypeError(
            f"{self.name} compares people in a way that is not linear in where they are placed, as "
            f"rates at cuts, {linear} are: LinearScorer learns it."
        )

    def surrogate(self, cells: SmoothCells) -> Surrogate:
        """Σ coefficients ∘ the surrogate AUC matrix."""
        forms = self.linear_form(cells.cell_weights)

        def slopes(multipliers: Floats) -> Floats:
            return cells.auc_slopes(np.tensordot(multipliers, forms, axes=1))

        return Surrogate(np.tensordot(forms, cells.auc, axes=2), slopes)

    def targets(self, n_groups: int, *, guards: bool = True) -> Alignment:
        """Shifts of the groups against each other; refused if only people of one group compare."""
        left, right = self._forms(n_groups)
        forms = left - right
        group = np.arange(2 * n_groups) % n_groups
        across = group[:, None] != group[None, :]
        if np.abs((forms - np.swapaxes(forms, 1, 2))[:, across]).max() < 1e-9:
            raise ValueError(
                f"{self.name} compares people within groups, and increasing maps of groups do not "
                "change how a group is ranked: no repair can meet it, but a learned score can "
                "(EvenScorer, LinearScorer)."
            )
        n_pairs = n_groups * (n_groups - 1) // 2
        n_free = n_pairs if self.definition.compares_others else n_groups - 1
        return Alignment(by_shifts=True, n_free=n_free)

    # ------------------------------------------------------------------ curves

    def curves_by_pair(self, scores: GroupedScores) -> Iterator[tuple[RocCurve, RocCurve]]:
        """`curves` of every pair of groups, none of them made twice."""
        check_scores(scores)
        known: dict[object, RocCurve] = {}
        for pair in scores.pairs():
            curves = []
            for group, other, side in zip(pair, reversed(pair), (0, 1), strict=True):
                key = (group, other) if self.definition.compares_others else group
                if key not in known:
                    mixtures = self.definition.mixtures(scores.cell_weights, *pair)
                    known[key] = roc_curve(scores, *mixtures[side])
                curves.append(known[key])
            yield curves[0], curves[1]

    def curves(
        self, scores: GroupedScores, first: int = 0, second: int = 1
    ) -> tuple[RocCurve, RocCurve]:
        """The two ROC curves whose areas the constraint compares.

        For `intra_group` the area between them is ABROCA.
        """
        one, two = (
            roc_curve(scores, *pair)
            for pair in self.definition.mixtures(scores.cell_weights, first, second)
        )
        return one, two


@lru_cache(maxsize=64)
def _linear_form(constraint: AucConstraint, n_groups: int, cell_weights: bytes) -> Floats:
    """Training asks for the same coefficients at every step."""
    left, right = constraint._sides(np.frombuffer(cell_weights).reshape(2, n_groups))
    return np.asarray(left - right)


def _mixture(part: str, text: str) -> list[float]:
    """The proportions of the four cells in one side of an AUC."""
    proportions = dict.fromkeys(_CELLS, 0.0)
    for term in part.split("+"):
        read = _TERM.fullmatch(term.strip())
        if read is None:
            raise ValueError(_WRITTEN.format(text))
        proportions[read[2]] += float(read[1] or 1.0)
    total = sum(proportions.values())
    if abs(total - 1.0) > 1e-9:
        raise ValueError(
            f"The proportions of {part.strip()!r} in {text!r} add up to {total:g} instead of 1."
        )
    return list(proportions.values())
