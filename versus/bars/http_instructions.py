# SPDX-License-Identifier: BSD-3-Clause
"""User instructions per keep-alive GET with four fields: callgrind's count, slope between 1000 and 3000 requests."""

import shutil

from versus import lockstep, roster
from versus.run import process
from versus.bars import instructions
from versus.bars.common import CannotMeasure, Context, Row
from versus.roster import Contender

BARS = {"http-peal-epoll": 1500, "http-peal-middleware": 1700}
NAMES = (*BARS, "http-peal-guarded", "http-raw-epoll")
REQUEST = (b"GET / HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"
           b"Accept-Encoding: gzip, deflate\r\n\r\n")
PUBLISHED = "a bare memmem loop in C 951, uWebSockets 4464, nginx 8762, muduo 9478"


def _gets(connections, requests: int) -> None:
    lockstep.requests(connections, requests, REQUEST)


def per_get(contender: Contender) -> float:
    """User instructions of one such request."""
    return instructions.per_message(contender, _gets)


def measure(context: Context) -> list[Row]:
    if not shutil.which("valgrind"):
        raise CannotMeasure("valgrind is not installed")
    ready, _ = roster.choose(context.bin_dir, context.extra, [] if context.everyone else list(NAMES), roster.HTTP)
    rows = []
    for contender in ready:
        bar = BARS.get(contender.name)
        figure, said = f"user instructions per keep-alive GET with four fields, {contender.name}", f"<= {bar}"
        context.say(f"instructions: {contender.name}")
        try:
            count = per_get(contender)
        except (CannotMeasure, process.StartFailed, lockstep.EchoDiffers, OSError) as error:
            rows.append(Row(figure, said if bar else "-", f"- ({error})", "not measured" if bar else ""))
            continue
        verdict = ("met" if count <= bar else "not met") if bar else ""
        rows.append(Row(figure, said if bar else "-", f"{count:,.0f}", verdict,
                        {"instructions": count, "published": PUBLISHED}))
    return rows
