"""However a command ends, it does in one line and with a code that says why."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.making import often

from evenscore.cli import errors, process

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and pipes are POSIX's")

# A process whose only command is the text that is given: it need not import the real ones.
STUB = """
import os, signal, sys, types
from pathlib import Path

def app(prog_name):
{body}

def stop(number=signal.SIGINT):
    os.kill(os.getpid(), number)
    for _ in range(1000): pass

sys.modules["evenscore.cli.commands"] = types.SimpleNamespace(app=app)
from evenscore.cli.process import run, when_stopped
run()
"""


def ended(body, *, wrap="{}", **options):
    """The exit code of a command, what it printed and what it said."""
    code = STUB.format(body="\n".join(f"    {line}" for line in body.splitlines()))
    command = ["sh", "-c", wrap.format('"$0" -c "$1"'), sys.executable, code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("code", [0, 1, 2])
def test_a_command_ends_with_its_own_code(code):
    assert ended(f"print('told'); sys.exit({code})") == (code, "told\n", "")


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise KeyError", "KeyError"),
        (
            "def f(): f()\nf()",
            "RecursionError: maximum recursion depth exceeded",
        ),
        ("raise RuntimeError('two\\n\\nlines')", "RuntimeError: two lines"),
    ],
)
def test_an_unexpected_error_is_a_sentence_and_never_looks_like_a_gap(body, what):
    assert ended(body) == (
        3,
        "",
        f"Something went wrong that should not ({what}): this is a defect of evenscore, and "
        "EVENSCORE_TRACEBACK=1 before the command shows where it is.\n",
    )


def test_the_traceback_is_shown_if_wanted():
    code, _, said = ended("1 / 0", env={**os.environ, "EVENSCORE_TRACEBACK": "1"})
    assert code == 3
    assert said.startswith("Traceback")
    assert "in app" in said
    assert said.endswith("shows where it is.\n")


def test_too_little_memory_is_no_defect():
    assert ended("raise MemoryError") == (3, "", "There is not enough memory for this.\n")


# ---------------------------------------------------------------------- signals

SWALLOWED = """
class Told:
    def __del__(self): stop()
Told()
for _ in range(10**6): pass
"""
TRANSLATED = """
try: stop()
except KeyboardInterrupt: raise RuntimeError("Query interrupted")
"""
FOLLOWED = """
try: stop()
finally: 1 / 0
"""


@pytest.mark.parametrize(
    "body",
    [
        "stop()",
        SWALLOWED,
        TRANSLATED,
        FOLLOWED,
        "exec('stop()', globals())",
        "try: stop()\nfinally: stop()",
    ],
    ids=["plainly", "swallowed", "translated", "followed by an error", "in exec", "twice"],
)
def test_an_interruption_is_one_line_and_130(body):
    assert ended(body) == (130, "", "Interrupted.\n")


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [("SIGTERM", 143, "Terminated.\n"), ("SIGHUP", 129, "The terminal is gone.\n")],
)
def test_other_signals_that_end_a_process(name, code, said):
    if signal.getsignal(getattr(signal, name)) is signal.SIG_IGN:
        pytest.skip(f"{name} is ignored here, as under nohup")
    assert ended(f"stop(signal.{name})") == (code, "", said)


def test_an_interruption_while_modules_are_imported():
    code = (
        STUB.format(body="    pass")
        .replace("run()\n", "")
        .replace(
            'sys.modules["evenscore.cli.commands"] = types.SimpleNamespace(app=app)',
            "class Finder:\n"
            "    def find_spec(self, name, *more):\n"
            "        if name == 'evenscore.cli.commands':\n"
            "            try: stop()\n"
            "            except BaseException: pass  # as libraries do that can do without others\n"
            "sys.meta_path.insert(0, Finder())",
        )
    )
    done = subprocess.run([sys.executable, "-c", f"{code}\nrun()"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")


def test_nothing_slow_is_imported_before_signals_are_heard():
    code = "import sys, evenscore.cli.process; print({'numpy', 'typer', 'rich'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n"


def test_a_signal_that_is_ignored_stays_ignored():
    assert ended("stop(); print('done')", wrap="trap '' INT; {}") == (0, "done\n", "")


def test_what_is_half_written_is_removed(tmp_path):
    (tmp_path / "out.txt").write_text("old")
    body = """
from evenscore.files.atomic import replacing
when_stopped("What is finished is kept.")
with replacing("out.txt") as part:
    part.write_text("half")
    try: stop()
    finally: stop()  # no context is left in order
"""
    assert ended(body, cwd=tmp_path) == (130, "", "Interrupted. What is finished is kept.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert (tmp_path / "out.txt").read_text() == "old"


@pytest.mark.parametrize(
    "error", [ValueError("cannot be read: Interrupted!"), ImportError(), OSError()]
)
def test_what_fails_because_of_a_signal_is_no_bad_input(monkeypatch, error, capsys):
    @errors.command
    def failing() -> None:
        raise error

    monkeypatch.setattr(process._Process, "stopped_by", signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        failing()
    assert capsys.readouterr().err == ""


# ---------------------------------------------------------------------- streams

PLENTY = "for _ in range(10**5): print('plenty of text')"
RICH = "from rich.console import Console\nfor _ in range(10**4): Console().print('plenty of text')"


@pytest.mark.parametrize(
    "body", [PLENTY, RICH, "print('little')"], ids=["plenty", "rich", "little"]
)
def test_a_reader_that_leaves_is_no_error(body):
    body = f"import time; time.sleep(0.3)\n{body}"
    code, _, said = ended(body, wrap="({}; echo $? >&2) | true")
    assert (code, said) == (0, "141\n")


def test_closed_streams_are_no_error(tmp_path):
    body = """
file = open("out.txt", "w")
os.write(1, b"for nobody")
os.write(2, b"for nobody")
file.write("whole")
"""
    assert ended(body, wrap="{} >&- 2>&- <&-", cwd=tmp_path) == (0, "", "")
    assert (tmp_path / "out.txt").read_text() == "whole"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_output_that_finds_no_room_is_told():
    assert ended("print('told')", wrap="{} > /dev/full") == (
        2,
        "",
        "The output was not written: No space left on device.\n",
    )


def test_that_nobody_hears_a_sentence_is_no_reason_to_stop():
    body = "from evenscore.cli.errors import say\nsay('a'); say('b'); print('done')"
    for errors_to in ("&-", "/dev/full"):
        assert ended(body, wrap=f"{{}} 2> {errors_to}".replace("> &", ">&")) == (0, "done\n", "")


# ---------------------------------------------------------------------- the real command


@pytest.mark.slow
@pytest.mark.parametrize("module", ["evenscore", "evenscore.cli"])
def test_the_modules_are_the_command(module):
    command = [sys.executable, "-m", module, "--version"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("evenscore 0.")
    done = subprocess.run([*command[:3], "frobnicate"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("No such command 'frobnicate'")
    assert done.stderr.endswith("\nTry: evenscore --help\n")


@pytest.mark.slow
def test_a_few_random_moments():
    command = [sys.executable, ROOT / "benchmarks" / "fuzz_processes.py", "--only", "score csv"]
    n = often(3)
    more = ["--kills", str(n), "--interrupts", str(n), "--rows", "500"]
    done = subprocess.run([*command, *more], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{n} killed, {n} interrupted, 0 went wrong." in done.stdout
