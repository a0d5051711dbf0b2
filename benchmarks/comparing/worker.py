"""What all workers share: read rows, run one method, time it, write what came out.

A worker is run by the Python of the package it tries, so this file needs NumPy alone:

    python with_fairlearn.py fit ExponentiatedGradient rows.npz answer.npz
    python with_aequitas.py audit Audit scores.npz answer.npz
"""

import sys
import time
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np

REPEATS, ENOUGH = 5, 2.0  # times, CPU seconds


def read(path):
    """The arrays of a file as attributes."""
    with np.load(path) as stored:
        return SimpleNamespace(**{name: stored[name] for name in stored.files})


def timed_fit(method, rows):
    """What a method says of the test rows, and the CPU seconds of its fit alone.

    A method takes the rows and returns a function that scores the test rows: a dictionary with
    "score", with "decision" (0 or 1), or with both.
    """
    start = time.process_time()
    predict = method(rows)
    seconds = time.process_time() - start
    return {**predict(), "seconds": seconds}


def timed_audit(method, rows):
    """The named numbers of an audit, its CPU seconds, and those of a sort of the same scores.

    Both are medians over repeats, taken in turn: five, or fewer if an audit takes long. The first
    audit of a process pays for loading, and counts only if it takes so long that this is nothing.
    """
    audits, sorts = [], []
    for turn in range(REPEATS + 1):
        start = time.process_time()
        found = method(rows)
        seconds = time.process_time() - start
        if turn or seconds > ENOUGH:
            audits.append(seconds)
            sorts.append(sort_seconds(rows.score))
        if sum(audits) > ENOUGH:
            break
    names = np.array(list(found))
    values = np.array(list(found.values()), dtype=float)
    medians = {"seconds": np.median(audits), "sort": np.median(sorts)}
    return {"names": names, "values": values, **medians}


def sort_seconds(score, times=20):
    """CPU seconds of one sort."""
    start = time.process_time()
    for _ in range(times):
        np.argsort(score)
    return (time.process_time() - start) / times


def run(package, fits=None, audits=None):
    """The command line of a worker."""
    verb, name, source, target = sys.argv[1:]
    rows = read(source)
    answer = timed_fit(fits[name], rows) if verb == "fit" else timed_audit(audits[name], rows)
    np.savez(target, version=version(package), **answer)
