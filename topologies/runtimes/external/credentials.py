"""Finds the users and passwords for external brokers, in the environment or in a private file.

Both use the same names; the file has one ``NAME=value`` per line.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from records.errors import UserError
from topologies.model.endpoints import Credentials
from topologies.runtimes.private import exposure

USERNAME, PASSWORD = "BROKERBENCH_USERNAME", "BROKERBENCH_PASSWORD"
MANAGEMENT_USERNAME, MANAGEMENT_PASSWORD = "BROKERBENCH_MANAGEMENT_USERNAME", "BROKERBENCH_MANAGEMENT_PASSWORD"
NAMES = (USERNAME, PASSWORD, MANAGEMENT_USERNAME, MANAGEMENT_PASSWORD)


class CredentialsUnusable(UserError):
    """Names the file or the variable, the rule and the next step; never a password or the brokers file."""


@dataclass(frozen=True)
class ExternalCredentials:
    """Users and passwords. ``management``: the clients' by default."""

    client: Credentials
    management: Credentials

    def as_file(self) -> str:
        """Return the text of a file that `find` can read."""
        values = (self.client.username, self.client.password, self.management.username, self.management.password)
        return "".join(f"{name}={value}\n" for name, value in zip(NAMES, values, strict=True))


def find(file: Path | None, environment: Mapping[str, str]) -> ExternalCredentials:
    """Read ``file`` if given, otherwise the environment. Raises CredentialsUnusable."""
    values = environment if file is None else _read(file)
    place = "in the environment" if file is None else f"in {file}"
    missing = [name for name in (USERNAME, PASSWORD) if name not in values]
    if missing:
        raise CredentialsUnusable(
            f"credentials of the brokers: no {' and no '.join(missing)} {place}; set both there, or name another file "
            "of mode 600 with both as credentials_file in the brokers file"
        )
    client = Credentials(values[USERNAME], values[PASSWORD])
    management = Credentials(
        values.get(MANAGEMENT_USERNAME, client.username), values.get(MANAGEMENT_PASSWORD, client.password)
    )
    return ExternalCredentials(client, management)


def _read(file: Path) -> dict[str, str]:
    """Read the file.

    The owner and mode are checked on the opened file, so that it cannot be replaced between check and read.
    """
    try:
        with file.open(encoding="utf-8") as opened:
            if problem := exposure(os.fstat(opened.fileno()), file):
                raise CredentialsUnusable(f"credentials_file {file}: {problem}")
            lines = opened.read().splitlines()
    except OSError as error:
        raise CredentialsUnusable(
            f"credentials_file {file}: cannot be read ({error.strerror}); name a file with {USERNAME}"
        ) from None
    except UnicodeDecodeError:
        raise CredentialsUnusable(
            f"credentials_file {file}: is not UTF-8 text; write lines such as {USERNAME}=NAME"
        ) from None
    return dict(_pair(file, number, line) for number, line in enumerate(lines, start=1) if _has_setting(line))


def _has_setting(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _pair(file: Path, number: int, line: str) -> tuple[str, str]:
    """Parse a line. Errors do not repeat the line, because it may contain a password."""
    name, equals, value = line.partition("=")
    if not equals or name.strip() not in NAMES:
        raise CredentialsUnusable(
            f"credentials_file {file}, line {number}: write NAME=value, with a NAME of {', '.join(NAMES)}"
        )
    return name.strip(), value
