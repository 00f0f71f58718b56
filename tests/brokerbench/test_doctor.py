"""Checks how `brokerbench doctor` judges facts about a machine. The facts are made up; no machine is examined."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from brokerbench.doctor import (
    MISSING,
    OK,
    OPTIONAL_LIBRARIES,
    REQUIRED_LIBRARIES,
    WARNING,
    Facts,
    Finding,
    answer,
    examine,
    necessary_is_missing,
    table,
)

GIB = 1 << 30
GOOD = Facts(
    python=(3, 11, 7),
    java="17.0.15 at /opt/java, from PATH",
    distributions={"activemq-classic 5.18.3": "/cache/activemq"},
    docker="27.1.0",
    libraries=dict.fromkeys((*REQUIRED_LIBRARIES, *OPTIONAL_LIBRARIES), "1.0"),
    free_ports=24,
    disk_free_bytes={"runs": 50 * GIB, "cache": 50 * GIB},
    open_files_hard=20_000,
    memory_available_bytes=8 * GIB,
    cores=2,
)


def unwell(facts: Facts) -> list[Finding]:
    return [finding for finding in examine(facts) if finding.state != OK]


def test_a_good_machine_has_nothing_to_mend() -> None:
    assert unwell(GOOD) == []
    assert len(examine(GOOD)) >= 15


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"python": (3, 10, 12)}, "Python"),
        ({"java": None, "java_problem": "no Java 17"}, "Java"),
        ({"libraries": GOOD.libraries | {"pyspark": None}}, "pyspark"),
        ({"free_ports": 0}, "free ports"),
        ({"disk_free_bytes": {"runs": GIB - 1}}, "disk, runs"),
        ({"too_few_files": "open files: at most 64, and a run needs 512; raise the limit"}, "open files"),
        ({"names_problem": "names: localhost cannot be resolved (x); add a line"}, "name resolution"),
        ({"temporary_files_problem": "temporary files: cannot be written (x); free space"}, "temporary files"),
    ],
)
def test_what_is_necessary_is_missing_and_says_the_next_step(change: dict[str, object], check: str) -> None:
    facts = replace(GOOD, **change)  # type: ignore[arg-type]
    (finding,) = unwell(facts)
    assert (finding.check, finding.state) == (check, MISSING)
    assert finding.next_step
    assert necessary_is_missing(examine(facts))


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"distributions": {"activemq-classic 5.18.3": None}}, "activemq-classic 5.18.3"),
        ({"docker": None, "docker_problem": "no such file"}, "Docker engine"),
        ({"free_ports": 23}, "free ports"),
        ({"disk_free_bytes": {"cache": 5 * GIB - 1}}, "disk, cache"),
        ({"open_files_hard": 9_999}, "open files"),
        ({"memory_available_bytes": 3 * GIB - 1}, "memory"),
        ({"cores": 1}, "cores"),
        ({"load_1_min": 1.1}, "load"),
        ({"leftovers": ("pid 7 (java), since 12:00",)}, "earlier runs"),
    ],
)
def test_what_can_be_lived_with_is_a_warning(change: dict[str, object], check: str) -> None:
    facts = replace(GOOD, **change)  # type: ignore[arg-type]
    (finding,) = unwell(facts)
    assert (finding.check, finding.state) == (check, WARNING)
    assert finding.next_step
    assert not necessary_is_missing(examine(facts))


@pytest.mark.parametrize(
    "change",
    [
        {"libraries": GOOD.libraries | {"python-qpid-proton": None}},
        {"open_files_hard": None},
        {"open_files_hard": 10_000},
    ],
)
def test_what_is_optional_or_just_enough_is_well(change: dict[str, object]) -> None:
    assert unwell(replace(GOOD, **change)) == []  # type: ignore[arg-type]


def test_a_library_that_is_left_out_says_how_to_have_it() -> None:
    findings = examine(replace(GOOD, libraries=GOOD.libraries | {"python-qpid-proton": None}))
    (finding,) = [finding for finding in findings if finding.check == "python-qpid-proton"]
    assert finding.reading == "not installed (optional: AMQP clients)"
    assert "apt-get install gcc" in finding.next_step


def test_a_machine_without_toxiproxy_is_well_and_is_told_how_to_have_it() -> None:
    (finding,) = [finding for finding in examine(GOOD) if finding.check == "Toxiproxy"]
    assert (finding.state, finding.next_step) == (OK, "for --link: bash .ci/install-toxiproxy.sh")
    (finding,) = [finding for finding in examine(replace(GOOD, toxiproxy="/bin/it")) if finding.check == "Toxiproxy"]
    assert (finding.reading, finding.next_step) == ("/bin/it", "")


def test_the_table_is_aligned_and_puts_each_next_step_below_its_finding() -> None:
    findings = [Finding("Java", OK, "17"), Finding("Docker engine", WARNING, "none", "start one")]
    assert table(findings).splitlines() == [
        "ok       Java           17",
        "warning  Docker engine  none",
        "                        → start one",
    ]


def test_the_answer_says_whether_a_run_can_be_made_and_what_to_read_first() -> None:
    def conclusion(**change: object) -> str:
        return answer(examine(replace(GOOD, **change)))  # type: ignore[arg-type]

    assert conclusion() == "This machine can run a benchmark."
    assert conclusion(free_ports=23, cores=1) == "This machine can run a benchmark. Warnings: free ports; cores."
    missing = conclusion(free_ports=23, java=None, java_problem="no Java 17")
    assert missing == "This machine cannot run a benchmark yet. Missing: Java."


def test_every_finding_is_of_a_known_state() -> None:
    judges: Callable[[Facts], list[Finding]] = examine
    assert {finding.state for finding in judges(Facts(python=(3, 9, 0)))} <= {OK, WARNING, MISSING}
