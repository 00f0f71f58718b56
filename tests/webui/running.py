"""Starts a Locust process with its web UI, and a browser, for several tests."""

import json
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
from playwright.sync_api import Page, sync_playwright

from tests.support.locust_run import LocustRun, free_port
from tests.support.needs import CHROMIUM

STEADY = "scenarios/steady.py"
READ_TIMEOUT_S = 120  # the answer to Stop comes once the report is written


def eventually(look: Callable[[], bool], timeout_s: float) -> None:
    """Check a few times per second, as each check is a request to the process under test."""
    deadline_s = time.monotonic() + timeout_s
    while not look():
        assert time.monotonic() < deadline_s, f"not within {timeout_s:g} s"
        time.sleep(0.3)


class WebUi:
    """A `locust` process with a web UI, and the replies of the routes."""

    def __init__(self, runs: Path, *arguments: str, web_host: str = "") -> None:
        """``web_host``: where it listens; '' for the default."""
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        web = ("--web-port", str(self.port), *(("--web-host", web_host) if web_host else ()))
        self.locust = LocustRun(STEADY, *arguments, *web, runs=runs, headless=False)

    def now(self) -> dict[str, Any]:
        now: dict[str, Any] = requests.get(f"{self.url}/brokerbench/now", timeout=60).json()
        return now

    def phase(self) -> str:
        return str(self.now()["lines"][0][1])

    def state(self) -> str:
        return str(requests.get(f"{self.url}/stats/requests", timeout=60).json()["state"])

    def post(self, path: str, **fields: str) -> dict[str, Any]:
        answer = requests.post(f"{self.url}/{path}", data={**fields}, timeout=READ_TIMEOUT_S)
        reply: dict[str, Any] = answer.json()
        return reply

    def start(self, **fields: str) -> dict[str, Any]:
        return self.post("swarm", user_count="8", spawn_rate="100", warm_up="0", **fields)

    def infos(self) -> list[dict[str, Any]]:
        """Return the run.json of each run, oldest first."""
        return [json.loads(path.read_text()) for path in sorted(self.locust.runs.glob("*/run.json"))]


@contextmanager
def web_ui(runs: Path, *arguments: str, web_host: str = "") -> Iterator[WebUi]:
    ui = WebUi(runs, *arguments, web_host=web_host)
    try:
        ui.locust.wait_for("Starting web interface")
        eventually(lambda: answers(ui), 120)
        yield ui
    finally:
        if ui.locust.process.poll() is None:
            ui.locust.send(signal.SIGTERM)
            ui.locust.outcome()


def answers(ui: WebUi) -> bool:
    try:
        return bool(ui.now())
    except requests.ConnectionError:
        return False


@contextmanager
def chromium_page(*arguments: str) -> Iterator[Page]:
    """Open a page in headless Chromium. ``arguments``: Chromium's options."""
    chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
    assert chromium is not None, "no Chromium on PATH: run .ci/install-browser.sh"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", *arguments])
        yield browser.new_context().new_page()
        browser.close()


def fill_in(page: Page, **fields: str) -> None:
    """Fill in the visible form, and press its button."""
    for title in ("Advanced options", "Custom parameters"):
        button = page.get_by_role("button", name=title)
        if button.get_attribute("aria-expanded") != "true":
            button.click()
    for name, text in fields.items():
        page.locator(f"input[name={name}]").fill(text)
    page.get_by_role("button", name="Start", exact=True).click()
