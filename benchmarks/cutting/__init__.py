"""The parts of benchmarks/cuts.py."""
