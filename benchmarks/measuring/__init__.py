"""What the benchmarks of speed share: timing, ratios, the file they are kept in, and its page."""
