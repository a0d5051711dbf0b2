"""Bad input is answered in one sentence, with exit code 2; warnings in one sentence each.

What else may end a command, `process` answers.
"""

import inspect
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import is_dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.control import strip_control_codes
from rich.status import Status
from rich.text import Text

from evenscore.cli.process import interrupted
from evenscore.files.opening import AdvisedError

GIVEN: ContextVar[tuple[str, ...]] = ContextVar("GIVEN", default=())
"""The arguments of this command line."""


def say(sentence: str, *, quiet: bool = False) -> None:
    """Write to standard error, exactly and in one line; nothing where there is nothing to say."""
    text = strip_control_codes(" ".join(sentence.split()))
    if text and not quiet and sys.stderr is not None:  # it is None if the stream is closed
        with suppress(OSError):  # that nobody hears it is no reason to stop
            print(text, file=sys.stderr)


def say_outcome(sentence: str, *, quiet: bool = False) -> None:
    """Write to standard output, exactly and in one line."""
    Console(quiet=quiet).print(sentence, markup=False, highlight=False, soft_wrap=True)


def working(what: str, *, quiet: bool = False) -> Status:
    """Show on a terminal what is being done; names in it are no markup."""
    return Console(stderr=True, quiet=quiet).status(Text(what))


def say_written(*paths: Path | None, quiet: bool, more: str = "") -> None:
    """Say on standard output which files were written, and `more` about them."""
    for path in filter(None, paths):
        say_outcome(f"Written: {path}{more}", quiet=quiet)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A command for typer, which ends with exit code 2 and a sentence where its input is at fault.

    Options that belong together are one dataclass of the function: typer sees its fields.
    """
    parameters = inspect.signature(function).parameters
    fields = {
        name: inspect.signature(parameters[name].annotation).parameters
        for name in parameters
        if is_dataclass(parameters[name].annotation)
    }

    @wraps(function)
    def run(**options: Any) -> None:
        try:
            _check_text(options.values())
            for name in fields:
                part = {field: options.pop(field) for field in fields[name]}
                options[name] = parameters[name].annotation(**part)
            return function(**options)
        except BrokenPipeError:  # whoever read our output has left
            raise
        except (ValueError, ImportError, OSError) as error:
            if interrupted():  # which libraries tell in words of their own
                raise KeyboardInterrupt from None
            say(_sentence(error))
            for way in _ways(error):
                say(f"Try: {way}")
            raise typer.Exit(2) from None

    flat = [
        one
        for name, parameter in parameters.items()
        for one in (fields[name].values() if name in fields else [parameter])
    ]
    by_name = [one.replace(kind=one.KEYWORD_ONLY) for one in flat]
    required_first = sorted(by_name, key=lambda one: one.default is not one.empty)
    run.__signature__ = inspect.Signature(required_first)  # type: ignore[attr-defined]
    return run


def _check_text(values: Iterable[Any]) -> None:
    """Refuse bytes that are no text: they could be neither said nor stored."""
    for value in values:
        for one in map(str, value if isinstance(value, list) else [value]):
            if not one.isascii() and any("\ud800" <= character <= "\udfff" for character in one):
                raise ValueError(f"{one!r} is not UTF-8 text: name it otherwise.")


def _sentence(error: Exception) -> str:
    """What is wrong with the input, or with the place to write to."""
    if isinstance(error, OSError):
        named = error.filename is not None and error.strerror
        return f"{error.filename}: {error.strerror}." if named else f"{error.strerror or error}."
    return str(error)


def command_line() -> str:
    """The command as it was given, as one line for a shell."""
    return shlex.join(["evenscore", *GIVEN.get()])


def _ways(error: Exception) -> Iterable[str]:
    """The command lines that would not be refused so: other names, or more options."""
    if not isinstance(error, AdvisedError):
        return
    given = ["evenscore", *(_renamed(one, error.instead) for one in GIVEN.get())]
    if GIVEN.get() and (error.instead or error.options):
        for options in error.options or ((),):
            yield shlex.join([*given, *options])


def _renamed(argument: str, instead: dict[str, str]) -> str:
    """An argument, or the names in one such as --features=a,b, by other names."""
    option, equals, value = argument.rpartition("=") if argument[:2] == "--" else ("", "", argument)
    if value in instead:
        return f"{option}{equals}{instead[value]}"
    parts = (instead.get(part.strip(), part) for part in value.split(","))
    return f"{option}{equals}{','.join(parts)}"


@contextmanager
def sentences(*, quiet: bool = False) -> Iterator[None]:
    """Say what the library warns of, each warning once and in one sentence."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    texts = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
    for sentence in dict.fromkeys(texts):
        say(f"Note: {sentence}", quiet=quiet)
