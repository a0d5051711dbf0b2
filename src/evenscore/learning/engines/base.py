"""What is asked of an engine, and what a worker does wherever it is."""

import re
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

from evenscore.learning.collective import joined
from evenscore.learning.exchange import Exchange, OnePart
from evenscore.learning.frame_summary import LearningColumns, Summary

Parts = Sequence[tuple[int, Any]]
"""Parts of a frame, each a data frame of pandas with its number."""

Job = Callable[[Parts, Exchange, int], Any]
"""What every worker does: with its parts, the others, and so many threads. It must be picklable."""


LEAVING = 30.0
"""Seconds that workers have to leave a group after one has."""


# What XGBoost says if it is about the other workers, and not about data or settings.
_OF_THE_GROUP = re.compile(
    r"all(reduce|gather)|broadcast|socket|tracker|collective|communicator|connect|time.?out|rank",
    re.IGNORECASE,
)
_NAMED = re.compile(r"[\w.]+(Error|Exception)\b")  # the line of a traceback that says what it is


class ClusterError(RuntimeError):
    """Workers did not finish: one was lost, or did not answer in time."""


@final
@dataclass(frozen=True)
class Answer:
    """What a worker has to say: a value, or why there is none.

    "refused" is about the data or the parameters, and every worker says the same; "lost" is that
    the others were not to be reached; "failed" is anything else.
    """

    number: int
    kind: Literal["done", "refused", "lost", "failed"]
    value: Any = None
    text: str = ""
    details: str = ""


def run_part(
    job: Job,
    parts: Parts,
    *,
    number: int,
    size: int,
    arguments: Mapping[str, Any] | None,
    timeout: float,
    threads: int,
    stopped: Callable[[], bool] | None = None,
) -> Answer:
    """Do a job as one of `size` workers; nothing is raised.

    Parameters
    ----------
    job, parts, threads
        What to do, with what; no threads are as many as pay.
    number, size
        Which worker this is, of how many.
    arguments : dict, optional
        Where the workers meet; a worker who is the only one meets nobody.
    timeout : float
        Seconds that others have to answer.
    stopped : function, optional
        Whether somebody has called the whole thing off.
    """
    import xgboost

    try:
        with xgboost.config_context(verbosity=0, nthread=threads):
            if size == 1:
                return Answer(number, "done", job(parts, OnePart(), threads))
            assert arguments is not None
            with joined(arguments, number=number, timeout=timeout, stopped=stopped) as exchange:
                value = job(parts, exchange, threads)
                return Answer(number, "done", value if exchange.rank == 0 else None)
    except xgboost.core.XGBoostError as error:
        if size > 1 and _OF_THE_GROUP.search(str(error)):
            return Answer(number, "lost", text=traceback.format_exc())
        return Answer(number, "failed", text=traceback.format_exc())
    except (ValueError, TypeError) as error:
        return Answer(number, "refused", text=str(error), details=traceback.format_exc())
    except Exception:
        return Answer(number, "failed", text=traceback.format_exc())


def result_of(answers: Sequence[Answer], advice: str) -> Any:
    """What the first worker gave; or an error that says the most of what went wrong.

    Parameters
    ----------
    answers : list of Answer
        Of the workers that answered.
    advice : str
        What to do about a worker that was lost, a sentence.
    """
    by_kind = {answer.kind: answer for answer in reversed(answers)}
    if "refused" in by_kind:
        refused = ValueError(by_kind["refused"].text)
        if any(answer.kind != "refused" for answer in answers):
            refused.add_note(by_kind["refused"].details)  # others had nothing against it
        raise refused
    if "failed" in by_kind:
        lines = by_kind["failed"].text.strip().splitlines()
        named = next((line for line in lines if _NAMED.match(line)), lines[-1])
        failed = ClusterError(f"A worker failed: {named.rstrip('.')}.")
        failed.add_note(by_kind["failed"].text)
        raise failed
    if "lost" in by_kind:
        lost = ClusterError(
            f"A worker was lost, or did not answer in time, and training was given up. {advice}"
        )
        lost.add_note(by_kind["lost"].text)
        raise lost
    return next(answer.value for answer in answers if answer.value is not None)


class Engine(ABC):
    """A frame where it lives.

    Parameters
    ----------
    frame : data frame
        Of the engine's library.
    """

    keeps_blocks: ClassVar[bool] = True
    """Whether a frame has the same parts, however many workers there are."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    @property
    @abstractmethod
    def names(self) -> list[Any]:
        """The names of the columns."""

    @abstractmethod
    def summarised(self, columns: LearningColumns, *, native: bool) -> list[Summary]:
        """What is in each part.

        Parameters
        ----------
        columns : LearningColumns
            The columns to look at.
        native : bool
            How categories will be encoded, as in `FeatureEncoding`.
        """

    @abstractmethod
    def trained(
        self,
        job: Job,
        columns: LearningColumns,
        *,
        n_workers: int | None,
        timeout: float,
        advice: str,
    ) -> Any:
        """What the first worker comes to, after all have done the job together.

        Parameters
        ----------
        job : function
            What each of them does.
        columns : LearningColumns
            The columns that they are given.
        n_workers : int, optional
            How many; as many as there are.
        timeout : float
            Seconds without an answer after which a worker is taken to be lost.
        advice : str
            What to do about that, a sentence.

        Raises
        ------
        ValueError
            If the data or parameters are refused.
        ClusterError
            If workers did not finish.
        """

    @abstractmethod
    def scored(self, score: Callable[[Any], Any], name: str) -> Any:
        """The frame with a column of scores.

        Parameters
        ----------
        score : function
            From a data frame to an array.
        name : str
            Of the column.
        """

    def check_new(self, name: str) -> None:
        """Refuse a name for a new column that is none, or that there is already."""
        if not isinstance(name, str):
            raise TypeError(f"name must be a text, not {name!r:.60}.")
        if name in self.names:
            raise ValueError(f"There is a column {name!r} already: pass another name.")
