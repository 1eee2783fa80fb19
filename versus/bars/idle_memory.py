# SPDX-License-Identifier: BSD-3-Clause
"""Resident memory per idle connection that has spoken once, 5000 of them: what the server grew by, divided."""

import statistics
import subprocess

from versus import lockstep
from versus.run import counters, process
from versus.bars.common import CannotMeasure, Context, Row
from versus.roster import Contender

BAR_BYTES = 300
CONNECTIONS = 5000
REPEATS = 3
READY_LIMIT_S = 60.0
PUBLISHED = "libuv 282, libevent 1021, muduo 3151, asio 11262"


def _await_ready(holder: subprocess.Popen) -> None:
    line = process.line_of(holder, READY_LIMIT_S)
    if line.split() != ["ready", str(CONNECTIONS)]:
        raise CannotMeasure(f"only this became of {CONNECTIONS} connections: {line or 'nothing'}")


def per_connection(contender: Contender, idle_program: str) -> float:
    """Bytes per connection of a fresh server; one connection came and went before, so that start-up is not charged."""
    with process.serving(contender.for_threads(1), (), contender.given) as server:
        with lockstep.connected(server.host, server.port, 1) as connections:
            lockstep.rounds(connections, 64, 1)
        before = counters.process_rss_bytes(server.pid)
        words = [idle_program, server.target, "--connections", str(CONNECTIONS), "--size", "64"]
        holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            _await_ready(holder)
            return (counters.process_rss_bytes(server.pid) - before) / CONNECTIONS
        finally:
            holder.stdin.close()
            if not process.wait_for_end(holder, 10.0):
                holder.kill()
                holder.wait()
            holder.stdout.close()


def measure(context: Context) -> list[Row]:
    idle_program = context.tool("contenders/bare_idle")
    rows = []
    for contender in context.contenders():
        context.say(f"idle memory: {contender.name}")
        ours = contender.name in ("peal-epoll", "peal-uring")
        figure = f"resident memory per idle connection, {CONNECTIONS} of them, {contender.name}"
        bar = f"<= {BAR_BYTES} bytes" if ours else "-"
        try:
            values = [per_connection(contender, idle_program) for _ in range(REPEATS)]
        except (CannotMeasure, process.StartFailed, lockstep.EchoDiffers, OSError) as error:
            rows.append(Row(figure, bar, f"- ({error})", "not measured" if ours else ""))
            continue
        value = statistics.median(values)
        verdict = ("met" if value <= BAR_BYTES else "not met") if ours else ""
        measured = f"{value:,.0f} bytes ({min(values):,.0f} to {max(values):,.0f})"
        rows.append(Row(figure, bar, measured, verdict, {"values": values, "published": PUBLISHED}))
    return rows
