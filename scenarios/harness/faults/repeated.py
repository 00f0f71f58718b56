"""Makes several faults of one, at equal distances in time."""

import math

from scenarios.harness.faults.contract import Fault

MOST_TIMES = 1_000  # each has a thread of its own


def repeated(fault: Fault, every_s: float, times: int) -> tuple[Fault, ...]:
    """``times`` faults in all, each beginning ``every_s`` seconds after the one before.

    Of a fault that targets a client group, each is aimed anew. Raises ValueError if one would begin before the one
    before it is over.
    """
    if not 1 <= times <= MOST_TIMES:
        raise ValueError(f"fault {fault.kind} of {fault.target}: times={times} must be from 1 to {MOST_TIMES}")
    if times > 1 and math.isinf(fault.lasts_s):
        raise ValueError(f"fault {fault.kind} of {fault.target}: to be repeated it has to end: give it for=SECONDS")
    if times > 1 and not every_s > fault.lasts_s:
        raise ValueError(
            f"fault {fault.kind} of {fault.target}: every={every_s:g} must be longer than it lasts, "
            f"{fault.lasts_s:g} s: each is to be over before the next"
        )
    return tuple(fault.later(number * every_s) for number in range(times))
