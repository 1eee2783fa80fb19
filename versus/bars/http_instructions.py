# SPDX-License-Identifier: BSD-3-Clause
"""Measures user instructions per keep-alive GET with four fields. callgrind counts; the figure is the slope between
1000 and 3000 requests.

What it costs to measure routes is the difference from a server that only measures its turns, as it does for an
inspector too. That slope is between 20,000 and 220,000 requests: of the first ones, many are listed as slow."""

from dataclasses import replace
from functools import partial

from versus import lockstep, roster
from versus.bars import common, instructions
from versus.bars.common import Context, Row
from versus.roster import Contender

BARS = {"http-peal-epoll": 1500, "http-peal-middleware": 1700}
NAMES = (*BARS, "http-peal-guarded", "http-raw-epoll")
REQUEST = (b"GET / HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"
           b"Accept-Encoding: gzip, deflate\r\n\r\n")
OTHER = REQUEST.replace(b"GET / ", b"GET /collect ")  # of another route
PIPELINED = 16
FEW, MANY = 20_000, 220_000
ROUTES_MORE = 40
PUBLISHED = "a bare memmem loop in C 951, uWebSockets 4464, nginx 8762, muduo 9478"


def _gets(connections, requests: int) -> None:
    lockstep.requests(connections, requests, REQUEST)


def per_get(contender: Contender) -> float:
    """Returns the user instructions of one such request."""
    return instructions.per_message(contender, _gets)


def _one_a_turn(requests: tuple[bytes, ...], connections, count: int) -> None:
    for _ in range(count // len(requests)):
        for request in requests:
            lockstep.requests(connections, 1, request)


def _pipelined(connections, count: int) -> None:
    lockstep.bursts(connections, count // PIPELINED, REQUEST, PIPELINED)


# How the requests come -> a function that makes so many of them.
WAYS = {"one request a turn": partial(_one_a_turn, (REQUEST,)),
        "one request a turn, of two routes by turns": partial(_one_a_turn, (REQUEST, OTHER)),
        f"{PIPELINED} requests a turn": _pipelined}


def _steady(contender: Contender, measured: str, exchange: instructions.Exchange) -> float:
    """Returns the instructions of one request of a server that measures `measured` and has served many."""
    server = replace(contender, command=(*contender.command, "--measure", measured))
    return instructions.slope(server, FEW, MANY, exchange)


def _of_measuring(context: Context, contender: Contender) -> list[Row]:
    def more(exchange: instructions.Exchange) -> tuple[float, str, dict]:
        turns, routes = (_steady(contender, measured, exchange) for measured in ("turns", "routes"))
        return routes - turns, f"{routes - turns:,.0f}", {"turns": turns, "routes": routes}

    rows = []
    for way, exchange in WAYS.items():
        context.say(f"instructions: {contender.name}, routes measured, {way}")
        rows.append(common.counted(f"extra user instructions per keep-alive GET with routes measured, {way}",
                                   f"<= {ROUTES_MORE}", ROUTES_MORE, partial(more, exchange)))
    return rows


def measure(context: Context) -> list[Row]:
    instructions.need_valgrind()
    rows = []
    for contender in context.of_kind(roster.HTTP, NAMES):
        context.say(f"instructions: {contender.name}")
        most = BARS.get(contender.name)
        rows.append(instructions.row(
            f"user instructions per keep-alive GET with four fields, {contender.name}",
            f"<= {most}" if most else common.NO_BAR, most or 0, partial(per_get, contender), published=PUBLISHED))
        if contender.name == "http-peal-epoll":
            rows += _of_measuring(context, contender)
    return rows
