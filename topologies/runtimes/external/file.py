"""Reads the addresses of external brokers from the file of ``--brokers-file``.

    brokers:
      broker-1:                                      # a broker of the topology
        stomp: stomp+ssl://b-1.example.com:61614     # one line per protocol
        management: https://b-1.example.com:8162/api/jolokia/    # optional
        name: localhost                              # the broker's own name, if it is not broker-1
    credentials_file: credentials.env                # optional: by default they come from the environment

Every error names the file, the line, the field and what to write instead. Passwords in the file are rejected.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from yaml.nodes import Node, ScalarNode

from records.errors import UserError
from topologies.catalogue.yaml_nodes import Document, text_of
from topologies.model.spelling import nearest
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid

SCHEMES: Mapping[str, tuple[str, ...]] = {
    "openwire": ("tcp", "ssl"),
    "core": ("tcp", "ssl"),
    "stomp": ("stomp", "stomp+ssl"),
    "amqp": ("amqp", "amqp+ssl", "amqps"),
    "mqtt": ("mqtt", "mqtt+ssl"),
}
"""URI schemes by protocol."""
MANAGEMENT, MANAGEMENT_SCHEMES, NAME = "management", ("http", "https"), "name"
BROKERS, CREDENTIALS_FILE = "brokers", "credentials_file"
MOST_LETTERS = 1_000
"""Longest value: Python cannot read a port of thousands of digits."""
SECRETS = ("password", "passcode", "username", "user", "credentials")


@dataclass(frozen=True)
class ExternalBroker:
    """An external broker. ``uris``: by protocol; ``management``: its Jolokia URL, '' if none is reachable.

    ``calls_itself``: the name in the broker's configuration; empty if it is the name in the topology.
    """

    name: str
    line: int
    uris: Mapping[str, str]
    management: str = ""
    calls_itself: str = ""


@dataclass(frozen=True)
class BrokersFile:
    path: Path
    brokers: Mapping[str, ExternalBroker]
    credentials_file: Path | None = None

    def check(self, topology: Topology, protocols: Iterable[str] = ()) -> None:
        """Check that it has exactly the topology's brokers, each with all ``protocols``. Raises UserError."""
        names = [broker.name for broker in topology.brokers]
        brokers_there = f"topology {topology.name!r} has {', '.join(names)}"
        for broker in self.brokers.values():
            if broker.name not in names:
                raise _invalid(self.path, broker.line, f"{BROKERS}.{broker.name}", f"no such broker: {brokers_there}")
        if missing := [name for name in names if name not in self.brokers]:
            raise UserError(
                f"{self.path}: {BROKERS}: {', '.join(missing)} missing; {brokers_there}: add the address of each"
            )
        for broker in self.brokers.values():
            for protocol in protocols:
                self._require(broker, protocol)
            if broker.calls_itself and topology.links:
                rule = "brokers of a network know each other by their own names; use these in the topology"
                raise _invalid(self.path, broker.line, f"{BROKERS}.{broker.name}.{NAME}", f"not in a network: {rule}")

    def _require(self, broker: ExternalBroker, protocol: str) -> None:
        if protocol not in broker.uris:
            problem = f"no {protocol} URI, which the clients need; add one, or choose another --protocol"
            protocols = ", ".join(broker.uris)
            raise _invalid(self.path, broker.line, f"{BROKERS}.{broker.name}", f"{problem} (it has: {protocols})")


def read(path: Path) -> BrokersFile:
    """Read a brokers file. Raises UserError."""
    try:
        document = Document(str(path), text_of(path))
        return _Reader(document).file(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); give the path of a YAML file") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text; give the path of a YAML file") from None
    except TopologyInvalid as error:
        raise UserError(str(error)) from None


@dataclass(frozen=True)
class _Reader:
    """Reads the nodes of a file. Raises TopologyInvalid, with line and field."""

    document: Document

    def file(self, path: Path) -> BrokersFile:
        fields = self._fields(self.document.root, "", (BROKERS, CREDENTIALS_FILE))
        if BROKERS not in fields:
            raise self.document.wrong(self.document.root, BROKERS, "missing; list the address of each broker below it")
        named = self.document.mapping(fields[BROKERS], BROKERS)
        if not named:
            raise self.document.wrong(fields[BROKERS], BROKERS, "empty; list the address of each broker below it")
        brokers = {name: self._broker(name, key, value) for name, (key, value) in named.items()}
        secrets = fields.get(CREDENTIALS_FILE)
        name = None if secrets is None else self._text(secrets, CREDENTIALS_FILE)
        return BrokersFile(path, brokers, None if name is None else path.parent / name)

    def _broker(self, name: str, key: Node, value: Node) -> ExternalBroker:
        where = f"{BROKERS}.{name}"
        fields = self._fields(value, where, (*SCHEMES, MANAGEMENT, NAME))
        management, own_name = fields.pop(MANAGEMENT, None), fields.pop(NAME, None)
        uris = {spoken: self._uri(uri, f"{where}.{spoken}", SCHEMES[spoken]) for spoken, uri in fields.items()}
        if not uris:
            raise self.document.wrong(key, where, f"no URI; write one for a protocol: {', '.join(SCHEMES)}")
        url = "" if management is None else self._url(management, f"{where}.{MANAGEMENT}")
        calls_itself = "" if own_name is None else self._text(own_name, f"{where}.{NAME}")
        return ExternalBroker(name, key.start_mark.line + 1, uris, url, calls_itself)

    def _fields(self, node: Node | None, where: str, allowed: tuple[str, ...]) -> dict[str, Node]:
        """Return values by name; names other than ``allowed`` are rejected."""
        fields = self.document.mapping(node, where)
        for name, (key, _) in fields.items():
            if name in SECRETS:
                rule = f"no credentials are allowed here; put them into the environment or the {CREDENTIALS_FILE}"
                raise self.document.wrong(key, f"{where}.{name}".strip("."), rule)
            if name not in allowed:
                hint = nearest(name, [*allowed]) or f"; known are {', '.join(allowed)}"
                raise self.document.wrong(key, where, f"unknown field {name!r}{hint}")
        return {name: value for name, (_, value) in fields.items()}

    def _uri(self, node: Node, where: str, schemes: tuple[str, ...]) -> str:
        text, rule = self._text(node, where), f"write {' or '.join(f'{scheme}://HOST:PORT' for scheme in schemes)}"
        try:
            parts = urlsplit(text)
            fits = parts.scheme in schemes and parts.hostname and parts.port and not parts.path.strip("/")
        except ValueError as error:
            raise self.document.wrong(node, where, f"{text!r} is not a URI ({error}); {rule}") from None
        self._require_no_login(parts, node, where, rule)
        if not fits:
            raise self.document.wrong(node, where, f"{text!r}; {rule}")
        return f"{parts.scheme}://{_address(parts)}" + (f"?{parts.query}" if parts.query else "")

    def _url(self, node: Node, where: str) -> str:
        text, rule = self._text(node, where), "write the address of its Jolokia, such as https://HOST:8162/api/jolokia/"
        try:
            parts = urlsplit(text)
            fits = parts.scheme in MANAGEMENT_SCHEMES and parts.hostname and parts.port != 0
        except ValueError as error:
            raise self.document.wrong(node, where, f"{text!r} is not a URL ({error}); {rule}") from None
        self._require_no_login(parts, node, where, rule)
        if not fits:
            raise self.document.wrong(node, where, f"{text!r}; {rule}")
        return text if text.endswith("/") else f"{text}/"

    def _require_no_login(self, parts: SplitResult, node: Node, where: str, rule: str) -> None:
        if parts.username is not None or parts.password is not None:
            problem = f"has a user name or password; {rule}, and the credentials elsewhere"
            raise self.document.wrong(node, where, problem)

    def _text(self, node: Node, where: str) -> str:
        if not isinstance(node, ScalarNode) or not node.value.strip():
            raise self.document.wrong(node, where, "write one value on one line")
        text = str(node.value.strip())
        if len(text) > MOST_LETTERS:
            problem = f"{text[:40]!r}… has {len(text):,} characters; write at most {MOST_LETTERS:,}"
            raise self.document.wrong(node, where, problem)
        return text


def _address(parts: SplitResult) -> str:
    """Normalize an address: host names are lowercase."""
    host = str(parts.hostname)
    return f"[{host}]:{parts.port}" if ":" in host else f"{host}:{parts.port}"


def _invalid(path: Path, line: int, where: str, problem: str) -> UserError:
    return UserError(f"{path}:{line}: {where}: {problem}")
