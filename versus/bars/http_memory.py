# SPDX-License-Identifier: BSD-3-Clause
"""Resident memory per idle keep-alive connection that asked once, 5000 of them: what the server grew by, divided."""

import statistics

from versus import lockstep, roster
from versus.run import counters, process
from versus.bars.common import CannotMeasure, Context, Row
from versus.roster import Contender

BAR_BYTES = 500
CONNECTIONS = 5000
REPEATS = 3
OURS = ("http-peal-epoll", "http-peal-uring")


def per_connection(contender: Contender) -> float:
    """Bytes per connection of a fresh server; one connection came and went before, so that start-up is not charged."""
    with process.serving(contender.for_threads(1), (), contender.given) as server:
        with lockstep.connected(server.host, server.port, 1) as connections:
            lockstep.requests(connections, 1)
        before = counters.process_rss_bytes(server.pid)
        with lockstep.connected(server.host, server.port, CONNECTIONS) as connections:
            for connection in connections:
                lockstep.requests([connection], 1)
            return (counters.process_rss_bytes(server.pid) - before) / CONNECTIONS


def measure(context: Context) -> list[Row]:
    ready, absent = roster.choose(context.bin_dir, context.extra, [] if context.everyone else list(OURS), roster.HTTP)
    if not ready:
        raise CannotMeasure(absent[0])
    rows = []
    for contender in ready:
        context.say(f"memory of idle HTTP connections: {contender.name}")
        ours = contender.name in OURS
        figure = f"resident memory per idle keep-alive connection, {CONNECTIONS} of them, {contender.name}"
        bar = f"<= {BAR_BYTES} bytes" if ours else "-"
        try:
            values = [per_connection(contender) for _ in range(REPEATS)]
        except (process.StartFailed, lockstep.EchoDiffers, OSError) as error:
            rows.append(Row(figure, bar, f"- ({error})", "not measured" if ours else ""))
            continue
        value = statistics.median(values)
        verdict = ("met" if value <= BAR_BYTES else "not met") if ours else ""
        rows.append(Row(figure, bar, f"{value:,.0f} bytes ({min(values):,.0f} to {max(values):,.0f})", verdict,
                        {"values": values}))
    return rows
