"""Words from the manuals of Artemis and ActiveMQ Classic, with their replacements in an Artemis topology.

The words are grouped by section of a YAML file and apply to entries in that section; '' applies to any section.
"""

from collections.abc import Mapping

HOPS = (
    "networkTTL, messageTTL and consumerTTL belong to ActiveMQ Classic's network connectors; in Artemis only a cluster"
    " counts hops: write max_hops within cluster of a link of kind clusterConnection"
)
ADDRESSES = (
    "it belongs to ActiveMQ Classic's network connectors; for Artemis write address_match of senders or receivers, or"
    " address_filter of a mirror"
)
ARTEMIS_WORDS: Mapping[str, Mapping[str, str]] = {
    "": {
        "networkttl": HOPS,
        "ttl": HOPS,
        "messagettl": HOPS,
        "consumerttl": HOPS,
        "federation": "federation is not supported; write senders, receivers, peers or mirror",
        "bridge": "bridges are not supported; write senders, receivers, peers or mirror",
        "bridges": "bridges are not supported; write links of kind amqpConnection",
        "journaltype": "write kind within persistence",
    },
    "links": {
        "uri": "write the other broker's name in to, and the brokers after # in the URI in alternates",
        "discovery": "it belongs to ActiveMQ Classic's network connectors; for Artemis write retry_interval_ms and"
        " reconnect_attempts",
        "dynamicallyincludeddestinations": ADDRESSES,
        "staticallyincludeddestinations": ADDRESSES,
        "destinationfilter": ADDRESSES,
        "excludeddestinations": ADDRESSES + ", in which ! excludes",
    },
    "brokers": {
        "clusterconnections": "write links of kind clusterConnection",
        "brokerconnections": "write links of kind amqpConnection",
        "amqpconnections": "write links of kind amqpConnection",
        "securitysettings": "write users, with send, consume, browse, create and delete for each",
        "clusteruser": "write user_name in each link of the cluster, and the same name in users of its members",
        "authorizationplugin": "it belongs to ActiveMQ Classic; for Artemis write users, with send, consume, browse,"
        " create and delete for each",
        "networkconnectors": "it belongs to ActiveMQ Classic; for Artemis write links",
        "connectors": "it belongs to ActiveMQ Classic; for Artemis write acceptors",
        "transportconnectors": "it belongs to ActiveMQ Classic; for Artemis write acceptors",
        "policies": "it belongs to ActiveMQ Classic; for Artemis write address_settings",
        "policyentries": "it belongs to ActiveMQ Classic; for Artemis write address_settings",
        "destinationpolicy": "it belongs to ActiveMQ Classic; for Artemis write address_settings",
        "kahadb": "it belongs to ActiveMQ Classic; for Artemis write persistence, a journal",
        "persistenceenabled": "write persistence: null for a broker that keeps messages in memory only",
        "hapolicy": "write ha",
        "queues": "write addresses; each address gets a queue of the same name",
    },
}
