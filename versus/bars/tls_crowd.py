# SPDX-License-Identifier: BSD-3-Clause
"""Measures the p99 of a hundred connected clients' echoes while a thousand other clients do handshakes at once / while
none does, in paired blocks. Each client sends again as soon as it has its answer, so every turn of the server has
echoes to answer beside handshakes. If a server does all handshakes in one turn, the echoes wait for all of them."""

import sys

from versus import hdr
from versus.bars import common, tls_common
from versus.bars.common import Context, Marred, Row
from versus.roster import TLS, Contender
from versus.run import process
from versus.tls.tls_plans import FLOOR, OURS, RING

BAR = 3.0
CONNECTIONS, CROWD = 100, 1000
RUN_S, WARMUP_S = 2.0, 0.2
READY_LIMIT_S = 30.0


def crowd(server: process.Server, certificate: str, clients: int = CROWD):
    """Runs the crowd while the block runs. The block starts when the first wave of handshakes is answered. The number
    is that of all answered clients."""
    words = [sys.executable, "-m", "versus.tls.crowd", server.target, certificate, "--clients", str(clients)]
    return common.company(words, READY_LIMIT_S, "the crowd did not connect")


def _load(context: Context, server: process.Server, certificate: str) -> float:
    """Returns the p99 of echoes of 64 bytes, in microseconds. Raises Marred, CannotMeasure."""
    words = [context.tool("peal"), "load", "pingpong", server.target, "--tls", "--tls-ca", certificate, "--size", "64",
             "--connections", str(CONNECTIONS), "--threads", "1", "--duration", f"{RUN_S * 1000:.0f}ms", "--warmup",
             f"{WARMUP_S * 1000:.0f}ms"]
    found = common.generated(words, RUN_S + 60.0, "echoes")
    return hdr.decode(found.latency_hdr).percentiles([99.0])[0] / 1e3


def p99_us(context: Context, contender: Contender, crowded: bool) -> float:
    """Returns the p99 of a fresh server, in microseconds. Raises Marred, CannotMeasure."""
    certificate = dict(contender.files)["cert"]
    with process.serving(contender.for_threads(1), process.Pins.of(1).server, contender.given) as server:
        if not crowded:
            return _load(context, server, certificate)
        with crowd(server, certificate) as count:
            value = _load(context, server, certificate)
        if count[0] < 2 * CROWD:
            raise Marred(f"only {count[0]} of the crowd were answered")
        return value


def _row(context: Context, contender: Contender) -> Row:
    what = f"echoes beside a crowd that shakes hands, {contender.name}"
    context.say(f"{what}: {context.blocks} blocks")
    values = common.paired(context, what, {"beside": lambda: p99_us(context, contender, True),
                                           "alone": lambda: p99_us(context, contender, False)})
    sides = ("beside", "alone")
    return common.ratio_row(
        f"p99 of echoes over TLS while {CROWD:,} others shake hands / while none does, {contender.name}", values, sides,
        BAR, f"{common.medians(values, sides)} us", digits=2, barred=contender.name in (OURS, RING))


def measure(context: Context) -> list[Row]:
    return common.in_parts({f"echoes beside a crowd, {each.name}": lambda each=each: [_row(context, each)]
                            for each in tls_common.contenders(context, TLS, (OURS, RING, FLOOR))})
