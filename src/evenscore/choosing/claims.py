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
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from evenscore.auditing.frames import Backend, data_frame
from evenscore.choosing.path import has_path
from evenscore.choosing.validation import (
    balanced,
    constraints_of,
    draw_folds,
    fitted_once,
    groups_to_score,
    read_rows_of,
    seeded,
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
    cv: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    confidence_level: float = 0.95,
    verbose: bool | int = False,
) -> ClaimPrices:
    """What it costs to close each kind of gap by itself, and all of them together.

    A scorer is learned with no constraint, with each kind of gap that its constraints ask for, and
    with all: `EvenScorer` once, its bars being found anew, any other for each claim and fold. AUC
    and gaps are those of rows not trained on, as `tradeoff_path` has them, and intervals account
    for what it says.

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
    check_level(confidence_level)
    rng = np.random.default_rng(seed_of(random_state))
    settings = EstimateSettings(confidence_level)
    rows = (X, y, sensitive_features, sample_weight, cluster)
    scorer, data = seeded(scorer, rng), read_rows_of(*rows)
    wanted = _claims(constraints, data)

    def prices(tables: Sequence[Any], fine: Sequence[bool]) -> ClaimPrices:
        claims = []
        for (kinds, _), table, converged in zip(wanted, tables, fine, strict=True):
            auc, _ = auc_estimates(table, confidence_level=confidence_level)
            gaps = tuple(family_estimates(table, constraints, settings))
            claims.append(Claim(kinds, auc, gaps, converged))
        return ClaimPrices(tuple(claims))

    if has_path(scorer):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", PriceWarning)  # prices are what is shown
            once = fitted_once(scorer, cv, *rows)
            scorers = [once.under(list(families)) for _, families in wanted]
        return prices([one.left_out_.table for one in scorers], [s.converged_ for s in scorers])
    cv = check_count(5 if cv is None else cv, "cv", 2)
    folds = draw_folds(data, cv, rng)
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
    return prices([data.grouped(score) for score in scores], converged)


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
