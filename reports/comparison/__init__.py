"""Compares finished runs: arms, blocks, exact statistics, verdicts and one page. Needs no Spark."""
