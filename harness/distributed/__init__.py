"""Spreads a run over several processes: the master controls it, and the workers run clients, over Locust's channel.

    master                                worker
    equip        ── clock ──────────────►  requests the worker's time (several times; the quickest answer counts)
                 ◄──────────────── clock ─
                 ── equip ──────────────►  checks the build and that it reaches the brokers, then opens a session
                 ◄───────────── equipped ─  and a recorder (or sends the reason why it cannot)
                 ── call_off ───────────►  another worker could not be equipped, so there is no run
    tally        ◄──────────────── tally ─  twice per second, with problems
    gathering    ◄─────────────── events ─  stream messages, from a worker that does not share the run's folder
    go           ── go ─────────────────►  schedules begin
    settle       ── settle ─────────────►  the warm-up is over: begin and end of the load
    stop         ── stop_producing ─────►  producers stop, consumers continue
    dismiss      ◄─────────────── closed ─  Locust has stopped the users: streams are complete

These messages carry credentials, encrypted, to processes that hold the run's secret (`harness.distributed.channel`).
Credentials are never written to the run folder. A worker that shares the run's folder writes its events there; other
workers send theirs over the channel.
"""

from harness.distributed.master import DistributedLoadGenerators, one_process_refusals
from harness.distributed.runners import listen_on_loopback, secure
from harness.distributed.worker import WorkerDuty

__all__ = ["DistributedLoadGenerators", "WorkerDuty", "listen_on_loopback", "one_process_refusals", "secure"]
