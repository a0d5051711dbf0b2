"""Results shown: numbers, terminal, plots, the HTML report, notebooks."""
