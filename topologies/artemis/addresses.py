"""Models how an Artemis broker treats the addresses that match a pattern, and which it has from the start.

Defaults are those of Artemis 2.44.0 unless a comment says otherwise.
"""

from dataclasses import dataclass
from typing import ClassVar

from topologies.model.broker import MIB
from topologies.model.validity import (
    require_at_least,
    require_between,
    require_choice,
    require_limit,
    require_plain,
)

DEAD_LETTERS, EXPIRED = "DLQ", "ExpiryQueue"


@dataclass(frozen=True)
class AddressSetting:
    """Settings of every address that ``match`` matches (``#`` is any words, ``*`` one word)."""

    KEY: ClassVar[tuple[str, ...]] = ("match",)

    match: str = "#"
    dead_letter_address: str = DEAD_LETTERS  # as `artemis create` writes; 2.44.0's own is none: a message would vanish
    expiry_address: str = EXPIRED
    max_delivery_attempts: int = 10
    redelivery_delay_ms: int = 0
    redelivery_delay_multiplier: float = 1.0
    redelivery_collision_avoidance_factor: float = 0.0
    max_redelivery_delay_ms: int = 0  # 0: ten times the delay
    max_size_bytes: int = -1  # of one address; -1: only the broker's own limit holds
    max_size_messages: int = -1
    address_full_policy: str = "PAGE"  # PAGE | BLOCK | FAIL | DROP
    page_size_bytes: int = 10 * MIB
    max_read_page_messages: int = -1
    max_read_page_bytes: int = 20 * MIB
    redistribution_delay_ms: int = (
        -1
    )  # after the last consumer left, in a cluster; -1: never, messages stay where they are
    auto_create_queues: bool = True
    auto_create_addresses: bool = True
    # Not 2.44.0's true: a queue that goes takes its counters with it.
    auto_delete_queues: bool = False
    auto_delete_addresses: bool = False
    # Not 2.44.0's MULTICAST: messages that a link brings here before any client must go to a queue. ANYCAST |
    # MULTICAST, of an address where a client does not say. Of its queues the broker decides: ANYCAST for them too, and
    # by STOMP a topic's subscriber would get nothing.
    default_routing: str = "ANYCAST"
    default_consumer_window_bytes: int = 1 * MIB
    default_max_consumers: int = -1
    default_exclusive: bool = False
    default_last_value: bool = False
    default_purge_on_no_consumers: bool = False
    send_to_dead_letters_on_no_route: bool = False
    slow_consumer_threshold: int = -1
    slow_consumer_policy: str = "NOTIFY"  # NOTIFY | KILL
    id_cache_size: int = 20_000
    # The part of a body that management shows: enough to identify the message (32 bytes), with any prefix.
    management_message_attribute_size_limit: int = 256
    management_browse_page_size: int = 200

    def __post_init__(self) -> None:
        of = f"address setting {self.match!r}"
        require_plain(
            of, match=self.match, dead_letter_address=self.dead_letter_address, expiry_address=self.expiry_address
        )
        if not self.match.strip():
            require_choice(of, ("#", "an address"), match=self.match)
        require_choice(of, ("PAGE", "BLOCK", "FAIL", "DROP"), address_full_policy=self.address_full_policy)
        require_choice(of, ("ANYCAST", "MULTICAST"), default_routing=self.default_routing)
        require_choice(of, ("NOTIFY", "KILL"), slow_consumer_policy=self.slow_consumer_policy)
        require_limit(
            of,
            max_delivery_attempts=self.max_delivery_attempts,
            max_size_bytes=self.max_size_bytes,
            max_size_messages=self.max_size_messages,
            max_read_page_messages=self.max_read_page_messages,
            default_max_consumers=self.default_max_consumers,
            slow_consumer_threshold=self.slow_consumer_threshold,
        )
        require_between(of, 0, 1, redelivery_collision_avoidance_factor=self.redelivery_collision_avoidance_factor)
        require_at_least(
            of, -1,
            redistribution_delay_ms=self.redistribution_delay_ms,
            default_consumer_window_bytes=self.default_consumer_window_bytes,
        )  # fmt: skip
        require_at_least(
            of, 0,
            redelivery_delay_ms=self.redelivery_delay_ms, max_redelivery_delay_ms=self.max_redelivery_delay_ms,
            redelivery_delay_multiplier=self.redelivery_delay_multiplier, id_cache_size=self.id_cache_size,
        )  # fmt: skip
        require_at_least(
            of, 1,
            page_size_bytes=self.page_size_bytes, max_read_page_bytes=self.max_read_page_bytes,
            management_browse_page_size=self.management_browse_page_size,
            management_message_attribute_size_limit=self.management_message_attribute_size_limit,
        )  # fmt: skip


DEFAULT_ADDRESS_SETTINGS = (AddressSetting(),)


@dataclass(frozen=True)
class Address:
    """An address that is there from the start, with a queue of its own name or of ``queue``; a topic has none."""

    KEY: ClassVar[tuple[str, ...]] = ("name",)

    name: str
    routing: str = "ANYCAST"  # ANYCAST | MULTICAST
    queue: str = ""  # anycast: the queue's name, where it is another

    def __post_init__(self) -> None:
        of = f"address {self.name!r}"
        require_plain(of, name=self.name, queue=self.queue)
        if not self.name.strip():
            require_choice(of, ("a name",), name=self.name)
        require_choice(of, ("ANYCAST", "MULTICAST"), routing=self.routing)

    @property
    def queues(self) -> tuple[str, ...]:
        """Names of the queues to be made with it."""
        return (self.queue or self.name,) if self.routing == "ANYCAST" else ()
