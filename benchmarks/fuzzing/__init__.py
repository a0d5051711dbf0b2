"""Made-up audits and calls, and naive answers to hold them against."""
