"""Records Java Flight Recorder in the JVM of this process: its Java clients in one run.

The recorder writes below the run's folder. So a process that is killed leaves its recording there, except for the last
second (records.store.recordings).
"""

import logging
import os
from pathlib import Path
from typing import ClassVar

import jpype

from drivers.jvm import vm
from records.store.recordings import CHUNKS, FOLDER, NAME, SETTINGS

COMMANDS = "com.sun.management:type=DiagnosticCommand"
log = logging.getLogger(__name__)


class ClientRecording:
    """A recording from the start of the JVM, or from now if it is running, until `stop`.

    ``folder``: created once the JVM runs. If the JVM cannot record, a warning is logged, and the clients go on.
    A recording that an abandoned run has left is stopped first.
    """

    _active: ClassVar["ClientRecording | None"] = None

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._records = self._is_over = False

    def start(self) -> None:
        vm.when_started(self._start)

    def stop(self) -> None:
        """Write what was recorded to a file. May be called repeatedly, and before the JVM has started."""
        self._is_over = True
        if self._records:
            self._records, ClientRecording._active = False, None
            file = self._folder / FOLDER / f"pid-{os.getpid()}-ended.jfr"
            try:
                _command("jfrStop", f"name={NAME}", f"filename={file}")
            except jpype.JException as error:  # its chunks stay
                log.warning("the recording of the Java clients was not completed: %s", error)

    def _start(self) -> None:
        if self._is_over:
            return
        if ClientRecording._active:
            ClientRecording._active.stop()
        try:
            (self._folder / FOLDER).mkdir(parents=True, exist_ok=True)
            _command("jfrConfigure", f"repositorypath={self._folder / CHUNKS}")
            _command("jfrStart", *SETTINGS)
        except (jpype.JException, OSError) as error:
            log.warning("the Java clients are not recorded: %s", error)
        else:
            self._records, ClientRecording._active = True, self


def _command(name: str, *parameters: str) -> None:
    """Execute a diagnostic command of this JVM, such as ``jcmd`` does from outside. Raises JException."""
    text = jpype.JClass("java.lang.String")
    server = jpype.JClass("java.lang.management.ManagementFactory").getPlatformMBeanServer()
    commands = jpype.JClass("javax.management.ObjectName")(COMMANDS)
    arguments = jpype.JArray(jpype.JClass("java.lang.Object"))([jpype.JArray(text)(parameters)])
    server.invoke(commands, name, arguments, jpype.JArray(text)(["[Ljava.lang.String;"]))
