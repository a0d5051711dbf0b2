"""Made-up audits and calls, and files that were altered: what becomes of them."""
