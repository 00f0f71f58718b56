"""What is said of users that failed, and may? How many they were, what they never sent, and the first one's error.

A class of users says that it may fail (`drivers.broker_user.BrokerUser.may_fail`); an error of any other ends the load.
"""

from collections.abc import Iterator, Mapping

from drivers.session import Tally


def done_without(tally: Tally, counts: Mapping[str, int]) -> Iterator[str]:
    """One sentence for each class of users that lost some. ``counts``: how many there were of each class."""
    for user_class, failed in sorted(tally.failed.items()):
        unsent = tally.unsent[user_class]
        never_sent = f"; {unsent:,} of their messages were never sent" if unsent else ""
        yield (
            f"{failed} of {counts[user_class]} users {user_class} failed, as they may, and the load went on without "
            f"them{never_sent}. The first error: {tally.first_errors[user_class]}"
        )


def nobody_sends(tally: Tally, producers: Mapping[str, int]) -> str:
    """Why there is nothing left to measure, where all producers have failed; '' while one has not."""
    failed = sum(tally.failed[user_class] for user_class in producers)
    if not failed or failed < sum(producers.values()):
        return ""
    first = min(tally.first_errors.keys() & producers.keys())
    return f"no producer is left, as all have failed; {first}: {tally.first_errors[first]}"
