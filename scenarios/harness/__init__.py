"""What do scenarios share? Everything that a locustfile needs beside its users comes from here."""

from scenarios.harness.checks import (
    duplicates_at_most,
    every_send_answered,
    no_acked_send_lost,
    no_send_refused,
    no_unconfirmed_send_missing,
    none_corrupted,
    none_stranded,
)
from scenarios.harness.lifecycle import run
from scenarios.harness.scenario import Hold, Scenario

__all__ = [
    "Hold",
    "Scenario",
    "duplicates_at_most",
    "every_send_answered",
    "no_acked_send_lost",
    "no_send_refused",
    "no_unconfirmed_send_missing",
    "none_corrupted",
    "none_stranded",
    "run",
]
