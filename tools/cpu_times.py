"""A plugin of pytest: which files and tests cost how much CPU time, children included.

CPU_TIMES=times.jsonl PYTHONPATH=tools python -m pytest -p cpu_times ...
python tools/cpu_times.py times.jsonl   # the ten heaviest files and tests
"""

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

import pytest


def _spent():
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return sum(times[:4])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Append a line for each test: its name, CPU seconds and seconds."""
    cpu, clock = _spent(), time.perf_counter()
    yield
    line = [item.nodeid, round(_spent() - cpu, 3), round(time.perf_counter() - clock, 3)]
    with Path(os.environ["CPU_TIMES"]).open("a") as file:
        file.write(json.dumps(line) + "\n")


def main(path):
    """Print the totals."""
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    files, functions = Counter(), Counter()
    for name, cpu, _ in lines:
        files[name.split("::")[0]] += cpu
        functions[name.split("[")[0]] += cpu
    print(f"{len(lines)} tests, {sum(files.values()):.0f} CPU-seconds")
    for counted in (files, functions):
        print()
        for name, cpu in counted.most_common(10 if counted is files else 40):
            print(f"{cpu:8.1f}  {name}")


if __name__ == "__main__":
    main(sys.argv[1])
