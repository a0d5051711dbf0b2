"""However a command ends, it does in one line and with a code that says why."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evenscore.cli import errors, process

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and pipes are POSIX's")

# A process whose only command is the text that is given: it need not import the real ones.
STUB = """
import os, signal, sys, types
from pathlib import Path

def app(prog_name):
{body}

def stop():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000): pass

sys.modules["evenscore.cli.commands"] = types.SimpleNamespace(app=app)
from evenscore.cli.process import run
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
        ("raise KeyError", "(KeyError)"),
        ("raise RuntimeError('two\\n\\nlines')", "RuntimeError: two lines"),
        ("raise MemoryError", "memory"),
    ],
)
def test_an_unexpected_error_is_a_line_and_never_looks_like_a_gap(body, what):
    code, printed, said = ended(body)
    assert (code, printed, said.count("\n")) == (3, "", 1)
    assert what in said


def test_the_traceback_is_shown_if_wanted():
    code, _, said = ended("1 / 0", env={**os.environ, "EVENSCORE_TRACEBACK": "1"})
    assert code == 3
    assert said.startswith("Traceback")
    assert "in app" in said


# ---------------------------------------------------------------------- interruptions

TRANSLATED = """
try: stop()
except KeyboardInterrupt: raise RuntimeError("Query interrupted")
"""


@pytest.mark.parametrize(
    "body",
    ["stop()", TRANSLATED, "try: stop()\nfinally: 1 / 0"],
    ids=["plainly", "translated", "followed by an error"],
)
def test_an_interruption_is_one_line_and_130(body):
    assert ended(body) == (130, "", "Interrupted.\n")


def test_nothing_slow_is_imported_before_interruptions_are_answered():
    code = "import sys, evenscore.cli.process; print({'numpy', 'typer', 'rich'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n"


def test_a_signal_that_is_ignored_stays_ignored():
    assert ended("stop(); print('done')", wrap="trap '' INT; {}") == (0, "done\n", "")


def test_what_is_half_written_is_removed(tmp_path):
    (tmp_path / "out.txt").write_text("old")
    body = """
from evenscore.files.atomic import replacing
with replacing("out.txt") as part:
    part.write_text("half")
    stop()
"""
    assert ended(body, cwd=tmp_path) == (130, "", "Interrupted.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert (tmp_path / "out.txt").read_text() == "old"


def test_what_fails_because_of_an_interruption_is_no_bad_input(monkeypatch, capsys):
    monkeypatch.setattr(process._Process, "interrupted", True)
    for error in (ValueError("cannot be read: Interrupted!"), ImportError(), OSError()):

        @errors.command
        def failing(error: str = error) -> None:
            raise error

        with pytest.raises(KeyboardInterrupt):
            failing()
    assert capsys.readouterr().err == ""


# ---------------------------------------------------------------------- streams

PLENTY = "for _ in range(10**5): print('plenty of text')"
RICH = "from rich.console import Console\nfor _ in range(5000): Console().print('plenty of text')"


@pytest.mark.parametrize(
    "body", [PLENTY, RICH, "print('little')"], ids=["plenty", "rich", "little"]
)
def test_a_reader_that_leaves_is_no_error(body):
    body = f"import time; time.sleep(0.3)\n{body}"
    code, _, said = ended(body, wrap="({}; echo $? >&2) | true")
    assert (code, said) == (0, "141\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_output_that_finds_no_room_is_told():
    code, _, said = ended("print('told')", wrap="{} > /dev/full")
    assert (code, said.count("\n")) == (2, 1)
    assert "No space left" in said


def test_closed_streams_are_no_error():
    body = "from evenscore.cli.errors import say\nsay('a'); say('b'); print('done')"
    assert ended(body, wrap="{} 2>&-") == (0, "done\n", "")
    assert ended(body, wrap="{} >&- <&-") == (0, "", "a\nb\n")


# ---------------------------------------------------------------------- the real command


@pytest.mark.slow
def test_the_module_is_the_command():
    command = [sys.executable, "-m", "evenscore", "frobnicate"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'frobnicate'" in done.stderr
    assert done.stderr.endswith("\nTry: evenscore --help\n")


@pytest.mark.slow
def test_random_moments():
    """The real command, killed and interrupted: what it writes is whole or not there."""
    command = [sys.executable, ROOT / "benchmarks" / "fuzz_processes.py", "--only", "repair"]
    more = ["--kills", "1", "--interrupts", "1", "--rows", "200"]
    done = subprocess.run([*command, *more], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 killed, 1 interrupted, 0 went wrong." in done.stdout
