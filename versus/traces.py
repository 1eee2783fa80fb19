# SPDX-License-Identifier: BSD-3-Clause
"""Counts system calls per message with strace, in separate runs that are not measured.

strace is attached when the connections are open, so that every counted call belongs to a message. A server under strace
is slow and finds more events ready at each wait. So a loop's count of waits is a lower bound.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable

from versus import lockstep
from versus.run import counters, process
from versus.experiments import Cell, HttpCell
from versus.roster import Contender

MESSAGES = {1: 500}
MESSAGES_AT_LEAST = 2000
ATTACH_LIMIT_S = 30.0


def available() -> bool:
    return shutil.which("strace") is not None


def parse_summary(text: str) -> dict[str, int]:
    """Returns calls by name from the table of `strace -c`."""
    calls = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 5 and words[0].replace(".", "").isdigit() and words[-1] != "total" and words[3].isdigit():
            calls[words[-1]] = calls.get(words[-1], 0) + int(words[3])
    return calls


def _attached(tracer: subprocess.Popen, processes: int) -> bool:
    """True when strace has reported that it is attached to all of the server's processes. False after a time limit."""
    os.set_blocking(tracer.stderr.fileno(), False)
    deadline = time.monotonic() + ATTACH_LIMIT_S
    seen = b""
    while time.monotonic() < deadline and tracer.poll() is None:
        seen += tracer.stderr.read() or b""
        if seen.count(b"attached") >= processes:
            return True
        time.sleep(0.002)
    return False


def counted(pid: int, work: Callable[[], object]) -> dict[str, int] | None:
    """Returns system calls by name of process `pid` and its descendants during `work`, or None if strace cannot
    count."""
    with tempfile.NamedTemporaryFile("r", prefix="versus-strace-") as summary:
        pids = counters.descendants(pid)  # -f follows only new processes
        words = ["strace", "-c", "-f", "-o", summary.name]
        words += [word for each in pids for word in ("-p", str(each))]
        tracer = process.spawn(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            if not _attached(tracer, len(pids)):
                return None
            work()
        finally:
            if tracer.poll() is None:
                tracer.send_signal(signal.SIGINT)
            process.reap(tracer, ATTACH_LIMIT_S)
            tracer.stderr.close()
        return parse_summary(summary.read())


def calls_per_message(contender: Contender, cell: Cell | HttpCell) -> dict[str, float] | None:
    """Returns system calls per message (or request) by name, or None if they cannot be counted."""
    if not cell.counts_calls:
        return None

    def work(connections: list, count: int) -> int:
        if isinstance(cell, HttpCell):
            return lockstep.requests(connections, count, lockstep.KEPT_REQUEST)
        return lockstep.rounds(connections, cell.size, count)

    rounds = MESSAGES.get(cell.connections) or max(2, MESSAGES_AT_LEAST // cell.connections)
    messages = rounds * cell.connections
    try:
        with process.serving(contender.for_cell(cell), (), contender.given) as server:
            with lockstep.connected(server.host, server.port, cell.connections, cell.over_tls) as connections:
                work(connections, 2)
                calls = counted(server.pid, lambda: work(connections, rounds))
    except (process.StartFailed, lockstep.EchoDiffers, OSError):
        return None
    return {name: count / messages for name, count in sorted(calls.items())} if calls else None
