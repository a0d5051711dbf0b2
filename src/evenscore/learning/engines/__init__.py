"""Where frames live, and how a learner is run there: in this process, on Dask, on Spark.

An engine summarises the parts of a frame, lets workers learn together, each on its parts, and adds
scores to a frame. A new engine is one file with a subclass of `Engine` and a line in `engine_of`.
"""

from typing import Any

from evenscore.learning.engines.base import Answer, ClusterError, Engine, Job

__all__ = ["Answer", "ClusterError", "Engine", "Job", "engine_of"]


def engine_of(frame: Any) -> Engine:
    """The engine of a frame.

    Parameters
    ----------
    frame : data frame
        Of Dask, Spark, pandas, polars or pyarrow.
    """
    home = type(frame).__module__.split(".")[0]
    if home in ("dask", "dask_expr"):
        from evenscore.learning.engines.dask import DaskEngine

        return DaskEngine(frame)
    if home == "pyspark":
        from evenscore.learning.engines.spark import SparkEngine

        return SparkEngine(frame)
    from evenscore.learning.engines.local import LocalEngine

    return LocalEngine(frame)
