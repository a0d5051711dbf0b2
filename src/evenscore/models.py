"""A scorer with the columns it looks at, as a file that is read without running anything in it."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore.files import write_atomically
from evenscore.tables import Feature

__all__ = ["TRUSTED", "TableModel", "load_model", "save_model"]

TRUSTED = frozenset(
    {
        "evenscore.constraints.roc.RocConstraint",
        "evenscore.inference.estimate.Estimate",
        "evenscore.models.TableModel",
        "evenscore.scorers.boosted.BoostedScorer",
        "evenscore.scorers.features.FeatureScaling",
        "evenscore.scorers.history.History",
        "evenscore.scorers.linear.LinearScorer",
        "evenscore.scorers.linear_start.LinearStart",
        "evenscore.scorers.neural.NeuralScorer",
        "evenscore.scorers.verdicts.Verdict",
        "evenscore.tables.features.Feature",
    }
)
"""The types that a model file may hold beside those of NumPy and scikit-learn that skops knows."""


@dataclass(frozen=True, eq=False)
class TableModel:
    """A fitted scorer and the columns of a table that it takes its features from.

    `label` and `positive` say what a high score stands for, `groups` which columns were to be
    treated evenly; neither is needed to score.
    """

    scorer: Any
    features: tuple[Feature, ...]
    label: str
    positive: str
    groups: tuple[str, ...]
    evenscore_version: str

    @property
    def allows_missing(self) -> bool:
        """Whether a feature that is a number may be missing."""
        return bool(self.scorer._allow_nan)

    def score(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores of a matrix of the features."""
        return np.asarray(self.scorer.decision_function(X), dtype=np.float64)


def save_model(path: str | PathLike[str], model: TableModel) -> Path:
    """Write a model, whole or not at all."""
    import skops.io

    return write_atomically(path, skops.io.dumps(model))


def load_model(path: str | PathLike[str]) -> TableModel:
    """Read a model; a file that holds a type other than `TRUSTED` is refused before it is built."""
    import skops.io

    path = Path(path)
    content = path.read_bytes()
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise ValueError(f"{path.name} is no model: it is no file of skops.")
    try:
        unknown = sorted(set(skops.io.get_untrusted_types(data=content)) - TRUSTED)
    except Exception as error:  # whatever a broken archive makes the reader stumble over
        raise ValueError(f"{path.name} is no model: {_short(error)}.") from None
    if unknown:
        shown = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "")
        raise ValueError(
            f"{path.name} is refused: it holds {shown}, which no model of evenscore does and which "
            "might run code."
        )
    try:
        model = skops.io.loads(content, trusted=sorted(TRUSTED))
    except Exception as error:
        raise ValueError(f"{path.name} is no model: {_short(error)}.") from None
    if not _is_whole(model):
        raise ValueError(f"{path.name} is no model that `evenscore fit` has written.")
    assert isinstance(model, TableModel)
    return model


def _is_whole(model: Any) -> bool:
    from evenscore.scorers import BoostedScorer, LinearScorer, NeuralScorer

    if not isinstance(model, TableModel):
        return False
    scorer = getattr(model, "scorer", None)
    features = getattr(model, "features", None)
    if not isinstance(scorer, BoostedScorer | LinearScorer | NeuralScorer):
        return False
    if not isinstance(features, tuple) or not all(isinstance(one, Feature) for one in features):
        return False
    return bool(sum(one.width for one in features) == getattr(scorer, "n_features_in_", None))


def _short(error: Exception) -> str:
    told = " ".join(str(error).split()) or type(error).__name__
    return told[:120].rstrip(".")
