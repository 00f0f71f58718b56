"""Checks in a real browser that the web UI's own page can start, stop and read it, and pages of other sites cannot."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import requests
from playwright.sync_api import Page

from tests.webui.running import WebUi, chromium_page, eventually, fill_in, web_ui
from topologies.runtimes.ports import addresses_here

pytestmark = pytest.mark.browser

IN_MEMORY = ("--runtime", "memory", "--analyse-later")
FORM = """\
<!doctype html><title>harmless</title>
<form method="post" action="{url}/swarm" enctype="{encoding}">
  <input name="user_count" value="8"><input name="spawn_rate" value="100"><input name="junit" value="{junit}">
  <button>win a prize</button>
</form>
"""
FORM_ENCODINGS = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
SEND = """
async ([url, options]) => {
  try {
    const answer = await fetch(url, options);
    return {type: answer.type, status: answer.status, text: await answer.text()};
  } catch (error) { return {type: "refused", error: String(error)}; }
}
"""
FRAME = "url => { document.body.append(Object.assign(document.createElement('iframe'), {src: url})) }"
URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}


@contextmanager
def site(folder: Path) -> Iterator[str]:
    """Run another site's server on a separate loopback port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=folder))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def send(page: Page, url: str, **options: Any) -> dict[str, Any]:
    answer: dict[str, Any] = page.evaluate(SEND, [url, options])
    return answer


def is_in_load(ui: WebUi) -> bool:
    return ui.phase().startswith("load")


def started(ui: WebUi) -> list[Path]:
    return [*ui.locust.runs.glob("*")]


def test_a_page_of_another_site_starts_and_stops_and_reads_nothing(tmp_path: Path) -> None:
    junit = tmp_path / "checks.xml"
    junit.write_text("of an earlier run")
    (folder := tmp_path / "site").mkdir()
    with web_ui(tmp_path / "runs", *IN_MEMORY) as ui, site(folder) as address, chromium_page() as page:
        for number, encoding in enumerate(FORM_ENCODINGS):
            (folder / f"{number}.html").write_text(FORM.format(url=ui.url, junit=junit, encoding=encoding))
            page.goto(f"{address}/{number}.html")
            with page.expect_navigation(url=f"{ui.url}/swarm") as navigation:
                page.get_by_role("button").click()
            assert navigation.value.status == 403
            page.get_by_text(f"POST /swarm from a page of '{address}' is rejected").wait_for()

        for origin in (address, address.replace("127.0.0.1", "localhost")):
            page.goto(f"{origin}/0.html")
            body = f"user_count=8&spawn_rate=100&junit={junit}"
            for path in ("swarm", "stop", "stats/reset", "user"):
                options = {"method": "POST", "headers": URLENCODED, "body": body}
                blind = send(page, f"{ui.url}/{path}", mode="no-cors", **options)
                assert (blind["type"], blind["text"]) == ("opaque", "")
                assert send(page, f"{ui.url}/{path}", **options)["type"] == "refused"
                assert send(page, f"{ui.url}/{path}", **options | {"headers": {"X-Mine": "1"}})["type"] == "refused"
            for path in ("", "brokerbench/now", "brokerbench/metrics", "stats/requests", "logs"):
                assert send(page, f"{ui.url}/{path}")["type"] == "refused"
        with page.expect_console_message(lambda message: "X-Frame-Options" in message.text):
            page.evaluate(FRAME, ui.url)

        assert ui.phase() == "no run yet: start one in Locust's form", ui.locust.output
        assert ui.now()["trouble"] == []
        assert (started(ui), junit.read_text()) == ([], "of an earlier run")

        own = page.context.new_page()
        own.goto(ui.url)
        fill_in(own, runTime="10m", warmUp="0")
        eventually(lambda: is_in_load(ui), 60)
        send(page, f"{ui.url}/stop", mode="no-cors", method="POST")
        send(page, f"{ui.url}/swarm", mode="no-cors", method="POST", headers=URLENCODED, body=body)
        assert is_in_load(ui)
        own.get_by_role("button", name="Stop").click()
        eventually(lambda: ui.phase() == "ended", 60)
        [info] = ui.infos()
        assert info["warnings"][-1].startswith("stopped manually in the web UI")


def test_a_rebound_name_does_not_reach_a_loopback_ui(tmp_path: Path) -> None:
    """Another site's host name resolves to this machine (DNS rebinding)."""
    rebound = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    with web_ui(tmp_path / "runs", *IN_MEMORY) as ui, chromium_page(rebound) as page:
        answer = page.goto(f"http://evil.example:{ui.port}/")
        assert answer is not None
        assert answer.status == 403
        page.get_by_text("this web UI listens on 127.0.0.1 only").wait_for()
        answer = page.goto(f"http://localhost:{ui.port}/")
        assert answer is not None
        assert answer.status == 200
        fill_in(page, runTime="1s", warmUp="0")
        eventually(lambda: ui.phase() == "ended", 60)


@pytest.mark.nightly  # test_guard.py covers the allowed requests
def test_colleagues_and_prometheus_reach_a_ui_that_was_opened_on_purpose(tmp_path: Path) -> None:
    address = addresses_here()[-1]  # not loopback, if this machine has another address
    named = f"--host-resolver-rules=MAP bench.example {address}"
    with web_ui(tmp_path / "runs", *IN_MEMORY, web_host="0.0.0.0") as ui, chromium_page(named) as page:
        for number, host in enumerate(("bench.example", address), start=1):
            page.goto(f"http://{host}:{ui.port}/")
            if number > 1:
                page.get_by_role("button", name="New").click(timeout=60_000)
            fill_in(page, runTime="1s", warmUp="0")
            eventually(lambda number=number: len(started(ui)) == number and ui.phase() == "ended", 60)
        metrics = requests.get(f"http://{address}:{ui.port}/brokerbench/metrics", timeout=30)
        assert "brokerbench_messages_received_total" in metrics.text
        answer = page.goto(f"http://bench.example:{ui.port}/brokerbench")
        assert answer is not None
        assert answer.status == 200
        (folder := tmp_path / "site").mkdir()
        (folder / "0.html").write_text("<!doctype html>")
        with site(folder) as foreign_url:
            page.goto(f"{foreign_url}/0.html")
            for host in ("bench.example", address):
                send(page, f"http://{host}:{ui.port}/swarm", mode="no-cors", method="POST", headers=URLENCODED,
                     body="user_count=8&spawn_rate=100")  # fmt: skip
        assert len(started(ui)) == 2
