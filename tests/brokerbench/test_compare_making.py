"""Makes the runs of a comparison as a user does: all of them, after a stop the rest, and none that cannot be."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from brokerbench.compare.making import _last_words
from tests.support.locust_run import REPOSITORY, as_a_user_has_it, nothing_left
from tests.support.waiting import until

COMMAND = [
    Path(sys.executable).with_name("brokerbench"),
    "compare",
    "--scenario",
    "steady",
    "--vary",
    "body-bytes=100,900",
]
IN_MEMORY = ["--", "--runtime", "memory", "--warm-up", "0"]


LATE_START = Path(__file__).parent / "locustfiles" / "late_start.py"


class ComparisonCommand:
    """One `brokerbench compare` while it runs, with two blocks of runs in memory."""

    def __init__(self, folder: Path, *options: str, blocks: int = 2, env: Mapping[str, str] = {}) -> None:
        self.log, self.runs = folder / "compare.log", folder / "runs"
        out = ["--out", folder / "page.html", "--json", folder / "figures.json", "--runs", self.runs]
        with self.log.open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*COMMAND, "-t", "2s", "--blocks", str(blocks), *out, *(options or IN_MEMORY)],
                cwd=REPOSITORY,
                env={**as_a_user_has_it(), **env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def wait_for(self, text: str) -> None:
        deadline_s = time.monotonic() + 120
        while text not in self.output:
            assert self.process.poll() is None, self.output
            assert time.monotonic() < deadline_s, self.output
            time.sleep(0.05)

    def ended(self) -> int:
        return self.process.wait(240)

    def ended_runs(self) -> list[dict[str, object]]:
        """The options of every run that ended."""
        infos = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(self.runs.glob("*/*/run.json"))]
        return [info["options"] for info in infos if info["state"] == "ended"]


@pytest.mark.nightly  # half of it is the analysis of six runs
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_a_stopped_comparison_resumes_at_its_third_run(tmp_path: Path) -> None:
    """The resumed comparison keeps the runs that were made, and ends with a page."""
    stopped = ComparisonCommand(tmp_path)
    stopped.wait_for("run 3 of 4: block 2, ")
    until(lambda: len(list(stopped.runs.glob("*/*/run.json"))) == 3)
    stopped.process.send_signal(signal.SIGINT)
    assert stopped.ended() == 130, stopped.output
    assert "stopped: 2 of 4 runs are complete and stored; the same command continues from here" in stopped.output
    assert nothing_left(stopped.runs)
    made_before = stopped.ended_runs()

    resumed = ComparisonCommand(tmp_path)
    assert resumed.ended() == 0, resumed.output
    assert resumed.ended_runs()[:2] == made_before
    assert resumed.output.count("run 1 of 4: block 1") == resumed.output.count("run 2 of 4: block 1") == 1
    assert "2 of 4 runs exist already" in resumed.output
    assert "a verdict needs 7 blocks; with 2 the page shows figures, but no verdict" in resumed.output
    assert resumed.output.count("analysis: started Spark") == 1
    assert (tmp_path / "page.html").exists()
    (test,) = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["scenarios"][0]["tests"]
    assert test["verdict"] == "undecided"
    places = [(options["block"], options["order"]) for options in resumed.ended_runs()]
    assert places == [(1, 1), (1, 2), (2, 1), (2, 2)]

    repeated = ComparisonCommand(tmp_path)
    assert repeated.ended() == 0, repeated.output
    assert "4 of 4 runs exist already" in repeated.output
    assert len(repeated.ended_runs()) == 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--", "--runtime", "memory", "--rate", "0"], r"body-bytes 100: --rate 0: must be at least 0.001"),
        (["--", "--no-such-option"], r"body-bytes 100: unrecognized arguments: --no-such-option"),
        (["-t", "forever"], r"body-bytes 100: argument -t/--run-time: 'forever'; write a time of at most 31 days"),
        (["--", "--help"], r"body-bytes 100: locust did not describe the run: leave out options such as --help"),
    ],
)
def test_what_no_run_can_be_made_of_is_one_line_before_any_run_begins(
    options: list[str], says: str, tmp_path: Path
) -> None:
    comparison = ComparisonCommand(tmp_path, *options)
    assert comparison.ended() == 2, comparison.output
    assert re.search(says, comparison.output), comparison.output
    assert len(comparison.output.splitlines()) == 1, comparison.output
    assert not comparison.runs.exists()


@pytest.mark.nightly
@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_a_comparison_goes_on_when_a_broker_took_longer_to_start_than_it_may(tmp_path: Path) -> None:
    """The broker's log is shown, and the run is made again."""
    options = ["--scenario", str(LATE_START), "--", "--runtime", "processes", "--warm-up", "0", "--start-timeout", "15"]
    comparison = ComparisonCommand(tmp_path, *options, blocks=1, env={"FIRST_RUN": str(tmp_path / "first")})
    assert comparison.ended() == 0, comparison.output
    late = (
        "  not up in time, so it will be repeated: broker 'broker-1' did not accept connections within 15 s. "
        "Its log ends:"
    )
    assert re.search(rf"{re.escape(late)}\n(    .*\n)*    .*BrokerService.* started\n", comparison.output)
    assert "On a busy machine, increase --start-timeout." in comparison.output
    states = [json.loads(path.read_text(encoding="utf-8"))["state"] for path in comparison.runs.glob("*/*/run.json")]
    assert sorted(states) == ["ended", "ended", "failed"]
    assert (tmp_path / "page.html").exists()


@pytest.mark.nightly  # runs on real brokers that are tried again
@pytest.mark.brokers
@pytest.mark.timeout(300)
def test_a_comparison_whose_brokers_never_come_up_in_time_ends_with_what_they_logged(tmp_path: Path) -> None:
    options = ["--", "--runtime", "processes", "--topology", "single", "--start-timeout", "0.2"]
    comparison = ComparisonCommand(tmp_path, *options)
    assert comparison.ended() == 2, comparison.output
    last = comparison.output[comparison.output.index("brokerbench: ") :]
    assert re.match(r"brokerbench: block 1, \d+: 3 runs were not up in time; the last one is ", last)
    assert "broker 'broker-1'" in last
    assert re.search(r"within 0\.2 s\. Its log ends:\n    \S", last), last
    assert nothing_left(comparison.runs)


def test_last_words_of_a_failed_run_are_its_error() -> None:
    """The lines of the broker's log that follow the error belong to it."""
    stamp = "[2026-11-26 13:33:23,123] host"
    log = f"""{stamp}/INFO/brokerbench: run 1
{stamp}/ERROR/brokerbench: broker 'broker-1' died while starting (exit status 1). Its log ends:
    INFO  | Loading
    ERROR | Cannot bind
{stamp}/INFO/locust.main: Shutting down (exit code 2)
"""
    sentence = "broker 'broker-1' died while starting (exit status 1). Its log ends:"
    assert _last_words(log) == f"{sentence}\n    INFO  | Loading\n    ERROR | Cannot bind"
    assert _last_words(f"{stamp}/WARNING/brokerbench: no word of an error\n\n") == "no word of an error"
    assert _last_words("") == "it ended without a message"
