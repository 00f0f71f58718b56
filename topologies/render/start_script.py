"""Writes the script that starts a broker from a rendered folder: passwords go into memory, then the broker starts.

The environment passes the passwords to the script. The script clears them before it replaces itself with the broker.
Thus they are neither in the broker's environment nor among its arguments.
"""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from topologies.jvm.launch import KEPT_TO_ITSELF
from topologies.model import site as names
from topologies.model.launch import ProductImage
from topologies.model.site import SECRETS_FOLDER

INSIDE = PurePosixPath("/brokerbench")
CONF, STORE, PRIVATE = (INSIDE / name for name in ("conf", "store", "private"))
START, PASSWORDS = "start.sh", "passwords.env"
SECRETS_SCRIPT = "secrets.sh"
"""For a broker with templates of secrets: writes the filled templates, as a runtime would."""
HEAD = """\
#!/bin/sh
# The broker reads its passwords from a file in memory; it neither keeps them in its environment
# nor among its arguments.
set -eu
umask 077
"""
_PLACEHOLDER = re.compile(r"\$\{([a-z.]+)\}")


def with_secrets_script(files: Mapping[str, str]) -> dict[str, str]:
    """Replace the secret templates among a broker's files, if any, with one script. Pure."""
    templates = {name: text for name, text in files.items() if name.startswith(f"{SECRETS_FOLDER}/")}
    plain_files = {name: text for name, text in files.items() if name not in templates}
    if not templates:
        return plain_files
    written = "".join(
        f"cat >{PRIVATE / PurePosixPath(name).name} <<END\n{_by_environment(text)}END\n"
        for name, text in templates.items()
    )
    return plain_files | {SECRETS_SCRIPT: f"# Read by {START}.\n{written}"}


def variable(key: str) -> str:
    """Return the name of an environment variable for a key such as ``brokerbench.client.password``."""
    return key.replace(".", "_").upper()


def _by_environment(template: str) -> str:
    """Return a shell here-document: the shell does not expand the value of a variable again."""
    return _PLACEHOLDER.sub(lambda match: f"${{{variable(match[1])}}}", template)


def java(*options: str) -> str:
    unset = " ".join(map(variable, names.SECRET_KEYS))
    jvm_options = ("-Xms${BROKER_MEMORY_MB}m", "-Xmx${BROKER_MEMORY_MB}m", *KEPT_TO_ITSELF, *options)
    return f"unset {unset}\nexec java \\\n" + "".join(f'    "{option}" \\\n' for option in jvm_options)


def needed(key: str) -> str:
    return f"${{{variable(key)}:?not set in {PASSWORDS}}}"


def home_of(image: ProductImage) -> str:
    """Return the distribution's folder in the image, as a shell expression."""
    return f"${{{image.home_variable}:-{image.home}}}"
