"""Ensures that nothing outlives its run: a watchdog between the harness and a process that it starts.

    harness ──starts──► guard ──starts──► broker (in a separate session) ──► the broker's own children
                          │ the harness is gone: kill everything below with SIGKILL

``python guard.py --parent PID [--pid-file FILE] [--remove FOLDER]... [--group FOLDER [--set FILE=TEXT]...] [--leave]
-- COMMAND...`` must be started by process PID itself. It forwards SIGTERM to the command, exits with the command's exit
status (128 + N if signal N ended it), and ignores Ctrl-C and hang-ups. Once process PID is gone, it kills the command
and all its descendants. This includes stopped processes (SIGSTOP) and processes that moved to another process group. It
then removes the folders named by ``--remove``. If the guard itself is killed, Linux kills the command
(PR_SET_PDEATHSIG).

``--group`` makes a control group with these settings, which the command joins before its program runs, so that all its
threads and children are in it. The group is removed with the command.

``--leave`` is for a command of the user: processes that a finished command has left running are not killed. Once
process PID is gone, the command and its process group are killed.

Standard library only, and no gevent: the guard starts in a few hundredths of a second, and must not depend on the
processes that it guards.
"""

import argparse
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

POLL_S = 0.2
SIGNAL_EXIT_BASE = 128  # as in shells
KILL_PASSES = 25  # of POLL_S / 10 each: a process killed in one pass may reveal its children in the next
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def command_line(
    command: Sequence[str | Path],
    *,
    pid_file: Path | None = None,
    remove: Sequence[Path] = (),
    group: Path | None = None,
    settings: Mapping[str, str] | None = None,
    leaves_processes: bool = False,
) -> list[str]:
    """Return the arguments that run ``command`` under a guard of the calling process.

    ``group``: the folder of a control group to make; ``settings``: the texts of its files.
    ``leaves_processes``: background processes of the command keep running after it, as in a shell.

    Start it with ``start_new_session=True``: the terminal's Ctrl-C is for the harness, never for the command.
    """
    guard = [sys.executable, "-I", "-S", str(Path(__file__).resolve()), "--parent", str(os.getpid())]
    if pid_file is not None:
        guard += ["--pid-file", str(pid_file)]
    for folder in remove:
        guard += ["--remove", str(folder)]
    if group is not None:
        guard += ["--group", str(group)]
        for name, text in (settings or {}).items():
            guard += ["--set", f"{name}={text}"]
    if leaves_processes:
        guard.append("--leave")
    return [*guard, "--", *map(str, command)]


def ending(status: int) -> str:
    """Describe how a guarded command ended, by the status of its guard: ``ended with status 2``."""
    number = -status if status < 0 else status - SIGNAL_EXIT_BASE
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"ended with status {status}"
    memory = "; if you did not do that, the machine ran out of memory" if number == signal.SIGKILL else ""
    return f"was killed by {name}{memory}"


def main(arguments: Sequence[str]) -> int:
    options = _parse(arguments)
    if os.getppid() != options.parent:
        return _orphaned(options.parent, options.remove)
    _ignore_the_terminal()
    prctl = _prctl()
    if not options.leave:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        if options.group:
            make_group(options.group, dict(setting.split("=", 1) for setting in options.set))
        child = _start(options.command, prctl, options.group)
    except (OSError, subprocess.SubprocessError) as error:
        _remove_group(options.group)
        reason = getattr(error, "strerror", None) or error
        print(f"guard: cannot start {options.command[0]}: {reason}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126
    signal.signal(signal.SIGTERM, lambda _number, _frame: child.terminate())
    if options.pid_file:
        _write_pid(options.pid_file, child.pid)
    try:
        return _watch(child, options.parent, options.remove, leave=options.leave)
    finally:
        _remove_group(options.group)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="guard", description="Run a command that must not outlive its parent.")
    parser.add_argument("--parent", type=int, required=True, metavar="PID", help="the process that starts this guard")
    parser.add_argument("--pid-file", type=Path, metavar="FILE", help="where to write the command's pid")
    parser.add_argument("--remove", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--group", type=Path, metavar="FOLDER", help="a control group to make for the command")
    parser.add_argument("--set", action="append", default=[], metavar="FILE=TEXT", help="a setting of the group")
    parser.add_argument("--leave", action="store_true", help="keep what the command has left running")
    parser.add_argument("command", nargs="+")
    return parser.parse_args(arguments)


def _orphaned(parent: int, remove: Sequence[Path]) -> int:
    print(f"guard: process {parent} is gone or did not start this guard: nothing was started", file=sys.stderr)
    _remove(remove)
    return 1


def _ignore_the_terminal() -> None:
    """Install handlers that do nothing. The child would inherit SIG_IGN."""

    def nothing(_number: int, _frame: FrameType | None) -> None:
        """Do nothing: unlike SIG_IGN, a handler is reset to the default by exec."""

    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, nothing)


def _prctl() -> Callable[[int, int], None]:
    """Return Linux's prctl, or a call without effect on other systems, where only the polling protects."""
    if not sys.platform.startswith("linux"):
        return lambda _option, _value: None
    libc = ctypes.CDLL(None, use_errno=True)

    def prctl(option: int, value: int) -> None:
        libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0)

    return prctl


def make_group(group: Path, settings: Mapping[str, str]) -> None:
    """Make a control group. ``settings``: the texts of its files. Raises OSError."""
    group.mkdir()
    for name, text in settings.items():
        (group / name).write_text(text, encoding="ascii")


def _remove_group(group: Path | None) -> None:
    """Remove a control group. A killed process is in it for another moment; without the folder there is no group."""
    if group is None:
        return
    for _ in range(KILL_PASSES):
        try:
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(POLL_S)


def _start(command: Sequence[str], prctl: Callable[[int, int], None], group: Path | None) -> subprocess.Popen[bytes]:
    """Start the command in a new session. There is only one thread here, so a preexec_fn is safe."""
    guard = os.getpid()

    def join_the_group_and_die_with_the_guard() -> None:
        if group:
            (group / "cgroup.procs").write_text("0", encoding="ascii")  # 0: the process that writes
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:  # the guard ended before the line above
            os.kill(os.getpid(), signal.SIGKILL)

    return subprocess.Popen(command, start_new_session=True, preexec_fn=join_the_group_and_die_with_the_guard)


def _write_pid(path: Path, pid: int) -> None:
    """Write the pid atomically. If the folder is gone, the run is closing: the end of the parent shows that."""
    with suppress(OSError):
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(f"{pid}\n", encoding="ascii")
        draft.replace(path)


def _watch(child: subprocess.Popen[bytes], parent: int, remove: Sequence[Path], *, leave: bool) -> int:
    while True:
        if os.getppid() != parent:  # a process without its parent gets another one at once
            _kill_all(child)
            _remove(remove)
            return SIGNAL_EXIT_BASE + signal.SIGKILL
        try:
            status = child.wait(timeout=POLL_S)
        except subprocess.TimeoutExpired:
            continue
        if not leave:
            _kill_all(child)  # the command's leftovers
        return status if status >= 0 else SIGNAL_EXIT_BASE - status


def _kill_all(child: subprocess.Popen[bytes]) -> None:
    """Kill the command's process group with SIGKILL, then all remaining child processes.

    Orphans of the command become our children (subreaper), so processes that changed group or session are found too.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    for _ in range(KILL_PASSES):
        below = _children()
        for pid in below:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        _reap()
        if not below:
            return
        time.sleep(POLL_S / 10)


def _children() -> list[int]:
    """Return the pids of this process's children, from /proc; none without /proc."""
    me, children = os.getpid(), []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
            if int(stat.rpartition(")")[2].split()[1]) == me:  # pid (name with any characters) state ppid …
                children.append(int(entry.name))
    return children


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _remove(folders: Sequence[Path]) -> None:
    """Remove folders. Other guards of the run may be doing so too."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
