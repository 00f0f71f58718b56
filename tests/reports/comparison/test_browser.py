"""The comparison's page works in a real browser with the network off, and its files can be saved without scripts."""

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from reports.comparison.build import render
from reports.comparison.comparison import Comparison

pytestmark = pytest.mark.browser
NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDE, NARROW = 1280, 400


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    assert chromium is not None, "no Chromium on PATH: run .ci/install-browser.sh"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(planted_comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "comparison.html"
    path.write_text(render((planted_comparison,)), encoding="utf-8")
    return path.as_uri()


def opened(browser: Browser, address: str, width: int, scripts: bool = False, scheme: str = "light") -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, offline=True, java_script_enabled=scripts, color_scheme=scheme
    )
    page: Page = context.new_page()
    page.goto(address)
    return page


def test_nothing_is_asked_for_and_nothing_is_complained_of(browser: Browser, address: str) -> None:
    complaints: list[str] = []
    requests: list[str] = []
    page = browser.new_context(offline=True).new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    assert (complaints, requests) == ([], [address])


def test_the_answer_and_the_charts_are_seen_without_scripts(browser: Browser, address: str) -> None:
    page = opened(browser, address, WIDE)
    assert page.locator("#answer .answer").inner_text().startswith("Latency p99: hub-and-spoke is worse than mesh")
    images = page.locator("svg[role=img]")
    assert images.count() == 2
    assert all((images.nth(at).bounding_box() or {"height": 0})["height"] > 100 for at in range(2))


def test_a_csv_file_is_saved_without_scripts(browser: Browser, address: str, tmp_path: Path) -> None:
    page = opened(browser, address, WIDE)
    with page.expect_download() as saving:
        page.get_by_role("link", name="figures.csv").click()
    saving.value.save_as(tmp_path / "figures.csv")
    with (tmp_path / "figures.csv").open(encoding="utf-8") as file:
        assert {row["arm"] for row in csv.DictReader(file)} == {"mesh", "hub-and-spoke", "concentrator"}


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_page_is_never_wider_than_the_window(browser: Browser, address: str, width: int) -> None:
    page = opened(browser, address, width, scripts=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_differs_from_light(browser: Browser, address: str) -> None:
    grounds = [
        opened(browser, address, WIDE, scripts=True, scheme=scheme).evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        for scheme in ("light", "dark")
    ]
    assert grounds[0] != grounds[1]


def test_no_two_texts_of_a_chart_overlap(browser: Browser, address: str) -> None:
    page = opened(browser, address, WIDE, scripts=True)
    overlapping = page.evaluate(
        """() => [...document.querySelectorAll("svg.chart")].flatMap((svg) => {
          const boxes = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
          return boxes.flatMap(([a, p], at) => boxes.slice(at + 1)
            .filter(([, q]) => Math.min(p.right, q.right) - Math.max(p.left, q.left) > 2
              && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 4)
            .map(([b]) => `${a} | ${b}`));
        })"""
    )
    assert overlapping == []
