"""Where do the brokers run that are not ours to start? The file of ``--brokers-file``, as values.

    brokers:
      broker-1:                                      # a broker of the topology
        stomp: stomp+ssl://b-1.example.com:61614     # one line a protocol
        management: https://b-1.example.com:8162/api/jolokia/    # may be left out
    credentials_file: credentials.env                # may be left out: then they come from the environment

Every error names the file, the line, the field and what to write instead. It holds no password, and refuses one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import yaml

from topologies.model import Topology

SCHEMES: Mapping[str, tuple[str, ...]] = {
    "openwire": ("tcp", "ssl"),
    "core": ("tcp", "ssl"),
    "stomp": ("stomp", "stomp+ssl"),
    "amqp": ("amqp", "amqp+ssl", "amqps"),
    "mqtt": ("mqtt", "mqtt+ssl"),
}
"""Protocol to what its URIs may begin with."""
MANAGEMENT, MANAGEMENT_SCHEMES = "management", ("http", "https")
BROKERS, CREDENTIALS_FILE = "brokers", "credentials_file"
SECRETS = ("password", "passcode", "username", "user", "credentials")


class BrokersFileInvalid(ValueError):
    """Names the file, the line, the field, what is wrong and what to write instead."""


@dataclass(frozen=True)
class ExternalBroker:
    """``uris`` by protocol; ``management``: its Jolokia, '' where it has none that can be reached."""

    name: str
    line: int
    uris: Mapping[str, str]
    management: str = ""


@dataclass(frozen=True)
class BrokersFile:
    path: Path
    brokers: Mapping[str, ExternalBroker]
    credentials_file: Path | None = None

    def check(self, topology: Topology, protocols: Iterable[str] = ()) -> None:
        """That it tells of exactly the topology's brokers, each with all ``protocols``. Raises BrokersFileInvalid."""
        names = [broker.name for broker in topology.brokers]
        has = f"topology {topology.name!r} has {', '.join(names)}"
        for broker in self.brokers.values():
            if broker.name not in names:
                raise _invalid(self.path, broker.line, f"{BROKERS}.{broker.name}", f"no such broker: {has}")
        if missing := [name for name in names if name not in self.brokers]:
            raise _invalid(self.path, None, BROKERS, f"where is {', '.join(missing)}? {has}: say where each one is")
        for broker in self.brokers.values():
            for protocol in protocols:
                self._require(broker, protocol)

    def _require(self, broker: ExternalBroker, protocol: str) -> None:
        if protocol not in broker.uris:
            told = f"no {protocol} URI, and the clients are to speak it; add one, or choose another --protocol"
            known = ", ".join(broker.uris)
            raise _invalid(self.path, broker.line, f"{BROKERS}.{broker.name}", f"{told} (there is: {known})")


def read(path: Path) -> BrokersFile:
    """What the file says. Raises BrokersFileInvalid."""
    try:
        text = path.read_text(encoding="utf-8")
        root = yaml.compose(text, yaml.SafeLoader)
    except OSError as error:
        raise _invalid(path, None, "", f"cannot be read ({error.strerror}): give the path of a YAML file") from None
    except UnicodeDecodeError:
        raise _invalid(path, None, "", "is no text in UTF-8: give the path of a YAML file") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise _invalid(path, line, "", f"is no YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise _invalid(path, None, "", f"is no YAML: {' '.join(str(error).split())}") from None
    return _Reader(path).file(root)


class _Field(NamedTuple):
    """One ``name: node`` of a mapping, and where the name stands."""

    line: int
    node: yaml.Node


class _Reader:
    """Goes through the nodes of one file, which know their lines."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def file(self, root: yaml.Node | None) -> BrokersFile:
        fields = self._mapping(root, "", f"write `{BROKERS}:` and below it each broker of the topology")
        self._only(fields, "", (BROKERS, CREDENTIALS_FILE))
        if BROKERS not in fields:
            raise _invalid(self._path, 1, BROKERS, "missing: write below it where each broker is")
        named = self._mapping(fields[BROKERS].node, BROKERS, "write each broker's name, and below it its URIs")
        if not named:
            raise self._error(fields[BROKERS].node, BROKERS, "empty: write below it where each broker is")
        brokers = {name: self._broker(name, field) for name, field in named.items()}
        secrets = fields.get(CREDENTIALS_FILE)
        name = None if secrets is None else self._text(secrets.node, CREDENTIALS_FILE)
        return BrokersFile(self._path, brokers, None if name is None else self._path.parent / name)

    def _broker(self, name: str, field: _Field) -> ExternalBroker:
        where = f"{BROKERS}.{name}"
        fields = self._mapping(field.node, where, "write below it its URIs, such as `stomp: stomp://HOST:PORT`")
        self._only(fields, where, (*SCHEMES, MANAGEMENT))
        management = fields.pop(MANAGEMENT, None)
        uris = {known: self._uri(uri.node, f"{where}.{known}", SCHEMES[known]) for known, uri in fields.items()}
        if not uris:
            raise _invalid(self._path, field.line, where, f"no URI: write one for a protocol, of {', '.join(SCHEMES)}")
        url = "" if management is None else self._url(management.node, f"{where}.{MANAGEMENT}")
        return ExternalBroker(name, field.line, uris, url)

    def _uri(self, node: yaml.Node, where: str, schemes: tuple[str, ...]) -> str:
        text, rule = self._text(node, where), f"write {' or '.join(f'{scheme}://HOST:PORT' for scheme in schemes)}"
        try:
            parts = urlsplit(text)
            fits = parts.scheme in schemes and parts.hostname and parts.port and not parts.path.strip("/")
        except ValueError as error:
            raise self._error(node, where, f"{text!r} is no URI ({error}); {rule}") from None
        if parts.username is not None or parts.password is not None:
            raise self._error(node, where, f"holds a user name or password; {rule}, and the credentials elsewhere")
        if not fits:
            raise self._error(node, where, f"{text!r}; {rule}")
        return text

    def _url(self, node: yaml.Node, where: str) -> str:
        text, rule = self._text(node, where), "write the address of its Jolokia, such as https://HOST:8162/api/jolokia/"
        parts = urlsplit(text)
        if parts.username is not None or parts.password is not None:
            raise self._error(node, where, f"holds a user name or password; {rule}, and the credentials elsewhere")
        if parts.scheme not in MANAGEMENT_SCHEMES or not parts.hostname:
            raise self._error(node, where, f"{text!r}; {rule}")
        return text if text.endswith("/") else f"{text}/"

    def _mapping(self, node: yaml.Node | None, where: str, rule: str) -> dict[str, _Field]:
        if not isinstance(node, yaml.MappingNode):
            raise self._error(node, where, f"is no mapping: {rule}")
        fields: dict[str, _Field] = {}
        for key, value in node.value:
            name = self._text(key, where or "a field's name")
            if name in fields:
                raise self._error(key, f"{where}.{name}".strip("."), "is there twice: keep one")
            fields[name] = _Field(key.start_mark.line + 1, value)
        return fields

    def _only(self, fields: Mapping[str, _Field], where: str, known: tuple[str, ...]) -> None:
        for name, field in fields.items():
            if name in known:
                continue
            told = f"not known; there is {', '.join(known)}"
            if name in SECRETS:
                told = f"no credentials in this file: put them into the environment, or into the {CREDENTIALS_FILE}"
            raise _invalid(self._path, field.line, f"{where}.{name}".strip("."), told)

    def _text(self, node: yaml.Node, where: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            raise self._error(node, where, "write one value on one line")
        return str(node.value.strip())

    def _error(self, node: yaml.Node | None, where: str, told: str) -> BrokersFileInvalid:
        return _invalid(self._path, node.start_mark.line + 1 if node else None, where, told)


def _invalid(path: Path, line: int | None, where: str, told: str) -> BrokersFileInvalid:
    place = [str(path), *([f"line {line}"] if line is not None else []), *([where] if where else [])]
    return BrokersFileInvalid(f"{', '.join(place)}: {told}")
