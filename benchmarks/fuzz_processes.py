"""Commands that are killed and interrupted at random moments, half of them while they write.

After SIGINT a command must have ended with exit code 130 and the line "Interrupted.", or have been
done; after SIGKILL nothing can be asked of it. In both cases every output is the old file or the
whole new one, and after SIGINT nothing else is left.

Some runs are the real command, from the start of the interpreter; the others begin in a fork of a
process that has imported everything, so that more moments fall into the work.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

REAL = 0.4  # of the runs are the real command
LATE = 0.9  # half of the moments are after this share of a run: there files are written
TIMEOUT = 300.0  # seconds until a run hangs: the machine may be busy
PEOPLE = "--label repaid --group sex"
EQUAL = "--cuts everyone=0.1:0.4 --equal fnr"
COMMANDS = {
    "audit": f"audit people.csv {PEOPLE} --score score --html out.html --json out.json",
    "fit": f"fit people.csv {PEOPLE} {EQUAL} --model linear --features income,age -o out.skops",
    "repair": f"repair people.csv {PEOPLE} {EQUAL} --score score -o out.json",
    "score csv": "score model.skops people.csv -o out.csv --column new",
    "score parquet": "score maps.json people.csv -o out.parquet",
}
OLD = b"old, and whole"


@dataclass
class Job:
    """A command, and what its folder holds before and after it."""

    name: str
    arguments: list[str]
    folder: Path
    before: set[str]
    new: dict[str, bytes] = field(default_factory=dict)
    seconds: dict[bool, float] = field(default_factory=dict)  # by whether it is the real command

    @property
    def outputs(self) -> list[Path]:
        return [self.folder / word for word in self.arguments if word.startswith("out.")]

    def prepare(self) -> None:
        for path in self.outputs:
            path.write_bytes(OLD)

    def start(self, *, real: bool) -> int:
        """The id of a process that runs the command; what it prints goes to a file."""
        self.prepare()
        told = os.open(self.folder.parent / "told", os.O_CREAT | os.O_TRUNC | os.O_RDWR)
        if real:
            command = [sys.executable, "-m", "evenscore", *self.arguments]
            process = subprocess.Popen(command, cwd=self.folder, stdout=told, stderr=told)
            process.returncode = 0  # it is waited for by its id
            os.close(told)
            return process.pid
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until the fork listens
        child = os.fork()
        if child == 0:
            os.chdir(self.folder)
            os.dup2(told, 1)
            os.dup2(told, 2)
            _be_the_command(self.arguments)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        os.close(told)
        return child

    def faults(self, code: int, sent: signal.Signals | None) -> list[str]:
        """What is wrong after a run that ended so."""
        told = (self.folder.parent / "told").read_text(errors="replace").splitlines()
        found = []
        contents = {path.name: path.read_bytes() for path in self.outputs if path.exists()}
        fresh = [name for name, content in contents.items() if self.is_new(name, content)]
        for name in {path.name for path in self.outputs} - {*fresh}:
            if contents.get(name) != OLD:
                found.append(f"{name} is neither old nor new")
        if code == 0 and len(fresh) < len(self.outputs):
            found.append("done without its outputs")
        if sent is signal.SIGKILL:
            return found + ([] if code in (0, -signal.SIGKILL) else [f"exit code {code}"])
        if code not in (0, 130):
            found.append(f"exit code {code}")
        if code == 130 and (told[-1:] != ["Interrupted."] or told.count("Interrupted.") > 1):
            found.append(f"ended with {told[-1:]}")
        if any("Traceback" in line or "Exception ignored" in line for line in told):
            found.append("a traceback")
        return found + [f"{name} is left" for name in self.left()]

    def is_new(self, name: str, content: bytes) -> bool:
        if name.endswith(".skops"):  # its bytes differ from run to run
            path = self.folder / name
            return zipfile.is_zipfile(path) and zipfile.ZipFile(path).testzip() is None
        return content == self.new.get(name)

    def left(self) -> list[str]:
        """Files that are neither input nor output."""
        names = {path.name for path in self.folder.iterdir()}
        return sorted(names - self.before - {path.name for path in self.outputs})


def _be_the_command(arguments: list[str]) -> None:
    """End as the command does, from a fork in which everything is imported."""
    from evenscore.cli import process

    code = 3
    try:
        sys.argv = ["evenscore", *arguments]
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
        process.listen()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        process.run()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        os._exit(code)


def wait(process: int) -> int | None:
    """The exit code of a process, or None if it has not ended in time."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def write_people(path: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    y, male = rng.integers(0, 2, n), rng.integers(0, 2, n)
    score, income = rng.normal(size=n) + y + 0.5 * male, y + rng.normal(size=n)
    rows = ["repaid,sex,score,income,age"]
    rows += [
        f"{label},{'fm'[sex]},{s:.6f},{i:.6f},{a}"
        for label, sex, s, i, a in zip(y, male, score, income, rng.integers(18, 80, n), strict=True)
    ]
    path.write_text("\n".join(rows) + "\n")


def jobs(root: Path, names: list[str], n: int) -> list[Job]:
    """Commands with their inputs, run to their end once in each way."""
    import evenscore.cli.commands  # noqa: F401 (what forks need not import)

    made = []
    for name in names:
        folder = root / name.replace(" ", "-")
        folder.mkdir()
        write_people(folder / "people.csv", n)
        for needed, file in (("fit", "model.skops"), ("repair", "maps.json")):
            if file in COMMANDS[name]:
                command = COMMANDS[needed].split()[:-1]
                call = [sys.executable, "-m", "evenscore", *command, file, "--quiet"]
                subprocess.run(call, cwd=folder, check=True)
        before = {path.name for path in folder.iterdir()}
        job = Job(name, COMMANDS[name].split(), folder, before)
        for real in (True, False):
            start = time.monotonic()
            code = wait(job.start(real=real))
            job.seconds[real] = time.monotonic() - start
            if code != 0:
                raise RuntimeError(f"{name}: {code} {(root / 'told').read_text()}")
            job.new = {path.name: path.read_bytes() for path in job.outputs}
        made.append(job)
    return made


def before_we_listen(code: int | None, told: str) -> bool:
    """Whether the signal came before `run` did: until then it is the interpreter's to answer."""
    return (code == -signal.SIGINT and not told) or (
        "Traceback" in told and " in run\n" not in told
    )


def soak(kills: int, interrupts: int, *, seed: int = 0, names: list[str], n: int = 4000) -> int:
    """Send signals, print what came of it, and return how many runs went wrong."""
    # A shell lets what it starts in the background ignore interrupts: here they are meant.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = random.Random(seed)
    counts: Counter[tuple[str, str, str]] = Counter()
    wrong = 0
    folder = tempfile.mkdtemp()  # which a fork does not remove at its end
    try:
        ready = jobs(Path(folder), names, n)
        signals = [signal.SIGKILL] * kills + [signal.SIGINT] * interrupts
        rng.shuffle(signals)
        for number, sent in enumerate(signals):
            job, real = ready[number % len(ready)], rng.random() < REAL
            seconds = job.seconds[real]
            moment = seconds * (rng.random() if rng.random() < 0.5 else rng.uniform(LATE, 1.0))
            process = job.start(real=real)
            time.sleep(moment)
            os.kill(process, sent)  # it has not been waited for: its id is still its own
            code = wait(process)
            faults = ["hangs"] if code is None else job.faults(code, sent)
            told = (Path(folder) / "told").read_text(errors="replace")
            untouched = all(path.read_bytes() == OLD for path in job.outputs)
            if real and untouched and before_we_listen(code, told):
                outcome = "before we listen"
                faults = [fault for fault in faults if fault.startswith("out.")]
            else:
                outcome = {0: "was done", None: "hangs"}.get(code, f"ended with {code}")
            way = "command" if real else "fork"
            counts[f"{job.name}, {way}", sent.name, "WRONG" if faults else outcome] += 1
            if faults:
                wrong += 1
                told = (Path(folder) / "told").read_text(errors="replace")
                print(
                    f"{job.name} ({way}), {sent.name} at {moment:.3f} of {seconds:.3f} s: {faults}"
                )
                print(told[-2000:], flush=True)
            for name in job.left():  # what a process that was killed had begun to write
                (job.folder / name).unlink()
            if (number + 1) % 20 == 0:
                print(f"{number + 1} of {len(signals)}, {wrong} wrong", flush=True)
    finally:
        shutil.rmtree(folder)
    width = max(len(name) for name, _, _ in counts)
    for (name, sent_name, outcome), count in sorted(counts.items()):
        print(f"{name:<{width}}  {sent_name:<8} {outcome:<24} {count:>5}")
    print(f"{kills} killed, {interrupts} interrupted, {wrong} went wrong.")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--interrupts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--only", choices=COMMANDS, action="append")
    given = parser.parse_args()
    wrong = soak(
        given.kills,
        given.interrupts,
        seed=given.seed,
        names=given.only or list(COMMANDS),
        n=given.rows,
    )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
