"""The reply to a frame: its sender waits for it, the reader of the connection gives it."""

import threading
from dataclasses import dataclass, field

from stomp.utils import Frame


@dataclass
class PendingReply:
    """A time (ns), or the broker's words, or neither when the connection is gone."""

    came: threading.Event = field(default_factory=threading.Event)
    at_ns: int = 0
    refusal: str = ""
    frame: Frame | None = None

    def give(self, at_ns: int, refusal: str = "", frame: Frame | None = None) -> None:
        self.at_ns, self.refusal, self.frame = at_ns, refusal, frame
        self.came.set()
