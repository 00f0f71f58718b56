"""Checks that Locust's web UI makes one run after another, with real brokers and a real browser."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.support.locust_run import nothing_left
from tests.webui.running import chromium_page, eventually, fill_in, web_ui

REPORT_TIMEOUT_MS = 120_000


@pytest.mark.nightly
@pytest.mark.brokers
def test_stop_while_brokers_come_up_takes_them_down_and_leaves_locust_usable(tmp_path: Path) -> None:
    with web_ui(tmp_path / "runs", "--topology", "single", "--runtime", "processes") as ui:
        assert ui.start()["success"]
        eventually(lambda: "brokers come up" in ui.phase(), 60)
        time.sleep(1)
        assert ui.post("stop")["success"]
        assert ui.now()["trouble"] == ["interrupted before the load began"]
        assert ui.infos()[0]["state"] == "interrupted"
        assert "--rate many: must be a number" in ui.start(rate="many")["message"]
        assert ui.start()["success"]
        eventually(lambda: ui.phase().startswith("load"), 120)
        ui.locust.send(signal.SIGINT)
        ui.locust.send(signal.SIGINT)
        assert ui.locust.outcome().status == 130
        assert nothing_left(ui.locust.runs)
        assert "Traceback" not in ui.locust.output


@pytest.mark.spark
@pytest.mark.nightly
def test_ctrl_c_in_a_run_reports_it_before_locust_ends(tmp_path: Path) -> None:
    with web_ui(tmp_path / "runs", "--runtime", "memory") as ui:
        ui.start(run_time="60s")
        eventually(lambda: ui.phase().startswith("load"), 120)
        ui.locust.send(signal.SIGINT)
        outcome = ui.locust.outcome()
    assert (outcome.status, outcome.summary["verdict"]) == (130, "interrupted"), outcome.output
    assert (outcome.run / "report.html").exists()


@pytest.mark.nightly
@pytest.mark.spark
def test_stop_after_an_abort_keeps_the_verdict(tmp_path: Path) -> None:
    """The load was already over when Stop was pressed, so the run was not stopped manually."""
    condition = "latency_ms.due_to_received.count > 50"
    with web_ui(tmp_path / "runs", "--runtime", "memory", "--abort-on", condition) as ui:
        assert ui.start(run_time="60s")["success"]
        ui.locust.wait_for("by --abort-on")
        assert ui.post("stop")["success"]
        (info,) = ui.infos()
        (folder,) = ui.locust.runs.iterdir()
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["verdict"], info["state"], len(info["aborts"])) == ("fail", "ended", 1), ui.locust.output
    assert [warning for warning in info["warnings"] if "stopped manually" in warning] == []


@pytest.mark.nightly
@pytest.mark.spark
def test_runs_in_a_row_have_each_their_own_options_and_none_of_the_run_before(tmp_path: Path) -> None:
    with web_ui(tmp_path / "runs", "--runtime", "memory", "--topology", "mesh") as ui:
        assert ui.start(topology="single", producers="2", rate="30", run_time="2s")["success"]
        eventually(lambda: ui.state() == "stopped", 120)
        assert ui.start(messages="50")["success"]
        eventually(lambda: len(ui.now()["reports"]) == 2, 120)
        ui.locust.send(signal.SIGINT)
        assert ui.locust.outcome().status == 0
        single_run, mesh_run = ui.infos()
    assert single_run["durations_s"]["load"] >= 2  # its full duration, although the phases before it took longer
    assert (single_run["topology"], mesh_run["topology"]) == ("single", "mesh")
    assert [user["count"] for user in single_run["users"]] == [2, 2]
    assert [user["count"] for user in mesh_run["users"]] == [6, 2]
    assert single_run["users"][0]["settings"]["sends_per_second"] == 15
    assert mesh_run["users"][0]["settings"]["sends_per_second"] == 20
    assert " ".join(single_run["command"]).endswith(
        "--headless --producers 2 --rate 30 --run-time 2 --topology single --warm-up 0"
    )
    summaries = [json.loads(path.read_text()) for path in sorted(ui.locust.runs.glob("*/summary.json"))]
    assert [summary["messages"]["sent"] for summary in summaries][1] == 50
    assert [summary["verdict"] for summary in summaries] == ["pass", "pass"], ui.locust.output


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.nightly
def test_two_workers_make_runs_in_a_row_with_what_the_form_asks_for(tmp_path: Path) -> None:
    with web_ui(tmp_path / "runs", "--topology", "single", "--runtime", "processes", "--processes", "2") as ui:
        ui.locust.wait_for("2 workers connected")
        for rate in (20, 40):
            assert ui.start(rate=str(rate), run_time="3s")["success"]
            eventually(lambda: ui.phase().startswith("load"), 120)
            eventually(lambda: ui.state() == "stopped", 120)
        ui.locust.send(signal.SIGINT)
        assert ui.locust.outcome().status == 0
    summaries = [json.loads(path.read_text()) for path in sorted(ui.locust.runs.glob("*/summary.json"))]
    sent = [summary["messages"]["sent"] for summary in summaries]
    assert 50 <= sent[0] <= 70, ui.locust.output
    assert 100 <= sent[1] <= 130, ui.locust.output


@pytest.fixture
def page() -> Iterator[Page]:
    with chromium_page() as page:
        yield page


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.browser
def test_start_watch_stop_and_start_again_in_a_browser(page: Page, tmp_path: Path) -> None:
    messages: list[str] = []
    requested_urls: list[str] = []
    page.context.on("console", lambda message: messages.append(message.text))
    page.context.on("request", lambda request: requested_urls.append(request.url))
    page.on("pageerror", lambda error: messages.append(str(error)))
    with web_ui(tmp_path / "runs", "--topology", "single", "--runtime", "processes") as ui:
        page.goto(ui.url)
        fill_in(page, rate="many")
        page.get_by_text("--rate many: must be a number").wait_for()
        fill_in(page, rate="60", runTime="8s", warmUp="0")
        page.get_by_role("tab", name="Brokers").click()
        live = page.frame_locator("#brokerbench-live")
        live.get_by_role("row", name="broker-1 up").wait_for(timeout=120_000)
        page.get_by_role("cell", name="of 8 s").wait_for(timeout=120_000)
        live.get_by_role("row", name="producers 6").wait_for()
        for title in ("Messages per second", "Latency, due → received (ms)", "Clients connected"):
            live.get_by_role("img", name=title).wait_for()
        live.get_by_role("link").wait_for(timeout=REPORT_TIMEOUT_MS)

        page.get_by_role("button", name="New").click(timeout=120_000)
        fill_in(page, runTime="10m")
        page.get_by_role("cell", name="of 600 s").wait_for(timeout=120_000)
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("cell", name="analysis").wait_for(timeout=120_000)
        eventually(lambda: live.get_by_role("link").count() == 2, REPORT_TIMEOUT_MS / 1000)

        with page.context.expect_page() as opened:
            live.get_by_role("link").last.click()
        opened.value.get_by_role("heading", level=1).wait_for()
        assert opened.value.url.startswith(f"{ui.url}/brokerbench/runs/")
        ended_run, stopped_run = ui.infos()
        assert ended_run["durations_s"]["load"] > 7.5  # it ends with its last message
        assert stopped_run["warnings"] == [stopped_run["warnings"][0]]
        assert stopped_run["warnings"][0].startswith("stopped manually in the web UI")
        assert [info["state"] for info in (ended_run, stopped_run)] == ["ended", "ended"]
        ui.locust.send(signal.SIGINT)
        assert ui.locust.outcome().status == 0
        assert nothing_left(ui.locust.runs)
    assert messages == []
    assert {url for url in requested_urls if not url.startswith((ui.url, "data:", "blob:"))} == set()
