"""Everything that a locustfile needs beside its users."""

from scenarios.harness.checks import (
    duplicates_at_most,
    every_client_back,
    every_selected_message_received,
    every_send_answered,
    expired_at_most,
    no_acked_send_lost,
    no_send_refused,
    no_unconfirmed_send_missing,
    none_after_its_time_to_live,
    none_against_a_selector,
    none_corrupted,
    none_expired,
    none_stranded,
    none_withheld,
    sends_in_flight,
    some_rate_held,
    somebody_cut_off,
)
from scenarios.harness.lifecycle import run
from scenarios.harness.scenario import Hold, Scenario, Search, Steps

__all__ = [
    "Hold",
    "Scenario",
    "Search",
    "Steps",
    "duplicates_at_most",
    "every_client_back",
    "every_selected_message_received",
    "every_send_answered",
    "expired_at_most",
    "no_acked_send_lost",
    "no_send_refused",
    "no_unconfirmed_send_missing",
    "none_after_its_time_to_live",
    "none_against_a_selector",
    "none_corrupted",
    "none_expired",
    "none_stranded",
    "none_withheld",
    "run",
    "sends_in_flight",
    "some_rate_held",
    "somebody_cut_off",
]
