"""Checks the Grafana dashboard: a real Prometheus that scraped a run with a fault answers each of its queries."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from harness.live.metrics import METRICS
from tests.support.locust_run import REPOSITORY, LocustRun, free_port
from tests.support.prometheus import Prometheus, prometheus
from tests.support.waiting import until

DASHBOARD: dict[str, Any] = json.loads((REPOSITORY / "docs/grafana/brokerbench.json").read_text(encoding="utf-8"))
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
(FAULTS,) = DASHBOARD["annotations"]["list"]
QUERIES = {f"{panel['title']} {target['refId']}": target["expr"] for panel in PANELS for target in panel["targets"]}
ALL_QUERIES = {**QUERIES, "annotation of faults": FAULTS["expr"]}
FREEZE_S = 4.0
RATE_PER_S = 120


def test_each_metric_is_on_the_dashboard() -> None:
    assert [metric.name for metric in METRICS if not any(metric.name in query for query in QUERIES.values())] == []


def test_panels_have_ids_and_places_of_their_own() -> None:
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    places = [tuple(panel["gridPos"][side] for side in "xywh") for panel in PANELS]
    cells = [(x + i, y + j) for x, y, w, h in places for i in range(w) for j in range(h)]
    assert len(cells) == len({*cells})
    assert all(0 <= x < 24 for x, _ in cells)


@dataclass(frozen=True)
class Scraped:
    """``begin_s``, ``end_s``: when the load of the run began and ended, in Unix seconds."""

    server: Prometheus
    instance: str
    begin_s: float
    end_s: float

    def values(self, query: str) -> list[tuple[dict[str, str], list[tuple[float, float]]]]:
        query = query.replace("$instance", self.instance).replace("$__rate_interval", "4s")
        assert "$" not in query
        return self.server.values(query, self.begin_s, self.end_s)


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraped]:
    folder = tmp_path_factory.mktemp("dashboard")
    target = f"127.0.0.1:{free_port()}"
    fault = ("--fault", f"freeze(broker-1, at=3, for={FREEZE_S:g})", "-t", "10s", "--warm-up", "1")
    options = (*fault, "--topology", "mesh(brokers=2)", "--rate", str(RATE_PER_S), "--analyse-later")
    with prometheus(folder / "prometheus", target) as server:
        run = LocustRun("scenarios/steady.py", *options, "--metrics-port", target[10:], runs=folder / "runs")
        run.wait_for("--metrics-port: http")
        until(server.scrapes, 30)
        run.wait_for("freeze of broker-1.*: requested")
        begin_s = time.time() - 3
        outcome = run.outcome()
        assert outcome.status == 0, outcome.output
        yield Scraped(server, target, begin_s, begin_s + 10)


@pytest.mark.brokers
@pytest.mark.prometheus
@pytest.mark.parametrize("name", ALL_QUERIES)
def test_each_query_has_an_answer(scraped: Scraped, name: str) -> None:
    series = scraped.values(ALL_QUERIES[name])
    assert series, name
    assert all(value == value for _, points in series for _, value in points), "NaN"


@pytest.mark.brokers
@pytest.mark.prometheus
def test_prometheus_shows_the_run_and_its_fault(scraped: Scraped) -> None:
    """The annotation lasts as long as the fault, during which the frozen broker does not serve."""
    ((labels, points),) = scraped.values(FAULTS["expr"])
    assert (labels["kind"], labels["target"]) == ("freeze", "broker-1")
    assert FREEZE_S - 2 <= points[-1][0] - points[0][0] <= FREEZE_S + 3
    serving = {
        labels["broker"]: [value for _, value in points]
        for labels, points in scraped.values(QUERIES["Brokers that serve A"])
    }
    assert (min(serving["broker-1"]), min(serving["broker-2"])) == (0, 1)
    ((_, sent),) = scraped.values(QUERIES["Messages per second A"])
    assert max(rate for _, rate in sent) > RATE_PER_S / 2
    ((labels, _),) = scraped.values(QUERIES["Run A"])
    assert (labels["scenario"], labels["topology"], labels["runtime"]) == ("steady", "mesh(brokers=2)", "processes")


@pytest.mark.brokers
@pytest.mark.prometheus
def test_the_list_of_runs_names_the_port(scraped: Scraped) -> None:
    """It is the query of the dashboard's variable: label_values(METRIC, LABEL)."""
    variable = next(entry for entry in DASHBOARD["templating"]["list"] if entry["name"] == "instance")
    metric, label = variable["query"]["query"].removeprefix("label_values(").removesuffix(")").split(", ")
    assert scraped.server.get(f"label/{label}/values", **{"match[]": metric}) == [scraped.instance]
