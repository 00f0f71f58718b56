"""Lists words of Artemis' manual, and of ActiveMQ Classic's, with what to write instead in an Artemis topology.

The words are listed by section of a YAML file and apply to that section's own entries; '' stands for any section.
"""

from collections.abc import Mapping

HOPS = (
    "networkTTL, messageTTL and consumerTTL are of ActiveMQ Classic's network connectors; of Artemis only a cluster"
    " counts hops: write max_hops within cluster of a link of kind clusterConnection"
)
ADDRESSES = (
    "it is of ActiveMQ Classic's network connectors; of Artemis write address_match of senders or receivers, or"
    " address_filter of a mirror"
)
ARTEMIS_WORDS: Mapping[str, Mapping[str, str]] = {
    "": {
        "networkttl": HOPS,
        "ttl": HOPS,
        "messagettl": HOPS,
        "consumerttl": HOPS,
        "federation": "federation is not modelled; write senders, receivers, peers or mirror",
        "bridge": "bridges are not modelled; write senders, receivers, peers or mirror",
        "bridges": "bridges are not modelled; write links of kind amqpConnection",
        "journaltype": "write kind within persistence",
    },
    "links": {
        "uri": "write the other broker's name in to, and those that a URI has after # in alternates",
        "discovery": "it is of ActiveMQ Classic's network connectors; of Artemis write retry_interval_ms and"
        " reconnect_attempts",
        "dynamicallyincludeddestinations": ADDRESSES,
        "staticallyincludeddestinations": ADDRESSES,
        "destinationfilter": ADDRESSES,
        "excludeddestinations": ADDRESSES + ", where ! leaves out",
    },
    "brokers": {
        "clusterconnections": "write links of kind clusterConnection",
        "brokerconnections": "write links of kind amqpConnection",
        "amqpconnections": "write links of kind amqpConnection",
        "networkconnectors": "it is of ActiveMQ Classic; of Artemis write links",
        "connectors": "it is of ActiveMQ Classic; of Artemis write acceptors",
        "transportconnectors": "it is of ActiveMQ Classic; of Artemis write acceptors",
        "policies": "it is of ActiveMQ Classic; of Artemis write address_settings",
        "policyentries": "it is of ActiveMQ Classic; of Artemis write address_settings",
        "destinationpolicy": "it is of ActiveMQ Classic; of Artemis write address_settings",
        "kahadb": "it is of ActiveMQ Classic; of Artemis write persistence, a journal",
        "persistenceenabled": "write persistence: null for a broker that keeps messages in memory only",
        "hapolicy": "write ha",
        "queues": "write addresses, each with a queue of its own name",
    },
}
