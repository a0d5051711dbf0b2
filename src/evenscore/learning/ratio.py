"""When the fair score of largest AUC is a ratio, and which one (docs/optimal.md has the proofs).

Let d(x) be the densities of the 2K cells at x. The AUC and every AUC gap are sums Σ M_ij AUC_ij
over pairs of cells (reference i, target j), hence ∬ 1{s(x) > s(x')} d(x')ᵀ M d(x). To maximise
AUC − Σ m gap, x should rank above x' if, and only if,

    d(x')ᵀ B d(x) > 0,    B = M − Mᵀ,    M = M_auc − Σ_j m_j M_j.

Let all these skew forms have a factor w in common, B_j = w p_jᵀ − p_j wᵀ, with w ≥ 0. Then B has
rank two, whatever the multipliers are, and x ranks above x' if and only if p·d(x) / w·d(x) is the
larger, p = p_auc − Σ m_j p_j: the preference is an order, no score does better, and no group is
needed to score. The ratio is never turned round, since p·d may be negative. The factor lies in the
plane of pooled negatives a and pooled positives b, for M_auc = a bᵀ. It is a for "bnsp" and
"zero_aeg_negatives", b for "bpsn" and "zero_aeg".

Without such a factor there are multipliers and three people of whom each should rank above the
next: no formula of this kind can be the best for every law.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, final

import numpy as np

from evenscore.gaps import GapFamily
from evenscore.scores.arrays import Floats

_ROUNDING = 1e-9  # of squared sizes of forms, relative to those without a factor
_OTHERS = "BoostedScorer and LinearScorer"


@final
@dataclass(frozen=True, eq=False)
class RatioForm:
    """The optimal score p·d / w·d of some constraints, p = `auc` − Σ multipliers · `gaps`.

    Parameters
    ----------
    denominator : array of shape (2K,)
        w, the factor that all forms have in common.
    auc : array of shape (2K,)
        p of the AUC.
    gaps : array of shape (gaps, 2K)
        p of every gap.
    groups : array of shape (K, 2K) or None
        p of the statistics of the groups, if the AUC is a mean of them: those of "bnsp" and "bpsn".
    shares : array of shape (K,) or None
        By how much each of them counts in that mean.

    Examples
    --------
    >>> from evenscore.gaps import as_constraints
    >>> form = RatioForm.of(as_constraints("bnsp"), np.array([[3.0, 1.0], [1.0, 1.0]]))
    >>> form.denominator, form.auc
    (array([0.75, 0.25, 0.  , 0.  ]), array([0. , 0. , 0.5, 0.5]))
    >>> form.weights(np.array([0.2]))
    array([0.3, 0.7])
    """

    denominator: Floats
    auc: Floats
    gaps: Floats
    groups: Floats | None = None
    shares: Floats | None = None

    @classmethod
    def of(cls, families: Sequence[GapFamily], cell_weights: Floats) -> Self:
        """The ratio for some constraints, given the weights of the cells, (2, K).

        Constraints that have no factor in common are refused, with the reason.
        """
        cell_weights = np.asarray(cell_weights, dtype=np.float64)
        pooled = np.zeros((2, cell_weights.size))
        n_groups = cell_weights.shape[1]
        pooled[0, :n_groups], pooled[1, n_groups:] = cell_weights / cell_weights.sum(
            axis=1, keepdims=True
        )
        forms = [_skew(_linear_form(family, cell_weights)) for family in families]
        together = np.concatenate([np.zeros((0, *[cell_weights.size] * 2)), *forms])
        factor = _factor(together, pooled)
        if factor is None:
            raise ValueError(_refusal(families, forms, pooled))
        groups = shares = None
        auc = _others(_skew(np.outer(*pooled)), factor)
        statistics = families[0].group_forms(cell_weights) if len(families) == 1 else None
        if statistics is not None:
            groups = _others(_skew(statistics), factor)
            shares = np.asarray(np.linalg.lstsq(groups.T, auc, rcond=None)[0], dtype=np.float64)
            if not np.allclose(groups.T @ shares, auc) or abs(shares.sum() - 1.0) > 1e-9:
                groups = shares = None  # the AUC is no mean of them
        return cls(factor, auc, _others(together, factor), groups, shares)

    def score(self, densities: Floats, multipliers: Floats) -> Floats:
        """The scores of people by the densities of the cells at each, (n, 2K), up to a factor.

        It is the angle of (w·d, p·d), which grows with the ratio and is finite where w·d is zero.
        """
        numerator = self.auc - np.asarray(multipliers) @ self.gaps
        return np.arctan2(densities @ numerator, densities @ self.denominator)

    def weights(self, multipliers: Floats) -> Floats:
        """What each group counts for in AUC − Σ m gap, where the AUC is a mean over the groups.

        They add up to one. If none is negative, the score is the ordinary one of a population in
        which the groups' positives ("bnsp") or negatives ("bpsn") are weighted so.
        """
        return self.of_groups(self.auc - np.asarray(multipliers) @ self.gaps)

    def of_groups(self, vectors: Floats) -> Floats:
        """Vectors p, (…, 2K), as sums of those of the groups' statistics: coefficients, (…, K)."""
        assert self.groups is not None
        found, *_ = np.linalg.lstsq(self.groups.T, vectors.T, rcond=None)
        return np.asarray(found.T.round(12), dtype=np.float64)


def _linear_form(family: GapFamily, cell_weights: Floats) -> Floats:
    form = family.linear_form(cell_weights)
    if form is None:
        raise ValueError(
            f"{family.name} has no optimal score in closed form, since it does not compare AUCs: "
            "what is best at one cut need not be at the next. "
            f"{_OTHERS} take it."
        )
    return form


def _skew(form: Floats) -> Floats:
    return np.asarray(form - np.swapaxes(form, -1, -2))


def _factor(forms: Floats, pooled: Floats) -> Floats | None:
    """A vector w ≥ 0 in the plane of the two pooled classes that divides all skew forms, or None.

    It divides B if w ∧ B = 0, and for vectors u and v
    ⟨u ∧ B, v ∧ B⟩ = 3 (u·v) ‖B‖² − 6 (Bu)·(Bv): what is wanted is in the kernel of a 2 × 2 matrix.
    """
    sizes = np.sum(np.square(forms), axis=(1, 2))
    forms = forms[sizes > 0.0] / np.sqrt(sizes[sizes > 0.0])[:, None, None]
    if not len(forms):
        return np.asarray(pooled.mean(axis=0))
    moved = forms @ pooled.T  # (forms, 2K, 2)
    gram = 3.0 * len(forms) * pooled @ pooled.T - 6.0 * np.einsum("fiu,fiv->uv", moved, moved)
    scale = np.sqrt(np.outer(*[np.sum(np.square(pooled), axis=1)] * 2))
    values, vectors = np.linalg.eigh(gram / scale)
    if values[0] > _ROUNDING * 3.0 * len(forms):
        return None
    weights = vectors[:, 0] / np.sqrt(np.diag(scale))
    if values[1] <= _ROUNDING * 3.0 * len(forms):
        weights = np.array([0.5, 0.5])  # any will do
    weights[np.abs(weights) < _ROUNDING * np.abs(weights).max()] = 0.0
    if weights.min() < 0.0 < weights.max():
        return None
    return np.asarray(weights @ pooled / weights.sum())


def _others(forms: Floats, factor: Floats) -> Floats:
    """The vectors p with B = w pᵀ − p wᵀ that are orthogonal to w."""
    return np.asarray(factor @ forms / (factor @ factor))


def _refusal(families: Sequence[GapFamily], forms: list[Floats], pooled: Floats) -> str:
    alone = [family.name for family in families if len(families) > 1]
    for family, form in zip(families, forms, strict=True):
        if _factor(form, pooled) is None:
            alone = [family.name]
    what = alone[0] if len(alone) == 1 else f"{' and '.join(alone)} together"
    one = families[0].name if len(alone) != 1 else what
    verb = "has" if len(alone) == 1 else "have"
    return (
        f"{what} {verb} no optimal score in closed form: preferences between people can be cyclic, "
        f"each of three ranking above the next. {_OTHERS} take "
        f"{'it' if one == what else 'them'}."
    )
