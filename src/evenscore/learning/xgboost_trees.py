"""Trees of XGBoost, which several workers can grow together, each on a part of the rows.

XGBoost adds up the histograms of all workers that have joined a group; this file is written for a
part of the rows, and asks the exchange for the one thing that XGBoost does not know: how much a row
weighs on average. Scores of the training rows are single precision, as XGBoost keeps them, and the
same to the last bit whether trees were grown in one go, by a fork, or by a run that was resumed.
"""

import json
from functools import lru_cache
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from evenscore.extras import require
from evenscore.learning.boosters import Booster, Slopes, TreeSettings
from evenscore.learning.exchange import ALONE, Exchange
from evenscore.learning.xgboost_text import MOST_CATEGORIES, Trees, understood
from evenscore.scores.arrays import Floats

_LARGEST = 1e38  # of a feature: above it, XGBoost's thresholds would not be finite

_Singles = NDArray[np.float32]


@final
class XGBoostBooster(Booster):
    """Trees of XGBoost, in its own JSON format.

    XGBoost cannot take back a tree, and a copy of its model adds up the scores of all trees anew.
    The trees are therefore held by several models, of each the first so many; the last one grows,
    and starts from the scores that the others have led to.
    """

    takes_missing = takes_categories = takes_monotone = takes_parts = True
    packages = ("xgboost",)

    def __init__(
        self,
        rows: Any = None,
        settings: TreeSettings | None = None,
        exchange: Exchange = ALONE,
        X: Any = None,
    ) -> None:
        self.rows, self.settings, self.exchange, self.X = rows, settings, exchange, X
        self.before: tuple[tuple[Any, int], ...] = ()  # models, and how many of their trees
        self.model: Any = None
        self.grown = 0  # trees of the model
        self.rounds: list[int] = []  # in which each tree was grown, of all models
        self.round = 0  # the next; there are more than trees if some found no split
        self.start: _Singles | None = None  # scores of the rows that the model starts from
        self.ahead: list[int] = []  # rounds of trees that the model has but are yet to be added
        self.leaves: Floats | None = None
        self.text = ""  # if the trees were read

    # ------------------------------------------------------------------ growing

    @classmethod
    def begin(
        cls, X: Any, offset: Floats, settings: TreeSettings, exchange: Exchange = ALONE
    ) -> Self:
        """Bin the rows, together with whoever has joined; a part may have none."""
        import xgboost

        _check_codes(X, settings.categorical, exchange)
        kinds = _kinds(X.shape[1], settings)
        with xgboost.config_context(verbosity=0):  # it warns of parts without rows
            rows = xgboost.QuantileDMatrix(
                _in_range(X),
                feature_types=kinds,
                enable_categorical=True,
                max_bin=settings.max_bins,
                nthread=settings.threads,
            )
        booster = cls(rows, settings, exchange, X)
        booster._start_from(offset.astype(np.float32))
        return booster

    def _start_from(self, margins: _Singles) -> None:
        """Go on with a new model; of the last one, the trees that were counted are kept."""
        import xgboost

        assert self.settings is not None
        self.before, self.grown, self.start = self._models(), 0, margins
        self.model = xgboost.Booster(_options(self.settings), [self.rows])
        # XGBoost takes them from the rows, unless this part has none.
        self.model.feature_types = _kinds(self.rows.num_col(), self.settings)

    def _models(self) -> tuple[tuple[Any, int], ...]:
        return (*self.before, (self.model, self.grown)) if self.grown else self.before

    def grow(self, slopes: Slopes) -> bool:
        """One round of XGBoost, or one of those that are followed."""
        import xgboost

        margins = self._margins()
        gradient, curvature = slopes(margins.astype(np.float64))
        number, self.round = self.round, self.round + 1
        if self.ahead:
            return self._again(number, margins)
        with xgboost.config_context(verbosity=0):
            self._prepare(curvature)
            self.model.boost(
                self.rows,
                number,
                grad=gradient.astype(np.float32),
                hess=curvature.astype(np.float32),
            )
        tree = _tree_of(self.model, self.grown)
        if len(tree["left_children"]) == 1:
            self._start_from(margins)
            return False
        self._count(tree, number)
        return True

    def _prepare(self, curvature: Floats) -> None:
        """What XGBoost is told before every round.

        It knows no least number of rows in a leaf, but a least sum of curvatures h. A row is taken
        to have Σh²/Σh, so that (Σh)²/Σh², the effective number of rows by Kish, is what is asked
        for. By the mean of h instead, leaves of a dozen positives would let gaps come back: on
        inner folds of Bank's training rows by 0.02 more, in false negatives.

        It draws features by a generator that its tree maker seeds with the number of the round it
        was made in: forks and resumed runs would draw others. Another method and back makes a new
        one.
        """
        assert self.settings is not None
        total, squares = self.exchange.sum(np.array([curvature.sum(), curvature @ curvature]))
        least = self.settings.min_rows * float(squares) / max(float(total), 1e-300)
        settings: dict[str, Any] = {
            "min_child_weight": max(least, 0.0),
            "nthread": self.settings.threads,
        }
        if min(self.settings.features_per_tree, self.settings.features_per_split) < 1.0:
            self.model.set_param("tree_method", "approx")
            self.model.num_boosted_rounds()  # settings are not followed before they are needed
            settings["tree_method"] = "hist"
        self.model.set_param(settings)

    def _count(self, tree: dict[str, Any], number: int) -> None:
        """A tree was added."""
        self.grown += 1
        self.rounds.append(number)
        values = np.array(tree["split_conditions"], dtype=np.float32)
        self.leaves = values[np.array(tree["left_children"]) < 0].astype(np.float64)

    def _margins(self) -> _Singles:
        """The scores of the training rows, as XGBoost keeps them."""
        if self.ahead:
            assert self.start is not None
            return self.start
        # Others may have grown on these rows since, from other scores.
        self.rows.set_base_margin(self.start)
        return np.asarray(self.model.predict(self.rows, output_margin=True, training=True))

    def training_scores(self) -> Floats:
        """What XGBoost has added up."""
        return self._margins().astype(np.float64)

    @property
    def n_trees(self) -> int:
        """Trees so far; rounds that found no split left none."""
        return len(self.rounds)

    def last_leaves(self) -> Floats | None:
        """Known of a tree that was grown or followed."""
        return self.leaves

    def fork(self) -> Self:
        """Another model on the same binned rows, starting from the scores so far.

        It follows nothing, even if this one does.
        """
        branch = type(self)(self.rows, self.settings, self.exchange, self.X)
        branch.model, branch.before, branch.grown = self.model, self.before, self.grown
        branch.rounds, branch.round, branch.leaves = [*self.rounds], self.round, self.leaves
        branch._start_from(self._margins())
        return branch

    # ------------------------------------------------------------------ growing again

    def follow(self, text: str) -> None:
        """Add recorded trees in the next rounds, instead of growing them again.

        Every round asks for slopes as it did when the trees were grown. As soon as all of them
        have been added rounds grow trees again, the same as if there had been no interruption.

        Parameters
        ----------
        text : str
            The trees so far, and more of them, by `to_text` of the booster that grew them on the
            same rows with the same settings.

        Raises
        ------
        ValueError
            If the text is not one of trees, or does not begin with the trees so far.
        """
        import xgboost

        assert self.settings is not None
        recorded, own = Trees.read(text, self.rows.num_col()), self._trees()
        common = min(len(own.trees), len(recorded.trees))
        ahead = [*recorded.rounds[common:]]
        if own.first(common) != recorded.first(common) or (ahead and ahead[0] < self.round):
            raise ValueError("The recorded trees do not begin with those that were grown so far.")
        if not ahead:
            return
        self.start = self._margins()
        model = bytearray(recorded.text.encode())
        self.model = xgboost.Booster(_options(self.settings), [self.rows], model_file=model)
        self.before, self.grown, self.ahead = (), common, ahead

    def _again(self, number: int, margins: _Singles) -> bool:
        """What the next recorded tree adds; XGBoost adds it to what it takes for the offset."""
        if number < self.ahead[0]:
            return False  # as when it was recorded
        # By the features, not by their bins, which depend on who holds which rows.
        trees = self.grown, self.grown + 1
        if len(margins):
            margins = self.model.inplace_predict(
                _in_range(self.X), iteration_range=trees, predict_type="margin", base_margin=margins
            )
        self.start, self.ahead = np.asarray(margins), self.ahead[1:]
        self._count(_tree_of(self.model, self.grown), number)
        if not self.ahead:
            self._start_from(self.start)
        return True

    # ------------------------------------------------------------------ scoring

    def predict(
        self, X: Any, *, first: int = 0, last: int | None = None, threads: int = 1
    ) -> Floats:
        """Raw scores of some trees, added up in single precision one by one."""
        last = self.n_trees if last is None else last
        raw = np.zeros(X.shape[0], dtype=np.float32)
        X = _in_range(X)
        start = 0
        for model, count in self._scorers(threads):
            trees = max(first - start, 0), min(last - start, count)
            if trees[0] < trees[1] and len(raw):
                raw = model.inplace_predict(
                    X, iteration_range=trees, predict_type="margin", base_margin=raw
                )
            start += count
        return raw.astype(np.float64)

    def _scorers(self, threads: int) -> tuple[tuple[Any, int], ...]:
        """The models, set to a number of threads."""
        if self.text:
            return ((_model_of(self.text, threads), self.n_trees),)
        for model, _ in self._models():
            model.set_param("nthread", threads)
        return self._models()

    def to_text(self, n_trees: int) -> str:
        """XGBoost's JSON format, without what is not needed to score."""
        return self._trees().first(n_trees).text

    def _trees(self) -> Trees:
        """All trees, as they are written."""
        if self.text:
            return Trees.read(self.text)
        assert self.settings is not None
        trees: list[str] = []
        for model, count in self._models():
            trees += Trees.read(model.save_raw("json").decode()).trees[:count]
        kinds = _kinds(self.rows.num_col(), self.settings)
        return Trees(tuple(kinds), tuple(trees), tuple(self.rounds))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read once and kept: a scorer holds (and saves) nothing but the text."""
        booster = cls()
        booster.text = text
        booster.rounds = [*range(_model_of(text, 1).num_boosted_rounds())]
        return booster

    @classmethod
    def check_text(cls, text: str, n_features: int) -> None:
        """Every number of the text is looked at: XGBoost itself would crash on some."""
        understood(text, n_features)


@lru_cache(maxsize=8)
def _model_of(text: str, threads: int) -> Any:
    """A model that is never changed again: several threads may be scoring with it."""
    require("BoostedScorer", "xgboost")
    import xgboost

    model = xgboost.Booster({"nthread": threads}, model_file=bytearray(understood(text).encode()))
    model.num_boosted_rounds()  # settings are not followed before they are needed
    return model


def _tree_of(model: Any, number: int) -> dict[str, Any]:
    """One tree in XGBoost's JSON format."""
    whole = json.loads(model[number : number + 1].save_raw("json"))
    tree: dict[str, Any] = whole["learner"]["gradient_booster"]["model"]["trees"][0]
    return tree


def _options(settings: TreeSettings) -> dict[str, Any]:
    """What XGBoost calls the settings."""
    options: dict[str, Any] = {
        "objective": "reg:squarederror",  # not asked: its gradients come from outside
        "base_score": 0.0,
        "disable_default_eval_metric": True,
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": settings.max_leaves,
        "max_depth": 0,
        "max_bin": settings.max_bins,
        "eta": settings.learning_rate,
        "lambda": settings.l2,
        "alpha": 0.0,
        "gamma": 0.0,
        "colsample_bytree": settings.features_per_tree,
        "colsample_bynode": settings.features_per_split,
        "subsample": settings.rows_per_tree,
        "max_cat_to_onehot": 4,  # as in LightGBM
        "max_cat_threshold": 64,
        "seed": settings.seed,
        "seed_per_iteration": True,  # so that draws depend on the number of the round alone
        "nthread": settings.threads,
    }
    if settings.monotone:
        options["monotone_constraints"] = tuple(settings.monotone)
    return options


def _kinds(n_features: int, settings: TreeSettings) -> list[str]:
    """What XGBoost calls the types of features: numbers, or codes of categories."""
    return ["c" if k in settings.categorical else "q" for k in range(n_features)]


def _check_codes(X: Any, categorical: tuple[int, ...], exchange: Exchange) -> None:
    """Refuse codes that are large: XGBoost makes a bin for every code below the largest."""
    if not categorical:
        return
    columns = [X[:, k] for k in categorical]
    largest = exchange.max(np.array([np.fmax.reduce(x, initial=0.0) for x in columns]))
    for k, code in zip(categorical, largest, strict=True):
        if code >= MOST_CATEGORIES:
            raise ValueError(
                f"XGBoost takes codes of categories up to {MOST_CATEGORIES - 1}, and column {k} "
                f"holds {code:.0f}: number the categories 0, 1, 2, …."
            )


def _in_range(X: Any) -> Any:
    """Features that stay finite in single precision."""
    low, high = (end.reduce(X, axis=None, initial=0.0) for end in (np.fmin, np.fmax))
    return X if max(-low, high) <= _LARGEST else np.clip(X, -_LARGEST, _LARGEST)
