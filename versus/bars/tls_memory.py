# SPDX-License-Identifier: BSD-3-Clause
"""Measures resident memory per idle connection over TLS that has exchanged one message: the growth of the server /
connections."""

from functools import partial

from versus.bars import idle_memory, tls_common
from versus.bars.common import CannotMeasure, Context, Row
from versus.roster import HTTPS, TLS, Contender
from versus.run import process
from versus.tls.tls_plans import FLOOR, NGINX, OURS, RING

BAR_BYTES = 14_800
CONNECTIONS = 2000
PUBLISHED = "OpenSSL alone 13.9 KB, nginx 16.0, libevent 24, asio 75"


def per_connection(context: Context, contender: Contender, connections: int = CONNECTIONS) -> float:
    """Returns the bytes per connection of a fresh server. One connection is opened and closed before, so that the start
    of the server is not charged."""
    speaks = {"http": int(contender.kind == HTTPS)}
    with process.serving(contender.for_threads(1), (), contender.given) as server:
        tls_common.drive(context, "bare_tls_client", server, speaks | {"messages": 1})
        words = tls_common.client_words(context, "bare_tls_client", server.target,
                                        speaks | {"connections": connections, "messages": 0, "idle": 1})
        return idle_memory.held(server, words, connections)


def _web_servers(context: Context) -> list[Contender]:
    """Returns nginx if it is installed. It has no bar."""
    try:
        return tls_common.contenders(context, HTTPS, (NGINX,))
    except CannotMeasure:
        return []


def measure(context: Context) -> list[Row]:
    rows = []
    for contender in (*tls_common.contenders(context, TLS, (OURS, RING, FLOOR)), *_web_servers(context)):
        context.say(f"idle memory over TLS: {contender.name}")
        figure = f"resident memory per idle connection over TLS, {CONNECTIONS} of them, {contender.name}"
        rows.append(idle_memory.row(figure, contender.name in (OURS, RING), BAR_BYTES,
                                    partial(per_connection, context, contender), published=PUBLISHED))
    return rows
