"""Models how an Artemis broker treats addresses that match a pattern, and its predefined addresses.

Defaults are from Artemis 2.44.0 unless a comment says otherwise.
"""

from dataclasses import dataclass
from typing import ClassVar

from topologies.model.broker import MIB
from topologies.model.validity import choice, limit, number, plain, require_choice, require_plain, require_rules

DEAD_LETTERS, EXPIRED = "DLQ", "ExpiryQueue"
TIMES_OF_DELAY = 10
"""The longest delay before a redelivery, in multiples of the first one, if no other limit is set."""


@dataclass(frozen=True)
class AddressSetting:
    """Settings for every address that ``match`` matches (``#`` matches any words, ``*`` one word)."""

    KEY: ClassVar[tuple[str, ...]] = ("match",)

    match: str = plain("#")
    # As written by `artemis create`; 2.44.0's default is none, and messages would vanish.
    dead_letter_address: str = plain(DEAD_LETTERS)
    expiry_address: str = plain(EXPIRED)
    max_delivery_attempts: int = limit(10)
    redelivery_delay_ms: int = number(0, least=0)
    redelivery_delay_multiplier: float = number(1.0, least=0)
    redelivery_collision_avoidance_factor: float = number(0.0, least=0, most=1)
    max_redelivery_delay_ms: int = number(0, least=0)  # 0: TIMES_OF_DELAY times the delay
    max_size_bytes: int = limit(-1)  # of one address; -1: only the broker's limit applies
    max_size_messages: int = limit(-1)
    address_full_policy: str = choice("PAGE", "BLOCK", "FAIL", "DROP")
    page_size_bytes: int = number(10 * MIB, least=1)
    max_read_page_messages: int = limit(-1)
    max_read_page_bytes: int = number(20 * MIB, least=1)
    # After the last consumer left, in a cluster; -1: never, messages stay where they are.
    redistribution_delay_ms: int = number(-1, least=-1)
    auto_create_queues: bool = True
    auto_create_addresses: bool = True
    # Not 2.44.0's true: a deleted queue loses its counters.
    auto_delete_queues: bool = False
    auto_delete_addresses: bool = False
    # Not 2.44.0's MULTICAST: messages that a link brings here before any client must go to a queue. Values: ANYCAST |
    # MULTICAST. Applies to addresses if the client does not choose. For queues the broker chooses: a default of ANYCAST
    # for them too would leave a topic's STOMP subscriber without messages.
    default_routing: str = choice("ANYCAST", "MULTICAST")
    default_consumer_window_bytes: int = number(1 * MIB, least=-1)
    default_max_consumers: int = limit(-1)
    default_exclusive: bool = False
    default_last_value: bool = False
    default_purge_on_no_consumers: bool = False
    send_to_dead_letters_on_no_route: bool = False
    slow_consumer_threshold: int = limit(-1)
    slow_consumer_policy: str = choice("NOTIFY", "KILL")
    id_cache_size: int = number(20_000, least=0)
    # The part of a body that management returns: enough to identify the message (32 bytes), with any prefix.
    management_message_attribute_size_limit: int = number(256, least=1)
    management_browse_page_size: int = number(200, least=1)

    @property
    def longest_delay_ms(self) -> float:
        """The longest time before a message moves to another broker's consumer, or is delivered again."""
        again_ms: float = self.redelivery_delay_ms
        if self.redelivery_delay_multiplier > 1:
            again_ms = self.max_redelivery_delay_ms or TIMES_OF_DELAY * self.redelivery_delay_ms
        return max(self.redistribution_delay_ms, again_ms * (1 + self.redelivery_collision_avoidance_factor))

    def __post_init__(self) -> None:
        subject = f"address setting {self.match!r}"
        require_rules(subject, self)
        if not self.match.strip():
            require_choice(subject, ("#", "an address"), match=self.match)


DEFAULT_ADDRESS_SETTINGS = (AddressSetting(),)


@dataclass(frozen=True)
class Address:
    """A predefined address, with a queue of the same name or named ``queue``; a topic has no queue."""

    KEY: ClassVar[tuple[str, ...]] = ("name",)

    name: str
    routing: str = choice("ANYCAST", "MULTICAST")
    queue: str = ""  # anycast: the queue's name, if it differs

    def __post_init__(self) -> None:
        subject = f"address {self.name!r}"
        require_plain(subject, name=self.name, queue=self.queue)
        if not self.name.strip():
            require_choice(subject, ("a name",), name=self.name)
        require_rules(subject, self)

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of the queues to create with the address."""
        return (self.queue or self.name,) if self.routing == "ANYCAST" else ()
