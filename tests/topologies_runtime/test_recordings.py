"""Checks which choices with --jfr are rejected."""

from pathlib import Path

import pytest

from records.errors import UserError
from topologies.catalogue import lookup
from topologies.jvm.java import Java
from topologies.jvm.recordings import why_no_recording
from topologies.runtimes.choice import BrokerSetup


def test_a_java_without_the_recorder_is_rejected(tmp_path: Path) -> None:
    executable = tmp_path / "java"
    executable.write_text("#!/bin/sh\necho java.base@21\n", encoding="utf-8")
    executable.chmod(0o755)
    why = why_no_recording(Java(tmp_path, executable, "21", "PATH"))
    assert why == "Java 21 of PATH has no module jdk.jfr; set JAVA_HOME to a JDK, or leave it out"
    executable.write_text("#!/bin/sh\necho java.base@21\necho jdk.jfr@21\n", encoding="utf-8")
    assert why_no_recording(Java(tmp_path, executable, "21", "PATH")) == ""


@pytest.mark.parametrize("runtime", ["containers", "external", "memory"])
def test_other_runtimes_reject_recordings(runtime: str) -> None:
    with pytest.raises(UserError, match=rf"^--jfr --runtime {runtime}: .*"):
        BrokerSetup(runtime, jfr=True).check(lookup.build("single"))
