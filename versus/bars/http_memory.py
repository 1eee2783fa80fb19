# SPDX-License-Identifier: BSD-3-Clause
"""Resident memory per idle keep-alive connection that asked once, 5000 of them: what the server grew by, divided."""

from functools import partial

from versus import lockstep, roster
from versus.run import counters, process
from versus.bars import idle_memory
from versus.bars.common import Context, Row
from versus.roster import Contender

BAR_BYTES = 500
CONNECTIONS = 5000
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
    rows = []
    for contender in context.of_kind(roster.HTTP, OURS):
        context.say(f"memory of idle HTTP connections: {contender.name}")
        figure = f"resident memory per idle keep-alive connection, {CONNECTIONS} of them, {contender.name}"
        rows.append(idle_memory.row(figure, contender.name in OURS, BAR_BYTES, partial(per_connection, contender)))
    return rows
