"""Checks that the benchmark of all catalogue entries continues after a failed entry and reports the failure."""

import pytest

from benchmarks import entries
from benchmarks.entries import Figures, measured, spoken_by, table
from drivers.canary import PathsUnproven
from topologies.catalogue.lookup import ENTRIES, build
from topologies.management.jolokia import ManagementFailed
from topologies.management.links import LinksNotProven
from topologies.model.topology import Topology
from topologies.runtimes.contract import RuntimeFailed
from topologies.runtimes.runtime_factory import Wanted

MIB = 1 << 20


@pytest.mark.parametrize(
    "error",
    [
        RuntimeFailed("broker 'a' is down\nits log"),
        LinksNotProven("broker 'a' is down"),
        PathsUnproven("broker 'a' is down"),
        ManagementFailed("broker 'a' is down"),
        KeyError("broker 'a' is down"),
        ValueError("broker 'a' is down"),
    ],
)
def test_an_entry_that_fails_is_a_row_that_says_so(error: Exception) -> None:
    def fails() -> Figures:
        raise error

    line, proven = measured("single", build("single"), 3, fails)
    assert line == "| `single` | 1 | failed in run 1 of 3: broker 'a' is down | | | |"
    assert not proven


def test_an_entry_whose_second_run_fails_has_no_figures() -> None:
    runs = iter([Figures(1.0, 2.0, MIB)])
    line, proven = measured("single", build("single"), 2, lambda: next(runs))
    assert "failed in run 2 of 2: StopIteration" in line
    assert not proven


def test_an_entry_that_is_proven_has_medians() -> None:
    runs = iter([Figures(1.0, 2.0, MIB), Figures(2.0, 4.0, 3 * MIB), Figures(1.0, 3.0, 2 * MIB)])
    line, proven = measured("single", build("single"), 3, lambda: next(runs))
    assert line == "| `single` | 1 | 1.0 s | **3.0 s** (2.0 … 4.0) | 2 MiB | 2 MiB |"
    assert proven


def test_the_table_goes_on_past_an_entry_that_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def once(topology: Topology, wanted: Wanted) -> Figures:
        if topology.name == "single":
            raise LinksNotProven("a | b")
        return Figures(1.0, 2.0, MIB)

    monkeypatch.setattr(entries, "once", once)
    assert not table({name: build(name) for name in ("single", "two-one-way")}, Wanted("processes"), 1)
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split("|")[1].strip() for row in rows] == ["`single`", "`two-one-way`"]
    assert r"a \| b" in rows[0]


def test_a_router_is_proven_by_amqp_and_brokers_by_stomp() -> None:
    assert spoken_by(build("router-peer")).distinct == ("amqp",)
    assert {spoken_by(build(entry)).distinct for entry in ENTRIES if entry != "router-peer"} == {("stomp",)}
