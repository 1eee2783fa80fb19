# SPDX-License-Identifier: BSD-3-Clause
"""Measures resident memory per idle connection that has exchanged one message: the growth of the server / 5000
connections."""

import statistics
from collections.abc import Callable

from versus import lockstep
from versus.run import counters, process
from versus.bars import common
from versus.bars.common import CannotMeasure, Context, Row
from versus.roster import Contender

BAR_BYTES = 300
CONNECTIONS = 5000
REPEATS = 3
READY_LIMIT_S = 120.0
PUBLISHED = "libuv 282, libevent 1021, muduo 3151, asio 11262"


def held(server: process.Server, words: list[str], connections: int) -> float:
    """Returns the server's growth in bytes per connection while the program `words` holds these connections. Raises
    CannotMeasure."""
    before = counters.tree_rss_bytes(server.pid)
    with process.companion(words) as holder:
        line = process.line_of(holder, READY_LIMIT_S)
        if line.split() != ["ready", str(connections)]:
            raise CannotMeasure(f"the client did not open {connections} connections; it printed: {line or 'nothing'}")
        return (counters.tree_rss_bytes(server.pid) - before) / connections


def row(figure: str, judged: bool, most_bytes: int, once: Callable[[], float], **data) -> Row:
    """Returns the row of the median of several calls of `once`, in bytes per connection. It has a bar if `judged` is
    true."""

    def measured() -> tuple[float, str, dict]:
        values = [once() for _ in range(REPEATS)]
        middle = statistics.median(values)
        shown = f"{middle:,.0f} bytes ({min(values):,.0f} to {max(values):,.0f})"
        return middle, shown, {"values": values} | data

    return common.counted(figure, f"<= {most_bytes:,} bytes" if judged else common.NO_BAR, most_bytes, measured)


def per_connection(contender: Contender, idle_program: str) -> float:
    """Returns the bytes per connection of a fresh server. One connection is opened and closed before, so that the start
    of the server is not charged."""
    with process.serving(contender.for_threads(1), (), contender.given) as server:
        with lockstep.connected(server.host, server.port, 1) as connections:
            lockstep.rounds(connections, 64, 1)
        words = [idle_program, server.target, "--connections", str(CONNECTIONS), "--size", "64"]
        return held(server, words, CONNECTIONS)


def measure(context: Context) -> list[Row]:
    idle_program = context.tool("contenders/bare_idle")
    rows = []
    for each in context.contenders():
        context.say(f"idle memory: {each.name}")
        rows.append(row(f"resident memory per idle connection, {CONNECTIONS} of them, {each.name}",
                        each.name in ("peal-epoll", "peal-uring"), BAR_BYTES,
                        lambda each=each: per_connection(each, idle_program), published=PUBLISHED))
    return rows
