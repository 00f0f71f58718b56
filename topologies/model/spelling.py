"""Finds the known name nearest to a misspelt one, and shortens what is too long to be shown in a sentence."""

import difflib
import re

SHORTEST = 4  # letters by which a longer name is known that begins so
LONGEST, SHOWN = 250, 40  # characters of one word in a sentence; of a longer one so many are shown
LONG_WORD = re.compile(rf"\S{{{LONGEST + 1},}}")
LONGEST_LINE, ENDS_SHOWN = 4_000, 1_500  # characters of one line; of a longer one so many from either end are shown
LONG_LINE = re.compile(rf"[^\n]{{{LONGEST_LINE + 1},}}")
UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def nearest(name: str, names: list[str], cutoff: float = 0.6) -> str:
    """``; did you mean 'message_ttl'?``, also for ``messageTTL``; else nothing.

    Capitals, hyphens and underscores do not count.
    """
    if len(name) > LONGEST:
        return ""
    by_letters = {plainly(known_name): known_name for known_name in names}
    begun = [letters for letters in by_letters if len(name) >= SHORTEST and letters.startswith(plainly(name))]
    close = begun[:1] or difflib.get_close_matches(plainly(name), list(by_letters), n=1, cutoff=cutoff)
    return f"; did you mean {by_letters[close[0]]!r}?" if close else ""


def plainly(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()


def shortened(sentence: str) -> str:
    """``sentence`` with its very long words and lines cut, and its control characters and lone surrogates written out.

    A line is long where the user wrote thousands of short words. Its ends stay: the option, the rule and the next step.
    """
    plain = UNPRINTABLE.sub(lambda match: repr(match[0])[1:-1], sentence)
    plain = LONG_WORD.sub(lambda match: f"{match[0][:SHOWN]}… ({len(match[0]):,} characters)", plain)
    return LONG_LINE.sub(
        lambda match: f"{match[0][:ENDS_SHOWN]}… ({len(match[0]):,} characters) …{match[0][-ENDS_SHOWN:]}", plain
    )
