# SPDX-License-Identifier: BSD-3-Clause
"""Measures server CPU per connection, peal / raw. A connection is: connect, one message, close with RST. Connections
start at a fixed rate, from 16 source addresses."""

from versus.run import process
from versus.bars import common
from versus.bars.common import Context, Row
from versus.roster import Contender

BAR = 1.1
RUN_S = 1.0
CALIBRATION_S = 0.4
CONCURRENT = 64
PAIRS = (("peal-epoll", "raw-epoll", True), ("peal-uring", "raw-uring", False))
NAMES = tuple(name for pair in PAIRS for name in pair[:2])


def _churn(contender: Contender, program: str, seconds: float, rate: float = 0.0) -> dict:
    """Returns what bare_churn measured against a fresh server. Without a rate, it runs as fast as it can."""
    pins = process.Pins.of(1)
    with process.serving(contender.for_threads(1), pins.server, contender.given) as server:
        words = [program, server.target, "--concurrent", str(CONCURRENT), "--duration", str(seconds), "--size", "64",
                 "--server-pid", str(server.pid)] + (["--rate", f"{rate:.0f}"] if rate else [])
        found = common.json_of(words, pins.client, seconds + 20.0)
    if found["failures"]:
        raise common.Marred(f"{found['failures']} connections to {contender.name} failed")
    if rate and found["connections_per_s"] < 0.99 * rate:
        raise common.Marred(f"{contender.name} reached {found['connections_per_s']:,.0f} of {rate:,.0f} connections/s")
    return found


def measure(context: Context) -> list[Row]:
    program = context.tool("contenders/bare_churn")
    contenders = {contender.name: contender for contender in context.contenders(NAMES)}
    context.need("raw-epoll")
    context.need("peal-epoll")
    saturation = {name: _churn(c, program, CALIBRATION_S)["connections_per_s"] for name, c in contenders.items()}
    rate = float(int(min(saturation.values()) / 2 / 100) * 100) or 100.0
    context.say(f"churn: {context.blocks} blocks at {rate:,.0f} connections/s")
    variants = {name: (lambda c=c: _churn(c, program, RUN_S, rate)["server_cpu_ns_per_connection"] / 1e3)
                for name, c in contenders.items()}
    values = common.paired(context, "churn", variants)
    rows = []
    for subject, rival, barred in PAIRS:
        if subject not in values or rival not in values:
            continue
        sides = (subject, rival)
        rows.append(common.ratio_row(
            f"server CPU per connection (connect, one message, close), {subject} / {rival}", values, sides, BAR,
            f"{common.medians(values, sides, 2)} us at {rate:,.0f} connections/s", barred=barred))
    others = [name for name in values if name not in NAMES]
    rows += [Row(f"the same, {name}", common.NO_BAR, f"{common.medians(values, (name,), 2)} us", "") for name in others]
    return rows
