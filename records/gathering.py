"""Gathers the events of processes that do not share the run's folder: as bytes, appended to its streams.

The far `Recorder` sends each stream message as soon as it has one; here they become the very file that it would have
written. A process that goes away leaves its stream without the end mark, just as a killed one does.
"""

from records.errors import explained
from records.rundir import RunDirectory
from records.schemas import EVENT_TABLES
from records.streams import SUFFIX, StreamFile, described


class Gathering:
    """The streams of other processes, in the process that keeps the run's folder."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._streams: dict[tuple[str, str], StreamFile] = {}
        self.failure: str | None = None  # the first write that failed; later rows are dropped

    def take(self, process: str, table: str, messages: bytes) -> None:
        """Append what a process sent for one table, in the order sent. Never raises: see `failure`."""
        if self.failure:
            return
        stream = self._streams.setdefault((process, table), self._stream(process, table))
        try:
            stream.append_message(messages)
        except OSError as error:
            why, next_step = explained(error)
            self.failure = f"{stream.name} cannot be written: {why}; {next_step}"

    def close(self) -> None:
        """Let the files go. Whether a stream is complete, its sender has said by the end mark."""
        for stream in self._streams.values():
            stream.close(complete=False)

    def _stream(self, process: str, table: str) -> StreamFile:
        schema = described(EVENT_TABLES[table], table, process)
        return StreamFile(self._directory.streams(table) / f"{process}{SUFFIX}", schema)
