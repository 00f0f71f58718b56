"""What can go wrong on purpose? One file a fault; `timeline` applies them while the load runs."""

from scenarios.harness.faults.contract import Fault
from scenarios.harness.faults.freeze import FreezeBroker

__all__ = ["Fault", "FreezeBroker"]
