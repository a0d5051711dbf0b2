"""The page shell that reports share: one file, one style, no network."""
