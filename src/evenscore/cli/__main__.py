"""`python -m evenscore.cli`."""

from evenscore.cli.process import run

run()
