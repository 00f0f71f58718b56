"""Says how consumers shared the messages of a subscription, if they did so unevenly."""

from records.clients import Consumers, Division
from reports.numbers import joined

MOST_SENTENCES, MOST_BROKERS = 2, 4
UNEVEN = 1.5
"""The busiest consumer beside the mean, from which on consumers at several brokers share unevenly."""
QUEUE = "queue://"


def shares_sentences(consumers: Consumers, *, also_even: bool = False) -> str:
    """A sentence each for the most uneven subscriptions; '' if each consumer has its own.

    ``also_even``: those that consumers share evenly count too.
    """
    divisions = [
        division
        for division in consumers["subscriptions"]
        if _is_uneven(division) or (also_even and division["messages"])
    ]
    divisions.sort(key=lambda division: -(division["max_to_mean"] or 0.0))
    return " ".join(map(_sentence, divisions[:MOST_SENTENCES]))


def _is_uneven(found: Division) -> bool:
    """Not where there were fewer messages than consumers: some then get nothing."""
    if found["max_to_mean"] is None or found["messages"] < found["consumers"]:
        return False
    return bool(found["idle"]) or (len(found["brokers"]) > 1 and found["max_to_mean"] >= UNEVEN)


def _sentence(found: Division) -> str:
    """``Of queue://orders the consumers at a got 30 of 30 messages, those at b 0; 2 of 3 consumers got none.``"""
    name = subscription_name(found["destination"], found["subscription"])
    return f"Of {name} the consumers at {_by_broker(found)}; {_by_consumer(found)}."


def subscription_name(destination: str, subscription: str) -> str:
    """A queue's name is enough."""
    return destination if destination.startswith(QUEUE) else f"{destination} ({subscription})"


def _by_broker(found: Division) -> str:
    """The broker with the most messages first; of many brokers only the first and the last."""
    (busiest, most), *others = sorted(found["brokers"].items(), key=lambda each: (-each[1], each[0]))
    told = f"{busiest} got {most:,} of {found['messages']:,} messages"
    if len(others) >= MOST_BROKERS:
        told, others = f"{told}, the most of {len(found['brokers'])} brokers", others[-1:]
    rest = [f"those at {broker} {messages:,}" for broker, messages in others]
    return f"{told}, {joined(rest)}" if rest else told


def _by_consumer(found: Division) -> str:
    if found["idle"]:
        return f"{found['idle']:,} of {found['consumers']:,} consumers got none"
    return f"each of {found['consumers']:,} consumers got {found['least']:,} to {found['most']:,}"
