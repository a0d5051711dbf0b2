"""Files that were altered, and what becomes of whoever reads them."""
