"""Finds the known name nearest to a misspelt one, regardless of capitals, hyphens and underscores."""

import difflib

SHORTEST = 4  # letters by which a longer name is known that begins so


def nearest(name: str, known: list[str], cutoff: float = 0.6) -> str:
    """``; did you mean 'message_ttl'?``, also for ``messageTTL``; else nothing."""
    by_letters = {plainly(one): one for one in known}
    begun = [each for each in by_letters if len(name) >= SHORTEST and each.startswith(plainly(name))]
    close = begun[:1] or difflib.get_close_matches(plainly(name), list(by_letters), n=1, cutoff=cutoff)
    return f"; did you mean {by_letters[close[0]]!r}?" if close else ""


def plainly(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()
