"""Bad input is answered in one sentence, with exit code 2; warnings in one sentence each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from rich.console import Console

if TYPE_CHECKING:
    from evenscore.tables import People

__all__ = ["one_sentence", "say", "say_dropped", "sentences"]

Command = TypeVar("Command", bound=Callable[..., Any])


def say(sentence: str) -> None:
    """Write to standard error, exactly and in one line."""
    Console(stderr=True).print(
        " ".join(sentence.split()), markup=False, highlight=False, soft_wrap=True
    )


def say_dropped(people: People, *, quiet: bool) -> None:
    """Say how many rows lacked a value, if any did."""
    if people.dropped and not quiet:
        say(f"{people.dropped:,} of {people.total:,} rows lack a value and were left out.")


def one_sentence(command: Command) -> Command:
    """A command that ends with exit code 2 and a sentence where its input is at fault."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except (ValueError, ImportError) as error:
            say(str(error))
            raise typer.Exit(2) from error
        except BrokenPipeError:  # whoever read our output has left: click ends quietly
            raise
        except OSError as error:
            say(_of_system(error))
            raise typer.Exit(2) from error
        except MemoryError as error:
            say("There is not enough memory for this file.")
            raise typer.Exit(2) from error
        except KeyboardInterrupt:
            say("Interrupted.")
            raise typer.Exit(130) from None

    return run  # type: ignore[return-value]


def _of_system(error: OSError) -> str:
    if error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}."
    return f"{error}."


@contextmanager
def sentences(*, quiet: bool = False) -> Iterator[None]:
    """Say what the library warns of, each warning once and in one sentence."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    if not quiet:
        told = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
        for sentence in dict.fromkeys(told):
            say(f"Note: {sentence}")
