"""Files: CSV and Parquet through DuckDB, writing whole or not at all, stored models."""
