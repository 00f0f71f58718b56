"""Renders the configuration of an Artemis 2.44.0 broker. Pure: returns text, writes no files.

Every setting that affects a benchmark is written out, even at its default. With `Site.unset_defaults` only settings
that were set explicitly, or that a run needs (see `names.NEEDED`), are written. broker.xml has no user and no password:
the files below `SECRETS_FOLDER` have them as ``${…}`` placeholders. A runtime fills them in a private folder (see
topologies.artemis.render.files).
"""

from collections.abc import Sequence

from lxml import etree

from topologies.artemis.addresses import Address, AddressSetting
from topologies.artemis.broker import ACCEPTED, ALL, SHARED_STORE, Acceptor, ArtemisBroker
from topologies.artemis.render import names
from topologies.artemis.render.files import extra_files
from topologies.artemis.render.links import add_links
from topologies.artemis.render.names import CONFIGURATION, CORE, DISPENSABLE, add, add_all, element, written_at
from topologies.artemis.users import ArtemisUser, matches_of, permitted
from topologies.model.explicit_fields import Written
from topologies.model.site import DATA_PROPERTY, STORE_PROPERTY, Site
from topologies.model.topology import Topology
from topologies.render.xml import attributes_of, text, to_text

BROKER_XML = "broker.xml"
ROLES = ("clients", "bridges")
PERMISSIONS = {
    "createNonDurableQueue": "create",
    "deleteNonDurableQueue": "delete",
    "createDurableQueue": "create",
    "deleteDurableQueue": "delete",
    "createAddress": "create",
    "deleteAddress": "delete",
    "consume": "consume",
    "browse": "browse",
    "send": "send",
}
"""Artemis's permission types with the fields of `ArtemisUser`."""
HOUSEKEEPING = {
    "security-enabled": "true",
    "jmx-management-enabled": "true",
    "message-counter-enabled": "false",
    "configuration-file-refresh-period": "-1",  # the configuration does not change during a run
    "create-bindings-dir": "true",
    "create-journal-dir": "true",
}


def render(topology: Topology, broker: ArtemisBroker, site: Site) -> dict[str, str]:
    """Map file names to texts; '/' separates folders. Raises KeyError if the site lacks a needed port."""
    root = element(CONFIGURATION, "configuration")
    root.append(core(topology, broker, site))
    return {BROKER_XML: to_text(root), **extra_files(topology, broker)}


def core(topology: Topology, broker: ArtemisBroker, site: Site) -> etree._Element:
    """The ``core`` element; Artemis's own schema describes it."""
    parent = element(CORE, "core")
    written = written_at(site)
    add_all(parent, attributes_of(broker, names.BROKER, written))
    left_out = DISPENSABLE if site.unset_defaults else ()
    add_all(parent, {tag: value for tag, value in HOUSEKEEPING.items() if tag not in left_out})
    _add_memory(parent, broker, written)
    _add_store(parent, broker, written)
    acceptors = add(parent, "acceptors")
    for acceptor in broker.acceptors:
        add(acceptors, "acceptor", {"name": acceptor.name}, listening_uri(broker, acceptor, site))
    add_links(parent, topology, broker, site)
    _add_security(parent, broker.users)
    settings = add(parent, "address-settings")
    for setting in broker.address_settings:
        _add_setting(settings, setting, written)
    addresses = add(parent, "addresses")
    for address in _addresses(broker):
        _add_address(addresses, address)
    return parent


def listening_uri(broker: ArtemisBroker, acceptor: Acceptor, site: Site) -> str:
    """``tcp://127.0.0.1:61613?protocols=STOMP;…``."""
    served = tuple(ACCEPTED) if acceptor.protocol == ALL else (acceptor.protocol,)
    options = {"protocols": ",".join(ACCEPTED[protocol] for protocol in served)}
    options |= attributes_of(acceptor, names.ACCEPTOR, written_at(site))
    for protocol in served:
        options |= attributes_of(acceptor, names.ACCEPTOR_OF_A_PROTOCOL.get(protocol, {}), written_at(site))
    options |= {key: prefix for key, prefix in attributes_of(acceptor, names.ACCEPTOR_PREFIXES).items() if prefix}
    query = ";".join(f"{key}={value}" for key, value in options.items())
    return f"tcp://{site.bind_host}:{site.port(broker.name, acceptor.protocol)}?{query}"


def _add_memory(parent: etree._Element, broker: ArtemisBroker, written: Written) -> None:
    if broker.memory_limit_bytes:
        add(parent, "global-max-size", {}, str(broker.memory_limit_bytes))
    elif written(broker, "memory_percent_of_heap"):
        add(parent, "global-max-size-percent-of-jvm-max-memory", {}, str(broker.memory_percent_of_heap))


def _add_store(parent: etree._Element, broker: ArtemisBroker, written: Written) -> None:
    """Add the store. A shared-store backup uses its active's folder; a replication backup has a separate copy."""
    add(parent, "persistence-enabled", {}, text(broker.persistence is not None))
    shared = broker.standby_of and broker.ha is not None and broker.ha.kind == SHARED_STORE
    folder = f"${{{STORE_PROPERTY if shared else DATA_PROPERTY}}}"
    for part in ("bindings", "journal", "paging", "large-messages"):
        add(parent, f"{part}-directory", {}, f"{folder}/{part}")
    if broker.persistence is not None:
        values = attributes_of(broker.persistence, names.JOURNAL, written)
        by_kind = names.JOURNAL_BY_KIND["ASYNCIO" if broker.persistence.kind == "ASYNCIO" else "NIO"]
        add_all(parent, {tag: by_kind.get(tag, value) if value == "0" else value for tag, value in values.items()})


def _add_security(parent: etree._Element, users: Sequence[ArtemisUser]) -> None:
    settings = add(parent, "security-settings")
    for match in matches_of(users):
        setting = add(settings, "security-setting", {"match": match})
        for kind, permission in PERMISSIONS.items():
            add(
                setting, "permission", {"type": kind, "roles": ",".join((*ROLES, *permitted(users, permission, match)))}
            )


def _add_setting(parent: etree._Element, setting: AddressSetting, written: Written) -> None:
    added = add(parent, "address-setting", {"match": setting.match})
    add_all(added, attributes_of(setting, names.ADDRESS_SETTING, written))
    if setting.max_redelivery_delay_ms:
        add(added, "max-redelivery-delay", {}, str(setting.max_redelivery_delay_ms))
    # Not default-queue-routing-type: it is the type of a STOMP subscriber's queue, and ANYCAST gets no topic messages.
    add(added, "default-address-routing-type", {}, setting.default_routing)


def _addresses(broker: ArtemisBroker) -> list[Address]:
    """The model's addresses, and the addresses for dead and expired messages, which are not created otherwise."""
    wanted = [
        name for setting in broker.address_settings for name in (setting.dead_letter_address, setting.expiry_address)
    ]
    declared = [address.name for address in broker.addresses]
    return [*(Address(name) for name in dict.fromkeys(wanted) if name and name not in declared), *broker.addresses]


def _add_address(parent: etree._Element, address: Address) -> None:
    routed = add(add(parent, "address", {"name": address.name}), address.routing.lower())
    for queue in address.queues:
        add(add(routed, "queue", {"name": queue}), "durable", {}, "true")
