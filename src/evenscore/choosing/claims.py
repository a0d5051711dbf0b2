"""What each claim costs: nothing equal, each kind of gap closed by itself, and all together.

What is at stake decides which rates should be equal. Where being selected is good, people who
deserve it must not be refused more often in one group than in another (fnr); where it is bad,
people who do not must not be selected more often (fpr). To ask for both may cost much AUC, and to
close one gap may open the other: who chooses should see the prices first.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from evenscore.auditing.frames import Backend, data_frame
from evenscore.choosing.validation import (
    balanced,
    constraints_of,
    draw_folds,
    groups_to_score,
    read_rows_of,
    silent,
    training_rows,
)
from evenscore.gaps import EstimateSettings, GapFamily
from evenscore.gaps.family import family_estimates
from evenscore.inference.aucs import auc_estimates
from evenscore.inference.estimate import Estimate, check_count, check_level
from evenscore.learning.objective import standardise
from evenscore.learning.parameters import seed_of
from evenscore.learning.price import PriceWarning
from evenscore.learning.progress import progress
from evenscore.learning.training_set import TrainingSet
from evenscore.scores.arrays import Bools, Floats


@final
@dataclass(frozen=True)
class Claim:
    """What was asked to be equal, and what came of it on rows not trained on.

    Parameters
    ----------
    kinds : tuple of str
        What was closed, for instance "fnr_gap"; nothing of the scorer without constraints.
    auc : Estimate
        Of everybody.
    gaps : tuple of Estimate
        All gaps, closed or not.
    converged : bool
        Whether the fits of all folds did what they were asked to.
    """

    kinds: tuple[str, ...]
    auc: Estimate
    gaps: tuple[Estimate, ...]
    converged: bool

    def worst(self, kind: str) -> Estimate:
        """The gap so named that is of largest size; one without a value is the worst of all."""
        own = [gap for gap in self.gaps if gap.name == kind]
        return max(own, key=lambda gap: np.nan_to_num(abs(gap.value), nan=np.inf))

    def __str__(self) -> str:
        return " and ".join(self.kinds) or "nothing"


@final
@dataclass(frozen=True, repr=False)
class ClaimPrices:
    """The claims, from nothing to everything; made by `claim_prices`.

    Parameters
    ----------
    claims : tuple of Claim
        Nothing is equal in the first; in the last, everything asked for is.

    Examples
    --------
    >>> from dataclasses import replace
    >>> auc = Estimate("AUC", 0.8, 0.78, 0.82, 0.95, "made")
    >>> gap = Estimate("fnr_gap", 0.2, 0.1, 0.3, 0.95, "made", first="a", second="b")
    >>> free = Claim((), auc, (gap,), converged=True)
    >>> fair = Claim(("fnr_gap",), replace(auc, value=0.79), (replace(gap, value=0.01),), True)
    >>> prices = ClaimPrices((free, fair))
    >>> round(prices.price(prices.claims[1]), 3), prices.kinds
    (0.01, ('fnr_gap',))
    """

    claims: tuple[Claim, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of gap that were asked for."""
        return tuple(dict.fromkeys(gap.name for gap in self.claims[0].gaps))

    def price(self, claim: Claim) -> float:
        """The AUC that a claim costs."""
        return self.claims[0].auc.value - claim.auc.value

    def __repr__(self) -> str:
        told = (f"{claim} {claim.auc.value:.3f}" for claim in self.claims)
        return f"<ClaimPrices, AUC where equal: {', '.join(told)}>"

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row per claim: its AUC, its price, and the worst gap of every kind.

        `backend` is "pandas", "polars" or "pyarrow"; None takes the first that is installed.
        """
        columns: dict[str, list[Any]] = {
            "equal": [str(claim) for claim in self.claims],
            "auc": [claim.auc.value for claim in self.claims],
            "auc_low": [claim.auc.low for claim in self.claims],
            "auc_high": [claim.auc.high for claim in self.claims],
            "price": [self.price(claim) for claim in self.claims],
        }
        for kind in self.kinds:
            columns[kind] = [abs(claim.worst(kind).value) for claim in self.claims]
        columns["converged"] = [claim.converged for claim in self.claims]
        return data_frame(columns, backend)


def claim_prices(
    scorer: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    sample_weight: ArrayLike | None = None,
    cluster: Any = None,
    cv: int = 5,
    random_state: Any = None,
    n_jobs: int | None = None,
    confidence_level: float = 0.95,
    verbose: bool | int = False,
) -> ClaimPrices:
    """What it costs to close each kind of gap by itself, and all of them together.

    A scorer is learned with no constraint, with each kind of gap that its constraints ask for, and
    with all. Scores of rows not trained on are pooled over the folds as `tradeoff_path` does, and
    intervals account for what it says.

    Parameters
    ----------
    scorer : scorer
        One with constraints; it is not fitted itself.
    X : table
        Features, as the scorer takes them.
    y : column
        Labels of two classes.
    sensitive_features : column, or several
        The groups; of several columns their intersections.
    sample_weight, cluster, cv, random_state, n_jobs, confidence_level, verbose
        Those of `tradeoff_path`.

    Returns
    -------
    ClaimPrices
        What each claim leaves of the AUC, and every gap.

    Examples
    --------
    >>> from evenscore import Cuts, LinearScorer, RateConstraint
    >>> from evenscore.datasets import load_german
    >>> data = load_german()
    >>> fair = RateConstraint("fpr", "fnr", cuts=Cuts(between=(0.3, 0.7)), tolerance=0.05)
    >>> prices = claim_prices(
    ...     LinearScorer(fair), data.X, data.y, sensitive_features=data.groups, cv=2,
    ...     random_state=0)
    >>> [len(claim.kinds) for claim in prices.claims]
    [0, 1, 1, 2]
    """
    constraints = constraints_of(scorer)
    check_count(cv, "cv", 2)
    check_level(confidence_level)
    rng = np.random.default_rng(seed_of(random_state))
    scorer = clone(scorer)
    if scorer.get_params().get("random_state", 0) is None:
        scorer.set_params(random_state=int(rng.integers(2**31)))
    data = read_rows_of(X, y, sensitive_features, sample_weight, cluster)
    folds = draw_folds(data, cv, rng)
    wanted = _claims(constraints, data)
    tasks = [(claim, fold) for claim in range(len(wanted)) for fold in range(cv)]
    scores, converged = np.empty((len(wanted), len(data))), [True] * len(wanted)
    with progress("claim_prices", len(tasks), verbose=verbose) as advance:
        results = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(_fit_and_score)(scorer, wanted[claim][1], data, folds == fold)
            for claim, fold in tasks
        )
        for (claim, fold), (score, fine) in zip(tasks, results, strict=True):
            tested = folds == fold
            scores[claim, tested] = standardise(score, balanced(data, tested)).score
            converged[claim] &= fine
            advance(f"claim {claim + 1} of {len(wanted)}, fold {fold + 1}")
    settings = EstimateSettings(confidence_level=confidence_level)
    claims = []
    for (kinds, _), score, fine in zip(wanted, scores, converged, strict=True):
        grouped = data.grouped(score)
        auc, _ = auc_estimates(grouped, confidence_level=confidence_level)
        gaps = family_estimates(grouped, constraints, settings)
        claims.append(Claim(kinds, auc, tuple(gaps), fine))
    return ClaimPrices(tuple(claims))


def _claims(
    constraints: Sequence[GapFamily], data: TrainingSet
) -> list[tuple[tuple[str, ...], tuple[GapFamily, ...]]]:
    """The names and the constraints of each claim: nothing, one by one, everything.

    What is claimed by itself is a rate or a notion, at all the cuts asked for.
    """
    alone: dict[str, dict[GapFamily, None]] = {}
    for family in constraints:
        for key in family.keys(data.groups):
            alone.setdefault(key.name, {})[family.narrowed(key)] = None
    claims: list[tuple[tuple[str, ...], tuple[GapFamily, ...]]] = [((), ())]
    claims += [((name,), tuple(families)) for name, families in alone.items()]
    if len(alone) > 1:
        claims.append((tuple(alone), tuple(constraints)))
    return claims


def _fit_and_score(
    scorer: Any, constraints: tuple[GapFamily, ...], data: TrainingSet, tested: Bools
) -> tuple[Floats, bool]:
    """Fit on the rows of the other folds; the scores of this one, and whether the fit converged."""
    scorer = silent(scorer).set_params(constraints=list(constraints))
    X, y, columns = training_rows(scorer, data, ~tested)
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", PriceWarning)  # prices are what is shown
        scorer.fit(X, y, **columns)
    rows = _safe_indexing(data.X, np.flatnonzero(tested))
    score = scorer.decision_function(rows, **groups_to_score(scorer, data, tested))
    return score, bool(scorer.converged_)
