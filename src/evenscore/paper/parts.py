"""Pieces of work that are done once: what is finished is kept and found again by its parameters.

An outcome depends on its parameters, on our own code and on the libraries that do the arithmetic.
All of them are part of a part's identity: after a change of any, parts are done again.
"""

import hashlib
import io
import json
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import evenscore
from evenscore.files.atomic import write_atomically

Outcome = dict[str, NDArray[Any]]
"""What a part found: named arrays."""

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "lightgbm", "jax", "jaxlib", "optax")
# Where code only shows outcomes, or has no part in them.
_APART = (
    "auditing", "choosing", "cli", "files", "showing", "paper/assembly", "paper/captions",
    "paper/figures", "paper/reproduction", "paper/table",
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A call `work(**parameters)`.

    The parameters are numbers, texts, and lists of them, so that they can be written down. Work on
    data has a fingerprint of the data among them.
    """

    name: str
    work: Callable[..., Outcome]
    parameters: Mapping[str, Any]

    @property
    def identity(self) -> str:
        """All that the outcome depends on, as text."""
        facts = {
            "code": _code(),
            "libraries": _libraries(),
            "part": self.name,
            "work": f"{self.work.__module__}.{self.work.__qualname__}",
            **self.parameters,
        }
        return json.dumps(facts, sort_keys=True)

    @property
    def file_name(self) -> str:
        """The name for people, and enough of a hash to tell parameters apart."""
        digest = hashlib.sha256(self.identity.encode()).hexdigest()[:16]
        return f"{self.name}-{digest}.npz"


@lru_cache(maxsize=1)
def _code() -> str:
    """A hash of our own source and numbers, but for what only shows outcomes."""
    root = Path(evenscore.__file__).parent
    digest = hashlib.sha256()
    for path in sorted((*root.rglob("*.py"), *root.rglob("*.toml"))):
        name = path.relative_to(root).as_posix()
        if not name.startswith(_APART):
            digest.update(f"{name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=1)
def _libraries() -> dict[str, str]:
    versions = {}
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "none"
    return versions


_UNREADABLE = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error)


class Store:
    """A folder with one file per finished part, written whole or not at all."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, part: Part) -> Path:
        """Where the outcome of a part is kept."""
        return self.folder / part.file_name

    def get(self, part: Part) -> Outcome | None:
        """The outcome of a part, or None if it has to be found (again)."""
        path = self.path(part)
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as kept:
                if str(kept["identity"]) != part.identity:
                    return None
                return {name: kept[name] for name in kept.files if name != "identity"}
        except FileNotFoundError:
            return None
        except _UNREADABLE as error:
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
    done: Callable[[str], None] = lambda name: None,
) -> list[Outcome]:
    """The outcomes of all parts, in their order; those not in the store are found and kept.

    `jobs` processes work at a time; an outcome does not depend on how many. `done` is called with
    the name of every part, also of those that were there. Others may work on the same store: what
    they have finished before its turn came here is not done again.
    """
    from joblib import Parallel, delayed

    outcomes = [store.get(part) for part in parts]
    missing = [number for number, outcome in enumerate(outcomes) if outcome is None]
    for part, outcome in zip(parts, outcomes, strict=True):
        if outcome is not None:
            done(part.name)
    compiled = store.folder / "compiled"
    workers = Parallel(
        jobs if len(missing) > 1 else 1, return_as="generator_unordered", batch_size=1
    )
    calls = (delayed(_numbered)(number, parts[number], store, compiled) for number in missing)
    # A process that has grown is replaced by another one: that is no news.
    # (The warning comes from the thread that looks after them, which an error would end for good.)
    with warnings.catch_warnings(), closing(workers(calls)) as stream:
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        for number, outcome in stream:
            outcomes[number] = outcome
            store.put(parts[number], outcome)
            done(parts[number].name)
    return [outcome for outcome in outcomes if outcome is not None]


def _numbered(number: int, part: Part, store: Store, compiled: Path) -> tuple[int, Outcome]:
    """Work on one thread of BLAS, so that sums are made in the same order everywhere."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what cannot be read has been told
        finished = store.get(part)
    if finished is not None:
        return number, finished
    with warnings.catch_warnings(), threadpool_limits(1), _compiling_once(compiled):
        warnings.simplefilter("ignore", ConvergenceWarning)  # the fixed numbers are the paper's
        return number, part.work(**part.parameters)


@contextmanager
def _compiling_once(folder: Path) -> Iterator[None]:
    """Programs that JAX compiles are kept in a folder, for other processes and later runs."""
    if find_spec("jax") is None:
        yield
        return
    import jax

    set_to: Callable[[str, Any], None] = jax.config.update
    wanted = {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in wanted}
    try:
        for name, value in wanted.items():
            set_to(name, value)
        yield
    finally:
        for name, value in before.items():
            set_to(name, value)
