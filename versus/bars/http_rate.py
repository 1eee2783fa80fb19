# SPDX-License-Identifier: BSD-3-Clause
"""Measures how many requests/s one generator thread makes: keep-alive against the bare epoll server, one at a time and
pipelined.

Beside each rate stands the rate that the generator would reach with a whole core, computed from its CPU per request. If
other programs use the machine, or the server is at its limit, this second number says more about the generator.
"""

import statistics

from versus.bars import common, http_load
from versus.bars.common import Context, Row
from versus.run.generator import Measurement

PIPELINE = 16
BARS = {1: 200_000, PIPELINE: 1_000_000}
RUN_S = 1.5


def _once(context: Context, depth: int) -> Measurement:
    with http_load.web_server(context, "http-raw-epoll") as server:
        return http_load.run(context, server, RUN_S, ("--pipeline", str(depth)))


def measure(context: Context) -> list[Row]:
    context.say(f"http rate: {context.blocks} blocks")
    runs = common.paired(context, "http_rate",
                         {str(depth): (lambda depth=depth: _once(context, depth)) for depth in BARS})
    return [_row(depth, list(runs[str(depth)].values())) for depth in BARS]


def _row(depth: int, found: list[Measurement]) -> Row:
    rates = [each.messages_per_s for each in found]
    carried = [1e9 * each.messages / each.client_cpu_ns for each in found if each.client_cpu_ns > 0]
    shares = [statistics.median(each) for each in zip(*((run.client_share, run.server_share) for run in found))]
    middle = common.middle_of(rates)
    measured = f"{middle.ratio:,.0f} ({middle.low:,.0f} to {middle.high:,.0f}; best {max(rates):,.0f})"
    if carried:
        measured += f"; a whole core would carry {statistics.median(carried):,.0f}"
    measured += f"; it used {shares[0]:.0%} of one, the server {shares[1]:.0%}; {http_load.load_average()}"
    how = "keep-alive" if depth == 1 else f"pipelined by {depth}"
    return Row(f"requests/s of one generator thread, {how}, {http_load.CONNECTIONS} connections",
               f">= {BARS[depth]:,}", measured, common.at_least(middle, BARS[depth]),
               {"rates": rates, "carried": carried})
