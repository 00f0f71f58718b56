"""Records Java Flight Recorder in brokers that run as processes."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

from records.environment import for_java
from records.errors import UserError
from records.store.recordings import CHUNK_SIZE, CHUNKS, FOLDER, SETTINGS
from topologies.jvm.java import ASK_TIMEOUT_S, Java, NoJava, find_java

MODULE = "jdk.jfr"
OPTIONS = (
    f"-XX:StartFlightRecording={','.join(SETTINGS)},dumponexit=true,filename=../{FOLDER}",
    f"-XX:FlightRecorderOptions=repository=../{CHUNKS},{CHUNK_SIZE}",
    "-Xlog:jfr*=error",  # its messages would be in the middle of the broker's log
)
"""Options of a broker's JVM. Its paths are relative to the folder of its log, where the broker runs."""

RECORDER_OPTIONS = ("-XX:StartFlightRecording", "-XX:FlightRecorderOptions")


def why_no_recording(java: Java) -> str:
    """Return why this Java cannot record, with the next step; empty if it can or does not answer."""
    try:
        answer = subprocess.run(
            [str(java.executable), "--list-modules"],
            env=for_java(os.environ), capture_output=True, text=True, timeout=ASK_TIMEOUT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if re.search(rf"^{re.escape(MODULE)}@", answer.stdout, re.MULTILINE):
        return ""
    return f"Java {java.version} of {java.source} has no module {MODULE}; set JAVA_HOME to a JDK, or leave it out"


def check(options_by_broker: Mapping[str, Sequence[str]]) -> None:
    """Check that brokers with these JVM options can be recorded on this machine. Raises UserError."""
    for broker, options in options_by_broker.items():
        for option in options:
            if option.startswith(RECORDER_OPTIONS):
                rule = "--jfr sets the options of the recorder; leave one of them out"
                raise UserError(f"--jfr: broker {broker!r} has the jvm option {option}: {rule}")
    with suppress(NoJava):  # reported when brokers start
        if why := why_no_recording(find_java()):
            raise UserError(f"--jfr: {why}")
