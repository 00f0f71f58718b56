"""Checks that invalid options are rejected before anything starts, with one sentence that names the next step."""

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from brokerbench import Hold, Scenario, no_acked_send_lost
from drivers.protocols import Spoken
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.arguments import add_arguments
from harness.options.plan import make, would_run
from harness.options.run_options import read
from records.errors import UserError
from records.store.rundir import RunDirectory
from topologies.artemis.broker import Acceptor, ArtemisBroker
from topologies.catalogue.lookup import build
from topologies.model.broker import AnyBroker
from topologies.model.client_groups import ClientGroup
from topologies.model.site import Site
from topologies.model.topology import Topology
from topologies.products import PRODUCTS
from topologies.runtimes.choice import runtime_of
from topologies.runtimes.managed import ManagedRuntime
from topologies.runtimes.proxies import link_proxies as linkproxies


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://q", 2


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://q", 3


def scenario() -> Scenario:
    return Scenario((Producer, Consumer), "mesh", Hold(for_s=30), (no_acked_send_lost(),), question="Does it work?")


def namespace(*arguments: str) -> Namespace:
    parser = ArgumentParser()
    add_arguments(parser, scenario())
    return parser.parse_args(arguments)


def message_of(*arguments: str, load_s: float | None = None) -> str:
    with pytest.raises(UserError) as raised:
        make(scenario(), read(namespace(*arguments), scenario(), load_s))
    return str(raised.value)


def test_producers_and_consumers_may_speak_two_protocols() -> None:
    assert (str(Spoken("stomp", "amqp")), str(Spoken.parse("stomp:stomp"))) == ("stomp:amqp", "stomp")
    assert [Spoken("stomp", "amqp").of(role) for role in ("producer", "consumer")] == ["stomp", "amqp"]
    mixed = Spoken("stomp", "stomp", (("Orders", "amqp"), ("Takers", "openwire")))
    assert Spoken.parse(str(mixed)) == mixed
    assert str(mixed) == "stomp, Orders=amqp, Takers=openwire"
    assert mixed.distinct == ("stomp", "amqp", "openwire")
    assert [mixed.of("producer", name) for name in ("Orders", "Telemetry", "")] == ["amqp", "stomp", "stomp"]


def test_a_protocol_whose_library_is_left_out_says_how_to_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers.protocols.find_spec", lambda name: None)
    sentence = message_of("--protocol", "stomp:amqp")
    assert sentence.startswith("--protocol stomp:amqp: AMQP clients need python-qpid-proton, which is not installed")
    assert sentence.endswith("apt-get install gcc libc6-dev python3-dev), then make install")


def test_stomp_is_spoken_where_openwire_by_http_is_for_links_only() -> None:
    by_http = ("--topology", "source-and-sink(transport='http')", "--runtime", "processes", "--protocol", "stomp")
    make(scenario(), read(namespace(*by_http), scenario(), None))


def of_one(broker: AnyBroker, flavour: str) -> Topology:
    groups = (ClientGroup("producers", (broker,)), ClientGroup("consumers", (broker,)))
    return Topology("one", (broker,), (), groups, PRODUCTS[flavour])


def test_a_scenario_may_have_a_default_protocol_of_its_own_but_not_in_memory() -> None:
    own = replace(scenario(), default_protocol="openwire")
    command_lines = (
        ("--runtime", "processes"),
        ("--runtime", "processes", "--protocol", "stomp"),
        ("--runtime", "memory"),
    )
    assert [read(namespace(*words), own, None).protocol for words in command_lines] == ["openwire", "stomp", "memory"]
    assert read(namespace("--runtime", "processes"), scenario(), None).protocol == "stomp"


@pytest.mark.parametrize("protocol", ["stomp", "amqp", "openwire:core"])
def test_an_acceptor_for_all_protocols_takes_any(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topology = of_one(ArtemisBroker("broad", acceptors=(Acceptor("all"),)), "artemis")
    monkeypatch.setattr("topologies.catalogue.lookup.build", lambda entry: topology)
    make(scenario(), read(namespace("--protocol", protocol, "--runtime", "processes"), scenario(), None))


def test_the_largest_body_that_a_brokers_frames_have_room_for_is_taken() -> None:
    make(scenario(), read(namespace("--body-bytes", "104857599", "--runtime", "processes"), scenario(), None))


def test_brokers_listen_on_loopback_unless_another_address_is_named() -> None:
    assert read(namespace(), scenario(), None).bind_host == "127.0.0.1"


def test_the_help_says_that_brokers_can_then_be_reached_from_the_network() -> None:
    parser = ArgumentParser()
    add_arguments(parser, scenario())
    assert "with an address that other hosts can reach" in " ".join(parser.format_help().split())


FAR = """\
name: far
brokers: [a, b]
links: [{opened_by: a, to: b, impairment: {delay_ms: 40}}]
groups: [{name: producers, enter_at: [a]}, {name: consumers, enter_at: [b]}]
"""


def brokers_file(folder: Path, text: str = "brokers: {broker-1: {stomp: 'stomp://h:1'}}\n") -> str:
    path = folder / "brokers.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERBENCH_USERNAME", "anna")
    monkeypatch.setenv("BROKERBENCH_PASSWORD", "s3cret")


@pytest.mark.usefixtures("credentials")
def test_a_file_of_brokers_is_enough_to_run_on_them_and_no_password_is_recorded(tmp_path: Path) -> None:
    options = read(namespace("--topology", "single", "--brokers-file", brokers_file(tmp_path)), scenario(), None)
    assert (options.runtime, options.runtime_reason) == (
        "external",
        "running brokers from --brokers-file",
    )
    assert "s3cret" not in repr(make(scenario(), options))
    assert options.as_record()["brokers_file"] == str(tmp_path / "brokers.yaml")


def test_a_version_of_the_brokers_is_that_of_local_processes_and_is_recorded() -> None:
    options = read(namespace("--broker-version", "5.16.6"), scenario(), None)
    assert (options.runtime, options.runtime_reason) == (
        "processes",
        "on this machine, chosen by --broker-version",
    )
    assert options.as_record()["broker_version"] == "5.16.6"
    dry = would_run(make(scenario(), options))
    assert (dry["runtime"], dry["broker_version"], dry["distribution"]) == ("processes", "5.16.6", None)


def test_brokers_get_as_long_to_start_as_the_option_says() -> None:
    usual = read(namespace("--runtime", "processes"), scenario(), None)
    longer = read(namespace("--runtime", "processes", "--start-timeout", "300"), scenario(), None)
    assert (usual.wanted.start_timeout_s, longer.wanted.start_timeout_s) == (90, 300)


@pytest.mark.parametrize(
    ("topology", "pairs", "consumers_at"),
    [
        ("mesh", [3, 6], ["broker-1", "broker-2", "broker-3"]),
        ("mesh(brokers=5)", [5, 20], [f"broker-{n}" for n in range(1, 6)]),
        ("hub-and-spoke", [0, 0, 3], ["spoke-4"]),
        ("active-standby", [1], ["broker-1"]),
    ],
)
def test_a_run_tells_before_it_begins_how_many_links_its_messages_cross(
    topology: str, pairs: list[int], consumers_at: list[str]
) -> None:
    plan = make(scenario(), read(namespace("--topology", topology, "--runtime", "processes"), scenario(), None))
    assert list(plan.info.pairs_by_links) == would_run(plan)["pairs_by_links"] == pairs
    assert would_run(plan)["enter_at"] == {"producer": sorted(plan.info.enter_at("producer")), "consumer": consumers_at}


def test_a_dry_run_tells_the_checks_and_when_faults_happen() -> None:
    faults = "kill(broker-2, at=5, for=8); stop-link(broker-1-to-broker-2, at=20); rolling-restart(all, at=30, pause=5)"
    arguments = ("--runtime", "processes", "--fault", faults, "--check", "messages.duplicated <= 2")
    dry = would_run(make(scenario(), read(namespace(*arguments), scenario(), 120.0)))
    assert dry["faults"] == [
        "kill broker-2 at 5 s for 8 s",
        "stop-link broker-1-to-broker-2 at 20 s",
        "restart broker-1 at 30 s",
        "restart broker-2 at 35 s or later",
        "restart broker-3 at 40 s or later",
    ]
    assert dry["checks"] == {
        "no acked send lost": "messages.lost <= 0",
        "messages.duplicated <= 2": "messages.duplicated <= 2",
    }
    assert dry["premises"] == {}


def test_an_overlay_changes_the_topology_of_the_run_and_is_recorded_with_its_content(tmp_path: Path) -> None:
    file, text = tmp_path / "tuned.yaml", "brokers: {all: {memory_percent_of_heap: 33, jvm: {options: [-Xss1m]}}}\n"
    file.write_text(text, encoding="utf-8")
    options = read(namespace("--overlay", str(file), "--runtime", "processes"), scenario(), None)
    assert [getattr(broker, "memory_percent_of_heap", 0) for broker in options.built_topology.brokers] == [33] * 3
    record, plan = options.as_record(), make(scenario(), options)
    assert options.overlay
    assert (record["overlay"], record["overlay_digest"]) == (str(file), options.overlay.digest)
    brokers = ("broker-1", "broker-2", "broker-3")
    own = {f"{name}/jvm.options": "-Xss1m\n" for name in brokers}
    assert plan.info.rendered == {"overlay/tuned.yaml": text, **own}
    assert (would_run(plan)["overlay"], would_run(plan)["unset_defaults"]) == (str(file), False)


@pytest.mark.parametrize("arguments", [(), ("--overlay", "none"), ("--overlay", "")])
def test_without_an_overlay_a_run_is_recorded_as_before_there_were_any(arguments: tuple[str, ...]) -> None:
    record = read(namespace(*arguments, "--runtime", "processes"), scenario(), None).as_record()
    assert [record[name] for name in ("overlay", "overlay_digest", "unset_defaults")] == [None] * 3


def test_the_version_of_java_clients_is_recorded() -> None:
    arguments = ("--client-version", "5.16.6", "--protocol", "openwire", "--runtime", "processes")
    options = read(namespace(*arguments), scenario(), None)
    plan = make(scenario(), options)
    assert (options.as_record()["client_version"], would_run(plan)["client_version"]) == ("5.16.6", "5.16.6")
    assert plan.info.versions["openwire client"] == "5.16.6"


@pytest.mark.parametrize("runtime", ["processes", "containers"])
def test_by_unset_defaults_brokers_of_a_run_have_only_what_was_stated(tmp_path: Path, runtime: str) -> None:
    wanted = read(namespace("--unset-defaults", "--runtime", "processes"), scenario(), None).wanted
    assert wanted.unset_defaults
    build_runtime = runtime_of(replace(wanted, runtime=runtime), build("mesh"), RunDirectory.create(tmp_path, "run"))
    assert isinstance(build_runtime, ManagedRuntime)
    site = Site({(broker.name, protocol): 1 for broker in build("mesh").brokers for protocol in broker.protocols})
    text = build_runtime._wishes.renderer(build("mesh"), build("mesh").brokers[0], site)["activemq.xml"]
    assert "queuePrefetch" not in text


def test_an_option_of_a_jvm_that_java_does_not_know_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tuned.yaml"
    file.write_text("brokers: {all: {jvm: {options: ['-XX:+UseNothing']}}}", encoding="utf-8")
    sentence = message_of("--overlay", str(file), "--runtime", "processes")
    assert sentence.startswith("broker 'broker-1': jvm options -XX:+UseNothing: Java ")


def test_counts_are_spread_over_the_classes_of_a_role() -> None:
    plan = make(scenario(), read(namespace("--producers", "7"), scenario(), None))
    assert (plan.counts, plan.producers) == ({"Producer": 7, "Consumer": 3}, {"Producer": 7})


def test_a_rate_is_that_of_all_producers_together() -> None:
    info = make(scenario(), read(namespace("--producers", "4", "--rate", "100"), scenario(), None)).info
    assert info.users[0].settings["sends_per_second"] == 25


def test_a_run_by_count_has_no_warm_up_and_no_end_by_time() -> None:
    options = read(namespace("--messages", "1000"), scenario(), None)
    assert (options.warm_up_s, make(scenario(), options).load_s) == (0, None)


def test_the_command_to_run_it_again_names_the_seed() -> None:
    options = read(namespace("--seed", "7"), scenario(), None)
    assert options.seed == 7
    assert make(scenario(), options).info.command[-2:] == ("--seed", "7")


def test_connections_are_held_as_the_option_says_but_consumers_listen_all_the_time() -> None:
    plan = make(scenario(), read(namespace("--connections", "pooled", "--pool-size", "3"), scenario(), None))
    assert [(user.connections, user.pool_size) for user in plan.users] == [("pooled", 3)] * 2
    info = make(scenario(), read(namespace("--connections", "per-message"), scenario(), None)).info
    assert [(user.role, user.settings["connections"]) for user in info.users] == [
        ("producer", "per-message"),
        ("consumer", "one"),
    ]


def test_a_scenario_may_say_itself_how_its_users_connect() -> None:
    Consumer.connections, Consumer.pool_size = "pooled", 2
    info = make(scenario(), read(namespace("--pool-size", "4"), scenario(), None)).info
    assert info.users[0].settings["connections"] == "one"
    assert (info.users[1].settings["connections"], info.users[1].settings["pool_size"]) == ("pooled", 4)


def test_clients_may_be_told_of_one_broker_each_and_the_run_says_so() -> None:
    info = make(scenario(), read(namespace("--uris", "one"), scenario(), None)).info
    assert [user.settings["uris"] for user in info.users] == ["one", "one"]
    assert info.options["uris"] == "one"


def test_a_connection_mode_of_the_form_that_is_none_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UserError) as raised:
        read(Namespace(**{**vars(namespace()), "connections": "each"}), scenario(), None)
    assert str(raised.value) == "--connections each: unknown connection mode; write one of one, pooled, per-message"


def test_producers_send_in_transactions_where_they_are_asked_to_and_the_run_says_so() -> None:
    info = make(scenario(), read(namespace("--transaction-size", "20"), scenario(), None)).info
    assert [user.settings.get("transaction_size") for user in info.users] == [20, None]


@pytest.fixture
def toxiproxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkproxies, "find_toxiproxy", lambda link: Path("toxiproxy-server"))


@pytest.mark.usefixtures("toxiproxy")
def test_links_are_as_each_link_option_says_and_the_run_tells_so() -> None:
    arguments = ("--link", "broker-1-to-broker-2:delay=40ms", "--link", "broker-2<->broker-3:bandwidth=1MB/s")
    plan = make(scenario(), read(namespace(*arguments, "--runtime", "processes"), scenario(), None))
    links = [(link.name, link.proxied, link.delay_ms, link.bandwidth_kb_per_s) for link in plan.info.links]
    assert links == [
        ("broker-1-to-broker-2", True, 40, 0),
        ("broker-1-to-broker-3", True, 0, 0),
        ("broker-2-to-broker-3", True, 0, 1000),
    ]
    assert plan.info.options["link"] == "broker-1-to-broker-2:delay=40ms;broker-2<->broker-3:bandwidth=1MB/s"


def test_links_go_straight_where_nothing_is_asked_of_them() -> None:
    plan = make(scenario(), read(namespace("--runtime", "processes"), scenario(), None))
    assert [link.proxied for link in plan.info.links] == [False, False, False]


@pytest.mark.usefixtures("credentials")
def test_link_settings_are_ignored_with_a_warning_for_external_brokers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    network = tmp_path / "network.yaml"
    network.write_text(FAR, encoding="utf-8")
    brokers_path = brokers_file(tmp_path, "brokers: {a: {stomp: 'stomp://h:1'}, b: {stomp: 'stomp://h:2'}}\n")
    arguments = namespace("--topology", str(network), "--brokers-file", brokers_path)
    plan = make(scenario(), read(arguments, scenario(), None))
    assert [link.proxied for link in plan.info.links] == [False]
    (warning,) = caplog.messages
    assert warning.startswith("the brokers are already running, so the delays and bandwidths of links")


@pytest.mark.usefixtures("credentials")
def test_an_authority_is_for_brokers_that_are_not_ours(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(file))
    sentence = message_of("--ca-file", str(file), "--runtime", "processes")
    assert sentence.startswith(f"--ca-file {file} --runtime processes: a run's own brokers have their own authority")
