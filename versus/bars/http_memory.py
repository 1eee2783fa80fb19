# SPDX-License-Identifier: BSD-3-Clause
"""Measures resident memory per idle keep-alive connection that has made one request: the growth of the server / 5000
connections."""

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
    """Returns the bytes per connection of a fresh server. One connection is opened and closed before, so that the start
    of the server is not charged."""
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
