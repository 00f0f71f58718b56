"""Checks links whose user a broker may reject, or whose user has limited permissions.

Such a link may stay down, or come up and carry nothing. Neither it nor its paths are proven before the load. Afterwards
the run reports its state and the lines of the brokers' logs that explain it.
"""

import re
import time
from collections.abc import Collection, Iterator, Sequence

from topologies.management.contract import ManagedBrokers
from topologies.management.link_logs import LINE_LIMIT, log_of
from topologies.management.links import POLL_S, unproven
from topologies.model.link import Link
from topologies.model.management import ManagementFailed
from topologies.model.topology import Topology
from topologies.model.users import login_of

SETTLES_WITHIN_S = 10.0
"""Time limit for a link to come up, or for a broker to log why it does not. A Classic bridge retries after 1 to 5 s."""
READS, READ_EVERY_S = 4, 0.3
LINES = 3
REASONS = ("AMQ229031", "AMQ229032", "AMQ229099", "SecurityException", "not authorized", "is invalid", "Security")
"""Parts of the log lines about a rejected login, or about a missing permission, which name the user or the link."""
REFUSED = "AMQ119023"
"""Artemis logs this at the opener if the other end refuses a sender. The line has no name of the link or the user."""
DIGITS = re.compile(r"[0-9]+")


def uncertain_links(topology: Topology) -> dict[str, str]:
    """Map each link whose user may be rejected to the reasons, as one text. Pure.

    One rejected login makes an Artemis broker stop all its links of the cluster (AMQ224058).
    """
    found = {link.name: (*link.login_problems, *link.permission_limits) for link in topology.links}
    rejected = {link.cluster_name: link.name for link in topology.links if link.cluster_name and link.login_problems}
    for link in topology.links:
        if link.cluster_name in rejected and not found[link.name]:
            example = rejected[link.cluster_name]
            found[link.name] = (
                f"its brokers may stop all links of the cluster, as the login of {example} is rejected",
            )
    return {name: "; ".join(reasons) for name, reasons in found.items() if reasons}


def await_uncertain(
    runtime: ManagedBrokers, topology: Topology, names: Collection[str], timeout_s: float = SETTLES_WITHIN_S
) -> None:
    """Wait until each link is up, or a broker has logged why it is not, but no longer than ``timeout_s``.

    A link whose login is rejected may be connected for a moment, so only the log counts.
    """
    until_s = time.monotonic() + timeout_s
    links = [link for link in topology.links if link.name in names]
    while links and time.monotonic() < until_s:
        down = {doubt.link.name for doubt in unproven(runtime, topology, links)}
        links = [
            link for link in links if (link.name in down or link.login_problems) and not any(_logged(runtime, link))
        ]
        time.sleep(POLL_S)


def states(runtime: ManagedBrokers, topology: Topology, names: Collection[str]) -> dict[str, str]:
    """Map each of these links to its state now: ``up``, ``down (…)``, or ``in an unknown state (…)``.

    A link is up if it is up each time in `READS`: one whose login is rejected is connected for moments.
    """
    links = [link for link in topology.links if link.name in names]
    missing: dict[str, str] = {}
    for read in range(READS):
        if read and len(missing) < len(links):
            time.sleep(READ_EVERY_S)
        try:
            doubts = unproven(runtime, topology, [link for link in links if link.name not in missing])
        except ManagementFailed as error:
            return {link.name: f"in an unknown state ({error})" for link in links}
        missing |= {doubt.link.name: "; ".join(doubt.missing) for doubt in doubts}
    return {link.name: f"down ({missing[link.name]})" if link.name in missing else "up" for link in links}


def sentences(runtime: ManagedBrokers, topology: Topology, state_by_link: dict[str, str]) -> Iterator[str]:
    """Yield a sentence per link: its state, the declared reasons, and the lines of the logs of both its ends."""
    reasons = uncertain_links(topology)
    for link in topology.links:
        if link.name in state_by_link:
            logged = "; ".join(f"{broker} logged {line!r}" for broker, line in _logged(runtime, link))
            yield (
                f"link {link.name} was {state_by_link[link.name]} at the end of the load; its user {link.user_name!r}: "
                f"{reasons[link.name]}; {logged or 'no broker logged a reason'}"
            )


def up_against_login(topology: Topology, state_by_link: dict[str, str]) -> list[str]:
    """Return a sentence per link that is up although, by their users, brokers reject its login."""
    return [
        f"link {link.name} was up, although {'; '.join(link.login_problems)}: the brokers did not check its login"
        for link in topology.links
        if link.login_problems and state_by_link.get(link.name) == "up"
    ]


def _logged(runtime: ManagedBrokers, link: Link) -> Iterator[tuple[str, str]]:
    """The last lines of the ends' logs about the link's user, each with its broker."""
    for broker in dict.fromkeys((link.opened_by.name, link.to.name)):
        for line in about_user(log_of(runtime.log_path(broker)), link):
            yield broker, line


def about_user(log: Sequence[str], link: Link) -> list[str]:
    """The last log lines about a rejected login or a missing permission of the link, without duplicates. Pure."""
    names = (login_of(link.user_name), link.name)
    lines = [
        line
        for line in log
        if (any(name in line for name in names) and any(sign in line for sign in REASONS))
        or (REFUSED in line and " WARN " in line)
    ]
    last_of = {DIGITS.sub("", line): line for line in lines}  # times and ports differ at each attempt
    return [line[:LINE_LIMIT] for line in [*last_of.values()][-LINES:]]
