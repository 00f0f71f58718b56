"""Writes the script that starts an Artemis broker of a rendered folder."""

from pathlib import PurePosixPath

from topologies.artemis.launch import IMAGE, settings, started
from topologies.render import site as names
from topologies.render.start_script import CONF, HEAD, PRIVATE, SECRETS_SCRIPT, STORE, home_of, java, needed

DATA = PurePosixPath("/var/lib/artemis-instance")
"""Made by upstream's image for the user as whom it runs: a volume that is mounted there is that user's too."""


def start_script() -> str:
    home = home_of(IMAGE)
    wanted = "\n".join(f': "{needed(key)}"' for key in names.SECRET_KEYS)
    options = settings(home, CONF, DATA, STORE)
    last = " ".join(f'"{argument}"' for argument in started(home, CONF, PRIVATE))
    return (
        f"{HEAD}{wanted}\n. {CONF / SECRETS_SCRIPT}\n"
        + java(*options, f"-D{names.SECRETS_PROPERTY}={PRIVATE}")
        + f"    {last}\n"
    )
