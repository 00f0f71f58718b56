"""Words from the manuals of ActiveMQ Classic and Artemis, with their replacements in a Classic topology.

The words are grouped by section of a YAML file and apply to entries in that section; '' applies to any section.
"""

from collections.abc import Mapping

CLASSIC_HOPS = "write message_ttl and consumer_ttl of the link, or network_ttl for both"
BEANS = "its value is a Java object, which a topology file cannot contain; leave it out"
PUSHED = (
    "it belongs to Artemis's AMQP connections; a link of Classic carries messages with demand at its other end, and"
    " statically_included_destinations without demand"
)
DESTINATIONS = (
    "a policy has pattern: NAME and kind: queue or topic, a link has queue://NAME or topic://NAME in"
    " dynamically_included_destinations, statically_included_destinations or excluded_destinations; use this form"
)
RETRIES = "for Classic write initial_reconnect_delay_ms and max_reconnect_attempts within discovery of the link"

CLASSIC_WORDS: Mapping[str, Mapping[str, str]] = {
    "": {
        "ttl": CLASSIC_HOPS,
        "maxhops": f"it belongs to Artemis's clusters; for Classic {CLASSIC_HOPS}",
        "retryinterval": f"it belongs to Artemis's connections; {RETRIES}",
        "reconnectattempts": f"it belongs to Artemis's connections; {RETRIES}",
        "queue": DESTINATIONS,
        "topic": DESTINATIONS,
    },
    "links": {
        "uri": "write the other broker's name in to, and the retry settings of the URI in discovery",
        "bridgefactory": BEANS,
        "connectionfilter": BEANS,
        "sslcontext": "write transport: ssl in the connector at its other end; leave it out",
        "autostart": "network connectors have it only after 5.18.3; leave it out",
        "sender": PUSHED,
        "senders": PUSHED,
        "receiver": PUSHED,
        "receivers": PUSHED,
        "mirror": "it belongs to Artemis's AMQP connections; for Classic add a standby broker with standby_of",
    },
    "brokers": {
        "ha": "it belongs to Artemis; for Classic standby_of alone makes a pair",
        "networkconnectors": "write links",
        "persistenceadapter": "write persistence",
        "kahadb": "write persistence",
        "persistent": "write persistence: null for a broker that keeps messages in memory only",
        "persistenceenabled": "write persistence: null for a broker that keeps messages in memory only",
        "authorizationplugin": "write users, with read, write and admin for each",
        "authorizationentries": "write users, with read, write and admin for each",
        "simpleauthenticationplugin": "write users; a run creates their passwords",
        "securitysettings": "it belongs to Artemis; for Classic write users, with read, write and admin for each",
        "acceptor": "it belongs to Artemis; for Classic write connectors",
        "acceptors": "it belongs to Artemis; for Classic write connectors",
        "addresssettings": "it belongs to Artemis; for Classic write policies",
        "addresses": "it belongs to Artemis; a broker of Classic creates a destination on first use",
        "destinationpolicy": "write policies",
        "policyentries": "write policies",
        "memoryusage": "write memory_percent_of_heap or memory_limit_bytes",
        "storeusage": "write store_limit_bytes",
        "tempusage": "write temp_limit_bytes",
    },
}
