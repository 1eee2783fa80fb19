# SPDX-License-Identifier: BSD-3-Clause
"""Measures `peal serve http` on one thread beside nginx and a bare epoll loop in C: server CPU per request and
requests/s. Each load is one duel, closed loop."""

from dataclasses import dataclass
from functools import partial

from versus import roster
from versus.bars import common, duel_bar
from versus.bars.common import Context, Row
from versus.bars.duel_bar import Bar
from versus.bars.http_load import contenders
from versus.duel.duel_figures import RATE
from versus.duel.duel_runner import DuelLoad, Player
from versus.experiments import HTTP_PATH

PEAL, RAW, NGINX = "http-peal-epoll", "http-raw-epoll", "http-nginx"
NAMES = (PEAL, RAW, NGINX)


@dataclass(frozen=True)
class Load:
    """One load: the options of the generator, the bars, and extra options for peal's server."""

    name: str
    what: str
    connections: int
    bars: tuple[Bar, ...]
    words: tuple[str, ...] = ()
    ours: tuple[str, ...] = ()

    def duel(self, restarts: int) -> DuelLoad:
        words = ("--connections", str(self.connections), "--path", HTTP_PATH, *self.words)
        return DuelLoad(self.name, self.what, roster.HTTP, words, restarts=restarts)


COSTS = (Bar(PEAL, RAW, 1.06), Bar(PEAL, NGINX, 0.9))
LOADS = (
    Load("keep64", "keep-alive, 64 connections", 64, COSTS),
    Load("keep512", "keep-alive, 512 connections", 512, COSTS),
    Load("pipelined", "pipelined by 16, 64 connections", 64, (Bar(NGINX, PEAL, 6.0, True), Bar(RAW, PEAL, 0.6, True)),
         ("--pipeline", "16")),
    Load("short", "a connection per request, 64 clients", 64,
         (Bar(PEAL, NGINX, 0.95), Bar(PEAL, NGINX, 1.05, True, RATE)), ("--requests-per-connection", "1")),
    Load("one", "one client (--spin auto)", 1, (Bar(PEAL, NGINX, 1.5, True, RATE),), ours=("--spin", "auto")),
)


def measure(context: Context) -> list[Row]:
    all_of = contenders(context, NAMES)

    def judged(load: Load) -> list[Row]:
        players = [Player(name, all_of[name].command + (load.ours if name == PEAL else ())) for name in NAMES]
        return duel_bar.judged(context, "http_serve", load.duel(duel_bar.restarts_of(context)), players, load.bars,
                               "request")

    return common.in_parts({load.what: partial(judged, load) for load in LOADS})
