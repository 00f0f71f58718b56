"""Says which outages nobody planned: a sentence each, and a band on every plot over time."""

from records.summary import Unplanned
from reports.numbers import counted
from reports.values import Band

MOST_SENTENCES = 3
NOT_PLANNED = "nobody planned it"


def unplanned_sentences(found: list[Unplanned]) -> str:
    """'' without one."""
    told = [_sentence(one) for one in found[:MOST_SENTENCES]]
    further = len(found) - len(told)
    return " ".join([*told, f"{counted(further, 'further outage')} that nobody planned followed."] if further else told)


def _sentence(one: Unplanned) -> str:
    clients, began = counted(one["clients"], "client"), f"{one['from_s']:.1f} s"
    until = f"{one['until_s']:.1f} s" if one["until_s"] is not None else ""
    if one["what"] == "silent":
        return f"Outside of every fault, {one['broker']} was silent from {began} to {until}, while {clients} waited."
    back = f"all were connected again at {until}" if until else "not all were connected again"
    return f"Outside of every fault, {clients} lost the connection to {one['broker']} at {began}; {back}."


def unplanned_bands(found: list[Unplanned]) -> tuple[Band, ...]:
    return tuple(
        Band(f"U{number}", f"{one['what']}: {one['broker']}", one["from_s"], one["until_s"], NOT_PLANNED)
        for number, one in enumerate(found, start=1)
    )
