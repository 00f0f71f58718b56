"""Computes message outcomes in plain Python in the most obvious way: the reference for the Spark jobs."""

from collections import Counter, defaultdict

from records.figures.buckets import bucket_of
from records.tables.results import ACCOUNTING
from tests.analysis.rows import Row

Key = tuple[str, str]  # destination, subscription
GOODNESS = ["failed", "unconfirmed", "in_doubt", "acked"]
BEYOND = (
    *(
        "repeated",
        "foreign",
        "unknown_attempts",
        "unaccounted",
        "missed_away",
        "missing_unconfirmed",
        "left_unconfirmed",
        "refused_yet_received",
    ),
    *("past_ttl", "past_ttl_unconfirmed", "expired_yet_received", "unselected_yet_received"),  # none here
    *("failed_not_received", "in_doubt_not_received", "unowed_yet_received"),
)
COUNTS = (*ACCOUNTING.names[2:], "redelivered", *BEYOND)
GRACE_NS = 1_000_000_000


def accounting(
    sends: list[Row],
    receipts: list[Row],
    subscriptions: list[Row],
    leftovers: list[Row],
    connections: list[Row] | None = None,
    *,
    searched: bool = True,
) -> dict[Key, dict[str, int]]:
    """Return counts by (destination, subscription). ``searched``: all queues were searched for messages."""
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
    for (producer, seq, subscription), of_message in copies.items():
        known = {send["attempt"] for send in attempts.get((producer, seq), ())}
        _count_copies(counts, of_message, known)
        owed_to = _expecting(attempts[producer, seq], subscriptions) if (producer, seq) in attempts else set()
        key = of_message[0]["destination"], subscription
        counts[key]["unowed_yet_received"] += subscription not in owed_to
    _count_order(counts, copies)
    for message, of_message in attempts.items():
        for subscription in _expecting(of_message, subscriptions):
            key = of_message[0]["destination"], subscription
            received = (*message, subscription) in copies
            away = _is_away(of_message, subscription, subscriptions, connections or [])
            _count_end(counts[key], of_message, subscription, received, leftovers, away=away, searched=searched)
    return {key: {name: counted[name] for name in COUNTS} for key, counted in counts.items()}


def latency_counts(sends: list[Row], receipts: list[Row]) -> tuple[Counter[int], Counter[int]]:
    """Return durations from due to received by bucket, as measured and without the generator's own delay."""
    whole, less_own = Counter[int](), Counter[int]()
    attempts: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for send in sends:
        attempts[send["producer"], send["seq"]].append(send)
    copies: dict[tuple[int, int, str], list[Row]] = defaultdict(list)
    for receipt in receipts:
        copies[receipt["producer"], receipt["seq"], receipt["subscription"]].append(receipt)
    for (producer, seq, _), of_message in copies.items():
        due_ns = min(send["due_ns"] for send in attempts[producer, seq])
        sent = min(attempts[producer, seq], key=lambda send: send["attempt"])
        received_ns = min(copy["received_ns"] for copy in of_message)
        whole[bucket_of(received_ns - due_ns)] += 1
        less_own[bucket_of(received_ns - due_ns - max(0, sent["sent_ns"] - sent["ready_ns"]))] += 1
    return whole, less_own


def _count_copies(counts: dict[Key, Counter[str]], copies: list[Row], known: set[int]) -> None:
    """``known``: the recorded attempts of the message, if any."""
    copies.sort(key=lambda copy: (copy["received_ns"], copy["attempt"], copy["consumer"]))
    certain = [copy for copy in copies if not known or copy["attempt"] in known]
    for number, copy in enumerate(copies):
        is_known = any(copy is other for other in certain)
        count = counts[copy["destination"], copy["subscription"]]
        count["received"] += number == 0
        count["redelivered"] += copy["redelivered"]
        count["repeated"] += number > 0 and copy["redelivered"] and is_known
        count["corrupted"] += copy["integrity"] == "corrupted"
        count["unexpected"] += not known
        count["unknown_attempts"] += not is_known
        if is_known and copy is not certain[0] and not copy["redelivered"]:
            count["duplicated"] += 1
            count["duplicated_by_resend"] += copy["attempt"] != certain[0]["attempt"]


def _count_order(counts: dict[Key, Counter[str]], copies: dict[tuple[int, int, str], list[Row]]) -> None:
    firsts = [of_message[0] for of_message in copies.values()]
    for copy in firsts:
        stream = ("consumer", "subscription", "destination", "producer")
        earlier = [
            rival["seq"]
            for rival in firsts
            if all(rival[name] == copy[name] for name in stream) and rival["received_ns"] < copy["received_ns"]
        ]
        counts[copy["destination"], copy["subscription"]]["reordered"] += bool(earlier) and copy["seq"] < max(earlier)


def _expecting(attempts: list[Row], subscriptions: list[Row]) -> set[str]:
    first_attempt = min(attempts, key=lambda send: send["attempt"])
    if first_attempt["destination"].startswith("queue://"):
        return {first_attempt["destination"].removeprefix("queue://")}
    began = {
        row["subscription"]
        for row in subscriptions
        if row["destination"] == first_attempt["destination"] and row["began_ns"] <= first_attempt["sent_ns"]
    }
    return began or {""}


def _is_away(attempts: list[Row], subscription: str, subscriptions: list[Row], connections: list[Row]) -> bool:
    """Return whether a non-durable subscription's consumer had lost its connection when the message was sent."""
    sent_ns = min(attempts, key=lambda send: send["attempt"])["sent_ns"]
    consumers = {
        row["consumer"] for row in subscriptions if row["subscription"] == subscription and row["kind"] == "topic"
    }
    for consumer in consumers:
        own = sorted((row for row in connections if row["client"] == consumer), key=lambda row: row["at_ns"])
        for number, row in enumerate(own):
            back_ns = next((later["at_ns"] for later in own[number + 1 :]), 2**62)
            if row["event"] == "lost" and row["at_ns"] - GRACE_NS <= sent_ns <= back_ns + GRACE_NS:
                return True
    return False


def _count_end(
    count: Counter[str],
    attempts: list[Row],
    subscription: str,
    received: bool,
    leftovers: list[Row],
    *,
    away: bool,
    searched: bool,
) -> None:
    outcome = max((send["outcome"] for send in attempts), key=GOODNESS.index)
    message = attempts[0]["producer"], attempts[0]["seq"]
    in_dead_letters = [row["dead_letter"] for row in leftovers if (row["producer"], row["seq"]) == message]
    count["sent"] += 1
    count[outcome] += 1
    if subscription == "":
        return
    if outcome in ("acked", "unconfirmed") and not received and not in_dead_letters and (away or not searched):
        count["missed_away" if away else "unaccounted"] += 1
        return
    if outcome == "acked" and not received:
        count["lost" if not in_dead_letters else "dead_lettered" if all(in_dead_letters) else "stranded"] += 1
    count["refused_yet_received"] += outcome == "failed" and received
    count["recovered"] += outcome == "in_doubt" and received
    count["failed_not_received"] += outcome == "failed" and not received
    count["in_doubt_not_received"] += outcome == "in_doubt" and not received
    count["missing_unconfirmed"] += outcome == "unconfirmed" and not received and not in_dead_letters
    count["left_unconfirmed"] += outcome == "unconfirmed" and not received and bool(in_dead_letters)
