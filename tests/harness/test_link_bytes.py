"""Checks that a run records its links' bytes once, and that it ends normally if they are unknown."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.run import brokers as brokers_module
from harness.run.brokers import BrokerEnvironment
from records.store.rundir import RunDirectory
from topologies.catalogue.lookup import build
from topologies.runtimes.proxies.link_proxies import Carried
from topologies.runtimes.proxies.toxiproxy import ToxiproxyUnavailable

Rows = list[tuple[Any, ...]]


def recorded(proxies: object, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Rows:
    rows: Rows = []
    recorder: Any = SimpleNamespace(sample=lambda *row: rows.append(row))
    options: Any = SimpleNamespace(runtime="memory", protocol="memory", built_topology=build("source-and-sink"))
    brokers = BrokerEnvironment(options, RunDirectory.create(folder, "run"), recorder, "main", None, ())
    monkeypatch.setattr(brokers_module, "proxies_of", lambda _runtime: proxies)
    brokers.count_links()
    return rows


def test_what_links_carried_is_recorded_each_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    proxies = SimpleNamespace(carried_at_end=lambda: {"a-to-b": Carried(100, 7)})
    assert [(row[2:]) for row in recorded(proxies, monkeypatch, tmp_path)] == [
        ("link", "a-to-b", "whole_run_forth_bytes", 100),
        ("link", "a-to-b", "whole_run_back_bytes", 7),
    ]


def test_a_run_whose_toxiproxy_does_not_answer_has_no_bytes_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def silent() -> dict[str, Carried]:
        raise ToxiproxyUnavailable("Toxiproxy does not answer")

    assert recorded(SimpleNamespace(carried_at_end=silent), monkeypatch, tmp_path) == []
    assert caplog.messages == ["the bytes that links carried are not known: Toxiproxy does not answer"]
    assert recorded(None, monkeypatch, tmp_path / "direct") == []
