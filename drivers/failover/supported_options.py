"""Rejects by name the options of a failover URI that the clients of a protocol cannot honor.

Each protocol declares its options in a `SupportedOptions`, in its row of `drivers.protocols`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass
from typing import Any
from urllib.parse import quote_plus

from drivers.contract import DriverError
from drivers.failover.core_options import REFUSED
from drivers.failover.uri import OPENWIRE, OPTION_FIELDS, FailoverUri, written


@dataclass(frozen=True)
class SupportedOptions:
    """The options that the clients of one protocol honor.

    Failover options are declared at the fields of `FailoverOptions`. ``core_problems``: returns what is wrong with a
    URI for Core's own client; None if a protocol takes no Core options. ``read_server_uri`` reads the URI of one broker
    with its ``nested.`` options, and raises ValueError for an unknown one; None if a library does that.
    """

    protocol: str
    core_problems: Callable[[FailoverUri], Iterable[str]] | None = None
    read_server_uri: Callable[[str], object] | None = None

    def problems(self, uri: FailoverUri) -> tuple[str, ...]:
        """Return a sentence for each option that this protocol cannot fulfill; empty if there are none.

        Only options that the user wrote count, and only if they request the behavior: ``trackMessages=false`` is always
        fine.
        """
        core = self.core_problems(uri) if self.core_problems else _core_only(uri, self.protocol)
        return (*self._openwire_only(uri), *core, *self._unlike(uri), *self._nested(uri))

    def refuse_unusable(self, uri: FailoverUri, brokers: Mapping[str, str]) -> None:
        """Raise DriverError for a URI that this protocol or this topology cannot honor."""
        problems = list(self.problems(uri))
        known_addresses = ", ".join(sorted(brokers)) or "none"
        for server in (*uri.servers, *uri.options.priority_uris):
            if server.address not in brokers:
                problems.append(
                    f"failover URI {uri}: {server.address} is not a broker of this run; its brokers are "
                    f"{known_addresses}"
                )
        if problems:
            raise DriverError("; ".join(problems))

    def _openwire_only(self, uri: FailoverUri) -> Iterator[str]:
        for name, own in self._not_honored(uri):
            value = getattr(uri.options, own.name)
            if own.metadata["by"] == OPENWIRE and _asks(value, own.default):
                yield (
                    f"failover option {name}={written(value)} is not supported by {self.protocol.upper()}: only "
                    "OpenWire clients can honor it; remove it or use OpenWire"
                )

    def _unlike(self, uri: FailoverUri) -> Iterator[str]:
        for name, own in sorted(self._not_honored(uri)):
            if own.metadata["by"] != OPENWIRE:
                yield (
                    f"failover option {name} is not supported by {self.protocol.upper()}: its client has nothing"
                    " like it; remove it"
                )

    def _not_honored(self, uri: FailoverUri) -> Iterator[tuple[str, Field[Any]]]:
        for name, own in OPTION_FIELDS.items():
            if name in uri.explicit and self.protocol not in own.metadata["by"]:
                yield name, own

    def _nested(self, uri: FailoverUri) -> Iterator[str]:
        if self.read_server_uri is None:
            return
        for name, value in uri.nested:
            server = f"{self.protocol}://broker:1"
            try:
                self.read_server_uri(f"{server}?{quote_plus(name)}={quote_plus(value)}")
            except ValueError as error:
                yield f"failover option nested.{name}={value}: {str(error).partition(': ')[2]}"


def _core_only(uri: FailoverUri, protocol: str) -> tuple[str, ...]:
    return tuple(
        f"option {name} is not supported by {protocol.upper()}: it is Core's own; remove it"
        + ("" if name in REFUSED else ", or use core")
        for name, _ in uri.core
    )


def _asks(value: Any, default: Any) -> bool:
    return value if isinstance(value, bool) else bool(value != default)
