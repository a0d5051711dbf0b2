"""`python -m evenscore`."""

from evenscore.cli.process import run

run()
