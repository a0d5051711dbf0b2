"""Threads that XGBoost connects, as it connects the workers of a cluster."""

from concurrent.futures import ThreadPoolExecutor

from evenscore.learning.collective import Tracker, joined


def connected(function, parts, timeout=60):
    """What `function(part, exchange)` gives for every part, all of them at work at once."""
    from xgboost.core import XGBoostError

    tracker = Tracker("127.0.0.1", len(parts), timeout)
    arguments = tracker.arguments

    def work(number):
        with joined(arguments, number=number, timeout=timeout) as exchange:
            return function(parts[number], exchange)

    with ThreadPoolExecutor(len(parts)) as pool:
        futures = [pool.submit(work, number) for number in range(len(parts))]
    errors = [future.exception() for future in futures if future.exception() is not None]
    own = [error for error in errors if not isinstance(error, XGBoostError)]
    if errors:
        raise (own or errors)[0]
    return [future.result() for future in futures]
