"""Optional packages: which extra of the distribution brings which, and one sentence without it."""

import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

EXTRAS = {
    "lightgbm": ("LightGBM", "boosted"),
    "duckdb": ("DuckDB", "files"),
    "skops": ("skops", "files"),
    "sqlglot": ("sqlglot", "files"),
}
"""By the name it is imported under: what a package is called, and the extra that brings it."""
_NEED_DOCSTRINGS = {"lightgbm"}  # they build some from others while they are imported

LEAST = {"lightgbm": (4, 6)}
"""Versions below which a package is not used, for safety: CVE-2024-43598 is of older ones."""


def require(what: str, *packages: str) -> None:
    """Refuse to go on without an optional package, in one sentence that says how to get it.

    Parameters
    ----------
    what : str
        What needs the packages; it begins the sentence.
    *packages : str
        Keys of `EXTRAS`.

    Raises
    ------
    ImportError
        If one of the packages is missing, too old to be used safely, or cannot be used as Python
        was started.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> with patch.dict("sys.modules", lightgbm=None):  # as if it were not installed
    ...     require("RepairedScorer", "lightgbm")
    Traceback (most recent call last):
    ImportError: RepairedScorer needs LightGBM: pip install 'evenscore[boosted]'.
    """
    for package in packages:
        if find_spec(package) is None:
            name, extra = EXTRAS[package]
            message = f"{what} needs {name}: pip install 'evenscore[{extra}]'."
            raise ImportError(message, name=package)
        if package in _NEED_DOCSTRINGS and sys.flags.optimize > 1:
            name, _ = EXTRAS[package]
            message = f"{name} cannot be used without docstrings: PYTHONOPTIMIZE may be 1, not 2."
            raise ImportError(message, name=package)
        _refuse_old(what, package)


def _refuse_old(what: str, package: str) -> None:
    least = LEAST.get(package)
    if least is None:
        return
    try:
        installed = version(package)
        old = tuple(map(int, installed.split(".")[:2])) < least
    except (PackageNotFoundError, ValueError):  # a build of one's own
        return
    if old:
        name, extra = EXTRAS[package]
        message = (
            f"{what} needs {name} {'.'.join(map(str, least))} or later, and {installed} is "
            f"installed: pip install --upgrade 'evenscore[{extra}]'."
        )
        raise ImportError(message, name=package)
