"""Checks what messages carry and what consumers select, before anything starts."""

from collections.abc import Iterable, Sequence

from drivers.protocols import Spoken
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.message_properties import MessageProperties
from records.selectors import BadSelectorError, parse
from scenarios.harness.options.reachability_check import common_destinations
from scenarios.harness.options.run_options import OptionError
from scenarios.options import Options

NOTHING = "FALSE"  # a selector that asks for no property is meant as it is
MOST_VALUES = 8  # of a property in one sentence
Producers = Sequence[type[ProducerUser]]


def require_messages_fit(producing: Producers, consuming: Sequence[type[ConsumerUser]], options: Options) -> None:
    """Raises OptionError for what no message can carry, or no consumer can select."""
    _require_sendable(producing, options)
    _require_alike(producing)
    for consumer in consuming:
        _require_selectable(consumer, [each for each in producing if common_destinations(each, consumer)], options)


def require_all_wanted(producing: Producers, consuming: Sequence[type[ConsumerUser]]) -> None:
    """A rate is held if all that is due arrives. Raises OptionError where that is not to be expected."""
    for user in producing:
        if user.time_to_live_s is not None:
            raise OptionError(
                f"{user.__name__}: time_to_live_s = {user.time_to_live_s:g} (--ttl): of messages that expire nobody "
                "can tell whether a rate is held; leave it out, or choose one --rate"
            )
    for taker in consuming:
        if any(taker.selectors()):
            raise OptionError(
                f"{taker.__name__}: selector = {taker.selector!r} (--selector): of messages that consumers leave out "
                "nobody can tell whether a rate is held; leave it out, or choose one --rate"
            )


def _require_sendable(producing: Producers, options: Options) -> None:
    protocol = Spoken.parse(options.protocol).of("producer")
    asked = (
        ("time_to_live_s", "--ttl", options.time_to_live_s),
        ("priority", "--message-priority", options.message_priority),
    )
    given = {name: option for name, option, value in asked if value is not None}
    for user in producing:
        try:
            properties = user.message_settings().properties
        except ValueError as error:
            option = next((each for name, each in given.items() if str(error).startswith(name)), "")
            raise OptionError(f"{user.__name__}: {error}{option and f' ({option})'}") from error
        for name, values in properties.cycles if protocol == "stomp" else ():
            if wrong := [value for value in values if not isinstance(value, str)]:
                raise OptionError(
                    f"{user.__name__}: property {name} = {wrong[0]!r}: STOMP carries text only; write "
                    f"{str(wrong[0])!r}, or choose another --protocol for the producers"
                )


def _require_alike(producing: Producers) -> None:
    """The analysis knows a message's class only by its destination."""
    first: dict[str, type[ProducerUser]] = {}
    for user in producing:
        for name in user.destination_names():
            other = first.setdefault(name, user)
            ours, theirs = user.message_settings(), other.message_settings()
            if (ours.properties, ours.time_to_live_s) != (theirs.properties, theirs.time_to_live_s):
                raise OptionError(
                    f"{other.__name__} and {user.__name__} send to {name} with different properties or times to live, "
                    "so nobody could tell which message should have come; give them the same, or two destinations"
                )


def _require_selectable(
    consumer: type[ConsumerUser], producing: Iterable[type[ProducerUser]], options: Options
) -> None:
    """Each selector parses, compares like with like, and matches a message that is sent to its destination."""
    sent = {each.message_settings().properties: None for each in producing}
    try:
        if not consumer.selectors():
            raise OptionError(f"{consumer.__name__}: selector is an empty list; write '' for every message")
        for selector in map(parse, filter(None, consumer.selectors())):
            matched = [any(selector.matched(properties)) for properties in (*sent, MessageProperties())]
            if sent and selector.properties and not any(matched[:-1]):
                raise BadSelectorError(f"selector {selector.text!r}: {_matches_none(sent)}")
    except BadSelectorError as error:
        raise OptionError(f"--{error}" if options.selector else f"{consumer.__name__}: {error}") from error


def _matches_none(sent: Iterable[MessageProperties]) -> str:
    """What the messages have instead, and what to do."""
    values: dict[str, dict[str, None]] = {}
    for name, cycle in (each for properties in sent for each in properties.cycles):
        values.setdefault(name, {}).update({repr(value): None for value in cycle})
    told = "; ".join(f"{name} is {_few([*cycle])}" for name, cycle in values.items())
    return (
        f"it matches no message of the run: {told or 'they have no properties'}; correct it, or give messages other "
        f"properties (--properties); write {NOTHING} to select nothing on purpose"
    )


def _few(values: Sequence[str]) -> str:
    more = f" or {len(values) - MOST_VALUES} more" if len(values) > MOST_VALUES else ""
    return ", ".join(values[:MOST_VALUES]) + more
