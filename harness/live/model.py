"""Keeps the latest state of the current run. The page, its JSON and the metrics all read this one model."""

from collections.abc import Callable
from dataclasses import asdict

import gevent

from harness.live.history import History, Moment
from harness.live.view import RunView, view
from harness.run.snapshot import Snapshot

WATCH_EVERY_S = 1.0


class LiveModel:
    """``snapshot`` returns the snapshot of the current or the last run, and None before the first run."""

    def __init__(self, snapshot: Callable[[], Snapshot | None]) -> None:
        self.snapshot = snapshot
        self._history = History()

    def keep_watching(self) -> None:
        """Record a moment each second, whether a page is open or not. Never returns."""
        while True:
            self._history.note(self.snapshot())
            gevent.sleep(WATCH_EVERY_S)

    def last_moment(self) -> Moment | None:
        """Return the rates and latencies of the last second; None if there are none yet."""
        return self._history.moments[-1] if self._history.moments else None

    def shown(self, refusal: str = "") -> RunView:
        """Return the run as lines and tables of text. ``refusal``: why the last start led to no run; '' if it did."""
        return view(self.snapshot(), refusal)

    def as_json(self, refusal: str = "") -> dict[str, object]:
        """Return the JSON that the page requests every second."""
        snapshot = self.snapshot()
        history = self._history.as_json(snapshot.faults if snapshot else ())
        return {**asdict(view(snapshot, refusal)), "history": history}
