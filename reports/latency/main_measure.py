"""The latency that a report shows first: from due to received, or from sent to received after a closed load."""

from records.figures.latency import MEASURES
from records.figures.summary import Summary

DUE, SENT = "due_to_received", "sent_to_received"


def main_measure(summary: Summary) -> str:
    """Return the measure of `records.figures.latency.MEASURES` that charts and sentences are about."""
    measured = summary["latency_ms"]
    return SENT if DUE not in measured and SENT in measured else DUE


def measure_text(measure: str) -> str:
    """Return the measure in words, such as ``due → received``."""
    return MEASURES[measure].column


def start_clause(measure: str) -> str:
    """Return the beginning of the measure in a sentence: ``they were due``."""
    return "they were due" if measure == DUE else "they were sent"
