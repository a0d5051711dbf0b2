"""Spark: the tasks of one barrier stage learn together, each from one partition."""

import json
import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, final

from evenscore.extras import require
from evenscore.learning.collective import Tracker
from evenscore.learning.engines.base import (
    LEAVING,
    Answer,
    ClusterError,
    Engine,
    Job,
    Parts,
    result_of,
    run_part,
)
from evenscore.learning.frame_summary import LearningColumns, Summary

_ROW = "answer binary"  # what a task gives back: one row
_TOO_FEW = (
    "Spark has fewer free slots than workers are asked for: pass a smaller n_workers, or give the "
    "session more cores."
)


@final
class SparkEngine(Engine):
    """A Spark DataFrame, and the session that it belongs to."""

    keeps_blocks = False

    def __init__(self, frame: Any) -> None:
        require("Training on Spark", "pyspark", "xgboost")
        super().__init__(frame)
        if not hasattr(frame, "mapInPandas"):
            raise TypeError(f"frame must be a Spark DataFrame, not {type(frame).__name__}.")

    @property
    def names(self) -> list[Any]:
        """The names of the columns."""
        return list(self.frame.columns)

    def _chosen(self, columns: LearningColumns) -> Any:
        """The columns, under names that Spark cannot misread: theirs may hold dots and quotes."""
        plain = [f"c{k}" for k in range(len(self.names))]
        chosen = [plain[self.names.index(name)] for name in columns.names]
        return self.frame.toDF(*plain).select(*chosen)

    def summarised(self, columns: LearningColumns, *, native: bool) -> list[Summary]:
        """One task for every partition."""
        look = _Look(columns, native)
        return _collected(self._chosen(columns).mapInPandas(look, _ROW), "Nothing was fitted.")

    def trained(
        self,
        job: Job,
        columns: LearningColumns,
        *,
        n_workers: int | None,
        timeout: float,
        advice: str,
    ) -> Any:
        """One barrier stage, as many tasks as workers."""
        size = self._size(n_workers)
        frame = self._chosen(columns).repartition(size)
        work = _Work(job, columns, size, timeout)
        answers = _collected(frame.mapInPandas(work, _ROW, barrier=True), advice)
        return result_of(sorted(answers, key=lambda answer: answer.number), advice)

    def _size(self, n_workers: int | None) -> int:
        """How many workers there will be; Spark itself waits ten minutes for slots it lacks."""
        if n_workers is None:
            return self._slots()
        try:
            master = str(self.frame.sparkSession.sparkContext.master)
        except Exception:  # Spark Connect keeps the context to itself
            return n_workers
        if master.startswith("local") and n_workers > self._slots():
            raise ClusterError(_TOO_FEW)
        return n_workers

    def _slots(self) -> int:
        """How many tasks run at a time."""
        session = self.frame.sparkSession
        try:
            context = session.sparkContext
            return max(1, int(context.defaultParallelism) // int(
                context.getConf().get("spark.task.cpus", "1")
            ))  # fmt: skip
        except Exception:  # Spark Connect keeps the context to itself
            raise ClusterError(
                "How many tasks this Spark session runs at a time is not known: pass n_workers."
            ) from None

    def scored(self, score: Callable[[Any], Any], name: str) -> Any:
        """When it is computed."""
        from pyspark.sql.types import DoubleType, StructField, StructType

        self.check_new(name)
        schema = StructType([*self.frame.schema.fields, StructField(name, DoubleType())])
        return self.frame.mapInPandas(_Scored(score, name), schema)


def _collected(frame: Any, advice: str) -> list[Any]:
    """What tasks have pickled; a stage that fails is told in a sentence."""
    try:
        rows = frame.collect()
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("py4j", "pyspark"):
            raise
        raise ClusterError(_sentence(error, advice)) from error
    return [pickle.loads(bytes(row[0])) for row in rows]


def _sentence(error: Exception, advice: str) -> str:
    """What is known of a stage that failed."""
    text = str(error)
    lacking = re.search(r"No module named '(\w+)'", text)
    if lacking is not None:
        return (
            f"Spark's workers do not find {lacking[1]}: install it where they run, or set "
            "PYSPARK_PYTHON to a Python that has it."
        )
    if "SlotsAvailable" in text or ("barrier" in text and "slots" in text):
        return _TOO_FEW
    return f"A Spark task was lost, and training was given up. {advice}"


class _Look:
    """From the batches of a partition to their summary."""

    def __init__(self, columns: LearningColumns, native: bool) -> None:
        self.columns, self.native = columns, native

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        whole = Summary()
        for batch in batches:
            named = batch.set_axis(self.columns.names, axis=1)
            whole += Summary.of(named, self.columns, native=self.native)
        yield _row(whole)


class _Scored:
    """The batches of a partition with their scores."""

    def __init__(self, score: Callable[[Any], Any], name: str) -> None:
        self.score, self.name = score, name

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch.assign(**{self.name: self.score(batch)})


class _Work:
    """One task: it meets the others, and does the job with the batches of its partition."""

    def __init__(self, job: Job, columns: LearningColumns, size: int, timeout: float) -> None:
        self.job, self.columns, self.size, self.timeout = job, columns, size, timeout

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import BarrierTaskContext

        context = BarrierTaskContext.get()
        number = context.partitionId()
        parts = _whole(number, batches, self.columns)
        tracker, arguments = None, None
        if self.size > 1:
            host = context.getTaskInfos()[0].address.split(":")[0]
            if number == 0:
                tracker = Tracker(host, self.size, self.timeout)
            own = "" if tracker is None else json.dumps(tracker.arguments)
            arguments = json.loads(next(text for text in context.allGather(own) if text))
        answer = run_part(
            self.job,
            parts,
            number=number,
            size=self.size,
            arguments=arguments,
            timeout=self.timeout,
            threads=max(1, int(context.cpus())),
        )
        if tracker is not None:
            tracker.wait(LEAVING)
        yield _row(answer)


def _whole(number: int, batches: Iterable[Any], columns: LearningColumns) -> Parts:
    """All batches of a partition as one part."""
    import pandas as pd

    frames = [batch for batch in batches if len(batch)]
    if not frames:
        return []
    whole = pd.concat(frames, ignore_index=True)
    return [(number, whole.set_axis(columns.names, axis=1))]


def _row(value: Summary | Answer) -> Any:
    import pandas as pd

    return pd.DataFrame({"answer": [pickle.dumps(value)]})
