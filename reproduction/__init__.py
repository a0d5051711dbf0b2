"""Makes the tables and figures of "Learning Fair Scoring Functions" (AISTATS 2021) again.

Run by `make reproduce`; the method itself is `evenscore.paper`. docs/paper.md says what was found.
"""
