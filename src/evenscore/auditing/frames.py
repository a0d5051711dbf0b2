"""Columns to a data frame of whichever library is installed."""

import math
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, Literal, get_args

import numpy as np

from evenscore.inference.estimate import Estimate

Backend = Literal["pandas", "polars", "pyarrow"]

_SHOWN = (
    "family",
    "name",
    "at",
    "first",
    "second",
    "on",
    "rate",
    "value",
    "low",
    "high",
    "p_value",
    "adjusted_p_value",
    "standard_error",
    "confidence_level",
    "method",
    "words",
    "verdict",
)
_TEXTS = ("on", "verdict")  # which may be absent
_TESTS = {"beyond": "beyond_test", "within": "within_test"}


def data_frame(columns: dict[str, list[Any]], backend: Backend | None = None) -> Any:
    """A frame of "pandas", "polars" or "pyarrow"; None takes the first that is installed."""
    known = get_args(Backend)
    if backend is not None and backend not in known:
        raise ValueError(f"backend must be one of {', '.join(known)}, not {backend!r}.")
    wanted = known if backend is None else (backend,)
    library = next((name for name in wanted if find_spec(name)), None)
    if library is None:
        raise ImportError(f"A data frame needs {' or '.join(wanted)} to be installed.")
    import narwhals

    return narwhals.from_dict(columns, backend=library).to_native()


def estimate_columns(estimates: Iterable[Estimate]) -> dict[str, list[Any]]:
    """One row per estimate: the very numbers, nothing rounded; warnings joined by semicolons."""
    rows = list(estimates)
    columns: dict[str, list[Any]] = {name: [getattr(e, name) for e in rows] for name in _SHOWN}
    for name in _TEXTS:
        columns[name] = [text or "" for text in columns[name]]
    columns["rate"] = np.array(columns["rate"], dtype=np.float64).tolist()  # NaN where absent
    for name, test in _TESTS.items():
        for part in ("p_value", "low", "high", "level"):
            columns[f"{name}_{part}"] = [getattr(getattr(e, test), part, math.nan) for e in rows]
    columns["warnings"] = ["; ".join(e.warnings) for e in rows]
    return columns
