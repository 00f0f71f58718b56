"""What does a container of a rendered folder run? A script: the passwords into a file in memory, then the broker.

The passwords come by the environment, which the script empties before the broker takes its place: so they are neither
in the broker's environment nor among its arguments.
"""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from topologies.render import site as names
from topologies.render.artemis_files import SECRETS_FOLDER
from topologies.render.classic import LOG4J2_PROPERTIES
from topologies.render.log4j import LOG_CONFIG_PROPERTY
from topologies.runtimes import artemis_jvm
from topologies.runtimes.jvm import KEPT_TO_ITSELF, OPENED
from topologies.runtimes.kinds import KINDS

INSIDE = PurePosixPath("/brokerbench")
CONF, STORE, PRIVATE = (INSIDE / name for name in ("conf", "store", "private"))
DATA = {
    "classic": INSIDE / "data",
    # Made by upstream's image for the user as whom it runs: a volume that is mounted there is that user's too.
    "artemis": PurePosixPath("/var/lib/artemis-instance"),
}
"""Where a broker's volume is mounted, by flavour."""
START, PASSWORDS = "start.sh", "passwords.env"
SECRETS_SCRIPT = "secrets.sh"
"""Of an Artemis broker: writes what a runtime would fill its templates of secrets with."""

_HEAD = """\
#!/bin/sh
# The broker reads its passwords from a file in memory; it neither keeps them in its environment
# nor among its arguments.
set -eu
umask 077
"""
_PLACEHOLDER = re.compile(r"\$\{([a-z.]+)\}")


def start_script(flavour: str) -> str:
    return _classic() if flavour == "classic" else _artemis()


def with_secrets_script(files: Mapping[str, str]) -> dict[str, str]:
    """A broker's files with one script in place of its templates of secrets, if it has any. Pure."""
    templates = {name: text for name, text in files.items() if name.startswith(f"{SECRETS_FOLDER}/")}
    others = {name: text for name, text in files.items() if name not in templates}
    if not templates:
        return others
    written = "".join(
        f"cat >{PRIVATE / PurePosixPath(name).name} <<END\n{_by_environment(text)}END\n"
        for name, text in templates.items()
    )
    return others | {SECRETS_SCRIPT: f"# Read by {START}.\n{written}"}


def variable(key: str) -> str:
    """``brokerbench.client.password`` as an environment has it."""
    return key.replace(".", "_").upper()


def _by_environment(template: str) -> str:
    """A here-document of a shell: what it puts in place of a variable it does not read again."""
    return _PLACEHOLDER.sub(lambda found: f"${{{variable(found[1])}}}", template)


def _classic() -> str:
    secrets, home = PRIVATE / "brokers.properties", _home("classic")
    wanted = "\n".join(f"    printf '{key}=%s\\n' \"{_needed(key)}\"" for key in names.SECRET_KEYS)
    options = (
        *OPENED,
        f"-Dactivemq.classpath={CONF}",
        f"-Dactivemq.home={home}",
        f"-Dactivemq.base={home}",
        f"-Dactivemq.conf={CONF}",
        f"-D{names.DATA_PROPERTY}={DATA['classic']}",
        f"-D{names.STORE_PROPERTY}={STORE}",
        f"-D{LOG_CONFIG_PROPERTY}={CONF}/{LOG4J2_PROPERTIES}",
        f"-D{names.SECRETS_PROPERTY}={secrets}",
    )
    return f"{_HEAD}{{\n{wanted}\n}} >{secrets}\n" + _java(*options) + f'    -jar "{home}/bin/activemq.jar" start\n'


def _artemis() -> str:
    home = _home("artemis")
    wanted = "\n".join(f': "{_needed(key)}"' for key in names.SECRET_KEYS)
    options = artemis_jvm.settings(home, CONF, DATA["artemis"], STORE)
    last = " ".join(f'"{argument}"' for argument in artemis_jvm.started(home, CONF, PRIVATE))
    return (
        f"{_HEAD}{wanted}\n. {CONF / SECRETS_SCRIPT}\n"
        + _java(*options, f"-D{names.SECRETS_PROPERTY}={PRIVATE}")
        + f"    {last}\n"
    )


def _java(*options: str) -> str:
    unset = " ".join(map(variable, names.SECRET_KEYS))
    given = ("-Xms${BROKER_MEMORY_MB}m", "-Xmx${BROKER_MEMORY_MB}m", *KEPT_TO_ITSELF, *options)
    return f"unset {unset}\nexec java \\\n" + "".join(f'    "{option}" \\\n' for option in given)


def _needed(key: str) -> str:
    return f"${{{variable(key)}:?not set in {PASSWORDS}}}"


def _home(flavour: str) -> str:
    image = KINDS[flavour].image
    return f"${{{image.home_variable}:-{image.home}}}"
