"""How many threads LightGBM uses when nobody says."""

from __future__ import annotations

from joblib import effective_n_jobs

__all__ = ["tree_threads"]

_MANY = 100_000  # rows, from which on more threads pay


def tree_threads(n_jobs: int | None, n_rows: int) -> int:
    """As many as asked for; by default one, and for many rows as many as OpenMP allows (0).

    The trees of some ten thousand rows take a moment each. Threads that wait for each other many
    times a second gain little on an idle machine, and on a busy one they cost minutes.
    """
    if n_jobs is not None:
        return int(effective_n_jobs(int(n_jobs)))
    return 1 if n_rows < _MANY else 0
