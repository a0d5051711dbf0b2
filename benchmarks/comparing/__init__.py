"""The parts of benchmarks/comparison.py; a worker `with_….py` is run by its package's Python."""
