"""Finds the known name nearest to a misspelled one, and shortens text that is too long for a sentence."""

import difflib
import re

SHORTEST = 4  # letters that a prefix of a known name needs to be recognized
LONGEST, SHOWN = 250, 40  # longest word in a sentence, in characters; of a longer word only the first 40 are shown
LONG_WORD = re.compile(rf"\S{{{LONGEST + 1},}}")
LONGEST_LINE, ENDS_SHOWN = 4_000, 1_500  # longest line, in characters; of a longer line 1,500 at each end are shown
LONG_LINE = re.compile(rf"[^\n]{{{LONGEST_LINE + 1},}}")
UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def nearest(name: str, names: list[str], cutoff: float = 0.6) -> str:
    """Return ``; did you mean 'message_ttl'?``, also for ``messageTTL``; '' if no name is near.

    Case, hyphens and underscores are ignored.
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
    """Shorten very long words and lines of ``sentence``, and escape its control characters and lone surrogates.

    Only the middle of a long line is cut. Its ends are kept: they have the option, the rule and the next step.
    """
    plain = UNPRINTABLE.sub(lambda match: repr(match[0])[1:-1], sentence)
    plain = LONG_WORD.sub(lambda match: f"{match[0][:SHOWN]}… ({len(match[0]):,} characters)", plain)
    return LONG_LINE.sub(
        lambda match: f"{match[0][:ENDS_SHOWN]}… ({len(match[0]):,} characters) …{match[0][-ENDS_SHOWN:]}", plain
    )
