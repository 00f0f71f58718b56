"""Lists words of ActiveMQ Classic's manual, and of Artemis', with what to write instead in a Classic topology.

The words are listed by section of a YAML file and apply to that section's own entries; '' stands for any section.
"""

from collections.abc import Mapping

CLASSIC_HOPS = "write message_ttl and consumer_ttl of the link"
BEANS = "it takes a Java object, which is not to be written here; leave it out"
PUSHED = (
    "it is of Artemis' AMQP connections; a link of Classic carries what is asked for at its other end, and"
    " statically_included_destinations without being asked"
)
DESTINATIONS = (
    "a policy has pattern: NAME and kind: queue or topic, a link has queue://NAME or topic://NAME in"
    " dynamically_included_destinations, statically_included_destinations or excluded_destinations; write it so"
)
RETRIES = "of Classic write initial_reconnect_delay_ms and max_reconnect_attempts within discovery of the link"

CLASSIC_WORDS: Mapping[str, Mapping[str, str]] = {
    "": {
        "networkttl": CLASSIC_HOPS,
        "ttl": CLASSIC_HOPS,
        "maxhops": f"it is of Artemis' clusters; of Classic {CLASSIC_HOPS}",
        "retryinterval": f"it is of Artemis' connections; {RETRIES}",
        "reconnectattempts": f"it is of Artemis' connections; {RETRIES}",
        "queue": DESTINATIONS,
        "topic": DESTINATIONS,
    },
    "links": {
        "uri": "write the other broker's name in to, and what the URI would say of retries in discovery",
        "bridgefactory": BEANS,
        "connectionfilter": BEANS,
        "sslcontext": "write transport: ssl of the connector at its other end; leave it out",
        "autostart": "network connectors of 5.18.3 have none, only later ones; leave it out",
        "sender": PUSHED,
        "senders": PUSHED,
        "receiver": PUSHED,
        "receivers": PUSHED,
        "mirror": "it is of Artemis' AMQP connections; a broker of Classic is kept ready by one with standby_of",
    },
    "brokers": {
        "ha": "it is of Artemis; of Classic standby_of alone makes a pair",
        "networkconnectors": "write links",
        "persistenceadapter": "write persistence",
        "kahadb": "write persistence",
        "persistent": "write persistence: null for a broker that keeps messages in memory only",
        "persistenceenabled": "write persistence: null for a broker that keeps messages in memory only",
        "acceptor": "it is of Artemis; of Classic write connectors",
        "acceptors": "it is of Artemis; of Classic write connectors",
        "addresssettings": "it is of Artemis; of Classic write policies",
        "addresses": "it is of Artemis; a broker of Classic makes a destination when it is first used",
        "destinationpolicy": "write policies",
        "policyentries": "write policies",
        "memoryusage": "write memory_percent_of_heap or memory_limit_bytes",
        "storeusage": "write store_limit_bytes",
        "tempusage": "write temp_limit_bytes",
    },
}
