# SPDX-License-Identifier: BSD-3-Clause
"""Child processes of the harness: servers that run until they are stopped, and programs that run until they end. All
are pinned to CPUs and always reaped."""

import ctypes
import errno
import fcntl
import os
import resource
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import BinaryIO

START_LIMIT_S = 60.0  # long enough for a busy machine and for callgrind
STOP_LIMIT_S = 30.0
COMPANION_LIMIT_S = 30.0
# Below the kernel's ephemeral range, so that clients in TIME_WAIT never occupy a server's port.
FIRST_PORT, LAST_PORT = 20000, 32000
F_SETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", 1031)
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)
_next_port = [FIRST_PORT + os.getpid() * 7 % (LAST_PORT - FIRST_PORT)]


class StartFailed(RuntimeError):
    """A server did not start to listen. The text is one sentence that says why."""


@dataclass(frozen=True)
class Pins:
    """The CPUs of the server and of the client. Empty if there are too few CPUs to separate the two."""

    server: tuple[int, ...] = ()
    client: tuple[int, ...] = ()

    @staticmethod
    def of(threads: int, client_threads: int | None = None) -> "Pins":
        """Returns CPUs for `threads` in the server and `client_threads` in the client (default: as many)."""
        cpus = sorted(os.sched_getaffinity(0))
        together = threads + (client_threads or threads)
        if len(cpus) < together:
            return Pins()
        return Pins(tuple(cpus[:threads]), tuple(cpus[threads:together]))

    @property
    def words(self) -> str:
        if not self.server:
            return "server and client share the CPUs: there are too few to keep them apart"
        join = ",".join
        return f"server on CPU {join(map(str, self.server))}, client on CPU {join(map(str, self.client))}"


def raise_fd_limit() -> int:
    """Raises this process's limit of open files to the hard limit, and returns it. Children inherit it."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


@contextmanager
def own_port(host: str) -> Iterator[int]:
    """Yields a port on which nobody listens. No other harness on this machine takes it before the block ends, because
    whoever has a port also holds the unix socket that is named after it."""
    for _ in range(LAST_PORT - FIRST_PORT):
        port = _next_port[0]
        _next_port[0] = port + 1 if port + 1 < LAST_PORT else FIRST_PORT
        with socket.socket(socket.AF_UNIX) as claim, socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                claim.bind(f"\0peal-versus-port-{port}")
                probe.bind((host, port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            probe.close()
            yield port
            return
    raise StartFailed(f"no port between {FIRST_PORT} and {LAST_PORT} is free")


def spawn(words: list[str], cpus: tuple[int, ...] = (), end_by: int = signal.SIGTERM, **options) -> subprocess.Popen:
    """Starts `words`. When this process ends in any way, the child gets the signal `end_by` (PR_SET_PDEATHSIG,
    prctl(2)). A child that may be stopped needs SIGKILL. To pin the child, this process changes its own affinity for
    the moment of the fork."""
    mine = os.sched_getaffinity(0)
    if cpus:
        os.sched_setaffinity(0, cpus)
    try:
        return subprocess.Popen(words, preexec_fn=lambda: _libc.prctl(PR_SET_PDEATHSIG, end_by),
                                **{"stdin": subprocess.DEVNULL} | options)
    finally:
        if cpus:
            os.sched_setaffinity(0, mine)


def wait_for_end(child: subprocess.Popen, limit_s: float) -> bool:
    """Returns whether `child` ended within the limit. Wakes at once, without polling."""
    if child.poll() is not None:
        return True
    handle = os.pidfd_open(child.pid)
    try:
        ready, _, _ = select.select([handle], [], [], limit_s)
    finally:
        os.close(handle)
    if ready:
        child.wait()
    return bool(ready)


def line_of(child: subprocess.Popen, limit_s: float) -> str:
    """Returns the next line that `child` prints, without its end. Returns "" if it prints none within the limit."""
    ready, _, _ = select.select([child.stdout.fileno()], [], [], limit_s)
    return child.stdout.readline().decode().strip() if ready else ""


def reap(child: subprocess.Popen, limit_s: float) -> bool:
    """Waits until `child` ends, and kills it after the limit. Returns whether it ended by itself."""
    try:
        return wait_for_end(child, limit_s)
    finally:
        if child.returncode is None:
            child.kill()
            child.wait()


def stop(child: subprocess.Popen) -> bool:
    """Ends `child` with SIGTERM, or with SIGKILL after a limit. Returns whether SIGTERM was enough."""
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
    return reap(child, STOP_LIMIT_S)


@contextmanager
def companion(words: list[str], cpus: tuple[int, ...] = (), end_by: int = signal.SIGTERM) -> Iterator[subprocess.Popen]:
    """Runs a program beside the block. The program must end when its stdin is closed, at the end of the block or
    earlier. line_of() returns what it prints."""
    child = spawn(words, cpus, end_by, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        yield child
    finally:
        child.stdin.close()
        reap(child, COMPANION_LIMIT_S)
        child.stdout.close()


def _accepts(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=0.2).close()
        return True
    except OSError:
        return False


def _await_listening(child: subprocess.Popen, host: str, port: int, knock: bool) -> int:
    """Returns the port on which `child` listens. It is read from the line "listening on HOST:PORT". With `knock`, it is
    the given port, when it accepts a connection."""
    deadline = time.monotonic() + START_LIMIT_S
    pipe = child.stdout.fileno()
    seen = b""
    while time.monotonic() < deadline:
        ready, _, _ = select.select([pipe], [], [], 0.005 if knock else deadline - time.monotonic())
        if ready:
            piece = os.read(pipe, 4096)
            seen += piece
            for line in seen.split(b"\n")[:-1]:
                _, found, where = line.partition(b"listening on ")
                if found:
                    return int(where.split()[0].rpartition(b":")[2])
            if not piece:
                break
        if knock and _accepts(host, port):
            return port
    if wait_for_end(child, 0.2):
        raise StartFailed(f"the server ended with exit code {child.returncode} before it listened")
    raise StartFailed(f"the server did not listen within {START_LIMIT_S:.0f} s")


@dataclass(frozen=True)
class Server:
    pid: int
    host: str
    port: int
    child: subprocess.Popen

    @property
    def target(self) -> str:
        return f"{self.host}:{self.port}"


@contextmanager
def serving(words_for, cpus: tuple[int, ...] = (), knock: bool = False) -> Iterator[Server]:
    """Runs a server while the block runs. `words_for(host, port)` returns its command line."""
    host = "127.0.0.1"
    with own_port(host) as port, tempfile.TemporaryFile() as complaints:
        words = words_for(host, port)
        try:
            child = spawn(words, cpus, stdout=subprocess.PIPE, stderr=complaints)
        except OSError as error:
            raise StartFailed(f"{words[0]}: {error.strerror}") from error
        try:
            fcntl.fcntl(child.stdout.fileno(), F_SETPIPE_SZ, 1 << 20)  # a server that prints much is not blocked
            try:
                yield Server(child.pid, host, _await_listening(child, host, port, knock), child)
            except StartFailed as error:
                complaints.seek(0)
                said = complaints.read(300).decode(errors="replace").strip().splitlines()
                raise StartFailed(f"{words[0]}: {error}" + (f" ({said[0]})" if said else "")) from error
        finally:
            stop(child)
            child.stdout.close()


@dataclass(frozen=True)
class Outcome:
    code: int | None  # None if the program had to be killed
    out: str
    complaint: str


# The most bytes that a program may write into one file, including its output. A program that writes more is ended by
# SIGXFSZ.
MOST_WRITTEN_BYTES = 1 << 30


def _pass_on(child: subprocess.Popen, limit_s: float, on_line: Callable[[str], bool], complaints: BinaryIO) -> None:
    """Until `child` ends, or for at most `limit_s`, gives each line of its stderr to on_line(). A line for which that
    returns False goes to `complaints`."""
    deadline, rest, pipe = time.monotonic() + limit_s, b"", child.stderr.fileno()
    handle = os.pidfd_open(child.pid)
    try:
        open_ends = [pipe, handle]
        while ready := select.select(open_ends, [], [], max(0.0, deadline - time.monotonic()))[0]:
            if pipe not in ready:  # the program has ended, and what it wrote has been read
                break
            piece = os.read(pipe, 65536)
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if not on_line(line.decode(errors="replace")):
                    complaints.write(line + b"\n")
            if not piece:
                open_ends.remove(pipe)
                pipe = -1
    finally:
        os.close(handle)
        complaints.write(rest)


def run(words: list[str], cpus: tuple[int, ...] = (), limit_s: float = 60.0, most_bytes: int = MOST_WRITTEN_BYTES,
        on_line: Callable[[str], bool] | None = None) -> Outcome:
    """Runs a program until it ends, for at most `limit_s`. It may write at most `most_bytes` into one file. on_line()
    gets each line of the program's stderr when it is written. It returns True if the line is no complaint."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as complaints:
        began = time.monotonic()
        try:
            child = spawn(words, cpus, stdout=out, stderr=subprocess.PIPE if on_line else complaints)
        except OSError as error:
            return Outcome(127, "", f"{words[0]}: {error.strerror}")
        with suppress(OSError):  # it may have ended already
            resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        try:
            if on_line:
                _pass_on(child, limit_s, on_line, complaints)
        except BaseException:
            reap(child, 0.0)
            raise
        finally:
            if child.stderr:
                child.stderr.close()
        ended = reap(child, max(0.0, limit_s - (time.monotonic() - began)))
        out.seek(0)
        complaints.seek(0)
        said = complaints.read(2000).decode(errors="replace").strip().splitlines()
        words_out = out.read(most_bytes).decode(errors="replace")
        return Outcome(child.returncode if ended else None, words_out, said[0] if said else "")
