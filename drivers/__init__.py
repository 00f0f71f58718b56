"""Real clients of message brokers, one folder per protocol."""
