"""Checks that the page is complete, self-contained and accessible, and names missing figures."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from reports.build import render, write_report, write_report_measured
from reports.inputs import read_results
from tests.reports.markup import Parsed, parse
from tests.reports.run_folder import RunPlan, write_run_folder

CHARTS = 16


@pytest.fixture(scope="session")
def html(mesh_run: Path) -> str:
    return render(read_results(mesh_run))


@pytest.fixture(scope="session")
def page(html: str) -> Parsed:
    return parse(html)


def rendered(parent: Path, plan: RunPlan) -> str:
    return render(read_results(write_run_folder(parent, plan)))


def test_the_same_results_give_the_same_bytes(mesh_run: Path, html: str) -> None:
    assert render(read_results(mesh_run)) == html


def test_the_report_is_written_into_the_run_folder(mesh_run: Path, html: str) -> None:
    path = write_report(mesh_run)
    assert path == mesh_run / "report.html"
    assert path.read_text(encoding="utf-8") == html
    assert [path.name for path in mesh_run.iterdir() if path.name.startswith(".")] == []


def test_size_and_time_are_told_on_demand(mesh_run: Path) -> None:
    written = write_report_measured(mesh_run)
    assert written.size_bytes == written.path.stat().st_size
    assert re.search(r"report\.html: \d+ kB in \d+\.\d s$", str(written))


@pytest.mark.parametrize("brokers", [10, pytest.param(20, marks=pytest.mark.nightly)])
def test_a_ten_minute_run_of_many_brokers_stays_under_a_megabyte(tmp_path: Path, brokers: int) -> None:
    assert len(rendered(tmp_path, RunPlan(brokers=brokers, load_s=600)).encode()) < 1_000_000


def test_every_id_is_unique(page: Parsed) -> None:
    ids = page.values("id")
    assert len(ids) > 100
    assert sorted(ids) == sorted(set(ids))


def test_every_reference_within_the_page_has_its_target(html: str, page: Parsed) -> None:
    targets = set(re.findall(r"url\(#([^)]+)\)", html)) | {ref[1:] for ref in page.values("href") if ref[0] == "#"}
    labels = {label for labels in page.values("aria-labelledby") for label in labels.split()}
    assert targets
    assert labels
    assert (targets | labels) - set(page.values("id")) == set()


def test_nothing_is_fetched(html: str, page: Parsed) -> None:
    for attribute in ("href", "src", "xlink:href", "srcset", "action"):
        assert [value for value in page.values(attribute) if not value.startswith(("#", "data:"))] == []
    assert re.findall(r"url\((?!#)|@import", html) == []
    assert page.named("meta")[1]["content"].startswith("default-src 'none'")


def test_no_sentinel_color_is_left(html: str) -> None:
    assert re.findall(r"#000[12][0-9a-f]{2}\b", html) == []
    assert "var(--s0)" in html


def test_every_chart_is_a_named_image_with_an_equivalent_table(html: str) -> None:
    figures = re.findall(r"<figure .*?</figure>", html, flags=re.DOTALL)
    assert len(figures) == CHARTS
    for figure in figures:
        image = re.search(
            r'<svg class="chart[^"]*" role="img"[^>]*><title[^>]*>([^<]+)</title><desc[^>]*>([^<]+)', figure
        )
        assert image is not None
        assert "font-family" not in figure, "its texts have the page's font"
        assert re.search(r"<details>.*<table.*<td", figure, flags=re.DOTALL)


def test_the_verdict_is_told_by_word_and_symbol_and_reason(html: str, page: Parsed) -> None:
    verdict = html[html.index('id="verdict"') : html.index("<nav")]
    assert "<span>Failed</span>" in verdict
    assert '<path d="M16 16l16 16M32 16L16 32"/>' in verdict
    assert "messages.lost is 12, it must be <= 0." in page.text()
    assert "Of 9,000 messages sent, 8,988 were received; 12 lost. Also: 7 duplicated and " in page.text()


@pytest.mark.parametrize(
    ("verdict", "word", "run"),
    [
        ("pass", "Passed", {}),
        ("unknown", "Unknown", {"unknowns": ("q was not browsed",)}),
        ("invalid", "Invalid", {"problems": ("a worker was lost",)}),
        ("interrupted", "Interrupted", {"state": "interrupted"}),
    ],
)
def test_every_verdict_has_its_word(tmp_path: Path, verdict: str, word: str, run: dict[str, Any]) -> None:
    html = rendered(tmp_path, RunPlan(load_s=3, fault_s=None, run=run))
    assert f"<title>{word}: steady on mesh(brokers=3)</title>" in html
    assert f'class="verdict {verdict}"' in html


def test_the_data_is_embedded_as_json(html: str, mesh_run: Path) -> None:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, flags=re.DOTALL)
    assert match is not None
    data = json.loads(match[1])
    assert data["summary"] == json.loads((mesh_run / "summary.json").read_text())
    assert sum(data["tables"]["paths"]["messages"]) == 8_988
    assert sum(data["latency_of_the_load"]["count"]) == 2 * 5_988 + 5_999 + 6_000, "one is in doubt"


def test_no_host_is_named(html: str) -> None:
    assert "bench-host" not in html


def test_the_command_and_the_rendered_files_are_there(page: Parsed) -> None:
    assert "locust -f scenarios/steady.py --headless --topology 'mesh(brokers=3)' -t 20s" in page.text()
    assert 'brokerName="broker-2"' in page.text()


def test_names_from_users_are_escaped_everywhere(tmp_path: Path) -> None:
    """In tables, charts, SVG titles, embedded JSON and the rendered files."""
    nasty = "</script><script>alert('1')</script>&$x$"
    plan = RunPlan(load_s=4, fault_s=(1.0, 2.0), queue=nasty, lost=2, run={"question": nasty, "command": (nasty,)})
    page = parse(rendered(tmp_path, plan))
    assert len(page.named("script")) == 2
    assert nasty in page.text()


def test_a_name_that_begins_with_an_underscore_stands_in_the_legend(tmp_path: Path) -> None:
    assert "_hidden at broker-1</text>" in rendered(tmp_path, RunPlan(load_s=4, queue="_hidden"))


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (RunPlan(brokers=1, load_s=5, fault_s=None), "This topology has no links."),
        (RunPlan(load_s=5, fault_s=None), "No fault was injected."),
        (RunPlan(load_s=5, hops_known=False), "The protocol does not report how many brokers a message crossed"),
        (RunPlan(load_s=5, sampled=False), "The brokers were not sampled, or none of them reported this figure."),
        (RunPlan(load_s=5, per_s=0, sampled=False), "No message was sent, so this run does not answer its question."),
        (RunPlan(load_s=5, per_s=0), "No message was received, so latency is unknown."),
        (RunPlan(load_s=5, run={"command": ()}), "run.json does not contain the command."),
        (RunPlan(load_s=5, run={"brokers": (), "links": (), "groups": ()}), "run.json names no brokers."),
        (RunPlan(load_s=5, run={"rendered": {"big.xml": "x" * 300_000}}), "1 more files are in run.json"),
    ],
)
def test_what_is_missing_is_said_in_words(tmp_path: Path, plan: RunPlan, words: str) -> None:
    assert words in parse(rendered(tmp_path, plan)).text()


@pytest.mark.filterwarnings("error")
def test_a_fault_after_the_last_message_does_not_squeeze_the_plots(tmp_path: Path) -> None:
    page = parse(rendered(tmp_path, RunPlan(load_s=4, fault_s=(30.0, 33.0))))
    assert "pause broker-3" in page.text()


@pytest.mark.filterwarnings("error")
def test_a_name_wider_than_the_figure_is_shortened(tmp_path: Path) -> None:
    """Only the legend shortens it: the table has the full name."""
    name = "orders." + "x" * 200
    html = rendered(tmp_path, RunPlan(load_s=3, fault_s=None, queue=name))
    assert "…" in html
    assert f"{name} at broker-1 (messages)" in html


@pytest.mark.parametrize("brokers", [2, 4, 20])
def test_any_number_of_brokers_is_drawn(tmp_path: Path, brokers: int) -> None:
    html = rendered(tmp_path, RunPlan(brokers=brokers, load_s=2, per_s=50, fault_s=None))
    assert html.count('<g class="broker">') == brokers
    assert html.count('<g class="link">') == brokers * (brokers - 1) // 2
