"""The columns of every table: events, the rows that Spark merges, and results."""
