"""Finds the topology for a text such as ``mesh(brokers=5)`` or a file name; `entries` lists the catalogue.

Arguments are plain Python values. Nothing is ever evaluated.
"""

import ast
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from records.calls import before_missing_comma, parse_call
from topologies.catalogue.yaml_topology import hint_for_flavour, hint_for_place, is_file, read_topology
from topologies.catalogue.yaml_words import spellings
from topologies.model.broker import AnyBroker
from topologies.model.explicit_fields import mark_explicit_recursively
from topologies.model.spelling import nearest, plainly
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid
from topologies.products import ENTRIES

MEANT = {
    "networkttl": ("ttl", "message_ttl", "max_hops"),
    "messagettl": ("ttl", "max_hops"),
    "consumerttl": ("ttl", "max_hops"),
    "ttl": ("message_ttl", "max_hops"),
}
"""A manual's word, in lowercase, to the parameters that it may mean."""
OF_LINKS = {"conduit": "conduit_subscriptions", "ttl": "consumer_ttl"}
"""An entry's parameter to the link field that it sets, if the field's name differs."""
NEARLY_THE_SAME = 0.85
HOW = "write NAME or NAME(PARAMETER=VALUE, …), e.g. mesh or mesh(brokers=5)"
IN_BRACKETS = re.compile(r"=\s*[\[({]")
NOT_PYTHON = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)
"""The exceptions that Python raises for text that it cannot parse."""


@dataclass(frozen=True)
class Entry:
    """One line of ``brokerbench topologies``: the name (``mesh``), broker product, summary and picture."""

    name: str
    product: str
    summary: str
    picture: str


@dataclass(frozen=True)
class EntryCall:
    """``mesh(brokers=5)`` as ``EntryCall("mesh", {"brokers": 5})``."""

    name: str
    arguments: dict[str, object] = field(default_factory=dict)


def entries() -> tuple[Entry, ...]:
    """Return the catalogue's entries, in reading order."""
    return tuple(_entry(name, function) for name, function in ENTRIES.items())


def build(text: str) -> Topology:
    """Build the topology ``text`` names: ``mesh(brokers=5)`` or ``my-network.yaml``. Raises `TopologyInvalid`."""
    if is_file(text):
        return read_topology(Path(text.strip()))
    call = entry_call(text)
    function = _function(call)
    for name, value in call.arguments.items():
        _require_fitting(text, _parameter(text, call, name), value)
    try:
        topology = function(**call.arguments)
    except TopologyInvalid as error:
        raise TopologyInvalid(*(f"topology {text!r}: {problem}" for problem in error.problems)) from error
    for link in topology.links:  # the function has just created them, so no other topology shares them
        mark_explicit_recursively(link, {OF_LINKS.get(name, name) for name in call.arguments}, stop=AnyBroker)
    return topology


def arguments(text: str) -> dict[str, object]:
    """Return every parameter of an entry with its value in ``text``, including defaults."""
    call = entry_call(text)
    parameters = inspect.signature(_function(call)).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters} | call.arguments


def entry_call(text: str) -> EntryCall:
    """Parse a name with keyword arguments that are plain values. Raises `TopologyInvalid` for any other text."""
    try:
        call = parse_call(text)
    except ValueError as error:
        raise TopologyInvalid(f"topology {text!r}: {error}") from error
    if call is None or call.texts:
        raise _malformed(text)
    return EntryCall(call.name, {name: _value(text, name, value) for name, value in call.settings.items()})


def _value(text: str, name: str, written: str) -> object:
    try:
        return ast.literal_eval(written)
    except NOT_PYTHON as error:
        how = "write a number, True, False or a 'text'"
        if value := before_missing_comma(written):
            how = f"write a comma after {value}"
        elif written.isidentifier():
            word = written.capitalize()
            how = f"write {word if word in ('True', 'False') else repr(written)}"
        raise TopologyInvalid(f"topology {text!r}: {name} is not a plain value; {how}") from error


def _malformed(text: str) -> TopologyInvalid:
    name, _, arguments = text.partition("(")
    hint = "; or name a file, which ends in .yaml" if {"/", "."} & {*name} else ""
    if IN_BRACKETS.search(arguments):
        hint = "; put a value with commas or brackets in quotes, as in receivers(queues='a,b')"
    return TopologyInvalid(f"topology {text!r} cannot be read; {HOW}{hint}")


def _entry(name: str, function: Callable[..., Topology]) -> Entry:
    summary, _, picture = inspect.getdoc(function).partition("\n\n")  # type: ignore[union-attr]
    return Entry(name, function().product.name, summary, picture)


def _function(call: EntryCall) -> Callable[..., Topology]:
    function = ENTRIES.get(call.name.replace("_", "-"))
    if function is None:
        raise TopologyInvalid(f"no topology is called {call.name!r}{_nearest(call.name, ENTRIES)}")
    return function


def _parameter(text: str, call: EntryCall, name: str) -> inspect.Parameter:
    parameters = inspect.signature(_function(call)).parameters
    if name not in parameters:
        hint = _meant(call, name, list(parameters))
        raise TopologyInvalid(f"topology {text!r} has no parameter {name!r}{hint} (known: {_listed(parameters)})")
    return parameters[name]


def _meant(call: EntryCall, name: str, parameters: list[str]) -> str:
    """Return a hint for an unknown parameter: another spelling, an entry or YAML field with it, or a similar name."""
    same = [
        parameter
        for parameter in parameters
        if spellings(parameter) & spellings(name) or parameter in MEANT.get(plainly(name), ())
    ]
    if same:
        return f"; did you mean {same[0]!r}?"
    if near := nearest(name, parameters, NEARLY_THE_SAME):
        return near
    flavour = _function(call)().flavour
    if entries := [entry for entry, function in ENTRIES.items() if name in inspect.signature(function).parameters]:
        return f", which {_listed(entries)} {'has' if len(entries) == 1 else 'have'}"
    if advice := hint_for_place(name, flavour) or hint_for_flavour(name, flavour):
        return f"; in a YAML file of your own: {advice}"
    return nearest(name, parameters)


def _nearest(name: str, names: Iterable[str]) -> str:
    """Return ``; did you mean 'mesh'? (known: single, mesh)``."""
    return f"{nearest(name, list(names))} (known: {_listed(names)})"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _require_fitting(text: str, parameter: inspect.Parameter, value: object) -> None:
    """Require that a value has exactly the type of the default: True is not accepted as a number."""
    wanted = type(parameter.default)
    if type(value) is not wanted:
        kind = {bool: "True or False", int: "a whole number", float: "a number", str: "a 'text'"}[wanted]
        raise TopologyInvalid(f"topology {text!r}: {parameter.name}={value!r}, but it must be {kind}")
