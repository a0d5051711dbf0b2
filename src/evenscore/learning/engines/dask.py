"""Dask: every worker of the cluster learns from the partitions that it holds."""

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, final
from urllib.parse import urlsplit

from evenscore.extras import require
from evenscore.learning.collective import Tracker
from evenscore.learning.engines.base import (
    LEAVING,
    Answer,
    ClusterError,
    Engine,
    Job,
    result_of,
    run_part,
)
from evenscore.learning.frame_summary import LearningColumns, Summary

_LOOK = 1.0  # seconds between two looks at who is still there
_GRACE = 5.0  # seconds that workers have to say something after another one is gone

_TRACKERS: dict[str, Tracker] = {}  # of the worker that this process is
_STOPPED: set[str] = set()  # fits that were called off


@final
class DaskEngine(Engine):
    """A Dask DataFrame, and the client that is running."""

    def __init__(self, frame: Any) -> None:
        require("Training on Dask", "distributed", "xgboost")
        super().__init__(frame)
        if not hasattr(frame, "to_delayed") or not hasattr(frame, "columns"):
            raise TypeError(f"frame must be a Dask DataFrame, not {type(frame).__name__}.")

    @property
    def names(self) -> list[Any]:
        """The names of the columns."""
        return list(self.frame.columns)

    def summarised(self, columns: LearningColumns, *, native: bool) -> list[Summary]:
        """One task for every partition."""
        client = _client()
        parts = self.frame[columns.names].to_delayed()
        futures = client.map(
            _summary, client.compute(list(parts)), columns=columns, native=native, pure=False
        )
        try:
            return list(client.gather(futures))
        except Exception as error:
            if type(error).__module__.split(".")[0] != "distributed":
                raise
            raise ClusterError(
                f"A worker was lost while it looked at the frame ({type(error).__name__}): fit "
                "again."
            ) from error

    def trained(
        self,
        job: Job,
        columns: LearningColumns,
        *,
        n_workers: int | None,
        timeout: float,
        advice: str,
    ) -> Any:
        """One task for every worker, with the partitions that are nearest to it."""
        client, token = _client(), uuid.uuid4().hex
        blocks = client.compute(list(self.frame[columns.names].to_delayed()))
        _loaded(blocks)
        shares = _shared_out(client, blocks, n_workers)
        addresses, arguments = list(shares), None
        if len(shares) > 1:
            host = urlsplit(addresses[0]).hostname or "127.0.0.1"
            opened = client.submit(
                _open_tracker, token, host, len(shares), timeout, workers=addresses[:1], pure=False
            )
            try:
                arguments = opened.result(timeout)
            except TimeoutError:
                raise ClusterError(
                    f"{addresses[0]} did not start within {timeout:g} seconds. {advice}"
                ) from None
        futures = [
            client.submit(
                _work,
                job,
                numbers,
                [blocks[k] for k in numbers],
                token=token,
                number=number,
                size=len(shares),
                arguments=arguments,
                timeout=timeout,
                workers=[address],
                allow_other_workers=False,
                pure=False,
                retries=0,
            )
            for number, (address, numbers) in enumerate(shares.items())
        ]
        try:
            return result_of(_answers(client, futures, addresses, advice), advice)
        finally:
            _call_off(client, token, futures)

    def scored(self, score: Callable[[Any], Any], name: str) -> Any:
        """When it is computed."""
        self.check_new(name)
        meta = self.frame._meta.assign(**{name: 0.0}).astype({name: float})
        return self.frame.map_partitions(_with_scores, score, name, meta=meta)


def _client() -> Any:
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        raise ClusterError(
            "There is no Dask client to train with: start one first, for instance by "
            "`from dask.distributed import Client; client = Client()`."
        ) from None


def _loaded(blocks: Sequence[Any]) -> None:
    """Wait for the partitions; one that cannot be computed is told with its reason."""
    for number, block in enumerate(blocks):
        error = block.exception()
        if error is not None:
            raise ClusterError(
                f"Partition {number} cannot be computed: {type(error).__name__}: {error}."
            )


def _summary(part: Any, columns: LearningColumns, native: bool) -> Summary:
    return Summary.of(part, columns, native=native)


def _with_scores(part: Any, score: Callable[[Any], Any], name: str) -> Any:
    return part.assign(**{name: score(part)})


def _shared_out(client: Any, blocks: Sequence[Any], n_workers: int | None) -> dict[str, list[int]]:
    """For every worker, the numbers of its partitions: those that it holds, as evenly as can be."""
    known = sorted(client.scheduler_info(n_workers=-1)["workers"])
    if not known:
        raise ClusterError("The Dask cluster has no workers: start some first.")
    if n_workers is not None and n_workers > len(known):
        workers = "1 worker" if len(known) == 1 else f"{len(known)} workers"
        raise ClusterError(
            f"n_workers is {n_workers}, and the Dask cluster has {workers}: start more, or pass "
            "less."
        )
    chosen = known if n_workers is None else known[:n_workers]
    holders = client.who_has(blocks)
    shares: dict[str, list[int]] = {address: [] for address in chosen}
    for number, block in enumerate(blocks):
        near = [address for address in holders.get(block.key, ()) if address in shares]
        least = min(near or chosen, key=lambda address: (len(shares[address]), address))
        shares[least].append(number)
    return shares


def _open_tracker(token: str, host: str, size: int, timeout: float) -> dict[str, Any]:
    tracker = _TRACKERS[token] = Tracker(host, size, timeout)
    return tracker.arguments


def _work(
    job: Job,
    numbers: Sequence[int],
    blocks: Sequence[Any],
    *,
    token: str,
    number: int,
    size: int,
    arguments: Mapping[str, Any] | None,
    timeout: float,
) -> Answer:
    from distributed import get_worker

    answer = run_part(
        job,
        list(zip(numbers, blocks, strict=True)),
        number=number,
        size=size,
        arguments=arguments,
        timeout=timeout,
        threads=max(1, int(get_worker().state.nthreads)),
        stopped=lambda: token in _STOPPED,
    )
    tracker = _TRACKERS.pop(token, None)
    if tracker is not None:
        tracker.wait(LEAVING)
    return answer


def _answers(
    client: Any, futures: Sequence[Any], addresses: Sequence[str], advice: str
) -> list[Answer]:
    """What workers answer, until all have, or those that can have after something went wrong."""
    answers: dict[int, Answer] = {}
    wrong_at: float | None = None
    while len(answers) < len(futures):
        for number, future in enumerate(futures):
            if number not in answers and future.done():
                answers[number] = _answer(number, future)
        present = client.scheduler_info(n_workers=-1)["workers"]
        lost = [address for address in addresses if address not in present]
        if lost or any(answer.kind != "done" for answer in answers.values()):
            wrong_at = time.monotonic() if wrong_at is None else wrong_at
            left = [
                number
                for number, address in enumerate(addresses)
                if number not in answers and address not in lost
            ]
            if not left or time.monotonic() > wrong_at + _GRACE:
                break  # whoever has not said a word by now is stuck
        time.sleep(_LOOK if wrong_at is None else 0.05)
    if len(answers) < len(futures) and all(answer.kind == "done" for answer in answers.values()):
        missing = len(futures) - len(answers)
        workers = "1 worker" if missing == 1 else f"{missing} workers"
        verb = "was" if missing == 1 else "were"
        raise ClusterError(
            f"{workers} of {len(addresses)} {verb} lost, and training was given up. {advice}"
        )
    return [answers[number] for number in sorted(answers)]


def _answer(number: int, future: Any) -> Answer:
    error = future.exception()
    if error is None:
        answer: Answer = future.result()
        return answer
    if type(error).__name__ in ("KilledWorker", "CancelledError", "FutureCancelledError"):
        return Answer(number, "lost")
    return Answer(number, "failed", text=f"{type(error).__name__}: {error}")


def _stop(token: str) -> None:
    """On a worker; a method of the set itself would be sent with a copy of it."""
    _STOPPED.add(token)


def _call_off(client: Any, token: str, futures: Sequence[Any]) -> None:
    """Whoever is still at work stops at the next sum; nobody waits for a worker that is stuck."""
    if all(future.done() for future in futures):
        return

    def call_off() -> None:
        with suppress(Exception):
            client.cancel(list(futures), force=True)
            client.run(_stop, token, on_error="ignore")

    thread = threading.Thread(target=call_off, daemon=True)
    thread.start()
    thread.join(_GRACE)
