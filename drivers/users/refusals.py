"""Logs why a broker refused messages, once for each destination; records count them."""

import logging

log = logging.getLogger("brokerbench")


class RefusalLog:
    """Those of one session."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, str]] = set()

    def heard(self, destination: str, broker: str, reason: str) -> None:
        """A message to ``destination`` has failed: the broker refused it."""
        if (destination, broker) not in self._logged:
            self._logged.add((destination, broker))
            log.warning(
                "broker %s refused a message to %s, which has failed: %s (told once)", broker, destination, reason
            )
