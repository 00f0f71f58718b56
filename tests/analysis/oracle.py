"""What became of a set of events, told by plain Python and in the most obvious way? The oracle of the Spark jobs."""

from collections import Counter, defaultdict

from records.results import ACCOUNTING
from tests.analysis.rows import Row

Key = tuple[str, str]  # destination, subscription
GOODNESS = ["failed", "unconfirmed", "in_doubt", "acked"]
COUNTS = (*ACCOUNTING.names[2:], "redelivered", "foreign", "missing_unconfirmed")


def accounting(
    sends: list[Row], receipts: list[Row], subscriptions: list[Row], leftovers: list[Row]
) -> dict[Key, dict[str, int]]:
    """Counts by (destination, subscription)."""
    counts: dict[Key, Counter[str]] = defaultdict(Counter)
    attempts: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for send in sends:
        attempts[send["producer"], send["seq"]].append(send)
    copies: dict[tuple[int, int, str], list[Row]] = defaultdict(list)
    for receipt in receipts:
        key = receipt["destination"], receipt["subscription"]
        if receipt["integrity"] == "foreign":
            counts[key]["foreign"] += 1
        elif receipt["integrity"] == "unreadable":
            counts[key]["corrupted"] += 1
        else:
            copies[receipt["producer"], receipt["seq"], receipt["subscription"]].append(receipt)
    for (producer, seq, _), of_message in copies.items():
        _count_copies(counts, of_message, known=(producer, seq) in attempts)
    _count_order(counts, copies)
    for message, of_message in attempts.items():
        for subscription in _expecting(of_message, subscriptions):
            key = of_message[0]["destination"], subscription
            _count_end(counts[key], of_message, subscription, (*message, subscription) in copies, leftovers)
    return {key: {name: counted[name] for name in COUNTS} for key, counted in counts.items()}


def _count_copies(counts: dict[Key, Counter[str]], copies: list[Row], *, known: bool) -> None:
    copies.sort(key=lambda copy: (copy["received_ns"], copy["attempt"], copy["consumer"]))
    for number, copy in enumerate(copies):
        count = counts[copy["destination"], copy["subscription"]]
        count["received"] += number == 0
        count["redelivered"] += copy["redelivered"]
        count["corrupted"] += copy["integrity"] == "corrupted"
        count["unexpected"] += not known
        if number > 0 and not copy["redelivered"]:
            count["duplicated"] += 1
            count["duplicated_by_resend"] += copy["attempt"] != copies[0]["attempt"]


def _count_order(counts: dict[Key, Counter[str]], copies: dict[tuple[int, int, str], list[Row]]) -> None:
    firsts = [of_message[0] for of_message in copies.values()]
    for one in firsts:
        stream = ("consumer", "subscription", "destination", "producer")
        earlier = [
            other["seq"]
            for other in firsts
            if all(other[name] == one[name] for name in stream) and other["received_ns"] < one["received_ns"]
        ]
        counts[one["destination"], one["subscription"]]["reordered"] += bool(earlier) and one["seq"] < max(earlier)


def _expecting(attempts: list[Row], subscriptions: list[Row]) -> set[str]:
    first = min(attempts, key=lambda send: send["attempt"])
    if first["destination"].startswith("queue://"):
        return {first["destination"].removeprefix("queue://")}
    began = {
        one["subscription"]
        for one in subscriptions
        if one["destination"] == first["destination"] and one["began_ns"] <= first["sent_ns"]
    }
    return began or {""}


def _count_end(
    count: Counter[str], attempts: list[Row], subscription: str, received: bool, leftovers: list[Row]
) -> None:
    outcome = max((send["outcome"] for send in attempts), key=GOODNESS.index)
    message = attempts[0]["producer"], attempts[0]["seq"]
    found = [left["dead_letter"] for left in leftovers if (left["producer"], left["seq"]) == message]
    count["sent"] += 1
    count[outcome] += 1
    if subscription == "":
        return
    if outcome == "acked" and not received:
        count["lost" if not found else "dead_lettered" if all(found) else "stranded"] += 1
    count["recovered"] += outcome == "in_doubt" and received
    count["missing_unconfirmed"] += outcome == "unconfirmed" and not received and not found
