# SPDX-License-Identifier: BSD-3-Clause
"""Resident memory per idle connection over TLS that has spoken once: what the server grew by, divided."""

import statistics
import subprocess

from versus.bars import tls_common
from versus.bars.common import CannotMeasure, Context, Row
from versus.roster import HTTPS, TLS, Contender
from versus.run import counters, process
from versus.tls.tls_plans import FLOOR, NGINX, OURS, RING

BAR_BYTES = 14_800
CONNECTIONS = 2000
REPEATS = 3
READY_LIMIT_S = 120.0
PUBLISHED = "OpenSSL alone 13.9 KB, nginx 16.0, libevent 24, asio 75"


def per_connection(context: Context, contender: Contender, connections: int = CONNECTIONS) -> float:
    """Bytes per connection of a fresh server; one connection came and went before, so that start-up is not charged."""
    speaks = {"http": int(contender.kind == HTTPS)}
    with process.serving(contender.for_threads(1), (), contender.given) as server:
        tls_common.drive(context, "bare_tls_client", server, speaks | {"messages": 1})
        before = counters.tree_rss_bytes(server.pid)
        words = tls_common.client_words(context, "bare_tls_client", server.target,
                                        speaks | {"connections": connections, "messages": 0, "idle": 1})
        holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            line = process.line_of(holder, READY_LIMIT_S)
            if line.split() != ["ready", str(connections)]:
                raise CannotMeasure(f"only this became of {connections} connections: {line or 'nothing'}")
            return (counters.tree_rss_bytes(server.pid) - before) / connections
        finally:
            holder.stdin.close()
            if not process.wait_for_end(holder, 10.0):
                holder.kill()
                holder.wait()
            holder.stdout.close()


def _web_servers(context: Context) -> list[Contender]:
    """nginx, where it is installed: of it nothing is asked."""
    try:
        return tls_common.contenders(context, HTTPS, (NGINX,))
    except CannotMeasure:
        return []


def measure(context: Context) -> list[Row]:
    rows = []
    for contender in (*tls_common.contenders(context, TLS, (OURS, RING, FLOOR)), *_web_servers(context)):
        context.say(f"idle memory over TLS: {contender.name}")
        ours = contender.name in (OURS, RING)
        figure = f"resident memory per idle connection over TLS, {CONNECTIONS} of them, {contender.name}"
        bar = f"<= {BAR_BYTES:,} bytes" if ours else "-"
        try:
            values = [per_connection(context, contender) for _ in range(REPEATS)]
        except (CannotMeasure, process.StartFailed, OSError) as error:
            rows.append(Row(figure, bar, f"- ({error})", "not measured" if ours else ""))
            continue
        value = statistics.median(values)
        verdict = ("met" if value <= BAR_BYTES else "not met") if ours else ""
        rows.append(Row(figure, bar, f"{value:,.0f} bytes ({min(values):,.0f} to {max(values):,.0f})", verdict,
                        {"values": values, "published": PUBLISHED}))
    return rows
