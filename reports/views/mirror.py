"""Says in a sentence how far each mirror lagged when its broker was killed."""

from records.network import Mirror, MirrorAtKill
from reports.numbers import counted


def mirror_sentences(mirror: Mirror) -> str:
    """One for each mirror of a killed broker; '' without any."""
    return " ".join(map(_sentence, mirror["at_kill"]))


def _sentence(row: MirrorAtKill) -> str:
    moment = f"At the last sample before {row['broker']} was killed, its mirror {row['link']}"
    if not row["lag_messages"]:
        return f"{moment} had repeated everything."
    age = "it is not known how old they were" if row["lag_s"] is None else f"none was older than {row['lag_s']:.1f} s"
    return f"{moment} had {counted(row['lag_messages'], 'message')} left to repeat; {age}."
