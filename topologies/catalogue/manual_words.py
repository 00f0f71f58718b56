"""Finds the name that a word of the brokers' manuals has here, if no field has that name.

Some words stand for several fields, and the model expresses some in another way. Some belong to another product: then
the advice names that product and the replacement. This module has the advice that is the same for every product.
"""

from collections.abc import Mapping
from difflib import get_close_matches

from topologies.catalogue.yaml_words import ANYWHERE, INDEX
from topologies.model.spelling import plainly
from topologies.products import PRODUCTS

ALMOST = 0.88  # a letter of ten is another; of short words every letter counts
HOPS_OF_LINKS = ("networkttl", "messagettl", "consumerttl")
"""Two are fields of every link, which those of some products do not let anybody choose."""
CREDENTIALS = "brokers get the user and the passwords of the run; leave it out"
PLACES = "a run chooses where brokers listen (--base-port, --bind-host), or a --brokers-file says so; leave it out"
Words = dict[str, str]
EVERYWHERE: Words = {
    "username": CREDENTIALS,
    "user": CREDENTIALS,
    "password": CREDENTIALS,
    "remoteusername": CREDENTIALS,
    "remotepassword": CREDENTIALS,
    "datadirectory": "a run keeps its stores where it is told to; leave it out",
    "host": PLACES,
    "port": PLACES,
    "uri": PLACES,
}
OF_LINKS: Words = {
    "from": "write opened_by",
    "source": "write opened_by",
    "target": "write to",
    "bidirectional": "write duplex: true",
}
OF_BROKERS: Words = {
    "brokername": "write name",
    "master": "write standby_of on the broker that waits",
    "slave": "write standby_of",
    "backup": "write standby_of",
    "backupof": "write standby_of",
}
COMMON: Mapping[str, Words] = {ANYWHERE: EVERYWHERE, "links": OF_LINKS, "brokers": OF_BROKERS}
INSTEAD: Mapping[str, Mapping[str, Words]] = {
    name: {section: words | dict(product.manual_words.get(section, {})) for section, words in COMMON.items()}
    for name, product in PRODUCTS.items()
}
"""Product to a section, whose own entries it is told of alone, or `ANYWHERE`, to a word, without its hyphens and
capitals, to the next step."""


def instead(product: str, word: str, path: str) -> str:
    """The replacement at ``path`` for a word, or for a nearly equal one; '' if the manuals do not have it.

    `ANYWHERE`: as in an entry of any section.
    """
    of = INSTEAD[product]
    sections = ("brokers", "links") if path == ANYWHERE else (INDEX.sub("", path),)
    words = {word: told for section in (ANYWHERE, *sections) for word, told in of.get(section, {}).items()}
    close = get_close_matches(plainly(word), list(words), n=1, cutoff=ALMOST)
    return words[close[0]] if close else ""
