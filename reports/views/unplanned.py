"""Says which outages nobody planned: a sentence each, their probable cause, and a band on every plot over time."""

from records.faults import Unplanned
from records.run import OUT_OF_REACH, RunInfo
from records.summary import Summary
from reports.numbers import counted, joined
from reports.values import Band

MOST_SENTENCES = 3
NOT_PLANNED = "nobody planned it"


def unplanned_sentences(found: list[Unplanned]) -> str:
    """'' without one."""
    told = [_sentence(one) for one in found[:MOST_SENTENCES]]
    further = len(found) - len(told)
    return " ".join([*told, f"{counted(further, 'further outage')} that nobody planned followed."] if further else told)


def _sentence(one: Unplanned) -> str:
    clients, began = counted(one["clients"], "client"), _moment(one["from_s"])
    until = _moment(one["until_s"]) if one["until_s"] is not None else ""
    if one["what"] == "silent":
        return f"Outside of every fault, {one['broker']} was silent from {began} to {until}, while {clients} waited."
    back = f"all were connected again at {until}" if until else "not all were connected again"
    return f"Outside of every fault, {clients} lost the connection to {one['broker']} at {began}; {back}."


def _moment(at_s: float) -> str:
    """``3.2 s``, of the load; a silence may have begun in the warm-up."""
    return f"{at_s:.1f} s" if round(at_s, 1) >= 0 else f"{-at_s:.1f} s before the load"


def probable_cause(run: RunInfo, summary: Summary) -> str:
    """What the run was warned of before it began, if it shows: a sentence, '' if not.

    Where messages do not get to some of the consumers, they stay on queues, these consumers receive nothing, and their
    broker is silent.
    """
    warnings = [warning for warning in run.warnings if OUT_OF_REACH in warning]
    silent = list(dict.fromkeys(outage["broker"] for outage in summary["unplanned"] if outage["what"] == "silent"))
    concerned = [broker for broker in silent if any(repr(broker) in warning for warning in warnings)]
    messages = summary["messages"]
    effects = [f"the silence of {joined(concerned)}"] if concerned else []
    effects += ["the messages left on queues"] if messages["stranded"] + messages["left_unconfirmed"] else []
    effects += ["the consumers without messages"] if summary["consumers"]["idle"] else []
    if not warnings or not effects:
        return ""
    first = next((warning for warning in warnings if any(repr(broker) in warning for broker in concerned)), warnings[0])
    more = f" (and {counted(len(warnings) - 1, 'warning')} more below)" if warnings[1:] else ""
    return f"Probable cause of {joined(effects)}: {first}{more}."


def unplanned_bands(found: list[Unplanned]) -> tuple[Band, ...]:
    return tuple(
        Band(f"U{number}", f"{one['what']}: {one['broker']}", one["from_s"], one["until_s"], NOT_PLANNED)
        for number, one in enumerate(found, start=1)
    )
