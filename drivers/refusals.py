"""Why did a broker refuse messages? Records count them; its words are in the log, once for each destination."""

import logging

log = logging.getLogger("brokerbench")


class Refusals:
    """Those of one session."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def heard(self, destination: str, broker: str, reason: str) -> None:
        """A message to ``destination`` has failed, as the broker said."""
        if (destination, broker) not in self._told:
            self._told.add((destination, broker))
            log.warning(
                "broker %s refused a message to %s, which has failed: %s (told once)", broker, destination, reason
            )
