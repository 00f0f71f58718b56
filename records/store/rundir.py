"""The folder of one run, and the paths within it.

    <run id>/
        run.json             description of the run (records.run)
        streams/<table>/     events as they are recorded, one <process>.arrows each; empty once sealed
        events/<table>/      events of a sealed run, one <process>.parquet each (records.tables.schemas)
        events/seal.json     the list of these files, with their digests (records.store.seal)
        results/<table>/     results of the analysis (records.tables.results)
        brokers/<broker>/    rendered files and logs of one broker, and its recording (with --jfr)
        clients/<process>/   recording of the Java clients in one process (with --jfr)
        profiles.json        profiles of brokers and Java clients (records.figures.profiles; with --jfr)
        summary.json         the verdict and its figures (records.figures.summary)
        analysis.sha256      digests of the files that the analysis read and wrote (records.store.digests)
        report.html

No password is ever written below it.
"""

import contextlib
import json
import os
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from records.errors import RunUnreadable, RunUnwritable, explained
from records.run import RunInfo
from records.run_json import content_digest, decode, encode
from records.tables.schemas import UNSEALED_VERSION


@dataclass(frozen=True)
class RunDirectory:
    """The folder of one run. Reading a path creates nothing; `create`, `broker_folder` and `write_run` do."""

    path: Path

    @classmethod
    def create(cls, parent: Path, run_id: str) -> "RunDirectory":
        """Make a new, empty run folder below ``parent``. RunUnwritable if it cannot be made, or exists already."""
        path = parent / run_id
        try:
            parent.mkdir(parents=True, exist_ok=True)
            path.mkdir()
        except OSError as error:
            raise _unwritable(path, "the run folder cannot be made", error) from None
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> "RunDirectory":
        """Open an existing run. RunUnreadable if ``path`` is not a run folder; `read_run` reads run.json itself."""
        if not path.is_dir():
            raise RunUnreadable(f"{path}: there is no such folder: give the folder of a run, such as runs/<run id>")
        directory = cls(path)
        if not directory.run_path.is_file():
            raise RunUnreadable(f"{path}: not a run folder, as it has no run.json: give one such as runs/<run id>")
        return directory

    @property
    def run_path(self) -> Path:
        return self.path / "run.json"

    @property
    def run_id(self) -> str:
        """The id of the run, regardless of the folder's current name. Raises RunUnreadable.

        A new folder without a run.json is named after the run's id.
        """
        return self.read_run().run_id if self.run_path.exists() else self.path.name

    @property
    def has_seal(self) -> bool:
        """Whether its events are sealed, or will be; events of older versions are not. Raises RunUnreadable."""
        return not self.run_path.exists() or self.read_run().schema_version != UNSEALED_VERSION

    @property
    def summary_path(self) -> Path:
        return self.path / "summary.json"

    @property
    def digests_path(self) -> Path:
        return self.path / "analysis.sha256"

    @property
    def is_analysed(self) -> bool:
        """Whether the last analysis finished: it writes its digests last."""
        return self.summary_path.exists() and self.digests_path.exists()

    @property
    def report_path(self) -> Path:
        return self.path / "report.html"

    def streams(self, table: str) -> Path:
        return self.path / "streams" / table

    @property
    def events_path(self) -> Path:
        return self.path / "events"

    @property
    def seal_path(self) -> Path:
        return self.events_path / "seal.json"

    def events(self, table: str) -> Path:
        return self.events_path / table

    def results(self, table: str) -> Path:
        return self.path / "results" / table

    def broker_folder(self, name: str) -> Path:
        """Return the folder of one broker, and create it if necessary."""
        if name in ("", ".", "..") or Path(name).name != name:
            raise ValueError(
                f"broker {name!r}: its name names a folder, so it must not be empty, '.' or '..', and must not "
                "contain '/'"
            )
        path = self.path / "brokers" / name
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(path, "the broker's folder cannot be made", error) from None
        return path

    def client_folder(self, process: str) -> Path:
        """Return the folder of the Java clients in one process of the load generator. It is not created."""
        return self.path / "clients" / process

    @property
    def client_processes(self) -> list[str]:
        """The processes with a `client_folder`."""
        return sorted(folder.name for folder in (self.path / "clients").glob("*/"))

    def write_run(self, info: RunInfo) -> None:
        """Write run.json atomically: a reader sees the old or the new version. Raises RunUnwritable."""
        text = encode(info)
        try:
            try:
                self._replace_run(text)
            except OSError:
                if not self._reserve_path.exists():
                    raise
                self._reserve_path.unlink()
                self._replace_run(text)
        except OSError as error:
            raise _unwritable(self.run_path, "cannot be written", error) from None
        self._reserve(2 * len(text) if info.state == "running" else 0)

    def _replace_run(self, text: str) -> None:
        unfinished = self.run_path.with_name(f".run.json.{os.getpid()}")
        try:
            _write_through(unfinished, text)
            unfinished.replace(self.run_path)
        finally:
            unfinished.unlink(missing_ok=True)

    @property
    def _reserve_path(self) -> Path:
        return self.path / ".run.json.reserve"

    def _reserve(self, byte_count: int) -> None:
        """Reserve space for the next run.json: events may fill the disk, and the end of the run must still be
        written."""
        if not byte_count:
            self._reserve_path.unlink(missing_ok=True)
        elif not self._reserve_path.exists():
            with contextlib.suppress(OSError):  # the disk is full already: no space can be reserved
                self._reserve_path.write_bytes(bytes(byte_count + 64 * 1024))

    def remove_unfinished(self) -> None:
        """Remove the reserved space and the draft of the next run.json that a killed run left."""
        for path in self.path.glob(f".{self.run_path.name}.*"):
            with contextlib.suppress(OSError):
                path.unlink()

    def read_verdict(self) -> str:
        """Return the verdict in summary.json, written by the analysis. Raises RunUnreadable if the file has none."""
        try:
            return str(json.loads(self.summary_path.read_text(encoding="utf-8"))["verdict"])
        except (OSError, ValueError, KeyError, TypeError):
            raise RunUnreadable(
                f"{self.summary_path}: contains no verdict: run `brokerbench analyse {self.path}`"
            ) from None

    def read_run(self) -> RunInfo:
        """Read run.json. RunUnreadable if it is missing, not JSON, of another version, or has wrong keys."""
        return decode(self._run_text(), str(self.run_path))

    @property
    def run_sha256(self) -> str:
        """The digest of run.json's content; empty if it was edited, or does not exist yet. Raises RunUnreadable."""
        return content_digest(self._run_text()) if self.run_path.exists() else ""

    def _run_text(self) -> str:
        try:
            return self.run_path.read_text(encoding="utf-8")
        except OSError as error:
            problem = (
                f"{self.run_path}: cannot be read ({error.strerror}): give the folder of a run, such as runs/<run id>"
            )
            raise RunUnreadable(problem) from None
        except UnicodeDecodeError as error:
            problem = f"{self.run_path}: not readable as UTF-8 text ({error.reason}): was it overwritten?"
            raise RunUnreadable(problem) from None


def new_run_id(scenario: str, topology: str, *, now: datetime | None = None) -> str:
    """Return ``20261121-143231-steady-mesh-brokers-3-9f2c41``: sorts by UTC time, names scenario and topology, is
    unique."""
    time = (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y%m%d-%H%M%S")
    return "-".join(part for part in (time, _slug(scenario), _slug(topology), secrets.token_hex(3)) if part)


def _slug(text: str) -> str:
    """Return ``mesh-brokers-3`` for ``mesh(brokers=3)``, which is safe in every file system and every shell."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:40].strip("-")


def _write_through(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _unwritable(path: Path, problem: str, error: OSError) -> RunUnwritable:
    why, next_step = explained(error)
    return RunUnwritable(f"{path}: {problem}: {why}; {next_step}")
