# SPDX-License-Identifier: BSD-3-Clause
"""`peal serve http` on one thread beside nginx and a bare epoll loop in C: what a request costs, in paired blocks.

Each cost is the server's CPU per request at one rate for all, half of what the slowest of them reached in a closed
loop; each speed is that of the closed loop itself. Pipelined requests are sent by the lot, as clients that pipeline
do: at one fixed rate all connections send their 16 at the same instant.
"""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from versus import roster
from versus.run import process
from versus.bars import common, http_load
from versus.bars.common import CannotMeasure, Context, Marred, Row
from versus.roster import Contender

PEAL, RAW, NGINX = "http-peal-epoll", "http-raw-epoll", "http-nginx"
NAMES = (PEAL, RAW, NGINX)
RUN_S, CALIBRATION_S = 1.0, 0.3
LEAST_SHARE = 0.98  # of the rate asked for


@dataclass(frozen=True)
class Load:
    """What the generator is told, and how many connections it opens."""

    what: str
    connections: int
    words: tuple[str, ...] = ()
    together: int = 1  # requests that a connection sends at once, where the rate is fixed

    def paced(self, rate: float) -> tuple[str, ...]:
        """The words for a fixed rate: requests evenly spread, or every connection's lot at once."""
        if self.together == 1:
            return ("--rate", f"{rate:.0f}/s")
        return ("--arrivals", f"burst:{self.lot} every {self.lot / rate * 1e6:.0f}us")

    @property
    def lot(self) -> int:
        """What is due at the same instant."""
        return self.connections * self.together if self.together > 1 else 0


KEEP_64 = Load("keep-alive, 64 connections", 64)
KEEP_512 = Load("keep-alive, 512 connections", 512)
PIPELINED = Load("pipelined by 16, 64 connections", 64, ("--pipeline", "16"), 16)
SHORT = Load("a connection per request, 64 clients", 64, ("--requests-per-connection", "1"))
ONE_CLIENT = Load("one client", 1)


@dataclass(frozen=True)
class Bar:
    """`subject` / `rival` is to be at most, or at least, `bound`."""

    subject: str
    rival: str
    bound: float
    at_least: bool = False

    @property
    def words(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.bound:g}"

    def verdict(self, pair) -> str:
        return common.at_least(pair, self.bound) if self.at_least else common.at_most(pair, self.bound)


# What is compared at a fixed rate, by server CPU per request.
COSTS = (
    (KEEP_64, (Bar(PEAL, RAW, 1.06), Bar(PEAL, NGINX, 0.9))),
    (KEEP_512, (Bar(PEAL, RAW, 1.06), Bar(PEAL, NGINX, 0.9))),
    (PIPELINED, (Bar(NGINX, PEAL, 6.0, True), Bar(RAW, PEAL, 0.6, True))),
)
# What is compared by requests/s.
SPEEDS = ((SHORT, (), Bar(PEAL, NGINX, 1.05, True)), (ONE_CLIENT, ("--spin", "auto"), Bar(PEAL, NGINX, 1.5, True)))


def contenders(context: Context, names: tuple[str, ...] = NAMES) -> dict[str, Contender]:
    ready, absent = roster.choose(context.bin_dir, [], list(names), roster.HTTP)
    if absent:
        raise CannotMeasure(absent[0])
    return {contender.name: contender for contender in ready}


def run(context: Context, contender: Contender, load: Load, seconds: float, rate: float = 0.0,
        server_words: tuple[str, ...] = ()):
    """One run against a fresh server. Raises Marred."""

    def words_for(host: str, port: int) -> list[str]:
        return [*contender.words(host, port, 1), *server_words]

    words = load.words + (load.paced(rate) if rate else ())
    with process.serving(words_for, process.Pins.of(1).server) as server:
        found = http_load.run(context, server, seconds, words, connections=load.connections)
    if rate and found.messages_per_s < LEAST_SHARE * rate - load.lot / seconds:  # the last lot may fall outside
        raise Marred(f"{contender.name} was given {found.messages_per_s:,.0f} of {rate:,.0f} requests/s")
    return found


def _micros(context: Context, contender: Contender, load: Load, rate: float) -> float:
    found = run(context, contender, load, RUN_S, rate)
    if not found.server_cpu_ns:
        raise Marred(f"the CPU of {contender.name} is unknown")
    return found.server_cpu_ns / found.messages / 1e3


def _rows(context: Context, what: str, unit: str, load: Load, bars: tuple[Bar, ...],
          variants: dict[str, Callable[[], float]], note: str = "") -> list[Row]:
    values = common.paired(context, f"{what}, {load.what}", variants)
    middle = {name: statistics.median(by_block.values()) for name, by_block in values.items()}
    rows = []
    for bar in bars:
        pair = common.pair_of(context, values, bar.subject, bar.rival)
        measured = f"{common.span(pair)}; {middle[bar.subject]:,.2f} / {middle[bar.rival]:,.2f} {unit}{note}"
        rows.append(Row(f"{what}, {bar.subject} / {bar.rival}, {load.what}", bar.words, measured, bar.verdict(pair),
                        common.ratio_data(pair, values)))
    return rows


def _costs(context: Context, all_of: dict[str, Contender], load: Load, bars: tuple[Bar, ...]) -> list[Row]:
    reached = {name: run(context, each, load, CALIBRATION_S).messages_per_s for name, each in all_of.items()}
    rate = float(int(min(reached.values()) / 2 / 1000) * 1000) or 1000.0
    context.say(f"server CPU per request: {load.what}, {context.blocks} blocks at {rate:,.0f} requests/s")
    variants = {name: (lambda each=each: _micros(context, each, load, rate)) for name, each in all_of.items()}
    return _rows(context, "server CPU per request", "us", load, bars, variants, f" at {rate:,.0f}/s")


def _speeds(context: Context, all_of: dict[str, Contender], load: Load, ours: tuple[str, ...], bar: Bar) -> list[Row]:
    context.say(f"requests/s: {load.what}, {context.blocks} blocks")
    variants = {name: (lambda name=name: run(context, all_of[name], load, RUN_S,
                                             server_words=ours if name == PEAL else ()).messages_per_s)
                for name in (bar.subject, bar.rival)}
    what = f"requests/s ({' '.join(ours)})" if ours else "requests/s"
    return _rows(context, what, "/s", load, (bar,), variants)


def measure(context: Context) -> list[Row]:
    all_of = contenders(context)
    rows: list[Row] = []
    for load, bars in COSTS:
        rows += _costs(context, all_of, load, bars)
    for load, ours, bar in SPEEDS:
        rows += _speeds(context, all_of, load, ours, bar)
    return rows
