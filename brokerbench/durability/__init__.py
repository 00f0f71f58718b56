"""Makes the table of what brokers keep: product, settings and topology under a kill and under power failures."""
