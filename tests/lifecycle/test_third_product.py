"""Checks that a product takes one folder and one line, by runs of a made-up broker without a JVM.

The runs are in a copy of the project, with the folder tests/topologies/made_up as topologies/made_up.
"""

import difflib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOMS
from tests.support.locust_run import REPOSITORY, make_run, nothing_left

FOLDER = REPOSITORY / "tests" / "topologies" / "made_up"
TABLE = Path("topologies", "products.py")
LAST = '    "artemis",\n'
LINE = '    "made_up",\n'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project with the product's folder and its line."""
    copy = tmp_path_factory.mktemp("project")
    ignored = shutil.ignore_patterns("__pycache__")
    for room in ROOMS:
        shutil.copytree(REPOSITORY / room, copy / room, ignore=ignored)
    shutil.copytree(FOLDER, copy / "topologies" / "made_up", ignore=ignored)
    table = (copy / TABLE).read_text(encoding="utf-8")
    assert table.count(LAST) == 1
    (copy / TABLE).write_text(table.replace(LAST, LAST + LINE), encoding="utf-8")
    return copy


def texts(folder: Path) -> dict[Path, bytes]:
    files = (path for room in ROOMS for path in (folder / room).rglob("*") if path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in files if "__pycache__" not in path.parts}


def test_outside_its_folder_a_product_is_one_line(project: Path) -> None:
    before, after = texts(REPOSITORY), texts(project)
    changed = {path for path in after if after[path] != before.get(path)}
    assert {path for path in changed if path.parts[:2] != ("topologies", "made_up")} == {TABLE}
    lines = [text.decode().splitlines() for text in (before[TABLE], after[TABLE])]
    diff = [line for line in difflib.unified_diff(*lines, n=0, lineterm="") if line[:2] not in ("--", "++", "@@")]
    assert diff == [f"+{LINE.rstrip()}"]


WITHOUT_JAVA = """
import json, sys
from pathlib import Path
from records.errors import UserError
from records.store.rundir import RunDirectory
from topologies.catalogue.lookup import build
from topologies.jvm import java, launch
from topologies.management.contract import agent_at, queries_of
from topologies.runtimes.choice import BrokerSetup
from topologies.runtimes.processes.runtime import ProcessRuntime

def refuse(*_arguments, **_named):
    raise AssertionError("this broker needs no Java")

launch.find_java = launch.ensure = java.ask_version = refuse
topology = build("made-up-single")
runtime = ProcessRuntime(topology, RunDirectory.create(Path(sys.argv[1]), "run"))
runtime.up(lambda line: None)
try:
    with agent_at(topology, runtime.management("broker-1")) as agent:
        figures = queries_of(topology, "broker-1").figures(agent)
finally:
    runtime.close()
refusals = []
for runtime_name, jfr in (("processes", True), ("processes", False)):
    setup = BrokerSetup(runtime_name, jfr=jfr)
    try:
        setup.check(topology)
    except UserError as error:
        refusals.append(str(error))
print(json.dumps([dict(figures.broker), setup.heaps_mb(topology), runtime.versions(), refusals]))
"""


@pytest.mark.brokers
def test_a_broker_without_a_jvm_needs_no_java_and_has_no_heap(project: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_JAVA, str(tmp_path)]
    answer = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr
    figures, heaps_mb, versions, refusals = json.loads(answer.stdout)
    assert figures == {"connections": 0}
    assert heaps_mb == {}
    assert versions == {"broker made_up": "1.1"}
    assert refusals == ["--jfr: made_up brokers do not run in a Java virtual machine; leave it out"]


@pytest.mark.brokers
@pytest.mark.spark
def test_steady_passes_on_it_and_its_heap_is_unknown(project: Path, tmp_path: Path) -> None:
    arguments = ("--topology", "made-up-single", "--protocol", "stomp", "-t", "5s", "--broker-version", "1.0")
    steady = str(project / "scenarios" / "steady.py")
    outcome = make_run(steady, *arguments, runs=tmp_path / "runs", env={"PYTHONPATH": str(project)})
    assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output
    messages = outcome.summary["messages"]
    assert (messages["lost"], messages["received"]) == (0, messages["sent"])
    assert messages["sent"] > 300
    assert outcome.summary["throughput"]["received_per_s"] > 50
    assert outcome.info["versions"].items() >= {"broker made_up": "1.0"}.items()
    assert not {"java", "jolokia-agent"} & {*outcome.info["versions"]}
    sampled = {(row["kind"], row["metric"]) for row in outcome.events("samples")}
    assert sampled >= {("broker", "connections"), ("queue", "enqueue_count"), ("process", "rss_bytes")}
    assert not {metric for _, metric in sampled if "heap" in metric or "gc" in metric}
    page = (outcome.run / "report.html").read_text(encoding="utf-8")
    assert "none of them reported this figure" in page, "the chart of the heap is empty, not 0"
    assert not list(outcome.run.glob("profiles.json"))
    assert nothing_left(tmp_path / "runs")
