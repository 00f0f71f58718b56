"""Checks what a Classic broker's log shows about its bridges, with lines that 5.18.3 logged."""

from tests.topologies.samples import site_of
from topologies.catalogue.lookup import build
from topologies.classic.link_log import attempts, called_addresses, connected_pattern, give_up_pattern
from topologies.model.management import LinkAttempt, Outcome
from topologies.runtimes.prepared import render

CALLED = "127.0.0.1:18652"
URI = f"tcp://{CALLED}?wireFormat.maxInactivityDuration=30000"
GAVE_UP = (
    f"Reconnect attempts exceeded 4 tries.  Reconnecting has been disabled for: [{URI}, failed:true,"
    " connectionFailures:4]"
)
ESTABLISHING = f"DiscoveryNetworkConnector [ActiveMQ Task-1] Establishing network connection from vm://source to {URI}"
FAILED = (
    "DiscoveryNetworkConnector [ActiveMQ Task-1] Could not start network bridge between: vm://source and:"
    f" {URI} due to: Connection refused"
)
LOG = f"""\
Loading message broker from: xbean:activemq.xml
2026-11-29T00:45:58.954Z INFO  {ESTABLISHING}
2026-11-29T00:45:59.118Z INFO  TransportConnector [main] Connector vm://source started
2026-11-29T00:45:59.316Z INFO  DemandForwardingBridgeSupport [triggerStartAsyncNetworkBridgeCreation: remoteBroker=tcp:\
///{CALLED}@59846, localBroker= vm://source#0] Network connection between vm://source#0 and tcp:///{CALLED}@59846 \
(sink) has been established.
2026-11-29T00:46:12.950Z INFO  DemandForwardingBridgeSupport [ActiveMQ Transport: tcp:///{CALLED}@59846] Network \
connection between vm://source#0 and tcp:///{CALLED}@59846 shutdown due to a local error: \
org.apache.activemq.transport.TransportDisposedIOException: Disposed due to prior exception
2026-11-29T00:46:13.455Z INFO  {ESTABLISHING}
2026-11-29T00:46:13.460Z WARN  {FAILED}
2026-11-29T00:46:14.461Z INFO  {ESTABLISHING}
2026-11-29T00:46:14.466Z WARN  SimpleDiscoveryAgent [ActiveMQ Task-1] {GAVE_UP}
""".splitlines()


def test_each_attempt_has_its_time_and_its_result() -> None:
    first_ns = 1_795_913_158_954_000_000
    assert attempts(LOG, [CALLED]) == [
        LinkAttempt(first_ns, "connected", Outcome.CONNECTED),
        LinkAttempt(first_ns + 14_501_000_000, "Connection refused", Outcome.FAILED),
        LinkAttempt(first_ns + 15_507_000_000),
    ]


def test_attempts_of_the_failover_transport_are_found_too() -> None:
    both = f"{URI}, tcp://127.0.0.1:23074?wireFormat.maxInactivityDuration=30000"
    log = f"""\
2026-11-29T01:30:04.278Z INFO  {ESTABLISHING}
2026-11-29T01:30:04.287Z ERROR FailoverTransport [ActiveMQ Task-1] Failed to connect to [{both}] after: 1 attempt(s)
2026-11-29T01:30:18.497Z INFO  FailoverTransport [ActiveMQ Task-2] Successfully reconnected to {URI}
"""
    failed, again = attempts(log.splitlines(), [CALLED])
    assert failed.result == "no broker could be reached"
    assert again.result == "its failover transport connected again, below the bridge"
    assert (failed.outcome, again.outcome) == (Outcome.FAILED, Outcome.CONNECTED)
    assert again.at_ns - failed.at_ns == 14_219_000_000


def test_other_addresses_and_longer_ports_are_not_meant() -> None:
    for other in (["127.0.0.1:1865"], ["127.0.0.1:8652"], ["127.0.0.2:18652"], []):
        assert attempts(LOG, other) == []
        assert not give_up_pattern("any", other).search("\n".join(LOG))
        assert not connected_pattern("any", other).search("\n".join(LOG))


def test_the_last_attempt_is_the_one_after_which_the_agent_gave_up() -> None:
    assert give_up_pattern("any", ["127.0.0.1:1", CALLED]).findall("\n".join(LOG)) == [GAVE_UP]


def test_addresses_are_those_in_the_uri_of_the_link() -> None:
    for topology, expected in {
        "source-and-sink": ("127.0.0.1:40003",),
        "source-and-sink(sink_standby=True)": ("127.0.0.1:40003", "127.0.0.1:40006"),
    }.items():
        built = build(topology)
        site = site_of(built)
        rendered = {f"source/{name}": text for name, text in render(built, built.broker("source"), site).items()}
        assert called_addresses(rendered, "source", "source-to-sink") == expected
        assert called_addresses(rendered, "source", "another") == ()
        assert called_addresses({}, "source", "source-to-sink") == ()


def test_a_link_that_discovers_by_multicast_has_no_address_of_its_own() -> None:
    built = build("mesh(brokers=2, discovery='multicast')")
    text = render(built, built.broker("broker-1"), site_of(built))["activemq.xml"]
    assert called_addresses({"broker-1/activemq.xml": text}, "broker-1", "broker-1-to-broker-2") == ()
