"""Renders the permissions of a Classic broker's users as an ``authorizationPlugin``.

A destination may match several entries. The broker then uses the groups of all of them, so permissions only add up.
"""

from collections.abc import Sequence

from lxml import etree

from topologies.classic.users import EVERYTHING, ClassicUser
from topologies.render.xml import add

CLIENTS, BRIDGES = "clients", "bridges"
"""The groups of clients and of the user of all links, with every permission. Other users have a group of their own."""
ADVISORIES = "topic://ActiveMQ.Advisory.>"


def add_authorization(parent: etree._Element, users: Sequence[ClassicUser]) -> None:
    all_groups = (CLIENTS, BRIDGES, *(user.login for user in users))
    plugin = add(add(add(parent, "authorizationPlugin"), "map"), "authorizationMap")
    entries = add(plugin, "authorizationEntries")
    listed = (pattern for user in users for held in user.permissions.values() for pattern in held)
    for destination in dict.fromkeys((*EVERYTHING, *listed)):
        kind, _, name = destination.partition("://")
        groups = _groups(users, destination)
        add(entries, "authorizationEntry", {kind: name} | {key: ",".join(held) for key, held in groups.items() if held})
    kind, _, name = ADVISORIES.partition("://")
    add(entries, "authorizationEntry", {kind: name} | _each(all_groups))
    temporary = add(plugin, "tempDestinationAuthorizationEntry")
    add(temporary, "tempDestinationAuthorizationEntry", _each(all_groups))


def _groups(users: Sequence[ClassicUser], destination: str) -> dict[str, list[str]]:
    """The groups by permission, in one entry."""
    always = [CLIENTS, BRIDGES] if destination in EVERYTHING else []
    return {
        permission: [*always, *(user.login for user in users if destination in user.permissions[permission])]
        for permission in ("read", "write", "admin")
    }


def _each(groups: Sequence[str]) -> dict[str, str]:
    return dict.fromkeys(("read", "write", "admin"), ",".join(groups))
