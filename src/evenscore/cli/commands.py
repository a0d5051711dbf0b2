"""All commands, under one name and with one way to refuse what they are asked."""

import io
import logging
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from evenscore import __version__
from evenscore.cli.audit import audit
from evenscore.cli.constraints import constraints
from evenscore.cli.demo import demo
from evenscore.cli.errors import GIVEN, say
from evenscore.cli.fit import fit
from evenscore.cli.merge import merge
from evenscore.cli.plan import plan
from evenscore.cli.repair import repair
from evenscore.cli.score import score
from evenscore.cli.sql import sql
from evenscore.cli.tradeoff import tradeoff
from evenscore.cli.verify import verify

_UsageError: Any = typer.BadParameter.__base__  # typer has a click of its own, or not


class _Remembering(TyperGroup):
    """Remembers what was asked: a report says it, and a refusal says what to ask instead."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        GIVEN.set(tuple(args))
        return super().make_context(info_name, args, *more, **extra)

    def main(self, *arguments: Any, **more: Any) -> Any:
        """Refuse in one sentence, where typer would draw a box; codes are those of `process`."""
        try:
            code = super().main(*arguments, **{**more, "standalone_mode": False})
        except _UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help
                error.show()
                sys.exit(0)
            say(f"{error.format_message().rstrip('.')}.")
            say(f"Try: {getattr(error.ctx, 'command_path', 'evenscore')} --help")
            sys.exit(2)
        sys.exit(code or 0)


app = typer.Typer(
    cls=_Remembering,
    help="Audit scores that rank people: are they fair between groups, and at which thresholds?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,  # they may hold data about people
)
for command in (
    *(audit, verify, sql, merge),
    *(fit, repair, score, tradeoff, plan),
    *(constraints, demo),
):
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
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # where it keeps its fonts is its own
