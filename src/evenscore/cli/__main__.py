"""`python -m evenscore.cli`."""

from evenscore.cli import app

app()
