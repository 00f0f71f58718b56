"""What is a word of the brokers' manuals called here, where no field has its name?

Some words stand for several fields, some for what the model says in another way, and some are the other broker's: then
the reader is told whose, and what there is instead.
"""

from collections.abc import Mapping
from difflib import get_close_matches

from topologies.yaml_words import ANYWHERE, INDEX, plainly

ALMOST = 0.88  # a letter of ten is another; of short words every letter counts
HOPS = (
    "networkTTL, messageTTL and consumerTTL are of ActiveMQ Classic's network connectors; of Artemis only a cluster"
    " counts hops: write max_hops within cluster of a link of kind clusterConnection"
)
CLASSIC_HOPS = "write message_ttl and consumer_ttl of the link"
HOPS_OF_LINKS = ("networkttl", "messagettl", "consumerttl")
"""Two are fields of every link, which those of Artemis do not let anybody choose."""
CREDENTIALS = "brokers get the user and the passwords of the run; leave it out"
PLACES = "a run chooses where brokers listen (--base-port, --bind-host), or a --brokers-file says so; leave it out"
BEANS = "it takes a Java object, which is not to be written here; leave it out"
ADDRESSES = (
    "it is of ActiveMQ Classic's network connectors; of Artemis write address_match of senders or receivers, or"
    " address_filter of a mirror"
)
PUSHED = (
    "it is of Artemis' AMQP connections; a link of Classic carries what is asked for at its other end, and"
    " statically_included_destinations without being asked"
)
DESTINATIONS = (
    "a policy has pattern: NAME and kind: queue or topic, a link has queue://NAME or topic://NAME in"
    " dynamically_included_destinations, statically_included_destinations or excluded_destinations; write it so"
)
RETRIES = "of Classic write initial_reconnect_delay_ms and max_reconnect_attempts within discovery of the link"
Words = dict[str, str]
EVERYWHERE: Words = {
    "username": CREDENTIALS,
    "user": CREDENTIALS,
    "password": CREDENTIALS,
    "remoteusername": CREDENTIALS,
    "remotepassword": CREDENTIALS,
    "datadirectory": "a run keeps its stores where it is told to; leave it out",
    "host": PLACES,
    "port": PLACES,
    "uri": PLACES,
}
OF_LINKS: Words = {
    "from": "write opened_by",
    "source": "write opened_by",
    "target": "write to",
    "bidirectional": "write duplex: true",
}
OF_BROKERS: Words = {
    "brokername": "write name",
    "master": "write standby_of on the broker that waits",
    "slave": "write standby_of",
    "backup": "write standby_of",
    "backupof": "write standby_of",
}
CLASSIC: Mapping[str, Words] = {
    ANYWHERE: EVERYWHERE
    | {
        "networkttl": CLASSIC_HOPS,
        "ttl": CLASSIC_HOPS,
        "maxhops": f"it is of Artemis' clusters; of Classic {CLASSIC_HOPS}",
        "retryinterval": f"it is of Artemis' connections; {RETRIES}",
        "reconnectattempts": f"it is of Artemis' connections; {RETRIES}",
        "queue": DESTINATIONS,
        "topic": DESTINATIONS,
    },
    "links": OF_LINKS
    | {
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
    "brokers": OF_BROKERS
    | {
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
ARTEMIS: Mapping[str, Words] = {
    ANYWHERE: EVERYWHERE
    | {
        "networkttl": HOPS,
        "ttl": HOPS,
        "messagettl": HOPS,
        "consumerttl": HOPS,
        "federation": "federation is not modelled; write senders, receivers, peers or mirror",
        "bridge": "bridges are not modelled; write senders, receivers, peers or mirror",
        "bridges": "bridges are not modelled; write links of kind amqpConnection",
        "journaltype": "write kind within persistence",
    },
    "links": OF_LINKS
    | {
        "uri": "write the other broker's name in to, and those that a URI has after # in alternates",
        "discovery": "it is of ActiveMQ Classic's network connectors; of Artemis write retry_interval_ms and"
        " reconnect_attempts",
        "dynamicallyincludeddestinations": ADDRESSES,
        "staticallyincludeddestinations": ADDRESSES,
        "destinationfilter": ADDRESSES,
        "excludeddestinations": ADDRESSES + ", where ! leaves out",
    },
    "brokers": OF_BROKERS
    | {
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
INSTEAD: Mapping[str, Mapping[str, Words]] = {"classic": CLASSIC, "artemis": ARTEMIS}
"""Flavour of the topology to a section, whose own entries it is told of alone, or `ANYWHERE`, to a word, without its
hyphens and capitals, to the next step."""


def instead(flavour: str, word: str, path: str) -> str:
    """What to write at ``path`` in place of a word or what is nearly one, '' where the manuals do not have it.

    `ANYWHERE`: as in an entry of any section.
    """
    of = INSTEAD[flavour]
    sections = ("brokers", "links") if path == ANYWHERE else (INDEX.sub("", path),)
    words = {word: told for section in (ANYWHERE, *sections) for word, told in of.get(section, {}).items()}
    close = get_close_matches(plainly(word), list(words), n=1, cutoff=ALMOST)
    return words[close[0]] if close else ""
