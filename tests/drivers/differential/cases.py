"""Lists the URIs that are given to both clients, and the ports that each URI leads to.

``{A}`` … ``{D}`` are replaced with the ports' URIs, and ``{file}`` with a file of brokers. Other words in braces are
options that the two clients name differently. Delays are at least 100 ms, and so is the difference between two steps of
a back-off: a wrong step is far outside the tolerance. A port that begins to listen between two polls does so late in
that pause, since clients on a busy machine are late and never early.
"""

from dataclasses import dataclass

from tests.drivers.differential.ports import DEAD, FULL, LIVE, SILENT, Port

ONCE = Port(listens_from_s=0.0, closes_after_s=0.25)
BRIEFLY = Port(listens_from_s=0.0, closes_after_s=0.25, refuses_for_s=1.0)
DROPS = Port(listens_from_s=0.0, closes_after_s=0.25, refuses_for_s=0.0)
STEADY = "randomize=false&"


@dataclass(frozen=True)
class DifferentialCase:
    """One URI, the ports behind it, and the number of events that are compared (all if a client gives up).

    ``file``: the content of the file of brokers. ``connect_timeout_s``: limits each attempt of our client; the Java
    client's URI contains it. ``send_at_s``: the time of a send, whose blocking is compared.
    """

    name: str
    uri: str
    ports: dict[str, Port]
    events: int
    file: str = ""
    connect_timeout_s: float = 10.0
    send_at_s: float | None = None


def _all(port: Port, letters: str) -> dict[str, Port]:
    return dict.fromkeys(letters, port)


QUICK = (
    DifferentialCase(
        "a plain list",
        "failover:({A},{B},{C})?" + STEADY + "initialReconnectDelay=100&maxReconnectAttempts=3",
        _all(DEAD, "ABC"),
        10,
    ),
    DifferentialCase("all defaults but the order", "failover:({A},{B})?randomize=false", {"A": DEAD, "B": LIVE}, 3),
    DifferentialCase(
        "the first delay",
        "failover:({A})?initialReconnectDelay=400&maxReconnectAttempts=2",
        {"A": DEAD},
        3,
    ),
    DifferentialCase(
        "a delay of its own until the first connection",
        "failover:({A})?reconnectDelay=400&initialReconnectDelay=100&maxReconnectAttempts=3",
        {"A": DEAD},
        4,
    ),
    DifferentialCase(
        "no first delay",
        "failover:({A},{B})?" + STEADY + "initialReconnectDelay=0&maxReconnectAttempts=3",
        _all(DEAD, "AB"),
        7,
    ),
    DifferentialCase(
        "no exponential back-off",
        "failover:({A})?initialReconnectDelay=200&useExponentialBackOff=false&maxReconnectAttempts=4",
        {"A": DEAD},
        5,
    ),
    DifferentialCase(
        "another exponent",
        "failover:({A})?initialReconnectDelay=100&reconnectDelayExponent=3&maxReconnectAttempts=4",
        {"A": DEAD},
        5,
    ),
    DifferentialCase(
        "a fraction as exponent",
        "failover:({A})?initialReconnectDelay=300&reconnectDelayExponent=1.5&maxReconnectAttempts=4",
        {"A": DEAD},
        5,
    ),
    DifferentialCase(
        "a longest delay",
        "failover:({A})?initialReconnectDelay=100&maxReconnectDelay=300&maxReconnectAttempts=6",
        {"A": DEAD},
        7,
    ),
    DifferentialCase(
        "a longest delay below the first",
        "failover:({A})?initialReconnectDelay=400&maxReconnectDelay=100&maxReconnectAttempts=4",
        {"A": DEAD},
        5,
    ),
    DifferentialCase(
        "no attempt but the first", "failover:({A},{B})?" + STEADY + "maxReconnectAttempts=0", _all(DEAD, "AB"), 3
    ),
    DifferentialCase(
        "no attempt after a loss", "failover:({A},{B})?" + STEADY + "maxReconnectAttempts=0", {"A": ONCE, "B": LIVE}, 4
    ),
    DifferentialCase(
        "attempts at start and later",
        "failover:({A},{B})?"
        + STEADY
        + "initialReconnectDelay=100&startupMaxReconnectAttempts=2&maxReconnectAttempts=4",
        _all(DEAD, "AB"),
        5,
    ),
    DifferentialCase(
        "attempts after a connection",
        "failover:({A},{B})?"
        + STEADY
        + "initialReconnectDelay=100&startupMaxReconnectAttempts=1&maxReconnectAttempts=3",
        {"A": ONCE, "B": DEAD},
        10,
    ),
    DifferentialCase(
        "the lost one last",
        "failover:({A},{B},{C})?" + STEADY + "initialReconnectDelay=200",
        {"A": ONCE, "B": DEAD, "C": LIVE},
        6,
    ),
    DifferentialCase(
        "back to the same one",
        "failover:({A})?initialReconnectDelay=300&maxReconnectDelay=1200",
        {"A": BRIEFLY},
        8,
    ),
    DifferentialCase(
        "lost again and again",
        "failover:({A},{B})?" + STEADY + "initialReconnectDelay=200",
        _all(DROPS, "AB"),
        9,
    ),
    DifferentialCase(
        "nested options keep the place",
        "failover:({A},{B})?" + STEADY + "initialReconnectDelay=100&maxReconnectAttempts=2&{nested}",
        {"A": ONCE, "B": DEAD},
        8,
    ),
    DifferentialCase(
        "one that neither accepts nor refuses",
        "failover:({A}{half_a_second},{B})?" + STEADY + "initialReconnectDelay=100&maxReconnectAttempts=2",
        {"A": FULL, "B": DEAD},
        5,
        connect_timeout_s=0.5,
    ),
    DifferentialCase(
        "a better broker comes back",
        "failover:({A},{B})?" + STEADY + "initialReconnectDelay=100&priorityBackup=true",
        {"A": Port(listens_from_s=0.65), "B": LIVE},
        7,
    ),
    DifferentialCase(
        "the better brokers by name",
        "failover:({A},{B})?" + STEADY + "initialReconnectDelay=100&priorityBackup=true&priorityURIs={B}",
        {"A": LIVE, "B": Port(listens_from_s=0.65)},
        6,
    ),
    DifferentialCase(
        "lost while a better one is away",
        "failover:({A},{B})?" + STEADY + "initialReconnectDelay=100&priorityBackup=true&maxReconnectAttempts=1",
        {"A": DEAD, "B": Port(listens_from_s=0.0, closes_after_s=0.55)},
        10,
    ),
    DifferentialCase(
        "lost by the better one",
        "failover:({A},{B})?" + STEADY + "initialReconnectDelay=200&priorityBackup=true",
        {"A": ONCE, "B": LIVE},
        6,
    ),
    DifferentialCase(
        "a file of further brokers",
        "failover:({A})?" + STEADY + "initialReconnectDelay=100&maxReconnectAttempts=2&updateURIsURL={file}",
        _all(DEAD, "ABC"),
        7,
        file="{B},{C}",
    ),
    DifferentialCase(
        "the lost one in the file",
        "failover:({A},{B})?" + STEADY + "initialReconnectDelay=100&maxReconnectAttempts=2&updateURIsURL={file}",
        {"A": DEAD, "B": ONCE},
        8,
        file="{B}\n",
    ),
    DifferentialCase(
        "an unread file",
        "failover:({A},{B})?" + STEADY + "maxReconnectAttempts=1&updateURIsSupported=false&updateURIsURL={file}",
        _all(DEAD, "ABC"),
        3,
        file="{C}",
    ),
    DifferentialCase(
        "a send without a broker",
        "failover:({A})?initialReconnectDelay=100&maxReconnectDelay=100&timeout=500",
        {"A": ONCE},
        6,
        send_at_s=0.6,
    ),
)
TELLING_NAMES = {
    "a plain list",
    "a fraction as exponent",
    "no attempt after a loss",
    "the lost one last",
    "nested options keep the place",
    "a better broker comes back",
    "lost while a better one is away",
    "a file of further brokers",
}
TELLING = tuple(case for case in QUICK if case.name in TELLING_NAMES)
"""Cases that cover many rules of the schedule, and are played for each change. The others are played every night."""
OTHERS = tuple(case for case in QUICK if case not in TELLING)
SLOW = (
    DifferentialCase(
        "one that accepts and is silent",
        "failover:({A},{B},{C})?" + STEADY + "initialReconnectDelay=100",
        {"A": ONCE, "B": SILENT, "C": LIVE},
        6,
        connect_timeout_s=10.0,
    ),
    DifferentialCase(
        "the default delays",
        "failover:({A},{B})?" + STEADY + "maxReconnectAttempts=11",
        _all(DEAD, "AB"),
        23,
    ),
    DifferentialCase(
        "a better broker after a long absence",
        "failover:({A},{B})?" + STEADY + "initialReconnectDelay=500&priorityBackup=true",
        {"A": Port(listens_from_s=5.5), "B": LIVE},
        8,
    ),
)
JAVA_WORDS = {"nested": "nested.soTimeout=0", "half_a_second": "?connectionTimeout=500"}
OUR_WORDS = {
    "stomp": {"nested": "nested.heartbeat_ms=0", "half_a_second": ""},
    "amqp": {"nested": "nested.idle_timeout_ms=0", "half_a_second": ""},
}
REFUSED = ("backOffMultiplier=2", "noSuchOption=1", "maxReconnectAttempts=many")
ROUND_S, SLOW_ROUND_S = 3.2, 18.0
