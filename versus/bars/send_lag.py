# SPDX-License-Identifier: BSD-3-Clause
"""Measures the 99th percentile of the send lag (sent minus due) at a fixed rate of 10,000/s, against the bare epoll
server."""

from functools import partial

from versus.bars import common, http_load
from versus.bars.common import Context, Row

BAR_US = 50.0
RATE = 10_000
RUN_S = 2.0


def _once(context: Context, _number: int) -> dict[str, float]:
    with http_load.web_server(context, "http-raw-epoll") as server:
        found = http_load.run(context, server, RUN_S, ("--rate", f"{RATE}/s"))
    return {"us": found.send_lag_p99_ns / 1e3, "share": found.client_share}


def measure(context: Context) -> list[Row]:
    context.say(f"send lag: {context.blocks} runs at {RATE:,}/s")
    found = common.restarts(context, "send lag", context.blocks, partial(_once, context))
    values, shares = (list(found[name].values()) for name in ("us", "share"))
    middle = common.middle_of(values)
    measured = (f"{middle.ratio:.1f} us ({middle.low:.1f} to {middle.high:.1f}; best {min(values):.1f}); "
                f"{max(shares):.0%} of a core; {http_load.load_average()}")
    return [Row(f"send lag (sent minus due) at {RATE:,}/s, p99, {len(values)} runs", f"<= {BAR_US:g} us",
                measured, common.at_most(middle, BAR_US), {"p99_us": values})]
