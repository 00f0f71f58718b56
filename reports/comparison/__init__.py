"""Compares finished runs: arms, blocks, exact statistics, verdicts and one page. Does not start Spark."""
