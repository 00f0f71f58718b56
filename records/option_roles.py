"""Declares how comparisons treat the options of a run, by their fields under ``options`` in run.json.

An option that is not named here is a condition: the compared runs must have the same value. The options in ARM_FIELDS
may vary. The options in SAID_BY_USERS and NO_CONDITIONS are not conditions.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from records.run import BROKER_VERSIONS

OF_THE_BROKERS = tuple(f"versions.{name}" for name in BROKER_VERSIONS)


@dataclass(frozen=True)
class ArmField:
    """A field that may differ between the arms of a comparison.

    ``names_arm``: its value alone names an arm, without the field. ``same_for_all_scenarios``: if other fields make the
    arms, runs of all scenarios on a page have the same value. ``versions``: the prefixes of the conditions that may
    differ with it.
    """

    names_arm: bool = False
    same_for_all_scenarios: bool = False
    versions: tuple[str, ...] = ()


ARM_FIELDS: Mapping[str, ArmField] = {
    "topology": ArmField(names_arm=True),
    "protocol": ArmField(names_arm=True, same_for_all_scenarios=True),
    "failover": ArmField(),
    "link": ArmField(names_arm=True),
    "runtime": ArmField(names_arm=True, same_for_all_scenarios=True),
    "image": ArmField(names_arm=True, same_for_all_scenarios=True, versions=(*OF_THE_BROKERS, "versions.java")),
    "broker_version": ArmField(same_for_all_scenarios=True, versions=OF_THE_BROKERS),
    "distribution": ArmField(same_for_all_scenarios=True, versions=OF_THE_BROKERS),
    "connections": ArmField(),
    "destinations": ArmField(),
    "uris": ArmField(),
    "arrivals": ArmField(),
    "transaction_size": ArmField(),
    "in_flight": ArmField(),
    "body_bytes": ArmField(),
    "durable": ArmField(),
    "prefetch": ArmField(),
    "work_ms": ArmField(),
    "broker_memory_mb": ArmField(),
    "broker_cpus": ArmField(),
    "client_version": ArmField(versions=("versions.openwire client", "versions.core client")),
    "overlay": ArmField(same_for_all_scenarios=True),
    "unset_defaults": ArmField(same_for_all_scenarios=True),
    "disk_mb": ArmField(),
}
"""Fields that may differ between the runs of a comparison, one at a time.

The first that differs defines the arms. ``durable`` is a setting of user classes; all others are options.
"""

SAID_BY_USERS = frozenset(
    (
        *("rate", "producers", "consumers", "body_bytes", "in_flight", "connections", "pool_size", "uris"),
        *("destinations", "transaction_size", "prefetch", "work_ms", "properties", "time_to_live_s"),
        *("message_priority", "selector", "arrivals"),
    )
)
"""Options that set user classes: ``users`` in run.json has the counts and settings that were used."""

NO_CONDITIONS = frozenset(
    (
        *("seed", "load_s", "base_port", "keep_data", "start_timeout_s", "runs", "spark_master", "analyse_later"),
        *("session", "block", "order", "control", "overlay_digest", "empty_queues"),
    )
)
"""Options that change no figure, or that are compared in another way: the length of the load, and an overlay's
content. The files next to a report are not conditions either: `reports.other_files`."""
