"""Frames of this process: one part and one worker, or threads that are connected like workers."""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any, final

import numpy as np
from threadpoolctl import threadpool_limits

from evenscore.learning.collective import Tracker
from evenscore.learning.engines.base import Engine, Job, result_of, run_part
from evenscore.learning.exchange import OnePart
from evenscore.learning.frame_summary import LearningColumns, Summary
from evenscore.scores.sources import EXACT, as_frame

_BLOCKS = 48  # of rows, whoever holds them: what is drawn does not depend on how many workers do


@final
class LocalEngine(Engine):
    """A frame of pandas, polars, pyarrow or another library of one process."""

    def __init__(self, frame: Any) -> None:
        super().__init__(frame)
        self._frame = as_frame(frame, "frame")
        if self._frame is None:
            advice = ": collect it first" if _is_lazy(frame) else ""
            raise TypeError(
                "frame must be a data frame of Dask, Spark, pandas, polars or pyarrow, not "
                f"{type(frame).__name__}{advice}."
            )
        self._known: tuple[LearningColumns, Any] | None = None

    @property
    def names(self) -> list[Any]:
        """The names of the columns."""
        return list(self._frame.columns)

    def _chosen(self, columns: LearningColumns) -> Any:
        """The columns as a frame of pandas, which is made once."""
        if self._known is None or self._known[0] != columns:
            self._known = columns, _to_pandas(self._frame.select(columns.names))
        return self._known[1]

    def summarised(self, columns: LearningColumns, *, native: bool) -> list[Summary]:
        """Of the one part."""
        return [Summary.of(self._chosen(columns), columns, native=native)]

    def trained(
        self,
        job: Job,
        columns: LearningColumns,
        *,
        n_workers: int | None,
        timeout: float,
        advice: str,
    ) -> Any:
        """In this thread; with several workers, a thread each with a part of the rows."""
        frame, size = self._chosen(columns), n_workers or 1
        ends = np.linspace(0, len(frame), _BLOCKS + 1).astype(int)
        blocks = [(k, frame.iloc[ends[k] : ends[k + 1]]) for k in range(_BLOCKS)]
        if size == 1:
            return job(blocks, OnePart(), 0)
        tracker = Tracker("127.0.0.1", size, timeout)
        arguments = tracker.arguments

        def work(number: int) -> Any:
            return run_part(
                job,
                [block for block in blocks if block[0] * size // _BLOCKS == number],
                number=number,
                size=size,
                arguments=arguments,
                timeout=timeout,
                threads=1,
            )

        # Threads change the settings of the whole process in turns: they are put back at the end.
        with (
            warnings.catch_warnings(),
            threadpool_limits(1, user_api="blas"),
            ThreadPoolExecutor(size) as pool,
        ):
            answers = list(pool.map(work, range(size)))
        return result_of(answers, advice)

    def scored(self, score: Callable[[Any], Any], name: str) -> Any:
        """At once."""
        import narwhals as nw

        self.check_new(name)
        scores = score(self._frame.to_native())
        column = nw.new_series(name, scores, nw.Float64, backend=self._frame.implementation)
        return self._frame.with_columns(column).to_native()


def _is_lazy(frame: Any) -> bool:
    import narwhals as nw

    return isinstance(nw.from_native(frame, pass_through=True), nw.LazyFrame)


def _to_pandas(frame: Any) -> Any:
    """A frame of narwhals as one of pandas, with all columns, and every number as it is."""
    if find_spec("pandas") is None:
        raise ImportError("Learning from a frame needs pandas: pip install pandas.", name="pandas")
    known = [] if frame.implementation.is_pandas() else [*frame.iter_columns()]
    odd = [series for series in known if _loses_digits(series)]
    rest = frame.drop([series.name for series in odd])
    if frame.implementation.is_pyarrow():
        # What pandas has noted about an index would make one of a column.
        converted = rest.to_native().replace_schema_metadata(None).to_pandas()
    else:
        converted = rest.to_pandas()
    for series in odd:
        converted[series.name] = np.array(series.to_list(), dtype=object)
    return converted


def _loses_digits(series: Any) -> bool:
    """Whether pandas has doubles for whole numbers that are none: there are gaps, or 128 bits."""
    import narwhals as nw

    if series.dtype in (nw.Int128, nw.UInt128):
        return True
    if not series.dtype.is_integer() or series.null_count() in (0, len(series)):
        return False
    return bool(series.max() > EXACT or series.min() < -EXACT)
