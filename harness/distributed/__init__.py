"""Spreads one run over several processes: the master leads, the workers drive clients, over Locust's own channel.

    master                                worker
    equip        ── clock ──────────────►  what time is it with you? (a few times: the quickest answer counts)
                 ◄──────────────── clock ─
                 ── equip ──────────────►  is it of the same build, does it reach the brokers? Then a session
                 ◄───────────── equipped ─  and a recorder of its own (or why not)
                 ── call_off ───────────►  one of the others could not be equipped, so there is no run
    tally        ◄──────────────── tally ─  twice a second, problems included
    gathering    ◄─────────────── events ─  stream messages, from a worker that does not share the run's folder
    go           ── go ─────────────────►  schedules begin
    settle       ── settle ─────────────►  the warm-up is over: when the load begins and ends
    stop         ── stop_producing ─────►  producers fall silent, consumers go on
    dismiss      ◄─────────────── closed ─  when Locust has stopped its users: streams are complete

Credentials travel in these messages, encrypted, to processes that hold the run's secret
(`harness.distributed.channel`), and are never written to the run folder. A worker that shares the run's
folder writes its events there; the events of any other come over the channel.
"""

from harness.distributed.master import DistributedLoadGenerators, one_process_refusals
from harness.distributed.runners import listen_on_loopback, secure
from harness.distributed.worker import WorkerDuty

__all__ = ["DistributedLoadGenerators", "WorkerDuty", "listen_on_loopback", "one_process_refusals", "secure"]
