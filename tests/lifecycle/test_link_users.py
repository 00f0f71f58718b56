"""Checks runs whose links log in as users that brokers know, reject, or give too few permissions.

Four brokers send to one. Each link has a user of its own, so one run shows all four cases. All links of a cluster have
one user. Its run has two members with different passwords: with a third one the result depends on who connects first.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.support.locust_run import RunOutcome, make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

PERMITTED, WRONG, MISSING, FORBIDDEN = CASES = ("permitted", "wrong", "missing", "forbidden")
NETWORK = """\
name: users
flavour: {flavour}
brokers:
  - {{name: permitted, users: [{{name: permitted}}]}}
  - {{name: wrong, users: [{{name: wrong}}]}}
  - {{name: missing, users: [{{name: missing}}]}}
  - {{name: forbidden, users: [{{name: forbidden}}]}}
  - name: sink
    users: [{{name: permitted}}, {{name: wrong, other_password: true}}, {{name: forbidden, {forbidden}}}]
links:
{links}groups:
  - {{name: producers, enter_at: [permitted, wrong, missing, forbidden]}}
  - {{name: consumers, enter_at: [sink]}}
"""
SCENARIO = """\
from brokerbench import ConsumerUser, Hold, ProducerUser, Scenario, duplicates_at_most, none_stranded, run


class Producer(ProducerUser):
    group, destination, sends_per_second, fixed_count, uris = "producers", "queue://steady", 15, 8, "one"


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://steady", 2


checks = (none_stranded(), duplicates_at_most(0))
run(Scenario(users=(Producer, Consumer), default_topology="mesh", load=Hold(for_s=4), checks=checks))
"""
CLUSTER = """\
name: members
flavour: artemis
brokers:
  - {name: wrong, users: [{name: members, other_password: true}]}
  - {name: sink, users: [{name: members}]}
links:
  - {kind: clusterConnection, opened_by: wrong, to: sink, user_name: members}
groups:
  - {name: producers, enter_at: [wrong, sink]}
  - {name: consumers, enter_at: [sink]}
"""
OF_THE_MIRROR = """\
brokers:
  broker-2: {users: [{name: mirroring, send: ["steady"]}]}
links:
  all: {user_name: mirroring}
"""
LOAD = ("--warm-up", "1", "--broker-memory", "128")
NOTE = re.compile(
    r"link (\w+)-to-sink was (up|down|in an unknown state)\b.* at the end of the load; its user '(\w+)': "
)


def network(flavour: str, forbidden: str, settings: str = "") -> str:
    links = "".join(f"  - {{opened_by: {name}, to: sink, user_name: {name}{settings}}}\n" for name in CASES)
    return NETWORK.format(flavour=flavour, forbidden=forbidden, links=links)


def run_of(runs: Path, text: str) -> RunOutcome:
    topology, scenario = runs.with_name("users.yaml"), runs.with_name("each_broker.py")
    topology.write_text(text, encoding="utf-8")
    scenario.write_text(SCENARIO, encoding="utf-8")
    return make_run(str(scenario), "--topology", str(topology), *LOAD, runs=runs)


def notes_of(outcome: RunOutcome) -> dict[str, tuple[str, str]]:
    """The state of each link whose user may be rejected, and the sentence about it; the report has each sentence."""
    report = (outcome.run / "report.html").read_text(encoding="utf-8")
    notes = {}
    for warning in outcome.info["warnings"]:
        if note := NOTE.match(warning):
            assert note[1] == note[3]
            assert f"link {note[1]}-to-sink was {note[2]}" in report
            notes[note[1]] = (note[2], warning)
    return notes


def passwords_in(run: Path) -> set[str]:
    """The beginnings of all passwords in the files of a run."""
    texts = (path.read_text(errors="replace") for path in run.rglob("*") if path.suffix in (".xml", ".log", ".json"))
    return {found[:14] for text in texts for found in re.findall(r'[pP]assword"?[=:] ?"([^"]+)"', text)}


def check_run(outcome: RunOutcome) -> dict[str, tuple[str, str]]:
    """Check that exactly the messages of the permitted link arrived, and that the others are on their brokers."""
    messages = outcome.summary["messages"]
    assert (outcome.summary["verdict"], outcome.status) == ("fail", 1), outcome.output
    assert "brokers may reject the users of links, so their paths are not proven" in outcome.output
    left = Counter(row["broker"] for row in outcome.events("leftovers"))
    assert left.keys() == {WRONG, MISSING, FORBIDDEN}, left
    assert min(left.values()) > 60
    assert messages["stranded"] == sum(left.values())
    assert (messages["lost"], messages["unaccounted"], messages["duplicated"]) == (0, 0, 0)
    assert messages["received"] == messages["sent"] - messages["stranded"] > 60
    notes = notes_of(outcome)
    assert notes.keys() == {WRONG, MISSING, FORBIDDEN}
    assert "'wrong': sink has another password for user 'wrong' than wrong; " in notes[WRONG][1]
    assert "'missing': sink has no user 'missing'; " in notes[MISSING][1]
    assert all("; sink logged " in note for _, note in (notes[WRONG], notes[MISSING]))
    assert (notes[WRONG][0], notes[MISSING][0]) == ("down", "down")
    assert passwords_in(outcome.run) <= {"${brokerbench."}
    assert nothing_left(outcome.runs)
    return notes


def test_bridges_carry_only_what_users_may(tmp_path: Path) -> None:
    notes = check_run(run_of(tmp_path / "runs", network("classic", "write: []")))
    assert "User name [brokerbench-bridge-wrong] or password is invalid" in notes[WRONG][1]
    assert "'forbidden': sink: write: nothing; " in notes[FORBIDDEN][1]
    refused = "User brokerbench-bridge-forbidden is not authorized to write to: queue://steady"
    assert f"shutdown due to a local error: java.lang.SecurityException: {refused}" in notes[FORBIDDEN][1]


def test_amqp_connections_carry_only_what_users_may(tmp_path: Path) -> None:
    settings = ', senders: [{address_match: "steady"}], retry_interval_ms: 500'
    notes = check_run(run_of(tmp_path / "runs", network("artemis", "send: []", settings)))
    assert "AMQ229031: Unable to validate user" in notes[WRONG][1]
    assert "AMQ119023: Sender link refused for address steady" in notes[FORBIDDEN][1]


def test_a_member_with_another_cluster_password_is_left_out(tmp_path: Path) -> None:
    """Messages that are sent there stay there. The consumers are at the other member."""
    outcome = run_of(tmp_path / "runs", CLUSTER)
    messages = outcome.summary["messages"]
    assert (outcome.summary["verdict"], outcome.status) == ("fail", 1), outcome.output
    assert {row["broker"] for row in outcome.events("leftovers")} == {WRONG}
    assert messages["stranded"] > 120
    assert messages["received"] == messages["sent"] - messages["stranded"] > 120
    (warning,) = (warning for warning in outcome.info["warnings"] if warning.startswith("link "))
    assert warning.startswith("link wrong-to-sink was down (wrong has no bridge to sink; ")
    assert "its user 'members': sink has another password for user 'members' than wrong; " in warning
    assert "AMQ229099: Unable to authenticate cluster user: brokerbench-bridge-members" in warning
    assert "link wrong-to-sink was down" in (outcome.run / "report.html").read_text(encoding="utf-8")
    assert passwords_in(outcome.run) <= {"${brokerbench."}
    assert nothing_left(outcome.runs)


def test_a_mirror_without_permission_for_its_address_sends_nothing(tmp_path: Path) -> None:
    """Its user may only send to the queue of the application. What it has to repeat waits at the source."""
    runs, overlay = tmp_path / "runs", tmp_path / "user-of-mirror.yaml"
    overlay.write_text(OF_THE_MIRROR, encoding="utf-8")
    options = ("--topology", "mirror", "--overlay", str(overlay), "-t", "3s", "--rate", "50")
    outcome = make_run("scenarios/steady.py", *options, *LOAD, runs=runs)
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    (link,) = (warning for warning in outcome.info["warnings"] if warning.startswith("link broker-1-to-broker-2 "))
    address = "$ACTIVEMQ_ARTEMIS_MIRROR_broker-1-to-broker-2"
    assert link.startswith("link broker-1-to-broker-2 was down (")
    assert f"Sender link refused for address {address}" in link
    (queues,) = (warning for warning in outcome.info["warnings"] if warning.startswith("mirror broker-1-to-broker-2 "))
    _, _, only_at_source = queues.partition("; only on broker-1: ")
    waiting = re.search(rf"{re.escape(address)} \((\d+)\)", only_at_source)
    assert waiting, queues
    assert int(waiting[1]) > outcome.summary["messages"]["sent"] > 150, (
        "each message is repeated, and its acknowledgement"
    )
    assert only_at_source.endswith("; only on broker-2: none")
    assert passwords_in(outcome.run) <= {"${brokerbench."}
    assert nothing_left(runs)
