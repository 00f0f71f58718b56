"""The management of a made-up broker: JSON over HTTP."""

import base64
from collections.abc import Iterable, Mapping
from typing import Any

import requests

from topologies.model.endpoints import ManagementEndpoint
from topologies.model.management import Figures, ManagementFailed, QueuedMessage


class HttpAgent:
    def __init__(self, endpoint: ManagementEndpoint, timeout_s: float) -> None:
        self.broker, self._url, self._timeout_s = endpoint.broker, endpoint.url, timeout_s
        self._session = requests.Session()
        self._session.auth = (endpoint.username, endpoint.password)
        self._session.trust_env = False

    @property
    def calls_itself(self) -> str:
        return str(self.ask("")["name"])

    def ask(self, path: str, method: str = "GET") -> Any:
        try:
            answer = self._session.request(method, f"{self._url}{path}", timeout=self._timeout_s)
            answer.raise_for_status()
            return answer.json()
        except (requests.RequestException, ValueError) as error:
            raise ManagementFailed(f"broker {self.broker!r} does not answer: {type(error).__name__}") from None

    def close(self) -> None:
        self._session.close()


class MadeUpQueries:
    duplex: Mapping[tuple[str, str], str] = {}

    def serves(self, agent: HttpAgent) -> bool:
        return bool(agent.calls_itself)

    def stands_by(self, agent: HttpAgent) -> bool:
        return False

    def figures(self, agent: HttpAgent) -> Figures:
        answer = agent.ask("")
        return Figures({"connections": len(answer["connections"])}, answer["queues"], (), {})

    def names(self, agent: HttpAgent) -> list[str]:
        return [agent.calls_itself]

    def version(self, agent: HttpAgent) -> str:
        return ""

    def connected(self, agent: HttpAgent) -> frozenset[str]:
        return frozenset(map(str, agent.ask("")["connections"]))

    def disconnect(self, agent: HttpAgent, connections: Iterable[str]) -> None:
        for number in connections:
            agent.ask(f"connections/{number}", "DELETE")


def browse(agent: HttpAgent, queue: str) -> list[QueuedMessage]:
    return [QueuedMessage(base64.b64decode(body), int(sent_ms)) for body, sent_ms in agent.ask(f"queues/{queue}")]
