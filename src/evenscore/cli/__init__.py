"""The `evenscore` command; one file per sub-command."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Import on first use: `process` listens to signals before the commands are imported."""
    if name == "app":
        from evenscore.cli.commands import app

        return app
    raise AttributeError(f"module 'evenscore.cli' has no attribute {name!r}")
