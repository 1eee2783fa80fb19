# SPDX-License-Identifier: BSD-3-Clause
"""User instructions per 64-byte echo: callgrind's count, slope between 1000 and 3000 messages on one connection.

valgrind 3.19 knows no io_uring: those servers are stepped through, between fewer messages. A contender that becomes
another program is told what to run that under (`--under`); of its processes the sum counts.
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
Exchange = Callable[[list[socket.socket], int], object]  # so many round trips on these connections
PUBLISHED = "raw 75, muduo 563, libuv 1591, asio 3010, libevent 3176"


def parse_total(text: str) -> int:
    """Instructions executed in the whole program, of a callgrind output file."""
    found = re.search(r"^(?:totals|summary): (\d+)", text, re.M)
    if not found:
        raise CannotMeasure("callgrind wrote no totals")
    return int(found.group(1))


def _echoes(connections: list[socket.socket], messages: int) -> None:
    lockstep.rounds(connections, SIZE, messages)


def executed(contender: Contender, work: Callable[[process.Server], object], before: tuple[str, ...] = ()) -> int:
    """Instructions of a server that lived for exactly that `work`; `before`: what valgrind itself is started by."""
    with tempfile.TemporaryDirectory(prefix="versus-callgrind-") as folder:
        tool = [*before, "valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={folder}/out.%p"]

        def words_for(host: str, port: int) -> list[str]:
            words = contender.words(host, port, 1)
            return [*words, "--under", " ".join(tool)] if contender.needs else [*tool, *words]

        with process.serving(words_for, (), contender.given) as server:
            work(server)
        totals = [parse_total(path.read_text(encoding="utf-8")) for path in Path(folder).iterdir()]
        if not totals:
            raise CannotMeasure("callgrind wrote nothing")
        return sum(totals)


def _count(contender: Contender, messages: int, exchange: Exchange) -> int:
    """Of exactly `messages` exchanges on one connection."""

    def work(server: process.Server) -> None:
        with lockstep.connected(server.host, server.port, 1) as connections:
            exchange(connections, messages)

    return executed(contender, work)


def _stepped(contender: Contender) -> float:
    """By stepping, which one server bears twice: whatever it did before does not count."""
    counts = []
    with process.serving(contender.for_threads(1), (), contender.given) as server:
        with lockstep.connected(server.host, server.port, 1) as connections:
            _echoes(connections, STEPPED_FEW)
            for messages in (STEPPED_FEW, STEPPED_MANY):
                counts.append(stepping.during(server.pid, lambda some=messages: _echoes(connections, some)))
    return (counts[1] - counts[0]) / (STEPPED_MANY - STEPPED_FEW)


def per_message(contender: Contender, exchange: Exchange = _echoes) -> float:
    if "uring" in contender.name:
        return _stepped(contender)
    return (_count(contender, MANY, exchange) - _count(contender, FEW, exchange)) / (MANY - FEW)


def need_valgrind() -> None:
    if not shutil.which("valgrind"):
        raise CannotMeasure("valgrind is not installed")


def row(figure: str, bar: str, most: float, count: Callable[[], float], **data) -> Row:
    """The row of a count of instructions."""

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
    """What may be switched on, against the same server without it."""

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

    return [common.counted("the same with a coroutine for each connection / with callbacks", f"<= {COROUTINE_RATIO}",
                           COROUTINE_RATIO, coroutines),
            common.counted("the same with the flight recorder on, more than without", f"<= {RECORDER_MORE}",
                           RECORDER_MORE, recorder)]
