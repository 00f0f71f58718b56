"""The faults that a scenario can inject, one file per fault; `schedule` applies them while the load runs."""

from collections.abc import Mapping

from harness.faults.blackhole import BlackholeLink
from harness.faults.command import CommandFault
from harness.faults.contract import FOREVER, Fault, repeated
from harness.faults.cut import CutLink
from harness.faults.disconnect import DisconnectClients
from harness.faults.freeze import FreezeBroker
from harness.faults.full_store import FullStore
from harness.faults.join import JoinBroker
from harness.faults.kill import KillBroker
from harness.faults.power_loss import PowerLoss
from harness.faults.restart import RestartBroker
from harness.faults.rolling_restart import RollingRestart
from harness.faults.slow import SlowLink
from harness.faults.start_link import StartLink
from harness.faults.stop import StopBroker
from harness.faults.stop_link import StopLink

__all__ = [
    "FOREVER",
    "BlackholeLink",
    "CommandFault",
    "CutLink",
    "DisconnectClients",
    "Fault",
    "FreezeBroker",
    "FullStore",
    "JoinBroker",
    "KillBroker",
    "PowerLoss",
    "RestartBroker",
    "RollingRestart",
    "SlowLink",
    "StartLink",
    "StopBroker",
    "StopLink",
    "repeated",
]

KINDS: Mapping[str, type[Fault]] = {
    fault.kind: fault
    for fault in (
        *(
            KillBroker,
            PowerLoss,
            StopBroker,
            RestartBroker,
            FreezeBroker,
            RollingRestart,
            DisconnectClients,
            FullStore,
            JoinBroker,
        ),
        *(CutLink, BlackholeLink, SlowLink, StopLink, StartLink),
        CommandFault,
    )
}
"""Faults by their name in ``--fault``, in the order of the help and of docs/options.md."""
