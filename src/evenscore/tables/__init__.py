"""Files of rows, CSV and Parquet, read and written through DuckDB."""

from evenscore.tables.features import Feature
from evenscore.tables.mapped import GroupedRows, read_grouped
from evenscore.tables.opening import TableFile, open_table
from evenscore.tables.people import People
from evenscore.tables.scored import ScoredRows, read_scores
from evenscore.tables.training import TrainingRows, read_features, read_training
from evenscore.tables.writing import check_target, write_beside

__all__ = [
    "Feature",
    "GroupedRows",
    "People",
    "ScoredRows",
    "TableFile",
    "TrainingRows",
    "check_target",
    "open_table",
    "read_features",
    "read_grouped",
    "read_scores",
    "read_training",
    "write_beside",
]
