"""Checks the users of links: their logins, their rendered permissions, and the errors for impossible declarations."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerbench.rendering import compose_files
from harness.faults.contract import LinkFault
from harness.faults.cut import CutLink
from harness.faults.start_link import StartLink
from harness.faults.stop_link import StopLink
from tests.topologies.golden_files import assert_golden, assert_golden_refusals
from tests.topologies.samples import site_of
from tests.topologies.test_artemis_matching import matches, plain, words
from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.links import ClusterConnection, ClusterLink, cluster_links
from topologies.artemis.product import ARTEMIS
from topologies.artemis.render.broker_xml import BROKER_XML
from topologies.artemis.render.files import BROKER_PROPERTIES, ROLES, USERS
from topologies.artemis.users import ArtemisUser, covers
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import Overlay
from topologies.classic.amazon_mq import templates
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.product import CLASSIC
from topologies.classic.users import ClassicUser
from topologies.management.link_users import about_user, uncertain_links, up_against_login
from topologies.model.endpoints import Credentials
from topologies.model.link import Link
from topologies.model.topology import Topology
from topologies.runtimes.prepared import secrets_of

EVERY_LINK = "links: {all: {user_name: links}}\n"


def laid(entry: str, brokers: str, links: str = EVERY_LINK) -> Topology:
    """A catalogue entry with an overlay. ``brokers``: the section of that name, in YAML."""
    return Overlay(Path("users.yaml"), f"{links}brokers: {brokers}\n").apply(build(entry))


def bridged(*, source: tuple[ClassicUser, ...], sink: tuple[ClassicUser, ...], user_name: str = "links") -> Topology:
    here, there = Broker("source", users=source), Broker("sink", users=sink)
    return Topology("t", (here, there), (NetworkConnector(here, there, user_name=user_name),), (), CLASSIC)


def clustered(*users: tuple[ArtemisUser, ...], names: tuple[str, ...] = ("links",) * 3) -> Topology:
    members = tuple(ArtemisBroker(name, users=given) for name, given in zip("abc", users, strict=True))
    pairs = cluster_links(members, ClusterConnection())
    links = tuple(ClusterLink(link.opened_by, link.to, user_name=name) for link, name in zip(pairs, names, strict=True))
    return Topology("t", members, links, (), ARTEMIS)


USER, OTHER = ClassicUser("links"), ClassicUser("links", other_password=True)
MEMBER = (ArtemisUser("links"),)

MISTAKES: dict[str, Callable[[], Any]] = {
    "a user that no broker has": lambda: bridged(source=(), sink=()),
    "a user that no link names": lambda: bridged(source=(USER, ClassicUser("more")), sink=(USER,)),
    "a user twice": lambda: Broker("b", users=(USER, OTHER)),
    "a user with a space": lambda: ClassicUser("my links"),
    "a user of a link with a space": lambda: bridged(source=(USER,), sink=(USER,), user_name="my links"),
    "a permission without a kind": lambda: ClassicUser("links", write=("orders",)),
    "an empty permission": lambda: ArtemisUser("links", send=("",)),
    "a placeholder in a permission": lambda: ArtemisUser("links", send=("${x}",)),
    "patterns that overlap": lambda: clustered((ArtemisUser("links", send=("a.*", "*.b")),), MEMBER, MEMBER),
    "a member of a cluster without its user": lambda: clustered(MEMBER, MEMBER, ()),
    "a limited user of a cluster": lambda: clustered(MEMBER, MEMBER, (ArtemisUser("links", send=("orders",)),)),
    "two users of clusters": lambda: clustered(MEMBER, MEMBER, MEMBER, names=("links", "links", "")),
    "a user for a router": lambda: laid("router-peer", "{broker-1: {users: [{name: links}]}}"),
    "a password": lambda: laid("mesh", "{all: {users: [{name: links, password: secret}]}}"),
    "a permission of the other product": lambda: laid("senders", "{all: {users: [{name: links, write: []}]}}"),
    "a folder for Compose": lambda: compose_files(laid("source-and-sink", "{all: {users: [{name: links}]}}"), 61000),
    "a template for Amazon MQ": lambda: templates(laid("source-and-sink", "{all: {users: [{name: links}]}}")),
}


def test_each_mistake_is_rejected_with_one_sentence() -> None:
    assert_golden_refusals("link-users-errors.txt", MISTAKES)


@pytest.mark.parametrize(
    ("source", "sink", "problems"),
    [
        ((USER,), (USER,), ()),
        ((OTHER,), (OTHER,), ()),
        ((USER,), (), ("sink has no user 'links'",)),
        ((), (USER,), ("source has no user 'links'",)),
        ((USER,), (OTHER,), ("sink has another password for user 'links' than source",)),
        ((OTHER,), (USER,), ("sink has another password for user 'links' than source",)),
        ((), (OTHER,), ("source has no user 'links'", "sink has another password for user 'links' than source")),
    ],
)
def test_a_bridge_logs_in_at_both_its_ends(
    source: tuple[ClassicUser, ...], sink: tuple[ClassicUser, ...], problems: tuple[str, ...]
) -> None:
    (link,) = bridged(source=source, sink=sink).links
    assert link.login_problems == problems


def test_an_amqp_connection_logs_in_at_its_end_only() -> None:
    (link,) = laid("senders", "{sink: {users: [{name: links}]}}").links
    assert link.login_problems == ()
    (link,) = laid("senders", "{source: {users: [{name: links}]}}").links
    assert link.login_problems == ("sink has no user 'links'",)


def test_limited_permissions_make_a_link_uncertain() -> None:
    assert uncertain_links(bridged(source=(USER,), sink=(USER,))) == {}
    limited = bridged(source=(USER,), sink=(ClassicUser("links", write=("queue://orders",), admin=()),))
    assert uncertain_links(limited) == {"source-to-sink": "sink: write: queue://orders; sink: admin: nothing"}
    wider = bridged(source=(USER,), sink=(ClassicUser("links", write=("topic://>", "queue://>", "queue://a")),))
    assert uncertain_links(wider) == {}


CLASSIC_USERS = """{
  source: {users: [{name: links}]},
  sink: {users: [{name: links, other_password: true, write: ["queue://orders.>", "topic://>"], admin: []}]}}"""
ARTEMIS_USERS = """{
  source: {users: [{name: links, send: ["orders.#", "prices"]}]},
  sink: {users: [{name: links, other_password: true, send: ["orders.#", "prices"], create: ["orders.#"]}]}}"""


def test_a_classic_broker_renders_users_and_permissions() -> None:
    topology = laid("source-and-sink", CLASSIC_USERS)
    source, sink = (topology.product.render(topology, broker, site_of(topology)) for broker in topology.brokers)
    assert 'userName="brokerbench-bridge-links" password="${brokerbench.user.password.links}"' in source["activemq.xml"]
    assert "authorizationPlugin" not in source["activemq.xml"], "its user may do everything"
    plugins = sink["activemq.xml"].partition("<plugins>")[2].partition("<traceBrokerPathPlugin")[0]
    assert_golden("link-users-classic.xml", plugins)


def test_an_artemis_broker_renders_users_and_permissions() -> None:
    topology = laid("senders", ARTEMIS_USERS)
    source, sink = (topology.product.render(topology, broker, site_of(topology)) for broker in topology.brokers)
    assert source[BROKER_PROPERTIES] == (
        'AMQPConnections."source-to-sink".user=brokerbench-bridge-links\n'
        'AMQPConnections."source-to-sink".password=${brokerbench.user.password.links}\n'
    )
    assert sink[USERS].splitlines()[-1] == "brokerbench-bridge-links=${brokerbench.user.other-password.links}"
    assert sink[ROLES].splitlines()[-1] == "brokerbench-bridge-links=brokerbench-bridge-links"
    security = sink[BROKER_XML].partition("<security-settings>")[2].partition("</security-settings>")[0]
    assert_golden("link-users-artemis.xml", security)


def test_a_cluster_logs_in_as_its_user() -> None:
    topology = clustered(MEMBER, MEMBER, (ArtemisUser("links", other_password=True),))
    files = [topology.product.render(topology, broker, site_of(topology)) for broker in topology.brokers]
    other = "${brokerbench.user.other-password.links}"
    assert files[2][BROKER_PROPERTIES] == f"clusterUser=brokerbench-bridge-links\nclusterPassword={other}\n"
    assert [len(link.login_problems) for link in topology.links] == [0, 1, 1]


def test_a_rejected_member_makes_every_link_of_its_cluster_uncertain() -> None:
    assert uncertain_links(clustered(MEMBER, MEMBER, MEMBER)) == {}
    uncertain = uncertain_links(clustered(MEMBER, MEMBER, (ArtemisUser("links", other_password=True),)))
    assert uncertain["a-to-b"] == "its brokers may stop all links of the cluster, as the login of b-to-c is rejected"
    assert uncertain["a-to-c"] == "c has another password for user 'links' than a"


def test_a_run_has_two_passwords_for_each_user() -> None:
    secrets = secrets_of(Credentials("client", "c"), laid("senders", ARTEMIS_USERS))
    passwords = {secrets[f"brokerbench.user.{which}.links"] for which in ("password", "other-password")}
    assert len(passwords | {secrets["brokerbench.bridge.password"], "c"}) == 4


@given(words, words, plain)
def test_a_wider_pattern_covers_all_addresses(wider: str, pattern: str, address: list[str]) -> None:
    if covers(wider, pattern) and matches(pattern.split("."), address):
        assert matches(wider.split("."), address)


@given(words, st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=4).map(".".join))
def test_a_pattern_covers_the_addresses_that_match(pattern: str, address: str) -> None:
    assert covers(pattern, address) == matches(pattern.split("."), address.split("."))


def test_a_rejected_link_that_is_up_makes_the_run_invalid() -> None:
    topology = bridged(source=(USER,), sink=(OTHER,))
    assert up_against_login(topology, {"source-to-sink": "down (source has no bridge)"}) == []
    assert up_against_login(topology, {"source-to-sink": "in an unknown state (no answer)"}) == []
    assert up_against_login(topology, {"source-to-sink": "up"}) == [
        "link source-to-sink was up, although sink has another password for user 'links' than source: the brokers did "
        "not check its login"
    ]
    limited = bridged(source=(USER,), sink=(ClassicUser("links", write=()),))
    assert up_against_login(limited, {"source-to-sink": "up"}) == []


@pytest.mark.parametrize(
    "fault", [StartLink("source-to-sink", 3), StopLink("source-to-sink", 3), CutLink("source-to-sink", 3)]
)
def test_a_rejected_link_cannot_have_a_fault(fault: LinkFault) -> None:
    assert fault.why_not_in(bridged(source=(USER,), sink=()), ()) == (
        "it never comes up, as sink has no user 'links'; correct the users, or leave the fault out"
    )
    assert fault.why_not_in(bridged(source=(USER,), sink=(USER,)), ()) == ""


def link_of(topology: Topology) -> Link:
    return topology.links[0]


def test_log_lines_of_other_users_are_skipped() -> None:
    link = link_of(bridged(source=(USER,), sink=()))
    ours = "WARN Failed to add Connection due to SecurityException: User name [brokerbench-bridge-links] is invalid."
    later = f"12 {ours}"
    log = [f"11 {ours}", "INFO Network connector source-to-sink started", ours.replace("bridge-links", "agent"), later]
    assert about_user(log, link) == [later]
