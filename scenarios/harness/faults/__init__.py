"""The faults that a scenario can inject, one file a fault; `schedule` applies them while the load runs."""

from collections.abc import Mapping

from scenarios.harness.faults.blackhole import BlackholeLink
from scenarios.harness.faults.command import CommandFault
from scenarios.harness.faults.contract import FOREVER, Fault, repeated
from scenarios.harness.faults.cut import CutLink
from scenarios.harness.faults.disconnect import DisconnectClients
from scenarios.harness.faults.freeze import FreezeBroker
from scenarios.harness.faults.full_store import FullStore
from scenarios.harness.faults.join import JoinBroker, absent_at_start
from scenarios.harness.faults.kill import KillBroker
from scenarios.harness.faults.power_loss import PowerLoss
from scenarios.harness.faults.restart import RestartBroker
from scenarios.harness.faults.rolling_restart import RollingRestart
from scenarios.harness.faults.slow import SlowLink
from scenarios.harness.faults.stop import StopBroker
from scenarios.harness.faults.stop_link import StopLink

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
    "StopBroker",
    "StopLink",
    "absent_at_start",
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
        *(CutLink, BlackholeLink, SlowLink, StopLink),
        CommandFault,
    )
}
"""By its name in ``--fault``, in the order of the help and of docs/options.md."""
