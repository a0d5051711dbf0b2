"""The table: what people pass becomes `GroupedScores`, of which everything else is a function."""

from evenscore.scores.reading import Rows, read_rows
from evenscore.scores.table import (
    CLASSES,
    ClassName,
    GroupedScores,
    OneOrBoth,
    check_scores,
    class_names,
)

__all__ = [
    "CLASSES",
    "ClassName",
    "GroupedScores",
    "OneOrBoth",
    "Rows",
    "check_scores",
    "class_names",
    "read_rows",
]
