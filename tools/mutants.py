"""Would the tests notice? Small faults are put into the code, and the tests of each line run.

    python tools/mutants.py cover             # the suite once: which test runs which line
    python tools/mutants.py run --number 300  # a sample of faults, to results/mutants.jsonl
    python tools/mutants.py again             # once more what was not, by all tests of its room
    python tools/mutants.py show              # the share noticed, and what was not

`cover` needs pytest-cov. A fault is one operator, constant or bound changed; annotations,
docstrings and texts of messages are left out. Each fault is put into a copy of the repository,
where the tests that run its line are tried, the quickest first, until one fails or their usual
time adds up to `--limit` seconds.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from queue import Queue
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
COVERED, TIMES, FOUND = (
    RESULTS / name for name in ("mutants.coverage", "mutants.times", "mutants.jsonl")
)
PLACES = (
    "scores",
    "gaps",
    "inference",
    "learning/objective.py",
    "placement",
    "auditing/findings.py",
)
_OTHER = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Pow: "*",
    ast.BitAnd: "|", ast.BitOr: "&", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is", ast.In: "not in",
    ast.NotIn: "in", ast.And: "or", ast.Or: "and",
}  # fmt: skip
_NAMES = {
    "min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum",
    "maximum": "minimum", "argmin": "argmax", "argmax": "argmin", "floor": "ceil", "ceil": "floor",
    "fmin": "fmax", "fmax": "fmin", "nanmax": "nanmin", "nanmin": "nanmax",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A fault: in `file`, the text from `start` to `end` becomes `after`."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str


# ---------------------------------------------------------------------- faults


def mutants_of(file: str, text: str) -> Iterator[Mutant]:
    """All faults of a file.

    >>> [(m.before, m.after) for m in mutants_of("a.py", "def f(x: int = 2): return x < 1")]
    [('2', '3'), ('<', '<='), ('1', '2')]
    """
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    raw = text.encode()

    def place(line: int, column: int) -> int:
        return starts[line - 1] + column

    def mutant(line: int, start: int, end: int, after: str) -> Mutant:
        return Mutant(file, line, start, end, raw[start:end].decode(), after)

    def between(left: ast.expr, right: ast.expr, operator: ast.AST) -> Iterator[Mutant]:
        """The operator between two expressions: what is neither space nor bracket nor comment."""
        start, end = (
            place(left.end_lineno, left.end_col_offset),
            place(right.lineno, right.col_offset),
        )
        gap = raw[start:end].decode()
        if type(operator) in _OTHER and "#" not in gap:
            sign = gap.strip("() \n\\")
            at = start + gap.index(sign)
            yield mutant(left.end_lineno, at, at + len(sign), _OTHER[type(operator)])

    for node in _nodes(ast.parse(text)):
        if isinstance(node, ast.BinOp):
            yield from between(node.left, node.right, node.op)
        elif isinstance(node, ast.Compare):
            for left, right, operator in zip(
                [node.left, *node.comparators], node.comparators, node.ops, strict=False
            ):
                yield from between(left, right, operator)
        elif isinstance(node, ast.BoolOp):
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from between(left, right, node.op)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            start, end = (
                place(node.lineno, node.col_offset),
                place(node.operand.lineno, node.operand.col_offset),
            )
            if raw[start:end].decode().strip() in ("not", "-", "~"):
                yield mutant(node.lineno, start, end, "")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            start = place(node.lineno, node.col_offset)
            other = not node.value if isinstance(node.value, bool) else node.value + 1
            yield mutant(
                node.lineno, start, place(node.end_lineno, node.end_col_offset), str(other)
            )
        elif isinstance(node, ast.Attribute | ast.Name):
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            if name in _NAMES and isinstance(node.ctx, ast.Load):
                end = place(node.end_lineno, node.end_col_offset)
                yield mutant(node.end_lineno, end - len(name), end, _NAMES[name])


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that compute something: no annotation, no text, no raised message."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list") or isinstance(
            tree, ast.JoinedStr | ast.Raise
        ):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST):
                typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
                alias = (
                    isinstance(node, ast.Assign)
                    and isinstance(node.value, ast.BinOp)
                    and all(
                        isinstance(part, ast.Name | ast.Subscript | ast.Constant)
                        for part in (node.value.left, node.value.right)
                    )
                    and isinstance(node.value.op, ast.BitOr)
                )
                if not typing and not alias:
                    yield node
                    yield from _nodes(node)


def drawn(number: int, seed: int) -> list[Mutant]:
    """A sample of the faults of all places."""
    files = [
        path
        for place in PLACES
        for path in sorted(
            (ROOT / "src/evenscore" / place).rglob("*.py")
            if "." not in place
            else [ROOT / "src/evenscore" / place]
        )
    ]
    every = [
        mutant
        for path in files
        for mutant in mutants_of(
            path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        )
    ]
    print(f"{len(every)} faults are possible in {len(files)} files")
    return random.Random(seed).sample(every, min(number, len(every)))


# ---------------------------------------------------------------------- which test runs which line


def cover() -> None:
    """Run the suite once, with the lines that each test runs and the time it takes."""
    RESULTS.mkdir(exist_ok=True)
    TIMES.unlink(missing_ok=True)
    more = {
        "CPU_TIMES": str(TIMES),
        "COVERAGE_FILE": str(COVERED),
        "PYTHONPATH": f"{ROOT}/tools:{ROOT}/src",
    }
    options = ("-n", "2", "-p", "cpu_times", "-m", "not soak", "--no-cov-on-fail", "--cov-report=")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--cov=evenscore", "--cov-context=test"],
        cwd=ROOT, env=os.environ | more, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit("A suite that fails notices every fault: fix it first.")


class Tests:
    """Which tests run a line, the quickest first."""

    def __init__(self) -> None:
        from coverage import CoverageData

        self.data = CoverageData(str(COVERED))
        self.data.read()
        self.files = {
            Path(name).relative_to(ROOT).as_posix(): name
            for name in self.data.measured_files()
            if name.startswith(str(ROOT / "src"))
        }
        lines = [json.loads(line) for line in TIMES.read_text().splitlines()]
        self.seconds = {name: cpu for name, cpu, _ in lines}
        self.modules = defaultdict(list)
        for name in self.seconds:
            self.modules[name.split("::")[0]].append(name)

    def of(self, mutant: Mutant, limit: float) -> list[str]:
        """Tests that run the line, then those that share their modules' fixtures."""
        name = self.files.get(mutant.file)
        contexts = self.data.contexts_by_lineno(name).get(mutant.line, []) if name else []
        own = {context.split("|")[0] for context in contexts if context}
        homes = {test.split("::")[0] for test in own}
        if not own:  # a line that runs at import: the tests of its room
            room = "tests/" + "/".join(mutant.file.split("/")[2:-1])
            homes = {home for home in self.modules if home.startswith(room)}
        shared = {test for home in homes for test in self.modules[home]} - own
        chosen, total = [], 0.0
        for group in (own, shared):
            for test in sorted(
                group & set(self.seconds), key=lambda test: (self.seconds[test], test)
            ):
                total += self.seconds[test] + 0.02
                if total > limit and chosen:
                    return chosen
                chosen.append(test)
        return chosen


# ---------------------------------------------------------------------- trying


def tried(mutant: Mutant, copy: Path, tests: list[str], limit: float) -> str:
    """What becomes of a fault: killed, survived, uncovered, or too long, which is noticed."""
    if not tests:
        return "uncovered"
    path = copy / mutant.file
    original = path.read_bytes()
    path.write_bytes(original[: mutant.start] + mutant.after.encode() + original[mutant.end :])
    (copy / "tests.txt").write_text("\n".join(tests))
    attempt = get_context("fork").Process(target=_tests_pass, args=(copy,))
    attempt.start()
    attempt.join(60 + 4 * limit)
    if attempt.exitcode is None:
        attempt.kill()
        attempt.join()
    path.write_bytes(original)
    return {None: "too long", -9: "too long", 0: "survived", 5: "uncovered"}.get(
        attempt.exitcode, "killed"
    )


def _tests_pass(copy: Path) -> None:
    """In a process of its own, which has the libraries but not yet the code: end as pytest does."""
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy / "src")
    sys.path[:0] = [str(copy / "src"), str(copy / "tools")]
    sys.dont_write_bytecode = True
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    import pytest

    options = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov")
    known = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # libraries are imported before
    code = pytest.main([*options, *known, "@tests.txt"])
    os._exit(int(code))


def _import_libraries() -> None:
    """What tests import and no fault is put into: once, not for every fault."""
    for name in ("_pytest.assertion.rewrite", "hypothesis.strategies", "lightgbm",
                 "matplotlib.pyplot", "pandas", "rich.console", "scipy.optimize", "scipy.stats",
                 "sklearn.linear_model", "sklearn.utils.estimator_checks", "typer"):  # fmt: skip
        import_module(name)


def run(number: int, seed: int, limit: float, jobs: int) -> None:
    """Try a sample of faults; those in the file of results are not tried again."""
    known = {(row["file"], row["start"], row["after"]) for row in _rows()}
    sample = [m for m in drawn(number, seed) if (m.file, m.start, m.after) not in known]
    tests = Tests()
    _import_libraries()
    _attempt([(mutant, tests.of(mutant, limit)) for mutant in sample], limit, jobs)


def again(limit: float, jobs: int) -> None:
    """Try what was not noticed once more, by all tests of the room, which may be new."""
    rows = _rows()
    _import_libraries()
    names = [field.name for field in fields(Mutant)]
    left = [Mutant(*(row[name] for name in names)) for row in rows if not _noticed(row)]
    FOUND.write_text("".join(json.dumps(row) + "\n" for row in rows if _noticed(row)))
    _attempt([(mutant, [f"tests/{mutant.file.split('/')[2]}"]) for mutant in left], limit, jobs)


def _attempt(pairs: list[tuple[Mutant, list[str]]], limit: float, jobs: int) -> None:
    """Try faults, each by some tests, in copies of the repository."""
    copies: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, FOUND.open("a") as out:
        for k in range(jobs):
            copy = Path(folder, str(k))
            listed = subprocess.run(
                ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
            )
            for name in filter(None, listed.stdout.decode().split("\0")):
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name)
            copies.put(copy)
        for mutant, tests in pairs[:3]:  # what is no fault must not be noticed
            if tried(replace(mutant, after=mutant.before), copy, tests, limit) == "killed":
                sys.exit(f"The tests of {mutant.file}:{mutant.line} fail without a fault.")

        def attempt(pair: tuple[Mutant, list[str]]) -> None:
            copy, start = copies.get(), time.perf_counter()
            fate = tried(pair[0], copy, pair[1], limit)
            copies.put(copy)
            out.write(json.dumps(asdict(pair[0]) | {"fate": fate}) + "\n")
            out.flush()
            took = f"{time.perf_counter() - start:5.0f} s"
            print(f"{fate:10} {took}  {_said(asdict(pair[0]))}", flush=True)

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(attempt, pairs))
    show()


def _rows() -> list[dict[str, Any]]:
    """Faults that have been tried."""
    return [json.loads(line) for line in FOUND.read_text().splitlines()] if FOUND.exists() else []


def _noticed(row: dict[str, Any]) -> bool:
    return row["fate"] in ("killed", "too long")


def _said(row: dict[str, Any]) -> str:
    return f"{row['file']}:{row['line']} {row['before']!r} → {row['after']!r}"


def show() -> None:
    """The share of faults noticed, by place, and those that were not."""
    rows = _rows()
    places = Counter(row["file"].split("/")[2] for row in rows)
    found = Counter(row["file"].split("/")[2] for row in rows if _noticed(row))
    for place, count in [*places.items(), ("all", len(rows))]:
        some = found[place] if place != "all" else found.total()
        print(f"{place:10} {some:4} of {count:4} noticed, {some / max(count, 1):.0%}")
    for row in rows:
        if not _noticed(row):
            print(f"{row['fate']:10} {_said(row)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="Put faults into the code and see whether tests fail."
    )
    parser.add_argument("verb", choices=["cover", "run", "again", "show"])
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=40.0)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    if asked.verb == "run":
        run(asked.number, asked.seed, asked.limit, asked.jobs)
    elif asked.verb == "again":
        again(asked.limit, asked.jobs)
    else:
        {"cover": cover, "show": show}[asked.verb]()
