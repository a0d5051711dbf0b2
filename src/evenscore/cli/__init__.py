"""The `evenscore` command; one file per sub-command."""

import io
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from evenscore import __version__
from evenscore.cli.audit import audit
from evenscore.cli.constraints import constraints
from evenscore.cli.demo import demo
from evenscore.cli.errors import GIVEN
from evenscore.cli.fit import fit
from evenscore.cli.plan import plan
from evenscore.cli.repair import repair
from evenscore.cli.reproduce import reproduce
from evenscore.cli.score import score
from evenscore.cli.tradeoff import tradeoff
from evenscore.cli.verify import verify


class _Remembering(TyperGroup):
    """Remembers what was asked: a report says it, and a refusal says what to ask instead."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        GIVEN.set(tuple(args))
        return super().make_context(info_name, args, *more, **extra)


app = typer.Typer(
    cls=_Remembering,
    help="Audit scores that rank people: are they fair between groups, and at which thresholds?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,  # they may hold data about people
)
for command in (audit, verify, fit, repair, score, tradeoff, plan, constraints, reproduce, demo):
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"evenscore {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options that come before a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a character it cannot show is no reason to stop
            stream.reconfigure(errors="replace")
