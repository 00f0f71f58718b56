"""Records Java Flight Recorder in brokers that run as processes."""

import os
import re
import subprocess

from records.environment import for_java
from records.store.recordings import CHUNK_SIZE, CHUNKS, FOLDER, SETTINGS
from topologies.runtimes.java import ASK_TIMEOUT_S, Java

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
