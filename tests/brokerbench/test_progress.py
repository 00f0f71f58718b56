"""Checks the progress of commands that make many runs: estimates, first results, and the line on a terminal."""

import io
import re
import time
from datetime import datetime

from brokerbench.progress import CLEAR, RunTimes, UnderWay, end_text, first_results, live_line
from records.figures.abort import Abort, AbortCondition
from records.run import ProcessInfo, RunInfo

NOW = datetime(2026, 11, 28, 13, 40)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_estimates_prefer_runs_of_the_same_arm() -> None:
    times = RunTimes()
    assert times.expected_s("steady", "mesh") is None
    times.add("failover", "mesh", 60)
    assert times.expected_s("steady", "mesh") == 60
    times.add("steady", "tree", 20)
    assert times.expected_s("steady", "mesh") == 20
    times.add("steady", "mesh", 30)
    times.add("steady", "mesh", 40)
    assert times.expected_s("steady", "mesh") == 35


def test_ends_on_another_day_have_a_date() -> None:
    assert end_text(84, NOW) == "about 84 s left, until 13:41"
    assert end_text(12 * 3_600, NOW) == "about 720 min left, until 01:40 on 2026-11-29"


def test_a_run_under_way_has_its_end_and_the_next_run() -> None:
    first = UnderWay(None, None, "block 1, tree").line("run 1 of 2: block 1, mesh", 4.4)
    assert first == "run 1 of 2: block 1, mesh: 4 s; next: block 1, tree"
    last = UnderWay(30.0, 30.0, "").line("run 2 of 2: block 1, tree", 10.0)
    assert re.fullmatch(r"run 2 of 2: block 1, tree: 10 s of about 30 s; all until \d\d:\d\d( on .*)?", last)


def test_first_results_are_counts_and_aborts() -> None:
    info = RunInfo("run", "steady", "mesh", "processes", "stomp")
    assert first_results(info) == ""
    process = ProcessInfo("worker-0", 0, "host", 0, 0, begun=1_200, received=1_100)
    abort = Abort(AbortCondition("messages.failed", ">", 0.0), 3.0, 12.0)
    aborted = RunInfo("run", "steady", "mesh", "processes", "stomp", processes=(process,), aborts=(abort,))
    assert first_results(aborted) == f"1,200 messages sent, 1,100 received; {abort}"


def test_a_terminal_has_one_line_that_is_rewritten() -> None:
    terminal = Terminal()
    with live_line(lambda passed_s: f"{passed_s:.0f} s", terminal):
        time.sleep(1.2)
    written = terminal.getvalue()
    assert written.startswith(f"{CLEAR}0 s{CLEAR}1 s")
    assert written.endswith(CLEAR)
    assert "\n" not in written


def test_a_log_gets_no_rewritten_line() -> None:
    log = io.StringIO()
    with live_line(lambda passed_s: "never", log):
        pass
    assert log.getvalue() == ""
