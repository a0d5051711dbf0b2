"""Training that can be taken up again: the trees so far, written down every few rounds.

A checkpoint holds the trees of every attempt, the round that they were written at, and the
multipliers of every look. Whoever resumes goes through the same rounds with the recorded trees
instead of growing new ones: scores, multipliers and what else is kept about each row come out as
they were, and training goes on from there to the same model. That costs the objective of the rounds
replayed, and no trees. Nothing has to be kept about single rows, which may well be shared out among
other workers the next time: then trees that are still to be grown cut continuous columns a little
elsewhere, as any other number of workers does.
"""

import json
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from evenscore.files.atomic import write_atomically
from evenscore.learning.boosters import Booster, Slopes
from evenscore.scores.arrays import Floats

_FORMAT = "1"
_ALIKE = 1e-6  # multipliers that differ by less are the same: sums are made in another order


@final
@dataclass(eq=False)
class Journal:
    """What has been grown so far, attempt by attempt, and what is known from a checkpoint.

    Parameters
    ----------
    path : path
        Where checkpoints are written; all workers must be able to read it.
    every : int
        Rounds between two of them.
    about : dict
        What rows and parameters training is about: a checkpoint of others is refused.
    seed : int
        Of whatever is drawn.
    writes : bool
        Whether this worker is the one that writes.
    """

    path: Path
    every: int
    about: dict[str, Any]
    seed: int
    writes: bool = True
    recorded: list[str] = field(default_factory=list)
    looks: list[list[float]] = field(default_factory=list)
    start: dict[str, Any] | None = None  # where trees start from, as whoever learns wrote it
    _texts: list[str] = field(default_factory=list, init=False)
    _known_looks: list[list[float]] = field(default_factory=list, init=False)
    _round: int = field(default=0, init=False)
    _last: int = field(default=0, init=False)
    _current: tuple[int, Booster] | None = field(default=None, init=False)

    @classmethod
    def of(
        cls,
        path: str | PathLike[str],
        every: int,
        about: dict[str, Any],
        seed: int,
        content: dict[str, Any] | None,
        *,
        writes: bool,
    ) -> Self:
        """A new one, or one with the content of a checkpoint.

        A checkpoint that is not about the same rows and parameters is refused.
        """
        if content is None:
            return cls(Path(path), every, about, seed, writes)
        for key, value in about.items():
            known = content["about"].get(key)
            if not _alike(known, value):
                raise ValueError(
                    f"{Path(path).name} is a checkpoint of another fit: its {key} "
                    f"{'are' if key.endswith('s') else 'is'} different. Fit without resume to "
                    "start anew."
                )
        journal = cls(Path(path), every, about, seed, writes, content["boosters"])
        journal.start, journal._known_looks = content["start"], content["looks"]
        journal._last = int(content["round"])
        return journal

    @property
    def round(self) -> int:
        """Rounds so far, of all attempts."""
        return self._round

    def opened(self, booster: Booster) -> int:
        """The number of another attempt, which follows the checkpoint as far as that goes."""
        self._note_last()
        number = len(self._texts)
        self._texts.append("")
        if number < len(self.recorded) and self.recorded[number]:
            booster.follow(self.recorded[number])
        return number

    def grown(self, number: int, booster: Booster) -> None:
        """Another round of an attempt is over."""
        self._round += 1
        self._current = number, booster
        if self._round > self._last and self._round % self.every == 0 and self.writes:
            self._note_last()
            self.write()

    def _note_last(self) -> None:
        """The trees of the attempt that grew last, to the last of them."""
        if self._current is not None and self.writes:
            number, booster = self._current
            self._texts[number] = booster.to_text(booster.n_trees)

    def looked(self, multipliers: Floats) -> None:
        """Multipliers after a look; those of a checkpoint must be the same."""
        number = len(self.looks)
        self.looks.append([float(value) for value in multipliers])
        if number < len(self._known_looks):
            known, own = self._known_looks[number], self.looks[-1]
            if len(known) != len(own) or not np.allclose(known, own, rtol=_ALIKE, atol=_ALIKE):
                raise ValueError(
                    f"{self.path.name} is a checkpoint of another fit: with its trees, these rows "
                    "give other multipliers. Fit without resume to start anew."
                )

    def write(self) -> None:
        """Whole or not at all."""
        content = {
            "format": _FORMAT,
            "about": self.about,
            "seed": self.seed,
            "round": self._round,
            "start": self.start,
            "boosters": self._texts,
            "looks": self.looks,
        }
        write_atomically(self.path, json.dumps(content).encode())


def read_checkpoint(path: str | PathLike[str]) -> dict[str, Any]:
    """What a checkpoint holds; a file that is none is refused in a sentence.

    Parameters
    ----------
    path : path
        Of the file, which must be there.
    """
    name = Path(path).name
    try:
        content = json.loads(Path(path).read_bytes())
        whole = (
            content["format"] == _FORMAT
            and isinstance(content["about"], dict)
            and isinstance(content["round"], int)
            and isinstance(content["seed"], int)
            and isinstance(content["start"], dict | None)
            and all(isinstance(text, str) for text in content["boosters"])
            and all(isinstance(value, float) for look in content["looks"] for value in look)
        )
    except (ValueError, KeyError, TypeError, OSError, RecursionError):
        whole = False
    if not whole:
        raise ValueError(f"{name} is not a checkpoint of evenscore, or not a whole one.")
    return dict(content)


def _alike(known: Any, value: Any) -> bool:
    """Whether texts and numbers are the same, sums but for the order in which they are made."""
    try:
        one, other = (np.array(sums, dtype=np.float64) for sums in (known, value))
    except (TypeError, ValueError):
        return bool(known == value)
    if one.shape != other.shape:
        return False
    size = float(np.max(np.abs(other), initial=0.0))
    return bool(np.allclose(one, other, rtol=1e-9, atol=1e-9 * size))


@final
class RecordedBooster(Booster):
    """A booster whose rounds are noted in a journal."""

    def __init__(self, inner: Booster, journal: Journal, number: int) -> None:
        self.inner, self.journal, self.number = inner, journal, number

    @classmethod
    def begin(cls, *args: Any, **options: Any) -> Self:
        """Not by itself: a journal opens it."""
        raise NotImplementedError

    def grow(self, slopes: Slopes) -> bool:
        """A round, noted."""
        grown = self.inner.grow(slopes)
        self.journal.grown(self.number, self.inner)
        return grown

    @property
    def n_trees(self) -> int:
        """Trees so far."""
        return self.inner.n_trees

    def training_scores(self) -> Floats:
        """Of the booster itself."""
        return self.inner.training_scores()

    def fork(self) -> Self | None:
        """Recorded by itself."""
        branch = self.inner.fork()
        if branch is None:
            return None
        return type(self)(branch, self.journal, self.journal.opened(branch))

    def last_leaves(self) -> Floats | None:
        """Of the booster itself."""
        return self.inner.last_leaves()

    def predict(
        self, X: Any, *, first: int = 0, last: int | None = None, threads: int = 1
    ) -> Floats:
        """Of the booster itself."""
        return self.inner.predict(X, first=first, last=last, threads=threads)

    def to_text(self, n_trees: int) -> str:
        """Of the booster itself."""
        return self.inner.to_text(n_trees)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Not by itself."""
        raise NotImplementedError
