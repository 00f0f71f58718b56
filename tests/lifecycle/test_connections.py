"""Checks whole runs that add clients: a run finds a broker's configured limit, and names the broker."""

from pathlib import Path

import pytest

from drivers.users.broker_user import CONNECT_EVERY_S
from tests.support.locust_run import RunOutcome, make_run, nothing_left

CONNECTIONS = "scenarios/connections.py"
LIMIT = 33
BROKER = """
  - name: {name}
    connectors:
      - {{protocol: openwire}}
      - {{protocol: stomp, maximum_connections: {limit}}}
      - {{protocol: amqp, maximum_connections: {limit}}}
"""


def full(folder: Path, names: list[str], limit: int = LIMIT) -> str:
    """Return a topology of brokers with these connection limits, each linked to the first broker."""
    brokers = "".join(BROKER.format(name=name, limit=limit) for name in names)
    links = "".join(f"  - {{opened_by: {name}, to: {names[0]}, duplex: true}}\n" for name in names[1:])
    entries = ", ".join(names)
    groups = "".join(f"  - {{name: {group}, enter_at: [{entries}]}}\n" for group in ("producers", "consumers"))
    path = folder / "full.yaml"
    path.write_text(f"name: full\nbrokers:{brokers}{f'links:{chr(10)}{links}' if links else ''}groups:\n{groups}")
    return str(path)


def passed_run(folder: Path, *arguments: str) -> RunOutcome:
    run = make_run(CONNECTIONS, *arguments, runs=folder / "runs")
    assert (run.summary["verdict"], run.status) == ("pass", 0), run.output
    assert nothing_left(run.runs)
    return run


@pytest.mark.spark
@pytest.mark.nightly  # analysis/test_client_steps.py covers the steps
def test_every_client_of_each_step_connects_in_its_time_and_sends_from_then_on(tmp_path: Path) -> None:
    run = passed_run(tmp_path, "--runtime", "memory", "--clients", "10,21@5s", "--warm-up", "1")
    connections = run.summary["connections"]
    assert (connections["held"], connections["limited_by"]) == (21, None)
    began_ns = run.info["phases"]["load_began_ns"]
    tried_s = sorted((row["at_ns"] - began_ns) / 1e9 for row in run.events("connections") if row["event"] == "attempt")
    assert len(tried_s) == 21
    assert all(tried < 0 for tried in tried_s[:10])
    assert tried_s[9] - tried_s[0] >= 4 * CONNECT_EVERY_S, "five of each class, one after the other"
    assert all(5 <= tried < 8 for tried in tried_s[10:])
    due_s = [(row["due_ns"] - began_ns) / 1e9 for row in run.events("sends")]
    assert sum(0 <= due < 5 for due in due_s) == pytest.approx(5 * 2 * 5, abs=5)
    assert sum(7.5 <= due < 10 for due in due_s) == pytest.approx(2.5 * 2 * 11, abs=11)
    assert run.summary["messages"]["lost"] == 0


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.nightly  # analysis/test_client_steps.py covers the limits
@pytest.mark.parametrize("protocol", ["stomp", "amqp"])
def test_the_limit_of_a_broker_is_found_and_the_broker_is_named(protocol: str, tmp_path: Path) -> None:
    arguments = ("--topology", full(tmp_path, ["b-1"]), "--runtime", "processes", "--protocol", protocol)
    run = passed_run(tmp_path, *arguments, "--clients", "12,24,48,96@5s", "--warm-up", "2")
    connections = run.summary["connections"]
    assert (connections["held"], connections["not_held"]) == (LIMIT, 48)
    assert (connections["limited_by"], connections["brokers"]) == ("refused", ["b-1"])
    assert [step["clients"] for step in connections["steps"]] == [12, 24, 48]
    page = (run.run / "report.html").read_text("utf-8")
    assert f"{LIMIT} connections were held, and not 48: clients refused or not answered: b-1 {48 - LIMIT}." in page


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.nightly  # analysis/test_client_steps.py covers limits of several brokers
def test_a_network_holds_what_its_brokers_hold_together(tmp_path: Path) -> None:
    arguments = ("--topology", full(tmp_path, ["b-1", "b-2"], limit=15), "--runtime", "processes")
    connections = passed_run(tmp_path, *arguments, "--clients", "12,24,48@6s", "--warm-up", "2").summary["connections"]
    assert (connections["held"], connections["not_held"]) == (30, 48)
    assert connections["brokers"] == ["b-1", "b-2"]
