"""A small broker in one process: queues in memory by STOMP 1.2, and its management as JSON over HTTP.

    python program.py broker.json brokers.properties management.json

It has no store, no topics and no transactions, and headers are not escaped.
"""

import asyncio
import base64
import json
import signal
import sys
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

END = b"\x00"
OF_A_DELIVERY = ("subscription", "message-id", "destination", "ack", "content-length", "receipt")


@dataclass
class Message:
    number: int
    headers: dict[str, str]
    body: bytes
    sent_ms: int
    redelivered: bool = False


@dataclass(eq=False)
class Subscriber:
    client: "Client"
    number: str
    queue: "Queue"
    prefetch: int
    unacked: dict[str, Message] = field(default_factory=dict)

    def take(self, message: Message) -> None:
        ack = f"{self.number}-{message.number}"
        self.unacked[ack] = message
        own = {name: value for name, value in message.headers.items() if name not in OF_A_DELIVERY}
        delivery = {"subscription": self.number, "message-id": str(message.number), "ack": ack}
        delivery |= {"destination": message.headers["destination"], "redelivered": str(message.redelivered).lower()}
        self.client.send("MESSAGE", delivery | own, message.body)


@dataclass
class Queue:
    waiting: deque[Message] = field(default_factory=deque)
    subscribers: deque[Subscriber] = field(default_factory=deque)
    enqueued: int = 0
    dequeued: int = 0

    def deliver(self) -> None:
        """Give waiting messages to subscribers in turn, as far as each has room."""
        for _ in range(len(self.subscribers)):
            while self.waiting and len(self.subscribers[0].unacked) < self.subscribers[0].prefetch:
                self.subscribers[0].take(self.waiting.popleft())
                self.subscribers.rotate(-1)
            self.subscribers.rotate(-1)

    def give_back(self, message: Message) -> None:
        message.redelivered = True
        self.waiting.appendleft(message)

    @property
    def messages(self) -> list[Message]:
        return [*(message for taker in self.subscribers for message in taker.unacked.values()), *self.waiting]

    @property
    def figures(self) -> dict[str, int]:
        counted = {"enqueue_count": self.enqueued, "dequeue_count": self.dequeued, "consumers": len(self.subscribers)}
        in_flight = sum(len(taker.unacked) for taker in self.subscribers)
        return counted | {"depth": len(self.waiting) + in_flight, "in_flight": in_flight}


class QueueServer:
    def __init__(self, name: str, login: tuple[str, str]) -> None:
        self.name, self.login = name, login
        self.queues: dict[str, Queue] = defaultdict(Queue)  # by destination
        self.clients: dict[int, Client] = {}
        self.numbers = count(1)

    def answer(self, method: str, path: str) -> object:
        """Answer ``GET /``, ``GET /queues/NAME`` or ``DELETE /connections/NUMBER``."""
        if path.startswith("/queues/"):
            queue = self.queues.get(f"/queue/{path.removeprefix('/queues/')}", Queue())
            return [[base64.b64encode(message.body).decode(), message.sent_ms] for message in queue.messages]
        if method == "DELETE" and (client := self.clients.get(int(path.rpartition("/")[2]))):
            client.writer.close()
        queues = {name.removeprefix("/queue/"): queue.figures for name, queue in self.queues.items()}
        return {"name": self.name, "connections": sorted(self.clients), "queues": queues}


class Client:
    """The connection of one client."""

    def __init__(self, broker: QueueServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.broker, self.reader, self.writer = broker, reader, writer
        self.number = next(broker.numbers)
        self.subscribers: dict[str, Subscriber] = {}

    async def run(self) -> None:
        try:
            while self.handle(*await self.frame()):
                await self.writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        self.broker.clients.pop(self.number, None)
        for number in [*self.subscribers]:
            self.unsubscribe(number)
        self.writer.close()

    def send(self, command: str, headers: dict[str, str], body: bytes = b"") -> None:
        lines = [command, *(f"{name}:{value}" for name, value in headers.items()), f"content-length:{len(body)}"]
        self.writer.write("\n".join([*lines, "", ""]).encode() + body + END)

    async def frame(self) -> tuple[str, dict[str, str], bytes]:
        command = b"\n"
        while command == b"\n":  # a heart-beat, or the end of the last frame
            command = await self.reader.readuntil(b"\n")
        headers: dict[str, str] = {}
        while line := (await self.reader.readuntil(b"\n")).decode().strip("\r\n"):
            name, _, value = line.partition(":")
            headers.setdefault(name, value)
        length = headers.get("content-length")
        body = await (self.reader.readuntil(END) if length is None else self.reader.readexactly(int(length) + 1))
        return command.decode().strip(), headers, body[:-1]

    def handle(self, command: str, headers: dict[str, str], body: bytes) -> bool:
        """Handle a frame; return whether the connection stays open."""
        if command in ("CONNECT", "STOMP"):
            if (headers.get("login"), headers.get("passcode")) != self.broker.login:
                self.send("ERROR", {"message": "User name or password is invalid"})
                return False
            self.broker.clients[self.number] = self
            self.send("CONNECTED", {"version": "1.2", "server": "made-up", "heart-beat": "0,0"})
            return True
        match command if self.number in self.broker.clients else "a frame before the login":
            case "SEND":
                queue = self.broker.queues[headers["destination"]]
                queue.enqueued += 1
                queue.waiting.append(Message(next(self.broker.numbers), headers, body, time.time_ns() // 1_000_000))
                queue.deliver()
            case "SUBSCRIBE":
                queue = self.broker.queues[headers["destination"]]
                taker = Subscriber(self, headers["id"], queue, int(headers.get("activemq.prefetchSize", "100")))
                self.subscribers[taker.number] = taker
                queue.subscribers.append(taker)
                queue.deliver()
            case "UNSUBSCRIBE":
                self.unsubscribe(headers["id"])
            case "ACK" | "NACK":
                self.settle(headers["id"], taken=command == "ACK")
            case "DISCONNECT":
                pass
            case unknown:
                self.send("ERROR", {"message": f"{unknown} is not supported"})
                return False
        if "receipt" in headers:
            self.send("RECEIPT", {"receipt-id": headers["receipt"]})
        return command != "DISCONNECT"

    def unsubscribe(self, number: str) -> None:
        taker = self.subscribers.pop(number)
        taker.queue.subscribers.remove(taker)
        for message in reversed(taker.unacked.values()):
            taker.queue.give_back(message)
        taker.queue.deliver()

    def settle(self, ack: str, *, taken: bool) -> None:
        taker = self.subscribers[ack.partition("-")[0]]
        message = taker.unacked.pop(ack)
        taker.queue.dequeued += taken
        if not taken:
            taker.queue.give_back(message)
        taker.queue.deliver()


async def manage(broker: QueueServer, login: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one HTTP request."""
    try:
        request, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        permitted = f"Authorization: Basic {base64.b64encode(login.encode()).decode()}" in lines
        body = json.dumps(broker.answer(*request.split(" ")[:2]) if permitted else None).encode()
        head = f"HTTP/1.1 {200 if permitted else 401} .\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):  # such as a check whether this port listens
        pass
    writer.close()


async def main(configuration_file: str, secrets_file: str, management_file: str) -> None:
    configuration, management = (json.loads(Path(name).read_text()) for name in (configuration_file, management_file))
    secrets = dict(line.partition("=")[::2] for line in Path(secrets_file).read_text().splitlines())
    broker = QueueServer(
        configuration["name"], (secrets["brokerbench.client.username"], secrets["brokerbench.client.password"])
    )
    await asyncio.start_server(
        lambda reader, writer: manage(broker, management["login"], reader, writer),
        management["host"], management["port"],
    )  # fmt: skip
    await asyncio.start_server(
        lambda reader, writer: Client(broker, reader, writer).run(), configuration["host"], configuration["port"]
    )
    print(f"listens on {configuration['host']}:{configuration['port']}", flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
