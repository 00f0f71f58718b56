"""Checks that invalid options are refused before anything starts, with one sentence that says what to write instead."""

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from drivers.protocols import PROTOCOLS, Spoken
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.errors import UserError
from records.rundir import RunDirectory
from scenarios.harness import Hold, Scenario, no_acked_send_lost
from scenarios.harness.faults import FreezeBroker
from scenarios.harness.options.arguments import add_arguments
from scenarios.harness.options.plan import make, would_run
from scenarios.harness.options.run_options import read
from topologies.artemis.broker import Acceptor, ArtemisBroker
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.broker import AnyBroker
from topologies.model.client_groups import ClientGroup
from topologies.model.site import Site
from topologies.model.topology import Topology
from topologies.products import PRODUCTS
from topologies.runtimes.choice import runtime_of
from topologies.runtimes.own import OwnBrokers
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


@pytest.fixture(autouse=True)
def restore_user_classes() -> Any:
    yield
    Producer.fixed_count, Consumer.fixed_count = 2, 3
    Producer.body_bytes, Producer.sends_per_second, Producer.in_flight = 1_024, 10.0, 1_000
    Producer.transaction_size = 0
    for user in (Producer, Consumer):
        user.connections, user.pool_size = "one", 1
        user.uris = "all"


def test_a_duration_of_zero_is_refused() -> None:
    assert message_of(load_s=0).startswith("--run-time 0: must be more than 0; leave it out")


def test_a_body_too_small_for_the_identity_is_refused() -> None:
    assert message_of("--body-bytes", "31").startswith("--body-bytes 31: must be at least 32;")


@pytest.mark.parametrize("option", ["--junit", "--markdown"])
def test_a_file_that_could_not_be_written_is_refused(tmp_path: Path, option: str) -> None:
    nowhere = tmp_path / "none" / "file"
    assert message_of(option, str(nowhere)) == f"{option} {nowhere}: there is no folder {nowhere.parent}; make it first"
    assert message_of(option, str(tmp_path)) == f"{option} {tmp_path}: is a folder; write the name of a file"
    later = message_of(option, str(tmp_path / "file"), "--analyse-later")
    assert "with --analyse-later there is nothing to write yet; leave" in later


def test_two_outputs_in_one_file_are_refused(tmp_path: Path) -> None:
    file = str(tmp_path / "file")
    assert message_of("--junit", file, "--markdown", file).endswith(
        "--junit and --markdown name the same file; write two"
    )


@pytest.mark.parametrize("option", ["--messages", "--producers", "--consumers", "--in-flight"])
def test_a_count_of_zero_is_refused(option: str) -> None:
    assert message_of(option, "0").startswith(f"{option} 0: must be at least 1;")


def test_an_unknown_protocol_is_refused_with_the_known_ones() -> None:
    told = f"'mqtt' is not known; write one of {', '.join(PROTOCOLS)}, or two as PRODUCERS:CONSUMERS"
    assert message_of("--protocol", "mqtt") == f"--protocol mqtt: {told}"
    assert message_of("--protocol", "stomp:mqtt") == f"--protocol stomp:mqtt: {told}"


def test_producers_and_consumers_may_speak_two_protocols_but_memory_stays_alone() -> None:
    assert (str(Spoken("stomp", "amqp")), str(Spoken.parse("stomp:stomp"))) == ("stomp:amqp", "stomp")
    assert [Spoken("stomp", "amqp").of(role) for role in ("producer", "consumer")] == ["stomp", "amqp"]
    assert message_of("--protocol", "stomp:memory").endswith("brokers in memory speak only memory; write memory alone")


def test_a_protocol_whose_library_is_left_out_says_how_to_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers.protocols.find_spec", lambda name: None)
    told = message_of("--protocol", "stomp:amqp")
    assert told.startswith("--protocol stomp:amqp: AMQP clients need python-qpid-proton, which is not installed")
    assert told.endswith("apt-get install gcc libc6-dev python3-dev), then make install")


def test_a_nested_failover_option_that_a_protocol_does_not_know_is_refused_before_anything_starts() -> None:
    told = message_of("--failover", "nested.heartbeat=5", "--runtime", "processes")
    says = "failover option nested.heartbeat=5: STOMP has no option heartbeat; it knows heartbeat_ms"
    assert told == f"--failover nested.heartbeat=5: {says}"


def test_brokers_that_do_not_speak_a_protocol_are_named_with_what_they_do_speak(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = Broker("lonely", connectors=(TransportConnector("stomp"),))
    monkeypatch.setattr("topologies.catalogue.lookup.build", lambda entry: of_one(broker, "classic"))
    told = message_of("--protocol", "stomp:amqp", "--runtime", "processes")
    assert told.startswith("Consumer: amqp is not spoken by lonely; give each a transport connector for it, or")
    assert told.endswith("choose a --protocol of stomp")


def test_openwire_by_http_is_for_links_only() -> None:
    by_http = ("--topology", "source-and-sink(transport='http')", "--runtime", "processes", "--protocol")
    told = message_of(*by_http, "openwire")
    assert told.startswith("Consumer: openwire is not spoken by sink; give each a transport connector for it, or")
    make(scenario(), read(namespace(*by_http, "stomp"), scenario(), None))


def of_one(broker: AnyBroker, flavour: str) -> Topology:
    groups = (ClientGroup("producers", (broker,)), ClientGroup("consumers", (broker,)))
    return Topology("one", (broker,), (), groups, PRODUCTS[flavour])


def test_a_scenario_may_have_a_default_protocol_of_its_own_but_not_in_memory() -> None:
    own = replace(scenario(), default_protocol="openwire")
    asked = (("--runtime", "processes"), ("--runtime", "processes", "--protocol", "stomp"), ("--runtime", "memory"))
    assert [read(namespace(*each), own, None).protocol for each in asked] == ["openwire", "stomp", "memory"]
    assert read(namespace("--runtime", "processes"), scenario(), None).protocol == "stomp"


@pytest.mark.parametrize("protocol", ["stomp", "amqp", "openwire:core"])
def test_an_acceptor_for_all_protocols_takes_any(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topology = of_one(ArtemisBroker("broad", acceptors=(Acceptor("all"),)), "artemis")
    monkeypatch.setattr("topologies.catalogue.lookup.build", lambda entry: topology)
    make(scenario(), read(namespace("--protocol", protocol, "--runtime", "processes"), scenario(), None))


def test_a_broker_of_artemis_is_to_get_an_acceptor(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = of_one(ArtemisBroker("narrow", acceptors=(Acceptor("core"),)), "artemis")
    monkeypatch.setattr("topologies.catalogue.lookup.build", lambda entry: topology)
    told = message_of("--protocol", "stomp", "--runtime", "processes")
    assert told.endswith("stomp is not spoken by narrow; give each an acceptor for it, or choose a --protocol of core")


def test_a_router_speaks_what_it_speaks() -> None:
    told = message_of("--topology", "router-peer", "--protocol", "stomp", "--runtime", "processes")
    assert told.endswith("stomp is not spoken by router; choose a --protocol of amqp")


def test_an_error_in_a_file_names_the_file_once(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text("- a\n")
    assert message_of("--topology", f"{tmp_path}/my.yaml").startswith(f"--topology {tmp_path}/my.yaml:1:1: a list, but")


def test_a_body_larger_than_a_brokers_frames_is_refused_before_anything_starts() -> None:
    told = message_of("--body-bytes", "104857600", "--runtime", "processes")
    assert told.startswith(
        "Producer: a body of 104,857,600 bytes is more than broker broker-1 takes in a frame of stomp (104,857,600); "
        "write less for --body-bytes, or raise max_frame_size_bytes of its transport connector; a body of"
    )
    make(scenario(), read(namespace("--body-bytes", "104857599", "--runtime", "processes"), scenario(), None))


def test_brokers_in_memory_speak_only_memory() -> None:
    assert "memory goes with memory only" in message_of("--protocol", "stomp", "--runtime", "memory")


def test_brokers_listen_on_loopback_unless_another_address_of_this_machine_is_named() -> None:
    assert read(namespace(), scenario(), None).bind_host == "127.0.0.1"
    told = message_of("--bind-host", "192.0.2.77")
    assert told.startswith("--bind-host 192.0.2.77: not an IPv4 address of this machine; write one of 127.0.0.1")


def test_the_help_says_that_brokers_can_then_be_reached_from_the_network() -> None:
    parser = ArgumentParser()
    add_arguments(parser, scenario())
    assert "they can be reached from its network" in " ".join(parser.format_help().split())


def test_brokers_in_memory_have_no_address() -> None:
    told = message_of("--bind-host", "127.0.0.2", "--runtime", "memory")
    assert told == "--bind-host 127.0.0.2: brokers in memory listen nowhere; leave it out"


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
        "brokers that run already, as --brokers-file tells",
    )
    assert "s3cret" not in repr(make(scenario(), options))
    assert options.as_record()["brokers_file"] == str(tmp_path / "brokers.yaml")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--runtime", "external"), "--runtime external: say by --brokers-file FILE where the brokers are"),
        (("--brokers-file", "b", "--runtime", "processes"), "--brokers-file b --runtime processes: only --runtime ext"),
        (("--brokers-file", "b", "--base-port", "7000"), "--base-port with --runtime external: brokers that run al"),
        (("--brokers-file", "b", "--keep-data"), "--keep-data with --runtime external: brokers that run already"),
        (("--brokers-file", "b", "--start-timeout", "9"), "--start-timeout with --runtime external: brokers that run"),
        (("--brokers-file", "b", "--image", "i"), "--image i --runtime external: only containers have an image"),
        (("--brokers-file", "nowhere.yaml"), "--brokers-file nowhere.yaml: cannot be read (No such file or directory)"),
        (("--ca-file", "nowhere.pem", "--runtime", "processes"), "--ca-file nowhere.pem: No such file or directory;"),
    ],
)
def test_brokers_that_run_already_are_told_of_by_a_file_and_are_as_they_are(
    arguments: tuple[str, ...], told: str
) -> None:
    assert message_of(*arguments).startswith(told)


def test_a_version_of_the_brokers_is_that_of_local_processes_and_is_recorded() -> None:
    options = read(namespace("--broker-version", "5.16.6"), scenario(), None)
    assert (options.runtime, options.runtime_reason) == ("processes", "local JVMs, asked for by --broker-version")
    assert options.as_record()["broker_version"] == "5.16.6"
    dry = would_run(make(scenario(), options))
    assert (dry["runtime"], dry["broker_version"], dry["distribution"]) == ("processes", "5.16.6", None)


def test_brokers_get_as_long_to_start_as_is_asked_for_and_no_time_at_all_is_refused() -> None:
    usual = read(namespace("--runtime", "processes"), scenario(), None)
    longer = read(namespace("--runtime", "processes", "--start-timeout", "300"), scenario(), None)
    assert (usual.wanted.start_timeout_s, longer.wanted.start_timeout_s) == (90, 300)
    assert message_of("--start-timeout", "0").startswith("--start-timeout 0: must be more than 0;")
    assert message_of("--start-timeout", "nan").startswith("--start-timeout nan: must be a finite number")


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
    made = make(scenario(), read(namespace("--topology", topology, "--runtime", "processes"), scenario(), None))
    assert list(made.info.pairs_by_links) == would_run(made)["pairs_by_links"] == pairs
    assert would_run(made)["enter_at"] == {"producer": sorted(made.info.enter_at("producer")), "consumer": consumers_at}


def test_a_dry_run_tells_the_checks_and_when_faults_happen() -> None:
    faults = "kill(broker-2, at=5, for=8); stop-link(broker-1-to-broker-2, at=20); rolling-restart(all, at=30, pause=5)"
    asked = ("--runtime", "processes", "--fault", faults, "--check", "messages.duplicated <= 2")
    dry = would_run(make(scenario(), read(namespace(*asked), scenario(), 120.0)))
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
    asked = ("--client-version", "5.16.6", "--protocol", "openwire", "--runtime", "processes")
    options = read(namespace(*asked), scenario(), None)
    plan = make(scenario(), options)
    assert (options.as_record()["client_version"], would_run(plan)["client_version"]) == ("5.16.6", "5.16.6")
    assert plan.info.versions["openwire client"] == "5.16.6"


@pytest.mark.parametrize(
    ("protocol", "told"),
    [
        ("stomp", "clients of stomp have no version; choose --protocol openwire or core"),
        ("openwire", "not known of these clients; write one of openwire 5.18.3, 5.16.6"),
        ("openwire:core", "not known of these clients; write one of openwire 5.18.3, 5.16.6; core 2.44.0, 2.40.0"),
    ],
)
def test_a_version_that_no_client_of_the_run_has_is_refused(protocol: str, told: str) -> None:
    asked = ("--client-version", "5.17.0", "--protocol", protocol, "--runtime", "processes")
    assert message_of(*asked) == f"--client-version 5.17.0: {told}"


@pytest.mark.parametrize("runtime", ["processes", "containers"])
def test_by_unset_defaults_brokers_of_a_run_have_only_what_was_stated(tmp_path: Path, runtime: str) -> None:
    wanted = read(namespace("--unset-defaults", "--runtime", "processes"), scenario(), None).wanted
    assert wanted.unset_defaults
    build_runtime = runtime_of(replace(wanted, runtime=runtime), build("mesh"), RunDirectory.create(tmp_path, "run"))
    assert isinstance(build_runtime, OwnBrokers)
    site = Site({(broker.name, protocol): 1 for broker in build("mesh").brokers for protocol in broker.protocols})
    text = build_runtime._wishes.renderer(build("mesh"), build("mesh").brokers[0], site)["activemq.xml"]
    assert "queuePrefetch" not in text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--overlay", "gone.yaml"), "--overlay gone.yaml: No such file or directory; name a YAML file with settings"),
        (
            ("--overlay", "{}"),
            "--overlay {}:1:17: brokers[all]: 'acceptors' is not known here: it is of Artemis; of Cl",
        ),
        (("--overlay", "{jvm}"), "broker 'broker-1': jvm options -XX:+UseNothing: Java "),
        (("--overlay", "{fine}", "--runtime", "memory"), "--overlay {fine} --runtime memory: no broker is started; "),
        (("--unset-defaults", "--runtime", "memory"), "--unset-defaults --runtime memory: no broker is started; leave"),
        (
            ("--unset-defaults", "--brokers-file", "b"),
            "--unset-defaults --runtime external: brokers that run already are as they are; leave it out",
        ),
    ],
)
def test_an_overlay_that_no_run_can_have_is_refused(
    arguments: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {
        "{}": "brokers: {all: {acceptors: []}}",
        "{jvm}": "brokers: {all: {jvm: {options: ['-XX:+UseNothing']}}}",
        "{fine}": "brokers: {all: {}}",
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    runtime = () if {"--runtime", "--brokers-file"} & {*arguments} else ("--runtime", "processes")
    assert message_of(*arguments, *runtime).startswith(told)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("--broker-version", "5.17.0"),
            "--broker-version 5.17.0: not known of classic brokers; write one of 5.1",
        ),
        (("--distribution", "nowhere"), "--distribution nowhere: there is no such file or folder; name an unpacked"),
        (
            ("--distribution", "d", "--runtime", "containers"),
            "--distribution d --runtime containers: brokers in co",
        ),
        (("--broker-version", "5.16.6", "--protocol", "memory"), "--broker-version 5.16.6 --runtime memory: no broker"),
        (
            ("--broker-version", "5.16.6", "--brokers-file", "b"),
            "--broker-version 5.16.6 --runtime external: brokers",
        ),
        (
            ("--broker-version", "5.16.6", "--distribution", "d"),
            "--broker-version 5.16.6 --distribution d: a dist",
        ),
    ],
)
def test_a_version_or_a_build_that_no_broker_can_be_started_from_is_refused(
    arguments: tuple[str, ...], told: str
) -> None:
    assert message_of(*arguments).startswith(told)


def test_a_file_of_other_brokers_than_the_topologys_is_refused(tmp_path: Path) -> None:
    message = message_of("--brokers-file", brokers_file(tmp_path))
    assert message.startswith(f"--brokers-file {tmp_path}/brokers.yaml: brokers: where is broker-2, broker-3? topology")


def test_a_protocol_that_the_file_does_not_tell_is_refused(tmp_path: Path) -> None:
    file = brokers_file(tmp_path, "brokers: {broker-1: {openwire: 'ssl://h:1'}}\n")
    assert "no stomp URI, and the clients are to speak it" in message_of("--topology", "single", "--brokers-file", file)


def test_a_credentials_file_that_cannot_be_read_is_named_and_the_brokers_file_that_names_it(tmp_path: Path) -> None:
    text = "brokers: {broker-1: {stomp: 'stomp://h:1'}}\ncredentials_file: gone.env\n"
    file = brokers_file(tmp_path, text)
    assert message_of("--topology", "single", "--brokers-file", file) == (
        f"--brokers-file {file}: credentials_file {tmp_path}/gone.env: cannot be read (No such file or directory); "
        "name a file with BROKERBENCH_USERNAME"
    )


@pytest.mark.usefixtures("credentials")
def test_a_fault_of_brokers_that_are_not_ours_is_refused_before_anything_starts(tmp_path: Path) -> None:
    faulty = replace(scenario(), faults=(FreezeBroker("broker-1", at_s=1, for_s=1),))
    options = read(namespace("--topology", "single", "--brokers-file", brokers_file(tmp_path)), faulty, None)
    with pytest.raises(UserError, match="fault freeze of broker-1: --runtime external only talks to brokers"):
        make(faulty, options)


def test_an_unknown_topology_is_refused_with_the_nearest_one() -> None:
    assert "'mesh'" in message_of("--topology", "mehs")


def test_an_unknown_parameter_of_a_topology_is_refused() -> None:
    assert "brokers" in message_of("--topology", "mesh(nodes=3)")


def test_an_unknown_failover_option_is_refused_by_name() -> None:
    assert "backOffMultiplier" in message_of("--failover", "backOffMultiplier=2")


def test_failover_options_are_told_as_they_were_written_without_ports_that_nobody_has_chosen() -> None:
    assert message_of("--failover", "timeout=x") == (
        "--failover timeout=x: timeout='x' is not a whole number; write a whole number, such as -1"
    )
    assert message_of("--failover", "randomise=true").startswith(
        "--failover randomise=true: unknown option 'randomise'; did you mean randomize?"
    )
    assert message_of("--failover", "trackMessages=true").startswith(
        "--failover trackMessages=true: failover option trackMessages=true is not supported by STOMP"
    )


def test_a_failover_option_that_stomp_cannot_honour_is_refused_by_name() -> None:
    assert "trackMessages" in message_of("--failover", "trackMessages=true")


@pytest.mark.parametrize(
    ("failover", "told"),
    [
        ("randomise=true", "unknown option 'randomise'; did you mean randomize?"),
        ("trackMessages=true", "failover option trackMessages=true is not supported by STOMP: only OpenWire"),
    ],
)
def test_failover_options_of_a_file_are_told_with_their_line(failover: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    groups = f"[{{name: producers, enter_at: [a], failover: {failover}}}, {{name: consumers, enter_at: [a]}}]"
    file.write_text(f"name: own\nbrokers: [a]\ngroups: {groups}\n", encoding="utf-8")
    assert message_of("--topology", str(file)).startswith(f"Producer: {file}:3:53: groups[0].failover: {told}")


def test_counts_are_spread_over_the_classes_of_a_role() -> None:
    plan = make(scenario(), read(namespace("--producers", "7"), scenario(), None))
    assert (plan.counts, plan.producers) == ({"Producer": 7, "Consumer": 3}, {"Producer": 7})


def test_a_rate_is_that_of_all_producers_together() -> None:
    make(scenario(), read(namespace("--producers", "4", "--rate", "100"), scenario(), None))
    assert Producer.sends_per_second == 25


def test_a_run_by_count_has_no_warm_up_and_no_end_by_time() -> None:
    options = read(namespace("--messages", "1000"), scenario(), None)
    assert (options.warm_up_s, make(scenario(), options).load_s) == (0, None)


def test_a_fault_that_the_load_is_too_short_for_is_refused() -> None:
    faulty = replace(scenario(), faults=(FreezeBroker("broker-1", at_s=20, for_s=3),))
    with pytest.raises(UserError, match=r"freeze of broker-1: it lasts from 20 s to 23 s .* over after 10 s"):
        make(faulty, read(namespace(), faulty, 10))


def test_a_fault_of_a_broker_that_is_not_there_is_refused() -> None:
    faulty = replace(scenario(), faults=(FreezeBroker("broker-9", at_s=1, for_s=1),))
    with pytest.raises(UserError, match="has no broker 'broker-9'"):
        make(faulty, read(namespace(), faulty, 10))


def test_the_command_to_run_it_again_names_the_seed() -> None:
    options = read(namespace("--seed", "7"), scenario(), None)
    assert options.seed == 7
    assert make(scenario(), options).info.command[-2:] == ("--seed", "7")


def test_connections_are_held_as_the_option_says_but_consumers_listen_all_the_time() -> None:
    make(scenario(), read(namespace("--connections", "pooled", "--pool-size", "3"), scenario(), None))
    assert [(user.connections, user.pool_size) for user in (Producer, Consumer)] == [("pooled", 3)] * 2
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


def test_a_pool_that_nobody_shares_is_refused() -> None:
    told = "--pool-size 3: nobody shares connections; add --connections pooled, or leave it out"
    assert message_of("--pool-size", "3") == told
    assert message_of("--pool-size", "3", "--connections", "per-message") == told
    assert message_of("--pool-size", "0", "--connections", "pooled").startswith("--pool-size 0: must be at least 1;")


def test_clients_may_be_told_of_one_broker_each_and_the_run_says_so() -> None:
    info = make(scenario(), read(namespace("--uris", "one"), scenario(), None)).info
    assert [user.settings["uris"] for user in info.users] == ["one", "one"]
    assert info.options["uris"] == "one"


def test_one_uri_is_refused_where_a_client_has_no_others_or_no_connection_of_its_own() -> None:
    assert message_of("--uris", "one", "--topology", "single") == (
        "Producer: uris = 'one', and its group 'producers' enters single at broker-1 alone, so its clients know no "
        "other broker anyway; leave --uris out, or choose a --topology where producers enter at several brokers"
    )
    assert message_of("--uris", "one", "--connections", "pooled") == (
        "Producer: uris = 'one', but its connections are pooled: only a client with a connection of its own can be "
        "told of one broker; use --connections one, or leave --uris out"
    )


def test_a_number_of_uris_that_is_none_is_refused_with_the_known_ones() -> None:
    Consumer.uris = "two"
    assert message_of() == "Consumer: uris = 'two'; write one of all, one"


def test_a_connection_mode_that_is_none_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UserError) as raised:
        read(Namespace(**{**vars(namespace()), "connections": "each"}), scenario(), None)
    assert str(raised.value) == "--connections each: not known; write one of one, pooled, per-message"
    Producer.connections = "each"
    assert message_of() == "Producer: connections = 'each' is no connection mode; write one of one, pooled, per-message"
    Producer.connections, Producer.pool_size = "pooled", 0
    assert message_of() == "Producer: pool_size = 0: must be at least 1"


def test_producers_send_in_transactions_where_they_are_asked_to_and_the_run_says_so() -> None:
    info = make(scenario(), read(namespace("--transaction-size", "20"), scenario(), None)).info
    assert [user.settings.get("transaction_size") for user in info.users] == [20, None]


def test_a_transaction_that_cannot_be_is_refused_with_the_way_out() -> None:
    asked = "Producer: 20 messages a transaction (--transaction-size): "
    size = ("--transaction-size", "20")
    assert message_of("--transaction-size", "0").startswith("--transaction-size 0: must be at least 1;")
    assert message_of(*size, "--in-flight", "19") == (
        f"{asked}only 19 messages may await their answer, and none is answered before its transaction ends; "
        "use --in-flight 20 or more"
    )
    Producer.in_flight = 1_000
    told = message_of(*size, "--connections", "per-message")
    assert told == f"{asked}each message has a connection of its own; use --connections one or pooled"
    Producer.connections = "one"
    Producer.transaction_size = -1
    assert (
        message_of()
        == "Producer: -1 messages a transaction (--transaction-size): write a number of messages, or 0 for none"
    )


@pytest.fixture
def toxiproxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkproxies, "find_toxiproxy", lambda link: Path("toxiproxy-server"))


@pytest.mark.usefixtures("toxiproxy")
def test_links_are_as_each_link_option_says_and_the_run_tells_so() -> None:
    given = ("--link", "broker-1-to-broker-2:delay=40ms", "--link", "broker-2<->broker-3:bandwidth=1MB/s")
    plan = make(scenario(), read(namespace(*given, "--runtime", "processes"), scenario(), None))
    told = [(link.name, link.proxied, link.delay_ms, link.bandwidth_kb_per_s) for link in plan.info.links]
    assert told == [
        ("broker-1-to-broker-2", True, 40, 0),
        ("broker-1-to-broker-3", True, 0, 0),
        ("broker-2-to-broker-3", True, 0, 1000),
    ]
    assert plan.info.options["link"] == "broker-1-to-broker-2:delay=40ms;broker-2<->broker-3:bandwidth=1MB/s"


def test_links_go_straight_where_nothing_is_asked_of_them() -> None:
    plan = make(scenario(), read(namespace("--runtime", "processes"), scenario(), None))
    assert [link.proxied for link in plan.info.links] == [False, False, False]


def test_a_link_that_is_not_there_is_refused_with_the_nearest() -> None:
    told = message_of("--link", "broker-1-to-broker2:delay=1ms", "--runtime", "processes")
    assert told.startswith("--link 'broker-1-to-broker2': there is no such link; did you mean 'broker-1-to-broker-2'?")


def test_links_of_brokers_that_no_proxy_gets_between_are_refused() -> None:
    told = message_of("--link", "*:delay=1ms", "--runtime", "memory")
    assert told == (
        "--link '*:delay=1ms': link 'broker-1-to-broker-2' goes through Toxiproxy, which gets between brokers that a"
        " run starts, not between brokers in memory; use --runtime containers or processes, or leave the links as they"
        " are"
    )


@pytest.mark.usefixtures("credentials")
def test_what_a_file_says_of_links_is_left_out_with_a_warning_where_the_brokers_run_already(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    network = tmp_path / "network.yaml"
    network.write_text(FAR, encoding="utf-8")
    told_of = brokers_file(tmp_path, "brokers: {a: {stomp: 'stomp://h:1'}, b: {stomp: 'stomp://h:2'}}\n")
    arguments = namespace("--topology", str(network), "--brokers-file", told_of)
    plan = make(scenario(), read(arguments, scenario(), None))
    assert [link.proxied for link in plan.info.links] == [False]
    (warning,) = caplog.messages
    assert warning.startswith("the brokers run already, so their links are left as they are, whatever")


@pytest.mark.usefixtures("credentials")
def test_an_authority_is_for_brokers_that_are_not_ours(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(file))
    told = message_of("--ca-file", str(file), "--runtime", "processes")
    assert told.startswith(f"--ca-file {file} --runtime processes: brokers of our own have an authority of their own")
