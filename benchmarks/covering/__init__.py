"""The parts of coverage.py: laws and draws, the tally, and a module for each kind of statement."""
