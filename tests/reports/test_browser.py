"""Checks that the report opens and can be used in a real browser without a network."""

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from reports.build import write_report

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


@cache
def report_of(run: Path) -> str:
    """Written once for all tests."""
    return write_report(run).as_uri()


class Opened:
    """A page opened offline, with all that it said and asked for."""

    def __init__(self, browser: Browser, run: Path, width: int, *, scripts: bool = True, scheme: str = "light") -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        context = browser.new_context(
            viewport={"width": width, "height": 900}, offline=True, java_script_enabled=scripts, color_scheme=scheme
        )
        self.page: Page = context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(report_of(run))


def test_no_error_and_no_request_beyond_the_file_itself(browser: Browser, mesh_run: Path, tmp_path: Path) -> None:
    opened = Opened(browser, mesh_run, WIDE)
    opened.page.screenshot(path=tmp_path / "report.png", full_page=True)
    assert opened.said == []
    assert opened.asked == [(mesh_run / "report.html").as_uri()]
    assert (tmp_path / "report.png").stat().st_size > 50_000


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_page_is_never_wider_than_the_window(browser: Browser, mesh_run: Path, width: int) -> None:
    page = Opened(browser, mesh_run, width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_no_word_of_the_answer_is_cut_off_on_a_phone(browser: Browser, mesh_run: Path) -> None:
    page = Opened(browser, mesh_run, NARROW).page
    page.evaluate("document.querySelector('.answer').textContent = 'kinds.durable_topic_persistent.undelivered_x_y'")
    assert page.evaluate("(box => box.scrollWidth - box.clientWidth)(document.querySelector('.verdict'))") <= 0


def test_captions_stay_in_view_beside_a_table_that_is_wider_than_a_phone(browser: Browser, mesh_run: Path) -> None:
    page = Opened(browser, mesh_run, NARROW).page
    captions = page.locator("section > .scroll caption span")
    assert captions.count() > 3
    assert all((captions.nth(at).bounding_box() or {"width": 999})["width"] <= NARROW for at in range(captions.count()))


def test_a_text_of_a_wide_chart_can_be_read_on_a_phone(browser: Browser, mesh_run: Path) -> None:
    page = Opened(browser, mesh_run, NARROW).page
    box = page.locator("#outages-chart svg text").first.bounding_box()
    assert box is not None
    assert box["height"] > 8


def test_verdict_and_charts_are_seen_without_scripts(browser: Browser, mesh_run: Path) -> None:
    page = Opened(browser, mesh_run, WIDE, scripts=False).page
    assert page.get_by_role("heading", name="Failed").is_visible()
    images = page.locator("svg[role=img]")
    assert images.count() == 16
    assert all((images.nth(at).bounding_box() or {"height": 0})["height"] > 100 for at in range(images.count()))


def test_a_column_is_sorted_by_its_numbers(browser: Browser, mesh_run: Path) -> None:
    page = Opened(browser, mesh_run, WIDE).page
    table = page.locator("table.sortable", has_text="Paths that messages took")
    head = table.locator("th", has_text="Messages")
    for order in ("ascending", "descending"):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == order
        counts = [int(text.replace(",", "")) for text in table.locator("tbody td:nth-child(4)").all_inner_texts()]
        assert counts == sorted(counts, reverse=order == "descending")
        assert len(counts) == 9


def test_the_table_of_a_chart_opens_by_keyboard(browser: Browser, mesh_run: Path) -> None:
    page = Opened(browser, mesh_run, WIDE).page
    details = page.locator("#rates-chart details")
    details.locator("summary").focus()
    page.keyboard.press("Enter")
    assert details.locator("table").is_visible()


def test_dark_differs_from_light_and_ink_stands_off_the_ground(browser: Browser, mesh_run: Path) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        page = Opened(browser, mesh_run, WIDE, scheme=scheme).page
        ground, ink = (
            page.evaluate(f"getComputedStyle(document.body).{property_name}.match(/\\d+/g).map(Number)")
            for property_name in ("backgroundColor", "color")
        )
        assert abs(sum(ground) - sum(ink)) > 500
        grounds.append(ground)
    assert grounds[0] != grounds[1]


def test_no_two_texts_of_a_chart_overlap(browser: Browser, mesh_run: Path) -> None:
    page = Opened(browser, mesh_run, WIDE).page
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


CUT = """() => [...document.querySelectorAll('main .scroll')]
  .filter(box => box.clientWidth && box.scrollWidth > box.clientWidth)
  .map(box => box.getAttribute('aria-label'))"""


def test_no_figure_of_a_table_is_cut_on_a_phone(browser: Browser, mesh_run: Path) -> None:
    """Tables that do not fit show each row as labeled values; opened tables of charts too."""
    page = Opened(browser, mesh_run, NARROW).page
    assert page.evaluate(CUT) == []
    page.evaluate("document.querySelectorAll('figure > details').forEach(details => { details.open = true; })")
    page.wait_for_function(f"!({CUT})().length")
    stacked = page.locator("table.stacked", has_text="Latency over the load phase")
    assert stacked.locator("tbody td").nth(1).get_attribute("data-label") == "Samples"
    page.set_viewport_size({"width": WIDE, "height": 900})
    page.wait_for_function("!document.querySelector('table.stacked')")


def test_wide_charts_on_a_phone_say_that_they_scroll(browser: Browser, mesh_run: Path) -> None:
    cut = "box => getComputedStyle(box, '::before').content"
    for width, said in ((NARROW, '"Wider than this screen: scroll sideways"'), (WIDE, "none")):
        page = Opened(browser, mesh_run, width).page
        assert page.locator("#outages-chart .plot").evaluate(cut) == said


def test_the_accounting_table_shows_all_its_rows(browser: Browser, mesh_run: Path) -> None:
    page = Opened(browser, mesh_run, WIDE).page
    box = page.locator("#accounting .scroll").first
    assert box.evaluate("box => box.scrollHeight - box.clientHeight") <= 0
