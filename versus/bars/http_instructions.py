# SPDX-License-Identifier: BSD-3-Clause
"""Measures user instructions per keep-alive GET with four fields. callgrind counts; the figure is the slope between
1000 and 3000 requests."""

from functools import partial

from versus import lockstep, roster
from versus.bars import common, instructions
from versus.bars.common import Context, Row
from versus.roster import Contender

BARS = {"http-peal-epoll": 1500, "http-peal-middleware": 1700}
NAMES = (*BARS, "http-peal-guarded", "http-raw-epoll")
REQUEST = (b"GET / HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"
           b"Accept-Encoding: gzip, deflate\r\n\r\n")
PUBLISHED = "a bare memmem loop in C 951, uWebSockets 4464, nginx 8762, muduo 9478"


def _gets(connections, requests: int) -> None:
    lockstep.requests(connections, requests, REQUEST)


def per_get(contender: Contender) -> float:
    """Returns the user instructions of one such request."""
    return instructions.per_message(contender, _gets)


def measure(context: Context) -> list[Row]:
    instructions.need_valgrind()
    rows = []
    for contender in context.of_kind(roster.HTTP, NAMES):
        context.say(f"instructions: {contender.name}")
        most = BARS.get(contender.name)
        rows.append(instructions.row(
            f"user instructions per keep-alive GET with four fields, {contender.name}",
            f"<= {most}" if most else common.NO_BAR, most or 0, partial(per_get, contender), published=PUBLISHED))
    return rows
