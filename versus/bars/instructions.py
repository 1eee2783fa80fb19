# SPDX-License-Identifier: BSD-3-Clause
"""Measures user instructions per echo of 64 bytes. callgrind counts; the figure is the slope between 1000 and 3000
messages on one connection.

valgrind 3.19 does not support io_uring. Servers on io_uring are single-stepped instead, with fewer messages. A
contender that executes another program gets the option --under, which says what to run that program under; the counts
of all its processes are added.
"""

import re
import shutil
import socket
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from versus import lockstep
from versus.run import process
from versus.bars import common, stepping
from versus.bars.common import CannotMeasure, Context, Row
from versus.roster import Contender

BAR = 300
COROUTINE_RATIO = 1.3
RECORDER_MORE = 60
SIZE = 64
FEW, MANY = 1000, 3000
STEPPED_FEW, STEPPED_MANY = 50, 250
RING_BAR = 400
NAMES = ("peal-epoll", "raw-epoll", "peal-uring", "raw-uring")
Exchange = Callable[[list[socket.socket], int], object]  # makes this many round trips on these connections
PUBLISHED = "raw 75, muduo 563, libuv 1591, asio 3010, libevent 3176"


def parse_total(text: str) -> int:
    """Returns the instructions of the whole program from a callgrind output file."""
    found = re.search(r"^(?:totals|summary): (\d+)", text, re.M)
    if not found:
        raise CannotMeasure("callgrind's output has no totals")
    return int(found.group(1))


def _echoes(connections: list[socket.socket], messages: int) -> None:
    lockstep.rounds(connections, SIZE, messages)


def executed(contender: Contender, work: Callable[[process.Server], object], before: tuple[str, ...] = ()) -> int:
    """Returns the instructions of a server that does exactly `work`. `before` is a command prefix of valgrind."""
    with tempfile.TemporaryDirectory(prefix="versus-callgrind-") as folder:
        tool = [*before, "valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={folder}/out.%p"]

        def words_for(host: str, port: int) -> list[str]:
            words = contender.words(host, port, 1)
            return [*words, "--under", " ".join(tool)] if contender.needs else [*tool, *words]

        with process.serving(words_for, (), contender.given) as server:
            work(server)
        totals = [parse_total(path.read_text(encoding="utf-8")) for path in Path(folder).iterdir()]
        if not totals:
            raise CannotMeasure("callgrind wrote no output file")
        return sum(totals)


def _count(contender: Contender, messages: int, exchange: Exchange) -> int:
    """Returns the instructions of a server that answers exactly `messages` exchanges on one connection."""

    def work(server: process.Server) -> None:
        with lockstep.connected(server.host, server.port, 1) as connections:
            exchange(connections, messages)

    return executed(contender, work)


def _stepped(contender: Contender) -> float:
    """Returns the instructions per message, counted by single-stepping. One server is enough for both counts, because
    only the instructions during the exchanges are counted."""
    counts = []
    with process.serving(contender.for_threads(1), (), contender.given) as server:
        with lockstep.connected(server.host, server.port, 1) as connections:
            _echoes(connections, STEPPED_FEW)
            for messages in (STEPPED_FEW, STEPPED_MANY):
                counts.append(stepping.during(server.pid, lambda some=messages: _echoes(connections, some)))
    return (counts[1] - counts[0]) / (STEPPED_MANY - STEPPED_FEW)


def slope(contender: Contender, few: int, many: int, exchange: Exchange) -> float:
    """Returns the instructions of one exchange, from servers that answer `few` and `many` of them."""
    return (_count(contender, many, exchange) - _count(contender, few, exchange)) / (many - few)


def per_message(contender: Contender, exchange: Exchange = _echoes) -> float:
    if "uring" in contender.name:
        return _stepped(contender)
    return slope(contender, FEW, MANY, exchange)


def need_valgrind() -> None:
    if not shutil.which("valgrind"):
        raise CannotMeasure("valgrind is not installed")


def row(figure: str, bar: str, most: float, count: Callable[[], float], **data) -> Row:
    """Returns the row of a count of instructions."""

    def measured() -> tuple[float, str, dict]:
        value = count()
        return value, f"{value:,.0f}", {"instructions": value} | data

    return common.counted(figure, bar, most, measured)


def measure(context: Context) -> list[Row]:
    need_valgrind()
    rows, plain = [], None
    for contender in context.contenders(NAMES):
        context.say(f"instructions: {contender.name}")
        most = {"peal-epoll": BAR, "peal-uring": RING_BAR}.get(contender.name)
        rows.append(row(f"user instructions per {SIZE}-byte echo, {contender.name}",
                        f"<= {most}" if most else common.NO_BAR, most or 0, partial(per_message, contender),
                        published=PUBLISHED))
        if contender.name == "peal-epoll" and rows[-1].data:
            plain = (contender, rows[-1].data["instructions"])
    return rows + (_variants(context, *plain) if plain else [])


def _variants(context: Context, contender: Contender, plain: float) -> list[Row]:
    """Returns the rows of features that can be switched on, compared with the same server without them."""

    def count(name: str, *words: str) -> tuple[float, dict]:
        context.say(f"instructions: {name}")
        found = per_message(replace(contender, name=name, command=(*contender.command, *words)))
        return found, {"instructions": found, "published": PUBLISHED}

    def coroutines() -> tuple[float, str, dict]:
        found, data = count("peal-coroutines", "--style", "coroutines")
        return found / plain, f"{found / plain:.2f} ({found:,.0f})", data

    def recorder() -> tuple[float, str, dict]:
        found, data = count("peal-recorder", "--flight-recorder", "65536")
        return found - plain, f"{found - plain:,.0f}", data

    return [common.counted(f"user instructions per {SIZE}-byte echo, a coroutine for each connection / callbacks",
                           f"<= {COROUTINE_RATIO}", COROUTINE_RATIO, coroutines),
            common.counted(f"extra user instructions per {SIZE}-byte echo with the flight recorder on",
                           f"<= {RECORDER_MORE}", RECORDER_MORE, recorder)]
