"""The page, the Markdown and the JSON of a comparison show the planted values consistently."""

import base64
import csv
import io
import json
from dataclasses import replace
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from records.errors import RunUnwritable, UserError
from reports.comparison.arms import primary_by_scenario
from reports.comparison.build import ComparisonInput, compare_runs, render, write
from reports.comparison.charts import ratio_ticks
from reports.comparison.comparison import Comparison, JudgedDesign, compare
from reports.comparison.forms import document, markdown
from reports.comparison.metrics import METRICS, PRIMARY
from reports.comparison.sentences import answer
from reports.comparison.sentences import noise as noise_of
from reports.comparison.tables import arm_table
from reports.comparison.verdicts import VERDICTS
from tests.house.tree import ROOT
from tests.reports.comparison.planted import Planted, noisy, one_fault, write_blocks, write_planted, write_with_controls
from tests.reports.markup import Parsed, parse

SCHEMA = json.loads((ROOT / "docs" / "comparison.schema.json").read_text(encoding="utf-8"))
AGAIN = "mesh again (A/A)"
LARGEST_PAGE_BYTES = 1_000_000


@pytest.fixture(scope="module")
def html(planted_comparison: Comparison) -> str:
    return render((planted_comparison,))


@pytest.fixture(scope="module")
def page(html: str) -> Parsed:
    return parse(html)


def downloads(page: Parsed) -> dict[str, list[dict[str, str]]]:
    links = [link for link in page.named("a") if "download" in link]
    texts = {link["download"]: base64.b64decode(link["href"].partition("base64,")[2]).decode() for link in links}
    return {name: list(csv.DictReader(io.StringIO(text))) for name, text in texts.items()}


def test_the_page_begins_with_the_answer_that_was_planted(planted_comparison: Comparison, page: Parsed) -> None:
    answer_text = answer((planted_comparison,))
    assert answer_text.startswith("Latency p99: hub-and-spoke is worse than mesh, 59 % higher (55 … 63 %)")
    assert " concentrator is the same as mesh within 5 %, " in answer_text
    assert answer_text in page.text()
    assert "Lost: 16 messages by mesh, 16 messages by hub-and-spoke, 16 messages by concentrator" in page.text()


def test_the_page_is_one_small_file_that_asks_for_nothing(html: str, page: Parsed) -> None:
    assert len(html.encode()) < LARGEST_PAGE_BYTES
    addresses = [value for name in ("src", "href") for value in page.values(name)]
    assert addresses
    assert [address for address in addresses if not address.startswith(("#", "data:"))] == []


def test_a_control_tells_the_noise_that_was_planted_and_changes_no_verdict(tmp_path: Path) -> None:
    noise = (1.0, 1.1, 0.95, 1.0, 1.0, 1.02, 0.98)
    folders = write_with_controls(tmp_path, [(1, ratio, 1.5) for ratio in noise], doubtful={})
    (with_control,) = compare_runs(ComparisonInput(tuple(folders), (), 5.0, allow_unlike=False))
    without = [folder for n, folder in enumerate(folders) if n % 3 != 1]
    (plain,) = compare_runs(ComparisonInput(tuple(without), (), 5.0, allow_unlike=False))
    assert with_control.tests == plain.tests
    (noise_sentence,) = noise_of(with_control)
    assert noise_sentence.startswith("Noise of latency p99: mesh against itself is ")
    assert noise_sentence.endswith(" over 7 blocks; the block that differs most: 10 % higher.")
    written = document((with_control,))
    jsonschema.validate(written, SCHEMA)
    (ratios,) = [f["ratios"] for f in written["scenarios"][0]["figures"] if (f["arm"], f["figure"]) == (AGAIN, PRIMARY)]
    assert ratios == pytest.approx(noise, rel=0.01)
    assert len(written["scenarios"][0]["control"]["runs"]) == 7
    assert document((plain,))["scenarios"][0]["control"] is None
    assert noise_of(plain) == ()
    for text in (parse(render((with_control,))).text(), markdown((with_control,))):
        assert AGAIN in text
        assert noise_sentence in text


def test_the_page_shows_each_overlay_once_with_its_content(tmp_path: Path) -> None:
    folders = []
    for n, text in enumerate(("", "heap: 1 & more\n", "heap: 2\n", "heap: 1 & more\n")):
        options = {"overlay": f"{n}/tuned.yaml", "overlay_digest": str(len(text))} if text else {}
        run = {"options": options, "rendered": {"overlay/tuned.yaml": text} if text else {}}
        folders.append(write_planted(tmp_path, f"run-{n}", Planted(run=run)))
    comparisons = [
        *compare_runs(ComparisonInput(tuple(folders[:3]), (), 5.0, allow_unlike=False)),
        *compare_runs(ComparisonInput(tuple([folders[0], folders[3]]), (), 5.0, allow_unlike=False)),
    ]
    for comparison, shown in zip(comparisons, (("15", "8"), ("15",)), strict=True):
        text = parse(render((comparison,))).text()
        assert [text.count(f"Overlay tuned.yaml ({digest})") for digest in ("15", "8")] == [
            int(digest in shown) for digest in ("15", "8")
        ]
        assert text.count("heap: 1 & more") == 1
        assert text.count("heap: 2") == int("8" in shown)


def test_every_id_on_the_page_is_there_once_and_every_anchor_leads_somewhere(page: Parsed) -> None:
    ids = page.values("id")
    assert len(ids) == len(set(ids)) > 10
    assert {address[1:] for address in page.values("href") if address.startswith("#")} <= set(ids)


def test_the_same_runs_give_the_same_page(planted_comparison: Comparison, html: str) -> None:
    assert render((planted_comparison,)) == html


def test_a_figure_that_no_run_has_is_left_out_and_named(page: Parsed) -> None:
    titles = [text.strip() for tags, text in page.texts if tags[-1:] == ("th",) and "tbody" in tags]
    assert "latency p99.9, ms" in titles
    assert "CPU per message, brokers, ms" not in titles
    without = "highest rate held (no load had steps, or none was held), CPU per message, brokers (no run measured it), "
    assert f"Figures left out: {without}outages, recovery and " in page.text()


LATE = "the load generator itself was late"


def test_a_figure_whose_values_are_all_doubtful_says_in_how_many_runs_and_why(tmp_path: Path) -> None:
    why = {PRIMARY: f"{LATE}: without its own delay p99 would be 4 ms instead of 9 ms"}
    folders = write_blocks(tmp_path, [[1.0, 1.2], [1.1, 1.3]], doubtful=why)
    table = arm_table(compare_runs(ComparisonInput(tuple(folders), (), 5.0, allow_unlike=False)))
    assert f"latency p99 (left out as doubtful in 4 of 4 runs: {LATE})" in table.left_out


def test_an_arm_whose_figures_are_all_doubtful_says_so_in_its_cell(tmp_path: Path) -> None:
    folders = [
        write_planted(tmp_path, "sound", Planted("mesh", doubtful={})),
        write_planted(tmp_path, "late", Planted("hub-and-spoke", doubtful={PRIMARY: LATE})),
    ]
    table = arm_table(compare_runs(ComparisonInput(tuple(folders), (), 5.0, allow_unlike=False)))
    assert table.row("latency p99, ms").cells[1].note == f"left out as doubtful in 1 of 1 run: {LATE}"


def test_of_several_causes_of_doubt_the_commonest_is_told(tmp_path: Path) -> None:
    causes = ("clocks may differ by 1 ms", LATE, LATE, LATE)
    arms = ("mesh", "hub-and-spoke") * 2
    planted = [Planted(arm, doubtful={PRIMARY: why}) for arm, why in zip(arms, causes, strict=True)]
    folders = [write_planted(tmp_path, f"run-{n}", planted_run) for n, planted_run in enumerate(planted)]
    table = arm_table(compare_runs(ComparisonInput(tuple(folders), (), 5.0, allow_unlike=False)))
    assert f"latency p99 (left out as doubtful in 4 of 4 runs: {LATE}, among other causes)" in table.left_out


def test_runs_with_faults_have_rows_of_outages_and_of_balance(tmp_path: Path) -> None:
    def of_faults(scale: float) -> dict[str, Any]:
        outages = {
            "throughput_back_s": None,
            "outage_ms": {"p50": 900.0 * scale, "max": 2_000.0 * scale},
            "faults": one_fault(),
        }
        return {"recovery": outages, "rebalance": {"settled_s": 3.0, "at_end": {"max_to_mean": 1.5}}}

    arms = (("mesh", 1.0), ("hub-and-spoke", 2.0))
    runs = [write_planted(tmp_path, name, Planted(name, summary=of_faults(scale))) for name, scale in arms]
    wanted = ComparisonInput(tuple(runs), ("recovery.outage_ms.max",), 5, allow_unlike=False)
    table = arm_table(compare_runs(wanted))
    assert [cell.value for cell in table.row("longest outage of a client, ms").cells] == ["2,000", "4,000"]
    assert table.row("fullest broker / mean at the end, times")
    assert table.left_out == (
        "highest rate held (no load had steps, or none was held)",
        "time until throughput is back (no run measured it)",
    )


def test_a_figure_that_is_0_in_runs_is_shown_as_measured(tmp_path: Path) -> None:
    def with_seconds(seconds: float) -> dict[str, Any]:
        return {"recovery": {"throughput_back_s": seconds, "faults": one_fault()}}

    seconds = {"mesh": (0.0, 0.0, 0.0), "hub-and-spoke": (0.0, 4.0, 4.0)}
    runs = [
        write_planted(tmp_path, f"{name}-{block}", Planted(name, summary=with_seconds(values[block])))
        for block in range(3)
        for name, values in seconds.items()
    ]
    table = arm_table(compare_runs(ComparisonInput(tuple(runs), (), 5, allow_unlike=False)))
    cells = dict(zip(table.arms, table.row("time until throughput is back, s").cells, strict=True))
    assert (cells["mesh"].value, cells["mesh"].note) == ("0", "in each of 3 runs")
    assert cells["hub-and-spoke"].value == "4.00"
    assert cells["hub-and-spoke"].note.endswith(", without 1 run of 0")


@pytest.fixture(scope="module")
def under_both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, ...]:
    """hub-and-spoke is as good as mesh under `steady` (8 blocks), and its outages are twice as long (7 blocks)."""
    parent = tmp_path_factory.mktemp("both")
    steady = write_blocks(parent, noisy(3, 8, [1.0, 1.0], 0.01), doubtful={}, lost=1)
    failover = []
    for block in range(1, 8):
        for name, outage_ms in (("mesh", 900.0 + block), ("hub-and-spoke", 1_800.0 + block)):
            recovery = {"outage_ms": {"p50": outage_ms / 2, "max": outage_ms}, "faults": one_fault()}
            run = {"scenario": "failover", "command": ("locust", "-f", "failover.py")}
            planted = Planted(name, doubtful={}, lost=2, run=run, summary={"recovery": recovery})
            failover.append(write_planted(parent, f"f-{block}-{name}", planted))
    return compare_runs(ComparisonInput((*steady, *failover), (), 5.0, allow_unlike=False))


def test_the_table_says_latency_by_brokers_crossed_and_whom_one_more_broker_restarts(tmp_path: Path) -> None:
    folders = write_blocks(tmp_path, [[1.0, 2.0]])
    wanted = ComparisonInput(
        tuple(folders), (), 5.0, allow_unlike=False, to_add_a_broker=lambda run: f"of {run.topology}"
    )
    table = arm_table(compare_runs(wanted))
    last = {row.title: [cell.value for cell in row.cells] for row in table.rows}
    assert [text.partition(":")[0] for text in last["latency p50 by brokers crossed, ms"]] == ["1", "1"]
    assert float(last["latency p50 by brokers crossed, ms"][1][3:]) == pytest.approx(4.0, rel=0.02)
    assert last["restarts to add a broker"] == ["of mesh", "of hub-and-spoke"]


@pytest.mark.parametrize(("strays", "hops"), [(19, ["1"]), (20, ["0", "1"])])
def test_a_median_by_brokers_crossed_takes_twenty_messages_of_the_run(
    strays: int, hops: list[str], tmp_path: Path
) -> None:
    """One message of a run on `source-and-sink` once came without its first broker's stamp."""
    folders = [
        write_planted(tmp_path, f"{topology}-{block}", Planted(topology, strays=strays))
        for topology in ("mesh", "hub-and-spoke")
        for block in range(2)
    ]
    table = arm_table(compare_runs(ComparisonInput(tuple(folders), (), 5.0, allow_unlike=False)))
    cell = table.row("latency p50 by brokers crossed, ms").cells[0].value
    assert [part.partition(":")[0] for part in cell.split(" · ")] == hops


def test_a_scenario_of_three_blocks_is_only_described(
    under_both: tuple[Comparison, ...],
) -> None:
    """It does not raise the level that the other scenario's verdict needs."""
    steady, failover = under_both
    arms = tuple(replace(arm, runs=arm.runs[:3]) for arm in failover.design.arms)
    three = replace(failover.design, arms=arms, blocks=("1", "2", "3"))
    alone, described = compare((JudgedDesign(steady.design, steady.primary), JudgedDesign(three, failover.primary)))
    assert (alone.together, alone.needed, alone.tests[0].adjusted_p) == (1, 7, alone.tests[0].p)
    assert (described.tests[0].adjusted_p, described.words()) == (1.0, {"undecided"})


def test_several_scenarios_share_a_page_a_table_and_one_level(under_both: tuple[Comparison, ...]) -> None:
    steady, failover = under_both
    assert [(comparison.scenario, len(comparison.design.blocks), comparison.together) for comparison in under_both] == [
        ("steady", 8, 2),
        ("failover", 7, 2),
    ]
    assert [comparison.words() for comparison in under_both] == [{"same"}, {"worse"}]
    assert failover.tests[0].adjusted_p == pytest.approx(2 * failover.tests[0].p)
    assert steady.tests[0].figure.metric.path == PRIMARY
    answer_text = answer(under_both)
    assert answer_text.startswith("Under steady, latency p99: hub-and-spoke is the same as mesh within 5 %")
    assert "Under failover, longest outage of a client: hub-and-spoke is worse than mesh" in answer_text
    table = arm_table(under_both)
    assert [*dict.fromkeys(row.scenario for row in table.rows)] == ["steady", "failover", ""]
    titles = [row.title for row in table.rows]
    assert titles.count("latency p99, ms") == 1, "a figure belongs under its first scenario"
    assert [cell.value for cell in table.row("messages lost").cells] == ["22", "22"]


def test_the_page_of_several_scenarios_has_each_ones_charts_runs_and_files(under_both: tuple[Comparison, ...]) -> None:
    page = parse(render(under_both))
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {"difference-steady-1-chart", "difference-failover-1-chart", "spectra-failover-chart"} <= set(ids)
    assert "Longest outage of a client against mesh, block by block (failover)" in page.text()
    assert {"steady-effects.csv", "failover-figures.csv"} <= set(downloads(page))
    jsonschema.validate(document(under_both), SCHEMA)
    text = markdown(under_both)
    assert "| steady: latency p99, ms |" in text
    assert "**worse**: failover, hub-and-spoke, `recovery.outage_ms.max`." in text


@pytest.mark.parametrize(
    ("run", "refusal"),
    [
        ({"topology": "tree"}, "scenario failover has the arms mesh and tree, but steady has mesh and hub-and-spoke"),
        (
            {"protocol": "amqp"},
            "protocol is amqp in f-0, but stomp in run-1-0: it must be equal in the runs of all scenarios",
        ),
        ({"machine": {"cores": 8}}, "machine.cores is 8 in f-0, but 2 in run-1-0"),
    ],
)
def test_scenarios_of_other_arms_or_other_conditions_are_refused(
    tmp_path: Path, run: dict[str, Any], refusal: str
) -> None:
    runs = write_blocks(tmp_path, [[1, 1]])
    other_fields = {"scenario": "failover", **run}
    second_topology = run.get("topology", "hub-and-spoke")
    of_both = {name: value for name, value in other_fields.items() if name != "topology"}
    runs += [
        write_planted(tmp_path, f"f-{at}", Planted(name, run=of_both))
        for at, name in enumerate(("mesh", second_topology))
    ]
    with pytest.raises(UserError) as refused:
        compare_runs(ComparisonInput(tuple(runs), (), 5.0, allow_unlike=False))
    assert refusal in str(refused.value)


def test_several_commits_of_the_harness_are_doubted(tmp_path: Path) -> None:
    runs = [write_planted(tmp_path, t, Planted(t, run={"versions": {"commit": t}})) for t in ("mesh", "ring")]
    text = parse(render(compare_runs(ComparisonInput(tuple(runs), (), 5.0, allow_unlike=False)))).text()
    assert "The runs were made by several commits of brokerbench: mesh and ring." in text


def test_a_run_alone_of_its_scenario_cannot_be_compared(tmp_path: Path) -> None:
    runs = [write_planted(tmp_path, "a"), write_planted(tmp_path, "b", Planted("ring", run={"scenario": "failover"}))]
    with pytest.raises(UserError, match="scenario steady has one run, a, and a comparison needs runs"):
        compare_runs(ComparisonInput(tuple(runs), (), 5.0, allow_unlike=False))


def test_a_figure_may_be_primary_in_one_scenario_alone() -> None:
    metrics_by_scenario = primary_by_scenario(
        ["throughput.received_per_s", f"steady:{PRIMARY}"], ["steady", "failover"]
    )
    assert {name: [metric.path for metric in metrics] for name, metrics in metrics_by_scenario.items()} == {
        "steady": ["throughput.received_per_s", PRIMARY],
        "failover": ["throughput.received_per_s"],
    }
    with pytest.raises(UserError, match="no run of scenario calm: write one of steady and failover"):
        primary_by_scenario([f"calm:{PRIMARY}"], ["steady", "failover"])


def test_cells_have_their_interval_and_say_where_arms_cannot_be_told_apart(tmp_path: Path) -> None:
    runs = write_blocks(tmp_path, [[1.0 + n / 10, 1.0 + (7 - n) / 10] for n in range(8)])
    text = parse(render(compare_runs(ComparisonInput(tuple(runs), (), 5.0, allow_unlike=False)))).text()
    assert text.count("not distinguishable from mesh") >= 2
    assert "1.60 … 1.60" in text


def test_the_csv_files_hold_every_figure_of_every_run(planted_comparison: Comparison, page: Parsed) -> None:
    files = downloads(page)
    assert set(files) == {"effects.csv", "ratios.csv", "figures.csv", "spectra.csv"}
    of_one = [row for row in files["figures.csv"] if row["run"] == "run-3-1"]
    assert {row["figure"] for row in of_one} >= {*METRICS, "messages.lost"}
    assert {(row["arm"], row["block"]) for row in of_one} == {("hub-and-spoke", "3")}
    run = planted_comparison.design.arms[1].runs[2]
    value = next(row["value"] for row in of_one if row["figure"] == PRIMARY)
    assert float(value) == pytest.approx(run.summary["latency_ms"]["due_to_received"]["p99"])
    ratios = [float(r["ratio"]) for r in files["ratios.csv"] if (r["figure"], r["arm"]) == (PRIMARY, "hub-and-spoke")]
    figure = planted_comparison.figures[PRIMARY, "hub-and-spoke"]
    assert ratios == pytest.approx([exp(ratio) for ratio in figure.used])
    verdicts = {row["arm"]: row["verdict"] for row in files["effects.csv"] if row["figure"] == PRIMARY}
    assert verdicts == {"hub-and-spoke": "worse", "concentrator": "same"}


def test_the_spectrum_of_an_arm_spans_its_runs(planted_comparison: Comparison, page: Parsed) -> None:
    median = next(row for row in downloads(page)["spectra.csv"] if row["Percentile"] == "50 %")
    runs = [run.latency.percentile(0.5) for run in planted_comparison.reference.runs]
    assert float(median["mesh, fastest run (ms)"]) == min(filter(None, runs))
    assert float(median["mesh, slowest run (ms)"]) == max(filter(None, runs))


def test_the_json_keeps_its_schema_and_the_page_embeds_it(planted_comparison: Comparison, page: Parsed) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    json_document = document((planted_comparison,))
    jsonschema.validate(json_document, SCHEMA)
    embedded = next(text for tags, text in page.texts if "script" in tags and text.strip().startswith("{"))
    assert json.loads(embedded) == json.loads(json.dumps(json_document))
    assert [(test["arm"], test["verdict"]) for test in json_document["scenarios"][0]["tests"]] == [
        ("hub-and-spoke", "worse"),
        ("concentrator", "same"),
    ]


def test_every_key_of_the_schema_is_required_so_that_none_is_missed() -> None:
    objects = [SCHEMA, *(schema for schema in SCHEMA["$defs"].values() if "properties" in schema)]
    assert len(objects) == 8
    assert tuple(SCHEMA["$defs"]["test"]["properties"]["verdict"]["enum"]) == VERDICTS
    for schema in objects:
        assert set(schema["required"]) == set(schema["properties"])


def test_the_json_of_few_and_odd_runs_keeps_its_schema_too(tmp_path: Path) -> None:
    doubt = {PRIMARY: "the load generator itself was late"}
    doubtful_run = write_planted(tmp_path, "a", Planted(doubtful=doubt))
    invalid_run = write_planted(tmp_path, "b", Planted("ring", verdict="invalid", run={"protocol": "amqp"}))
    json_document = document(compare_runs(ComparisonInput((doubtful_run, invalid_run), (), 5.0, allow_unlike=True)))
    jsonschema.validate(json_document, SCHEMA)
    assert json_document["scenarios"][0]["tests"][0]["verdict"] == "invalid"
    assert json_document["scenarios"][0]["unlike"] == ["protocol is amqp in b, but stomp in a"]


def test_the_markdown_has_the_answer_a_table_and_no_markup_of_a_runs_own(tmp_path: Path) -> None:
    runs = [write_planted(tmp_path, f"r{n}", Planted(name)) for n, name in enumerate(("a|b", "<c> *d*"))]
    text = markdown(compare_runs(ComparisonInput(tuple(runs), (), 5.0, allow_unlike=False)))
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
    assert table[0] == "| topology | a&#124;b | &#60;c&#62; &#42;d&#42; |"
    assert len(table) > 4, "a row per figure"
    assert "<c>" not in text
    assert "**undecided**" in text


def test_a_name_that_is_markup_stays_text_on_the_page(tmp_path: Path) -> None:
    runs = [write_planted(tmp_path, f"r{n}", Planted(name)) for n, name in enumerate(("mesh", "</script><b>$x$"))]
    page = parse(render(compare_runs(ComparisonInput(tuple(runs), (), 5.0, allow_unlike=False))))
    assert page.named("b") == []
    assert "</script><b>$x$" in page.text()


def test_unlike_runs_are_marked_at_the_top(tmp_path: Path) -> None:
    unlike = write_planted(tmp_path, "b", Planted("ring", run={"protocol": "amqp"}))
    wanted = ComparisonInput((write_planted(tmp_path, "a"), unlike), (), 5.0, allow_unlike=True)
    text = parse(render(compare_runs(wanted))).text()
    marked = text.index("The compared runs differ in more than the arms")
    assert marked < text.index("Latency p99:")
    assert "protocol is amqp in b, but stomp in a" in text


def test_doubtful_figures_are_counted_on_the_page(tmp_path: Path) -> None:
    runs = write_blocks(tmp_path, [[1, 1], [1, 1]], doubtful={})
    late = write_planted(tmp_path, "late", Planted(doubtful={PRIMARY: "late"}))
    sound_run = write_planted(tmp_path, "other", Planted("hub-and-spoke", doubtful={}))
    text = parse(render(compare_runs(ComparisonInput((*runs, late, sound_run), (), 5.0, allow_unlike=False)))).text()
    sentence = "1 of 3 blocks was left out of latency p99 of hub-and-spoke: the timing is doubtful."
    assert sentence in text
    assert "is not known" not in text


def test_percentiles_that_rest_on_a_handful_of_messages_are_doubted(tmp_path: Path) -> None:
    runs = write_blocks(tmp_path, [[1, 1]], messages=4_000)
    runs += write_blocks(tmp_path / "few", [[1, 1]], messages=600)
    text = parse(render(compare_runs(ComparisonInput(tuple(runs), (), 5.0, allow_unlike=False)))).text()
    assert (
        "Fewer than ten messages lie beyond latency p99 in 2 of 4 runs: a reliable figure needs a longer load." in text
    )
    assert "beyond latency p99.9 in 4 of 4 runs" in text
    assert "beyond latency p50 " not in text


@pytest.mark.parametrize("reach", [0.08, 0.2, 0.5, 1.3, 6.0, 11.0])
def test_ticks_of_ratios_are_apart_and_alike_on_both_sides_of_1(reach: float) -> None:
    ticks = [log(tick) for tick in ratio_ticks(reach)]
    assert 3 <= len(ticks) <= 8
    assert ticks == pytest.approx([-tick for tick in reversed(ticks)])
    assert min(after - before for before, after in pairwise(ticks)) >= reach * 2 / 7
    assert ticks[-1] <= reach


def test_files_that_cannot_be_written_are_told_and_leave_nothing_half(
    planted_comparison: Comparison, tmp_path: Path
) -> None:
    wanted = ComparisonInput((), (), 5.0, allow_unlike=False, html=tmp_path / "none" / "page.html")
    with pytest.raises(RunUnwritable, match=r"page\.html: cannot be written"):
        write((planted_comparison,), wanted)
    assert list(tmp_path.iterdir()) == []
