"""A scorer with the columns it looks at, as a file that is read without running anything in it.

A model file holds the attributes of Python objects, so that it is read by the version of the format
that wrote it and by no other: `FORMAT_VERSION` is raised whenever the classes in it move or change
what they keep. Scores themselves are cheap to have again: fit, or store the scores.
"""

import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from evenscore.extras import require
from evenscore.files.atomic import write_atomically
from evenscore.files.features import Feature
from evenscore.files.ordinary import read_whole
from evenscore.learning.wholeness import check_names, part_of
from evenscore.scores.arrays import Floats

FORMAT_VERSION = "4"

_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the first date that a zip archive can hold
_UNIX, _MODE = 3, 0o600 << 16

TRUSTED = frozenset(
    {
        "evenscore.files.features.Feature",
        "evenscore.files.models.TableModel",
        "evenscore.gaps.auc.AucConstraint",
        "evenscore.gaps.catalogue.Notion",
        "evenscore.gaps.catalogue.Population",
        "evenscore.gaps.curves.CurveConstraint",
        "evenscore.gaps.cuts.Cuts",
        "evenscore.gaps.rates.RateConstraint",
        "evenscore.gaps.roc.RocConstraint",
        "evenscore.inference.estimate.Estimate",
        "evenscore.inference.estimate.GapTest",
        "evenscore.learning.bars.PositionMap",
        "evenscore.learning.calibrating.Calibration",
        "evenscore.learning.encoding.FeatureEncoding",
        "evenscore.learning.even.EvenScorer",
        "evenscore.learning.features.FeatureScaling",
        "evenscore.learning.group_feature.GroupFeature",
        "evenscore.learning.price.Price",
        "evenscore.learning.task.History",
        "evenscore.learning.linear.LinearScorer",
        "evenscore.learning.placing.Placer",
        "evenscore.learning.plain_models.Forest",
        "evenscore.learning.plain_models.Line",
        "evenscore.learning.posteriors.FoldModels",
        "evenscore.learning.posteriors.Posteriors",
        "evenscore.placement.bars.Knots",
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
    format_version: str = FORMAT_VERSION

    @property
    def allows_missing(self) -> bool:
        """Whether a feature that is a number may be missing."""
        return bool(self.scorer.accepts_missing)

    def check_whole(self) -> None:
        """Refuse what was read from a file and lacks something, or holds something else."""
        from evenscore.learning.base import FairScorer
        from evenscore.learning.even import EvenScorer

        check_names(self)
        for name in ("label", "positive", "evenscore_version"):
            part_of(self, name, str)
        if not all(isinstance(group, str) for group in part_of(self, "groups", tuple)):
            raise ValueError("TableModel.groups must hold names of columns.")
        features = part_of(self, "features", tuple)
        if not features or not all(type(feature) is Feature for feature in features):
            raise ValueError("TableModel.features must hold features.")
        for feature in features:
            feature.check_whole()
        if len({feature.name for feature in features}) < len(features):
            raise ValueError("TableModel.features names a column twice.")
        scorer = getattr(self, "scorer", None)
        if not isinstance(scorer, FairScorer | EvenScorer):
            raise ValueError("TableModel.scorer must be a scorer.")
        scorer.check_whole()
        width = sum(feature.width for feature in features)
        if scorer.n_features_in_ != width:
            raise ValueError(
                f"The columns make {width} features, and its scorer takes {scorer.n_features_in_}."
            )

    def score(self, X: Floats) -> Floats:
        """The scores of a matrix of the features."""
        return np.asarray(self.scorer.decision_function(X), dtype=np.float64)


def save_model(path: str | PathLike[str], model: TableModel) -> Path:
    """Write a model, whole or not at all: the same model gives the same bytes."""
    require("Writing a model", "skops")
    import skops.io

    model = replace(model, scorer=model.scorer.stored())
    return write_atomically(path, canonical(skops.io.dumps(model)))


def load_model(path: str | PathLike[str]) -> TableModel:
    """Read a model; a file of another format or with a type not `TRUSTED` is refused unbuilt."""
    require("Reading a model", "skops")
    import skops.io

    name, content = Path(path).name, read_whole(path)
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise ValueError(f"{name} is not an evenscore model (not a skops file).")
    try:
        attributes = _attributes(content)
        unknown = sorted(set(skops.io.get_untrusted_types(data=content)) - TRUSTED)
    except Exception as error:  # whatever a broken archive makes the reader stumble over
        raise _broken(name, error) from None
    if attributes is None:
        raise ValueError(f"{name} is not a model that `evenscore fit` wrote.")
    if attributes.get("format_version") != FORMAT_VERSION:
        writer = str(attributes.get("evenscore_version"))
        known = re.fullmatch(r"[0-9][\w.+-]{0,30}", writer)
        raise ValueError(
            f"{name} was written by {f'evenscore {writer}' if known else 'another evenscore'} in a "
            "format that this one does not read: fit the model again."
        )
    if unknown:
        shown = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "")
        raise ValueError(
            f"{name} is refused: it holds {shown}, which no model of evenscore does and which "
            "might run code."
        )
    try:
        model = skops.io.loads(content, trusted=sorted(TRUSTED))
    except Exception as error:
        raise _broken(name, error) from None
    if not isinstance(model, TableModel):
        raise ValueError(f"{name} is not a model that `evenscore fit` wrote.")
    try:
        model.check_whole()
    except ValueError as error:
        why = " ".join(str(error).split())
        raise ValueError(f"{name} is not a model that `evenscore fit` wrote: {why}") from None
    return model


def _attributes(content: bytes) -> dict[str, Any] | None:
    """The plain attributes of a `TableModel` in an archive, read from its JSON; None if of others.

    It may be of any evenscore: modules move.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        schema = json.loads(archive.read("schema.json"))
    if schema["__class__"] != "TableModel" or schema["__module__"].split(".")[0] != "evenscore":
        return None
    nodes = schema["content"]["content"]
    return {key: json.loads(node["content"]) for key, node in nodes.items() if "is_json" in node}


def _broken(name: str, error: Exception) -> ValueError:
    text = " ".join(str(error).split()) or type(error).__name__
    return ValueError(f"{name} is not an evenscore model: {text[:120].rstrip('.')}.")


def canonical(content: bytes) -> bytes:
    """An archive that holds the same objects, whenever and wherever it is written.

    skops names objects by their places in memory and notes the time. Here they are numbered in the
    order in which they appear, and every date is the same. Numbers and texts lose their names:
    whether two equal ones are one object is chance, and nobody can tell.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        schema = json.loads(archive.read("schema.json"))
        files = {name: archive.read(name) for name in archive.namelist()}
    numbers: dict[int, int] = {}
    members: dict[str, str] = {}
    for node in _nodes(schema):
        if "is_json" in node:
            node.pop("__id__", None)
        elif "__id__" in node:
            node["__id__"] = numbers.setdefault(node["__id__"], len(numbers) + 1)
        if "file" in node:
            name = f"{len(members) + 1}{PurePath(node['file']).suffix}"
            node["file"] = members.setdefault(node["file"], name)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for old, new in members.items():
            archive.writestr(_entry(new), files[old])
        archive.writestr(_entry("schema.json"), json.dumps(schema))
    return written.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    """A member that is not compressed: how bytes are compressed depends on the library."""
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.create_system, entry.external_attr = _UNIX, _MODE
    return entry


def _nodes(part: Any) -> Iterator[dict[str, Any]]:
    """The dictionaries that stand for objects, from the outermost inwards, in order."""
    if isinstance(part, dict):
        if "__loader__" in part:
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from _nodes(inner)
