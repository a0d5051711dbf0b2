"""Random learning problems that are hard to learn, and how a fit to one of them is judged."""
