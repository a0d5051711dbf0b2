"""Pieces of work that are done once: what is finished is kept and found again by its parameters."""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenscore import __version__
from evenscore.files import write_atomically

__all__ = ["Outcome", "Part", "Store", "run"]

Outcome = dict[str, NDArray[Any]]
"""What a part found: named arrays."""

_FORMAT = 1  # to be raised when an outcome would be read differently


@dataclass(frozen=True)
class Part:
    """A call `work(**parameters)`; the parameters are all that its outcome depends on.

    They are numbers, texts, and lists of them, so that they can be written down. Work that fits on
    data from outside has a fingerprint of the data among them.
    """

    name: str
    work: Callable[..., Outcome]
    parameters: Mapping[str, Any]

    @property
    def identity(self) -> str:
        """The parameters as text, with the versions that an outcome depends on."""
        told = {
            "evenscore": __version__,
            "format": _FORMAT,
            "part": self.name,
            "work": f"{self.work.__module__}.{self.work.__qualname__}",
            **self.parameters,
        }
        return json.dumps(told, sort_keys=True)

    @property
    def file_name(self) -> str:
        """The name for people, and enough of a hash to tell parameters apart."""
        digest = hashlib.sha256(self.identity.encode()).hexdigest()[:16]
        return f"{self.name}-{digest}.npz"


class Store:
    """A folder with one file a finished part, written whole or not at all."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, part: Part) -> Path:
        """Where the outcome of a part is kept."""
        return self.folder / part.file_name

    def get(self, part: Part) -> Outcome | None:
        """The outcome of a part, or None if it has to be found (again)."""
        path = self.path(part)
        try:
            with np.load(path, allow_pickle=False) as kept:
                if str(kept["identity"]) != part.identity:
                    return None
                return {name: kept[name] for name in kept.files if name != "identity"}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            warnings.warn(
                f"{path} cannot be read ({error}): that part is done again.", stacklevel=2
            )
            return None

    def put(self, part: Part, outcome: Outcome) -> None:
        """Keep an outcome."""
        content = io.BytesIO()
        np.savez_compressed(content, identity=np.array(part.identity), **outcome)  # type: ignore[arg-type]
        write_atomically(self.path(part), content.getvalue())


def run(
    parts: Sequence[Part],
    store: Store,
    *,
    jobs: int = 1,
    done: Callable[[Part], None] = lambda part: None,
) -> list[Outcome]:
    """The outcomes of all parts, in their order; those not in the store are found and kept.

    `jobs` processes work at a time; an outcome does not depend on how many. `done` is called after
    every part, also those that were there.
    """
    outcomes = [store.get(part) for part in parts]
    missing = [number for number, outcome in enumerate(outcomes) if outcome is None]
    for part, outcome in zip(parts, outcomes, strict=True):
        if outcome is not None:
            done(part)
    with _working([parts[number] for number in missing], jobs) as found:
        for number, outcome in found:
            outcomes[missing[number]] = outcome
            store.put(parts[missing[number]], outcome)
            done(parts[missing[number]])
    return [outcome for outcome in outcomes if outcome is not None]


@contextmanager
def _working(parts: list[Part], jobs: int) -> Iterator[Iterator[tuple[int, Outcome]]]:
    """The outcomes as they are found, with their numbers."""
    if jobs == 1 or len(parts) < 2:
        yield ((number, _do(part)) for number, part in enumerate(parts))
        return
    # Imported here because only parallel work needs it.
    from joblib import Parallel, delayed

    found = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(
        delayed(_numbered)(number, part) for number, part in enumerate(parts)
    )
    try:
        yield found
    finally:
        found.close()


def _numbered(number: int, part: Part) -> tuple[int, Outcome]:
    return number, _do(part)


def _do(part: Part) -> Outcome:
    """Work on one thread of BLAS, so that sums are made in the same order everywhere."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)  # the fixed numbers are the paper's
        return part.work(**part.parameters)
