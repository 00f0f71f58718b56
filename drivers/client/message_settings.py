"""Headers of a producer's messages: properties, time to live and priority."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

from drivers.contract import DEFAULT_PRIORITY, MessageHeaders
from records.loads.message_properties import NO_PROPERTIES, MessageProperties
from records.units import MS_PER_S

LOWEST, HIGHEST = 0, 9
LEAST_TIME_TO_LIVE_S = 0.001
MOST_TIME_TO_LIVE_S = 4_294_967  # AMQP has 32 bits of milliseconds for it: 49 days


@dataclass(frozen=True)
class MessageSettings:
    """Settings of one producer's messages. ValueError for values that no message can have.

    ``time_to_live_s``: None: messages never expire. A further attempt starts the time again, except with OpenWire,
    whose library sends the same message again.
    """

    properties: MessageProperties = NO_PROPERTIES
    time_to_live_s: float | None = None
    priority: int = DEFAULT_PRIORITY

    def __post_init__(self) -> None:
        if self.time_to_live_s is not None and not LEAST_TIME_TO_LIVE_S <= self.time_to_live_s <= MOST_TIME_TO_LIVE_S:
            raise ValueError(
                f"time_to_live_s = {self.time_to_live_s:g}: must be at least {LEAST_TIME_TO_LIVE_S:g} s, as "
                f"brokers take 0 for never, and at most {MOST_TIME_TO_LIVE_S:,} s; write None for messages that "
                "never expire"
            )
        if not LOWEST <= self.priority <= HIGHEST:
            raise ValueError(f"priority = {self.priority}: must lie between {LOWEST} and {HIGHEST}")

    @property
    def time_to_live_ms(self) -> int:
        """The time to live in milliseconds; 0 for never."""
        return round((self.time_to_live_s or 0) * MS_PER_S)

    def headers(self, seq: int) -> MessageHeaders:
        """Return the headers of the message with this number."""
        return self._headers[seq % len(self._headers)]

    @cached_property
    def _headers(self) -> tuple[MessageHeaders, ...]:
        return _shared_headers(str(self.properties), self.time_to_live_ms, self.priority)


@lru_cache(maxsize=256)
def _shared_headers(properties: str, time_to_live_ms: int, priority: int) -> tuple[MessageHeaders, ...]:
    """Return the headers of each message in a period. Producers with equal settings share them, so protocols encode
    each once.

    ``properties``: as text, in which 1, 1.0 and true differ.
    """
    read = MessageProperties.parse(properties)
    return tuple(MessageHeaders(read.of_message(number), time_to_live_ms, priority) for number in range(read.period))


PLAIN_MESSAGES = MessageSettings()
