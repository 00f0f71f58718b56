"""Writes, seals and reads the folder of a run: its events, as processes record them, and its results."""
