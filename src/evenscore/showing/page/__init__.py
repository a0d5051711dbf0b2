"""The page shell that report, trade-off and reproduction share: one file, one style, no network."""
