# SPDX-License-Identifier: BSD-3-Clause
"""Measures round trips/s of one connection, with a server that spins (auto) / never spins (off), in paired blocks."""

import statistics

from versus.run import process
from versus.bars import common
from versus.bars.common import Context, Row

BAR = 2.0
RUN_S = 0.5
RAW_GAIN = "a raw loop gains 2.9"


def _round_trips(words: list[str], client: list[str]) -> float:
    """Returns the round trips/s of one bare connection against a fresh server."""
    pins = process.Pins.of(1)

    def words_for(host: str, port: int) -> list[str]:
        return [word.replace("{listen}", f"{host}:{port}") for word in words]

    with process.serving(words_for, pins.server) as server:
        found = common.json_of([client[0], server.target, *client[1:]], pins.client, RUN_S + 20.0)
    return found["round_trips_per_s"]


def measure(context: Context) -> list[Row]:
    peal = context.tool("peal")
    bare = context.tool("contenders/bare_client")
    client = [bare, "--connections", "1", "--size", "64", "--duration", str(RUN_S), "--warm-up", "0.1"]
    serve = [peal, "serve", "pingpong", "--listen", "{listen}", "--engine", "epoll", "--threads", "1"]
    context.say("spin: peal --spin auto / off")
    sides = {"auto": serve + ["--spin", "auto"], "off": serve + ["--spin", "off"],
             "raw": [context.need("raw-epoll").program, "--listen", "{listen}"]}
    variants = {name: (lambda words=words: _round_trips(words, client)) for name, words in sides.items()}
    values = common.paired(context, "spin", variants)
    pair = common.pair_of(values, "auto", "off")
    middle = {name: statistics.median(by_block.values()) for name, by_block in values.items()}
    measured = f"{common.span(pair, 2)}; " + ", ".join(f"{name} {value:,.0f}/s" for name, value in middle.items())
    data = common.ratio_data(pair, values) | {"published": RAW_GAIN}
    return [Row("round trips/s of one connection, peal-epoll, spin auto / off", f">= {BAR}", measured,
                common.at_least(pair, BAR), data)]
