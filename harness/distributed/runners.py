"""Locust's master and worker runners on a secured channel, which listens on loopback by default.

`--processes` forks the workers before Locust makes a runner. So before the fork we create a secret, which the workers
inherit, and a page of shared memory. The master takes a free port and writes it to this page. Workers that are started
separately get the master's address from the user, and the secret from the environment or a file.
"""

import errno
import logging
import mmap
import os
import secrets
import struct
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from functools import partial, partialmethod
from typing import Any, NoReturn

import gevent
import zmq
from locust.env import Environment
from locust.exception import RPCError
from locust.rpc import zmqrpc
from locust.runners import STATE_RUNNING, STATE_SPAWNING, MasterRunner, WorkerRunner
from locust.stats import RequestStats

from harness.distributed.channel import ANY_PORT, MasterSocket, WorkerSocket
from harness.distributed.secret import SECRET, SECRET_FILE, Keys, find_secret
from records.errors import UserError
from topologies.model.launch import LOOPBACK

log = logging.getLogger("brokerbench")

EVERY_ADDRESS = ("*", "0.0.0.0", "::")
DEFAULT_PORT, MOST_PORTS = 5557, 65_535
ASKED = "--worker"
"""The value of ``worker`` in Locust's namespace if the user gave the option: a forked worker has True."""
HANDSHAKES = 3
"""Number of failed handshakes that end a worker. A single failure may mean that the master is just ending."""
SAME_SECRET = f"give master and worker the same {SECRET_FILE} or {SECRET}"
PORT_STRUCT = struct.Struct("i")
NO_MASTER = -1
TOO_LATE = "bb_too_late"
"""The message for a worker that connects after the run began."""
LOOK_EVERY_S = 0.02


class ForkedRun:
    """The secret and the port that a master shares with the workers that are forked from its process."""

    def __init__(self) -> None:
        self.keys = Keys.of(secrets.token_bytes(32))
        self._page = mmap.mmap(-1, PORT_STRUCT.size)
        self._parent = os.getpid()

    def publish_port(self, port: int) -> None:
        PORT_STRUCT.pack_into(self._page, 0, port)

    def wait_for_port(self) -> int:
        """Return the master's port, in a worker. Ends this process if there will be no master."""
        port = 0
        with suppress(KeyboardInterrupt):
            while not (port := int(PORT_STRUCT.unpack_from(self._page)[0])) and os.getppid() == self._parent:
                gevent.sleep(LOOK_EVERY_S)
        if port <= 0:  # the master has logged why
            raise SystemExit(0)
        return port


def listen_on_loopback(parser: Any) -> None:
    """Let master and web interface listen on loopback by default, and mark a `--worker` that the user gave."""
    parser.set_defaults(master_bind_host=LOOPBACK, master_bind_port=None, web_host=LOOPBACK)
    for action in parser._actions:
        if action.dest == "worker":
            action.const = ASKED
        elif action.dest == "master_bind_host":
            action.help = f"Address for the master to listen on. Defaults to {LOOPBACK}; * is every address."
        elif action.dest == "web_host":
            action.help = f"Address of the web interface. Defaults to {LOOPBACK}; * is every address."
        elif action.dest == "master_bind_port":
            action.help = (
                f"Port for the master to listen on. Defaults to {DEFAULT_PORT}; with --processes, to a free port."
            )


Reject = Callable[[UserError, int | None], NoReturn]


def secure(reject: Reject) -> None:
    """Make Locust create the runners of this module.

    ``reject`` ends a process that cannot be a master or a worker; it gets the reason and the value of ``--processes``.
    """
    forked_run = ForkedRun()
    Environment.create_master_runner = partialmethod(_create_master, forked_run, reject)  # type: ignore[assignment]
    Environment.create_worker_runner = partialmethod(_create_worker, forked_run, reject)  # type: ignore[assignment]


def _create_master(
    environment: Environment, forked_run: ForkedRun, reject: Reject, master_bind_host: str, master_bind_port: int | None
) -> "SecuredMaster":
    """Replace `Environment.create_master_runner`."""
    processes = _options(environment).processes
    try:
        if master_bind_port is not None and not 0 < master_bind_port <= MOST_PORTS:
            raise UserError(f"--master-bind-port {master_bind_port}: not a port; name one from 1 to {MOST_PORTS}")
        port = master_bind_port or (ANY_PORT if processes else DEFAULT_PORT)
        keys = forked_run.keys if processes else Keys.of(find_secret(os.environ))
        try:
            master: SecuredMaster = environment._create_runner(SecuredMaster, keys, master_bind_host, port)
        except RPCError as error:
            raise UserError(_cannot_listen(error, master_bind_host, port)) from error
    except UserError as error:
        forked_run.publish_port(NO_MASTER)
        reject(error, processes)
    forked_run.publish_port(master.server.port)
    return master


def _create_worker(
    environment: Environment, forked_run: ForkedRun, reject: Reject, master_host: str, master_port: int
) -> "SecuredWorker":
    """Replace `Environment.create_worker_runner`."""
    options = _options(environment)
    environment.stats = RequestStats(use_response_times_cache=False)  # as Locust's own does
    try:
        if options.processes and options.worker != ASKED:
            keys, master_port = forked_run.keys, forked_run.wait_for_port()
            master_host = LOOPBACK if options.master_bind_host in EVERY_ADDRESS else options.master_bind_host
        else:
            keys = Keys.of(find_secret(os.environ))
        worker: SecuredWorker = environment._create_runner(SecuredWorker, keys, master_host, master_port)
    except UserError as error:
        reject(error, None)
    return worker


def _options(environment: Environment) -> Namespace:
    options = environment.parsed_options
    assert isinstance(options, Namespace), "Locust's own main function sets it"
    return options


class SecuredMaster(MasterRunner):
    """A master that only processes with its run's secret can reach."""

    def __init__(self, environment: Any, keys: Keys, master_bind_host: str, master_bind_port: int) -> None:
        self._forks = bool(environment.parsed_options.processes)
        self._refused_peers: set[str] = set()
        zmqrpc.Server = partial(MasterSocket, keys=keys, refused=self._refuse)  # type: ignore[misc, assignment]
        super().__init__(environment, master_bind_host, master_bind_port)
        self.master_bind_port = self.server.port  # listens there again if Locust resets the connection

    def _refuse(self, peer: str) -> None:
        """Log a rejected process, once per host."""
        if peer in self._refused_peers:
            return
        self._refused_peers.add(peer)
        advice = "this run uses only the workers that it forked" if self._forks else SAME_SECRET
        log.warning(
            "a process on %s without this run's secret tried to connect as a worker, and was rejected; %s",
            peer or "an unknown host",
            advice,
        )

    def handle_message(self, client_id: str, msg: Any) -> None:
        """Reject a worker that connects after the run began. Locust handles all other messages."""
        late = msg.type == "client_ready" and client_id not in self.clients
        if late and self.state in (STATE_SPAWNING, STATE_RUNNING):
            log.warning("worker %s connected after the run began, and is rejected; start workers before it", client_id)
            self.send_message(TOO_LATE, client_id=client_id)
            return
        super().handle_message(client_id, msg)


def _cannot_listen(error: RPCError, host: str, port: int) -> str:
    number = error.__cause__.errno if isinstance(error.__cause__, zmq.ZMQError) else None
    if number == errno.EADDRINUSE:
        return (
            f"--master-bind-port {port}: another process already listens on {host}:{port}; name another port, or leave "
            "the option out with --processes: each run then takes a free port"
        )
    if number in (errno.ENODEV, errno.EADDRNOTAVAIL):
        return f"--master-bind-host {host}: not an address of this machine; name one, or * for every address"
    return f"--master-bind-host {host}, --master-bind-port {port}: {error.__cause__ or error}; name others"


class SecuredWorker(WorkerRunner):
    """A worker that takes part only in the run of a master with the same secret."""

    def __init__(self, environment: Any, keys: Keys, master_host: str, master_port: int) -> None:
        self._failed_handshakes = 0
        self._rejection = ""
        zmqrpc.Client = partial(WorkerSocket, keys=keys, handshake=self._on_handshake)  # type: ignore[misc, assignment]
        super().__init__(environment, master_host, master_port)

    def connect_to_master(self) -> None:
        super().connect_to_master()  # type: ignore[no-untyped-call]
        if self._rejection:
            self.greenlet.kill()
            self.client.close(linger=0)  # an unsent message would keep this process from ending
            raise UserError(self._rejection)

    def handle_message(self, msg: Any) -> None:
        if msg.type == TOO_LATE:
            self._end_connecting(
                f"--master-host {self.master_host}, --master-port {self.master_port}: the run there began before this "
                "worker connected; start all workers before the run, and give their number with --expect-workers"
            )
        else:
            super().handle_message(msg)

    def _end_connecting(self, rejection: str) -> None:
        self._rejection = rejection
        self.connection_event.set()  # `connect_to_master` waits for this event

    def _on_handshake(self, succeeded: bool) -> None:
        """Count successive failures. After HANDSHAKES, a worker that never had a master ends; others log it."""
        self._failed_handshakes = 0 if succeeded else self._failed_handshakes + 1
        if self._failed_handshakes != HANDSHAKES:
            return
        foreign = (
            f"--master-host {self.master_host}, --master-port {self.master_port}: the process there does not hold this "
            f"worker's secret, so it is not the master of this run; name the master of the run, and {SAME_SECRET}"
        )
        if self.connected:
            log.error("%s", foreign)
        else:
            self._end_connecting(foreign)
